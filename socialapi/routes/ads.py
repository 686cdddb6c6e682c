"""The advertising API: one row per endpoint."""

from typing import Final

from socialapi.models.audiences import (
    MAX_BATCH_BYTES,
    DoNotReachList,
    DoNotReachOperations,
    Operations,
    UploadCounts,
)
from socialapi.routes.route import ADS, RateLimit, Route

CUSTOM_AUDIENCE_UPLOADS: Final = RateLimit("custom_audience_uploads", 1_500, 60.0, per=("account_id",))
# No limit is documented for do-not-reach lists; the one of audiences is assumed, counted apart.
DO_NOT_REACH_UPLOADS: Final = RateLimit("do_not_reach_uploads", 1_500, 60.0, per=("account_id",))

CUSTOM_AUDIENCE_USERS: Final = Route(
    "POST",
    ADS,
    "/12/accounts/{account_id}/custom_audiences/{custom_audience_id}/users",
    UploadCounts,
    Operations,
    "json",
    repeatable=True,
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
