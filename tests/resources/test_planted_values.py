"""No error keeps what a caller gave or the service answered: planted values are looked for in everything it holds."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import pytest

from socialapi import Client
from socialapi.errors import DecodeError, InvalidInput, SocialApiError
from tests.resources.test_wrong_types import CALLS, Call, fill, made
from tests.support.clients import client_of
from tests.support.clock import VirtualClock
from tests.support.planted import PEOPLE, leaks, told_by
from tests.support.server import Cut, Server, Step, answer

MAIL: Final = PEOPLE["email"]
ODD: Final[tuple[Any, ...]] = (
    f"{MAIL}\ud800",
    f"{MAIL}\0",
    f"{MAIL}\r\n",
    f" {MAIL},",
    [MAIL, object()],
    {MAIL: object()},
    {"text": object(), "extra": MAIL, "email": [MAIL]},
    MAIL.encode(),
    5.5,
)
"""Values of which most are refused here."""

ITEM: Final = {"id": [MAIL], "text": [MAIL], "url": {"a": MAIL}, "created_at": MAIL, "deleted": MAIL, "name": [MAIL]}
ANSWERS: Final[dict[str, Step]] = {
    "a text": answer({"data": MAIL}),
    "an object": answer({"data": ITEM}),
    "a list": answer({"data": [ITEM, MAIL]}),
    "no data": answer({"meta": MAIL, "includes": MAIL}),
    "something else": answer([MAIL]),
    "broken JSON": answer(f'{{"data": "{MAIL}" oops'.encode()),
    "a page": answer(f"<p>{MAIL}</p>".encode(), content_type="text/html"),
    "a part": Cut(answer({"data": MAIL})[:-3]),
}


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


async def error_of(call: Awaitable[Any]) -> SocialApiError | None:
    try:
        await call
    except SocialApiError as error:
        return error
    return None


async def asked(method: Callable[..., Any], given: list[Any], keywords: dict[str, Any]) -> Any:
    return await made(method(*given, **keywords))


def client_at(server: Server) -> Client:
    return client_of(server, VirtualClock(), retries=0, max_elapsed_seconds=0.01)


METHODS: Final = list({call.name: call for call in CALLS}.values())


@pytest.mark.parametrize("method", METHODS, ids=lambda call: call.name)
@pytest.mark.usefixtures("elsewhere")
async def test_an_error_about_an_argument_does_not_keep_it(method: Call) -> None:
    refused = []
    missing = answer({"title": "no", "type": "about:blank"}, status=404)
    async with Server(then=missing) as server, client_at(server) as client:
        for call in (each for each in CALLS if each.name == method.name):
            for value in ODD:
                error = await error_of(asked(call.find(client), *fill(call, call.find(client), value)))
                if isinstance(error, InvalidInput):
                    refused.append(call.argument)
                    assert [line for line in told_by(error) if leaks(line)] == [], (call, value)
    assert refused


STREAMS: Final = ("client.activity.stream", "client.filtered_stream.connect")
"""They hand out what they cannot read, and connect again."""


@pytest.mark.parametrize("method", [each for each in METHODS if each.name not in STREAMS], ids=lambda call: call.name)
@pytest.mark.usefixtures("elsewhere")
async def test_an_error_about_an_answer_does_not_keep_it(method: Call) -> None:
    async with Server() as server, client_at(server) as client:
        call = method.find(client)
        for name, step in ANSWERS.items():
            server.then = step
            error = await error_of(asked(call, *fill(method, call, "1")))
            if isinstance(error, DecodeError):
                assert [line for line in told_by(error) if leaks(line)] == [], name
