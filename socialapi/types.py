"""The models, for type annotations and `isinstance`: one flat place to import them from, on first use."""

from typing import TYPE_CHECKING

from socialapi.lazy import on_first_use

if TYPE_CHECKING:
    from socialapi.models.account_history import (
        CampaignSnapshot,
        ChangedBy,
        EntityType,
        HistoryEntry,
        HistoryFilter,
    )
    from socialapi.models.account_media import AccountMedia, CreativeType
    from socialapi.models.accounts import (
        Account,
        AccountApp,
        AccountChanges,
        AccountsFilter,
        FeatureKey,
        IndustryType,
    )
    from socialapi.models.activity import (
        Direction,
        EventType,
        Subscription,
    )
    from socialapi.models.advertiser_posts import AdvertiserPost
    from socialapi.models.audience_permissions import (
        AudiencePermission,
        AudiencePermissionsFilter,
        PermissionLevel,
        TargetingCampaign,
        TargetingLineItem,
    )
    from socialapi.models.audiences import (
        AudienceUser,
        DoNotReachList,
        IdentifierKind,
        Operation,
        OperationParams,
        OperationType,
        UploadCounts,
    )
    from socialapi.models.cards import (
        App,
        Button,
        ButtonText,
        Card,
        CardType,
        Details,
        Label,
        SwipeableMedia,
        Website,
    )
    from socialapi.models.cards import Media as CardMedia
    from socialapi.models.catalogs import (
        FilterAttribute,
        FilterOperator,
        ProductCatalog,
        ProductFilter,
        ProductSet,
        ProductSetType,
    )
    from socialapi.models.categories import (
        BusinessCategory,
        CuratedCategory,
        LineItemCuratedCategory,
        LineItemCuratedCategoryChanges,
    )
    from socialapi.models.collections import (
        CollectionQuery,
        CountQuery,
        CursorQuery,
        RecordQuery,
    )
    from socialapi.models.connections import (
        Connection,
        EndedConnection,
        EndedConnections,
    )
    from socialapi.models.content import (
        Article,
        NewsField,
        NewsStory,
        Note,
        PowerstreamRule,
        PublishedArticle,
        Replay,
    )
    from socialapi.models.fields import Fields, MediaField, PostField, UserField
    from socialapi.models.insights import (
        Granularity,
        KeywordInsights,
    )
    from socialapi.models.line_items import (
        AmountField,
        AudienceExpansion,
        BidStrategy,
        BudgetOptimization,
        EntityStatus,
        Goal,
        LineItem,
        LineItemChanges,
        PayBy,
    )
    from socialapi.models.media import (
        Media,
        MediaMetrics,
        MediaVariant,
        Place,
        Poll,
        Space,
        UserList,
    )
    from socialapi.models.media_library import LibraryMedia, MediaCategory, MediaType
    from socialapi.models.money import (
        Micros,
    )
    from socialapi.models.oauth import (
        AccessToken,
        AppOnlyToken,
        InvalidatedToken,
        OAuth2SignIn,
        OAuth2Token,
        RequestToken,
    )
    from socialapi.models.pages import (
        Includes,
        Page,
        Undecoded,
    )
    from socialapi.models.poll_cards import PollCard
    from socialapi.models.posts import (
        AnnotationEntity,
        Attachments,
        ContextAnnotation,
        ContextDomain,
        ContextEntity,
        EditControls,
        EditOptions,
        Entities,
        MentionEntity,
        Post,
        PostDraft,
        PostMedia,
        PostMetrics,
        PostReply,
        ReferencedPost,
        TagEntity,
        UrlEntity,
        UrlImage,
    )
    from socialapi.models.products import (
        AgeGroup,
        Availability,
        Condition,
        Gender,
        Product,
        ProductDeletion,
        ProductResult,
        StoredProduct,
        UpsertStatus,
    )
    from socialapi.models.stream_rules import (
        RuleDraft,
        RulesSummary,
        StreamRule,
    )
    from socialapi.models.users import (
        Affiliation,
        User,
        UserEntities,
        UserMetrics,
    )
    from socialapi.models.video_conversation_cards import VideoConversationCard
    from socialapi.models.webhooks import (
        Deleted,
        StreamLink,
        WebhookConfig,
        WebhookFailure,
        WebhookValidity,
    )
    from socialapi.problems import (
        BrokenRule,
        ClientDisconnected,
        ClientForbidden,
        ConflictProblem,
        DisallowedResource,
        DuplicateRules,
        InvalidParameters,
        InvalidRequest,
        InvalidRules,
        NoncompliantRules,
        NotAuthorizedForField,
        NotAuthorizedForResource,
        OperationalDisconnect,
        OperationError,
        Problem,
        ResourceNotFound,
        ResourceUnavailable,
        RuleCap,
        ServiceError,
        StreamingConnection,
        UnsupportedAuthentication,
        UsageCapped,
    )
    from socialapi.reports import (
        ColumnLint,
        Finding,
        Forecast,
        KindLint,
        LintReport,
        Progress,
        RowIssue,
        SyncReport,
        UploadReport,
        UpsertReport,
    )
