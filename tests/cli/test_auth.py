"""Signing in on the command line, with a person who goes through the emulator's page."""

import asyncio
import json
import os
import signal
import sys
import threading
import webbrowser
from collections.abc import Awaitable, Callable, Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from socialapi.emulator import Emulator
from tests.cli.running import Shell
from tests.support.person import Person

SECRET_NAMES = ("access_token", "access_token_secret", "api_key_secret")


@pytest.fixture
def app(shell: Shell, emulator: Emulator) -> Shell:
    """A shell with the address of the emulator and the key of its app, and no user."""
    shell.put_service(emulator.ready, "base_url", "api_key", "api_key_secret")
    return shell


class Browser:
    """Stands in for the browser that `--open` opens, and lets a person do something with the page."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.urls: list[str] = []
        self.visits: list[Any] = []
        self.visit: Callable[[str], Awaitable[Any]] | None = None
        self._loop = asyncio.get_running_loop()
        monkeypatch.setattr(webbrowser, "open", self._open)

    def _open(self, url: str) -> bool:
        self.urls.append(url)
        if self.visit is not None:
            self.visits.append(asyncio.run_coroutine_threadsafe(self._go(url), self._loop))
        return True

    async def shown(self) -> None:
        """Waits until the person has seen every page."""
        await asyncio.gather(*map(asyncio.wrap_future, self.visits))

    async def _go(self, url: str) -> Any:
        assert self.visit is not None
        return await self.visit(url)


@pytest.fixture
async def browser(monkeypatch: pytest.MonkeyPatch) -> Browser:
    return Browser(monkeypatch)


class Keyboard:
    """Standard input as a pipe; what is typed into it stays there until it is read."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def type(self, text: bytes) -> None:
        assert self._descriptor is not None
        os.write(self._descriptor, text)

    def leave(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Keyboard]:
    reader, writer = os.pipe()
    keyboard = Keyboard(writer)
    with os.fdopen(reader) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield keyboard
        keyboard.leave()  # which ends a thread that still reads
        for thread in threading.enumerate():
            if thread.name == "socialapi-pin":
                thread.join(5)


def username(emulator: Emulator) -> str:
    return next(iter(emulator.state.users.values())).username


def stored(shell: Shell) -> dict[str, Any]:
    hosts: dict[str, Any] = json.loads(shell.credentials_path.read_text())["hosts"]
    return hosts


async def test_a_person_signs_in_with_a_pin_and_later_commands_are_theirs(
    app: Shell, emulator: Emulator, browser: Browser, keyboard: Keyboard
) -> None:
    person = Person(username(emulator))

    async def visit(url: str) -> None:
        keyboard.type(f" {await person.pin(url)} \n".encode())

    browser.visit = visit
    done = await app.run("auth", "login", "--open")
    assert done.status == 0, done.err
    assert f"\n\n  {browser.urls[0]}\n\n" in done.out
    user = next(iter(emulator.state.users.values()))
    base_url = emulator.ready["base_url"]
    assert done.out.endswith(
        f"Signed in as @{user.username} (user {user.id}) at {base_url}; stored in {app.credentials_path}.\n"
    )
    login = stored(app)[base_url]["oauth1"]
    assert login.keys() == {
        "api_key",
        "api_key_secret",
        "access_token",
        "access_token_secret",
        "user_id",
        "screen_name",
    }
    assert app.credentials_path.stat().st_mode & 0o777 == 0o600
    assert not [name for name in SECRET_NAMES if login[name] in done.out + done.err]
    app.drop("API_KEY", "API_KEY_SECRET")
    listed = await app.run("webhooks", "list", "--json")
    assert (listed.status, listed.out) == (0, "")


async def test_the_browser_comes_back_to_a_listener_on_this_machine(
    app: Shell, emulator: Emulator, browser: Browser
) -> None:
    person = Person(username(emulator))
    browser.visit = person.visit
    options = ("--access-type", "read", "--force-login", "--screen-name", "somebody")
    done = await app.run("auth", "login", "--callback-port", "0", "--open", *options)
    assert done.status == 0, done.err
    assert browser.urls[0].endswith("&force_login=true&screen_name=somebody")
    assert 'value="somebody"' in person.pages[0]
    await browser.shown()
    assert "You may close this window" in person.pages[-1]
    token = stored(app)[emulator.ready["base_url"]]["oauth1"]["access_token"]
    assert emulator.state.access_tokens[token].caller.access == "read"


