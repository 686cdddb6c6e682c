"""Whatever is sent to any endpoint: no status of 500 or more, nothing that takes long, and nothing but JSON.

Exceptions are documented: the pages and forms of signing in, and streams.
"""

import asyncio
import base64
import contextlib
import datetime
import itertools
import json
import random
import re
import socket
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, urlencode

import aiohttp
import orjson
import pytest

from socialapi.emulator import Emulator
from socialapi.emulator.arguments import takes_json, without_conditions
from socialapi.emulator.handlers import Endpoint, endpoints
from socialapi.emulator.routing import mounted_path
from socialapi.models.validation import broken_rules, value_type, wire_name
from socialapi.routes.route import OAUTH, Route
from tests.emulator.asking import Asker, Reply

pytestmark = pytest.mark.slow

MAX_SECONDS: Final = 2.0
FORM: Final = "application/x-www-form-urlencoded"

DEEP: Any = "x"
for _ in range(200):
    DEEP = [DEEP]

JSON_VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 17, 2**63, -(2**63), 10**18, 1.5, -0.0, 1e300),
    *("", " ", "x", "17", "\x00", "\ud7ff\u202e", "x" * 5_000, "2026-02-30T25:00:00Z", "0001-01-01T00:00:00+23:59"),
    *([], [None], [[]], [{}], ["x"], [1, "x", None], {}, {"": None}, {"x": []}, {"id": {}}, DEEP),
)
SOUND: Final[tuple[Any, ...]] = (
    *(
        "17",
        "x",
        "a" * 64,
        "https://northwind.example/x",
        "2030-01-01T00:00:00Z",
        "10.00 USD",
        "US",
        "new",
        True,
        1,
        60,
    ),
    *(["17"], ["a" * 64], {}),
)
NOW: Final = datetime.datetime.now(datetime.UTC)
TEXTS: Final = (
    *(
        "",
        " ",
        "x",
        "17",
        "-1",
        "1.5",
        "true",
        "null",
        "[]",
        "{}",
        "x" * 3_000,
        "9" * 400,
        "\x00",
        "a,b,,c",
        ",",
        "é\u202e",
    ),
    *("2026-02-30T25:00:00Z", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59Z", "../..", "%2e%2e", "a/b", "'\"<>"),
)


def is_page(endpoint: Endpoint) -> bool:
    """Whether it shows pages to a browser."""
    return endpoint.route.family is OAUTH and endpoint.route.path.endswith(("authorize", "authenticate"))


def names_in(declared: Any) -> Mapping[str, Any]:
    """The declared names of an object, with the types of their values; nothing of what is no object."""
    bare = without_conditions(declared)
    if typing.is_typeddict(bare):
        hints = typing.get_type_hints(bare, include_extras=True)
        return {name: value_type(kind) for name, kind in hints.items() if name != "extra"}
    cls = typing.get_origin(bare) or bare
    fields = getattr(cls, "__attrs_attrs__", ())
    hints = typing.get_type_hints(cls, include_extras=True) if fields else {}
    return {wire_name(field): hints[field.name] for field in fields if field.name != "extra"}


def sound(declared: Any) -> Any:
    """A value that breaks no rule of its own, as far as one is found: so that what stands beside it is looked at."""
    parts = (declared, *typing.get_args(without_conditions(declared)))
    choices = [each for part in parts if typing.get_origin(part) is typing.Literal for each in typing.get_args(part)]
    for value in (*choices, *SOUND):
        if not broken_rules(declared, value, now=NOW):
            return value
    for part in parts:
        if names_in(part):
            return sound_object(part)
        if typing.get_origin(without_conditions(part)) in (tuple, list) and typing.get_args(part):
            return [sound(typing.get_args(without_conditions(part))[0])]
    return None


def sound_object(declared: Any) -> dict[str, Any]:
    """An object with the members that it must have."""
    missing = {rule.path for rule in broken_rules(declared, {}, now=NOW) if rule.code == "MISSING_PARAMETER"}
    return {name: sound(kind) for name, kind in names_in(declared).items() if name in missing}


def bodies(declared: Any, depth: int = 0) -> Iterator[Any]:
    """Every JSON type in every place of a body: as a whole, in each member, and in what members and items hold."""
    yield from JSON_VALUES if depth == 0 else JSON_VALUES[::2]
    if depth == 4:
        return
    for part in (declared, *typing.get_args(without_conditions(declared))):
        names = names_in(part)
        required = sound_object(part) if names else {}
        for name, kind in names.items():
            for inner in bodies(kind, depth + 1):
                yield {name: inner}
                yield {**required, name: inner}
        if typing.get_origin(without_conditions(part)) in (tuple, list) and typing.get_args(part):
            for inner in bodies(typing.get_args(without_conditions(part))[0], depth + 1):
                yield [inner]


def whole(declared: Any, samples: random.Random) -> Iterator[Any]:
    """Bodies with all declared members at once, each of any type."""
    names = names_in(declared)
    for _ in range(20 if names else 0):
        yield {name: samples.choice(JSON_VALUES) for name in names}


@pytest.fixture(scope="module")
def allowance() -> dict[str, tuple[int, float]]:
    """Limits that are not met: what is asked for is what the endpoints make of it."""
    rows = [endpoint.route for endpoint in endpoints()]
    names = {row.rate_limit.name if row.rate_limit else f"{row.method} {row.path}" for row in rows}
    return dict.fromkeys([*names, "app_only_tokens", "total_count_reads"], (10**6, 60.0))


def check(endpoint: Endpoint, reply: Reply, seconds: float, sent: object) -> None:
    about = f"{endpoint.route.method} {endpoint.route.path} {str(sent)[:300]} -> {reply.status} {reply.text[:300]}"
    assert reply.status < 500, about
    assert seconds < MAX_SECONDS, about
    kind = reply.headers.get("Content-Type", "")
    if reply.text and not (is_page(endpoint) or kind.startswith(FORM)):
        assert re.match(r"application/(problem\+)?json", kind), about
        orjson.loads(reply.text)


def credentials(ask: Asker, endpoint: Endpoint, path: str) -> Iterator[dict[str, str]]:
    """Those that get into an endpoint: of the app and of a user, or its own."""
    ready = ask.emulator.ready
    if endpoint.route.family is OAUTH:
        pair = f"{ready['api_key']}:{ready['api_key_secret']}".encode()
        yield {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
        with contextlib.suppress(ValueError):  # addresses that oauthlib does not sign
            yield dict(ask.signer().sign(ready["base_url"] + path, endpoint.route.method)[1])
        return
    scopes = "tweet.read tweet.write users.read users.email space.read dm.read"
    for token in (ready["bearer_token"], ask.oauth2_token(scopes, lifetime=1e6)):
        yield {"Authorization": f"Bearer {token}"}


async def ask_all(ask: Asker, endpoint: Endpoint, requests: Iterator[dict[str, Any]]) -> int:
    """Sends the requests with each credential; how many they were."""
    if endpoint.is_stream:
        ask.emulator.faults.add("stream_close", path=mounted_path(endpoint.route), probability=1.0)
    loop, count = asyncio.get_running_loop(), 0
    for request in requests:
        for credential in credentials(ask, endpoint, request["path"]):
            began = loop.time()
            headers = credential | request.get("headers", {})
            reply = await ask.send(endpoint.route.method, **{**request, "headers": headers})
            check(endpoint, reply, loop.time() - began, request)
            count += 1
    return count


def path_of(route: Route[Any], seed: Mapping[str, Sequence[str]], **values: str) -> str:
    """The path with what is there, or with other values."""
    known: dict[str, str] = {
        "account_id": seed["account_ids"][0],
        "id": seed["user_ids"][0],
        "endpoint_id": "filtered_stream",
        **{name.removesuffix("s"): str(ids[0]) for name, ids in seed.items() if ids},
        "media_key": seed["media_keys"][0],
    }
    filled = {
        name: quote(values.get(name, known.get(name, "17")), safe="") for name in re.findall(r"{(\w+)}", route.path)
    }
    return mounted_path(route).format_map(filled)


ids = [f"{endpoint.route.method} {endpoint.route.path}" for endpoint in endpoints()]


@pytest.mark.parametrize("is_lenient", [False, True])
@pytest.mark.parametrize("endpoint", endpoints(), ids=ids)
async def test_any_json_in_any_place_of_a_body(
    session: aiohttp.ClientSession, allowance: dict[str, tuple[int, float]], endpoint: Endpoint, is_lenient: bool
) -> None:
    samples = random.Random(endpoint.route.path)
    async with Emulator(rate_limits=allowance, lenient_fields=is_lenient) as emulator:
        ask = Asker(emulator, session)
        path = path_of(endpoint.route, emulator.seed)
        made = list(itertools.islice(bodies(endpoint.route.body), 20_000))
        chosen = samples.sample(made, min(len(made), 500 if takes_json(endpoint.route) else 20))
        chosen += whole(endpoint.route.body, samples)
        contents = [orjson.dumps(each, option=orjson.OPT_PASSTHROUGH_SUBCLASS) for each in chosen if is_sendable(each)]
        contents += [b"", b"{", b"\xff\xfe", b"[" * 5_000, b'{"a":NaN}', b'{"a":1,"a":2}']
        headers = {"Content-Type": "application/json"}
        assert await ask_all(ask, endpoint, ({"path": path, "data": each, "headers": headers} for each in contents))


def is_sendable(value: Any) -> bool:
    try:
        orjson.dumps(value)
    except TypeError:
        return False
    return True


@pytest.mark.parametrize("endpoint", endpoints(), ids=ids)
async def test_any_text_in_any_parameter(
    session: aiohttp.ClientSession, allowance: dict[str, tuple[int, float]], endpoint: Endpoint
) -> None:
    route = endpoint.route
    samples = random.Random(route.path)
    async with Emulator(rate_limits=allowance) as emulator:
        ask = Asker(emulator, session)
        names = [*names_in(route.query), *(() if takes_json(route) else names_in(route.body)), "unknown"]
        pairs = [[(name, text)] for name in names for text in TEXTS]
        pairs += [[(name, samples.choice(TEXTS)) for name in names] for _ in range(20)]
        pairs += [[(names[0], "1"), (names[0], "2")]]
        requests = []
        for each in samples.sample(pairs, min(len(pairs), 200)):
            encoded = urlencode(each)
            requests.append({"path": f"{path_of(route, emulator.seed)}?{encoded}"})
            if route.method != "GET" and samples.random() < 0.3:
                body: dict[str, Any] = {"data": encoded.encode(), "headers": {"Content-Type": FORM}}
                requests.append({"path": path_of(route, emulator.seed), **body})
        for name, text in itertools.product(re.findall(r"{(\w+)}", route.path), TEXTS):
            requests.append({"path": path_of(route, emulator.seed, **{name: text or " "})})
        assert await ask_all(ask, endpoint, iter(requests))


MALFORMED: Final = (
    *(b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/9.9\r\n\r\n", b"GE T / HTTP/1.1\r\n\r\n"),
    *(b"GET /2/tweets HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"GET //[x HTTP/1.1\r\nHost: a\r\n\r\n"),
    *(b"GET http://[x/2/tweets HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /%zz%ff?%zz=%ff HTTP/1.1\r\nHost: a\r\n\r\n"),
    *(b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", b"GET 2/tweets HTTP/1.1\r\nHost: a\r\n\r\n"),
    *(
        b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 70_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
    ),
    *(b"GET / HTTP/1.1\r\n" + b"".join(b"X%d: a\r\n" % n for n in range(500)) + b"\r\n",),
    b"POST /2/tweets HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
)


@pytest.mark.parametrize("raw", MALFORMED, ids=lambda raw: raw[:40].decode("latin-1"))
async def test_what_is_no_request_is_refused_in_json_and_the_next_one_is_served(emulator: Emulator, raw: bytes) -> None:
    host, port = emulator.ready["base_url"].removeprefix("http://").split(":")
    loop = asyncio.get_running_loop()
    with socket.create_connection((host, int(port))) as connection:
        connection.setblocking(False)
        await loop.sock_sendall(connection, raw)
        received = b""
        async with asyncio.timeout(MAX_SECONDS):
            while chunk := await loop.sock_recv(connection, 65_536):
                received += chunk
                head, _, body = received.partition(b"\r\n\r\n")
                if body and len(body) >= int(re.search(rb"Content-Length: (\d+)", head, re.IGNORECASE)[1]):  # type: ignore[index]
                    break
    status = int(received.split(b" ", 2)[1])
    assert 400 <= status < 500, received[:200]
    assert re.search(rb"Content-Type: application/(problem\+)?json", head, re.IGNORECASE)
    assert isinstance(json.loads(body), dict)


HEADERS: Final = ("Authorization", "Host", "Content-Type", "Content-Encoding", "Cookie", "Expect", "X-Anything")


@pytest.mark.parametrize("name", HEADERS)
@pytest.mark.parametrize("value", [b"\xff", b'OAuth oauth_token="\xe9"', b"Bearer \xff", b"Basic \xff", b"a" * 9_000])
async def test_any_bytes_in_any_header(emulator: Emulator, name: str, value: bytes) -> None:
    host = f"Host: {emulator.ready['base_url'][7:]}\r\n".encode() if name != "Host" else b""
    for path in (b"/2/tweets?ids=1", b"/oauth/request_token", b"/ads/12/accounts", b"/oauth/authorize?oauth_token=x"):
        head = b"POST " + path + b" HTTP/1.1\r\n" + host + name.encode() + b": " + value
        status, answered = await told(emulator, head + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        assert 200 <= status < 500, answered[:300]


async def test_a_signature_with_bytes_of_no_text_is_refused(ask: Asker) -> None:
    """Every field of the header, since each is read elsewhere."""
    address = f"{ask.emulator.ready['base_url']}/2/tweets?ids=1"
    signature = ask.signer().sign(address, "GET")[1]["Authorization"]
    for field in ("oauth_signature", "oauth_token", "oauth_nonce", "oauth_version", "oauth_body_hash"):
        broken = re.sub(rf'({field}=")[^"]*', r"\1" + "\xe9", signature)
        broken += "" if field in signature else f', {field}="\xe9"'
        host = ask.emulator.ready["base_url"][7:]
        head = f"GET /2/tweets?ids=1 HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nAuthorization: {broken}\r\n\r\n"
        status, _ = await told(ask.emulator, head.encode("latin-1"))
        assert status == 401, field


async def told(emulator: Emulator, raw: bytes) -> tuple[int, bytes]:
    """The status and the whole of the answer to bytes on a connection of their own."""
    host, port = emulator.ready["base_url"].removeprefix("http://").split(":")
    async with asyncio.timeout(MAX_SECONDS):
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            writer.write(raw)
            answered = await reader.read()
        finally:
            writer.close()
            await writer.wait_closed()
    return int(answered.split(b" ", 2)[1]), answered


@pytest.mark.parametrize("depth", [255, 500, 900, 1_023])
async def test_deep_nesting_is_refused_wherever_it_is_sent(ask: Asker, depth: int) -> None:
    """orjson reads deeper values than it writes: they were stored, and could not be answered any more."""
    names = ("note", "problem_fields", "add", "text")
    nested = "[" * depth + "1" + "]" * depth
    content = "{" + ", ".join(f'"{name}": {nested}' for name in names) + ', "fault": "status"}'
    headers = {"Content-Type": "application/json"}
    paths = ("/2/notes", "/2/evaluate_note", "/2/webhooks/replay", "/2/tweets", "/2/tweets/search/stream/rules")
    for path in (*paths, "/2/articles/draft", "/_emulator/events", "/_emulator/faults"):
        reply = await ask.signed("POST", path, data=content.encode(), headers=headers)
        assert reply.status == 400, path
        assert "nested too deeply" in reply.text
    assert (await ask.get("/2/notes/search/notes_written")).status == 200
    assert (await ask.control("GET", "faults")).status == 200


async def test_posts_of_the_control_plane_have_the_shapes_that_are_read_of_them(ask: Asker) -> None:
    wrong: dict[str, Any] = {
        "public_metrics": [5, [], {"reply_count": "1"}],
        "edit_controls": [5, {"edits_remaining": "x"}],
        "edit_history_tweet_ids": [["abc"], "1", [1], []],
        "id": ["0001", "9999999999999999999", 5],
        "geo": [5, {"place_id": []}],
        "attachments": [5, {"media_keys": 5}],
        "referenced_tweets": [5, [{"type": "quoted"}]],
    }
    for name, values in wrong.items():
        for value in values:
            reply = await ask.control("POST", "events", {"post": {"text": "x", name: value}})
            assert (reply.status, name in reply.text) == (400, True), (name, value)
    metrics = {"public_metrics": {"like_count": 7}, "edit_history_tweet_ids": ["999"], "edit_controls": {}}
    made = (await ask.control("POST", "events", {"post": {"text": "x", **metrics}})).json["published"][0]["post_id"]
    answered = await ask.signed("POST", "/2/tweets", json={"text": "y", "reply": {"in_reply_to_tweet_id": made}})
    assert answered.status == 201
    shown = (await ask.get("/2/tweets", ids=made, tweet_fields="public_metrics")).data[0]["public_metrics"]
    assert (shown["like_count"], shown["reply_count"]) == (7, 1)
    edit = {"text": "z", "edit_options": {"previous_post_id": made}}
    assert (await ask.signed("POST", "/2/tweets", json=edit)).status == 403
