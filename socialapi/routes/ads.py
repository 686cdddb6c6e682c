"""Routes of the advertising API: accounts, line items, insights and audiences."""

from typing import Final

from socialapi.models.accounts import (
    Account,
    AccountApp,
    AccountAppsQuery,
    AccountChanges,
    AccountsQuery,
    FeaturesAdded,
    FeaturesQuery,
    HistoryEntry,
    HistoryQuery,
)
from socialapi.models.audiences import (
    MAX_BATCH_BYTES,
    AudiencePermission,
    AudiencePermissionDraft,
    AudiencePermissionsQuery,
    DoNotReachList,
    DoNotReachOperations,
    Operations,
    TargetedQuery,
    TargetingCampaign,
    UploadCounts,
)
from socialapi.models.insights import KeywordInsights, KeywordInsightsQuery
from socialapi.models.line_items import (
    BusinessCategory,
    CuratedCategoriesQuery,
    CuratedCategory,
    LineItem,
    LineItemCuratedCategoriesQuery,
    LineItemCuratedCategory,
    LineItemCuratedCategoryChanges,
    LineItemCuratedCategoryDraft,
    LineItemUpdate,
)
from socialapi.models.pages import Page
from socialapi.models.queries import RecordQuery
from socialapi.routes.route import ADS, ADS_SANDBOX, RateLimit, Route

# Accounts (section 4.2)
ACCOUNTS: Final = Route(
    "GET",
    ADS,
    "/12/accounts",
    Page[Account],
    query=AccountsQuery,
    repeatable=True,
    section="4.2",
)
ACCOUNT: Final = Route(
    "GET",
    ADS,
    "/12/accounts/{account_id}",
    Account,
    query=RecordQuery,
    repeatable=True,
    section="4.2",
)
SANDBOX_ACCOUNT_CREATE: Final = Route(
    "POST",
    ADS_SANDBOX,
    "/12/accounts",
    Account,
    section="4.2",
)
ACCOUNT_UPDATE: Final = Route(
    "PUT",
    ADS,
    "/12/accounts/{account_id}",
    Account,
    AccountChanges,
    repeatable=True,
    section="4.2",
)
SANDBOX_ACCOUNT_DELETE: Final = Route(
    "DELETE",
    ADS_SANDBOX,
    "/12/accounts/{account_id}",
    Account,
    section="4.2",
)
ACCOUNT_APPS: Final = Route(
    "GET",
    ADS,
    "/12/accounts/{account_id}/account_apps",
    Page[AccountApp],
    query=AccountAppsQuery,
    repeatable=True,
    section="4.2",
)
ACCOUNT_HISTORY: Final = Route(
    "GET",
    ADS,
    "/12/accounts/{account_id}/account_history",
    Page[HistoryEntry],
    query=HistoryQuery,
    repeatable=True,
    section="4.2",
)
FEATURES: Final = Route(
    "GET",
    ADS,
    "/12/accounts/{account_id}/features",
    tuple[str, ...],
    query=FeaturesQuery,
    repeatable=True,
    section="4.2",
)
SANDBOX_FEATURES_ADD: Final = Route(
    "POST",
    ADS_SANDBOX,
    "/12/accounts/{account_id}/features",
    tuple[str, ...],
    FeaturesAdded,
    section="4.2",
)

# Categories (sections 4.3 and 4.5)
BUSINESS_CATEGORIES: Final = Route(
    "GET",
    ADS,
    "/12/advertiser_business_categories",
    Page[BusinessCategory],
    repeatable=True,
    section="4.3",
)
CURATED_CATEGORIES: Final = Route(
    "GET",
    ADS,
    "/12/accounts/{account_id}/curated_categories",
    Page[CuratedCategory],
    query=CuratedCategoriesQuery,
    repeatable=True,
    section="4.3",
)
CURATED_CATEGORY: Final = Route(
    "GET",
    ADS,
    "/12/accounts/{account_id}/curated_categories/{curated_category_id}",
    CuratedCategory,
    repeatable=True,
    section="4.3",
)
LINE_ITEM_CURATED_CATEGORIES: Final = Route(
    "GET",
    ADS,
    "/12/accounts/{account_id}/line_item_curated_categories",
    Page[LineItemCuratedCategory],
    query=LineItemCuratedCategoriesQuery,
    repeatable=True,
    section="4.5",
)
LINE_ITEM_CURATED_CATEGORY: Final = Route(
    "GET",
    ADS,
    "/12/accounts/{account_id}/line_item_curated_categories/{line_item_curated_category_id}",
    LineItemCuratedCategory,
    query=RecordQuery,
    repeatable=True,
    section="4.5",
)
LINE_ITEM_CURATED_CATEGORY_CREATE: Final = Route(
    "POST",
    ADS,
    "/12/accounts/{account_id}/line_item_curated_categories",
    LineItemCuratedCategory,
    LineItemCuratedCategoryDraft,
    section="4.5",
)
LINE_ITEM_CURATED_CATEGORY_UPDATE: Final = Route(
    "PUT",
    ADS,
    "/12/accounts/{account_id}/line_item_curated_categories/{line_item_curated_category_id}",
    LineItemCuratedCategory,
    LineItemCuratedCategoryChanges,
    repeatable=True,
    section="4.5",
)
LINE_ITEM_CURATED_CATEGORY_DELETE: Final = Route(
    "DELETE",
    ADS,
    "/12/accounts/{account_id}/line_item_curated_categories/{line_item_curated_category_id}",
    LineItemCuratedCategory,
    section="4.5",
)

