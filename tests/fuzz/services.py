"""Targets: requests of strangers to the emulator, which may run where others can reach it."""

import asyncio
import datetime
import functools
from typing import Any, Final
from urllib.parse import urlsplit

import orjson
from aiohttp import web
from aiohttp.streams import StreamReader
from aiohttp.test_utils import make_mocked_request
from multidict import CIMultiDict

from socialapi.emulator import oauth1
from socialapi.emulator.auth import basic_pair
from socialapi.emulator.catalogs.state import _amounts
from socialapi.emulator.control import CONTROLS, _respond, is_control
from socialapi.emulator.hosts import is_public, parse_authority, split_target
from socialapi.emulator.oauth.three_legged import _parts, with_parameters
from socialapi.emulator.platform.challenges import _challenge_failure
from socialapi.emulator.platform.webhooks import _address
from socialapi.emulator.rate_limits import RateLimits
from socialapi.emulator.request import Received, decode_json
from socialapi.emulator.request_cycle import RequestCycle
from socialapi.emulator.responses import Refusal
from socialapi.emulator.server import ENDPOINT_TABLE, Emulator
from socialapi.models.validation import broken_rules
from socialapi.models.webhooks import WebhookUrl
from socialapi.routes.route import OAUTH
from tests.fuzz.target import Pieces, completed, target

WALL: Final = 1_800_000_000.0
RESET_AFTER_REQUESTS: Final = 500


@target(
    "oauth1-header",
    "emulator.oauth1:header_parameters",
    "emulator.oauth1:base_string",
    refusals=(Refusal,),
    hides=False,
)
def _oauth1_header(data: bytes) -> None:
    """Any header and any request are refused, or are what they say."""
    pieces = Pieces(data)
    header, host, path, query = (pieces.part().decode("latin-1") for _ in range(4))
    headers = {"Host": host, "Content-Type": "application/x-www-form-urlencoded", "Authorization": header}
    received = Received("POST", path, query, headers, pieces.rest())
    pair = basic_pair(received)
    assert pair is None or all(isinstance(each, str) for each in pair)
    parse_authority(host)
    split_target(path)
    received.parameters()
    protocol = oauth1.header_parameters(f"OAuth {header}")
    assert oauth1.base_string(received, protocol).isascii()
    oauth1.check_parameters(protocol, WALL)
    oauth1.check_signature(received, protocol, ("secret", "secret"))


@target("emulator-json", "emulator.request:decode_json", refusals=(ValueError,), hides=False)
def _emulator_json(data: bytes) -> None:
    """A body that is taken can be repeated in an answer."""
    assert orjson.dumps({"request": {"params": decode_json(data)}})


@functools.cache
def _service() -> Any:
    emulator = Emulator(clock=lambda: WALL)
    service = emulator._service
    service.base_url = "http://127.0.0.1:1"
    return service


def _refresh(service: Any) -> None:
    """Gives every limit back, and now and then all that the emulator begins with, which takes 30
    ms.
    """
    if not service.state.bearers.get("user") or service.log.received >= RESET_AFTER_REQUESTS:
        service.reset()
        user, state = service.access_token.caller, service.state
        state.bearers["user"] = user
        state.bearers["app"] = state.bearers[state.app_only_token(user.app)]
    service.state.limits = RateLimits(service.clock, {})


@functools.cache
def _places() -> list[tuple[str, str]]:
    """Method and path of every endpoint but streams, with ids that exist where there are some."""
    found = []
    for template, entry in ENDPOINT_TABLE._entries.values():
        if not entry.is_stream:
            found.append((entry.route.method, template))
    return sorted(found)


@target(
    "emulator",
    "emulator.arguments:read_arguments",
    "emulator.auth:any_caller",
    "emulator.oauth.authorize:submitted",
    "emulator.oauth.oauth2:_client_and_form",
    refusals=(),
    hides=False,
)
def _emulator(data: bytes) -> None:
    """Any request to any endpoint has an answer of JSON, or a page, that blames nobody but its
    sender.
    """
    pieces = Pieces(data)
    places = _places()
    _refresh(_service())
    method, template = places[pieces.number(len(places))]
    authorization = pieces.one_of("Bearer user", "Bearer app", "", None)
    kind = pieces.one_of("application/json", "application/x-www-form-urlencoded", "multipart/form-data", "")
    path = _path(template, pieces)
    query = pieces.part().decode("latin-1")
    if authorization is None:
        authorization = pieces.part().decode("latin-1")
    completed(_ask(method, f"{path}?{query}", authorization, kind, pieces.rest()))


