"""A server that follows no rules: whatever it answers is an error of this package, and the next call works."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Final

import attrs
import pytest

from socialapi import Bearer, Client, errors
from socialapi.credentials import Credentials
from socialapi.routes import oauth
from socialapi.routes.route import OAUTH
from tests.matrix.bench import open_bench
from tests.matrix.documented import CLASSES, REPEATED, WRITES, Promise, what_happened
from tests.matrix.hostile import HOSTILE, MAX_RESPONSE_BYTES, TIMEOUT_SECONDS, Hostile
from tests.support.clients import OPERATION, PRODUCT
from tests.support.clock import VirtualClock
from tests.support.endpoint_table import CALLS, Kind, Row
from tests.support.full_size import FULL_SIZE
from tests.support.planted import APP, SECRETS, USER, client_for, leaks, told_by
from tests.support.server import Received, Server, Step, answer

RETRIES: Final = 1
BEARER: Final = Bearer(SECRETS["bearer"])
CREDENTIALS: Final = (USER, BEARER)
TOKEN: Final = answer({"token_type": "bearer", "access_token": "t"})
TOKEN_PATH: Final = "/oauth2/token"
POLL: Final[dict[str, Any]] = {"name": "n", "duration_in_minutes": 5, "first_choice": "a", "second_choice": "b"}
COUNTS: Final = {"data": {"success_count": 1, "total_count": 1}}
FORM: Final = b"oauth_token=t&oauth_token_secret=s&oauth_callback_confirmed=true"
CODE: Final = {"client_id": "i", "redirect_uri": "https://a.example/", "code_verifier": "v" * 43}


@attrs.frozen
class Asked:
    """A call for each way in which answers are read, and a good answer to it."""

    kind: Kind
    ask: Callable[[Client], Awaitable[Any]]
    good: bytes
    """Nothing where nobody wrote one down: the next call is then for another record."""
    credentials: tuple[Credentials, ...] = CREDENTIALS
    is_for_tokens: bool = False


ASKED: Final[dict[str, Asked]] = {
    "a record": Asked("read", lambda c: c.ads.accounts.get("a"), answer({"data": {"id": "a"}})),
    "a page of records": Asked("read", lambda c: c.ads.accounts.list().first(), answer({"data": [{"id": "a"}]})),
    "a page of posts": Asked("read", lambda c: c.posts.by_user("1").first(), answer({"data": [{"id": "1"}]})),
    "names": Asked("read", lambda c: c.ads.account("a").features(), answer({"data": ["A"]})),
    "a record that is made": Asked(
        "write", lambda c: c.ads.account("a").poll_cards.create(**POLL), answer({"data": {"id": "a"}})
    ),
    "a post that is made": Asked("write", lambda c: c.posts.create("a"), answer({"data": {"id": "1"}}, status=201)),
    "a change": Asked(
        "replace", lambda c: c.ads.account("a").line_items.update("l", name="n"), answer({"data": {"id": "l"}})
    ),
    "a deletion": Asked("write", lambda c: c.ads.account("a").line_items.delete("l"), answer({"data": {"id": "l"}})),
    "ended connections": Asked("write", lambda c: c.connections.end_all(), answer({"data": {"ended_count": 1}})),
    "an upload": Asked("upload", lambda c: c.ads.account("a").custom_audience("c").send([OPERATION]), answer(COUNTS)),
    "products": Asked(
        "products",
        lambda c: c.catalog("1").products.put([PRODUCT]),
        answer({"data": {"products_response": [{"id": "1", "status": "CREATE_SUCCESS"}]}}),
    ),
    "a webhook that is checked": Asked(
        "replace", lambda c: c.webhooks.validate("1"), answer({"data": {"valid": True}})
    ),
    "an app-only token": Asked("token", lambda c: c.oauth.app_only_token(), TOKEN, (USER, APP), is_for_tokens=True),
    "a request token": Asked(
        "token",
        lambda c: c.oauth.request_token("oob"),
        answer(FORM, content_type="application/x-www-form-urlencoded"),
        is_for_tokens=True,
    ),
    "a pair of tokens": Asked(
        "write",
        lambda c: c.oauth.exchange_code("c", **CODE),
        answer({"token_type": "bearer", "access_token": "t", "expires_in": 60}),
        is_for_tokens=True,
    ),
}


def promise_of_answer(asked: Asked, hostile: Hostile) -> Promise:
    """What docs/errors.md and docs/choices.md say of such an answer."""
    kind = asked.kind
    if asked.is_for_tokens and hostile.has_errors:
        return Promise(1, errors.ApiError, hostile.status)
    if hostile.made == "lost":
        return Promise(1 + RETRIES if kind in REPEATED["unknown"] else 1, errors.OutcomeUnknown)
    if hostile.made == "refused":
        kind_of_error = errors.ServerError if hostile.status >= 500 else CLASSES.get(hostile.status, errors.ApiError)
        is_repeated = kind in REPEATED[what_happened(hostile.status)]
        return Promise(1 + RETRIES if is_repeated else 1, kind_of_error, hostile.status)
    if kind in REPEATED["unreadable"]:
        return Promise(1 + RETRIES, errors.ApiError, hostile.status)
    return Promise(1, errors.DecodeError, hostile.status, executed=kind in WRITES)


def hostile_client(server: Server, clock: VirtualClock, credentials: Any = (USER, BEARER)) -> Client:
    settings = {"retries": RETRIES, "retry_budget": 1_000_000, "max_response_bytes": MAX_RESPONSE_BYTES}
    return client_for(server, clock, settings=settings, credentials=credentials)


def judge_answer(promised: Promise, error: BaseException | None, attempts: int) -> list[str]:
    """What is other than promised."""
    if not isinstance(error, errors.SocialApiError):
        return [f"it raised {error!r}"]
    wrong = [f"the error tells {leaked}" for line in told_by(error) if (leaked := leaks(line))]
    if type(error) is not promised.error:
        wrong.append(f"it raised {error!r}, not {promised.error}")
    if attempts != promised.attempts:
        wrong.append(f"{attempts} attempts arrived, not {promised.attempts}")
    if promised.status is not None and getattr(error, "status", None) != promised.status:
        wrong.append(f"its status is {getattr(error, 'status', None)}, not {promised.status}")
    if promised.executed is not None and getattr(error, "executed", None) != promised.executed:
        wrong.append(f"executed is {getattr(error, 'executed', None)}, not {promised.executed}")
    if len(str(error)) > 4_000:
        wrong.append(f"its text has {len(str(error)):,} characters")
    return wrong


async def outcome_in_time(asked: Asked, client: Client) -> tuple[Any, BaseException | None]:
    """What comes of the call within ten seconds, whatever it is."""
    try:
        async with asyncio.timeout(10.0):
            return await asked.ask(client), None
    except Exception as problem:  # noqa: BLE001  # what it is, is the question
        return None, problem


async def try_answer(
    asked: Asked, hostile: Hostile, server: Server, client: Client, *, has_token_request: bool = False
) -> tuple[str, list[str]]:
    """What came of the pair, in a word, and what is wrong with it.

    With `has_token_request` the server also receives a request for a token, before the call's own.
    """
    server.then = hostile.step
    before = len(server.requests)
    view = client.with_options(timeout_seconds=TIMEOUT_SECONDS) if hostile.is_endless else client
    _, error = await outcome_in_time(asked, view)
    wrong = judge_answer(promise_of_answer(asked, hostile), error, len(server.requests) - before - has_token_request)
    following = asked if asked.good else ASKED["a record"]
    server.then = following.good
    if (again := await outcome_in_time(following, client))[1] is not None:
        wrong.append(f"the client does not work any more: {again[1]!r}")
    wrong += [f"{name} is still in flight" for name, status in client.limits.items() if status.in_flight]
    return type(error).__name__, wrong


OF_EVERY_ROUTE: Final = frozenset(
    {"a body that is shorter", "a success of HTML", "a body that is too large", "a 404 with deep arrays"}
)
"""One answer for each thing that a client can make of it: `make test-all` has every route meet these."""


OF_THE_KEY: Final = frozenset({oauth.APP_ONLY_TOKEN, oauth.INVALIDATE_APP_ONLY_TOKEN})
"""What an app asks for with its key. A token is ended that has to be there: the server is friendly about that one."""


def beside_tokens(step: Step) -> Step:
    async def service(received: Received) -> Any:
        return TOKEN if received.path == TOKEN_PATH else step

    return service


@pytest.mark.parametrize("row", CALLS, ids=lambda row: row.name)
async def test_every_route_takes_a_hostile_answer_for_what_it_is(
    row: Row, clock: VirtualClock, record_property: Callable[[str, object], None]
) -> None:
    wrong: list[str] = []
    outcomes: Counter[str] = Counter()
    async with open_bench() as bench, Server() as server:
        await bench.set_up(row)
        credentials = (USER, APP) if row.route in OF_THE_KEY else CREDENTIALS
        asked = Asked(
            row.kind, lambda client: row.ask(client, bench.scene), b"", credentials, row.route.family is OAUTH
        )
        for hostile in HOSTILE:
            if FULL_SIZE or hostile.name in OF_EVERY_ROUTE:
                async with hostile_client(server, clock, asked.credentials) as client:
                    has_token_request = row.route is oauth.INVALIDATE_APP_ONLY_TOKEN
                    met = attrs.evolve(hostile, step=beside_tokens(hostile.step)) if has_token_request else hostile
                    what, found = await try_answer(asked, met, server, client, has_token_request=has_token_request)
                outcomes[what] += 1
                wrong += [f"{row.name} with {hostile.name}: {each}" for each in found]
    record_property("hostile pairs", dict(outcomes))
    assert wrong == [], "\n" + "\n".join(wrong)


MEETS_ALL: Final = (
    tuple(ASKED)
    if FULL_SIZE
    else ("a record", "a page of posts", "a post that is made", "an upload", "products", "a request token")
)
"""One call of each kind, and of each way to read an answer, meets every one of them in `make test-all`."""


@pytest.mark.parametrize("name", MEETS_ALL)
async def test_a_hostile_answer_is_the_documented_error(
    name: str, clock: VirtualClock, record_property: Callable[[str, object], None]
) -> None:
    asked, wrong = ASKED[name], []
    outcomes: Counter[str] = Counter()
    async with Server() as server:
        for hostile in HOSTILE:
            async with hostile_client(server, clock, asked.credentials) as client:
                what, found = await try_answer(asked, hostile, server, client)
            outcomes[what] += 1
            wrong += [f"{name} with {hostile.name}: {each}" for each in found]
    record_property("hostile pairs", dict(outcomes))
    assert wrong == [], "\n" + "\n".join(wrong)
