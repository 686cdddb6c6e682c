"""Scripted faults: what each does to a request, which requests it hits, and how often."""

import asyncio
import contextlib
import errno
import time
from typing import Any

import aiohttp
import attrs
import pytest
from multidict import CIMultiDict

from socialapi import Client
from socialapi.emulator import Emulator
from socialapi.emulator.faults import BATCH_FAULTS, PROBLEM_FIELDS, Faults
from socialapi.errors import InvalidInput, ServerError
from socialapi.problems import PROBLEM_TYPES
from tests.emulator.asking import Asker, Reply, eventually, updates

UPLOADS = "/ads/12/accounts/*/custom_audiences/*/users"


async def test_status_answers_once_and_before_anything_else_is_looked_at(ask: Asker) -> None:
    ask.emulator.faults.add("status", path=UPLOADS, status=502, retry_after_seconds=7)
    reply = await ask.send("POST", ask.audience_path, data=b"not even signed")
    assert (reply.status, reply.codes) == (502, ["BAD_GATEWAY"])
    assert reply.headers["Retry-After"] == "7"
    assert reply.json["request"]["params"]["account_id"] == ask.account
    assert (await ask.upload(updates(1))).headers["x-rate-limit-remaining"] == "1499"
    assert [record.fault for record in ask.emulator.requests] == ["status", None]


@pytest.mark.parametrize(
    ("status", "code"),
    [(None, "SERVICE_UNAVAILABLE"), (500, "INTERNAL_ERROR"), (429, "TOO_MANY_REQUESTS"), (599, "STATUS_599")],
)
async def test_the_default_status_is_503_and_each_has_its_code(ask: Asker, status: int | None, code: str) -> None:
    ask.emulator.faults.add("status", status=status)
    reply = await ask.upload(updates(1))
    assert (reply.status, reply.codes) == (status or 503, [code])
    assert "Retry-After" not in reply.headers


async def test_a_fault_on_a_platform_path_answers_a_problem_and_on_a_token_path_a_coded_error(ask: Asker) -> None:
    ask.emulator.faults.add("status")
    ask.emulator.faults.add("status", path="/oauth2/token")
    problem = (await ask.send("GET", "/2/tweets")).json
    assert problem == {
        "type": "about:blank",
        "title": "Service Unavailable",
        "detail": "a scripted fault",
        "status": 503,
    }
    assert (await ask.send("POST", "/oauth2/token")).codes == [130]


@pytest.mark.parametrize("path", ["/oauth2/token", "/oauth/request_token", "/oauth/access_token", "/2/oauth2/token"])
async def test_a_fault_without_a_path_waits_for_a_request_that_asks_for_no_token(ask: Asker, path: str) -> None:
    ask.emulator.faults.add("status", status=418, method="POST")
    assert (await ask.send("POST", path)).status in (400, 401)
    assert (await ask.upload(updates(1))).status == 418
    ask.emulator.faults.add("status", status=418, path=path)
    assert (await ask.send("POST", path)).status == 418


async def test_html_answers_a_page(ask: Asker) -> None:
    ask.emulator.faults.add("html", retry_after_seconds=0.5)
    reply = await ask.upload(updates(1))
    assert reply.status == 503
    assert reply.headers["Content-Type"].startswith("text/html")
    assert reply.headers["Retry-After"] == "0.5"
    assert "503 Service Unavailable" in reply.text
    assert ask.members() == set()


@pytest.mark.parametrize(("fault", "applied"), [("reset_before", 0), ("reset_after", 2)])
async def test_a_reset_cuts_the_connection_before_or_after_the_request_is_processed(
    ask: Asker, fault: str, applied: int
) -> None:
    ask.emulator.faults.add(fault)
    with pytest.raises(aiohttp.ClientOSError) as raised:
        await ask.upload(updates(2))
    assert raised.value.errno == errno.ECONNRESET
    assert len(ask.members()) == applied
    (record,) = ask.emulator.requests
    assert (record.fault, record.status, record.operations, record.users) == (fault, None, 2, 2)
    assert record.body_sha256 is not None
    (counted,) = ask.emulator.ledger()["requests"].values()
    assert counted == {"accepted": 0, "refused": 0, "unanswered": 1, "statuses": {}}


async def test_a_stall_without_a_delay_ends_when_the_client_leaves(ask: Asker) -> None:
    ask.emulator.faults.add("stall")
    with pytest.raises(TimeoutError):
        await ask.upload(updates(1), timeout=aiohttp.ClientTimeout(total=0.05))
    await eventually(lambda: ask.emulator.ledger()["requests"])
    assert ask.emulator.requests[0].status is None


async def test_closing_does_not_wait_for_a_stall_a_delay_or_a_drip(session: aiohttp.ClientSession) -> None:
    async with Emulator() as emulator:
        ask = Asker(emulator, session)
        emulator.faults.add("stall", method="POST")
        emulator.faults.add("slow", delay_seconds=60, method="POST")
        emulator.faults.add("latency", delay_seconds=60, method="DELETE")
        requests = (ask.upload([]), ask.upload([]), ask.signed("DELETE", ask.list_path))
        waiting = [asyncio.create_task(each) for each in requests]
        await eventually(lambda: sum(record.fault is not None for record in emulator.requests) == 3)
        started = time.perf_counter()
    assert time.perf_counter() - started < 2
    await asyncio.gather(*waiting, return_exceptions=True)


