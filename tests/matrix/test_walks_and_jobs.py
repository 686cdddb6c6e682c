"""Walks through collections, and jobs, against every fault: nothing is lost, and nothing comes
twice.
"""

import itertools
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import pytest

from socialapi import Client, errors
from socialapi.routes import ads, audiences, catalogs, creatives, line_items, platform
from socialapi.routes.route import Route
from tests.bulk.products.model_catalog import product
from tests.matrix.bench import Bench, CallResult, open_bench
from tests.matrix.calls import WAYS, Stage, Way, is_paged, nothing
from tests.matrix.documented import COVERING, SCRIPTS, Promise, Script, promise, wait_bounds
from tests.matrix.test_emulator_faults import judge_error
from tests.resources import ads_rows
from tests.resources.agreeing import name_of
from tests.support.comparing import assert_holds
from tests.support.full_size import FULL_SIZE
from tests.support.independent import Independent

ACCOUNT: Final = ads_rows.FIRST
YEAR: Final = {"start_time": ads_rows.DAY.replace(day=1), "end_time": ads_rows.DAY.replace(day=28)}


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    async with open_bench() as bench:
        yield bench


# Walks


async def two_permissions(stage: Stage) -> None:
    await ads_rows.two_permissions(ads_rows.Scene(stage.emulator, stage.plain))


Walk = Callable[..., Any]
"""A pager of a collection in small pages."""


def of(client: Client) -> Any:
    return client.ads.account(ACCOUNT)


WALKS: Final[dict[Route[Any], Walk]] = {
    platform.USER_POSTS: lambda client, seed, **start: client.posts.by_user(
        seed["user_ids"][0], max_results=5, **start
    ),
    ads.ACCOUNTS: lambda client, _, **start: client.ads.accounts.list(count=1, **start),
    ads.ACCOUNT_APPS: lambda client, _, **start: of(client).apps(count=2, **start),
    ads.ACCOUNT_HISTORY: lambda client, _, **start: of(client).history(
        **{name: each for name, each in ads_rows.IN_HISTORY.items() if name != "user_id"}, **start
    ),
    line_items.CURATED_CATEGORIES: lambda client, _, **start: of(client).curated_categories.list(
        ["GB", "JP"], count=5, **start
    ),
    line_items.LINE_ITEM_CURATED_CATEGORIES: lambda client, _, **start: of(client).line_item_curated_categories.list(
        count=5, **start
    ),
    audiences.AUDIENCE_PERMISSIONS: lambda client, _, **start: (
        of(client).tailored_audience("1nmth").permissions.list(count=1, **start)
    ),
    audiences.TARGETED: lambda client, _, **start: (
        of(client).custom_audience("1nmth").targeted(with_active=False, **start)
    ),
    creatives.ACCOUNT_MEDIA: lambda client, _, **start: of(client).media.list(count=3, **start),
    creatives.CARDS: lambda client, _, **start: of(client).cards.list(count=5, include_legacy_cards=True, **start),
    creatives.MEDIA_LIBRARY: lambda client, _, **start: of(client).media_library.list(count=3, **start),
    creatives.POLL_CARDS: lambda client, _, **start: of(client).poll_cards.list(count=3, **start),
    creatives.VIDEO_CONVERSATION_CARDS: lambda client, _, **start: of(client).video_conversation_cards.list(
        count=3, **start
    ),
    catalogs.PRODUCTS: lambda client, _, **start: client.catalog("7pc01").products.list(count=5, **start),
    platform.NEWS_SEARCH: lambda client, _, **start: client.news.search("mountain", max_results=1, **start),
    platform.NOTES_ELIGIBLE_POSTS: lambda client, _, **start: client.notes.eligible_posts(max_results=5, **start),
}
OF_ACCOUNT: Final = f"/ads{ads_rows.ACCOUNT}"
PLAIN: Final[dict[Route[Any], tuple[str, dict[str, str]]]] = {
    platform.USER_POSTS: ("/2/users/2244994945/tweets", {"max_results": "7"}),
    ads.ACCOUNTS: ("/ads/12/accounts", {"count": "5"}),
    ads.ACCOUNT_APPS: (f"{OF_ACCOUNT}/account_apps", {"count": "3"}),
    ads.ACCOUNT_HISTORY: (
        f"{OF_ACCOUNT}/account_history",
        {name: each for name, each in ads_rows.HISTORY.items() if name != "user_id"} | {"count": "7"},
    ),
    line_items.CURATED_CATEGORIES: (f"{OF_ACCOUNT}/curated_categories", {"country_codes": "GB,JP", "count": "7"}),
    line_items.LINE_ITEM_CURATED_CATEGORIES: (f"{OF_ACCOUNT}/line_item_curated_categories", {"count": "7"}),
    audiences.AUDIENCE_PERMISSIONS: (f"/ads{ads_rows.PERMISSIONS}", {"count": "5"}),
    audiences.TARGETED: (f"{OF_ACCOUNT}/custom_audiences/1nmth/targeted", {"with_active": "false"}),
    creatives.ACCOUNT_MEDIA: (f"{OF_ACCOUNT}/account_media", {"count": "7"}),
    creatives.CARDS: (f"{OF_ACCOUNT}/cards", {"include_legacy_cards": "true", "count": "7"}),
    creatives.MEDIA_LIBRARY: (f"{OF_ACCOUNT}/media_library", {"count": "7"}),
    creatives.POLL_CARDS: (f"{OF_ACCOUNT}/cards/poll", {"count": "7"}),
    creatives.VIDEO_CONVERSATION_CARDS: (f"{OF_ACCOUNT}/cards/video_conversation", {"count": "7"}),
    catalogs.PRODUCTS: ("/ads/12/product_catalogs/7pc01/products", {"count": "7"}),
    platform.NEWS_SEARCH: ("/2/news/search", {"query": "mountain", "max_results": "2"}),
    platform.NOTES_ELIGIBLE_POSTS: ("/2/notes/search/posts_eligible_for_notes", {"max_results": "4"}),
}
"""The same collections as a client asks for them that shares nothing with the SDK, in pages of other sizes."""
ONE_PAGE: Final = frozenset(
    {
        platform.POSTS,
        platform.WEBHOOKS,
        platform.STREAM_RULES,
        platform.STREAM_RULES_CHANGE,
        platform.POWERSTREAM_RULES,
        platform.CONNECTIONS,
        platform.NOTES_WRITTEN,
        line_items.BUSINESS_CATEGORIES,
        catalogs.CATALOGS,
    }
)
"""Collections that the emulator sends as one page."""
PREPARED: Final = {audiences.AUDIENCE_PERMISSIONS: two_permissions}