# Line items (section 4.4)
LINE_ITEM_UPDATE: Final = Route(
    "PUT",
    ADS,
    "/12/accounts/{account_id}/line_items/{line_item_id}",
    LineItem,
    LineItemUpdate,
    repeatable=True,
    section="4.4",
)
LINE_ITEM_DELETE: Final = Route(
    "DELETE",
    ADS,
    "/12/accounts/{account_id}/line_items/{line_item_id}",
    LineItem,
    section="4.4",
)

# Keyword insights (section 4.6)
KEYWORD_INSIGHTS: Final = Route(
    "GET",
    ADS,
    "/12/insights/keywords/search",
    KeywordInsights,
    query=KeywordInsightsQuery,
    repeatable=True,
    section="4.6",
)

# Permissions of audiences, and campaigns that target one (sections 4.7 and 4.8)
AUDIENCE_PERMISSIONS: Final = Route(
    "GET",
    ADS,
    "/5/accounts/{account_id}/tailored_audiences/{tailored_audience_id}/permissions",
    Page[AudiencePermission],
    query=AudiencePermissionsQuery,
    repeatable=True,
    section="4.7",
)
AUDIENCE_PERMISSION_CREATE: Final = Route(
    "POST",
    ADS,
    "/5/accounts/{account_id}/tailored_audiences/{tailored_audience_id}/permissions",
    AudiencePermission,
    AudiencePermissionDraft,
    section="4.7",
)
AUDIENCE_PERMISSION_DELETE: Final = Route(
    "DELETE",
    ADS,
    "/5/accounts/{account_id}/tailored_audiences/{tailored_audience_id}/permissions/{tailored_audience_permission_id}",
    AudiencePermission,
    section="4.7",
)
TARGETED: Final = Route(
    "GET",
    ADS,
    "/12/accounts/{account_id}/custom_audiences/{custom_audience_id}/targeted",
    Page[TargetingCampaign],
    query=TargetedQuery,
    repeatable=True,
    section="4.8",
)

# Uploads (sections 4.9 and 4.10)
CUSTOM_AUDIENCE_UPLOADS: Final = RateLimit("custom_audience_uploads", 1_500, 60.0, per=("account_id",))
# No limit is documented for do-not-reach lists. The same one as for audiences is assumed, counted
# separately.
DO_NOT_REACH_UPLOADS: Final = RateLimit("do_not_reach_uploads", 1_500, 60.0, per=("account_id",))

CUSTOM_AUDIENCE_USERS: Final = Route(
    "POST",
    ADS,
    "/12/accounts/{account_id}/custom_audiences/{custom_audience_id}/users",
    UploadCounts,
    Operations,
    "json",
    repeatable=True,
    retry_undecodable=True,
    rate_limit=CUSTOM_AUDIENCE_UPLOADS,
    max_body_bytes=MAX_BATCH_BYTES,
    section="4.9",
)
DO_NOT_REACH_USERS: Final = Route(
    "POST",
    ADS,
    "/12/batch/accounts/{account_id}/do_not_reach_lists/{do_not_reach_list_id}/users",
    UploadCounts,
    DoNotReachOperations,
    "json",
    repeatable=True,
    retry_undecodable=True,
    rate_limit=DO_NOT_REACH_UPLOADS,
    max_body_bytes=MAX_BATCH_BYTES,
    section="4.10",
)
DO_NOT_REACH_LIST_DELETE: Final = Route(
    "DELETE",
    ADS,
    "/12/accounts/{account_id}/do_not_reach_lists/{do_not_reach_list_id}",
    DoNotReachList,
    section="4.10",
)
