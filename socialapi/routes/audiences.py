"""Routes of the advertising API: audiences, uploads and do-not-reach lists."""

from typing import Final

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
from socialapi.models.pages import Page
from socialapi.routes.route import ADS, RateLimit, Route

# Permissions of audiences, and campaigns that target one
AUDIENCE_PERMISSIONS: Final = Route(
    "GET",
    ADS,
    "/5/accounts/{account_id}/tailored_audiences/{tailored_audience_id}/permissions",
    Page[AudiencePermission],
    query=AudiencePermissionsQuery,
)
AUDIENCE_PERMISSION_CREATE: Final = Route(
    "POST",
    ADS,
    "/5/accounts/{account_id}/tailored_audiences/{tailored_audience_id}/permissions",
    AudiencePermission,
    AudiencePermissionDraft,
)
AUDIENCE_PERMISSION_DELETE: Final = Route(
    "DELETE",
    ADS,
    "/5/accounts/{account_id}/tailored_audiences/{tailored_audience_id}/permissions/{tailored_audience_permission_id}",
    AudiencePermission,
)
TARGETED: Final = Route(
    "GET",
    ADS,
    "/12/accounts/{account_id}/custom_audiences/{custom_audience_id}/targeted",
    Page[TargetingCampaign],
    query=TargetedQuery,
)

# Uploads
CUSTOM_AUDIENCE_UPLOADS: Final = RateLimit("custom_audience_uploads", 1_500, 60.0, per=("account_id",))
# No limit is documented for do-not-reach lists. The same one as for audiences is assumed, counted separately.
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
)
DO_NOT_REACH_LIST_DELETE: Final = Route(
    "DELETE", ADS, "/12/accounts/{account_id}/do_not_reach_lists/{do_not_reach_list_id}", DoNotReachList
)