def walk_of(route: Route[Any]) -> Way:
    async def prepare(stage: Stage) -> Any:
        if route in PREPARED:
            await PREPARED[route](stage)
        return await nothing(stage)

    return Way(route, prepare, lambda client, seed: WALKS[route](client, seed).collect(limit=limit_of(route)))


def limit_of(route: Route[Any]) -> int:
    """So many items that they are on three pages, where there are as many."""
    return 450 if route is audiences.TARGETED else 12


async def items_by(plain: Independent, route: Route[Any]) -> list[Any]:
    """The items of a collection as the independent client finds them, up to the limit of the walk."""
    path, query = PLAIN[route]
    items: list[Any] = []
    cursor: dict[str, str] | None = {}
    while cursor is not None and len(items) < limit_of(route):
        answer = await plain.user(route.method, path, query=query | cursor)
        assert answer.status == 200, answer.body
        items += answer.body["data"]
        if following := answer.body.get("next_cursor"):
            cursor = {"cursor": following}
        elif following := answer.body.get("meta", {}).get("next_token"):
            cursor = {"pagination_token": following}
        else:
            cursor = None
    return items[: limit_of(route)]


NO_FAULT: Final = Script("latency", "nothing", {"delay_seconds": 0.0})


def judge_walk(script: Script, promised: Promise, call: CallResult, whole: list[Any], pages: int) -> list[str]:
    """What is wrong with a walk whose second page met the fault."""
    wrong: list[str] = []
    met = sum(each.fault == script.fault for each in call.attempts)
    if met != (promised.attempts if promised.error else 1):
        wrong.append(f"{met} requests met the fault")
    if len(call.attempts) - met > pages:
        wrong.append(f"{len(call.attempts)} requests arrived for {pages} pages")
    if promised.error is None:
        if call.error is not None:
            wrong.append(f"it raised {call.error!r}")
        elif call.result != whole:
            wrong.append("its items are others")
    elif type(call.error) is not promised.error:
        wrong.append(f"it raised {call.error!r}, not {promised.error.__name__}")
    else:
        wrong += judge_error(script, promised, call, call.error)
    return wrong


