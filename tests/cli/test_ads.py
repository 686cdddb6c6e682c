"""The advertising API on the command line: lines, JSON, amounts in units of the currency."""

import datetime
import re
from typing import Any

import pytest

from socialapi.cli.options import time
from socialapi.emulator import Emulator
from socialapi.errors import InvalidInput
from tests.cli.running import Outcome, Shell
from tests.support.server import Server, answer

FIRST, SECOND = "18ce54d4x5t", "18ce54u7r2k"
UPDATE = ("ads", "line-item", "update", FIRST, "8xdpe")
HISTORY = ("ads", "history", FIRST, "--entity-type", "campaign", "--entity-id", "8wku2")
A_DAY = ("--start", "2025-01-06", "--end", "2025-01-07T00:00Z")
THAT_DAY = ("--start-time", "2025-01-06", "--end-time", "2025-01-07T00:00Z")


def fields(done: Outcome) -> dict[str, str]:
    """What is printed of a record, by field."""
    assert done.status == 0, done.err
    return dict(re.split(r" {2,}", line, maxsplit=1) for line in done.out.splitlines())


def asked(emulator: Emulator) -> int:
    return sum(record.path.startswith("/ads") for record in emulator.requests)


# Accounts


async def test_a_deleted_account_says_so(ready: Shell) -> None:
    record = {"id": "a", "name": None, "deleted": True}
    async with Server(then=answer({"data": [record], "next_cursor": None})) as server:
        ready.put(ADS_URL=server.url)
        done = await ready.run("ads", "accounts", "--with-deleted")
    assert done.rows[1:] == [["a", "DELETED", "-"]]
    assert server.requests[0].path == "/12/accounts?count=1000&with_deleted=true"


async def test_an_account_is_printed_one_field_on_a_line(ready: Shell) -> None:
    printed = fields(await ready.run("ads", "account", FIRST))
    assert printed["name"] == "Northwind Outdoor"
    assert printed["industry_type"] == "RETAIL"
    assert printed["created_at"] == "2023-03-14 09:26:53Z"
    assert printed["deleted"] == "no"
    (record,) = (await ready.run("ads", "account", FIRST, "--json")).objects
    assert (record["id"], record["created_at"]) == (FIRST, "2023-03-14T09:26:53Z")


async def test_an_account_that_is_not_there_is_the_services_refusal(ready: Shell) -> None:
    done = await ready.run("ads", "account", "nosuch")
    assert (done.status, done.out) == (3, "")
    assert re.fullmatch(
        r"socialapi: GET /ads/12/accounts/nosuch: 404 NOT_FOUND: there is no such account: nosuch \(request \w+\); is the "
        "account one of yours\\? `socialapi ads accounts` lists them\n",
        done.err,
    )


# History


async def test_a_history_is_printed_the_oldest_first(ready: Shell) -> None:
    done = await ready.run(*HISTORY, *THAT_DAY)
    assert (done.status, done.err, len(done.rows)) == (0, "", 501)
    assert done.rows[:3] == [
        ["TIME", "CHANGE", "BY", "CHANGES"],
        ["2025-01-06T00:00:00Z", "CREATE", "2244994945 (WEB)", "-"],
        [
            *("2025-01-06T00:02:52Z", "UPDATE", "2244994945 (WEB)"),
            '{"daily_budget_amount_local_micro":{"before":100000000,"after":101000000}}',
        ],
    ]


async def test_a_history_of_a_user_or_of_nothing(ready: Shell, emulator: Emulator) -> None:
    second = emulator.seed["user_ids"][1]
    done = await ready.run(*HISTORY, *THAT_DAY, "--user", second, "--json")
    assert {each["change_by"]["user_id"] for each in done.objects} == {second}
    assert len(done.objects) == 100
    done = await ready.run(*HISTORY, "--start-time", "2020-01-01", "--end-time", "2020-01-02")
    assert (done.status, done.out, done.err) == (0, "", "socialapi: there were no changes\n")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            ("--start-time", "2025-01-06T00:30Z", "--end-time", "2025-01-07"),
            "--start-time: must be a whole hour in UTC",
        ),
        (("--start-time", "2025-01-06T00:00", "--end-time", "2025-01-07"), "--start-time has no time zone"),
        (("--start-time", "monday", "--end-time", "2025-01-07"), "--start-time must be a date (2025-01-06) or a time"),
        (("--start-time", "2025-01-07", "--end-time", "2025-01-06"), "--end-time: must be later than --start-time"),
        ((*THAT_DAY, "--start", "nonsense"), 'Invalid value "nonsense" for --start. It is not a position'),
        ((*THAT_DAY, "--start", ""), 'Invalid value "" for --start'),
        ((*THAT_DAY, "--limit", "3.7"), "Invalid value for --limit: must be a whole number"),
    ],
)
async def test_wrong_usage_is_a_sentence_and_nothing_is_sent(
    ready: Shell, emulator: Emulator, options: tuple[str, ...], says: str
) -> None:
    base = HISTORY[:3] + HISTORY[5:] if "--entity-type" in options else HISTORY
    done = await ready.run(*base, *options)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("socialapi: ")
    assert says in done.err
    assert asked(emulator) == 0