else:
    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "socialapi.models.account_history": "CampaignSnapshot ChangedBy EntityType HistoryEntry HistoryFilter",
            "socialapi.models.account_media": "AccountMedia CreativeType",
            "socialapi.models.accounts": "Account AccountApp AccountChanges AccountsFilter FeatureKey IndustryType",
            "socialapi.models.activity": "Direction EventType Subscription",
            "socialapi.models.advertiser_posts": "AdvertiserPost",
            "socialapi.models.audience_permissions": (
                "AudiencePermission AudiencePermissionsFilter PermissionLevel TargetingCampaign TargetingLineItem"
            ),
            "socialapi.models.audiences": (
                "AudienceUser DoNotReachList IdentifierKind Operation OperationParams OperationType UploadCounts"
            ),
            "socialapi.models.cards": (
                "App Button ButtonText Card CardType Details Label SwipeableMedia Website Media:CardMedia"
            ),
            "socialapi.models.catalogs": (
                "FilterAttribute FilterOperator ProductCatalog ProductFilter ProductSet ProductSetType"
            ),
            "socialapi.models.categories": (
                "BusinessCategory CuratedCategory LineItemCuratedCategory LineItemCuratedCategoryChanges"
            ),
            "socialapi.models.collections": "CollectionQuery CountQuery CursorQuery RecordQuery",
            "socialapi.models.connections": "Connection EndedConnection EndedConnections",
            "socialapi.models.content": "Article NewsField NewsStory Note PowerstreamRule PublishedArticle Replay",
            "socialapi.models.fields": "Fields MediaField PostField UserField",
            "socialapi.models.insights": "Granularity KeywordInsights",
            "socialapi.models.line_items": (
                "AmountField AudienceExpansion BidStrategy BudgetOptimization EntityStatus Goal LineItem "
                "LineItemChanges PayBy"
            ),
            "socialapi.models.media": "Media MediaMetrics MediaVariant Place Poll Space UserList",
            "socialapi.models.media_library": "LibraryMedia MediaCategory MediaType",
            "socialapi.models.money": "Micros",
            "socialapi.models.oauth": (
                "AccessToken AppOnlyToken InvalidatedToken OAuth2SignIn OAuth2Token RequestToken"
            ),
            "socialapi.models.pages": "Includes Page Undecoded",
            "socialapi.models.poll_cards": "PollCard",
            "socialapi.models.posts": (
                "AnnotationEntity Attachments ContextAnnotation ContextDomain ContextEntity EditControls "
                "EditOptions Entities MentionEntity Post PostDraft PostMedia PostMetrics PostReply "
                "ReferencedPost TagEntity UrlEntity UrlImage"
            ),
            "socialapi.models.products": (
                "AgeGroup Availability Condition Gender Product ProductDeletion ProductResult StoredProduct "
                "UpsertStatus"
            ),
            "socialapi.models.stream_rules": "RuleDraft RulesSummary StreamRule",
            "socialapi.models.users": "Affiliation User UserEntities UserMetrics",
            "socialapi.models.video_conversation_cards": "VideoConversationCard",
            "socialapi.models.webhooks": "Deleted StreamLink WebhookConfig WebhookFailure WebhookValidity",
            "socialapi.problems": (
                "BrokenRule ClientDisconnected ClientForbidden ConflictProblem DisallowedResource DuplicateRules "
                "InvalidParameters InvalidRequest InvalidRules NoncompliantRules NotAuthorizedForField "
                "NotAuthorizedForResource OperationalDisconnect OperationError Problem ResourceNotFound "
                "ResourceUnavailable RuleCap ServiceError StreamingConnection UnsupportedAuthentication "
                "UsageCapped"
            ),
            "socialapi.reports": (
                "ColumnLint Finding Forecast KindLint LintReport Progress RowIssue SyncReport UploadReport UpsertReport"
            ),
        },
    )