async def judge_rest(bench: Bench, route: Route[Any], error: errors.SocialApiError, whole: list[Any]) -> list[str]:
    """What is wrong with how a walk goes on that an error has ended."""
    if isinstance(error, errors.RateLimitTooLong):
        bench.clock.advance(error.wait_seconds + 1.0)
    if not 0 < len(error.collected) < len(whole):
        return [f"it has collected {len(error.collected)} items"]
    rest = await WALKS[route](bench.client, bench.emulator.seed, start=error.position).collect(
        limit=len(whole) - len(error.collected)
    )
    return [] if [*error.collected, *rest] == whole else ["the walk does not go on where it ended"]


def scripts_for(way: Way) -> list[tuple[Script, bool]]:
    """Those of the first attempt and, as a walk that an error ends has more to tell, of every one."""
    chosen = [each for each in SCRIPTS if each.applies_to(way) and (FULL_SIZE or each.name in COVERING)]
    return [
        (script, always)
        for script in chosen
        for always in ((False,) if script.happened == "nothing" else (False, True))
    ]


@pytest.mark.parametrize("route", WALKS, ids=name_of)
async def test_a_walk_whose_second_page_meets_a_fault(
    route: Route[Any], bench: Bench, record_property: Callable[[str, object], None]
) -> None:
    way = walk_of(route)
    wrong: list[str] = []
    outcomes: Counter[str] = Counter()
    await bench.set_up(way)
    clean = await bench.meet(NO_FAULT)
    pages = len(clean.attempts)
    assert pages > 1
    assert_holds(tuple(clean.result), await items_by(bench.plain, route), "the items")
    for script, always in scripts_for(way):
        promised = promise("read", script, always=always)
        call = await bench.meet(script, always=always, after_requests=1)
        found = judge_walk(script, promised, call, clean.result, pages)
        if call.error is not None:
            found += await judge_rest(bench, route, call.error, clean.result)
        outcomes[type(call.error).__name__ if call.error else "repeated"] += 1
        wrong += [f"{way.name}, page 2, with {script.name}{', every time' * always}: {each}" for each in found]
    record_property("walk pairs", dict(outcomes))
    assert wrong == [], "\n" + "\n".join(wrong)


def test_every_collection_is_walked_or_has_one_page() -> None:
    assert {way.route for way in WAYS if is_paged(way.route)} == {*WALKS, *ONE_PAGE}
    assert not ONE_PAGE & WALKS.keys()
    assert PLAIN.keys() == WALKS.keys()


# Jobs

USERS: Final = [{"email": f"person{number}@northwind.example"} for number in range(5)]
PRODUCTS: Final = [product(f"matrix-{number}") for number in range(5)]


def upload(client: Client, _: Any) -> Any:
    return of(client).custom_audience("1nmth").upload(USERS)


def upload_to_list(client: Client, _: Any) -> Any:
    return of(client).do_not_reach_list("7b2f1").upload(USERS)


def load(client: Client, _: Any) -> Any:
    return client.catalog("7pc01").products.upsert(PRODUCTS)


JOBS: Final = (
    Way(audiences.CUSTOM_AUDIENCE_USERS, nothing, upload),
    Way(audiences.DO_NOT_REACH_USERS, nothing, upload_to_list),
    Way(catalogs.PRODUCTS_PUT, nothing, load),
)
BULK_MAX_WAIT_SECONDS: Final = 960.0
MAX_ELAPSED_SECONDS: Final = 90.0
LEAST_ATTEMPTS: Final = 12
SLACK_SECONDS: Final = 0.1
"""What the work between two attempts may add to a wait."""
ALL: Final = {"accepted": 5, "rejected": 0, "pending": 0}
NONE: Final = {"accepted": 0, "rejected": 0, "pending": 5}
PARTLY: Final = {"accepted": 4, "rejected": 1, "pending": 0}

OF_ROWS: Final = {
    "operation_error": (("finished", PARTLY, 2), ("finished", ALL | {"accepted": 0, "rejected": 5}, 5)),
    "product_error": (("finished", PARTLY, 1), ("finished", PARTLY, 1)),
    "product_missing": (
        ("finished", ALL, 2),
        ("stopped", {"accepted": 4, "rejected": 0, "pending": 1}, LEAST_ATTEMPTS),
    ),
}
"""Faults of single rows: of the first request, and of every one."""