async def test_oauth2_is_signed_in_by_callback_and_renewed_by_later_commands(
    app: Shell, emulator: Emulator, browser: Browser
) -> None:
    person = Person(username(emulator))
    browser.visit = person.visit
    app.put(OAUTH2_CLIENT_ID=emulator.ready["api_key"])
    done = await app.run(
        *("auth", "login", "--oauth2", "--callback-port", "0", "--open"),
        *("--scope", "users.read", "--scope", "tweet.read", "--scope", "offline.access"),
    )
    assert done.status == 0, done.err
    await browser.shown()
    assert "You may close this window" in person.pages[-1]
    login = stored(app)[emulator.ready["base_url"]]["oauth2"]
    assert login["scope"] == "offline.access tweet.read users.read"
    app.drop("API_KEY", "API_KEY_SECRET")
    user = emulator.seed["user_ids"][0]
    read = ("posts", "by-user", user, "--limit", "1")
    assert (await app.run(*read)).status == 0
    for _ in range(2):
        emulator.advance(7_300)
        again = await app.run(*read)
        assert again.status == 0, again.err
    cache = app.credentials_path.with_name("credentials.tokens.json")
    assert cache.stat().st_mode & 0o777 == 0o600
    assert sum(record.route == "/2/oauth2/token" for record in emulator.requests) == 3
    gone = await app.run("auth", "logout", "--revoke")
    assert gone.status == 0
    assert "not revoked" in gone.err
    assert json.loads(cache.read_text()) == {}
    assert stored(app) == {}


@pytest.mark.parametrize(
    "options", [("--callback-port", "0"), ("--oauth2", "--client-id", "{api_key}", "--callback-port", "0")]
)
async def test_a_person_who_denies_is_heard_and_nothing_is_stored(
    app: Shell, emulator: Emulator, browser: Browser, options: tuple[str, ...]
) -> None:
    person = Person(username(emulator), decision="deny")
    browser.visit = person.visit
    given = [option.format(**emulator.ready) for option in options]
    done = await app.run("auth", "login", "--open", *given)
    assert (done.status, done.err) == (3, "socialapi: access was denied on the page; nothing was stored\n")
    await browser.shown()
    assert "Access denied" in person.pages[-1]
    assert not app.credentials_path.exists()


@pytest.mark.parametrize("text", [b"\n", b"  \n", b""])
async def test_no_pin_is_no_sign_in(app: Shell, keyboard: Keyboard, text: bytes) -> None:
    keyboard.type(text)
    keyboard.leave()
    done = await app.run("auth", "login")
    assert (done.status, done.err) == (2, "socialapi: no PIN was given; nothing was stored\n")


async def test_a_pin_is_waited_for_only_so_long(app: Shell, keyboard: Keyboard) -> None:
    done = await app.run("auth", "login", "--timeout-seconds", "0.05")
    assert done.status == 3
    assert "no PIN was given within 0.05 s; allow more with --timeout-seconds" in done.err


async def test_a_page_is_waited_for_only_so_long(app: Shell) -> None:
    done = await app.run("auth", "login", "--callback-port", "0", "--timeout-seconds", "0.05")
    assert done.status == 3
    assert "the sign-in was not completed within 0.05 s" in done.err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--oauth2", "--access-type", "read"), "--access-type has no effect with --oauth2"),
        (("--oauth2", "--screen-name", "a"), "--screen-name has no effect with --oauth2"),
        (("--client-id", "x"), "--client-id has no effect without --oauth2"),
        (("--scope", "x"), "--scope has no effect without --oauth2"),
        (("--oauth2", "--callback-port", "0"), "--oauth2 needs --client-id, or SOCIALAPI_OAUTH2_CLIENT_ID"),
        (("--oauth2", "--client-id", "x"), "--oauth2 needs --callback-port"),
        (("--callback-port", "70000"), "Must be <= 65535"),
        (("--timeout-seconds", "0"), "Must be > 0"),
        (("--access-type", "admin"), "admin"),
    ],
)
async def test_options_that_make_no_sense_together_are_said_in_a_sentence(
    app: Shell, emulator: Emulator, options: tuple[str, ...], says: str
) -> None:
    done = await app.run("auth", "login", *options)
    assert done.status == 2
    assert says in done.err
    assert len(emulator.requests) == 0


async def test_what_is_not_configured_is_said(shell: Shell) -> None:
    done = await shell.run("auth", "login")
    assert (done.status, "SOCIALAPI_API_KEY" in done.err) == (2, True)
    shell.put(API_KEY="k", API_KEY_SECRET="s")
    done = await shell.run("auth", "login")
    assert (done.status, "no base_url is configured" in done.err) == (2, True)
    done = await shell.run("auth", "logout")
    assert (done.status, "no base_url is configured" in done.err) == (2, True)


