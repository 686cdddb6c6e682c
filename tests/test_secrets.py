"""No secret and no raw identifier leaves by a log line, an error or a repr: planted values are searched for."""

import asyncio
import base64
import gc
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import attrs
import numpy
import pyarrow
import pytest
from rich.pretty import pretty_repr

from socialapi import AudienceUser, Bearer, Client, FileTokenCache, OAuth2User, Operation
from socialapi.credentials import Credentials
from socialapi.emulator import Emulator
from socialapi.errors import ApiError, BulkError, SocialApiError, TransportError
from socialapi.routes import platform as routes
from socialapi.session.network import Proxy
from socialapi.wire.request import Request
from socialapi.wire.response import Reply
from tests.support.clients import HighestJitter
from tests.support.clock import VirtualClock
from tests.support.planted import (
    ANNA,
    APP,
    BAD,
    CALLS,
    CREDENTIALS,
    FAILURES,
    PEOPLE,
    ROWS,
    SECRETS,
    USER,
    ask,
    client_for,
    end_token,
    leaks,
    outcome,
    send,
    token,
    told_by,
    upload,
)
from tests.support.records import LogLines
from tests.support.server import Received, Server, answer

pytestmark = pytest.mark.slow


@pytest.fixture
async def listener() -> AsyncIterator[LogLines]:
    """Everything is logged at DEBUG, and the event loop reports every single callback as slow."""
    listener, root, loop = LogLines(), logging.getLogger(), asyncio.get_running_loop()
    level = root.level
    root.addHandler(listener)
    root.setLevel(logging.DEBUG)
    loop.set_debug(True)
    loop.slow_callback_duration = 0.0
    try:
        yield listener
    finally:
        loop.set_debug(False)
        root.setLevel(level)
        root.removeHandler(listener)


async def error_of(running: Awaitable[Any]) -> BaseException | None:
    try:
        await running
    except SocialApiError as error:
        return error
    return None


@pytest.mark.parametrize("failure", FAILURES)
async def test_nothing_planted_is_told_when_calls_fail(failure: str, listener: LogLines, clock: VirtualClock) -> None:
    raised = 0
    async with Server(then=FAILURES[failure]) as server, client_for(server, clock) as client:
        for call in CALLS:
            result, error = await outcome(call, client)
            raised += error is not None
            assert leaks(repr(result)) == [], call
            if error is not None:
                assert [line for line in told_by(error) if leaks(line)] == [], call
    assert raised
    assert server.requests
    assert [line for line in listener.lines if leaks(line)] == []


RENEWABLE = OAuth2User(
    SECRETS["oauth2"], refresh_token=SECRETS["bearer"], client_id="client", client_secret=SECRETS["api_key_secret"]
)


@pytest.mark.parametrize(
    "credential", [APP, USER, Bearer(SECRETS["bearer"]), RENEWABLE], ids=lambda each: type(each).__name__
)
@pytest.mark.parametrize("status", [400, 401, 403, 503])
async def test_no_secret_is_told_by_a_gateway_that_echoes_what_it_rejects(
    listener: LogLines, clock: VirtualClock, credential: Credentials, status: int
) -> None:
    """Errors quote the service, and pickles hold all of its words."""

    async def echo(received: Received) -> bytes:
        form = received.body.decode() if "form" in received.headers.get("content-type", "") else ""
        header = received.headers.get("authorization", "")
        says = f"invalid_token in Authorization: {header} {form} oauth_signature_method must be HMAC-SHA1"
        return answer({"errors": [{"code": 89, "message": says, "detail": says}]}, status=status)

    async with Server(then=echo) as server, client_for(server, clock, credentials=[credential]) as client:
        for call in (ask, send):
            _, error = await outcome(call, client)
            assert error is not None
            assert [line for line in told_by(error) if leaks(line)] == []
            encoded = base64.b64encode(f"{SECRETS['api_key']}:{SECRETS['api_key_secret']}".encode()).decode()
            assert encoded not in repr(vars(error))
            if isinstance(error, ApiError):
                assert "invalid_token in Authorization: " in str(error)
                assert error.errors[0].message is not None
                assert error.errors[0].message.endswith("oauth_signature_method must be HMAC-SHA1")
    assert server.requests
    assert [line for line in listener.lines if leaks(line)] == []


