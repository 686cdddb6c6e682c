"""Every advertising endpoint with the two ways to ask it: by the SDK, and by a client that shares nothing with it."""

# ruff: noqa: ARG005  # every way to ask is given the scene, whether it needs it or not

import datetime
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import attrs

from socialapi import AudienceUser, Client, Operation
from socialapi.emulator import Emulator
from socialapi.routes import ads, audiences, line_items
from socialapi.routes.route import Route
from tests.support.independent import Independent

DIGEST = "49e0be2aeccfb51a8dee4c945c8a70a9ac500cf6f5cb08112575f74db9b1470d"
FIRST, SECOND, BOOKS = "18ce54d4x5t", "18ce54u7r2k", "18ce55a9q0m"
ACCOUNT = f"/12/accounts/{FIRST}"
PAIRS = f"{ACCOUNT}/line_item_curated_categories"
PERMISSIONS = f"/5/accounts/{FIRST}/tailored_audiences/1nmth/permissions"
LIST_PATH = "/do_not_reach_lists/7b2f1"
DAY = datetime.datetime(2025, 1, 6, tzinfo=datetime.UTC)
USERS = [{"operation_type": "Update", "params": {"users": [{"email": [DIGEST]}], "expires_at": "2099-01-01T00:00:00Z"}}]
OPERATION = Operation.update(
    [AudienceUser(email=DIGEST)], expires_at=datetime.datetime(2099, 1, 1, tzinfo=datetime.UTC)
)


@attrs.define
class Scene:
    """One half of a comparison: what is there before the endpoint is asked."""

    emulator: Emulator
    plain: Independent
    cursor: str = ""
    account_id: str = ""
    permission_id: str = ""

    async def ask(self, method: str, path: str, **query: str) -> Any:
        answer = await self.plain.user(method, path, query=query or None)
        assert answer.status == 200, answer.body
        return answer.body


Setup = Callable[[Scene], Awaitable[None]]


@attrs.frozen
class Row:
    """An endpoint with the two ways to ask it. `path` and `query` may name what the scene has, in braces."""

    route: Route[Any]
    path: str
    sdk: Callable[[Client, Scene], Awaitable[Any]]
    query: Mapping[str, str] = attrs.field(factory=dict)
    before: tuple[Setup, ...] = ()
    json: Any = None


def a_cursor(path: str, **query: str) -> Setup:
    """That of the first page."""

    async def get(scene: Scene) -> None:
        scene.cursor = (await scene.ask("GET", f"/ads{path}", **query))["next_cursor"]

    return get


async def a_test_account(scene: Scene) -> None:
    scene.account_id = (await scene.ask("POST", "/ads-sandbox/12/accounts"))["data"]["id"]


async def a_permission(scene: Scene) -> None:
    parameters = {"granted_account_id": SECOND, "permission_level": "READ_ONLY"}
    scene.permission_id = (await scene.ask("POST", f"/ads{PERMISSIONS}", **parameters))["data"]["id"]


async def two_permissions(scene: Scene) -> None:
    """One of them for an account of another business, for which the owner needs a feature."""
    await a_permission(scene)
    accounts = scene.emulator.state.advertising.accounts
    owner = accounts.get(FIRST)
    assert owner is not None
    accounts.change(owner, features=[*owner["features"], "SHARE_AUDIENCE_OUTSIDE_BUSINESS"])
    await scene.ask("POST", f"/ads{PERMISSIONS}", granted_account_id=BOOKS, permission_level="READ_WRITE")


def account(client: Client) -> Any:
    return client.ads.account(FIRST)


