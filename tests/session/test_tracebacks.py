"""What an error tracker sees: no local variable of a frame that an error went through shows a secret, a signed header
or the body of a request.
"""

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest

from socialapi import AppOnly, Bearer, Client, Config, OAuth1, OAuth2User, errors
from socialapi.credentials import Credentials
from socialapi.session.token_cache import FileTokenCache
from tests.support.server import Cut, Fault, Server, Step, answer

SECRETS: Final = {
    name: f"planted-{name}-91c2f0"
    for name in (
        "bearer",
        "key-secret",
        "token-secret",
        "access",
        "refresh",
        "client-secret",
        "fetched",
        "body",
        "proxy",
        "code",
        "verifier-0123456789012345678901234567890123",
    )
}
KINDS: Final[dict[str, Credentials]] = {
    "bearer": Bearer(SECRETS["bearer"]),
    "app": AppOnly("key", SECRETS["key-secret"]),
    "signed": OAuth1("key", SECRETS["key-secret"], "token", SECRETS["token-secret"]),
    "user": OAuth2User(SECRETS["access"], SECRETS["refresh"], "client", SECRETS["client-secret"]),
}
PARTS: Final = ("socialapi", "aiohttp")


def frames_of(error: BaseException) -> Iterator[FrameType]:
    waiting: list[BaseException | None] = [error]
    seen = set()
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        waiting += [each.__cause__, each.__context__]
        traceback = each.__traceback__
        while traceback is not None:
            yield traceback.tb_frame
            traceback = traceback.tb_next


def shown_in(error: BaseException) -> set[str]:
    """Where a secret is, or shows in the repr of a variable; signatures count as secrets, too."""
    found = set()
    for frame in frames_of(error):
        module = frame.f_globals.get("__name__", "")
        if not module.startswith(PARTS):
            continue
        for name, value in frame.f_locals.items():
            text = repr(value)
            planted = [kind for kind, secret in SECRETS.items() if secret in text]
            planted += ["signature"] if "oauth_signature" in text else []
            found |= {f"{module}.{frame.f_code.co_name}: {name} shows {kind}" for kind in planted}
    return found


