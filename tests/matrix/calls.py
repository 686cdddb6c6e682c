"""How the public client asks each route, and what has to be there before: one `Way` for every row
of the routes.
"""

import importlib
import pkgutil
import re
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final, Literal
from urllib.parse import parse_qs, urlsplit

import aiohttp
import attrs

from socialapi import Client, OAuth1, routes
from socialapi.emulator import Emulator
from socialapi.models.pages import Page
from socialapi.routes import ads, catalogs, creatives, oauth, platform
from socialapi.routes.route import Route
from tests.emulator.platform.receiving import URL, Owner
from tests.resources import ads_rows, test_catalogs_agreement, test_creatives_agreement, test_independent_client
from tests.resources.agreeing import Both, name_of
from tests.support.independent import Independent
from tests.support.person import Person

CALLBACK: Final = "http://127.0.0.1:7/callback"
_YEAR: Final = 366 * 86_400.0


@attrs.frozen
class Stage:
    """What a way is prepared with: the service after a reset, and who asks it without the SDK."""

    emulator: Emulator
    owner: Owner
    http: aiohttp.ClientSession

    @property
    def plain(self) -> Independent:
        return Independent(self.emulator.ready, self.http)


Prepare = Callable[[Stage], Awaitable[Any]]
Ask = Callable[[Client, Any], Awaitable[Any]]
Kind = Literal["read", "replace", "write", "upload", "products", "token"]


@attrs.frozen
class Way:
    """A route, what has to be there before it is asked, and the call."""

    route: Route[Any]
    prepare: Prepare
    ask: Ask

    @property
    def name(self) -> str:
        return name_of(self.route)

    @property
    def is_of_platform(self) -> bool:
        return self.route.family.host == "base_url" and self.route.family.envelope

    @property
    def is_undone(self) -> bool:
        """Whether what it does has to be undone before it can be asked again."""
        return self.route in UNDONE or (self.kind == "write" and self.route not in ASKED_AGAIN)

    @property
    def kind(self) -> Kind:
        """What the documentation says of repeating it (docs/choices.md, "Answers and errors")."""
        asked = f"{self.route.method} {self.route.path}"
        if asked in KINDS:
            return KINDS[asked]
        return BY_METHOD[self.route.method]


BY_METHOD: Final[dict[str, Kind]] = {"GET": "read", "PUT": "replace", "POST": "write", "DELETE": "write"}
KINDS: Final[dict[str, Kind]] = {
    "POST /12/accounts/{account_id}/custom_audiences/{custom_audience_id}/users": "upload",
    "POST /12/batch/accounts/{account_id}/do_not_reach_lists/{do_not_reach_list_id}/users": "upload",
    "PUT /12/product_catalogs/{product_catalog_id}/products": "products",
    "POST /oauth2/token": "token",
    "POST /oauth/request_token": "token",
}
"""Routes of which more, or less, is known than their method says."""


def declared() -> Iterator[Route[Any]]:
    """Every row of the routes."""
    for module in pkgutil.iter_modules(routes.__path__):
        rows = vars(importlib.import_module(f"{routes.__name__}.{module.name}"))
        yield from (each for each in rows.values() if isinstance(each, Route))


def mounted(route: Route[Any]) -> str:
    """The path of a route as the emulator notes it."""
    mount = {"base_url": "", "ads_url": "/ads", "ads_sandbox_url": "/ads-sandbox"}[route.family.host]
    return mount + route.path


def on_the_wire(route: Route[Any]) -> str:
    """The path by which a fault meets a route: a star for each parameter."""
    return re.sub(r"{\w+}", "*", mounted(route))


async def nothing(stage: Stage) -> Any:
    """Nothing beyond the seed data is needed."""
    return stage.emulator.seed


SMALL: Final = {
    platform.POSTS: Way(platform.POSTS, nothing, lambda client, seed: client.posts.lookup(seed["post_ids"][:2])),
    platform.USER_POSTS: Way(
        platform.USER_POSTS,
        nothing,
        lambda client, seed: client.posts.by_user(seed["user_ids"][0], max_results=5).first(),
    ),
}
"""Calls with small answers, in place of those with sixty posts and all of their fields."""

# Ways that other tests have already


def _of_platform(row: test_independent_client.Row) -> Way:
    async def prepare(stage: Stage) -> Any:
        stage.emulator.webhook_targets[URL] = stage.owner.address
        scene = test_independent_client.Scene(stage.emulator, stage.owner, stage.plain)
        for each in row.before:
            await each(scene)
        return scene

    return Way(row.route, prepare, row.sdk)