HISTORY = {
    "entity_type": "CAMPAIGN",
    "entity_id": "8wku2",
    "start_time": "2025-01-06T00:00:00Z",
    "end_time": "2025-01-07T00:00:00Z",
    "count": "5",
    "user_id": "2244994945",
}
IN_HISTORY: Any = {
    **HISTORY,
    "start_time": DAY,
    "end_time": DAY + datetime.timedelta(days=1),
    "count": 5,
    "user_id": 2244994945,
}
CHANGES = {
    "advertiser_domain": "shop.northwind.example",
    "android_app_store_identifier": "com.northwind.shop",
    "ios_app_store_identifier": "1234567890",
    "audience_expansion": "EXPANDED",
    "bid_amount_local_micro": "5500000",
    "bid_strategy": "TARGET",
    "categories": "IAB1,IAB2-1",
    "duration_in_days": "7",
    "entity_status": "PAUSED",
    "start_time": "2026-03-01T00:00:00Z",
    "end_time": "2026-04-01T00:00:00Z",
    "frequency_cap": "3",
    "goal": "REACH_WITH_ENGAGEMENT",
    "name": "Größe & more, 50% +",
    "pay_by": "IMPRESSION",
    "total_budget_amount_local_micro": "9000000000",
    "daily_budget_amount_local_micro": "10000000",
}
CHANGED: Any = {
    **CHANGES,
    "bid_amount_local_micro": 5_500_000,
    "categories": ("IAB1", "IAB2-1"),
    "duration_in_days": 7,
    "start_time": datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC),
    "end_time": datetime.datetime(2026, 4, 1, tzinfo=datetime.UTC),
    "frequency_cap": 3,
    "total_budget_amount_local_micro": 9_000_000_000,
    "daily_budget_amount_local_micro": 10_000_000,
}
ALL = {"count": "2", "sort_by": "updated_at-desc", "with_deleted": "true", "with_total_count": "true"}
ALL_TYPED: Any = {"count": 2, "sort_by": "updated_at-desc", "with_deleted": True, "with_total_count": True}
NEXT = {"count": "2", "cursor": "{cursor}"}

