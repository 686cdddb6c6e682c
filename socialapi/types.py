"""The models, for type annotations and `isinstance`. Each is imported on first use."""

from typing import TYPE_CHECKING

from socialapi.lazy import on_first_use

if TYPE_CHECKING:
    from socialapi.models.accounts import (
        Account,
        AccountApp,
        AccountChanges,
        AccountsFilter,
        CampaignSnapshot,
        ChangedBy,
        EntityType,
        FeatureKey,
        HistoryEntry,
        HistoryFilter,
        IndustryType,
    )
    from socialapi.models.audiences import (
        AudiencePermission,
        AudiencePermissionsFilter,
        AudienceUser,
        DoNotReachList,
        IdentifierKind,
        Operation,
        OperationParams,
        OperationType,
        PermissionLevel,
        TargetingCampaign,
        TargetingLineItem,
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
    from socialapi.models.content import (
        Article,
        NewsField,
        NewsStory,
        Note,
        PowerstreamRule,
        PublishedArticle,
        Replay,
    )
    from socialapi.models.creatives import (
        AccountMedia,
        AdvertiserPost,
        CreativeType,
        LibraryMedia,
        MediaCategory,
        MediaType,
        PollCard,
        VideoConversationCard,
    )
    from socialapi.models.events import Direction, EventType, Subscription
    from socialapi.models.insights import (
        Granularity,
        KeywordInsights,
    )
    from socialapi.models.line_items import (
        AmountField,
        AudienceExpansion,
        BidStrategy,
        BudgetOptimization,
        BusinessCategory,
        CuratedCategory,
        EntityStatus,
        Goal,
        LineItem,
        LineItemChanges,
        LineItemCuratedCategory,
        LineItemCuratedCategoryChanges,
        PayBy,
    )
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
    from socialapi.models.posts import (
        AnnotationEntity,
        Attachments,
        ContextAnnotation,
        ContextDomain,
        ContextEntity,
        EditControls,
        EditOptions,
        Entities,
        Media,
        MediaMetrics,
        MediaVariant,
        MentionEntity,
        Place,
        Poll,
        Post,
        PostDraft,
        PostMedia,
        PostMetrics,
        PostReply,
        ReferencedPost,
        Space,
        TagEntity,
        UrlEntity,
        UrlImage,
        UserList,
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
    from socialapi.models.queries import (
        CollectionQuery,
        CountQuery,
        CursorQuery,
        Fields,
        MediaField,
        PostField,
        RecordQuery,
        UserField,
    )
    from socialapi.models.streams import (
        Connection,
        EndedConnection,
        EndedConnections,
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
            "socialapi.models.accounts": (
                "Account AccountApp AccountChanges AccountsFilter CampaignSnapshot ChangedBy EntityType "
                "FeatureKey HistoryEntry HistoryFilter IndustryType"
            ),
            "socialapi.models.audiences": (
                "AudiencePermission AudiencePermissionsFilter AudienceUser DoNotReachList IdentifierKind "
                "Operation OperationParams OperationType PermissionLevel TargetingCampaign "
                "TargetingLineItem UploadCounts"
            ),
            "socialapi.models.cards": (
                "App Button ButtonText Card CardType Details Label Media:CardMedia SwipeableMedia Website"
            ),
            "socialapi.models.catalogs": (
                "FilterAttribute FilterOperator ProductCatalog ProductFilter ProductSet ProductSetType"
            ),
            "socialapi.models.content": ("Article NewsField NewsStory Note PowerstreamRule PublishedArticle Replay"),
            "socialapi.models.creatives": (
                "AccountMedia AdvertiserPost CreativeType LibraryMedia MediaCategory MediaType PollCard "
                "VideoConversationCard"
            ),
            "socialapi.models.events": "Direction EventType Subscription",
            "socialapi.models.insights": "Granularity KeywordInsights",
            "socialapi.models.line_items": (
                "AmountField AudienceExpansion BidStrategy BudgetOptimization BusinessCategory "
                "CuratedCategory EntityStatus Goal LineItem LineItemChanges LineItemCuratedCategory "
                "LineItemCuratedCategoryChanges PayBy"
            ),
            "socialapi.models.money": "Micros",
            "socialapi.models.oauth": (
                "AccessToken AppOnlyToken InvalidatedToken OAuth2SignIn OAuth2Token RequestToken"
            ),
            "socialapi.models.pages": "Includes Page Undecoded",
            "socialapi.models.posts": (
                "AnnotationEntity Attachments ContextAnnotation ContextDomain ContextEntity EditControls "
                "EditOptions Entities Media MediaMetrics MediaVariant MentionEntity Place Poll Post "
                "PostDraft PostMedia PostMetrics PostReply ReferencedPost Space TagEntity UrlEntity "
                "UrlImage UserList"
            ),
            "socialapi.models.products": (
                "AgeGroup Availability Condition Gender Product ProductDeletion ProductResult "
                "StoredProduct UpsertStatus"
            ),
            "socialapi.models.queries": (
                "CollectionQuery CountQuery CursorQuery Fields MediaField PostField RecordQuery UserField"
            ),
            "socialapi.models.streams": (
                "Connection EndedConnection EndedConnections RuleDraft RulesSummary StreamRule"
            ),
            "socialapi.models.users": "Affiliation User UserEntities UserMetrics",
            "socialapi.models.webhooks": "Deleted StreamLink WebhookConfig WebhookFailure WebhookValidity",
            "socialapi.problems": (
                "BrokenRule ClientDisconnected ClientForbidden ConflictProblem DisallowedResource "
                "DuplicateRules InvalidParameters InvalidRequest InvalidRules NoncompliantRules "
                "NotAuthorizedForField NotAuthorizedForResource OperationalDisconnect OperationError "
                "Problem ResourceNotFound ResourceUnavailable RuleCap ServiceError StreamingConnection "
                "UnsupportedAuthentication UsageCapped"
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