@pytest.mark.parametrize(("after_bytes", "received"), [(None, "half"), (0, "none"), (7, "7"), (10_000, "all but one")])
async def test_truncate_processes_and_cuts_the_answer(ask: Asker, after_bytes: int | None, received: str) -> None:
    ask.emulator.faults.add("truncate", after_bytes=after_bytes)
    url = ask.emulator.ready["base_url"] + ask.audience_path
    _, headers, _ = ask.signer().sign(url, "POST")
    body = b""
    async with ask.session.post(url, json=updates(1), headers=headers) as response:
        assert response.status == 200
        length = int(response.headers["Content-Length"])
        with contextlib.suppress(aiohttp.ClientPayloadError):
            async for chunk in response.content.iter_any():
                body += chunk
        assert isinstance(response.content.exception(), aiohttp.ClientPayloadError)
    assert len(body) == {"half": length // 2, "none": 0, "7": 7, "all but one": length - 1}[received]
    assert len(ask.members()) == 1
    assert ask.emulator.requests[0].status == 200


async def test_count_mismatch_applies_nothing_and_miscounts_an_audience_upload(ask: Asker) -> None:
    ask.emulator.faults.add("count_mismatch", path=UPLOADS, times=2)
    reply = await ask.upload(updates(3))
    assert (reply.status, reply.json["data"]) == (200, {"success_count": 2, "total_count": 3})
    assert ask.members() == set()
    assert (await ask.upload([])).json["data"] == {"success_count": 0, "total_count": 1}
    assert (await ask.upload(updates(3))).json["data"] == {"success_count": 3, "total_count": 3}


@pytest.mark.parametrize("fault", ["count_mismatch", "operation_error"])
async def test_faults_of_uploads_pass_other_requests_by(ask: Asker, fault: str) -> None:
    ask.emulator.faults.add(fault)
    assert (await ask.signed("DELETE", ask.list_path)).status == 200
    assert (await ask.upload(updates(1))).text != (await ask.upload(updates(1))).text


async def test_latency_delays_every_request_and_uses_no_other_fault_up(ask: Asker) -> None:
    ask.emulator.faults.add("latency", delay_seconds=0.02)
    ask.emulator.faults.add("latency", delay_seconds=0.03)
    ask.emulator.faults.add("status")
    replies: list[Reply] = []
    for _ in range(3):
        started = time.perf_counter()
        replies.append(await ask.upload(updates(1)))
        assert time.perf_counter() - started >= 0.05
    assert [reply.status for reply in replies] == [503, 200, 200]
    assert [record.fault for record in ask.emulator.requests] == ["status", "latency", "latency"]


async def test_faults_leave_the_control_plane_alone(ask: Asker) -> None:
    ask.emulator.faults.add("status", probability=1)
    assert (await ask.control("GET", "seed")).status == 200
    assert (await ask.send("GET", "/anything")).status == 503


def hits(faults: Faults, count: int = 1, path: str = "/ads/12/x", method: str = "POST") -> list[str | None]:
    return [faults.pick(method, path, BATCH_FAULTS).name for _ in range(count)]


def test_a_fault_hits_as_often_as_it_says_and_once_unless_it_says() -> None:
    faults = Faults()
    faults.add("status")
    faults.add("html", times=2)
    assert hits(faults, 4) == ["status", "html", "html", None]


def test_a_fault_begins_after_as_many_matching_requests_as_it_says() -> None:
    faults = Faults()
    faults.add("status", method="POST", after_requests=2, times=2)
    assert hits(faults, 3, method="GET") == [None, None, None]
    assert hits(faults, 5) == [None, None, "status", "status", None]


def test_requests_that_another_fault_hits_do_not_count_as_passed() -> None:
    faults = Faults()
    faults.add("html", times=2)
    faults.add("status", after_requests=1)
    assert hits(faults, 5) == ["html", "html", None, "status", None]


def test_a_fault_may_name_headers_with_their_values() -> None:
    faults = Faults()
    faults.add("status", headers={"X-Emulator-Scope": "mine", "x-other": "1"}, times=9)

    def name(**headers: str) -> str | None:
        return faults.pick("GET", "/", headers=CIMultiDict({k.replace("_", "-"): v for k, v in headers.items()})).name

    assert [name(), name(x_emulator_scope="mine"), name(x_emulator_scope="theirs", x_other="1")] == [None] * 3
    assert name(x_emulator_scope="mine", X_Other="1", more="x") == "status"
    assert faults.pick("GET", "/").name is None
    with pytest.raises(InvalidInput, match="headers: values must be strings"):
        faults.add("status", headers={"x": 1})


async def test_tests_with_scopes_of_their_own_share_an_emulator(ask: Asker) -> None:
    """By plain HTTP, and by a client whose further headers go with every call."""
    await ask.control(
        "POST", "faults", {"fault": "status", "status": 500, "headers": {"x-emulator-scope": "mine"}, "times": 4}
    )
    assert (await ask.upload(updates(1))).status == 200
    assert (await ask.upload(updates(1), headers={"x-emulator-scope": "theirs"})).status == 200
    assert (await ask.upload(updates(1), headers={"X-Emulator-Scope": "mine"})).status == 500
    config, credentials = ask.emulator.config, ask.emulator.credentials
    async with Client(config, credentials, headers={"X-Emulator-Scope": "theirs"}) as client:
        mine = client.with_options(headers={"x-emulator-scope": "mine"}, retries=0)
        audience = mine.ads.account(ask.account).custom_audience(ask.audience)
        assert (await client.posts.by_user("2244994945").first()).data
        with pytest.raises(ServerError):
            await mine.posts.by_user("2244994945").first()
        report = await audience.upload([{"email": "ada@example.com"}])
        assert (report.accepted, report.retries) == (1, 2)
        assert (await mine.posts.by_user("2244994945").first()).data
    found = (await ask.control("GET", "faults")).json
    assert (found["faults"], [each["left"] for each in found["spent"]]) == ([], [0])
    await ask.control("DELETE", "faults")
    assert (await ask.control("GET", "faults")).json == {"faults": [], "spent": []}


def test_a_fault_of_deliveries_begins_after_as_many_as_it_says() -> None:
    faults = Faults()
    faults.add("delivery_duplicate", after_requests=1)
    assert [faults.pick_for_delivery() is not None for _ in range(3)] == [False, True, False]


@pytest.mark.parametrize(
    ("path", "hit"),
    [
        ("/ads/12/a/b", True),
        ("/ads/12/%2F/b", True),
        ("/ads/12/a/c", False),
        ("/ads/12/a/a/b", False),
        ("/ads/12/b", False),
        ("/ads/12/a/b/", False),
    ],
)
def test_a_star_stands_for_one_segment(path: str, hit: bool) -> None:
    faults = Faults()
    faults.add("status", path="/ads/12/*/b")
    assert hits(faults, path=path) == ["status" if hit else None]


def test_a_method_in_any_case_limits_a_fault_to_requests_with_it() -> None:
    faults = Faults()
    faults.add("status", method="delete")
    assert hits(faults, method="POST") == [None]
    assert hits(faults, method="DELETE") == ["status"]


def test_a_probability_and_a_seed_draw_the_same_requests_every_time() -> None:
    drawn = []
    for seed in (7, 7, 8):
        faults = Faults()
        faults.add("status", probability=0.3, seed=seed)
        drawn.append(hits(faults, 1_000))
    assert drawn[0] == drawn[1] != drawn[2]
    assert 250 < drawn[0].count("status") < 350


@pytest.mark.parametrize(
    "wrong",
    [
        {"fault": "explode"},
        {"times": 0},
        {"times": True},
        {"times": 1.5},
        {"after_requests": -1},
        {"probability": 0},
        {"probability": 1.01},
        {"probability": "often"},
        {"seed": "x"},
        {"status": 199},
        {"status": 600},
        {"retry_after_seconds": -1},
        {"delay_seconds": -0.1},
        {"delay_seconds": float("nan")},
        {"delay_seconds": float("inf")},
        {"after_bytes": -1},
        {"index": -1},
        {"path": "ads/12"},
        {"method": "GET /"},
        {"unknown": 1},
    ],
)
def test_a_fault_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        Faults().add(**{"fault": "status", **wrong})


@pytest.mark.parametrize("slug", PROBLEM_TYPES)
async def test_every_type_of_problem_is_answered_by_a_fault_with_all_its_fields(ask: Asker, slug: str) -> None:
    assert (await ask.control("POST", "faults", {"fault": "status", "problem": slug})).status == 201
    reply = await ask.get("/2/tweets", ids="1")
    assert reply.slug == slug
    assert 400 <= reply.status < 600
    assert reply.headers["Content-Type"] == "application/problem+json"
    documented = {field.name for field in attrs.fields(PROBLEM_TYPES[slug])} - {"extra"}
    assert documented <= reply.json.keys()


async def test_a_fault_gives_a_problem_other_fields_and_another_status(ask: Asker) -> None:
    fields = {"period": "Daily", "scope": "Account"}
    ask.emulator.faults.add("status", problem="usage-capped", problem_fields=fields, status=403)
    reply = await ask.get("/2/tweets", ids="1")
    assert (reply.status, reply.slug) == (403, "usage-capped")
    assert (reply.json["period"], reply.json["scope"]) == ("Daily", "Account")
    refused = await ask.control("POST", "faults", {"fault": "status", "problem": "out-of-tea"})
    assert refused.status == 400


def test_faults_know_the_documented_types_of_problems_and_no_others() -> None:
    assert set(PROBLEM_FIELDS) == set(PROBLEM_TYPES)
