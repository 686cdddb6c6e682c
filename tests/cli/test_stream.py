"""Streams on the command line: what comes is printed, what could not come is said."""

import asyncio
import datetime
import json
import re
from typing import Any

import pytest

from socialapi.cli.stream import _say_gap, json_line, say_notice, text_line
from socialapi.emulator import Emulator
from socialapi.models.events import ActivityEvent, StreamNotice
from socialapi.models.undecoded import Undecoded
from socialapi.problems import Problem, ServiceError
from socialapi.streams import Gap
from tests.cli.running import Outcome, Shell
from tests.support.clock import VirtualClock
from tests.support.stream_server import Act, StreamServer, notice, post


async def opened(emulator: Emulator, running: asyncio.Task[Outcome], connections: int) -> None:
    """Waits until there were so many connections."""
    while len(emulator.state.platform.connections) < connections:
        assert not running.done(), running.result()
        await asyncio.sleep(0)


async def printed(shell: Shell, emulator: Emulator, things: Any, *arguments: str) -> Outcome:
    """What a stream prints of things that are published once it is open."""
    before = len(emulator.state.platform.connections)
    running = asyncio.create_task(shell.run("stream", *arguments))
    async with asyncio.timeout(20):
        await opened(emulator, running, before + 1)
        await emulator.publish(things)
        return await running


async def test_posts_that_match_a_rule_are_printed_as_they_are_published(ready: Shell, emulator: Emulator) -> None:
    added = await ready.run("stream", "rules", "add", "snow")
    assert added.status == 0, added.err
    assert added.out.endswith("\t-\tsnow\n")
    posts = {"events": [{"text": "Rain"}, {"text": "Snow \n on the pass"}, {"text": "More snow"}]}
    outcome = await printed(ready, emulator, posts, "posts", "--limit", "2", "--fields", "author_id")
    assert outcome.status == 0
    assert [line.split("  ", 1)[1] for line in outcome.out.splitlines()] == ["Snow on the pass", "More snow"]
    assert outcome.err == "socialapi: connected\n"


@pytest.mark.slow
async def test_notices_are_said_on_standard_error_and_do_not_count(shell: Shell) -> None:
    lines: list[Act] = [notice("resource-unavailable"), post(1), b"?\n"]
    async with StreamServer(VirtualClock(), lines) as server:
        shell.put(BASE_URL=server.url, BEARER_TOKEN="x")
        async with asyncio.timeout(20):
            outcome = await shell.run("stream", "posts", "--limit", "2", "--json")
    first, second = outcome.objects
    assert outcome.status == 0
    assert first["data"]["id"] == "1"
    assert second == {"undecoded": "Pw==", "reason": "is not JSON (at byte 0)"}
    assert outcome.err.splitlines() == [
        "socialapi: connected",
        "socialapi: the service says: resource-unavailable",
    ]


async def test_a_gap_is_said_on_standard_error(ready: Shell, emulator: Emulator) -> None:
    emulator.faults.add("stream_disconnect", path="/2/activity/stream", after_lines=1)
    events = {"events": [{"event_type": "post.create", "user_id": "17", "event_id": str(number)} for number in (1, 2)]}
    before = len(emulator.state.platform.connections)
    running = asyncio.create_task(ready.run("stream", "activity", "--limit", "2"))
    async with asyncio.timeout(20):
        await opened(emulator, running, before + 1)
        await emulator.publish(events["events"][0])
        await opened(emulator, running, before + 2)
        await emulator.publish(events["events"][1])
        outcome = await running
    assert outcome.status == 0
    assert [line.split("  ")[1:] for line in outcome.out.splitlines()] == [["post.create", "1"], ["post.create", "2"]]
    connected, lost, gap = outcome.err.splitlines()
    assert connected == "socialapi: connected"
    assert re.fullmatch(
        r"socialapi: .*: the service closed the connection: OperationalDisconnect; connecting again in 0.0 s", lost
    )
    time = r"\d\d:\d\d:\d\d\.\d{3}"
    assert re.fullmatch(f"socialapi: nothing could be received from {time} to {time} UTC", gap)


async def test_a_stream_that_is_refused_for_good_ends_with_three(ready: Shell, emulator: Emulator) -> None:
    emulator.faults.add("status", path="/2/tweets/search/stream", status=403)
    outcome = await ready.run("stream", "posts")
    assert (outcome.status, outcome.out) == (3, "")
    assert outcome.err.startswith("socialapi: GET /2/tweets/search/stream: 403")


@pytest.mark.parametrize("seconds", ["0", "-1", "nan"])
async def test_giving_up_needs_a_time(shell: Shell, seconds: str) -> None:
    outcome = await shell.run("stream", "posts", f"--give-up-after={seconds}")
    assert (outcome.status, outcome.out) == (2, "")
    assert "Must be > 0" in outcome.err


