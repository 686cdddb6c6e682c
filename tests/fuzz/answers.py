"""Targets: what the service answers, streams and hands out."""

import datetime
import functools
import json
import math
import typing
from collections.abc import Callable, Sequence
from typing import Any, Final

import orjson

from socialapi.cli.emulator import _reason_of
from socialapi.errors import ApiError, DecodeError, InvalidInput
from socialapi.internal.records import Exported
from socialapi.models.events import ActivityEvent, MatchedPost, Streamed
from socialapi.models.model import Items, Model
from socialapi.models.oauth import HoldsSecret
from socialapi.models.pages import Page
from socialapi.models.posts import Post
from socialapi.models.undecoded import Undecoded
from socialapi.models.validation import format_timestamp, parse_timestamp
from socialapi.problems import Problem, ServiceError
from socialapi.routes.route import OAUTH, Route
from socialapi.session.oauth2_user import TokenPair
from socialapi.wire import scalars
from socialapi.wire.decode import decode_json, read_partial_error
from socialapi.wire.events import LINE_READERS, identity_of, identity_of_item, read_delivery
from socialapi.wire.ndjson import LineFramer, is_whole
from socialapi.wire.paging import Position, ReadTokens, Split
from socialapi.wire.rate_limit_headers import LimitHeaders
from socialapi.wire.response import Reply, read_error, read_result
from tests.fuzz.target import Pieces, in_pieces, outcome, target
from tests.support.routes import ROUTES

NOW: Final = 1_800_000_000.0


@functools.cache
def every_route() -> Sequence[Route[Any]]:
    """The routes of all areas, those whose answers hold tokens last."""
    found = {
        (each.method, each.path): each
        for each in ROUTES
        if each.result is not object and typing.get_origin(each.result) is not Streamed
    }
    return sorted(found.values(), key=lambda route: (not route.family.envelope, route.path, route.method))


@target("json", "wire.decode:decode_json", "wire.ndjson:is_whole", refusals=(orjson.JSONDecodeError,))
def _json(data: bytes) -> None:
    """What orjson reads is read as it does. Of the rest, only lone surrogates are let through."""
    expected = outcome(lambda: orjson.loads(data), orjson.JSONDecodeError)
    assert is_whole(data) in (True, False)
    value = decode_json(data)
    if not isinstance(expected, tuple):
        assert repr(value) == repr(expected)
    _check_json(value)