def outcome_of_job(script: Script, *, always: bool) -> tuple[str, dict[str, int], int]:
    """How a job ends, its counts, and the fewest requests (docs/errors.md, "How long a call goes
    on").
    """
    if script.fault in OF_ROWS:
        return OF_ROWS[script.fault][always]
    if script.happened == "nothing":
        return "finished", ALL, 1
    if script.happened == "refused" or (script.named_seconds or 0.0) > BULK_MAX_WAIT_SECONDS:
        return "stopped", NONE, 1
    return ("stopped", NONE, LEAST_ATTEMPTS) if always else ("finished", ALL, 2)


def judge_attempts(script: Script, call: CallResult, elapsed_seconds: float) -> list[str]:
    """What is wrong with the attempts of a job that gave up: it has to, as soon as both bounds are reached."""
    times = [each.time - call.attempts[0].time for each in call.attempts]
    wrong: list[str] = []
    for attempt, (before, after) in enumerate(itertools.pairwise(times), 1):
        least, most = wait_bounds(script, attempt)
        if not least - SLACK_SECONDS <= after - before <= most + SLACK_SECONDS:
            wrong.append(f"it waited {after - before:.2f} s after attempt {attempt}, not {least} to {most}")
    if times[-1] < elapsed_seconds - SLACK_SECONDS:
        wrong.append(f"it gave up after {times[-1]:.0f} s")
    if len(times) > LEAST_ATTEMPTS and times[-2] >= elapsed_seconds:
        wrong.append(f"it went on after {len(times) - 1} attempts and {times[-2]:.0f} s")
    return wrong


def judge_job(way: Way, script: Script, call: CallResult, *, always: bool) -> list[str]:
    """What is wrong with how a job ended."""
    ends, counts, requests = outcome_of_job(script, always=always)
    if call.error is not None and not isinstance(call.error, errors.BulkError):
        return [f"it raised {call.error!r}"]
    report = call.result if call.error is None else call.error.report
    wrong: list[str] = []
    if ("finished" if call.error is None else "stopped") != ends:
        wrong.append(f"it has not {ends}: {call.error!r}")
    found = {name: getattr(report, name) for name in counts}
    if found != counts:
        wrong.append(f"its counts are {found}, not {counts}")
    if (len(call.attempts) < requests) if ends == "stopped" and requests > 2 else len(call.attempts) != requests:
        wrong.append(f"{len(call.attempts)} requests arrived, not {requests}")
    if report.requests != len(call.attempts):
        wrong.append(f"it tells of {report.requests} requests, and {len(call.attempts)} arrived")
    if ends == "stopped" and requests == LEAST_ATTEMPTS:
        # The same mismatch again and again stops a job: its rows will never be confirmed.
        is_mismatch = way.kind == "upload" and script.happened == "unreadable"
        wrong += judge_attempts(script, call, 0.0 if is_mismatch else MAX_ELAPSED_SECONDS)
    return wrong


def held(bench: Bench, way: Way) -> int:
    """How many of the rows of a job the service holds."""
    if way.route is catalogs.PRODUCTS_PUT:
        return sum(each.startswith("matrix-") for each in bench.emulator.products("7pc01"))
    if way.route is audiences.CUSTOM_AUDIENCE_USERS:
        return len(bench.emulator.members(ACCOUNT, "1nmth"))
    return len(bench.emulator.do_not_reach_members(ACCOUNT, "7b2f1"))


@pytest.mark.parametrize("way", JOBS, ids=lambda way: way.name)
async def test_a_job_whose_requests_meet_a_fault(
    way: Way, bench: Bench, record_property: Callable[[str, object], None]
) -> None:
    wrong: list[str] = []
    outcomes: Counter[str] = Counter()
    await bench.set_up(way)
    before = held(bench, way)
    for script, always in scripts_for(way):
        if script.timeout_seconds is not None:
            continue
        call = await bench.meet(script, always=always)
        found = judge_job(way, script, call, always=always)
        bench.clock.advance(1.0)  # members are in force from the next second on
        if call.error is None and held(bench, way) - before != call.result.accepted:
            found.append(f"the service has {held(bench, way) - before} of {call.result.accepted}")
        if call.error is not None and (leaked := bench.leaks(call.error)):
            found.append(f"the error tells {leaked}")
        outcomes["stopped" if call.error else "finished"] += 1
        wrong += [f"job of {way.name} with {script.name}{', every time' * always}: {each}" for each in found]
        await bench.renew()
    record_property("job pairs", dict(outcomes))
    assert wrong == [], "\n" + "\n".join(wrong)
