"""The table of endpoints: how the SDK asks each of them, and the request that this stands for.

Method, path, query and JSON are spelled by hand, as the service documents them. The first row of a
route is the call of the matrix.
"""

# ruff: noqa: ARG005  # every way to ask is given the scene, whether it needs it or not

import datetime
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Literal, get_args
from urllib.parse import parse_qs, urlsplit

import aiohttp
import attrs

from socialapi import AudienceUser, Client, Fields, Operation
from socialapi.emulator import Emulator
from socialapi.emulator.platform.state import StreamConnection
from socialapi.models.cards import App, Button, CardMedia, Details, SwipeableMedia, Website
from socialapi.models.catalogs import ProductFilter
from socialapi.models.products import Product
from socialapi.models.queries import Expansion, MediaField, PostField, UserField
from socialapi.routes import ads, audiences, catalogs, creatives, line_items, oauth, platform
from socialapi.routes.route import Route
from socialapi.types import PostDraft, PostMedia, RuleDraft
from tests.bulk.products.model_catalog import product
from tests.emulator.platform.receiving import URL, Owner
from tests.support.independent import Answer, Independent
from tests.support.person import Person
from tests.support.routes import name_of

Kind = Literal["read", "replace", "write", "upload", "products", "token"]
BY_METHOD: Final[dict[str, Kind]] = {"GET": "read", "PUT": "replace", "POST": "write", "DELETE": "write"}


@attrs.define
class Scene:
    """What is there before an endpoint is asked: the service, and who asks it without the SDK."""

    emulator: Emulator
    owner: Owner
    plain: Independent
    account_id: str = ""
    article_id: str = ""
    cursor: str = ""
    permission_id: str = ""
    post_ids: str = ""
    webhook_id: str = ""
    granted: Any = None
    """What a sign-in has given."""

    async def ask(self, method: str, path: str, **query: str) -> Any:
        answer = await self.plain.user(method, path, query=query or None)
        assert answer.status == 200, answer.body
        return answer.body


@attrs.frozen
class Row:
    """An endpoint with the two ways to ask it. `asked` and `query` may name what the scene has, in braces."""

    route: Route[Any]
    asked: str
    """Method and path."""
    sdk: Callable[..., Any]
    """The call, of a client and the scene. It takes the arguments in `pages` and `start` where there are `pages`."""
    query: Mapping[str, str] = attrs.field(factory=dict)
    json: Any = None
    before: tuple[Callable[[Scene], Awaitable[None]], ...] = ()
    pages: Mapping[str, int] | None = None
    """The arguments by which a collection comes in several pages, so that it can be walked."""
    is_one_page: bool = False
    """Whether the emulator sends the collection as one page."""
    as_user: bool = False
    """Whether the platform is asked in the name of a user. Advertising always is."""
    is_partial: bool = False
    """Whether problems are expected beside the data."""
    inside: str | int | None = None
    """The only field or item of `data`, if the SDK returns it alone."""
    kind: Kind = attrs.field()
    """What the documentation says of repeating it (docs/choices-platform.md, "Responses and errors")."""

    @kind.default
    def _kind(self) -> Kind:
        return BY_METHOD[self.route.method]

    @property
    def name(self) -> str:
        return name_of(self.route)

    @property
    def is_of_platform(self) -> bool:
        return self.route.family.host == "base_url" and self.route.family.envelope

    async def prepare(self, emulator: Emulator, owner: Owner, http: aiohttp.ClientSession) -> Scene:
        """The service after a reset, with what has to be there."""
        emulator.reset()
        owner.secret = emulator.ready["api_key_secret"]
        emulator.webhook_targets[URL] = owner.address
        scene = Scene(emulator, owner, Independent(emulator.ready, http))
        for each in self.before:
            await each(scene)
        return scene

    async def ask(self, client: Client, scene: Scene, **page: Any) -> Any:
        """What the SDK gets, of a collection one page."""
        return await self.sdk(client, scene, **(self.pages or {}), **page)

    def query_of(self, scene: Scene, **page: str) -> dict[str, str]:
        """The query of the request that the call stands for."""
        names = attrs.asdict(scene, recurse=False)
        given = {name: value.format_map(names) if "{" in value else value for name, value in self.query.items()}
        return given | {name: str(value) for name, value in (self.pages or {}).items()} | page

    async def ask_by_hand(self, scene: Scene, query: Mapping[str, str]) -> Answer:
        """What a client gets that shares nothing with the SDK."""
        method, path = self.asked.format_map(attrs.asdict(scene, recurse=False)).split(" ")
        as_user = self.as_user or path.startswith(("/ads/", "/ads-sandbox/"))
        send = scene.plain.user if as_user else scene.plain.bearer
        return await send(method, path, query=query or None, json=self.json)


def paged(route: Route[Any], asked: str, method: Callable[[Client], Callable[..., Any]], **pages: int) -> Row:
    """A collection that is walked in pages of a size, with no other argument."""
    return Row(route, asked, lambda c, s, **page: method(c)(**page), pages=pages)


# What rows are made of

USER: Final = "2244994945"
POST: Final = "1987455850905600000"
IMAGE: Final = "3_1874700001"
EVERYTHING: Final = Fields(
    post=PostField.__args__,  # type: ignore[attr-defined]  # the names of a Literal
    user=[name for name in get_args(UserField) if name != "confirmed_email"],
    media=MediaField.__args__,  # type: ignore[attr-defined]
    poll=["options", "voting_status"],
    place=["country"],
    expansions=Expansion.__args__,  # type: ignore[attr-defined]
)
ASKED: Final = {
    "tweet.fields": ",".join(EVERYTHING.post),
    "user.fields": ",".join(EVERYTHING.user),
    "media.fields": ",".join(EVERYTHING.media),
    "poll.fields": "options,voting_status",
    "place.fields": "country",
    "expansions": ",".join(EVERYTHING.expansions),
}
UUID: Final = "7a1c7c5e-6f0b-4a9e-8f57-0c9d3a8f2b11"
NOWHERE: Final = "00000000-0000-4000-8000-000000000000"


