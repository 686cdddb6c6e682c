"""`socialapi webhooks inbox`."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from socialapi.webhooks import Receiver
from tests.cli.running import Shell
from tests.webhooks.posting import SECRET, event, numbers, take


@pytest.fixture
async def inbox(tmp_path: Path) -> Path:
    """An inbox with four events, of which three were put aside."""
    path = tmp_path / "inbox.sqlite"
    for _ in range(2):
        async with Receiver(SECRET, inbox=path, max_attempts=1) as receiver:
            for number in range(1, 5):
                await receiver._store.add(b"%d" % number, event(number, text="a private message"))
        with sqlite3.connect(path) as connection:
            connection.execute("INSERT OR IGNORE INTO attempts SELECT number, 1, '' FROM waiting WHERE number < 4")
        connection.close()
    async with Receiver(SECRET, inbox=path, max_attempts=1) as receiver:
        assert receiver.waiting == 4
    return path


async def test_events_that_were_put_aside_are_listed_retried_and_dropped(shell: Shell, inbox: Path) -> None:
    listed = await shell.run("webhooks", "inbox", "list", str(inbox))
    assert [row[:4] for row in listed.rows[1:]] == [[each, each, "post.create", "1"] for each in "123"]
    (first, *_) = (await shell.run("webhooks", "inbox", "list", str(inbox), "--output", "jsonl")).objects
    assert first.keys() == {"number", "event_id", "event_type", "attempts", "put_aside_at"}
    retried = await shell.run("webhooks", "inbox", "retry", str(inbox), "2", "2")
    assert (retried.status, retried.out) == (0, "1 event is delivered again\n")
    dropped = await shell.run("webhooks", "inbox", "drop", str(inbox), "1", "77")
    assert (dropped.status, dropped.out) == (1, "1 event is dropped\n")
    assert "1 of these events is not put aside" in dropped.err
    async with Receiver(SECRET, inbox=inbox) as receiver:
        assert receiver.waiting == 3  # 2 and 4, and 3, which is put aside
        assert sorted(numbers(await take(receiver.unfinished(), 2))) == ["2", "4"]
        assert [letter.number for letter in await receiver.dead_letters()] == [3]
        assert (await shell.run("webhooks", "inbox", "drop", str(inbox), "--all", "--json")).objects == [
            {"changed": 1, "not_put_aside": 0}
        ]
    empty = await shell.run("webhooks", "inbox", "list", str(inbox))
    assert empty.err == "socialapi: no events were put aside\n"


async def test_a_dropped_body_is_erased(shell: Shell, inbox: Path) -> None:
    await shell.run("webhooks", "inbox", "drop", str(inbox), "--all")
    content = await asyncio.to_thread(inbox.read_bytes)
    assert content.count(b"a private message") == 1  # of the one that was not put aside


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("list", "nowhere.sqlite"), "there is no inbox nowhere.sqlite"),
        (("retry", "nowhere.sqlite"), "specify the numbers of events, or --all"),
        (("drop", "nowhere.sqlite", "1", "--all"), "specify the numbers of events, or --all"),
    ],
)
async def test_wrong_usage_is_said(shell: Shell, command: tuple[str, ...], says: str) -> None:
    done = await shell.run("webhooks", "inbox", *command)
    assert (done.status, done.out) == (2, "")
    assert says in done.err
