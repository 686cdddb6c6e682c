"""The types in public signatures: models, reports, problems and options. Each is imported on first
use.
"""

from socialapi.internal.lazy import on_first_use

__getattr__, __dir__, __all__ = on_first_use(
    __name__,
    {
        "socialapi.bulk.audiences.batches": "Packing",
        "socialapi.bulk.inputs.formats": "Records",
        "socialapi.bulk.inputs.reader": "ArrowStream BinaryFile",
        "socialapi.bulk.job": "OnProgress",
        "socialapi.internal.unset": "Unset",
        "socialapi.models.accounts": (
            "Account AccountApp AccountChanges AccountsFilter CampaignSnapshot ChangedBy EntityType FeatureKey "
            "HistoryEntry HistoryFilter IndustryType"
        ),
        "socialapi.models.audiences": (
            "AudiencePermission AudiencePermissionsFilter AudienceUser DoNotReachList DoNotReachOperation "
            "DoNotReachParams DoNotReachUser IdentifierKind Operation OperationParams OperationType "
            "PermissionLevel TargetingCampaign TargetingLineItem UploadCounts"
        ),
        "socialapi.models.cards": (
            "App Button ButtonText Card CardMedia CardsQuery CardType Details Label SwipeableMedia Website"
        ),
        "socialapi.models.catalogs": (
            "FilterAttribute FilterOperator ProductCatalog ProductFilter ProductSet ProductSetType"
        ),
        "socialapi.models.content": "Article NewsField NewsStory Note PowerstreamRule PublishedArticle Replay",
        "socialapi.models.creatives": (
            "AccountMedia AccountMediaFilter AdvertiserPost AdvertiserPostFields CreativeCardsFilter "
            "CreativeType LibraryMedia LibraryMediaChanges MediaCategory MediaLibraryQuery MediaType PollCard "
            "PollCardFields VideoConversationCard VideoConversationCardChanges VideoConversationCardFields"
        ),
        "socialapi.models.events": "Direction DirectMessageKind EventType Subscription",
        "socialapi.models.insights": "Granularity KeywordInsights",
        "socialapi.models.line_items": (
            "AmountField AudienceExpansion BidStrategy BudgetOptimization BusinessCategory CuratedCategory "
            "EntityStatus Goal LineItem LineItemChanges LineItemCuratedCategory LineItemCuratedCategoryChanges "
            "PayBy"
        ),
        "socialapi.models.model": "Items",
        "socialapi.models.money": "Micros",
        "socialapi.models.oauth": "AccessToken AppOnlyToken InvalidatedToken OAuth2SignIn OAuth2Token RequestToken",
        "socialapi.models.pages": "Includes Page Undecoded",
        "socialapi.models.posts": (
            "AnnotationEntity Attachments ContextAnnotation ContextDomain ContextEntity EditControls "
            "EditOptions Entities Media MediaMetrics MediaVariant MentionEntity Place Poll Post PostDraft "
            "PostMedia PostMetrics PostReply ReferencedPost Space TagEntity UrlEntity UrlImage UserList"
        ),
        "socialapi.models.products": (
            "AgeGroup Availability Condition Gender Product ProductDeletion ProductResult ProductsQuery "
            "StoredProduct UpsertStatus"
        ),
        "socialapi.models.queries": (
            "CollectionQuery CountQuery CursorQuery Expansion Fields MediaField PostField RecordQuery UserField"
        ),
        "socialapi.models.streams": "Connection EndedConnection EndedConnections RuleDraft RulesSummary StreamRule",
        "socialapi.models.users": "Affiliation User UserEntities UserMetrics",
        "socialapi.models.webhooks": "Deleted StreamLink WebhookConfig WebhookFailure WebhookValidity",
        "socialapi.problems": (
            "BrokenRule ClientDisconnected ClientForbidden ConflictProblem DisallowedResource DuplicateRules "
            "InvalidParameters InvalidRequest InvalidRules NoncompliantRules NotAuthorizedForField "
            "NotAuthorizedForResource OperationalDisconnect OperationError Problem ResourceNotFound "
            "ResourceUnavailable RuleCap ServiceError StreamingConnection UnsupportedAuthentication UsageCapped"
        ),
        "socialapi.reports": (
            "ColumnLint Finding Forecast KindLint LintReport LoadForecast Progress Risk RowIssue SyncReport "
            "UploadReport UpsertReport"
        ),
        "socialapi.resources.audiences": (
            "AudienceUploadKeywords LintKeywords RowKeywords SyncKeywords UploadKeywords"
        ),
        "socialapi.resources.catalogs": "AnyFilter",
        "socialapi.resources.creatives": "AnyComponent Components",
        "socialapi.resources.products": "ProductLintKeywords UpsertKeywords",
        "socialapi.resources.streams": "AnyRule",
        "socialapi.routes.route": "Method RateLimit",
        "socialapi.routes.undeclared": "Api Auth",
        "socialapi.wire.rate_limit_headers": "LimitReading",
    },
)
