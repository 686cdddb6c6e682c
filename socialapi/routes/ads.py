"""Routes of the advertising API: accounts, their features and their history."""

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
from socialapi.models.pages import Page
from socialapi.models.queries import RecordQuery
from socialapi.routes.route import ADS, ADS_SANDBOX, Route

# Accounts (section 4.2)
ACCOUNTS: Final = Route("GET", ADS, "/12/accounts", Page[Account], query=AccountsQuery, section="4.2")
ACCOUNT: Final = Route("GET", ADS, "/12/accounts/{account_id}", Account, query=RecordQuery, section="4.2")
SANDBOX_ACCOUNT_CREATE: Final = Route("POST", ADS_SANDBOX, "/12/accounts", Account, section="4.2")
ACCOUNT_UPDATE: Final = Route("PUT", ADS, "/12/accounts/{account_id}", Account, AccountChanges, section="4.2")
SANDBOX_ACCOUNT_DELETE: Final = Route("DELETE", ADS_SANDBOX, "/12/accounts/{account_id}", Account, section="4.2")
ACCOUNT_APPS: Final = Route(
    "GET", ADS, "/12/accounts/{account_id}/account_apps", Page[AccountApp], query=AccountAppsQuery, section="4.2"
)
ACCOUNT_HISTORY: Final = Route(
    "GET", ADS, "/12/accounts/{account_id}/account_history", Page[HistoryEntry], query=HistoryQuery, section="4.2"
)
FEATURES: Final = Route(
    "GET", ADS, "/12/accounts/{account_id}/features", tuple[str, ...], query=FeaturesQuery, section="4.2"
)
SANDBOX_FEATURES_ADD: Final = Route(
    "POST", ADS_SANDBOX, "/12/accounts/{account_id}/features", tuple[str, ...], FeaturesAdded, section="4.2"
)