ROWS = [
    # Accounts (section 4.2)
    Row(
        ads.ACCOUNTS,
        "/12/accounts",
        lambda client, scene: client.ads.accounts.list(account_ids=(SECOND, FIRST), q="nORTHwind", **ALL_TYPED).first(),
        {"account_ids": f"{SECOND},{FIRST}", "q": "nORTHwind", **ALL},
    ),
    Row(
        ads.ACCOUNTS,
        "/12/accounts",
        lambda client, scene: client.ads.accounts.list(count=1, cursor=scene.cursor).first(),
        {"count": "1", "cursor": "{cursor}"},
        (a_cursor("/12/accounts", count="1"),),
    ),
    Row(
        ads.ACCOUNT,
        "/12/accounts/{account_id}",
        lambda client, scene: client.ads.accounts.get(scene.account_id, with_deleted=True),
        {"with_deleted": "true"},
        (a_test_account,),
    ),
    Row(ads.SANDBOX_ACCOUNT_CREATE, "/12/accounts", lambda client, scene: client.ads.sandbox.create_account()),
    Row(
        ads.ACCOUNT_UPDATE,
        ACCOUNT,
        lambda client, scene: client.ads.accounts.update(FIRST, name="Größe & more", industry_type="TRAVEL"),
        {"name": "Größe & more", "industry_type": "TRAVEL"},
    ),
    Row(
        ads.SANDBOX_ACCOUNT_DELETE,
        "/12/accounts/{account_id}",
        lambda client, scene: client.ads.sandbox.delete_account(scene.account_id),
        before=(a_test_account,),
    ),
    Row(
        ads.ACCOUNT_APPS,
        f"{ACCOUNT}/account_apps",
        lambda client, scene: account(client).apps(**ALL_TYPED).first(),
        ALL,
    ),
    Row(
        ads.ACCOUNT_APPS,
        f"{ACCOUNT}/account_apps",
        lambda client, scene: account(client).apps(count=2, cursor=scene.cursor).first(),
        NEXT,
        (a_cursor(f"{ACCOUNT}/account_apps", count="2"),),
    ),
    Row(
        ads.ACCOUNT_HISTORY,
        f"{ACCOUNT}/account_history",
        lambda client, scene: account(client).history(**IN_HISTORY, cursor=scene.cursor).first(),
        HISTORY | {"cursor": "{cursor}"},
        (a_cursor(f"{ACCOUNT}/account_history", **HISTORY),),
    ),
    Row(
        ads.FEATURES,
        f"{ACCOUNT}/features",
        lambda client, scene: account(client).features(["REACH_FREQUENCY_CAP", "WEBSITE_CLICKS_CPM_BILLING"]),
        {"feature_keys": "REACH_FREQUENCY_CAP,WEBSITE_CLICKS_CPM_BILLING"},
    ),
    Row(ads.FEATURES, f"{ACCOUNT}/features", lambda client, scene: account(client).features()),
    Row(
        ads.SANDBOX_FEATURES_ADD,
        "/12/accounts/{account_id}/features",
        lambda client, scene: client.ads.sandbox.add_features(scene.account_id, ["REACH_FREQUENCY_CAP", "BRAND_NEW"]),
        {"feature_keys": "REACH_FREQUENCY_CAP,BRAND_NEW"},
        (a_test_account,),
    ),
    # Categories (sections 4.3 and 4.5)
    Row(
        line_items.BUSINESS_CATEGORIES,
        "/12/advertiser_business_categories",
        lambda client, scene: client.ads.business_categories().first(),
    ),
    Row(
        line_items.CURATED_CATEGORIES,
        f"{ACCOUNT}/curated_categories",
        lambda client, scene: (
            account(client).curated_categories.list(["GB", "JP"], count=2, start=f"0:{scene.cursor}").first()
        ),
        {"country_codes": "GB,JP", **NEXT},
        (a_cursor(f"{ACCOUNT}/curated_categories", country_codes="GB,JP"),),
    ),
    Row(
        line_items.CURATED_CATEGORY,
        f"{ACCOUNT}/curated_categories/cc0007",
        lambda client, scene: account(client).curated_categories.get("cc0007"),
    ),
    Row(
        line_items.LINE_ITEM_CURATED_CATEGORIES,
        PAIRS,
        lambda client, scene: account(client).line_item_curated_categories.list(**ALL_TYPED).first(),
        ALL,
    ),
    Row(
        line_items.LINE_ITEM_CURATED_CATEGORIES,
        PAIRS,
        lambda client, scene: account(client).line_item_curated_categories.list(count=2, cursor=scene.cursor).first(),
        NEXT,
        (a_cursor(PAIRS),),
    ),
    Row(
        line_items.LINE_ITEM_CURATED_CATEGORY,
        f"{PAIRS}/d0018f",
        lambda client, scene: account(client).line_item_curated_categories.get("d0018f", with_deleted=True),
        {"with_deleted": "true"},
    ),
    Row(
        line_items.LINE_ITEM_CURATED_CATEGORY_CREATE,
        PAIRS,
        lambda client, scene: account(client).line_item_curated_categories.create("8xdpe", "cc0001"),
        {"line_item_id": "8xdpe", "curated_category_id": "cc0001"},
    ),
    Row(
        line_items.LINE_ITEM_CURATED_CATEGORY_UPDATE,
        f"{PAIRS}/c00000",
        lambda client, scene: account(client).line_item_curated_categories.update(
            "c00000", line_item_id="8xdpf", curated_category_id="cc0002"
        ),
        {"line_item_id": "8xdpf", "curated_category_id": "cc0002"},
    ),
    Row(
        line_items.LINE_ITEM_CURATED_CATEGORY_DELETE,
        f"{PAIRS}/c00001",
        lambda client, scene: account(client).line_item_curated_categories.delete("c00001"),
    ),
    # Line items (section 4.4)
    Row(
        line_items.LINE_ITEM_UPDATE,
        f"{ACCOUNT}/line_items/8xdpf",
        lambda client, scene: account(client).line_items.update("8xdpf", CHANGED),
        CHANGES,
    ),
    Row(
        line_items.LINE_ITEM_UPDATE,
        f"{ACCOUNT}/line_items/8xdpf",
        lambda client, scene: account(client).line_items.update("8xdpf", frequency_cap=None, categories=()),
        {"frequency_cap": "", "categories": ""},
    ),
    Row(
        line_items.LINE_ITEM_UPDATE,
        f"{ACCOUNT}/line_items/8xdpj",
        lambda client, scene: account(client).line_items.update("8xdpj", advertiser_user_id=783214001),
        {"advertiser_user_id": "783214001"},
    ),
    Row(
        line_items.LINE_ITEM_DELETE,
        f"{ACCOUNT}/line_items/8xdpe",
        lambda client, scene: account(client).line_items.delete("8xdpe"),
    ),
    # Keyword insights (section 4.6)
    Row(
        line_items.KEYWORD_INSIGHTS,
        "/12/insights/keywords/search",
        lambda client, scene: client.ads.keyword_insights(
            ["ski pass", "été"],
            granularity="HOUR",
            start_time=DAY,
            end_time=DAY + datetime.timedelta(hours=7),
            location="96683cc9126741d1",
            negative_keywords=["race", "a&b"],
        ),
        {
            "granularity": "HOUR",
            "keywords": "ski pass,été",
            "start_time": "2025-01-06T00:00:00Z",
            "end_time": "2025-01-06T07:00:00Z",
            "location": "96683cc9126741d1",
            "negative_keywords": "race,a&b",
        },
    ),
    # Audiences (sections 4.7 and 4.8)
    Row(
        audiences.AUDIENCE_PERMISSIONS,
        PERMISSIONS,
        lambda client, scene: (
            account(client)
            .tailored_audience("1nmth")
            .permissions.list(
                count=1,
                granted_account_ids=(SECOND, "nobody"),
                sort_by="created_at-desc",
                tailored_audience_permission_ids=(scene.permission_id,),
                with_total_count=True,
            )
            .first()
        ),
        {
            "count": "1",
            "granted_account_ids": f"{SECOND},nobody",
            "sort_by": "created_at-desc",
            "tailored_audience_permission_ids": "{permission_id}",
            "with_total_count": "true",
        },
        (a_permission,),
    ),
    Row(
        audiences.AUDIENCE_PERMISSIONS,
        PERMISSIONS,
        lambda client, scene: (
            account(client).tailored_audience("1nmth").permissions.list(count=1, cursor=scene.cursor).first()
        ),
        {"count": "1", "cursor": "{cursor}"},
        (two_permissions, a_cursor(PERMISSIONS, count="1")),
    ),
    Row(
        audiences.AUDIENCE_PERMISSION_CREATE,
        PERMISSIONS,
        lambda client, scene: account(client).tailored_audience("1nmth").permissions.create(SECOND, "READ_WRITE"),
        {"granted_account_id": SECOND, "permission_level": "READ_WRITE"},
    ),
    Row(
        audiences.AUDIENCE_PERMISSION_DELETE,
        PERMISSIONS + "/{permission_id}",
        lambda client, scene: account(client).tailored_audience("1nmth").permissions.delete(scene.permission_id),
        before=(a_permission,),
    ),
    Row(
        audiences.TARGETED,
        f"{ACCOUNT}/custom_audiences/1nmth/targeted",
        lambda client, scene: (
            account(client).custom_audience("1nmth").targeted(with_active=False, start=f"0:{scene.cursor}").first()
        ),
        {"with_active": "false", "cursor": "{cursor}"},
        (a_cursor(f"{ACCOUNT}/custom_audiences/1nmth/targeted", with_active="false"),),
    ),
    # Uploads (sections 4.9 and 4.10)
    Row(
        audiences.CUSTOM_AUDIENCE_USERS,
        f"{ACCOUNT}/custom_audiences/1nmth/users",
        lambda client, scene: account(client).custom_audience("1nmth").send([OPERATION]),
        json=USERS,
    ),
    Row(
        audiences.DO_NOT_REACH_USERS,
        f"/12/batch/accounts/{FIRST}{LIST_PATH}/users",
        lambda client, scene: account(client).do_not_reach_list("7b2f1").send([OPERATION]),
        json=USERS,
    ),
    Row(
        audiences.DO_NOT_REACH_LIST_DELETE,
        f"{ACCOUNT}{LIST_PATH}",
        lambda client, scene: account(client).do_not_reach_list("7b2f1").delete(),
    ),
]
