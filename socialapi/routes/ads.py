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

# Accounts
ACCOUNTS: Final = Route("GET", ADS, "/12/accounts", Page[Account], query=AccountsQuery)
ACCOUNT: Final = Route("GET", ADS, "/12/accounts/{account_id}", Account, query=RecordQuery)
SANDBOX_ACCOUNT_CREATE: Final = Route("POST", ADS_SANDBOX, "/12/accounts", Account)
ACCOUNT_UPDATE: Final = Route("PUT", ADS, "/12/accounts/{account_id}", Account, AccountChanges)
SANDBOX_ACCOUNT_DELETE: Final = Route("DELETE", ADS_SANDBOX, "/12/accounts/{account_id}", Account)
ACCOUNT_APPS: Final = Route(
    "GET", ADS, "/12/accounts/{account_id}/account_apps", Page[AccountApp], query=AccountAppsQuery
)
ACCOUNT_HISTORY: Final = Route(
    "GET", ADS, "/12/accounts/{account_id}/account_history", Page[HistoryEntry], query=HistoryQuery
)
FEATURES: Final = Route("GET", ADS, "/12/accounts/{account_id}/features", tuple[str, ...], query=FeaturesQuery)
SANDBOX_FEATURES_ADD: Final = Route(
    "POST", ADS_SANDBOX, "/12/accounts/{account_id}/features", tuple[str, ...], FeaturesAdded
)
