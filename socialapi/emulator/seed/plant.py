"""Creates the seed data of the emulator: the same ids, names and secrets every time."""

from collections.abc import Iterator, Sequence
from typing import Final

from socialapi.emulator.advertising.state import Record, Table
from socialapi.emulator.catalogs.state import Catalog, Item, SetOfProducts, content_of, matching
from socialapi.emulator.platform.new_posts import entities_of
from socialapi.emulator.seed.posts import plant_connections, plant_platform
from socialapi.emulator.seed.records import contents, records
from socialapi.emulator.seed.tables import plant_advertising
from socialapi.emulator.state import AccessToken, Audience, DoNotReach, State, User

SeedIds = dict[str, list[str]]

_KINDS: Final = (
    *("post_ids", "media_keys", "news_ids", "campaign_ids", "line_item_ids", "curated_category_ids"),
    *("line_item_curated_category_ids", "account_app_ids", "video_media_keys", "uploaded_media_keys"),
    *("account_media_ids", "card_ids", "poll_card_ids", "video_conversation_card_ids"),
    *("product_catalog_ids", "product_set_ids"),
)
"""The kinds of records that an empty state does not have."""


def plant(state: State, *, empty: bool) -> tuple[AccessToken, SeedIds]:
    """Fills a new state. Returns the first user's access token, and the ids that exist, by kind.

    Account-scoped ids belong to the first account. An `empty` state has one app, one user and one empty account, and no
    audiences or lists.
    """
    accounts = list(records("accounts", "accounts"))[: 1 if empty else None]
    state.advertising.accounts = Table(lambda: accounts)
    users = _plant_users(state, accounts)
    further: SeedIds = {kind: [] for kind in _KINDS}
    if not empty:
        user_ids = list(state.users)
        _plant_audiences(state)
        further = {
            **plant_platform(state),
            **plant_advertising(state.advertising, [account["id"] for account in accounts], user_ids),
            **_plant_catalog(state, user_ids[0]),
        }
    first, own = accounts[0]["id"], users[0].account_ids
    audience_ids = [audience for account, audience in state.audiences if account == first]
    ids = {
        "account_ids": [account["id"] for account in accounts if account["id"] in own],
        "unassociated_account_ids": [account["id"] for account in accounts if account["id"] not in own],
        "user_ids": [user.id for user in users],
        "custom_audience_ids": audience_ids,
        "tailored_audience_ids": audience_ids,
        "do_not_reach_list_ids": [listed for account, listed in state.do_not_reach_lists if account == first],
    }
    access_token = state.new_app(users[0])
    access_token.caller.app.stream_webhooks = True
    if not empty:
        plant_connections(state, access_token.caller.app)
    return access_token, further | ids


def _plant_users(state: State, accounts: Sequence[Record]) -> list[User]:
    """Adds the users. The first two accounts belong to the first user, and the third to the second user."""
    profiles = list(records("users", "users"))[: None if len(accounts) > 1 else 1]
    users = [User(profile["id"], profile["username"], profile=profile) for profile in profiles]
    ids = {user.username: user.id for user in users}
    for user in users:
        address, description = (entities_of(user.profile[field], ids.get) for field in ("url", "description"))
        user.profile["entities"] = {"url": address, "description": description}
    users[0].account_ids = {account["id"] for account in accounts[:2]}
    for user, account in zip(users[1:], accounts[2:], strict=False):
        user.account_ids = {account["id"]}
    state.users.update((user.id, user) for user in users)
    return users


def _plant_audiences(state: State) -> None:
    now = state.clock.now()
    for account_id in contents("accounts")["custom_audiences"]:
        for audience in records("accounts", "custom_audiences", account_id):
            state.audiences[account_id, audience["id"]] = Audience(**audience)
    for account_id in contents("accounts")["do_not_reach_lists"]:
        for listed in records("accounts", "do_not_reach_lists", account_id):
            made = DoNotReach(**listed, created_at=now, updated_at=now)
            state.do_not_reach_lists[account_id, made.id] = made


def _plant_catalog(state: State, user_id: str) -> SeedIds:
    """Gives a user the catalog, and returns its ids by kind."""
    described = contents("catalog")["catalog"]
    catalog = Catalog(described["id"], user_id, described["name"])
    for n, product in enumerate(_products()):
        group_id = product.get("item_group_id")
        item = Item(product["id"], f"pk{n:03}", group_id, content_of(product))
        catalog.stock.put(item, f"pg{(group_id or '')[-2:]}")
    for made in records("catalog", "product_sets"):
        if "filters" in made:
            made["product_keys"] = matching(catalog.stock, made["filters"]) or []
        catalog.sets[made["id"]] = SetOfProducts(**made)
    state.catalogs[catalog.id] = catalog
    return {"product_catalog_ids": [catalog.id], "product_set_ids": list(catalog.sets)}


def _products() -> Iterator[Record]:
    """Yields the products. Products that are out of stock have an inventory of 0, and every seventh product has a sale
    price.
    """
    for n, product in enumerate(records("catalog", "products")):
        if product["availability"] == "out of stock":
            product["inventory"] = 0
        if n % 7 == 0:
            price, _, currency = product["price"].partition(" ")
            product["sale_price"] = f"{float(price) * 0.8:.2f} {currency}"
        yield product
