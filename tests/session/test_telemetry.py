"""Spans and metrics: their trees, names and values, what they never hold, and what there is without them."""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics.export import HistogramDataPoint
from opentelemetry.trace import SpanKind, StatusCode

from socialapi import AppOnly, AudienceUser, Bearer, Client, Config
from socialapi.emulator import Emulator
from socialapi.errors import ApiError, BulkError, ConfigurationError, RateLimitTooLong, TransportError
from tests.support import planted
from tests.support.clients import HighestJitter, client_of
from tests.support.clock import VirtualClock
from tests.support.records import Records, records
from tests.support.server import Fault, Server, answer
from tests.support.stream_server import End, StreamServer, post, read_for, refusal
from tests.support.telemetry import Recorded, attributes_of, by, events_of, points, recorded
from tests.support.waiting import until

__all__ = ["recorded", "records"]  # fixtures

UPLOADS: Final = "/ads/12/accounts/*/custom_audiences/*/users"
TEMPLATE: Final = "/12/accounts/{account_id}/custom_audiences/{custom_audience_id}/users"
ON: Final[Any] = {"telemetry": True}


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with Emulator() as emulator:
        yield emulator


def client_at(emulator: Emulator, **options: Any) -> Client:
    """A client with telemetry, for which no time passes."""
    clock = VirtualClock(start=time.time())  # signatures have to be of today
    given: dict[str, Any] = {"clock": clock, "rng": HighestJitter(), **ON, **options}
    return Client(emulator.config, emulator.credentials, **given)


def audience(client: Client, emulator: Emulator) -> Any:
    ids = emulator.seed
    return client.ads.account(ids["account_ids"][0]).custom_audience(ids["custom_audience_ids"][0])


def people(count: int) -> list[AudienceUser]:
    return [AudienceUser(email=f"customer{number}@example.com") for number in range(count)]


async def test_an_upload_is_a_job_of_batches_of_requests_of_attempts(emulator: Emulator, recorded: Recorded) -> None:
    emulator.faults.add("status", path=UPLOADS, status=429, retry_after_seconds=2)
    emulator.faults.add("status", path=UPLOADS, status=503, retry_after_seconds=3)
    emulator.faults.add("count_mismatch", path=UPLOADS)
    emulator.faults.add("reset_after", path=UPLOADS)
    async with client_at(emulator) as client:
        await audience(client, emulator).upload([*people(3_000), {"email": "nobody"}], concurrency=1)
    assert recorded.tree() == [
        "socialapi.job",
        "  socialapi.batch",
        "    socialapi.request",
        "      POST 429",
        "      POST 503",
        "      POST 200",
        "      POST OutcomeUnknown",
        "      POST 200",
        "  socialapi.batch",
        "    socialapi.request",
        "      POST 200",
    ]
    (job,), (first, second) = recorded.named("socialapi.job"), recorded.named("socialapi.batch")
    told = attributes_of(job)
    assert told["socialapi.job.kind"] == "upload"
    assert {
        name: told[f"socialapi.job.{name}"] for name in ("read", "accepted", "rejected", "requests", "retries")
    } == {
        "read": 3_001,
        "accepted": 3_000,
        "rejected": 1,
        "requests": 6,
        "retries": 4,
    }
    assert attributes_of(first)["socialapi.batch.rows"] == 2_500
    assert attributes_of(second) == {
        "socialapi.batch.number": 2,
        "socialapi.batch.rows": 500,
        "socialapi.batch.size": attributes_of(second)["socialapi.batch.size"],
    }
    assert attributes_of(first)["socialapi.batch.size"] > 300_000
    request = recorded.named("socialapi.request")[0]
    assert attributes_of(request)["socialapi.request.attempts"] == 5
    retries = [attributes for name, attributes in events_of(request) if name == "socialapi.retry"]
    assert [each["socialapi.retry.reason"] for each in retries] == ["429", "503", "answer_not_accepted", "no_answer"]
    assert [round(each["socialapi.wait.duration"], 2) for each in retries[:2]] == [3.0, 4.0]


