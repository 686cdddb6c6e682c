"""Custom audience uploads (advertising documentation, section 4.9): every rule at its edge, and what is then held."""

import asyncio
import datetime
import gzip
from typing import Any

import orjson
import pytest
import yarl

from socialapi.emulator import request_cycle
from tests.emulator.asking import Asker, digest, operation, updates

ANN, BOB = digest("ann@example.com"), digest("bob@example.com")


def iso(ask: Asker, seconds: float) -> str:
    """The time so many seconds from the emulator's now."""
    at = ask.emulator.state.clock.datetime() + datetime.timedelta(seconds=seconds)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


async def test_an_upload_counts_its_users_and_echoes_the_path_parameters(ask: Asker) -> None:
    reply = await ask.upload([operation({"email": [ANN]}, {"phone_number": [BOB]}), operation({"email": [BOB]})])
    assert reply.status == 200
    assert reply.json == {
        "data": {"success_count": 3, "total_count": 3},
        "request": {"params": {"account_id": ask.account, "custom_audience_id": ask.audience}},
    }


async def test_update_adds_and_delete_removes_each_identifier_of_every_kind(ask: Asker) -> None:
    kinds = ("email", "device_id", "handle", "service_id", "phone_number")
    user = {kind: [ANN, BOB] for kind in kinds} | {"partner_user_id": ["Any Text, unhashed"]}
    await ask.upload([operation(user)])
    assert ask.members() == {(kind, value) for kind in kinds for value in (ANN, BOB)} | {
        ("partner_user_id", "Any Text, unhashed")
    }
    await ask.upload([operation({"email": [ANN]}, {"handle": [BOB]}, operation_type="Delete")])
    assert ("email", ANN) not in ask.members()
    assert ("handle", BOB) not in ask.members()
    assert len(ask.members()) == 9


async def test_the_operations_of_a_batch_are_carried_out_in_their_order(ask: Asker) -> None:
    add, remove = operation({"email": [ANN]}), operation({"email": [ANN]}, operation_type="Delete")
    await ask.upload([add, remove])
    assert ask.members() == set()
    await ask.upload([remove, add])
    assert ask.members() == {("email", ANN)}


async def test_removing_what_is_not_there_succeeds(ask: Asker) -> None:
    reply = await ask.upload([operation({"email": [ANN]}, operation_type="Delete")])
    assert reply.json["data"] == {"success_count": 1, "total_count": 1}


async def test_2501_operations_are_refused_as_a_whole_whatever_is_in_them(ask: Asker) -> None:
    reply = await ask.upload([*updates(2500), {"operation_type": "nonsense"}])
    assert reply.status == 400
    assert reply.codes == ["INVALID_PARAMETER"]
    assert "2,500" in reply.json["errors"][0]["message"]
    assert "operation_errors" not in reply.json
    assert ask.members() == set()


def padded(length: int) -> bytes:
    body = orjson.dumps([operation({"email": [ANN]})])
    return body[:-1] + b" " * (length - len(body)) + b"]"


@pytest.mark.parametrize("length", [5_000_001, 20_000_000])
async def test_a_longer_body_is_refused(ask: Asker, length: int) -> None:
    reply = await ask.upload(padded(length))
    assert reply.status == 400
    assert reply.codes == ["INVALID_PARAMETER"]
    assert "5,000,000" in reply.json["errors"][0]["message"]
    assert ask.members() == set()
    assert ask.emulator.requests[0].body_sha256 is None


@pytest.mark.parametrize("announced", [True, False])
async def test_of_a_body_far_beyond_the_limit_the_rest_is_not_waited_for(
    ask: Asker, monkeypatch: pytest.MonkeyPatch, announced: bool
) -> None:
    """By hand, since clients do not answer for what they do when they are answered while they send."""
    monkeypatch.setattr(request_cycle, "MAX_BYTES_READ", 6_000_000)
    url = ask.emulator.ready["base_url"] + ask.audience_path
    _, headers, _ = ask.signer().sign(url, "POST")
    length = "Content-Length: 7000000" if announced else "Transfer-Encoding: chunked"
    head = f"POST {ask.audience_path} HTTP/1.1\r\nHost: {url.split('/')[2]}\r\n{length}\r\nContent-Type: application/json\r\n"
    reader, writer = await asyncio.open_connection(*url.split("/")[2].split(":"))
    writer.write(f"{head}Authorization: {headers['Authorization']}\r\n\r\n".encode())
    if not announced:
        writer.write(b"5f5e10\r\n" + b" " * 0x5F5E10 + b"\r\n")
    assert b" 400 " in await reader.readline()
    writer.close()


async def test_a_client_that_asks_before_it_sends_too_much_is_refused_at_once(ask: Asker) -> None:
    url = ask.emulator.ready["base_url"]
    reader, writer = await asyncio.open_connection(*url.split("/")[2].split(":"))
    head = f"POST {ask.audience_path} HTTP/1.1\r\nHost: x\r\nContent-Length: 5000001\r\nExpect: 100-continue\r\n\r\n"
    writer.write(head.encode())
    assert b" 401 " in await reader.readline()
    writer.close()


async def test_a_client_that_asks_before_it_sends_is_told_to_go_on(ask: Asker) -> None:
    assert (await ask.upload(updates(1), expect100=True)).status == 200


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-ndjson", "application/json-seq"])
async def test_another_content_type_is_refused(ask: Asker, content_type: str) -> None:
    reply = await ask.upload(updates(1), headers={"Content-Type": content_type})
    assert reply.status == 415
    assert reply.codes == ["UNSUPPORTED_MEDIA_TYPE"]


