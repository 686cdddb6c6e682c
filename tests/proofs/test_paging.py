"""A walk through 20,000 posts that is killed on its way goes on where it was: no post lost, none twice."""

import json
import signal
import subprocess
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, Final

import pytest

from tests.proofs.processes import ROOT, Service, command_of, service

pytestmark = [pytest.mark.timeout(300), pytest.mark.xdist_group("paging")]

POSTS: Final = 20_000
PAGE: Final = 100
KILLED_AT_PAGE: Final = 120


def posts_of(emulator: Service, user: str, count: int) -> list[str]:
    """What the service has, asked without the SDK."""
    ids: list[str] = []
    query = {"max_results": str(PAGE)}
    while len(ids) < count:
        url = f"{emulator.ready['base_url']}/2/users/{user}/tweets?{urllib.parse.urlencode(query)}"
        headers = {"Authorization": f"Bearer {emulator.ready['bearer_token']}"}
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as reply:
            page = json.load(reply)
        ids += [post["id"] for post in page["data"]]
        if "next_token" not in page["meta"]:
            break
        query["pagination_token"] = page["meta"]["next_token"]
    return ids[:count]


def read(order: dict[str, Any], *, kill_at_page: int | None = None) -> int:
    """The exit status of a reader, which is killed, if at all, as soon as it begins the page."""
    command = command_of("paging_client.py")
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(order))
        process.stdin.close()
        for line in process.stdout:
            if int(line) == kill_at_page:
                process.kill()
                break
        return process.wait()


def read_so_far(path: Path) -> list[str]:
    whole = path.read_bytes().rpartition(b"\n")[0]
    return [json.loads(line)["id"] for line in whole.splitlines()]


def test_a_walk_that_is_killed_goes_on_with_no_post_lost_and_none_twice(tmp_path: Path, proof_scale: float) -> None:
    path, posts, page = tmp_path / "posts.jsonl", int(POSTS * proof_scale), int(PAGE * proof_scale)
    with service() as emulator:
        user = emulator.ask("GET", "seed")["user_ids"][0]
        limit = None if posts == POSTS else posts
        order = {"ready": dict(emulator.ready), "user": user, "path": str(path), "max_results": page, "limit": limit}
        assert read(order, kill_at_page=KILLED_AT_PAGE) == -signal.SIGKILL
        before = read_so_far(path)
        assert read(order) == 0
        after = read_so_far(path)
        requests = sum(record["path"].endswith("/tweets") for record in emulator.requests())
        expected = posts_of(emulator, user, posts)
    print(
        f"\n{posts:,} posts in pages of {page}: killed after {len(before):,}, "
        f"gone on with the other {len(after) - len(before):,}; {requests} requests for {posts // page} pages"
    )
    assert (KILLED_AT_PAGE - 1) * page < len(before) < posts
    assert after[: len(before)] == before
    assert len(expected) == posts
    assert after == expected
    # The page that was being read and the one read ahead are asked for twice, and one more is read ahead at the end.
    assert requests <= posts // page + 4
