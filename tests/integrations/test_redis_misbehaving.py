"""Real servers that serve nobody, and what is said of them."""

import asyncio
import contextlib
import os
import re
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest
import redis.asyncio
from redis.asyncio.client import Monitor

from socialapi import Client, Config
from socialapi.emulator import Emulator
from socialapi.errors import ConfigurationError, SocialApiError
from socialapi.integrations import redis_server
from socialapi.integrations.redis import RedisPacer, RedisTokenCache
from socialapi.integrations.redis_fence import RedisFence
from socialapi.routes.route import RateLimit
from socialapi.wire.rate_limit_headers import LimitReading
from tests.support.clock import turns
from tests.support.redis import RedisServer, own_redis
from tests.support.server import free_port
from tests.support.telemetry import Recorded, attributes_of, by, points, recorded
from tests.support.tls import Authority

__all__ = ["recorded"]  # a fixture

ROOT: Final = Path(__file__).parents[2]
LIMIT: Final = RateLimit("x", 100, 60.0)
IS_CLUSTER: Final = "belongs to a Redis cluster, which is not supported"
NO_REDIS: Final = "is not a Redis server"


@pytest.fixture(scope="module")
def running() -> Iterator[RedisServer]:
    with own_redis() as server:
        yield server


async def ask(url: str, max_wait_seconds: float = 60.0) -> None:
    async with RedisPacer(url) as pacer:
        (await pacer.acquire("k", LIMIT, bulk=True, max_wait_seconds=max_wait_seconds)).unsent()


async def store_token(url: str) -> None:
    async with contextlib.aclosing(RedisTokenCache(url)) as tokens:
        await tokens.store("key", "token")


async def set_user(asking: redis.asyncio.Redis, rules: str) -> None:
    await asking.execute_command("ACL", "SETUSER", *rules.split())  # type: ignore[no-untyped-call]


def own_bus(options: list[str]) -> tuple[str, ...]:
    """A port for the bus of a node of a cluster, for each would listen on port 10000."""
    return ("--cluster-port", str(free_port())) if "--cluster-enabled" in options else ()


@pytest.mark.parametrize(
    ("options", "database", "says"),
    [
        (["--replicaof", "127.0.0.1 1"], 0, "is a read-only replica"),
        (["--cluster-enabled", "yes"], 0, IS_CLUSTER),
        (["--cluster-enabled", "yes"], 1, IS_CLUSTER),
        (["--sentinel"], 0, "does not know the command EVALSHA: it is a Sentinel"),
        (["--rename-command", "EVALSHA", ""], 0, "does not know the command EVALSHA"),
        (["--databases", "1"], 7, "does not have the database that its URL specifies"),
    ],
    ids=["replica", "cluster", "database of a cluster", "sentinel", "scripts renamed", "database"],
)
async def test_a_server_that_cannot_serve_is_refused_at_once(options: list[str], database: int, says: str) -> None:
    with own_redis(*options, *own_bus(options)) as server:
        began = time.monotonic()
        with pytest.raises(ConfigurationError, match=f"the Redis server that keeps the rate limits {says}"):
            await ask(f"{server.url}?db={database}")
        if options[0] != "--rename-command":
            with pytest.raises(ConfigurationError, match="the Redis server that keeps the tokens "):
                await store_token(f"{server.url}?db={database}")
        assert time.monotonic() - began < 5.0


@pytest.mark.slow
async def test_a_cluster_of_one_node_that_has_all_slots_serves() -> None:
    options = ["--cluster-enabled", "yes"]
    with own_redis(*options, *own_bus(options)) as server:
        async with redis.asyncio.Redis.from_url(server.url) as asking:
            await asking.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)  # type: ignore[no-untyped-call]
            while (await asking.execute_command("CLUSTER INFO"))["cluster_state"] != "ok":  # type: ignore[no-untyped-call]
                pass
        await ask(server.url)
        await store_token(server.url)


