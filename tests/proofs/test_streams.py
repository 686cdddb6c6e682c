"""A million posts through a stream that breaks every ten thousand: each that was sent arrives once, gaps are told."""

import json
import subprocess
import sys
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, Final

import pytest

from tests.proofs.processes import ROOT, Service, service

pytestmark = [pytest.mark.timeout(1800), pytest.mark.xdist_group("streams")]

POSTS: Final = 1_000_000
A_CONNECTION: Final = 10_000
LOST_IN_A_GAP: Final = 20
AT_ONCE: Final = 1_000
MEGABYTE: Final = 1_000_000
MAX_RESIDENT: Final = 130 * MEGABYTE
FLAT: Final = 10 * MEGABYTE
ENDS: Final = ("stream_disconnect", "stream_close")
"""A reset is not among them: what it overtakes was sent, and is gone."""

STREAM: Final = "/2/tweets/search/stream"
EPOCH_MS: Final = 1_262_304_000_000


def seconds_of(post_id: int) -> float:
    """When the post was published: its id says so."""
    return ((post_id >> 22) + EPOCH_MS) / 1000


def publish(emulator: Service, count: int) -> list[int]:
    """The ids of so many new posts, all of which match the rule."""
    ids: list[int] = []
    while len(ids) < count:
        posts = [{"post": {"text": f"Snow on hut {number}"}} for number in range(min(AT_ONCE, count - len(ids)))]
        answer = emulator.ask("POST", "events", {"events": posts})
        ids += [int(each["post_id"]) for each in answer["published"]]
    return ids


def read_all(emulator: Service, items: int, each: int) -> tuple[list[int], dict[str, Any]]:
    """The ids of all posts published, and what the client tells."""
    published: list[int] = []
    command = [sys.executable, "-W", "error", "-m", "tests.proofs.stream_client"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({"ready": dict(emulator.ready), "items": items}) + "\n")
        process.stdin.flush()
        told = "{}"
        for line in process.stdout:
            if line.strip() != "connected":
                told = line
                break
            # These are for the connection, and those for the gap behind it; whoever is quick gets some of them.
            published += publish(emulator, each)
            published += publish(emulator, LOST_IN_A_GAP)
        process.stdin.close()
    return published, json.loads(told)


def missing_outside_gaps(published: Sequence[int], told: dict[str, Any]) -> list[int]:
    """Posts that did not arrive, and of which no gap says that they may be missing."""
    arrived, gaps = set(told["ids"]), told["gaps"]
    last = max(arrived)
    starts = [start for start, _ in gaps]
    wrong = []
    for post_id in published:
        if post_id not in arrived and post_id < last:
            at = seconds_of(post_id)
            gap = gaps[max(0, bisect_right(starts, at + 0.001) - 1)]
            if not gap[0] - 0.001 <= at <= gap[1] + 0.001:
                wrong.append(post_id)
    return wrong


def test_every_post_that_was_sent_arrives_once_and_every_gap_is_told(proof_scale: float) -> None:
    items, each = int(POSTS * proof_scale), int(A_CONNECTION * proof_scale)
    with service() as emulator:
        headers = {"Authorization": f"Bearer {emulator.ready['bearer_token']}", "Content-Type": "application/json"}
        emulator.call("POST", "/2/tweets/search/stream/rules", {"add": [{"value": "snow"}]}, headers)
        for number, end in enumerate(ENDS):
            likely = 1.0 if number == len(ENDS) - 1 else 0.4
            emulator.ask(
                "POST", "faults", {"fault": end, "path": STREAM, "after_lines": each, "probability": likely, "seed": 7}
            )
        published, told = read_all(emulator, items, each)
    ids, gaps = told["ids"], told["gaps"]
    lost = len({post_id for post_id in published if post_id < ids[-1]} - set(ids))
    resident = ", ".join(f"{size / MEGABYTE:.0f}" for size in told["resident"])
    print(
        f"\n{items:,} posts in {told['seconds']:.1f} s over {told['connections']} connections; {lost} published in "
        f"{len(gaps)} gaps of {sum(end - start for start, end in gaps) / max(1, len(gaps)) * 1000:.0f} ms on average; "
        f"resident {resident} MB at 25, 50, 75 and 100 %, peak {told['peak'] / MEGABYTE:.0f} MB"
    )
    assert len(ids) == items
    assert ids == sorted(set(ids))
    assert set(ids) <= set(published)
    assert told["undecoded"] == 0
    assert told["connections"] == len(gaps) + 1 == items // each
    assert missing_outside_gaps(published, told) == []
    assert told["peak"] < MAX_RESIDENT
    if proof_scale == 1:
        _, half, _, end = told["resident"]
        assert end - half < FLAT