def _of_ads(row: ads_rows.Row) -> Way:
    async def prepare(stage: Stage) -> Any:
        scene = ads_rows.Scene(stage.emulator, stage.plain)
        for each in row.before:
            await each(scene)
        return scene

    return Way(row.route, prepare, row.sdk)


def _of_both(both: Both) -> Way:
    return Way(both.route, nothing, lambda client, _: both.sdk(client))


def _known() -> Iterator[Way]:
    yield from map(_of_platform, (row for row in test_independent_client.ROWS if row.route not in SMALL))
    yield from SMALL.values()
    yield from map(_of_ads, {row.route: row for row in reversed(ads_rows.ROWS)}.values())
    yield from map(_of_both, (*test_creatives_agreement.ROWS, *test_catalogs_agreement.ROWS))


# Those of catalogs and of tokens


async def _no_catalog(stage: Stage) -> Any:
    answer = await stage.plain.user("DELETE", f"/ads/12/product_catalogs/{test_catalogs_agreement.CATALOG}")
    assert answer.status == 200, answer.body


async def _a_verifier(stage: Stage) -> Any:
    user = stage.emulator.state.users[stage.emulator.seed["user_ids"][1]]
    async with Client(stage.emulator.config, stage.emulator.credentials) as client:
        begun = await client.oauth.request_token("oob")
        verifier = await Person(user.username).pin(client.oauth.authorize_url(begun))
    stage.emulator.state.sign_ins.request_tokens[begun.oauth_token].expires_at += _YEAR
    return begun, verifier


async def _a_code(stage: Stage) -> Any:
    app, user = stage.emulator.ready["api_key"], stage.emulator.state.users[stage.emulator.seed["user_ids"][1]]
    async with Client(stage.emulator.config) as anybody:
        begun = anybody.oauth.authorization_url(client_id=app, redirect_uri=CALLBACK, state="s")
    somebody = Person(user.username, follows=False)
    await somebody.visit(begun.url)
    code = parse_qs(urlsplit(somebody.sent_to).query)["code"][0]
    stage.emulator.state.sign_ins.codes[code].expires_at += _YEAR  # it would not outlast the waits of a call
    return {"code": code, "client_id": app, "redirect_uri": CALLBACK, "code_verifier": begun.code_verifier}


def _of_tokens() -> Iterator[Way]:
    yield Way(oauth.APP_ONLY_TOKEN, nothing, lambda client, _: client.oauth.app_only_token())
    yield Way(oauth.INVALIDATE_APP_ONLY_TOKEN, nothing, lambda client, _: client.oauth.invalidate_app_only_token())
    yield Way(oauth.REQUEST_TOKEN, nothing, lambda client, _: client.oauth.request_token("oob", access_type="write"))
    yield Way(oauth.ACCESS_TOKEN, _a_verifier, lambda client, given: client.oauth.access_token(*given))
    yield Way(oauth.INVALIDATE_TOKEN, nothing, lambda client, _: client.oauth.invalidate_token())
    yield Way(oauth.OAUTH2_TOKEN, _a_code, lambda client, given: client.oauth.exchange_code(**given))


WAYS: Final = (
    *_known(),
    Way(catalogs.CATALOG_CREATE, _no_catalog, lambda client, _: client.catalogs.create("New", user_id="2244994945")),
    *_of_tokens(),
)

ASKED_AGAIN: Final = frozenset(
    {
        platform.POST_CREATE,
        platform.WEBHOOK_REPLAY,
        platform.ARTICLE_DRAFT,
        platform.NOTE_EVALUATE,
        ads.SANDBOX_ACCOUNT_CREATE,
        catalogs.PRODUCT_SET_CREATE,
        creatives.ADVERTISER_POST_CREATE,
        creatives.CARD_CREATE,
        creatives.POLL_CARD_CREATE,
        creatives.VIDEO_CONVERSATION_CARD_CREATE,
    }
)
"""Writes that succeed as often as they are asked for, so that nothing has to be undone between two
pairs.
"""

UNDONE: Final = frozenset({oauth.APP_ONLY_TOKEN})
"""Routes that are no writes and leave something that has to be undone: the client keeps its token.
"""

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


def user_of(emulator: Emulator) -> OAuth1:
    """The credential of the emulator's first user."""
    (user,) = (each for each in emulator.credentials if isinstance(each, OAuth1))
    return user


def is_paged(route: Route[Any]) -> bool:
    return getattr(route.result, "__origin__", None) is Page