async def test_a_short_secret_hides_no_words_of_an_error(clock: VirtualClock) -> None:
    credential = attrs.evolve(RENEWABLE, client_secret="error")
    refusal = answer({"errors": [{"code": 89, "message": "an error of the token"}]}, status=401)
    async with Server(then=refusal) as server, client_for(server, clock, credentials=[credential]) as client:
        _, error = await outcome(ask, client)
    assert isinstance(error, ApiError)
    assert (error.codes, error.errors[0].message) == ((89,), "an error of the token")


async def test_nothing_planted_is_told_when_nobody_listens(listener: LogLines, clock: VirtualClock) -> None:
    async with Server() as server:
        client = client_for(server, clock)
    async with client:
        for call in (token, ask, send, upload):
            _, error = await outcome(call, client)
            assert isinstance(error, TransportError | BulkError)
            assert [line for line in told_by(error) if leaks(line)] == []
    assert [line for line in listener.lines if leaks(line)] == []


async def test_nothing_planted_is_told_when_all_goes_well(
    listener: LogLines, tmp_path: Path, clock: VirtualClock
) -> None:
    async def service(received: Received) -> bytes:
        if received.path.startswith("/oauth2/"):
            return answer({"access_token": SECRETS["app_only_token"], "token_type": "bearer"})
        users = sum(len(operation["params"]["users"]) for operation in received.json) if received.body else 0
        return answer({"data": {"success_count": users, "total_count": users}})

    shown: list[str] = []

    def look(progress: Any) -> None:
        shown.append(repr(progress))
        shown.extend(ours())

    cache = FileTokenCache(tmp_path / "tokens.json")
    rejects = tmp_path / "rejects.csv"
    async with Server(then=service) as server, client_for(server, clock, token_cache=cache) as client:
        await token(client)
        await ask(client)
        await send(client)
        audience = client.ads.account("18ce5").custom_audience("4f2a")
        report = await audience.upload(ROWS, on_progress=look, rejects=rejects)
        await audience.upload([ANNA, Operation.delete([ANNA])], on_progress=look)
        shown += ours()
        await end_token(client)
    assert (report.read, report.accepted, report.rejected) == (3, 2, 1)
    assert any(SECRETS["app_only_token"] in request.headers["authorization"] for request in server.requests)
    assert [line for line in [*listener.lines, *shown, repr(report), str(report.to_dict())] if leaks(line)] == []
    assert leaks(rejects.read_text()) == []  # a test may look at a file where it stands


DIRTY: Final[list[dict[str, Any]]] = [
    {"email": f"mailto:{PEOPLE['email']}", "phone": f"'{PEOPLE['phone_number']}"},
    {"email": f'="{PEOPLE["email"]}"', "handle": PEOPLE["handle"]},
    {"email": f"Anna <{PEOPLE['email']}>, Bad <{PEOPLE['bad_email']}@example.com>", "handle": PEOPLE["handle"]},
    {"email": f"{PEOPLE['email']}; {PEOPLE['email']}", "phone": f"{PEOPLE['phone_number']} anna"},
    {"email": f"<{PEOPLE['bad_email']}>", "phone": f"{PEOPLE['phone_number']},,{PEOPLE['phone_number'][2:]}"},
    {"phone": 15550147180.0, "service_id": numpy.float32(15550147180)},
    {"phone": 15550147180.5, "service_id": Decimal("15550147180E+20")},
    {"phone": "15550147180.0", "email": PEOPLE["email"].replace("@", "\u200b@")},
]
"""Values with something around them, several in a cell, and numbers that were others once."""