async def sixty_posts(scene: Scene) -> None:
    scene.post_ids = ",".join([*scene.emulator.seed["post_ids"][:60], "17"])


async def a_webhook(scene: Scene) -> None:
    made = await scene.plain.bearer("POST", "/2/webhooks", json={"url": URL})
    scene.webhook_id = made.body["data"]["id"]


async def rules(scene: Scene) -> None:
    body = {"add": [{"value": "cats has:images", "tag": "cats"}, {"value": "dogs"}]}
    await scene.plain.bearer("POST", "/2/tweets/search/stream/rules", json=body)


async def connected(scene: Scene) -> None:
    ready, now = scene.emulator.ready, scene.emulator.state.clock.now()
    scene.emulator.state.platform.connections.append(
        StreamConnection(id=UUID, app_key=ready["api_key"], endpoint_id="filtered_stream", connected_at=now)
    )


async def a_draft(scene: Scene) -> None:
    body = {"title": "Huts", "content_state": {"blocks": []}}
    scene.article_id = (await scene.plain.user("POST", "/2/articles/draft", json=body)).body["data"]["id"]


async def a_note(scene: Scene) -> None:
    await scene.plain.user("POST", "/2/notes", json={"text": "It was June.", "post_id": POST})


PLATFORM: Final = (
    Row(
        platform.POSTS,
        "GET /2/tweets",
        lambda c, s: c.posts.lookup([POST, "17"]),
        {"ids": f"{POST},17"},
        is_one_page=True,
        is_partial=True,
    ),
    Row(
        platform.POSTS,
        "GET /2/tweets",
        lambda c, s: c.posts.lookup(s.post_ids.split(","), fields=EVERYTHING),
        {"ids": "{post_ids}", **ASKED},
        before=(sixty_posts,),
        is_partial=True,
    ),
    Row(
        platform.USER_POSTS,
        f"GET /2/users/{USER}/tweets",
        lambda c, s, **page: c.posts.by_user(USER, **page),
        pages={"max_results": 5},
    ),
    Row(
        platform.USER_POSTS,
        f"GET /2/users/{USER}/tweets",
        lambda c, s: c.posts.by_user(USER, max_results=60, fields=EVERYTHING),
        {"max_results": "60", **ASKED},
    ),
    Row(
        platform.USER_POSTS,
        f"GET /2/users/{USER}/tweets",
        lambda c, s: c.posts.by_user(
            USER,
            start_time=datetime.datetime(2024, 5, 1, tzinfo=datetime.UTC),
            end_time=datetime.datetime(2024, 5, 4, tzinfo=datetime.UTC),
            since_id=1,
            until_id=POST,
            exclude=["replies", "retweets"],
        ),
        {
            "start_time": "2024-05-01T00:00:00Z",
            "end_time": "2024-05-04T00:00:00Z",
            "since_id": "1",
            "until_id": POST,
            "exclude": "replies,retweets",
        },
    ),
    Row(
        platform.POST_CREATE,
        "POST /2/tweets",
        lambda c, s: c.posts.create(
            PostDraft(
                text="Grüße 🌊 & more",
                community_id="17",
                share_with_followers=True,
                paid_partnership=True,
                quote_tweet_id=POST,
                media=PostMedia(media_ids=(IMAGE,)),
            )
        ),
        json={
            "text": "Grüße 🌊 & more",
            "community_id": "17",
            "share_with_followers": True,
            "paid_partnership": True,
            "quote_tweet_id": POST,
            "media": {"media_ids": [IMAGE]},
        },
        as_user=True,
    ),
    Row(platform.WEBHOOK_CREATE, "POST /2/webhooks", lambda c, s: c.webhooks.create(URL), json={"url": URL}),
    Row(platform.WEBHOOKS, "GET /2/webhooks", lambda c, s: c.webhooks.list(), before=(a_webhook,), is_one_page=True),
    Row(
        platform.WEBHOOKS,
        "GET /2/webhooks",
        lambda c, s: c.webhooks.list(webhook_config_fields=["url", "valid"]),
        {"webhook_config.fields": "url,valid"},
        before=(a_webhook,),
        is_one_page=True,
    ),
    Row(
        platform.WEBHOOK_VALIDATE,
        "PUT /2/webhooks/{webhook_id}",
        lambda c, s: c.webhooks.validate(s.webhook_id),
        before=(a_webhook,),
    ),
    Row(
        platform.WEBHOOK_DELETE,
        "DELETE /2/webhooks/{webhook_id}",
        lambda c, s: c.webhooks.delete(s.webhook_id),
        before=(a_webhook,),
    ),
    Row(
        platform.WEBHOOK_REPLAY,
        "POST /2/webhooks/replay",
        lambda c, s: c.webhooks.replay(from_date="202606010000"),
        json={"from_date": "202606010000"},
    ),
    Row(
        platform.STREAM_LINK,
        "POST /2/tweets/search/webhooks/{webhook_id}",
        lambda c, s: c.filtered_stream.link(s.webhook_id, fields=EVERYTHING),
        ASKED,
        before=(a_webhook,),
    ),
    Row(
        platform.STREAM_RULES,
        "GET /2/tweets/search/stream/rules",
        lambda c, s: c.filtered_stream.rules(),
        before=(rules,),
        is_one_page=True,
    ),
    Row(
        platform.STREAM_RULES_CHANGE,
        "POST /2/tweets/search/stream/rules",
        lambda c, s: c.filtered_stream.add_rules(RuleDraft("birds", "b"), "dogs", "(fish"),
        json={"add": [{"value": "birds", "tag": "b"}, {"value": "dogs"}, {"value": "(fish"}]},
        before=(rules,),
        is_one_page=True,
        is_partial=True,
    ),
    Row(
        platform.STREAM_RULES_CHANGE,
        "POST /2/tweets/search/stream/rules",
        lambda c, s: c.filtered_stream.add_rules("birds", dry_run=True),
        {"dry_run": "true"},
        {"add": [{"value": "birds"}]},
    ),
    Row(
        platform.POWERSTREAM_RULES,
        "GET /2/powerstream/rules",
        lambda c, s: c.powerstream.rules(),
        is_one_page=True,
    ),
    Row(
        platform.CONNECTIONS,
        "GET /2/connections",
        lambda c, s: c.connections.list(),
        before=(connected,),
        is_one_page=True,
    ),
    Row(
        platform.CONNECTIONS_END,
        "DELETE /2/connections",
        lambda c, s: c.connections.end(UUID, NOWHERE),
        json={"uuids": [UUID, NOWHERE]},
        before=(connected,),
        is_partial=True,
    ),
    Row(
        platform.CONNECTIONS_END_ENDPOINT,
        "DELETE /2/connections/filtered_stream",
        lambda c, s: c.connections.end_endpoint("filtered_stream"),
        before=(connected,),
    ),
    Row(
        platform.CONNECTIONS_END_ALL,
        "DELETE /2/connections/all",
        lambda c, s: c.connections.end_all(),
        before=(connected,),
    ),
    Row(
        platform.ARTICLE_DRAFT,
        "POST /2/articles/draft",
        lambda c, s: c.articles.draft("Huts", {"blocks": [{"text": "é"}]}, cover_media={"media_key": IMAGE}),
        json={"title": "Huts", "content_state": {"blocks": [{"text": "é"}]}, "cover_media": {"media_key": IMAGE}},
        as_user=True,
    ),
    Row(
        platform.ARTICLE_PUBLISH,
        "POST /2/articles/{article_id}/publish",
        lambda c, s: c.articles.publish(s.article_id),
        before=(a_draft,),
        as_user=True,
    ),
    Row(
        platform.NEWS_SEARCH,
        "GET /2/news/search",
        lambda c, s, **page: c.news.search("mountain", news_fields=["summary", "contexts"], **page),
        {"query": "mountain", "news.fields": "summary,contexts"},
        pages={"max_results": 1},
    ),
    Row(
        platform.NEWS_STORY,
        "GET /2/news/190501",
        lambda c, s: c.news.get(
            "190501", news_fields=["name", "summary", "contexts", "cluster_posts_results", "last_updated_at_ms"]
        ),
        {"news.fields": "name,summary,contexts,cluster_posts_results,last_updated_at_ms"},
    ),
    Row(
        platform.NOTE_EVALUATE,
        "POST /2/evaluate_note",
        lambda c, s: c.notes.evaluate(text="It was June.", x=[1]),
        json={"text": "It was June.", "x": [1]},
    ),
    Row(
        platform.NOTE_SUBMIT,
        "POST /2/notes",
        lambda c, s: c.notes.submit(text="It was June.", x={"y": None}),
        json={"text": "It was June.", "x": {"y": None}},
    ),
    Row(
        platform.NOTES_ELIGIBLE_POSTS,
        "GET /2/notes/search/posts_eligible_for_notes",
        lambda c, s: c.notes.eligible_posts(max_results=3, fields=EVERYTHING),
        {"max_results": "3", **ASKED},
        is_partial=True,
    ),
    paged(
        platform.NOTES_ELIGIBLE_POSTS,
        "GET /2/notes/search/posts_eligible_for_notes",
        lambda c: c.notes.eligible_posts,
        max_results=5,
    ),
    Row(
        platform.NOTES_WRITTEN,
        "GET /2/notes/search/notes_written",
        lambda c, s: c.notes.written(),
        before=(a_note,),
        is_one_page=True,
        as_user=True,
    ),
    Row(
        platform.SUBSCRIPTION_CREATE,
        "POST /2/activity/subscriptions",
        lambda c, s: c.activity.subscribe("dm.received", user_id="17", keyword="hut", direction="both", tag="huts"),
        json={
            "event_type": "dm.received",
            "filter": {"user_id": "17", "keyword": "hut", "direction": "both"},
            "tag": "huts",
        },
        as_user=True,
    ),
)