# Line items


async def test_every_option_is_a_parameter(ready: Shell) -> None:
    async with Server(then=answer({"data": {"id": "l"}})) as server:
        ready.put(ADS_URL=server.url)
        done = await ready.run(
            *("ads", "line-item", "update", "a", "l", "--name", "n", "--status", "active", "--bid", "0.000001"),
            *("--bid-strategy", "target", "--total-budget", "2", "--daily-budget", "1", "--start", "2026-01-01"),
            *("--end", "2026-02-01T12:00+02:00", "--goal", "video-view", "--pay-by", "link_click"),
            *("--frequency-cap", "3", "--duration-in-days", "7", "--audience-expansion", "broad"),
            *("--categories", "IAB1,IAB2", "--advertiser-domain", "example.com", "--advertiser-user", "17"),
            *("--android-app", "com.example", "--clear", "ios-app"),
        )
    assert (done.status, done.out) == (0, "id  l\n"), done.err
    assert server.requests[0].path == (
        "/12/accounts/a/line_items/l?name=n&entity_status=ACTIVE&bid_amount_local_micro=1&bid_strategy=TARGET"
        "&total_budget_amount_local_micro=2000000&daily_budget_amount_local_micro=1000000"
        "&start_time=2026-01-01T00%3A00%3A00Z&end_time=2026-02-01T10%3A00%3A00Z&goal=VIDEO_VIEW&pay_by=LINK_CLICK"
        "&frequency_cap=3&duration_in_days=7&audience_expansion=BROAD&categories=IAB1%2CIAB2"
        "&advertiser_domain=example.com&advertiser_user_id=17&android_app_store_identifier=com.example"
        "&ios_app_store_identifier="
    )


async def test_a_value_is_cleared_by_the_name_of_its_option(ready: Shell) -> None:
    (record,) = (await ready.run(*UPDATE, "--clear", "end", "--clear=--daily-budget", "--json")).objects
    assert (record["end_time"], record["daily_budget_amount_local_micro"]) == (None, None)
    assert record["bid_amount_local_micro"] == 1_250_000


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "there is nothing to change"),
        (("--bid", "1.5000001"), "--bid: an amount has at most six decimal places"),
        (("--frequency-cap", "3.7"), "Invalid value for --frequency-cap: must be a whole number"),
        (("--duration-in-days", "6.6"), "Invalid value for --duration-in-days: must be a whole number"),
        (("--categories", ""), "--categories: specify at least one value, or clear it with --clear categories"),
        (("--categories", "IAB 1"), "--categories[0]: must not be empty"),
        (("--name", ""), "--name: must have at least 1"),
        (("--clear", "colour"), "--clear colour: must be an option of this command"),
        (("--clear", "bid", "--bid", "1"), "--clear bid: must be an option of this command that is not set"),
        (("--clear", "name"), "--name: must be a string"),
        (("--start", "soon"), "--start must be a date"),
    ],
)
async def test_a_change_that_makes_no_sense_is_not_sent(
    ready: Shell, emulator: Emulator, options: tuple[str, ...], says: str
) -> None:
    done = await ready.run(*UPDATE, *options)
    assert (done.status, done.out) == (2, "")
    assert says in done.err
    assert asked(emulator) == 0


async def test_what_the_service_refuses_is_said(ready: Shell) -> None:
    done = await ready.run("ads", "line-item", "update", FIRST, "8xdpg", "--frequency-cap", "3")
    assert (done.status, done.out) == (3, "")
    assert "frequency_cap is only for the objectives" in done.err


# Insights and targeting


async def test_insights_have_a_line_for_each_unit(ready: Shell) -> None:
    done = await ready.run(
        *("ads", "insights", "ski", "snow", "--granularity", "day", "--negative", "race", "--location", "US"), *A_DAY
    )
    assert done.status == 0
    assert done.rows[0] == ["TIME", "POSTS"]
    assert re.fullmatch(r"2025-01-06\t\d+", done.out.splitlines()[1])
    assert len(done.err.removeprefix("socialapi: related keywords: ").split(", ")) == 30
    hours = await ready.run(
        *("ads", "insights", "ski", "--granularity", "hour", "--start", "2025-01-06T01:00+02:00"),
        *("--end", "2025-01-06T01:00Z"),
    )
    assert [row[0] for row in hours.rows[1:]] == ["2025-01-05T23:00:00Z", "2025-01-06T00:00:00Z"]
    whole = await ready.run("ads", "insights", "ski", "--granularity", "day", *A_DAY, "--json")
    (found,) = whole.objects
    assert (len(found["tweet_volume"]), len(found["related_keywords"]), whole.err) == (1, 30, "")
    rows = await ready.run("ads", "insights", "ski", "--granularity", "day", *A_DAY, "--output", "jsonl")
    assert rows.objects == [{"time": "2025-01-06T00:00:00Z", "tweet_volume": found["tweet_volume"][0]}]


