"""Streams on the command line: what comes is printed, what could not come is said."""

import asyncio
import json
from typing import Any

import pytest

from socialapi.cli.stream import json_line, text_line
from socialapi.emulator import Emulator
from socialapi.models.events import ActivityEvent, StreamNotice, Undecoded
from socialapi.problems import Problem, ServiceError
from tests.cli.running import Outcome, Shell


@pytest.fixture
def ready(shell: Shell, emulator: Emulator) -> Shell:
    shell.put_service(emulator.ready)
    return shell


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
    assert added.out.endswith("  -  snow\n")
    posts = {"events": [{"text": "Rain"}, {"text": "Snow \n on the pass"}, {"text": "More snow"}]}
    outcome = await printed(ready, emulator, posts, "posts", "--limit", "2", "--fields", "author_id")
    assert outcome.status == 0
    assert [line.split("  ", 1)[1] for line in outcome.out.splitlines()] == ["Snow on the pass", "More snow"]
    assert outcome.err == "socialapi: connected\n"


async def test_json_is_what_the_service_sent(ready: Shell, emulator: Emulator) -> None:
    event = {"event_type": "profile.update.bio", "user_id": "17", "event_id": "5", "payload": {"after": "ä"}}
    outcome = await printed(ready, emulator, event, "activity", "--limit", "1", "--json")
    (line,) = outcome.out.splitlines()
    said = json.loads(line)["data"]
    assert (said["event_id"], said["event_type"], said["payload"]) == ("5", "profile.update.bio", {"after": "ä"})


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
    assert "nothing could arrive from" in outcome.err
    assert "OperationalDisconnect" in outcome.err


async def test_a_stream_that_is_refused_for_good_ends_with_three(ready: Shell, emulator: Emulator) -> None:
    emulator.faults.add("status", path="/2/tweets/search/stream", status=403)
    outcome = await ready.run("stream", "posts")
    assert (outcome.status, outcome.out) == (3, "")
    assert outcome.err.startswith("socialapi: HTTP 403")


async def test_a_service_that_is_not_there_is_given_up_where_that_is_asked_for(shell: Shell) -> None:
    shell.put(BASE_URL="http://127.0.0.1:9", BEARER_TOKEN="x")
    outcome = await shell.run("stream", "activity", "--give-up-after", "0.1")
    assert outcome.status == 3
    assert "could not connect" in outcome.err


async def test_rules_are_listed_and_deleted(ready: Shell) -> None:
    await ready.run("stream", "rules", "add", "snow", "ice lang:en")
    listed = await ready.run("stream", "rules", "list", "--json")
    assert [rule["value"] for rule in listed.objects] == ["snow", "ice lang:en"]
    first, second = (rule["id"] for rule in listed.objects)
    assert (await ready.run("stream", "rules", "delete", first)).status == 0
    left = await ready.run("stream", "rules", "list")
    assert left.out == f"{second}  -  ice lang:en\n"


async def test_a_rule_that_is_refused_is_said_and_ends_with_one(ready: Shell) -> None:
    outcome = await ready.run("stream", "rules", "add", "snow", "(ice")
    assert outcome.status == 1
    assert outcome.out.endswith("  -  snow\n")
    assert "(ice" in outcome.err
    dry = await ready.run("stream", "rules", "add", "hail", "--dry-run")
    assert dry.status == 0
    assert "hail" not in (await ready.run("stream", "rules", "list")).out


def test_items_of_every_kind_have_a_line() -> None:
    event = ActivityEvent(event_type=None)
    event.content = b'{"data":{}}'
    assert text_line(event) == "-  unknown  -"
    assert json_line(event) == '{"data":{}}'
    problems = (Problem(title="Slow"), Problem(), ServiceError(code=1, message="odd"), ServiceError())
    assert text_line(StreamNotice(problems)) == "notice: Slow, about:blank, odd, -"
    assert text_line(Undecoded(b"\xff" * 1200, "is not JSON")) == "unreadable line of 1,200 bytes: is not JSON"
    assert json_line(Undecoded(b"\xff", "is not JSON")) == "\\xff"
