"""The examples that serve: each runs as a program of its own, and the emulator and a browser come to it."""

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import attrs
import pytest

from socialapi import Client
from socialapi.emulator import Emulator
from socialapi.models.pages import Page
from socialapi.models.posts import Post
from tests.support.examples import EXAMPLES, ROOT, Program, started
from tests.support.person import Person
from tests.support.server import free_port
from tests.support.waiting import LOOK_AGAIN_SECONDS, until
from tests.test_readme import snippets_of

USER = "2244994945"
URL = "https://app.example/hooks"


@attrs.define
class Site:
    """A server, and a browser that keeps its cookies."""

    program: Program
    address: str
    browser: aiohttp.ClientSession

    async def get(self, path: str, status: int = 200) -> str:
        async with self.browser.get(self.address + path) as response:
            text = await response.text()
            assert response.status == status, text
            return text

    async def json(self, path: str) -> Any:
        async with self.browser.get(self.address + path) as response:
            return await response.json()

    async def shows(self, path: str, expected: object) -> None:
        """Returns once this is there."""
        found = None
        try:
            async with asyncio.timeout(60):
                while (found := await self.json(path)) != expected:  # noqa: ASYNC110  # only the page tells
                    await asyncio.sleep(LOOK_AGAIN_SECONDS)
        except TimeoutError:
            raise AssertionError(f"{found}\n{self.program.text}") from None


@contextlib.asynccontextmanager
async def browsing(program: Program, port: int) -> AsyncIterator[Site]:
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:
        yield Site(program, f"http://127.0.0.1:{port}", browser)


# A stream, a webhook and a timeline in FastAPI


@contextlib.asynccontextmanager
async def fastapi_service(emulator: Emulator, folder: Path) -> AsyncIterator[Site]:
    """The service under uvicorn, once it is registered and reads the stream."""
    port = free_port()
    emulator.webhook_targets[URL] = f"http://127.0.0.1:{port}/hooks"
    async with (
        started(emulator, folder, "fastapi_service.py", str(port), WEBHOOK_URL=URL) as program,
        browsing(program, port) as site,
    ):
        await program.printed("Uvicorn running on")
        await until(lambda: any(request.route == "/2/tweets/search/stream" for request in emulator.requests))
        await until(lambda: emulator.ledger()["deliveries"] != {})
        yield site


async def test_a_service_shows_what_its_stream_and_its_webhook_bring_and_reads_timelines(
    socialapi_emulator: Emulator, socialapi_client: Client, tmp_path: Path
) -> None:
    async with fastapi_service(socialapi_emulator, tmp_path) as site:
        for text in ("Snow on the pass", "Rain in the valley", "Ice in the harbour"):
            await socialapi_client.posts.create(text)
        await site.shows("/newest/posts", ["Ice in the harbour", "Snow on the pass"])
        await socialapi_emulator.publish({"event_type": "profile.update.bio", "user_id": USER, "payload": {}})
        await site.shows("/newest/events", ["profile.update.bio"])
        newest = await site.json(f"/timeline/{USER}")
        texts = [Post.from_dict(each).text for each in newest]
        assert texts[:3] == ["Ice in the harbour", "Rain in the valley", "Snow on the pass"]
        assert len(newest) == 5
        assert await site.json("/timeline/1") == {"detail": "no such user"}
        socialapi_emulator.faults.add("status", status=429, retry_after_seconds=90, path="/2/users/*/tweets")
        async with site.browser.get(f"{site.address}/timeline/{USER}") as response:
            assert response.status == 503
            assert 85 <= int(response.headers["Retry-After"]) <= 92
    assert "Traceback" not in site.program.text


async def test_a_service_whose_stream_ends_for_good_says_so_and_ends(
    socialapi_emulator: Emulator, tmp_path: Path
) -> None:
    async with fastapi_service(socialapi_emulator, tmp_path) as site:
        socialapi_emulator.faults.add("status", status=403, path="/2/tweets/search/stream", times=100)
        socialapi_emulator.end_streams("OperationalDisconnect")
        assert await site.program.ended() == 1
    assert "the stream can no longer be read, so the server shuts down" in site.program.text
    assert "socialapi.errors.Forbidden: GET /2/tweets/search/stream: 403" in site.program.text
    assert "Application shutdown complete" in site.program.text


async def test_a_service_waits_for_its_stream_while_the_platform_is_away(
    socialapi_emulator: Emulator, tmp_path: Path
) -> None:
    socialapi_emulator.faults.add("status", status=503, path="/2/tweets/search/stream/rules", times=7)
    async with fastapi_service(socialapi_emulator, tmp_path) as site:
        assert await site.json("/newest/posts") == []
    assert "the stream cannot be read yet: GET /2/tweets/search/stream/rules: 503" in site.program.text
    assert "Traceback" not in site.program.text