async def test_an_app_without_rules_is_told_how_to_add_one(ready: Shell, emulator: Emulator) -> None:
    hint = "socialapi: the app has no rules, so no posts will arrive; add one with `socialapi stream rules add`"
    stream, rules = "/2/tweets/search/stream", "/2/tweets/search/stream/rules"
    for is_known in (True, False):
        emulator.faults.add("stream_disconnect", path=stream, disconnect_type="InvalidRules")
        if not is_known:
            emulator.faults.add("status", path=rules, status=503)
        async with asyncio.timeout(20):
            outcome = await ready.run("stream", "posts")
        assert outcome.status == 3
        assert (hint in outcome.err.splitlines()) is is_known


@pytest.mark.parametrize(
    ("seconds", "says"),
    [
        (0, "from 12:00:00.250 to 12:00:00.250 UTC"),
        (60, "from 12:00:00 to 12:01:00 UTC"),
        (None, "since 12:00:00 UTC"),
    ],
)
def test_a_gap_is_said_as_precisely_as_it_is_short(
    seconds: int | None, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    start = datetime.datetime(2027, 1, 15, 12, 0, 0, 250_000, datetime.UTC)
    end = None if seconds is None else start + datetime.timedelta(seconds=seconds)
    _say_gap(Gap(started_at=start, ended_at=end, reason="lost"))
    assert capsys.readouterr().err == f"socialapi: nothing could be received {says}\n"


@pytest.mark.parametrize("command", [("add",), ("delete",)])
async def test_nothing_to_change_is_wrong_usage(ready: Shell, command: tuple[str, ...]) -> None:
    outcome = await ready.run("stream", "rules", *command)
    assert (outcome.status, outcome.out) == (2, "")
    assert " is missing: " in outcome.err
    assert "[required]" in (await ready.run("stream", "rules", *command, "--help")).out


async def test_changes_of_which_none_is_made_end_with_one(ready: Shell, emulator: Emulator) -> None:
    assert (await ready.run("stream", "rules", "add", "snow", "--tag", "winter")).out.endswith("\twinter\tsnow\n")
    again = await ready.run("stream", "rules", "add", "snow")
    assert (again.status, again.out, again.err) == (1, "", "socialapi: this rule already exists\n")
    unknown = await ready.run("stream", "rules", "delete", "12")
    assert (unknown.status, unknown.out) == (1, "")
    assert unknown.err.startswith("socialapi: ")
    for command in ("add", "delete"):
        emulator.faults.add("status", path="/2/tweets/search/stream/rules", status=403)
        assert (await ready.run("stream", "rules", command, "17")).status == 3


async def test_rules_are_listed_and_deleted(ready: Shell) -> None:
    await ready.run("stream", "rules", "add", "snow", "ice lang:en")
    listed = await ready.run("stream", "rules", "list", "--json")
    assert [rule["value"] for rule in listed.objects] == ["snow", "ice lang:en"]
    first, second = (rule["id"] for rule in listed.objects)
    assert (await ready.run("stream", "rules", "delete", first)).status == 0
    left = await ready.run("stream", "rules", "list")
    assert left.rows == [["ID", "TAG", "RULE"], [second, "-", "ice lang:en"]]
    assert (await ready.run("stream", "rules", "delete", "--by-value", "ice lang:en")).status == 0
    assert (await ready.run("stream", "rules", "list", "--json")).objects == []


async def test_a_rule_that_is_refused_is_said_and_ends_with_one(ready: Shell) -> None:
    outcome = await ready.run("stream", "rules", "add", "snow", "(ice")
    assert outcome.status == 1
    assert outcome.out.endswith("\t-\tsnow\n")
    assert "(ice" in outcome.err
    dry = await ready.run("stream", "rules", "add", "hail", "--dry-run")
    assert dry.status == 0
    assert "hail" not in (await ready.run("stream", "rules", "list")).out


def test_items_of_every_kind_have_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    event = ActivityEvent(event_type=None)
    event.content = b'{"data":\r{}}'
    assert text_line(event).endswith("  -  -")
    assert json_line(event) == '{"data": {}}'
    problems = (Problem(title="Slow\n"), Problem(), ServiceError(code=1, message="odd"), ServiceError())
    say_notice(StreamNotice(problems))
    assert capsys.readouterr() == ("", "socialapi: the service says: Slow , about:blank, odd, -\n")
    odd = Undecoded(b"\xff" * 1_200, reason="is not JSON")
    assert text_line(odd, with_text=True).endswith("  undecoded  1,200 bytes: is not JSON")
    assert json.loads(json_line(Undecoded(b"\xff", reason="is not JSON"))) == {
        "undecoded": "/w==",
        "reason": "is not JSON",
    }