# Advertising

DIGEST: Final = "49e0be2aeccfb51a8dee4c945c8a70a9ac500cf6f5cb08112575f74db9b1470d"
FIRST, SECOND, BOOKS = "18ce54d4x5t", "18ce54u7r2k", "18ce55a9q0m"
ACCOUNT: Final = f"/ads/12/accounts/{FIRST}"
PAIRS: Final = f"{ACCOUNT}/line_item_curated_categories"
PERMISSIONS: Final = f"/ads/5/accounts/{FIRST}/tailored_audiences/1nmth/permissions"
DAY: Final = datetime.datetime(2025, 1, 6, tzinfo=datetime.UTC)
USERS: Final = [
    {"operation_type": "Update", "params": {"users": [{"email": [DIGEST]}], "expires_at": "2099-01-01T00:00:00Z"}}
]
OPERATION: Final = Operation.update(
    [AudienceUser(email=DIGEST)], expires_at=datetime.datetime(2099, 1, 1, tzinfo=datetime.UTC)
)


def account(client: Client) -> Any:
    return client.ads.account(FIRST)


def permissions(client: Client) -> Any:
    return account(client).tailored_audience("1nmth").permissions


async def a_cursor(scene: Scene) -> None:
    scene.cursor = (await scene.ask("GET", "/ads/12/accounts", count="1"))["next_cursor"]


async def a_test_account(scene: Scene) -> None:
    scene.account_id = (await scene.ask("POST", "/ads-sandbox/12/accounts"))["data"]["id"]


async def a_permission(scene: Scene) -> None:
    parameters = {"granted_account_id": SECOND, "permission_level": "READ_ONLY"}
    scene.permission_id = (await scene.ask("POST", PERMISSIONS, **parameters))["data"]["id"]