async def test_a_credentials_file_of_somebody_else_is_left_alone(app: Shell, emulator: Emulator) -> None:
    app.credentials_path.parent.mkdir()
    app.credentials_path.write_text("[not json")
    for command in (("auth", "login"), ("auth", "status"), ("auth", "logout"), ("webhooks", "list")):
        done = await app.run(*command)
        assert done.status == 2
        assert "was not written by `socialapi auth login`" in done.err
    assert app.credentials_path.read_text() == "[not json"
    assert len(emulator.requests) == 0


def put_login(shell: Shell, host: str, **more: str) -> None:
    """A login by OAuth 1.0a, as it is stored."""
    login = {"api_key": "k", "api_key_secret": "ks-1", "access_token": "at-1", "access_token_secret": "ats-1"}
    about = {"user_id": "7", "screen_name": "ada"}
    shell.credentials_path.parent.mkdir(exist_ok=True)
    content = {"version": 1, "hosts": {host: {"oauth1": login | about | more}}}
    shell.credentials_path.write_text(json.dumps(content))


async def test_status_tells_everything_but_the_secrets(shell: Shell) -> None:
    put_login(shell, "https://api.example")
    shell.put(BASE_URL="https://api.example", BEARER_TOKEN="bt-1", OAUTH2_ACCESS_TOKEN="oat-1")
    shown = await shell.run("auth", "status")
    assert (shown.status, shown.err) == (0, "")
    assert shown.out.splitlines() == [
        "host: https://api.example",
        "user (OAuth 2.0): for https://api.example, from environment",
        "app (existing bearer token): for https://api.example, from environment",
        f"user (OAuth 1.0a): @ada, user 7, for https://api.example, from {shell.credentials_path}",
    ]
    told = await shell.run("auth", "status", "--json")
    assert told.objects == [
        {
            "host": "https://api.example",
            "file": str(shell.credentials_path),
            "credentials": [
                {"kind": "OAuth2User", "source": "environment", "host": "https://api.example", "used": True},
                {"kind": "Bearer", "source": "environment", "host": "https://api.example", "used": True},
                {
                    "kind": "OAuth1",
                    "source": "file",
                    "host": "https://api.example",
                    "used": True,
                    "user_id": "7",
                    "screen_name": "ada",
                },
            ],
        }
    ]
    assert not [secret for secret in ("bt-1", "oat-1", "ks-1", "at-1", "ats-1") if secret in shown.out + told.out]


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({}, "no base_url is configured"),
        ({"BASE_URL": "https://other.example"}, "another host is configured"),
        (
            {"BASE_URL": "https://api.example", "API_KEY": "l", "API_KEY_SECRET": "s"},
            "SOCIALAPI_API_KEY belongs to another app",
        ),
        (
            {
                "BASE_URL": "https://api.example",
                "API_KEY": "k",
                "API_KEY_SECRET": "s",
                "ACCESS_TOKEN": "a",
                "ACCESS_TOKEN_SECRET": "b",
            },
            "the environment contains a credential of this kind",
        ),
    ],
)
async def test_a_login_that_is_not_used_says_why(shell: Shell, variables: dict[str, str], reason: str) -> None:
    put_login(shell, "https://api.example")
    shell.put(**variables)
    shown = await shell.run("auth", "status")
    assert f" (not used: {reason})" in shown.out


async def test_nothing_at_all_is_said_with_what_to_do(shell: Shell) -> None:
    shown = await shell.run("auth", "status")
    assert shown.out == (
        "host: none; set SOCIALAPI_BASE_URL\n"
        "no credentials: set SOCIALAPI_* variables, or sign in with `socialapi auth login`\n"
    )
    shell.put(BASE_URL="https://api.example")
    gone = await shell.run("auth", "logout")
    assert (gone.status, gone.out) == (0, "Nothing is stored for https://api.example.\n")
    gone = await shell.run("auth", "logout", "--every-host")
    assert (gone.status, gone.out) == (0, "Nothing is stored.\n")


