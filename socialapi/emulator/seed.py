"""Creates the seed data of the emulator: the same ids, names and secrets every time."""

from collections.abc import Mapping, Sequence
from typing import Final

from socialapi.emulator.advertising.seed import KINDS, plant_advertising
from socialapi.emulator.advertising.seed_accounts import BOOKS, FIRST, SECOND, accounts
from socialapi.emulator.advertising.state import Record, Table
from socialapi.emulator.catalogs.seed import KINDS as CATALOG_KINDS
from socialapi.emulator.catalogs.seed import plant_catalogs
from socialapi.emulator.creatives.seed import KINDS as CREATIVE_KINDS
from socialapi.emulator.creatives.seed import plant_creatives
from socialapi.emulator.platform.seed import plant_connections, plant_platform
from socialapi.emulator.platform.seed_users import EVERYBODY, people
from socialapi.emulator.state import AccessToken, Audience, DoNotReach, State, User

SeedIds = dict[str, list[str]]

_AUDIENCES: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    FIRST: (("1nmth", "Newsletter readers"), ("1nmti", "Buyers of the last year"), ("1nmtj", "Store visitors")),
    SECOND: (("1nmuk", "Catalogue subscribers"),),
    BOOKS: (("1nmvl", "Reading club"),),
}
_LISTS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    FIRST: (("7b2f1", "Unsubscribed"), ("7b2f2", "Complaints")),
    SECOND: (("7b2g1", "Unsubscribed"),),
}

PLATFORM_KINDS: Final = ("post_ids", "media_keys", "news_ids")


def plant(state: State, *, empty: bool) -> tuple[AccessToken, SeedIds]:
    """Fills a new state; the first user's access token, and the ids that are there by kind.

    Account-scoped ids are those of the first account. An `empty` state has one app, one user and one account with
    nothing in it, so that every audience and list is unknown.
    """
    planted = accounts()[: 1 if empty else None]
    state.advertising.accounts = Table(lambda: planted)
    users = _plant_users(state, planted)
    further: SeedIds = {kind: [] for kind in (*PLATFORM_KINDS, *KINDS, *CREATIVE_KINDS, *CATALOG_KINDS)}
    if not empty:
        _plant_audiences(state)
        further = {
            **plant_platform(state),
            **plant_advertising(state.advertising),
            **plant_creatives(state.advertising),
            **plant_catalogs(state.catalogs, users[0].id),
        }
    first, own = planted[0]["id"], users[0].account_ids
    audience_ids = [audience for account, audience in state.audiences if account == first]
    ids = {
        "account_ids": [account["id"] for account in planted if account["id"] in own],
        "unassociated_account_ids": [account["id"] for account in planted if account["id"] not in own],
        "user_ids": [user.id for user in users],
        "custom_audience_ids": audience_ids,
        "tailored_audience_ids": audience_ids,
        "do_not_reach_list_ids": [listed for account, listed in state.do_not_reach_lists if account == first],
    }
    access_token = state.new_app(users[0])
    if not empty:
        plant_connections(state, access_token.caller.app)
    return access_token, further | ids


def _plant_users(state: State, planted: Sequence[Record]) -> list[User]:
    """The first two accounts are the first user's, the third is the second user's."""
    users = people(EVERYBODY if len(planted) > 1 else 1)
    users[0].account_ids = {account["id"] for account in planted[:2]}
    for user, account in zip(users[1:], planted[2:], strict=False):
        user.account_ids = {account["id"]}
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