def _path(template: str, pieces: Pieces) -> str:
    """The path, with ids that exist or any text for its parameters."""
    seed, steps = _service().seed, list[str]()
    for step in template.split("/"):
        if step.startswith("{"):
            known = seed.get(f"{step.strip('{}')}s") or next(iter(seed.values()))
            at = pieces.number(4)
            steps.append(known[at % len(known)] if at < 3 else pieces.part().decode("latin-1").replace("/", "") or "x")
        else:
            steps.append(step)
    return "/".join(steps)


async def _ask(method: str, target: str, authorization: str, kind: str, body: bytes) -> None:
    service = _service()
    headers = CIMultiDict({"Host": "127.0.0.1:1", "Content-Type": kind, "Authorization": authorization})
    if any(sign in "".join(headers.values()) for sign in "\r\n\0") or any(sign in target for sign in "\r\n\0 #"):
        return  # which no request line has
    request = _request(method, target, headers, body)
    if request is None:
        return
    assert not is_control(request)
    match = await ENDPOINT_TABLE.find(request)
    response = await RequestCycle(service, request, match).run()
    assert isinstance(response, web.Response)
    assert response.status < 500, (response.status, response.body)
    is_page = match.entry is not None and match.entry.route.family is OAUTH
    if not is_page and response.body:
        assert isinstance(response.body, bytes)
        orjson.loads(response.body)


def _request(method: str, target: str, headers: CIMultiDict[str], body: bytes) -> web.Request | None:
    """A request as it arrives; None for an address that aiohttp refuses before anybody sees it."""
    content = StreamReader(_Protocol(), 2**16, loop=asyncio.get_running_loop())  # type: ignore[arg-type]
    content.feed_data(body)
    content.feed_eof()
    try:
        return make_mocked_request(method, target, headers, payload=content)
    except ValueError:
        return None


class _Protocol:
    """Stands for the connection of a request."""

    _reading_paused = False

    def pause_reading(self) -> None:
        """Nothing is to be paused."""

    def resume_reading(self, *, resume_parser: bool = True) -> None:
        """Nothing was paused."""


@target("control", "emulator.control:_respond", refusals=(Refusal,), hides=False)
def _control(data: bytes) -> None:
    """Any request to the control plane has an answer, or is refused."""
    pieces = Pieces(data)
    places = sorted((method, template) for template, _ in CONTROLS._entries.values() for method in METHODS)
    method, template = places[pieces.number(len(places))]
    kind = pieces.one_of("application/json", "text/plain", "application/x-www-form-urlencoded")
    path = "/".join(
        pieces.part().decode("latin-1").replace("/", "") or "x" if step.startswith("{") else step
        for step in template.split("/")
    )
    query = pieces.part().decode("latin-1")
    if any(sign in path + query for sign in "\r\n\0 #?"):
        return  # which no path of a request line has
    service = _service()
    service.reset()
    completed(_ask_control(service, method, f"{path}?{query}", kind, pieces.rest()))


METHODS: Final = ("DELETE", "GET", "POST", "PUT")


async def _ask_control(service: Any, method: str, target: str, kind: str, body: bytes) -> None:
    headers = CIMultiDict({"Host": "127.0.0.1:1", "Content-Type": kind})
    request = _request(method, target, headers, body)
    if request is None:
        return
    async with asyncio.timeout(5):
        await _respond(service, request)


@target(
    "emulator-texts",
    "emulator.oauth.three_legged:with_parameters",
    "emulator.hosts:is_public",
    "emulator.platform.challenges:_challenge_failure",
    "emulator.catalogs.state:_amounts",
    refusals=(),
    hides=False,
)
def _emulator_texts(data: bytes) -> None:
    """Addresses, amounts and the answers of receivers are taken, or refused by a sentence."""
    pieces = Pieces(data)
    text, other = pieces.text(), pieces.text()
    if _parts(text) is not None:
        assert "state=x" in with_parameters(text, {"state": "x"})
    if not broken_rules(WebhookUrl, text, now=NOW):
        assert "?" in text[:-1] or _address(text) == _address(text.removesuffix("?"))
        assert is_public(urlsplit(text).hostname or "") in (True, False)
    reason = _challenge_failure(200, data, "sha256=x")
    assert (reason is None) == (b'"sha256=x"' in data and _is_answer(data))
    matches = _amounts("EQUAL_TO", text) or _amounts("GREATER_THAN", text)
    assert matches is None or matches(other) in (True, False)


def _is_answer(data: bytes) -> bool:
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    return isinstance(found, dict) and found.get("response_token") == "sha256=x"


NOW: Final = datetime.datetime(2027, 1, 15, 8, tzinfo=datetime.UTC)