REFUSAL: Final = answer({"errors": [{"code": 1, "message": "no"}]}, status=400)
EXPIRED: Final = answer({"errors": [{"code": 89, "message": "no"}]}, status=401)
STEPS: Final[dict[str, Step]] = {
    "400": REFUSAL,
    "401": EXPIRED,
    "503": answer(status=503),
    "redirect": answer(status=301, Location="https://other.example/2/tweets"),
    "page": answer(b"<html>", content_type="text/html"),
    "broken gzip": answer(b"\x1f\x8b no gzip", Content_Encoding="gzip"),
    "hang up": Fault.CLOSE,
    "reset": Fault.RESET,
    "cut": Cut(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"),
    "no HTTP": Cut(b"nonsense\r\n\r\n"),
}
TOKEN_STEPS: Final[dict[str, Step]] = {
    **STEPS,
    "no token": answer({"token_type": "bearer", "refresh_token": SECRETS["fetched"]}),
    "odd token": answer({"access_token": f"{SECRETS['fetched']} ž", "refresh_token": SECRETS["fetched"]}),
    "an array": answer([SECRETS["fetched"]]),
    "not JSON": answer(b'{"access_token": "' + SECRETS["fetched"].encode()),
}


async def read(client: Client) -> Any:
    return await client.posts.lookup(["1"])


async def write(client: Client) -> Any:
    return await client.request("POST", "/2/anything", json={"text": SECRETS["body"]})


async def stream(client: Client) -> Any:
    async with client.filtered_stream.connect(give_up_after_seconds=0.01) as stream:
        return await anext(stream)


async def error_of(work: Coroutine[Any, Any, Any]) -> errors.SocialApiError | None:
    try:
        async with asyncio.timeout(20):
            await work
    except errors.SocialApiError as error:
        return error
    return None


@pytest.mark.parametrize("call", [read, write, stream])
@pytest.mark.parametrize("kind", KINDS)
async def test_no_variable_shows_a_secret(kind: str, call: Callable[[Client], Coroutine[Any, Any, Any]]) -> None:
    found: dict[str, set[str]] = {}
    for name, step in STEPS.items():
        async with Server(then=step) as server:
            config = Config(base_url=server.url, retries=0, stall_seconds=2.0)
            async with Client(config, [KINDS[kind]]) as client:
                error = await error_of(call(client))
        assert error is not None or (call is write and name == "page"), name
        if error is not None and (shown := shown_in(error)):
            found[name] = shown
    assert found == {}


@pytest.mark.parametrize("kind", ["app", "user"])
async def test_no_variable_shows_a_token_that_could_not_be_read_or_kept(kind: str, tmp_path: Path) -> None:
    found: dict[str, set[str]] = {}
    (tmp_path / "file").write_text("")
    caches = (None, FileTokenCache(tmp_path / "file" / "below a file"))
    for cache in caches:
        for name, step in TOKEN_STEPS.items():

            async def service(request: Any, step: Step = step) -> Any:
                return step if "oauth2" in request.path else EXPIRED

            async with Server(then=service) as server:
                config = Config(base_url=server.url, retries=0)
                async with Client(config, [KINDS[kind]], token_cache=cache) as client:
                    error = await error_of(read(client))
            assert error is not None
            if shown := shown_in(error):
                found[name] = shown
    assert found == {}


CODE: Final = SECRETS["code"]
VERIFIER: Final = next(secret for name, secret in SECRETS.items() if name.startswith("verifier"))
CLIENT: Final = {"client_id": "c", "client_secret": SECRETS["client-secret"]}
TOKEN_ROUTES: Final[dict[str, Callable[[Client], Coroutine[Any, Any, Any]]]] = {
    "app_only_token": lambda client: client.oauth.app_only_token(),
    "invalidate_app_only_token": lambda client: client.oauth.invalidate_app_only_token(),
    "invalidate_token": lambda client: client.oauth.invalidate_token(),
    "request_token": lambda client: client.oauth.request_token("oob"),
    "access_token": lambda client: client.oauth.access_token(SECRETS["access"], VERIFIER),
    "exchange_code": lambda client: client.oauth.exchange_code(
        CODE, redirect_uri="https://a.example", code_verifier=VERIFIER, **CLIENT
    ),
    "refresh": lambda client: client.oauth.refresh(SECRETS["refresh"], **CLIENT),
}


@pytest.mark.parametrize("route", TOKEN_ROUTES)
async def test_no_variable_shows_a_secret_of_a_token_route(route: str) -> None:
    found: dict[str, set[str]] = {}
    for name, step in TOKEN_STEPS.items():
        async with Server(then=step) as server:
            config = Config(base_url=server.url, retries=0)
            async with Client(config, [KINDS["app"], KINDS["signed"]]) as client:
                error = await error_of(TOKEN_ROUTES[route](client))
        assert error is not None or (route == "invalidate_token" and name == "odd token")
        if error is not None and (shown := shown_in(error)):
            found[name] = shown
    assert found == {}


async def test_no_variable_shows_what_was_given_to_a_constructor_or_a_check(server: Server) -> None:
    wrong: list[Callable[[], Any]] = [
        lambda: client.oauth.refresh(SECRETS["refresh"], client_id="\n"),
        lambda: client.oauth.refresh("", client_id="c", client_secret=f"{SECRETS['client-secret']}\n"),
        lambda: client.oauth.exchange_code(
            SECRETS["access"], client_id="c", redirect_uri="https://a.example", code_verifier=SECRETS["refresh"]
        ),
        lambda: client.oauth.access_token(SECRETS["access"], f"{SECRETS['refresh']}\n"),
    ]
    async with Client(Config(base_url=server.url), [KINDS["app"]]) as client:
        for call in wrong:
            error = await error_of(call())
            assert error is not None
            assert shown_in(error) == set()


async def test_no_variable_shows_the_password_of_a_proxy(server: Server) -> None:
    address = f"ftp://user:{SECRETS['proxy']}@proxy.example"
    environ = {"SOCIALAPI_BASE_URL": "https://api.example.com", "SOCIALAPI_PROXY": address}
    environ |= {"SOCIALAPI_BEARER_TOKEN": SECRETS["bearer"]}
    async with Client.from_env(environ) as client:
        error = await error_of(read(client))
    assert isinstance(error, errors.ConfigurationError)
    assert shown_in(error) == set()
    with pytest.raises(errors.ConfigurationError) as caught:
        Client(Config(), [KINDS["bearer"]], proxy=address)
    assert shown_in(caught.value) == set()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with Server(then=answer(gzip.compress(b"{}"), Content_Encoding="gzip")) as server:
        yield server