@pytest.mark.parametrize("body", [b"", b"[", b"\xff", b"[NaN]"])
async def test_what_is_not_json_is_refused(ask: Asker, body: bytes) -> None:
    reply = await ask.upload(body)
    assert (reply.status, reply.codes) == (400, ["INVALID_PARAMETER"])
    assert "JSON" in reply.json["errors"][0]["message"]


async def test_a_compressed_body_is_not_taken(ask: Asker) -> None:
    for body in (updates(1), gzip.compress(orjson.dumps(updates(1)))):
        reply = await ask.upload(body, headers={"Content-Encoding": "gzip"})
        assert (reply.status, reply.codes) == (415, ["UNSUPPORTED_MEDIA_TYPE"])


@pytest.mark.parametrize("body", [{}, {"operations": []}, "text", 5, None])
async def test_what_is_not_an_array_is_refused_as_a_whole(ask: Asker, body: Any) -> None:
    reply = await ask.upload(body)
    assert reply.status == 400
    assert reply.codes == ["INVALID_PARAMETER"]
    assert "array" in reply.json["errors"][0]["message"]


GOOD = operation({"email": [ANN]})
BAD_OPERATIONS: list[tuple[Any, str, str | None]] = [
    ("text", "INVALID_PARAMETER", None),
    (operation({"email": [BOB]}, operation_type="Remove"), "INVALID_PARAMETER", "operation_type"),
    ({"operation_type": "Update", "params": {}}, "MISSING_PARAMETER", "params.users"),
    (operation({"email": [ANN]}, {"email": [ANN, BOB[:-1]]}), "INVALID_PARAMETER", "params.users[1].email[1]"),
    (operation({"email": [BOB]}, expires_at="tomorrow"), "INVALID_PARAMETER", "params.expires_at"),
]


@pytest.mark.parametrize(("bad", "code", "parameter"), BAD_OPERATIONS)
async def test_a_bad_operation_is_named_and_nothing_of_the_batch_is_applied(
    ask: Asker, bad: Any, code: str, parameter: str | None
) -> None:
    reply = await ask.upload([GOOD, bad, GOOD])
    assert reply.status == 400
    (error,) = reply.json["operation_errors"]
    assert (error["index"], error["code"], error.get("parameter")) == (1, code, parameter)
    assert error["message"]
    assert "errors" not in reply.json
    assert BOB not in reply.text
    assert ask.members() == set()


async def test_every_bad_operation_is_named_and_many_errors_in_one_are_cut_short(ask: Asker) -> None:
    reply = await ask.upload([GOOD, operation({"email": ["x"]}), GOOD, operation({"email": ["x"] * 50})])
    indexes = [error["index"] for error in reply.json["operation_errors"]]
    assert indexes == [1] + [3] * 10


async def test_an_identifier_is_in_force_from_its_time_of_effect_until_before_its_expiry(ask: Asker) -> None:
    await ask.upload([operation({"email": [ANN]}, effective_at=iso(ask, 10), expires_at=iso(ask, 20))])
    seen = []
    for step in (0, 9, 1, 9, 1):
        ask.emulator.advance(step)
        seen.append(ask.members() == {("email", ANN)})
    assert seen == [False, False, True, True, False]


async def test_by_default_an_identifier_expires_13_months_after_the_request(ask: Asker) -> None:
    await ask.upload([operation({"email": [ANN]})])
    now = ask.emulator.state.clock.datetime()
    month = now.month % 12 + 1
    day = min(now.day, 28)
    almost = now.replace(year=now.year + (2 if month == 1 else 1), month=month, day=day)
    ask.emulator.advance((almost - now).total_seconds() - 1)
    assert ask.members() == {("email", ANN)}
    ask.emulator.advance(4 * 86_400)
    assert ask.members() == set()


async def test_a_later_update_gives_an_identifier_new_times(ask: Asker) -> None:
    await ask.upload([operation({"email": [ANN]}, expires_at=iso(ask, 10))])
    await ask.upload([operation({"email": [ANN]}, expires_at=iso(ask, 30))])
    ask.emulator.advance(20)
    assert ask.members() == {("email", ANN)}


@pytest.mark.parametrize("audience", ["nosuch", "1nmuk", "%2E", "1nmth%2F"])
async def test_an_audience_that_the_account_does_not_have_is_not_found(ask: Asker, audience: str) -> None:
    path = f"/ads/12/accounts/{ask.account}/custom_audiences/{audience}/users"
    url = yarl.URL(ask.emulator.ready["base_url"] + path, encoded=True)
    _, headers, _ = ask.signer().sign(str(url), "POST")
    async with ask.session.post(url, json=updates(1), headers=headers) as response:
        assert response.status == 404
        (error,) = (await response.json())["errors"]
    assert (error["code"], error["parameter"]) == ("NOT_FOUND", "custom_audience_id")


async def test_a_removal_takes_effect_at_its_time(ask: Asker) -> None:
    await ask.upload([operation({"email": [ANN, BOB]})])
    await ask.upload([operation({"email": [ANN]}, operation_type="Delete", effective_at=iso(ask, 100))])
    ask.emulator.advance(99)
    assert ask.members() == {("email", ANN), ("email", BOB)}
    ask.emulator.advance(1)
    assert ask.members() == {("email", BOB)}
    await ask.upload([operation({"email": [BOB]}, operation_type="Delete", effective_at=iso(ask, -100))])
    assert ask.members() == set()