async def test_a_service_whose_webhook_is_refused_says_so_and_ends(
    socialapi_emulator: Emulator, tmp_path: Path
) -> None:
    (tmp_path / "hasty.py").write_text(
        "import sys\nimport fastapi_service\nfastapi_service.pauses_seconds[:] = [0, 0]\n"
        "sys.exit(fastapi_service.main(int(sys.argv[1])))\n"
    )
    socialapi_emulator.faults.add("status", status=403, path="/2/webhooks", times=100)
    command = str(tmp_path / "hasty.py"), str(free_port())
    path = f"{ROOT}{os.pathsep}{EXAMPLES}"
    async with started(socialapi_emulator, tmp_path, *command, WEBHOOK_URL=URL, PYTHONPATH=path) as program:
        assert await program.ended() == 1
    assert program.text.count("the webhook is not registered yet: GET /2/webhooks: 403") == 2
    assert "the webhook cannot be registered, so the server shuts down" in program.text


async def answer_of(app: Any, path: str) -> Any:
    """The JSON that an ASGI application answers."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request"}

    async def send(message: Any) -> None:
        sent.append(message)

    await app({"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": []}, receive, send)
    assert sent[0]["status"] == 200
    return json.loads(b"".join(message["body"] for message in sent[1:]))


async def test_the_page_about_export_returns_posts_from_fastapi(socialapi_client: Client) -> None:
    (snippet,) = (each.text for each in snippets_of(ROOT / "docs" / "export.md") if "FastAPI" in each.text)
    names: dict[str, Any] = {"__name__": "snippet"}
    exec(snippet, names)
    app = names["app"]
    app.state.client = socialapi_client
    page = await socialapi_client.posts.by_user(USER)
    assert await answer_of(app, f"/posts/{USER}") == [post.to_dict() for post in page]
    assert Page.from_dict(await answer_of(app, f"/page/{USER}"), Post) == page
    shown = [{"id": post.id, "text": post.text, "created_at": None} for post in page]
    assert await answer_of(app, f"/shown/{USER}") == shown


# A login


@pytest.fixture
async def login_app(socialapi_emulator: Emulator, tmp_path: Path) -> AsyncIterator[Site]:
    port = free_port()
    async with (
        started(socialapi_emulator, tmp_path, "oauth_login_web_app.py", str(port)) as program,
        browsing(program, port) as site,
    ):
        await program.printed("Running on")
        yield site
    assert "Traceback" not in program.text


async def sign_in(site: Site, decision: str = "approve") -> str:
    """Goes from the login to the page of the service, decides there, and returns where the page leads the browser."""
    async with site.browser.get(f"{site.address}/login", allow_redirects=False) as response:
        assert response.status == 302
        page = response.headers["Location"]
        cookie = response.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    person = Person("northwind", decision=decision, follows=False)
    await person.visit(page)
    return person.sent_to.removeprefix(site.address)


async def test_somebody_signs_in_and_sees_the_accounts(login_app: Site, socialapi_emulator: Emulator) -> None:
    assert "Sign in" in await login_app.get("/")
    shown = await login_app.get(await sign_in(login_app))
    assert "<li>Northwind Home" in shown
    # The access token lasts for two hours: then the package renews it, and keeps the new one for later requests.
    for _ in range(2):
        socialapi_emulator.advance(7_201)
        assert "<li>Northwind Home" in await login_app.get("/")
    renewals = [request for request in socialapi_emulator.requests if request.route == "/2/oauth2/token"]
    assert [request.status for request in renewals] == [200, 200, 200]


async def test_each_browser_has_a_session_of_its_own(login_app: Site) -> None:
    assert "<li>" in await login_app.get(await sign_in(login_app))
    async with aiohttp.ClientSession() as other, other.get(login_app.address) as response:
        assert "Sign in" in await response.text()


async def test_a_sign_in_that_was_begun_elsewhere_is_refused(login_app: Site, socialapi_emulator: Emulator) -> None:
    callback = await sign_in(login_app)
    await sign_in(login_app)  # has replaced the session, and with it the state
    assert "not started here" in await login_app.get(callback, 403)
    callback = await sign_in(login_app)
    login_app.browser.cookie_jar.clear()
    assert "not started here" in await login_app.get(callback, 403)
    assert "not started here" in await login_app.get("/callback", 403)
    assert not [request for request in socialapi_emulator.requests if request.route == "/2/oauth2/token"]


async def test_whoever_does_not_allow_it_is_not_signed_in(login_app: Site) -> None:
    assert "You did not allow access" in await login_app.get(await sign_in(login_app, "deny"), 403)
    assert "Sign in" in await login_app.get("/")


async def test_a_code_is_used_once_and_a_token_that_is_withdrawn_signs_out(
    login_app: Site, socialapi_emulator: Emulator
) -> None:
    callback = await sign_in(login_app)
    socialapi_emulator.advance(31)
    assert "That did not work" in await login_app.get(callback, 502)
    await login_app.get(await sign_in(login_app))
    socialapi_emulator.state.bearers.clear()
    socialapi_emulator.state.sign_ins.refresh_tokens.clear()
    assert "You are signed out" in await login_app.get("/", 401)
