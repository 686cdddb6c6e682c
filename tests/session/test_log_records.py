"""Log records carry their facts as attributes, for those who write them as JSON."""

import pytest

from socialapi.webhooks import Receiver
from tests.support.clients import client_of
from tests.support.clock import VirtualClock
from tests.support.records import Records, records
from tests.support.server import Fault, Server, answer
from tests.support.stream_server import End, StreamServer, post, posts_of
from tests.webhooks.posting import SECRET, event, running

__all__ = ["records"]  # a fixture


async def test_log_records_carry_the_facts_of_attempts_and_repeats(records: Records, clock: VirtualClock) -> None:
    script = (answer(status=429, Retry_After="3"), Fault.RESET)
    async with Server(*script, then=answer({"data": []})) as server, client_of(server, clock) as client:
        await client.posts.by_user("4711")
    route = {"socialapi_method": "GET", "socialapi_route": "/2/users/{id}/tweets"}
    first, second = route | {"socialapi_attempt": 1}, route | {"socialapi_attempt": 2}
    assert [{name: value for name, value in facts.items() if "seconds" not in name} for facts in records.facts()] == [
        first | {"socialapi_status": 429},
        first | {"socialapi_status": 429},
        second | {"socialapi_error": "OutcomeUnknown"},
        second | {"socialapi_error": "OutcomeUnknown"},
        route | {"socialapi_attempt": 3, "socialapi_status": 200},
    ]
    attempt, retry, *_ = records.facts()
    assert attempt["socialapi_duration_seconds"] == pytest.approx(0.0)
    assert retry["socialapi_wait_seconds"] == pytest.approx(4.0)


async def test_log_records_of_streams_and_webhooks_carry_facts_too(records: Records, clock: VirtualClock) -> None:
    async with StreamServer(clock, [post(1), End.CUT], then=[post(2)]) as server, posts_of(server) as stream:
        await anext(stream)
        await anext(stream)
    route = {"socialapi_method": "GET", "socialapi_route": "/2/tweets/search/stream"}
    told = [facts for facts in records.facts() if "socialapi_attempt" not in facts]
    assert told == [route, route | {"socialapi_wait_seconds": 0.0, "socialapi_reason": "network"}, route]
    records.kept.clear()
    async with running(Receiver(SECRET)) as sender:
        await sender.post(event(1), "sha256=" + "A" * 43 + "=")
    assert records.facts() == [{"socialapi_status": 401, "socialapi_refused": 1}]