__all__ = [
    "AccessToken",
    "Account",
    "AccountApp",
    "AccountChanges",
    "AccountMedia",
    "AccountsFilter",
    "AdvertiserPost",
    "Affiliation",
    "AgeGroup",
    "AmountField",
    "AnnotationEntity",
    "App",
    "AppOnlyToken",
    "Article",
    "Attachments",
    "AudienceExpansion",
    "AudiencePermission",
    "AudiencePermissionsFilter",
    "AudienceUser",
    "Availability",
    "BidStrategy",
    "BrokenRule",
    "BudgetOptimization",
    "BusinessCategory",
    "Button",
    "ButtonText",
    "CampaignSnapshot",
    "Card",
    "CardMedia",
    "CardType",
    "ChangedBy",
    "ClientDisconnected",
    "ClientForbidden",
    "CollectionQuery",
    "ColumnLint",
    "Condition",
    "ConflictProblem",
    "Connection",
    "ContextAnnotation",
    "ContextDomain",
    "ContextEntity",
    "CountQuery",
    "CreativeType",
    "CuratedCategory",
    "CursorQuery",
    "Deleted",
    "Details",
    "Direction",
    "DisallowedResource",
    "DoNotReachList",
    "DuplicateRules",
    "EditControls",
    "EditOptions",
    "EndedConnection",
    "EndedConnections",
    "Entities",
    "EntityStatus",
    "EntityType",
    "EventType",
    "FeatureKey",
    "Fields",
    "FilterAttribute",
    "FilterOperator",
    "Finding",
    "Forecast",
    "Gender",
    "Goal",
    "Granularity",
    "HistoryEntry",
    "HistoryFilter",
    "IdentifierKind",
    "Includes",
    "IndustryType",
    "InvalidParameters",
    "InvalidRequest",
    "InvalidRules",
    "InvalidatedToken",
    "KeywordInsights",
    "KindLint",
    "Label",
    "LibraryMedia",
    "LineItem",
    "LineItemChanges",
    "LineItemCuratedCategory",
    "LineItemCuratedCategoryChanges",
    "LintReport",
    "Media",
    "MediaCategory",
    "MediaField",
    "MediaMetrics",
    "MediaType",
    "MediaVariant",
    "MentionEntity",
    "Micros",
    "NewsField",
    "NewsStory",
    "NoncompliantRules",
    "NotAuthorizedForField",
    "NotAuthorizedForResource",
    "Note",
    "OAuth2SignIn",
    "OAuth2Token",
    "Operation",
    "OperationError",
    "OperationParams",
    "OperationType",
    "OperationalDisconnect",
    "Page",
    "PayBy",
    "PermissionLevel",
    "Place",
    "Poll",
    "PollCard",
    "Post",
    "PostDraft",
    "PostField",
    "PostMedia",
    "PostMetrics",
    "PostReply",
    "PowerstreamRule",
    "Problem",
    "Product",
    "ProductCatalog",
    "ProductDeletion",
    "ProductFilter",
    "ProductResult",
    "ProductSet",
    "ProductSetType",
    "Progress",
    "PublishedArticle",
    "RecordQuery",
    "ReferencedPost",
    "Replay",
    "RequestToken",
    "ResourceNotFound",
    "ResourceUnavailable",
    "RowIssue",
    "RuleCap",
    "RuleDraft",
    "RulesSummary",
    "ServiceError",
    "Space",
    "StoredProduct",
    "StreamLink",
    "StreamRule",
    "StreamingConnection",
    "Subscription",
    "SwipeableMedia",
    "SyncReport",
    "TagEntity",
    "TargetingCampaign",
    "TargetingLineItem",
    "Undecoded",
    "UnsupportedAuthentication",
    "UploadCounts",
    "UploadReport",
    "UpsertReport",
    "UpsertStatus",
    "UrlEntity",
    "UrlImage",
    "UsageCapped",
    "User",
    "UserEntities",
    "UserField",
    "UserList",
    "UserMetrics",
    "VideoConversationCard",
    "WebhookConfig",
    "WebhookFailure",
    "WebhookValidity",
    "Website",
]