@pytest.mark.parametrize("rules", ["-evalsha", "-eval -evalsha", "-script", "-zadd", "resetkeys ~others:*"])
async def test_a_user_who_lacks_a_right_is_refused_at_once(running: RedisServer, rules: str) -> None:
    async with redis.asyncio.Redis.from_url(running.url) as asking:
        await asking.script_flush()
        await set_user(asking, f"some reset on >pw ~* +@all {rules}")
    with pytest.raises(ConfigurationError, match="the Redis server that keeps the rate limits denies access"):
        await ask(running.url.replace("unix://", "unix://some:pw@"))
    with pytest.raises(ConfigurationError, match="denies access: AuthenticationError"):
        await ask(running.url.replace("unix://", "unix://some:wrong@"))


@contextlib.contextmanager
def tls_server(folder: Path, *, wants_client: bool = False) -> Iterator[tuple[int, Authority]]:
    """A server that speaks TLS alone, its port, and who certified it."""
    authority = Authority(folder)
    certificate = authority.issue("127.0.0.1")
    port, files = free_port(), ("--tls-cert-file", str(certificate), "--tls-key-file", str(certificate))
    asks = ("--tls-ca-cert-file", str(authority.file), "--tls-auth-clients", "yes" if wants_client else "no")
    with own_redis("--tls-port", str(port), *files, *asks):
        yield port, authority


@pytest.mark.slow
async def test_what_is_wrong_with_tls_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trusts = f"?ssl_ca_certs={tmp_path / 'authority.pem'}"
    with tls_server(tmp_path) as (port, _):
        with pytest.raises(ConfigurationError, match=r"has a certificate that is not trusted .*SOCIALAPI_CA_FILE"):
            await ask(f"rediss://127.0.0.1:{port}")
        with pytest.raises(ConfigurationError, match=r"not trusted .*not valid for 'localhost'"):
            await ask(f"rediss://localhost:{port}{trusts}")
        with pytest.raises(ConfigurationError, match="uses TLS: its URL must begin with rediss://"):
            await ask(f"redis://127.0.0.1:{port}")
        await ask(f"rediss://127.0.0.1:{port}{trusts}")
    plain = free_port()
    says = "does not use TLS: its URL must begin with redis://"
    monkeypatch.setattr(redis_server, "REPLY_SECONDS", 60.0)  # it would say nothing for so long
    with own_redis("--port", str(plain)), pytest.raises(ConfigurationError, match=says):
        async with asyncio.timeout(30.0):
            await ask(f"rediss://127.0.0.1:{plain}")
    says = r"cannot be reached over TLS .*CERTIFICATE_REQUIRED"
    with tls_server(tmp_path, wants_client=True) as (port, _), pytest.raises(ConfigurationError, match=says):
        await ask(f"rediss://127.0.0.1:{port}{trusts}")


@pytest.mark.slow
async def test_the_certificates_of_the_environment_count_for_redis(tmp_path: Path) -> None:
    async with Emulator(port=0) as emulator:
        with tls_server(tmp_path / "an authority & more", wants_client=True) as (port, authority):
            environ = {
                **emulator.environment,
                "SOCIALAPI_REDIS_URL": f"rediss://127.0.0.1:{port}/0",
                "SOCIALAPI_CA_FILE": str(authority.file),
                "SOCIALAPI_CLIENT_CERT": str(authority.issue("client")),
            }
            async with Client.from_env(environ) as client:
                await client.webhooks.list()
                assert client.limits
    with pytest.raises(ConfigurationError, match="SOCIALAPI_CA_FILE: the file cannot be read"):
        Client.from_env(environ | {"SOCIALAPI_CA_FILE": str(tmp_path / "missing.pem")})