def _check_json(value: Any) -> None:
    """Asserts that a value is made of what orjson makes of JSON."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        assert type(each) in (dict, list, str, int, float, bool, type(None))
        if type(each) is float:
            assert math.isfinite(each)
        if type(each) is int:
            assert -(2**63) <= each < 2**64
        if isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each


@target("answer", "wire.response:read_result", "wire.response:_decode_tokens", "wire.decode:structure")
def _answer(data: bytes) -> None:
    """An answer to any route gives its result, which is exported and read again, or a refusal."""
    pieces = Pieces(data)
    routes = every_route()
    route = routes[pieces.number(len(routes))]
    status = pieces.one_of(200, 201, 204, 299)
    reply = Reply(status, {"content-type": pieces.one_of("application/json", "text/html", "")}, pieces.rest())
    _check_export(read_result(route, reply))


def _check_export(result: Any) -> None:
    """Every class of results that has an export; what has none is texts, or nothing."""
    if isinstance(result, Page):
        again = Page.from_dict(result.to_dict(), result.item_type)
        assert again.data == result.data
        assert again.next_token == result.next_token
        assert again.to_dict() == result.to_dict()
    elif isinstance(result, Exported) and not isinstance(result, Items):
        secrets = {"with_secrets": True} if isinstance(result, HoldsSecret) else {}
        exported = result.to_dict(**secrets)
        assert type(result).from_dict(exported) == result
        assert type(result).from_dict(json.loads(result.to_json(**secrets))) == result
    else:
        each = result if isinstance(result, tuple) else (result,)
        assert all(isinstance(one, str | Model | None) for one in each), type(result)


@target(
    "refusal",
    "wire.response:read_error",
    "wire.response:_shown_url",
    "wire.decode:read_partial_error",
    "cli.emulator:_reason_of",
    "errors:ApiError",
)
def _refusal(data: bytes) -> None:
    """Whatever comes with a status of a failure is an error with that status."""
    pieces = Pieces(data)
    status = pieces.one_of(400, 401, 403, 404, 409, 429, 500, 503, 200, 302)
    headers = {"content-type": pieces.one_of("application/json", "text/html", "")}
    content = pieces.rest()
    moved = read_error(Reply(302, {"location": content.decode("latin-1")}, b""))
    assert str(moved).isprintable()
    assert len(str(moved)) < 1_000
    assert isinstance(_reason_of(content), str)
    error = read_error(Reply(status, headers, content))
    assert isinstance(error, ApiError)
    assert error.status == status
    assert all(isinstance(each, Problem | ServiceError) for each in (*error.errors, *error.problems))
    assert len(str(error)) < 10_000
    assert all(isinstance(code, int | str) for code in error.codes)


@target("partial-errors", "wire.decode:read_partial_error", "wire.decode:read_problem", refusals=())
def _partial_errors(data: bytes) -> None:
    """Any JSON beside data is a problem or a coded error."""
    value = outcome(lambda: decode_json(data), orjson.JSONDecodeError)
    found = read_partial_error(value)
    assert isinstance(found, Problem | ServiceError)


@target("page", "wire.paging:read_page", "wire.decode:structure_each")
def _page(data: bytes) -> None:
    """A page has its items, and what cannot be decoded beside them. It is the same after an export."""
    route: Route[Any] = next(each for each in every_route() if each.is_paged and each.result == Page[Post])
    page = read_result(route, Reply(200, {}, data))
    assert all(isinstance(each, Post) for each in page.data)
    assert page.arrived_before(len(page.data)) >= len(page.data)
    for arrived in range(page.arrived_before(len(page.data)) + 1):
        assert 0 <= page.index_after(arrived) <= len(page.data)
    again = Page.from_dict(page.to_dict(), Post)
    assert again.to_dict() == page.to_dict()
    for index in range(len(page.data)):
        position = Position.behind(page, index)
        assert Position.read(str(position)) == position


@target("position", "wire.paging:Position.read", "wire.paging:Split.ask", refusals=(InvalidInput,))
def _position(data: bytes) -> None:
    """A text is a position, which stays the same in writing, or is refused."""
    text = data.decode("utf-8", "surrogateescape")
    tokens = ReadTokens(None, most=3)
    assert [tokens.repeats(each) for each in (text, text)] == [False, True]
    part, _, cursor = (text or "0~").partition("~")
    asked = outcome(lambda: Split("ids", (("1",), ("2",))).ask({}, text), InvalidInput)
    if part in ("0", "1"):
        assert asked == ({"ids": (str(int(part) + 1),)}, cursor or None)
    else:
        assert is_refused(asked, InvalidInput) or (part.isdecimal() and int(part) < 2)
    position = Position.read(text)
    if not any("\ud800" <= letter <= "\udfff" for letter in text):
        assert Position.read(str(position)) == position


@target("lines", "wire.ndjson:LineFramer.feed", "wire.ndjson:is_whole", refusals=())
def _lines(data: bytes) -> None:
    """A stream in pieces of any size has the lines that it has at once."""
    pieces = Pieces(data)
    limit, sizes = pieces.one_of(3, 16, 100_000), [1 + pieces.number(9), 1 + pieces.number(200)]
    content = pieces.rest()
    expected = [line.removesuffix(b"\r") for line in content.split(b"\n")[:-1]]
    too_long = [at for at, line in enumerate(content.split(b"\n")) if len(line) > limit]
    for size in (*sizes, len(content) or 1):
        lines, rest = _framed(in_pieces(content, size), limit)
        assert lines == (expected[: too_long[0]] if too_long else expected)
        assert rest == (None if too_long else content.rpartition(b"\n")[2])
    for line in (*expected, content.rpartition(b"\n")[2]):
        assert is_whole(line) in (True, False)


def _framed(chunks: Sequence[bytes], limit: int) -> tuple[list[bytes], bytes | None]:
    """The lines of chunks, and the rest; no rest where a line is too long."""
    framer, lines = LineFramer(limit), list[bytes]()
    try:
        for chunk in chunks:
            lines += framer.feed(chunk)
            while framer.has_more:
                lines += framer.feed(b"")
        framer.check()
    except DecodeError:
        return lines, None
    return lines, framer.rest


@target("events", "wire.events:read_post", "wire.events:read_activity", "wire.events:read_delivery", refusals=())
def _events(data: bytes) -> None:
    """Every line and every delivery is an event, or comes as it is; nothing raises."""
    pieces = Pieces(data)
    paths = pieces.one_of(None, None, ("data.id",), ("a.b.0", "id"), ("data.event_id.0.x",))
    content = pieces.rest()
    body = outcome(lambda: decode_json(content), orjson.JSONDecodeError)
    identity = identity_of(body, paths)
    assert identity is None or isinstance(identity, str)
    readers: list[Callable[[bytes, Any], Any]] = [*LINE_READERS.values(), read_delivery]
    for read in readers:
        event = read(content, paths)
        if isinstance(event, ActivityEvent | MatchedPost):
            assert event.content == content
            identity_of_item(event, paths)
        elif isinstance(event, Undecoded):
            assert event.raw == content
            assert PLANTED_TEXT not in event.reason
        repr(event)
    assert not isinstance(read_delivery(content), MatchedPost) or identity_of(body) is not None


PLANTED_TEXT: Final = "planted.person"
"""The beginning of the marker."""


@target("rate-limit-headers", "wire.rate_limit_headers:LimitHeaders", refusals=())
def _rate_limit_headers(data: bytes) -> None:
    """Whatever the headers say, waits are finite, of at most a year, and never negative."""
    pieces = Pieces(data)
    names = ("x-rate-limit-limit", "x-rate-limit-remaining", "x-rate-limit-reset", "retry-after", "date")
    headers = {name: text for name in names if (text := pieces.part().decode("latin-1"))}
    reader = LimitHeaders(("x-account-rate-limit-", "x-rate-limit-"))
    reading = reader.read(headers, NOW)
    waits = [reader.retry_after_seconds(headers, NOW)]
    if reading is not None:
        waits.append(reading.resets_in_seconds)
        assert all(count is None or 0 <= count < 10**12 for count in (reading.limit, reading.remaining))
    assert all(wait is None or 0 <= wait <= 366 * 86_400 for wait in waits)


@target("tokens", "wire.response:_decode_tokens", "session.oauth2_user:TokenPair.from_text", "wire.oauth1:is_token")
def _tokens(data: bytes) -> None:
    """The answers of the token endpoints, in either form, give tokens that can be sent, or a
    refusal.
    """
    pieces = Pieces(data)
    route: Route[Any] = pieces.one_of(*(each for each in ROUTES if each.family is OAUTH and each.method == "POST"))
    content = pieces.rest()
    pair = TokenPair.from_text(content.decode("utf-8", "replace"))
    if pair is not None:
        _check_pair(pair)
    answered = read_result(route, Reply(200, {}, content))
    if hasattr(answered, "expires_in"):
        _check_pair(TokenPair.from_answer(answered, old=TokenPair("old", "used"), now=NOW))


def _check_pair(pair: TokenPair) -> None:
    assert TokenPair.from_text(pair.to_text()) == pair
    assert pair.is_due(NOW) in (True, False)
    assert pair.is_expired(NOW) in (True, False)
    assert PLANTED_TEXT not in repr(pair)


@target("scalars", *(f"wire.scalars:{each.__name__}" for each in scalars.READERS.values()), refusals=())
def _scalars(data: bytes) -> None:
    """A value is read, and read again from what came of it, or refused by DecodeError."""
    text = data.decode("utf-8", "surrogateescape")
    given: list[Any] = [text, [text], *outcome(lambda: [json.loads(text)], ValueError, RecursionError)]
    for value in given:
        for kind, read in scalars.READERS.items():
            _check_scalar(read, value, MADE.get(kind, (kind,)))
        _check_scalar(scalars.identifier, value, (str,))
    time = parse_timestamp(text)
    if time is not None:
        assert parse_timestamp(format_timestamp(time)) == time


MADE: Final[dict[Any, tuple[type, ...]]] = {float: (float, int)}
"""What a reader makes of a value, if that is not of its kind alone."""


def _check_scalar(read: Callable[[Any], Any], value: Any, made: tuple[type, ...]) -> None:
    found = outcome(functools.partial(read, value), DecodeError)
    if found is not None and not is_refused(found, DecodeError):
        assert type(found) in made, (made, found)
        again = found.isoformat() if isinstance(found, datetime.datetime) else found
        assert repr(read(again)) == repr(found) or read(again) == found


def is_refused(found: Any, error: type[Exception]) -> bool:
    """Whether the outcome is an error of this class."""
    return isinstance(found, tuple) and found[0] == error.__name__