async def test_nothing_planted_is_told_of_values_that_are_mended_or_refused(
    listener: LogLines, tmp_path: Path, clock: VirtualClock
) -> None:
    shown: list[str] = []
    export, journal, snapshot = tmp_path / "export.jsonl", tmp_path / "job.journal", tmp_path / "audience.snapshot"
    rows = [
        {name: float(value) if isinstance(value, Decimal) else value for name, value in row.items()} for row in DIRTY
    ]
    export.write_text("\n".join(json.dumps(row, default=float) for row in rows), "utf-8")
    async with Emulator() as emulator:
        account, audience = emulator.seed["account_ids"][0], emulator.seed["custom_audience_ids"][0]
        async with Client(emulator.config, emulator.credentials) as client:
            target = client.ads.account(account).custom_audience(audience)
            for records in (
                DIRTY,
                export,
                pyarrow.Table.from_pylist([{"phone": row.get("phone")} for row in DIRTY[5:7]]),
            ):
                options: dict[str, Any] = {"rejects": tmp_path / "rejects.csv", "default_region": "US"}
                report = await target.upload(records, **options)
                assert report.rejected + report.warnings
                errors = [
                    await error_of(target.upload(records, **options, max_reject_share=0)),
                    await error_of(target.sync(records, snapshot=snapshot, max_reject_share=0)),
                ]
                shown += [repr(report), str(report.to_dict()), *map(repr, (*report.rejects, *report.warning_details))]
                shown += [line for error in errors if error is not None for line in told_by(error)]
                shown += [repr(await target.lint(records, default_region="US"))]
            await target.upload(export, journal=journal, default_region="US")
            await target.sync(DIRTY, snapshot=snapshot)
            bad = Operation.update([AudienceUser(email=str(row["email"])) for row in DIRTY if "email" in row])
            error = await error_of(target.send([bad]))
            assert error is not None
            shown += [*told_by(error), *ours()]
    shown += [content_of(path) for path in (journal, snapshot, tmp_path / "rejects.csv")]
    lines = [line for line in (*listener.lines, *shown) if "Emulator" not in line]
    assert [line for line in lines if leaks(line)] == []


def content_of(path: Path) -> str:
    return path.read_bytes().decode("latin-1")


def ours() -> list[str]:
    """The repr of every object alive whose class is the SDK's own."""
    gc.collect()
    return [
        repr(each)
        for each in gc.get_objects()
        if str(type(each).__module__).startswith("socialapi") and "emulator" not in str(type(each).__module__)
    ]


async def test_the_secrets_of_a_real_exchange_are_not_told(listener: LogLines) -> None:
    clock = VirtualClock(start=time.time())  # signatures have to be of today
    async with Emulator() as emulator:
        ready = emulator.ready
        secrets = {name: ready[name] for name in ready if name.startswith(("api_", "access_", "bearer_"))}
        account, audience = emulator.seed["account_ids"][0], emulator.seed["custom_audience_ids"][0]
        for fault in ("reset_before", "reset_after", "truncate", "html", "count_mismatch", "operation_error"):
            emulator.faults.add(fault, path="/ads/12/accounts/*/custom_audiences/*/users")
        async with Client(emulator.config, emulator.credentials, clock=clock, rng=HighestJitter()) as client:
            await client.oauth.app_only_token()
            target = client.ads.account(account).custom_audience(audience)
            report = await target.upload([*ROWS, ANNA])
            errors = [
                (await outcome(lambda view: view.request("GET", "/12/nothing", api="ads"), client))[1],
                (await outcome(lambda view: view.ads.account(account).custom_audience("none").send([]), client))[1],
                (await outcome(lambda view: view.ads.account("none").do_not_reach_list("1").delete(), client))[1],
            ]
            objects = ours()
    assert report.accepted + report.rejected + report.duplicate == 4
    told = [line for error in errors if error is not None for line in told_by(error)]
    assert len(told) > 10
    lines = [line for line in (*listener.lines, *told, *objects) if "Emulator" not in line]
    assert len(listener.lines) > 50
    assert [(name, line) for name, secret in secrets.items() for line in lines if secret in line] == []
    assert [line for line in lines if leaks(line)] == []


def test_what_a_program_may_print_shows_nothing() -> None:
    objects = [*CREDENTIALS, ANNA, Operation.update([ANNA]), [Operation.delete([ANNA, BAD])], APP]
    assert leaks(repr(objects) + str(objects)) == []
    secret = SECRETS["bearer"]
    request: Any = Request(routes.POSTS.at(), "", f"/?a={secret}", {}, (secret.encode(),), secret, None, "")
    objects += [request, Reply(200, {"x": secret}, secret.encode()), Proxy("http://p", secret)]
    assert leaks(pretty_repr(objects)) == []  # which prints the fields of attrs classes itself
    for credential in CREDENTIALS:
        assert [field.name for field in attrs.fields(type(credential)) if field.repr] == []