@contextlib.asynccontextmanager
async def speaking(greeting: bytes, reply: bytes | None) -> AsyncIterator[str]:
    """The address of a server that greets, and says the same to all it is asked; None closes the connection."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(greeting)
        with contextlib.suppress(OSError):
            while await reader.read(4096) and reply is not None:
                writer.write(reply)
        writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    try:
        yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


@pytest.mark.parametrize(
    ("greeting", "reply"),
    [
        (b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        (b"", b"<!DOCTYPE HTML>\n"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", b""),
        (b"220 mail.example ESMTP\r\n", b"500 unknown\r\n"),
        (b"* OK IMAP4rev1 ready\r\n", b"* BAD\r\n"),
        (b"+OK POP3 ready\r\n", b"-ERR unknown\r\n"),
        (b"J\x00\x00\x00\n8.0.33\x00", None),
        (b"", b"ERROR\r\n"),
        (b"", b"+OK\r\n"),
    ],
    ids=["HTTP", "a page", "SSH", "SMTP", "IMAP", "POP3", "MySQL", "memcached", "all is well"],
)
async def test_another_server_behind_the_port_is_refused_at_once(
    greeting: bytes, reply: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_server, "REPLY_SECONDS", 0.5)
    async with speaking(greeting, reply) as url:
        with pytest.raises(ConfigurationError, match=f"the Redis server that keeps the rate limits {NO_REDIS}"):
            await ask(url, max_wait_seconds=0.5)


@pytest.mark.parametrize("reply", [b"", None], ids=["silent", "closes"])
async def test_a_server_that_says_nothing_does_not_answer(reply: bytes | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_server, "IDENTIFY_SECONDS", 0.1)
    async with speaking(b"", reply) as url:
        with pytest.raises(redis_server.RedisLost, match="the Redis server that keeps the rate limits did not answer"):
            await ask(url, max_wait_seconds=0.1)


async def test_a_server_that_evicts_all_it_is_told_does_not_answer_and_is_said_to_need_memory() -> None:
    says = "set its maxmemory-policy to noeviction and give it more memory"
    with own_redis("--maxmemory", "100kb", "--maxmemory-policy", "allkeys-lru") as server:
        async with RedisPacer(server.url) as pacer:
            (await pacer.acquire("k", LIMIT, bulk=True, max_wait_seconds=1.0)).replied(None)
            with pytest.raises(redis_server.RedisLost, match=f"it loses data: {says}"):
                await pacer.acquire("k", LIMIT, bulk=True, max_wait_seconds=0.3)
        with pytest.raises(redis_server.RedisLost, match=f"OutOfMemoryError: {says}"):
            await store_token(server.url)


async def command(arguments: list[str], environ: Mapping[str, str]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "socialapi", *arguments),
        cwd=ROOT,
        env={**os.environ, **environ},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


@pytest.mark.slow
async def test_a_job_ends_with_status_2_at_a_replica_and_within_5_s_of_a_signal_where_data_is_lost(
    tmp_path: Path,
) -> None:
    people = tmp_path / "people.csv"
    people.write_text("email\n" + "".join(f"p{number}@example.com\n" for number in range(500)))
    upload = ["audience", "upload", str(people), "--account", "18ce54d4x5t", "--audience", "1nmth"]
    async with Emulator(port=0) as emulator:
        environ = {**emulator.environment, "SOCIALAPI_MAX_OPERATIONS": "1"}
        with own_redis("--replicaof", "127.0.0.1 1") as server:
            process = await command(upload, environ | {"SOCIALAPI_REDIS_URL": server.url})
            _, said = await process.communicate()
            assert process.returncode == 2, said
            assert b"is a read-only replica" in said
        with own_redis() as server:
            async with redis.asyncio.Redis.from_url(server.url) as asking:
                process = await command(upload, environ | {"SOCIALAPI_REDIS_URL": server.url})
                began = time.monotonic()
                while time.monotonic() < began + 8.0:
                    await asking.flushall()
                process.send_signal(signal.SIGTERM)
                ended = asyncio.ensure_future(process.communicate())
                began = time.monotonic()
                while not ended.done():
                    await asking.flushall()
                _, said = await ended
    assert time.monotonic() - began < 5.0
    assert process.returncode == 130
    assert said.count(b"Redis does not answer") <= 1


async def use_everything(url: str) -> None:
    """Lets a pacer, a token cache and a fence do all that they do."""
    limit = RateLimit("x", 4, 60.0)
    async with RedisPacer(url, Config(timeout_seconds=1.0), namespace="all") as pacer:
        (await pacer.acquire("k", limit, bulk=False, max_wait_seconds=1.0)).replied(LimitReading(4, 3, 60.0))
        (await pacer.acquire("k", limit, bulk=True, max_wait_seconds=1.0)).replied(None)
        (await pacer.acquire("k", limit, bulk=False, max_wait_seconds=1.0)).unsent()
        slots = await asyncio.gather(
            *(pacer.acquire("k", limit, bulk=bulk, max_wait_seconds=0.0) for bulk in (False, True) * 4),
            return_exceptions=True,
        )
        assert any(isinstance(each, SocialApiError) for each in slots)
    tokens = RedisTokenCache(url)
    async with tokens.lock("key"):
        await tokens.store("key", "token")
        assert await tokens.load("key") == "token"
    await tokens.discard("key", "token")
    await tokens.aclose()
    for run in ("monday", "tuesday"):
        fence = RedisFence(url, Config(), job="job", run=run, part=0, attempt=0)
        await fence.take()
        await fence.check()
        await fence.release()
        await fence.aclose()


async def test_the_page_names_the_commands_that_are_used_and_a_user_who_may_do_no_more() -> None:
    page = (ROOT / "docs" / "several-processes.md").read_text("utf-8")
    (rules,) = re.findall(r"^ACL SETUSER (.*)$", page, re.MULTILINE)
    listed = {each.upper().replace("|", " ") for each in re.findall(r"\+([a-z|]+)", rules)}
    scripts = (ROOT / "socialapi" / "integrations").glob("*.lua")
    written = {each for path in scripts for each in re.findall(r"redis\.call\('([A-Z]+)'", path.read_text("utf-8"))}
    with own_redis() as server:
        async with redis.asyncio.Redis.from_url(server.url) as asking, asking.monitor() as monitor:
            await set_user(asking, rules)
            monitored = asyncio.ensure_future(commands_until_echo(monitor))
            await use_everything(server.url.replace("unix://", "unix://socialapi:password@") + "?db=1")
            await asking.echo("end")
            seen = await monitored
    assert seen <= listed | {"HELLO", "AUTH", "CLIENT SETINFO", "ACL SETUSER"}
    assert listed == written | (seen & listed)


async def commands_until_echo(monitor: Monitor) -> set[str]:
    seen = set[str]()
    async for each in monitor.listen():
        name, _, rest = each["command"].upper().partition(" ")
        if name == "ECHO":
            return seen
        seen.add(f"{name} {rest.split()[0]}" if name in ("SCRIPT", "CLIENT", "ACL") else name)
    raise AssertionError("the server went away")


async def test_calls_to_redis_are_spans_and_measured_and_so_are_outages_and_waits(
    recorded: Recorded, caplog: pytest.LogCaptureFixture
) -> None:
    with own_redis() as server:
        async with Emulator(port=0) as emulator:
            environ = {**emulator.environment, "SOCIALAPI_REDIS_URL": server.url}
            async with Client.from_env(environ, telemetry=True) as client:
                await client.webhooks.list()
                server.stop()
                waiting = asyncio.ensure_future(client.webhooks.list())
                while not caplog.messages:
                    await turns()
                server.start()
                await waiting
    calls = recorded.named("EVALSHA")
    assert {each.kind.name for each in calls} == {"CLIENT"}
    assert "shared_window" in {attributes_of(each)["db.stored_procedure.name"] for each in calls}
    found = recorded.metrics()
    names = ("db.system.name", "db.operation.name", "error.type")
    assert by(found["db.client.operation.duration"], *names)[("redis", "EVALSHA", None)] >= 2
    (outage,), (wait,) = (
        points(found["socialapi.redis.outage.duration"]),
        points(found["socialapi.redis.wait.duration"]),
    )
    assert outage.count == wait.count == 1
    assert 0.0 < wait.sum <= outage.sum
    assert "socialapi.redis.wait" in [event.name for span in recorded.spans for event in span.events]