async def test_what_targets_an_audience_is_printed_with_its_line_items(ready: Shell) -> None:
    done = await ready.run("ads", "targeted", FIRST, "1nmti")
    assert done.rows == [
        ["ID", "NAME", "LINE ITEMS"],
        ["8wku2", "Winter jackets", "8xdpe Jackets, readers"],
        ["8wkud", "Tents", "8xdpp Tents, buyers"],
    ]
    done = await ready.run("ads", "targeted", FIRST, "1nmti", "--all")
    assert done.out.endswith("8xdpp Tents, buyers; 8xdpq Tents, paused (not servable)\n")
    assert len((await ready.run("ads", "targeted", FIRST, "1nmth", "--json")).objects) == 207


@pytest.mark.parametrize(
    ("options", "says"),
    [((), "nothing that targets this audience can be served"), (("--all",), "nothing targets this audience")],
)
async def test_that_nothing_targets_an_audience_is_said(ready: Shell, options: tuple[str, ...], says: str) -> None:
    done = await ready.run("ads", "targeted", FIRST, "1nmtj", *options)
    assert (done.status, done.out, done.err) == (0, "", f"socialapi: {says}\n")


# Walking and printing


async def test_an_error_in_the_middle_says_how_to_go_on_and_signs_are_not_obeyed(ready: Shell) -> None:
    page = {
        "data": [{"id": f"a{number}", "name": "x\x1b[2J\ny"} for number in range(3)],
        "errors": [{"code": "PARTLY", "message": "not\x07 all"}, {"code": 7}, {"title": "Gone", "type": "about:blank"}],
        "next_cursor": "c2",
    }
    async with Server(answer(page), then=answer(status=404)) as server:
        ready.put(ADS_URL=server.url)
        done = await ready.run("ads", "accounts")
    assert done.status == 3
    assert done.rows[1:] == [[f"a{number}", "-", "x [2J y"] for number in range(3)]
    assert done.err.splitlines()[:4] == [
        "socialapi: not  all",
        "socialapi: error 7",
        "socialapi: Gone",
        "socialapi: stopped after 3 accounts; continue with --start 0:c2",
    ]


@pytest.mark.parametrize(
    ("options", "said"), [((), 0), (("--start", "7@a1:c1"), "stopped after 0 accounts; continue with --start 7@a1:c1")]
)
async def test_how_to_go_on_is_said_only_where_there_is_something_to_go_on_with(
    ready: Shell, options: tuple[str, ...], said: Any
) -> None:
    async with Server(then=answer(status=404)) as server:
        ready.put(ADS_URL=server.url)
        done = await ready.run("ads", "accounts", *options)
    assert done.status == 3
    assert ("stopped after" in done.err) == bool(said)
    assert str(said or ": 404: ") in done.err


async def test_a_position_of_something_else_is_wrong_usage_that_names_the_option(
    ready: Shell, emulator: Emulator
) -> None:
    for command in (("ads", "accounts"), ("posts", "by-user", emulator.seed["user_ids"][0])):
        done = await ready.run(*command, "--start", "1@1:elsewhere")
        assert (done.status, done.out) == (2, "")
        assert done.err.startswith("socialapi: --start is not a position in this list: GET /")
        assert "stopped after" not in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("demo", "--rows", "2.5"),
        ("webhooks", "listen", "--port", "1e3"),
        ("webhooks", "listen", "--limit", "1_0"),
        ("auth", "login", "--callback-port", "0x10"),
        ("audience", "upload", "-", "--account", "a", "--audience", "b", "--concurrency", "3.7"),
        ("ads", "targeted", "a", "b", "--limit", "3.7"),
    ],
)
async def test_a_fraction_is_not_rounded(shell: Shell, arguments: tuple[str, ...]) -> None:
    done = await shell.run(*arguments)
    assert (done.status, done.out) == (2, "")
    fault, command, _ = done.err.split("`")
    assert fault == f"socialapi: Invalid value for {arguments[-2]}: must be a whole number (see "
    assert " ".join(arguments).startswith(command.removeprefix("socialapi ").removesuffix(" --help"))


async def test_a_record_shows_whatever_the_service_says(ready: Shell) -> None:
    record = {"id": "l", "bid_amount_local_micro": 1_500_000, "brand_new": {"a": [1]}, "placements": [], "name": "a\nb"}
    record["categories"] = ["IAB1", "IAB2"]
    async with Server(then=answer({"data": record})) as server:
        ready.put(ADS_URL=server.url)
        printed = fields(await ready.run(*UPDATE, "--status", "active"))
    assert printed.pop("categories") == "IAB1, IAB2"
    assert printed == {"id": "l", "bid_amount": "1.5", "brand_new": '{"a":[1]}', "name": "a b"}


def test_dates_begin_at_midnight_utc_and_times_have_a_zone() -> None:
    midnight = datetime.datetime(2025, 1, 6, tzinfo=datetime.UTC)
    for text in ("2025-01-06", "2025-01-06T00Z", "2025-01-06T02:00+02:00", "2025-01-06 00:00Z"):
        assert time("--start", text) == midnight
    for text in ("2025-01-06T00:00", "2025-01-06 09:00", "6 January", ""):
        with pytest.raises(InvalidInput, match=r"^--start "):
            time("--start", text)