async def test_the_metrics_of_an_upload_count_rows_retries_refusals_and_durations(
    emulator: Emulator, recorded: Recorded
) -> None:
    emulator.faults.add("status", path=UPLOADS, status=429, retry_after_seconds=2)
    emulator.faults.add("status", path=UPLOADS, status=503, retry_after_seconds=3)
    async with client_at(emulator) as client:
        rows = [*people(2_600), *people(10), {"email": "nobody"}]
        await audience(client, emulator).upload(rows, concurrency=1)
    told = recorded.metrics()
    assert by(told["socialapi.job.rows"], "socialapi.job.kind", "socialapi.job.row.outcome") == {
        ("upload", "accepted"): 2_600,
        ("upload", "rejected"): 1,
        ("upload", "duplicate"): 10,
    }
    assert by(told["socialapi.request.retries"], "socialapi.retry.reason", "url.template") == {
        ("429", TEMPLATE): 1,
        ("503", TEMPLATE): 1,
    }
    assert by(told["socialapi.rate_limit.refusals"], "http.request.method", "url.template") == {("POST", TEMPLATE): 1}
    durations = by(told["http.client.request.duration"], "http.response.status_code", "error.type")
    assert durations == {(429, "429"): 1, (503, "503"): 1, (200, None): 2}
    units = {name: metric.unit for name, metric in told.items()}
    assert units["http.client.request.duration"] == "s"
    assert units["socialapi.job.rows"] == "{row}"


async def test_at_full_concurrency_each_span_is_below_its_own(emulator: Emulator, recorded: Recorded) -> None:
    emulator.faults.add("latency", path=UPLOADS, delay_seconds=0.02, times=12)
    emulator.faults.add("status", path=UPLOADS, status=503, retry_after_seconds=1, times=3)
    async with client_at(emulator) as client, asyncio.TaskGroup() as group:
        target = audience(client, emulator)
        for number in range(2):
            group.create_task(target.upload(people(15_000)[number::2], concurrency=4))
    first, second = jobs = recorded.named("socialapi.job")
    assert [len(recorded.below(job)) for job in jobs] == [3, 3]
    assert first.get_span_context() != second.get_span_context()
    for job in jobs:
        for batch in recorded.below(job):
            (request,) = recorded.below(batch)
            assert request.name == "socialapi.request"
            attempts = recorded.below(request)
            assert len(attempts) == attributes_of(request)["socialapi.request.attempts"]
            assert attributes_of(attempts[-1])["http.response.status_code"] == 200
    assert len(recorded.named("POST")) == 9


async def test_an_attempt_follows_the_conventions_for_http_clients(recorded: Recorded, clock: VirtualClock) -> None:
    async with Server(answer(status=503, Retry_After="2"), then=answer({"data": []})) as server:
        port = server.port
        async with client_of(server, clock, options=ON) as client:
            await client.posts.by_user("4711")
    failed, done = recorded.named("GET")
    assert failed.name == "GET /2/users/{id}/tweets"
    assert failed.kind is SpanKind.CLIENT
    common = {
        "http.request.method": "GET",
        "url.template": "/2/users/{id}/tweets",
        "server.address": "127.0.0.1",
        "server.port": port,
    }
    assert attributes_of(failed) == common | {"http.response.status_code": 503, "error.type": "503"}
    assert failed.status.status_code is StatusCode.ERROR
    assert failed.status.description is None
    assert attributes_of(done) == common | {"http.response.status_code": 200, "http.request.resend_count": 1}
    assert done.status.status_code is StatusCode.UNSET
    point, _ = points(recorded.metrics()["http.client.request.duration"])
    assert isinstance(point, HistogramDataPoint)
    assert point.attributes == common | {"http.response.status_code": 503, "error.type": "503"}
    advised = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
    assert point.explicit_bounds == advised
    assert [name for request in server.requests for name in request.headers if name.startswith("trace")] == []


async def test_each_page_of_a_walk_is_a_request_below_the_span_of_the_caller(
    emulator: Emulator, recorded: Recorded
) -> None:
    user = emulator.seed["user_ids"][0]
    async with client_at(emulator) as client:
        with trace.get_tracer("socialapi").start_as_current_span("walk"):
            pages = [page async for page in client.posts.by_user(user, max_results=100).pages()]
    assert len(pages) > 3
    token = ["    socialapi.request", "      POST 200"]
    page = ["  socialapi.request", "    GET 200"]
    assert recorded.tree() == ["walk", page[0], *token, page[1], *page * (len(pages) - 1)]


