"""What the emulator starts with: the same ids, names and secrets every time."""

from collections.abc import Mapping
from typing import Final

from socialapi.emulator.platform.seed import plant_connections, plant_platform
from socialapi.emulator.platform.seed_users import EVERYBODY, people
from socialapi.emulator.state import AccessToken, Account, Audience, DoNotReach, State, User

SeedIds = dict[str, list[str]]

_ACCOUNTS: Final = (
    ("18ce54d4x5t", "Northwind Outdoor", "4503599", "Northwind Group"),
    ("18ce54u7r2k", "Northwind Home", "4503599", "Northwind Group"),
    ("18ce55a9q0m", "Harbour Books", "4503701", "Harbour Media"),
)
"""The first two share a business and are the first user's; the third is the second user's."""

_AUDIENCES: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "18ce54d4x5t": (("1nmth", "Newsletter readers"), ("1nmti", "Buyers of the last year"), ("1nmtj", "Store visitors")),
    "18ce54u7r2k": (("1nmuk", "Catalogue subscribers"),),
    "18ce55a9q0m": (("1nmvl", "Reading club"),),
}
_LISTS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "18ce54d4x5t": (("7b2f1", "Unsubscribed"), ("7b2f2", "Complaints")),
    "18ce54u7r2k": (("7b2g1", "Unsubscribed"),),
}

PLATFORM_KINDS: Final = ("post_ids", "media_keys", "news_ids")


def plant(state: State, *, empty: bool) -> tuple[AccessToken, SeedIds]:
    """Fills a new state; the first user's access token, and the ids that are there by kind.

    Account-scoped ids are those of the first account. An `empty` state has one app, one user and one account with
    nothing in it, so that every audience and list is unknown.
    """
    accounts = _ACCOUNTS[:1] if empty else _ACCOUNTS
    for account in accounts:
        state.accounts[account[0]] = Account(*account)
    users = _plant_users(state, empty=empty)
    platform_ids: SeedIds = {kind: [] for kind in PLATFORM_KINDS}
    if not empty:
        _plant_audiences(state)
        platform_ids = plant_platform(state)
    first = accounts[0][0]
    own = [account_id for account_id, *_ in accounts if account_id in users[0].account_ids]
    ids = {
        "account_ids": own,
        "unassociated_account_ids": [account_id for account_id, *_ in accounts if account_id not in own],
        "user_ids": [user.id for user in users],
        "custom_audience_ids": [audience for account, audience in state.audiences if account == first],
        "do_not_reach_list_ids": [listed for account, listed in state.do_not_reach_lists if account == first],
    }
    access_token = state.new_app(users[0])
    if not empty:
        plant_connections(state, access_token.caller.app)
    return access_token, ids | platform_ids


def _plant_users(state: State, *, empty: bool) -> list[User]:
    users = people(1 if empty else EVERYBODY)
    users[0].account_ids = {account[0] for account in _ACCOUNTS[: 1 if empty else 2]}
    if not empty:
        users[1].account_ids = {_ACCOUNTS[2][0]}
    state.users.update((user.id, user) for user in users)
    return users


def _plant_audiences(state: State) -> None:
    now = state.clock.now()
    for account_id, audiences in _AUDIENCES.items():
        for audience_id, name in audiences:
            state.audiences[account_id, audience_id] = Audience(audience_id, name)
    for account_id, lists in _LISTS.items():
        for list_id, name in lists:
            state.do_not_reach_lists[account_id, list_id] = DoNotReach(list_id, name, f"{name} people", now, now)