async def test_logout_forgets_the_configured_host_or_every_host(shell: Shell) -> None:
    put_login(shell, "https://api.example")
    content = json.loads(shell.credentials_path.read_text())
    content["hosts"]["https://other.example"] = content["hosts"]["https://api.example"]
    shell.credentials_path.write_text(json.dumps(content))
    shell.put(BASE_URL="https://api.example")
    gone = await shell.run("auth", "logout")
    assert gone.out == "Forgot user (OAuth 1.0a) as @ada (user 7) at https://api.example.\n"
    assert list(stored(shell)) == ["https://other.example"]
    assert (await shell.run("auth", "logout", "--every-host", "--revoke")).status == 2
    assert (await shell.run("auth", "logout", "--every-host")).status == 0
    assert stored(shell) == {}


async def test_logout_with_revoke_ends_the_token_at_the_service(app: Shell, emulator: Emulator) -> None:
    ready = emulator.ready
    login = {name: ready[name] for name in ("api_key", "api_key_secret", "access_token", "access_token_secret")}
    put_login(app, ready["base_url"], **login)
    for _ in range(2):  # the second time the service does not know the token any more
        gone = await app.run("auth", "logout", "--revoke")
        assert gone.status == 0, gone.err
        assert ready["access_token"] not in emulator.state.access_tokens
        assert stored(app) == {}
        put_login(app, ready["base_url"], **login)


async def test_a_token_that_could_not_be_revoked_is_kept(app: Shell, emulator: Emulator) -> None:
    put_login(app, emulator.ready["base_url"])
    before = app.credentials_path.read_text()
    refused = await app.run("auth", "logout", "--revoke")
    assert refused.status == 3
    assert app.credentials_path.read_text() == before


async def test_a_folder_that_cannot_be_written_is_said_before_anybody_goes_through_a_page(
    app: Shell, emulator: Emulator
) -> None:
    app.put(CREDENTIALS_FILE=f"{__file__}/credentials.json")
    done = await app.run("auth", "login")
    assert (done.status, done.out) == (2, "")
    assert "cannot be written" in done.err
    assert len(emulator.requests) == 0


async def test_commands_share_one_app_only_token_until_logout(app: Shell, emulator: Emulator, browser: Browser) -> None:
    browser.visit = Person(username(emulator)).visit
    assert (await app.run("auth", "login", "--callback-port", "0", "--open")).status == 0
    for _ in range(3):
        assert (await app.run("webhooks", "list")).status == 0
    assert sum(record.path == "/oauth2/token" for record in emulator.requests) == 1
    cache = app.credentials_path.with_name("credentials.tokens.json")
    assert list(json.loads(cache.read_text()).values()) == [emulator.ready["bearer_token"]]
    assert (await app.run("auth", "logout")).status == 0
    assert json.loads(cache.read_text()) == {}


async def test_a_login_that_the_environment_keeps_from_being_used_says_so(
    app: Shell, emulator: Emulator, browser: Browser
) -> None:
    app.put_service(emulator.ready)
    browser.visit = Person(username(emulator)).visit
    done = await app.run("auth", "login", "--callback-port", "0", "--open")
    assert done.status == 0
    assert "not used while the environment contains a credential of this kind" in done.err


@pytest.mark.parametrize("ending", ["by a callback", "by Ctrl-C", "by its time"])
async def test_the_whole_program_ends_without_a_traceback_whatever_connects(
    ending: str, app: Shell, emulator: Emulator
) -> None:
    seconds = "0.5" if ending == "by its time" else "60"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "always", "-m", "socialapi", "auth", "login", "--oauth2", "--client-id", "an-app"),
        *("--callback-port", "0", "--timeout-seconds", seconds),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    lines = [await process.stdout.readline() for _ in range(3)]
    page = dict(parse_qsl(urlsplit(lines[2].decode().strip()).query))
    port = urlsplit(page["redirect_uri"]).port
    writers = []
    for content in (
        b"",
        b"GET /callback",
        b"\xff\0\r\n\r\n",
        b"a" * 100_000,
        b"GET /callback?state=a HTTP/1.1\r\n\r\n",
    ):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(content)
        writers.append(writer)
    if ending == "by a callback":
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET /callback?state={page['state']}&code=wrong%0Acode HTTP/1.1\r\n\r\n".encode())
        assert b"Access allowed" in await reader.read()
        writers.append(writer)
    elif ending == "by Ctrl-C":
        process.send_signal(signal.SIGINT)
    _, err = await process.communicate()
    for writer in writers:
        writer.transport.abort()
    assert err.count(b"\n") == 1, err.decode()
    assert err.startswith(b"socialapi: ")
    assert process.returncode == {"by a callback": 3, "by Ctrl-C": 130, "by its time": 3}[ending]
