"""Posts on the command line: lines, JSON Lines, and going on where it stopped."""

import asyncio
import json
import re
import signal
import sys
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from socialapi.emulator import Emulator
from tests.cli.running import Shell
from tests.support.server import Fault, Received, Server, answer


async def test_a_users_posts_are_printed_one_on_a_line(ready: Shell, emulator: Emulator) -> None:
    user = emulator.seed["user_ids"][0]
    printed = await ready.run(
        "posts", "by-user", user, "--limit", "7", "--fields", "created_at", "--expansions", "author_id"
    )
    assert printed.status == 0, printed.err
    name = emulator.state.users[user].username
    header, *lines = printed.out.splitlines()
    assert (header, len(lines)) == ("ID\tTIME\tAUTHOR\tTEXT", 7)
    for line in lines:
        assert re.fullmatch(rf"\d+\t\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\dZ\t@{name}\t\S[^\t]*", line)


async def test_json_has_what_was_asked_for_and_the_author_if_included(ready: Shell, emulator: Emulator) -> None:
    user = emulator.seed["user_ids"][0]
    read = ("posts", "by-user", user, "--limit", "5", "--json")
    plain = await ready.run(*read)
    assert all(post.keys() == {"id", "text"} for post in plain.objects)
    full = await ready.run(*read, "--fields", "public_metrics, created_at", "--expansions", "author_id")
    for post in full.objects:
        assert {"id", "text", "author_id", "created_at", "public_metrics", "author"} <= post.keys()
        assert post["author"]["id"] == post["author_id"] == user
        assert post["author"].keys() == {"id", "name", "username"}


@pytest.mark.parametrize(
    ("options", "size"),
    [
        ((), "100"),
        (("--limit", "250"), "100"),
        (("--limit", "30"), "30"),
        (("--limit", "2"), "5"),
        (("--limit", "30", "--max-results", "10"), "10"),
    ],
)
async def test_pages_are_as_large_as_what_is_wanted(shell: Shell, options: tuple[str, ...], size: str) -> None:
    asked = []

    async def one_post(received: Received) -> bytes:
        asked.append(parse_qs(urlsplit(received.path).query)["max_results"])
        return answer({"data": [{"id": "1", "text": "one"}], "meta": {"result_count": 1}})

    async with Server(then=one_post) as server:
        shell.put(BASE_URL=server.url, BEARER_TOKEN="b")
        assert (await shell.run("posts", "by-user", "1", *options)).status == 0
    assert asked == [[size]]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--max-results", "4"), "--max-results: must be at least 5"),
        (("--fields", "public_metric"), "--fields has no name 'public_metric': did you mean 'public_metrics'?"),
        (("--start", "nonsense"), 'Invalid value "nonsense" for --start. It is not a position'),
        (("--max-results", "4", "--start", "3@1:"), "--max-results: must be at least 5"),
        (("--limit", "0"), "Must be >= 1"),
    ],
)
async def test_wrong_usage_is_a_sentence_and_nothing_is_sent(
    ready: Shell, emulator: Emulator, options: tuple[str, ...], says: str
) -> None:
    done = await ready.run("posts", "by-user", "1", *options)
    assert done.status == 2
    assert says in done.err
    assert done.err.startswith("socialapi: ")
    assert "stopped after" not in done.err
    assert [record for record in emulator.requests if "tweets" in record.path] == []


def page(number: int, **more: Any) -> bytes:
    posts = [{"id": f"{number}{index}", "text": f"post {number}{index}"} for index in range(5)]
    return answer({"data": posts, "meta": {"result_count": 5, "next_token": f"page-{number + 1}"}, **more})


class Pages:
    """Serves two pages, and for the third one whatever comes next."""

    def __init__(self, third: Any) -> None:
        self.third = third
        self.asked = asyncio.Event()

    async def __call__(self, received: Received) -> Any:
        if "page-2" not in received.path:
            return page(1 if "page-1" in received.path else 0)
        self.asked.set()
        return self.third


async def test_the_last_post_of_all_leaves_nothing_to_go_on_with(shell: Shell) -> None:
    last = answer({"data": [{"id": "1", "text": "one"}], "meta": {"result_count": 1}})
    async with Server(then=last) as server:
        shell.put(BASE_URL=server.url, BEARER_TOKEN="b")
        for options in ((), ("--limit", "1"), ("--limit", "2")):
            done = await shell.run("posts", "by-user", "1", *options)
            assert (done.status, done.out, done.err) == (0, "ID\tTEXT\n1\tone\n", "")


async def test_ctrl_c_says_how_to_go_on_and_ends_with_130(shell: Shell) -> None:
    pages = Pages(Fault.SILENCE)
    async with Server(then=pages) as server:
        shell.put(BASE_URL=server.url, BEARER_TOKEN="b")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "socialapi", "posts", "by-user", "1"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        await pages.asked.wait()
        assert process.stdout is not None
        lines = [await process.stdout.readline() for _ in range(11)]
        process.send_signal(signal.SIGINT)
        out, err = await process.communicate()
    assert (process.returncode, out) == (130, b"")
    assert lines[10] == b"14\tpost 14\n"
    assert err.decode().splitlines() == [
        "socialapi: stopped after 10 posts; continue with --start 0:page-2",
        "socialapi: interrupted",
    ]


async def test_posts_are_chosen_by_time_id_and_kind(ready: Shell, emulator: Emulator) -> None:
    read = ("posts", "by-user", emulator.seed["user_ids"][0], "--fields", "created_at,referenced_tweets", "--json")
    printed = await ready.run(*read, "--start-time", "2024-05-01", "--end-time", "2024-05-04T00:00:00Z")
    assert printed.status == 0, printed.err
    times = [post["created_at"] for post in printed.objects]
    assert times
    assert all("2024-05-01" <= time < "2024-05-04" for time in times)
    ids = [post["id"] for post in printed.objects]
    between = await ready.run(*read, "--since-id", ids[-1], "--until-id", ids[0], "--exclude", "replies,retweets")
    plain = {post["id"] for post in printed.objects if "replied_to" not in json.dumps(post)}
    assert [post["id"] for post in between.objects] == [each for each in ids[1:-1] if each in plain]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--start-time", "yesterday"), "--start-time must be a date (2025-01-06) or a time"),
        (("--since-id", "x"), "--since-id: must be 1 to 19 digits"),
        (("--exclude", "likes"), "--exclude[0]: must be one of replies, retweets"),
    ],
)
async def test_a_wrong_choice_is_wrong_usage(ready: Shell, options: tuple[str, str], told: str) -> None:
    printed = await ready.run("posts", "by-user", "17", *options)
    assert (printed.status, told in printed.err) == (2, True)