async def test_a_stream_that_is_cut_has_a_span_for_each_connection_and_counts_the_gap(
    recorded: Recorded, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOCIALAPI_TELEMETRY", "1")
    async with StreamServer(clock, [post(1), End.CUT], refusal(503), then=[post(2)]) as server:
        stream, items = await read_for(server, 10.0)
    assert len(items) == 2
    assert stream.counters.connections == 2
    assert recorded.tree() == [
        "socialapi.stream.connection OutcomeUnknown",
        "  GET 200",
        "socialapi.stream.connection ServerError",
        "  GET 503",
        "socialapi.stream.connection",
        "  GET 200",
    ]
    cut, refused, last = recorded.named("socialapi.stream.connection")
    assert attributes_of(cut)["socialapi.stream.disconnect.reason"] == "network"
    assert attributes_of(cut)["socialapi.stream.received"] == len(post(1))
    assert attributes_of(refused)["http.response.status_code"] == 503
    assert [link.context.span_id for span in (refused, last) for link in span.links] == [
        cut.context.span_id,
        refused.context.span_id,
    ]
    ((name, gap),) = events_of(last)
    assert (name, gap["socialapi.stream.gap.attempts"]) == ("socialapi.stream.gap", 2)
    told = recorded.metrics()
    assert by(told["socialapi.stream.reconnects"], "url.template", "socialapi.stream.disconnect.reason") == {
        ("/2/tweets/search/stream", "network"): 1
    }
    (point,) = points(told["socialapi.stream.gap.duration"])
    assert (point.count, round(point.sum, 3)) == (1, gap["socialapi.stream.gap.duration"])
    assert point.sum == pytest.approx(server.times[-1], abs=1.1)


async def test_a_stream_that_is_never_closed_has_its_span_ended_with_the_client(
    recorded: Recorded, clock: VirtualClock
) -> None:
    async with StreamServer(clock, then=[post(1)]) as server:
        async with client_of(server, clock, options=ON) as client:
            stream = client.filtered_stream.connect()
            await stream.__aenter__()
            assert recorded.open_spans == ["socialapi.stream.connection"]
        assert recorded.open_spans == []
        await stream.aclose()


async def test_a_stream_that_cannot_be_opened_leaves_no_span_open(recorded: Recorded, clock: VirtualClock) -> None:
    async with StreamServer(clock, then=refusal(403)) as server, client_of(server, clock, options=ON) as client:
        with pytest.raises(ApiError):
            async with client.filtered_stream.connect():
                pass
    assert recorded.tree() == ["socialapi.stream.connection Forbidden", "  GET 403"]


async def test_a_stream_that_is_closed_while_it_connects_ends_its_span_once(
    recorded: Recorded, clock: VirtualClock
) -> None:
    asked, closed = asyncio.Event(), asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.set()
        await closed.wait()
        writer.close()

    async with await asyncio.start_server(say_nothing, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        config = Config(base_url=f"http://{host}:{port}")
        async with Client(config, [Bearer("token")], clock=clock, telemetry=True) as client:
            stream = client.filtered_stream.connect()
            entering = asyncio.ensure_future(stream.__aenter__())
            await asked.wait()
            await stream.aclose()
            await asyncio.gather(entering, return_exceptions=True)
            closed.set()
    assert recorded.tree() == ["socialapi.stream.connection CancelledError", "  GET CancelledError"]


async def test_a_wait_for_a_limit_is_measured_and_named_in_the_request(recorded: Recorded, clock: VirtualClock) -> None:
    used_up: Any = {"X_Rate_Limit_Limit": "1", "X_Rate_Limit_Remaining": "0"}
    answers = [answer({"data": []}, **used_up, X_Rate_Limit_Reset=str(1_800_000_000 + end)) for end in (60, 120)]
    async with Server(*answers) as server, client_of(server, clock, options=ON) as client:
        await client.posts.by_user("1")
        await client.posts.by_user("1")
        with pytest.raises(RateLimitTooLong):
            await client.with_options(max_wait_seconds=1).posts.by_user("1")
    (point,) = points(recorded.metrics()["socialapi.rate_limit.wait.duration"])
    assert (point.count, point.sum) == (1, pytest.approx(60.0))
    assert dict(point.attributes) == {"http.request.method": "GET", "url.template": "/2/users/{id}/tweets"}
    first, second, refused = recorded.named("socialapi.request")
    assert events_of(first) == []
    assert events_of(second) == [("socialapi.rate_limit.wait", {"socialapi.wait.duration": pytest.approx(60.0)})]
    assert attributes_of(refused)["error.type"] == "RateLimitTooLong"


async def test_a_renewed_token_is_a_retry(recorded: Recorded, clock: VirtualClock) -> None:
    token = (
        answer({"token_type": "bearer", "access_token": "one"}),
        answer({"token_type": "bearer", "access_token": "two"}),
    )
    expired = answer({"errors": [{"code": 89, "message": "Invalid or expired token."}]}, status=401)
    app = (AppOnly("key", "key-secret"),)
    script = (token[0], expired, token[1], answer({"data": []}))
    async with Server(*script) as server, client_of(server, clock, credentials=app, options=ON) as client:
        await client.posts.by_user("1")
    fetched = ["  socialapi.request", "    POST 200"]
    assert recorded.tree() == ["socialapi.request", *fetched, "  GET 401", *fetched, "  GET 200"]
    assert by(recorded.metrics()["socialapi.request.retries"], "socialapi.retry.reason") == {"token_renewed": 1}


async def test_a_cancelled_call_ends_its_spans_and_is_no_error(recorded: Recorded, clock: VirtualClock) -> None:
    async with Server(then=Fault.SILENCE) as server, client_of(server, clock, options=ON) as client:
        asking = asyncio.ensure_future(client.posts.by_user("1").first())
        await until(lambda: bool(server.requests))
        assert len(recorded.open_spans) == 2
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert recorded.tree() == ["socialapi.request CancelledError", "  GET CancelledError"]
    assert {span.status.status_code for span in recorded.spans} == {StatusCode.UNSET}


async def test_a_cancelled_job_ends_its_spans_and_tells_how_far_it_got(emulator: Emulator, recorded: Recorded) -> None:
    emulator.faults.add("stall", path=UPLOADS, delay_seconds=60)
    async with client_at(emulator) as client:
        uploading = asyncio.ensure_future(audience(client, emulator).upload(people(10)))
        await until(lambda: "POST" in "".join(recorded.open_spans))
        uploading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await uploading
    assert [line.split()[-1] for line in recorded.tree()] == ["CancelledError"] * 4
    told = attributes_of(recorded.named("socialapi.job")[0])
    assert (told["socialapi.job.read"], told["socialapi.job.pending"]) == (10, 10)


async def test_a_job_that_stops_names_the_class_of_what_stopped_it(emulator: Emulator, recorded: Recorded) -> None:
    emulator.faults.add("status", path=UPLOADS, status=403)
    async with client_at(emulator) as client:
        with pytest.raises(BulkError):
            await audience(client, emulator).upload(people(10))
    assert recorded.tree() == [
        "socialapi.job Forbidden",
        "  socialapi.batch Forbidden",
        "    socialapi.request Forbidden",
        "      POST 403",
    ]
    assert {span.status.description for span in recorded.spans} == {None}


async def test_a_sync_and_a_load_tell_their_kinds_and_outcomes(
    emulator: Emulator, recorded: Recorded, tmp_path: Path
) -> None:
    product = {"title": "t", "description": "d", "link": "https://example.com/p", "image_link": "https://example.com/i"}
    product |= {"price": "1.00 EUR", "availability": "in stock", "condition": "new", "brand": "b"}
    async with client_at(emulator) as client:
        target = audience(client, emulator)
        await target.sync(people(30), snapshot=tmp_path / "audience.snapshot")
        await target.sync(people(20), snapshot=tmp_path / "audience.snapshot", max_removal_share=1.0)
        catalog = client.catalog(emulator.seed["product_catalog_ids"][0])
        await catalog.products.upsert([product | {"id": f"p{number}"} for number in range(30)])
    jobs = recorded.named("socialapi.job")
    kinds = [attributes_of(job)["socialapi.job.kind"] for job in jobs]
    assert kinds == ["sync", "sync.reading", "sync.additions", "sync.removals"] * 2 + ["upsert"]
    assert [attributes_of(span)["socialapi.job.kind"] for span in recorded.below(jobs[0])] == kinds[1:4]
    assert attributes_of(jobs[4])["socialapi.job.unchanged"] == 20
    assert attributes_of(jobs[-1])["socialapi.job.created"] == 30
    told = by(recorded.metrics()["socialapi.job.rows"], "socialapi.job.kind", "socialapi.job.row.outcome")
    assert told == {
        ("sync.reading", "accepted"): 50,
        ("sync.additions", "accepted"): 30,
        ("sync.removals", "accepted"): 10,
        ("upsert", "created"): 30,
    }


@pytest.mark.parametrize("failure", planted.FAILURES)
async def test_nothing_planted_is_in_a_span_a_metric_or_a_log_record(
    failure: str, recorded: Recorded, records: Records, clock: VirtualClock
) -> None:
    service = Server(then=planted.FAILURES[failure])
    async with service as server, planted.client_for(server, clock, **ON) as client:
        for call in planted.CALLS:
            await planted.outcome(call, client)
    assert recorded.spans
    told = [*recorded.everything(), *(repr(vars(record)) for record in records.kept if record.name == "socialapi")]
    assert len(told) > 15
    assert [line for line in told if planted.leaks(line)] == []


async def test_nothing_that_the_service_quotes_is_in_a_span_a_metric_or_a_log_record(
    recorded: Recorded, records: Records, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOCIALAPI_TELEMETRY", "1")
    email, secret = planted.PEOPLE["email"], planted.SECRETS["bearer"]
    quoting = {
        "type": f"about:{email}",
        "title": email,
        "detail": f"{email} {secret}",
        "disconnect_type": email,
        "connection_issue": email,
    }
    refused = {"operation_errors": [{"index": 0, "code": email, "message": f"no {email}", "parameter": email}]}
    errors = {"errors": [{"code": email, "message": email, **quoting}], **quoting}
    async with StreamServer(
        clock, [json.dumps(errors).encode() + b"\r\n", End.CUT], then=refusal(403, quoting)
    ) as each:
        with pytest.raises(ApiError):
            await read_for(each, 60.0)
    for status, body in ((400, refused), (403, errors), (429, errors), (500, errors)):
        service = Server(then=answer(body, status=status))
        async with service as server, planted.client_for(server, clock) as client:
            for call in planted.CALLS:
                await planted.outcome(call, client)
    told = [*recorded.everything(), *(repr(vars(record)) for record in records.kept if record.name == "socialapi")]
    assert len(told) > 60
    assert [line for line in told if planted.leaks(line)] == []


async def test_without_telemetry_there_is_neither_a_span_nor_a_metric(
    emulator: Emulator, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    for options, variable in (({}, "0"), ({"telemetry": False}, "1"), ({"telemetry": None}, "")):
        monkeypatch.setenv("SOCIALAPI_TELEMETRY", variable)
        async with Client(emulator.config, emulator.credentials, **options) as client:
            await audience(client, emulator).upload(people(10))
            await client.posts.by_user(emulator.seed["user_ids"][0])
    assert recorded.spans == []
    assert recorded.metrics() == {}


@pytest.mark.parametrize(
    ("given", "variable", "is_on"),
    [(None, "1", True), (None, " on ", True), (None, "", False), (None, "no", False), (True, "0", True)],
)
async def test_the_argument_goes_before_the_variable(
    given: bool | None, variable: str, is_on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {"SOCIALAPI_TELEMETRY": variable, "SOCIALAPI_BASE_URL": "https://api.example.com"}
    from_env = Client.from_env(environ, telemetry=given)
    assert (from_env._session.telemetry is not None) is is_on
    monkeypatch.setenv("SOCIALAPI_TELEMETRY", variable)
    assert (Client(telemetry=given)._session.telemetry is not None) is is_on


def test_what_does_not_say_whether_to_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match=r"^SOCIALAPI_TELEMETRY must be 1 or 0$"):
        Client.from_env({"SOCIALAPI_TELEMETRY": "maybe"})
    with pytest.raises(ConfigurationError, match=r"^telemetry must be True, False or None, not str$"):
        Client(telemetry="1")  # type: ignore[arg-type]


def test_a_missing_library_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'aiosocialapi\[otel\]'"):
        Client(telemetry=True)
    Client()


async def test_a_call_to_nobody_is_a_span_with_the_class_of_the_error(recorded: Recorded, clock: VirtualClock) -> None:
    async with Server() as server:
        client = client_of(server, clock, options=ON, retries=1)
    async with client:
        with pytest.raises(TransportError):
            await client.posts.by_user("1")
    assert recorded.tree() == ["socialapi.request TransportError", *["  GET TransportError"] * 2]
    assert by(recorded.metrics()["socialapi.request.retries"], "socialapi.retry.reason") == {"not_sent": 1}