async def two_permissions(scene: Scene) -> None:
    """One of them for an account of another business, for which the owner needs a feature."""
    await a_permission(scene)
    accounts = scene.emulator.state.advertising.accounts
    owner = accounts.get(FIRST)
    assert owner is not None
    accounts.change(owner, features=[*owner["features"], "SHARE_AUDIENCE_OUTSIDE_BUSINESS"])
    await scene.ask("POST", PERMISSIONS, granted_account_id=BOOKS, permission_level="READ_WRITE")


HISTORY: Final = {
    "entity_type": "CAMPAIGN",
    "entity_id": "8wku2",
    "start_time": "2025-01-06T00:00:00Z",
    "end_time": "2025-01-07T00:00:00Z",
    "user_id": USER,
}
IN_HISTORY: Final[Any] = {
    **HISTORY,
    "start_time": DAY,
    "end_time": DAY + datetime.timedelta(days=1),
    "user_id": int(USER),
}
CHANGES: Final = {
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
CHANGED: Final[Any] = {
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
ALL: Final = {"count": "2", "sort_by": "updated_at-desc", "with_deleted": "true", "with_total_count": "true"}
ALL_TYPED: Final[Any] = {"count": 2, "sort_by": "updated_at-desc", "with_deleted": True, "with_total_count": True}

ADVERTISING: Final = (
    # Accounts (section 4.2)
    Row(
        ads.ACCOUNTS,
        "GET /ads/12/accounts",
        lambda c, s: c.ads.accounts.list(account_ids=(SECOND, FIRST), q="nORTHwind", **ALL_TYPED),
        {"account_ids": f"{SECOND},{FIRST}", "q": "nORTHwind", **ALL},
    ),
    paged(ads.ACCOUNTS, "GET /ads/12/accounts", lambda c: c.ads.accounts.list, count=1),
    Row(
        ads.ACCOUNTS,
        "GET /ads/12/accounts",
        lambda c, s: c.ads.accounts.list(cursor=s.cursor),
        {"cursor": "{cursor}"},
        before=(a_cursor,),
    ),
    Row(
        ads.ACCOUNT,
        "GET /ads/12/accounts/{account_id}",
        lambda c, s: c.ads.accounts.get(s.account_id, with_deleted=True),
        {"with_deleted": "true"},
        before=(a_test_account,),
    ),
    Row(ads.SANDBOX_ACCOUNT_CREATE, "POST /ads-sandbox/12/accounts", lambda c, s: c.ads.sandbox.create_account()),
    Row(
        ads.ACCOUNT_UPDATE,
        f"PUT {ACCOUNT}",
        lambda c, s: c.ads.accounts.update(FIRST, name="Größe & more", industry_type="TRAVEL"),
        {"name": "Größe & more", "industry_type": "TRAVEL"},
    ),
    Row(
        ads.SANDBOX_ACCOUNT_DELETE,
        "DELETE /ads-sandbox/12/accounts/{account_id}",
        lambda c, s: c.ads.sandbox.delete_account(s.account_id),
        before=(a_test_account,),
    ),
    Row(ads.ACCOUNT_APPS, f"GET {ACCOUNT}/account_apps", lambda c, s: account(c).apps(**ALL_TYPED), ALL),
    paged(ads.ACCOUNT_APPS, f"GET {ACCOUNT}/account_apps", lambda c: account(c).apps, count=2),
    Row(
        ads.ACCOUNT_HISTORY,
        f"GET {ACCOUNT}/account_history",
        lambda c, s, **page: account(c).history(**IN_HISTORY, **page),
        HISTORY,
        pages={"count": 5},
    ),
    Row(
        ads.FEATURES,
        f"GET {ACCOUNT}/features",
        lambda c, s: account(c).features(["REACH_FREQUENCY_CAP", "WEBSITE_CLICKS_CPM_BILLING"]),
        {"feature_keys": "REACH_FREQUENCY_CAP,WEBSITE_CLICKS_CPM_BILLING"},
    ),
    Row(ads.FEATURES, f"GET {ACCOUNT}/features", lambda c, s: account(c).features()),
    Row(
        ads.SANDBOX_FEATURES_ADD,
        "POST /ads-sandbox/12/accounts/{account_id}/features",
        lambda c, s: c.ads.sandbox.add_features(s.account_id, ["REACH_FREQUENCY_CAP", "BRAND_NEW"]),
        {"feature_keys": "REACH_FREQUENCY_CAP,BRAND_NEW"},
        before=(a_test_account,),
    ),
    # Categories (sections 4.3 and 4.5)
    Row(
        line_items.BUSINESS_CATEGORIES,
        "GET /ads/12/advertiser_business_categories",
        lambda c, s: c.ads.business_categories(),
        is_one_page=True,
    ),
    Row(
        line_items.CURATED_CATEGORIES,
        f"GET {ACCOUNT}/curated_categories",
        lambda c, s, **page: account(c).curated_categories.list(["GB", "JP"], **page),
        {"country_codes": "GB,JP"},
        pages={"count": 5},
    ),
    Row(
        line_items.CURATED_CATEGORY,
        f"GET {ACCOUNT}/curated_categories/cc0007",
        lambda c, s: account(c).curated_categories.get("cc0007"),
    ),
    Row(
        line_items.LINE_ITEM_CURATED_CATEGORIES,
        f"GET {PAIRS}",
        lambda c, s: account(c).line_item_curated_categories.list(**ALL_TYPED),
        ALL,
    ),
    paged(
        line_items.LINE_ITEM_CURATED_CATEGORIES,
        f"GET {PAIRS}",
        lambda c: account(c).line_item_curated_categories.list,
        count=5,
    ),
    Row(
        line_items.LINE_ITEM_CURATED_CATEGORY,
        f"GET {PAIRS}/d0018f",
        lambda c, s: account(c).line_item_curated_categories.get("d0018f", with_deleted=True),
        {"with_deleted": "true"},
    ),
    Row(
        line_items.LINE_ITEM_CURATED_CATEGORY_CREATE,
        f"POST {PAIRS}",
        lambda c, s: account(c).line_item_curated_categories.create("8xdpe", "cc0001"),
        {"line_item_id": "8xdpe", "curated_category_id": "cc0001"},
    ),
    Row(
        line_items.LINE_ITEM_CURATED_CATEGORY_UPDATE,
        f"PUT {PAIRS}/c00000",
        lambda c, s: account(c).line_item_curated_categories.update(
            "c00000", line_item_id="8xdpf", curated_category_id="cc0002"
        ),
        {"line_item_id": "8xdpf", "curated_category_id": "cc0002"},
    ),
    Row(
        line_items.LINE_ITEM_CURATED_CATEGORY_DELETE,
        f"DELETE {PAIRS}/c00001",
        lambda c, s: account(c).line_item_curated_categories.delete("c00001"),
    ),
    # Line items (section 4.4)
    Row(
        line_items.LINE_ITEM_UPDATE,
        f"PUT {ACCOUNT}/line_items/8xdpf",
        lambda c, s: account(c).line_items.update("8xdpf", CHANGED),
        CHANGES,
    ),
    Row(
        line_items.LINE_ITEM_UPDATE,
        f"PUT {ACCOUNT}/line_items/8xdpf",
        lambda c, s: account(c).line_items.update("8xdpf", frequency_cap=None, categories=()),
        {"frequency_cap": "", "categories": ""},
    ),
    Row(
        line_items.LINE_ITEM_UPDATE,
        f"PUT {ACCOUNT}/line_items/8xdpj",
        lambda c, s: account(c).line_items.update("8xdpj", advertiser_user_id=783214001),
        {"advertiser_user_id": "783214001"},
    ),
    Row(
        line_items.LINE_ITEM_DELETE,
        f"DELETE {ACCOUNT}/line_items/8xdpe",
        lambda c, s: account(c).line_items.delete("8xdpe"),
    ),
    # Keyword insights (section 4.6)
    Row(
        line_items.KEYWORD_INSIGHTS,
        "GET /ads/12/insights/keywords/search",
        lambda c, s: c.ads.keyword_insights(
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
        f"GET {PERMISSIONS}",
        lambda c, s: permissions(c).list(
            count=1,
            granted_account_ids=(SECOND, "nobody"),
            sort_by="created_at-desc",
            tailored_audience_permission_ids=(s.permission_id,),
            with_total_count=True,
        ),
        {
            "count": "1",
            "granted_account_ids": f"{SECOND},nobody",
            "sort_by": "created_at-desc",
            "tailored_audience_permission_ids": "{permission_id}",
            "with_total_count": "true",
        },
        before=(a_permission,),
    ),
    Row(
        audiences.AUDIENCE_PERMISSIONS,
        f"GET {PERMISSIONS}",
        lambda c, s, **page: permissions(c).list(**page),
        before=(two_permissions,),
        pages={"count": 1},
    ),
    Row(
        audiences.AUDIENCE_PERMISSION_CREATE,
        f"POST {PERMISSIONS}",
        lambda c, s: permissions(c).create(SECOND, "READ_WRITE"),
        {"granted_account_id": SECOND, "permission_level": "READ_WRITE"},
    ),
    Row(
        audiences.AUDIENCE_PERMISSION_DELETE,
        f"DELETE {PERMISSIONS}/{{permission_id}}",
        lambda c, s: permissions(c).delete(s.permission_id),
        before=(a_permission,),
    ),
    Row(
        audiences.TARGETED,
        f"GET {ACCOUNT}/custom_audiences/1nmth/targeted",
        lambda c, s, **page: account(c).custom_audience("1nmth").targeted(with_active=False, **page),
        {"with_active": "false"},
        pages={},
    ),
    # Uploads (sections 4.9 and 4.10)
    Row(
        audiences.CUSTOM_AUDIENCE_USERS,
        f"POST {ACCOUNT}/custom_audiences/1nmth/users",
        lambda c, s: account(c).custom_audience("1nmth").send([OPERATION]),
        json=USERS,
        kind="upload",
    ),
    Row(
        audiences.DO_NOT_REACH_USERS,
        f"POST /ads/12/batch/accounts/{FIRST}/do_not_reach_lists/7b2f1/users",
        lambda c, s: account(c).do_not_reach_list("7b2f1").send([OPERATION]),
        json=USERS,
        inside=0,
        kind="upload",
    ),
    Row(
        audiences.DO_NOT_REACH_LIST_DELETE,
        f"DELETE {ACCOUNT}/do_not_reach_lists/7b2f1",
        lambda c, s: account(c).do_not_reach_list("7b2f1").delete(),
    ),
)

# Creatives

OTHER_IMAGE: Final = "3_1874700002"
VIDEO: Final = "7_1874700101"
PREROLL: Final = "13_1874750002"

POLL: Final[dict[str, Any]] = {
    "name": "Boots",
    "duration_in_minutes": 60,
    "first_choice": "Yes",
    "second_choice": "No",
    "third_choice": "Maybe",
    "fourth_choice": "Never",
    "media_key": IMAGE,
}
CONVERSATION: Final = {
    "name": "Trails",
    "media_key": VIDEO,
    "title": "Which",
    "thank_you_text": "Thanks",
    "thank_you_url": "https://shop.example",
    "poster_media_key": IMAGE,
    "unlocked_image_media_key": IMAGE,
    **{f"{ordinal}_cta": f"#{ordinal}" for ordinal in ("first", "second", "third", "fourth")},
    **{f"{ordinal}_cta_tweet": ordinal for ordinal in ("first", "second", "third", "fourth")},
}
UNLOCKING_A_VIDEO: Final[dict[str, Any]] = {
    name: value for name, value in CONVERSATION.items() if name != "unlocked_image_media_key"
} | {"unlocked_video_media_key": VIDEO}
AD: Final[dict[str, Any]] = {
    "as_user_id": USER,
    "text": "Boots",
    "name": "Ad",
    "card_uri": "card://cd000",
    "conversation_settings": "FOLLOWING",
    "nullcast": True,
    "trim_user": False,
    "tweet_mode": "extended",
    "video_cta": "VISIT_SITE",
    "video_cta_value": "https://shop.example",
    "video_title": "Film",
    "video_description": "Part1",
}
WEBSITE: Final = {"type": "WEBSITE", "url": "https://shop.example"}
APP: Final = {
    "type": "APP",
    "country_code": "DE",
    "android_store_app_id": "a.b",
    "ios_app_store_identifier": "17",
    "android_store_deep_link": "a://x",
    "ios_deep_link": "i://x",
}


def texts(fields: dict[str, Any]) -> dict[str, str]:
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in fields.items()}


CREATIVES: Final = (
    Row(
        creatives.ACCOUNT_MEDIA,
        f"GET {ACCOUNT}/account_media",
        lambda c, s: account(c).media.list(
            account_media_ids=("am000", "am001", "an000"),
            creative_types=("PREROLL", "BANNER"),
            with_deleted=True,
            with_total_count=True,
            count=2,
            sort_by="created_at-desc",
        ),
        {
            "account_media_ids": "am000,am001,an000",
            "creative_types": "PREROLL,BANNER",
            "with_deleted": "true",
            "with_total_count": "true",
            "count": "2",
            "sort_by": "created_at-desc",
        },
    ),
    paged(creatives.ACCOUNT_MEDIA, f"GET {ACCOUNT}/account_media", lambda c: account(c).media.list, count=3),
    Row(
        creatives.ACCOUNT_MEDIUM,
        f"GET {ACCOUNT}/account_media/an000",
        lambda c, s: account(c).media.get("an000", with_deleted=True),
        {"with_deleted": "true"},
    ),
    Row(
        creatives.ACCOUNT_MEDIUM_DELETE,
        f"DELETE {ACCOUNT}/account_media/am001",
        lambda c, s: account(c).media.delete("am001"),
    ),
    Row(
        creatives.CARDS,
        f"GET {ACCOUNT}/cards",
        lambda c, s: account(c).cards.list(
            card_types=("IMAGE_MULTI_DEST_CAROUSEL_WEBSITE", "VIDEO_APP", "IMAGE_WEBSITE"),
            include_legacy_cards=True,
            q="winter",
            count=5,
            sort_by="name-asc",
            with_deleted=True,
        ),
        {
            "card_types": "IMAGE_MULTI_DEST_CAROUSEL_WEBSITE,VIDEO_APP,IMAGE_WEBSITE",
            "include_legacy_cards": "true",
            "q": "winter",
            "count": "5",
            "sort_by": "name-asc",
            "with_deleted": "true",
        },
    ),
    Row(
        creatives.CARDS,
        f"GET {ACCOUNT}/cards",
        lambda c, s, **page: account(c).cards.list(include_legacy_cards=True, **page),
        {"include_legacy_cards": "true"},
        pages={"count": 5},
    ),
    Row(
        creatives.CARDS,
        f"GET {ACCOUNT}/cards",
        lambda c, s: account(c).cards.list(card_id="cd000", card_uris=("card://cd000", "card://cd001")),
        {"card_id": "cd000", "card_uris": "card://cd000,card://cd001"},
    ),
    Row(
        creatives.CARD,
        f"GET {ACCOUNT}/cards/ce000",
        lambda c, s: account(c).cards.get("ce000", with_deleted=True),
        {"with_deleted": "true"},
    ),
    Row(
        creatives.CARD_CREATE,
        f"POST {ACCOUNT}/cards",
        lambda c, s: account(c).cards.create(
            "Boots",
            components=[
                SwipeableMedia([IMAGE, VIDEO]),
                Button(
                    "SHOP",
                    App(
                        country_code="DE",
                        android_store_app_id="a.b",
                        ios_app_store_identifier="17",
                        android_store_deep_link="a://x",
                        ios_deep_link="i://x",
                    ),
                ),
            ],
        ),
        json={
            "name": "Boots",
            "components": [
                {"type": "SWIPEABLE_MEDIA", "media_keys": [IMAGE, VIDEO]},
                {"type": "BUTTON", "label": {"type": "ENUM", "value": "SHOP"}, "destination": APP},
            ],
        },
    ),
    Row(
        creatives.CARD_UPDATE,
        f"PUT {ACCOUNT}/cards/cd000",
        lambda c, s: account(c).cards.update(
            "cd000",
            name="Other",
            slides=[
                [CardMedia(IMAGE), Details("One", Website("https://shop.example"))],
                [CardMedia(VIDEO), Details("Two", Website("https://shop.example"))],
            ],
        ),
        json={
            "name": "Other",
            "slides": [
                [
                    {"type": "MEDIA", "media_key": key},
                    {"type": "DETAILS", "title": title, "destination": WEBSITE},
                ]
                for key, title in ((IMAGE, "One"), (VIDEO, "Two"))
            ],
        },
    ),
    Row(
        creatives.IMAGE_CONVERSATION_CARD_DELETE,
        f"DELETE {ACCOUNT}/cards/image_conversation/lc000",
        lambda c, s: account(c).cards.delete_image_conversation("lc000"),
    ),
    Row(
        creatives.MEDIA_LIBRARY,
        f"GET {ACCOUNT}/media_library",
        lambda c, s: account(c).media_library.list(media_type="VIDEO", q="film", count=3),
        {"media_type": "VIDEO", "q": "film", "count": "3"},
    ),
    paged(creatives.MEDIA_LIBRARY, f"GET {ACCOUNT}/media_library", lambda c: account(c).media_library.list, count=3),
    Row(
        creatives.LIBRARY_MEDIA,
        f"GET {ACCOUNT}/media_library/{VIDEO}",
        lambda c, s: account(c).media_library.get(VIDEO),
    ),
    Row(
        creatives.LIBRARY_MEDIA_ADD,
        f"POST {ACCOUNT}/media_library",
        lambda c, s: account(c).media_library.add(
            PREROLL, name="Spot", file_name="s.mp4", title="T", description="D", poster_media_key=IMAGE
        ),
        {
            "media_key": PREROLL,
            "name": "Spot",
            "file_name": "s.mp4",
            "title": "T",
            "description": "D",
            "poster_media_key": IMAGE,
        },
    ),
    Row(
        creatives.LIBRARY_MEDIA_UPDATE,
        f"PUT {ACCOUNT}/media_library/{VIDEO}",
        lambda c, s: account(c).media_library.update(
            VIDEO, name="New", title=None, file_name="n.mp4", description="N", poster_media_key=IMAGE
        ),
        {"name": "New", "title": "", "file_name": "n.mp4", "description": "N", "poster_media_key": IMAGE},
    ),
    Row(
        creatives.LIBRARY_MEDIA_DELETE,
        f"DELETE {ACCOUNT}/media_library/{OTHER_IMAGE}",
        lambda c, s: account(c).media_library.delete(OTHER_IMAGE),
    ),
    Row(
        creatives.POLL_CARDS,
        f"GET {ACCOUNT}/cards/poll",
        lambda c, s: account(c).poll_cards.list(card_ids=("po000", "po001"), q="b", **ALL_TYPED),
        {"card_ids": "po000,po001", "q": "b", **ALL},
    ),
    paged(creatives.POLL_CARDS, f"GET {ACCOUNT}/cards/poll", lambda c: account(c).poll_cards.list, count=3),
    Row(
        creatives.POLL_CARD,
        f"GET {ACCOUNT}/cards/poll/po001",
        lambda c, s: account(c).poll_cards.get("po001", with_deleted=True),
        {"with_deleted": "true"},
    ),
    Row(
        creatives.POLL_CARD_CREATE,
        f"POST {ACCOUNT}/cards/poll",
        lambda c, s: account(c).poll_cards.create(**POLL),
        texts(POLL),
    ),
    Row(
        creatives.ADVERTISER_POST_CREATE,
        f"POST {ACCOUNT}/tweet",
        lambda c, s: account(c).posts.create(**AD, media_keys=(IMAGE, OTHER_IMAGE)),
        {**texts(AD), "media_keys": f"{IMAGE},{OTHER_IMAGE}"},
    ),
    Row(
        creatives.ADVERTISER_POST_RENAME,
        f"PUT {ACCOUNT}/tweets/1988048506060800015/name",
        lambda c, s: account(c).posts.rename("1988048506060800015", "New"),
        {"name": "New"},
    ),
    Row(
        creatives.VIDEO_CONVERSATION_CARDS,
        f"GET {ACCOUNT}/cards/video_conversation",
        lambda c, s: account(c).video_conversation_cards.list(card_ids=("vc000", "vc001"), q="n", **ALL_TYPED),
        {"card_ids": "vc000,vc001", "q": "n", **ALL},
    ),
    paged(
        creatives.VIDEO_CONVERSATION_CARDS,
        f"GET {ACCOUNT}/cards/video_conversation",
        lambda c: account(c).video_conversation_cards.list,
        count=3,
    ),
    Row(
        creatives.VIDEO_CONVERSATION_CARD,
        f"GET {ACCOUNT}/cards/video_conversation/vd000",
        lambda c, s: account(c).video_conversation_cards.get("vd000", with_deleted=True),
        {"with_deleted": "true"},
    ),
    Row(
        creatives.VIDEO_CONVERSATION_CARD_CREATE,
        f"POST {ACCOUNT}/cards/video_conversation",
        lambda c, s: account(c).video_conversation_cards.create(**CONVERSATION),
        CONVERSATION,
    ),
    Row(
        creatives.VIDEO_CONVERSATION_CARD_CREATE,
        f"POST {ACCOUNT}/cards/video_conversation",
        lambda c, s: account(c).video_conversation_cards.create(**UNLOCKING_A_VIDEO),
        UNLOCKING_A_VIDEO,
    ),
    Row(
        creatives.VIDEO_CONVERSATION_CARD_UPDATE,
        f"PUT {ACCOUNT}/cards/video_conversation/vc003",
        lambda c, s: account(c).video_conversation_cards.update("vc003", name="New", thank_you_url=None),
        {"name": "New", "thank_you_url": ""},
    ),
    *(
        Row(
            creatives.VIDEO_CONVERSATION_CARD_UPDATE,
            f"PUT {ACCOUNT}/cards/video_conversation/vc003",
            lambda c, s, changes=changes: account(c).video_conversation_cards.update("vc003", **changes),
            changes,
        )
        for changes in (CONVERSATION, UNLOCKING_A_VIDEO)
    ),
)

# Catalogs

CATALOG_ID: Final = "7pc01"
CATALOG: Final = f"/ads/12/product_catalogs/{CATALOG_ID}"
WHOLE: Final = product(
    "für/1",
    title="Stiefel “für” immer 🥾",
    gtin="4006381333931",
    mpn="N-1",
    mobile_link="https://m.shop.example/a",
    additional_image_link="https://shop.example/1.jpg,https://shop.example/2.jpg",
    taxonomy_product_category="Shoes",
    product_type="Shoes > Boots",
    inventory=7,
    sale_price="9.00 EUR",
    sale_price_effective_date="2026-06-01T00:00:00+02:00/2026-06-08T00:00:00+02:00",
    item_group_id="G",
    gender="unisex",
    color="moss",
    size="42",
    age_group="adult",
    **{f"custom_label_{number}": str(number) for number in range(5)},
)
FILTER: Final = {"attribute": "price", "operator": "LESS_THAN", "value": "20 EUR"}


async def no_catalog(scene: Scene) -> None:
    await scene.ask("DELETE", CATALOG)


CATALOGS: Final = (
    Row(
        catalogs.CATALOGS,
        "GET /ads/12/product_catalogs",
        lambda c, s: c.catalogs.list(user_id=USER),
        {"user_id": USER},
        is_one_page=True,
    ),
    Row(catalogs.CATALOG_RENAME, f"PUT {CATALOG}", lambda c, s: c.catalogs.rename(CATALOG_ID, "New"), {"name": "New"}),
    Row(catalogs.CATALOG_DELETE, f"DELETE {CATALOG}", lambda c, s: c.catalogs.delete(CATALOG_ID)),
    Row(
        catalogs.PRODUCTS,
        f"GET {CATALOG}/products",
        lambda c, s: c.catalog(CATALOG_ID).products.list(item_group_key="pg01"),
        {"item_group_key": "pg01"},
    ),
    paged(catalogs.PRODUCTS, f"GET {CATALOG}/products", lambda c: c.catalog(CATALOG_ID).products.list, count=5),
    Row(
        catalogs.PRODUCTS_PUT,
        f"PUT {CATALOG}/products",
        lambda c, s: c.catalog(CATALOG_ID).products.put([Product(**WHOLE), product("NW-1001")]),
        json={"products": [WHOLE, product("NW-1001")]},
        inside="products_response",
        kind="products",
    ),
    Row(
        catalogs.PRODUCTS_DELETE,
        f"DELETE {CATALOG}/products",
        lambda c, s: c.catalog(CATALOG_ID).products.delete(["pk000", "nothing", "pk003"]),
        json={"product_keys": ["pk000", "nothing", "pk003"]},
        inside="delete_products",
    ),
    Row(
        catalogs.PRODUCT_SET,
        f"GET {CATALOG}/product_sets/7ps02",
        lambda c, s: c.catalog(CATALOG_ID).product_sets.get("7ps02"),
    ),
    Row(
        catalogs.PRODUCT_SET_CREATE,
        f"POST {CATALOG}/product_sets",
        lambda c, s: c.catalog(CATALOG_ID).product_sets.create(
            "Cheap", "FILTERED", description="x", filters=[ProductFilter("price", "LESS_THAN", "20 EUR")]
        ),
        json={"name": "Cheap", "type": "FILTERED", "description": "x", "filters": [FILTER]},
    ),
    Row(
        catalogs.CATALOG_CREATE,
        "POST /ads/12/product_catalogs",
        lambda c, s: c.catalogs.create("New", user_id=USER),
        {"name": "New", "user_id": USER},
        before=(no_catalog,),
    ),
)

# Tokens and sign-ins, of which every answer is another one: tests of their own compare them

CALLBACK: Final = "http://127.0.0.1:7/callback"
_YEAR: Final = 366 * 86_400.0


async def a_verifier(scene: Scene) -> None:
    user = scene.emulator.state.users[scene.emulator.seed["user_ids"][1]]
    async with Client(scene.emulator.config, scene.emulator.credentials) as client:
        begun = await client.oauth.request_token("oob")
        verifier = await Person(user.username).pin(client.oauth.authorize_url(begun))
    scene.emulator.state.sign_ins.request_tokens[begun.oauth_token].expires_at += _YEAR
    scene.granted = begun, verifier


async def a_code(scene: Scene) -> None:
    app, user = scene.emulator.ready["api_key"], scene.emulator.state.users[scene.emulator.seed["user_ids"][1]]
    async with Client(scene.emulator.config) as anybody:
        scopes = ("tweet.read", "users.read", "offline.access")
        begun = anybody.oauth.authorization_url(client_id=app, redirect_uri=CALLBACK, scopes=scopes, state="s")
    somebody = Person(user.username, follows=False)
    await somebody.visit(begun.url)
    code = parse_qs(urlsplit(somebody.sent_to).query)["code"][0]
    scene.emulator.state.sign_ins.codes[code].expires_at += _YEAR  # it would not outlast the waits of a call
    scene.granted = {"code": code, "client_id": app, "redirect_uri": CALLBACK, "code_verifier": begun.code_verifier}


TOKENS: Final = (
    Row(oauth.APP_ONLY_TOKEN, "POST /oauth2/token", lambda c, s: c.oauth.app_only_token(), kind="token"),
    Row(
        oauth.INVALIDATE_APP_ONLY_TOKEN,
        "POST /oauth2/invalidate_token",
        lambda c, s: c.oauth.invalidate_app_only_token(),
    ),
    Row(
        oauth.REQUEST_TOKEN,
        "POST /oauth/request_token",
        lambda c, s: c.oauth.request_token("oob", access_type="write"),
        kind="token",
    ),
    Row(
        oauth.ACCESS_TOKEN,
        "POST /oauth/access_token",
        lambda c, s: c.oauth.access_token(*s.granted),
        before=(a_verifier,),
    ),
    Row(oauth.INVALIDATE_TOKEN, "POST /1.1/oauth/invalidate_token", lambda c, s: c.oauth.invalidate_token()),
    Row(
        oauth.OAUTH2_TOKEN,
        "POST /2/oauth2/token",
        lambda c, s: c.oauth.exchange_code(**s.granted),
        before=(a_code,),
    ),
)

STREAMS: Final[dict[Route[Any], Callable[..., Any]]] = {
    platform.POST_STREAM: lambda client, **options: client.filtered_stream.connect(**options),
    platform.ACTIVITY_STREAM: lambda client, **options: client.activity.stream(**options),
}

# Pages of a sign-in: the SDK says where they are, and asks for none.
PAGES: Final[dict[Route[Any], Callable[[Client], str]]] = {
    oauth.AUTHORIZE: lambda client: client.oauth.authorize_url("token"),
    oauth.AUTHENTICATE: lambda client: client.oauth.authenticate_url("token"),
    oauth.OAUTH2_AUTHORIZE: lambda client: (
        client.oauth.authorization_url(client_id="id", redirect_uri=CALLBACK, state="s").url
    ),
}

ROWS: Final = (*PLATFORM, *ADVERTISING, *CREATIVES, *CATALOGS)
"""The rows that are compared with the independent client."""
CALLS: Final = tuple({row.route: row for row in reversed((*ROWS, *TOKENS))}.values())[::-1]
"""One row for each route that is asked: the first."""
WALKS: Final = tuple(row for row in ROWS if row.pages is not None)
