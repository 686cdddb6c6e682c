"""Who may use the control plane: hosts, origins and media types; and where webhooks may be delivered."""

import asyncio
import re
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

import orjson
import pytest
from aiohttp import web

from socialapi.emulator import Emulator
from socialapi.emulator.hosts import DeliveryTargets
from socialapi.emulator.platform.challenges import MAX_ANSWER_BYTES
from socialapi.emulator.server import serve
from socialapi.errors import ConfigurationError
from tests.emulator.asking import Asker
from tests.emulator.platform.receiving import URL, Delivered, Owner, create_webhook


async def sent(
    emulator: Emulator,
    headers: Iterable[str],
    *,
    method: str = "GET",
    target: str = "/_emulator/seed",
    body: bytes = b"",
) -> tuple[int, str]:
    """The status and body of an answer to a request with just these headers."""
    url = urlsplit(emulator.ready["base_url"])
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    lines = [f"{method} {target} HTTP/1.1", *headers, "Connection: close"]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
    answer = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    head, _, content = answer.partition("\r\n\r\n")
    return int(head.split()[1]), content


def message(content: str) -> str:
    (error,) = orjson.loads(content)["errors"]
    assert error["code"] == "FORBIDDEN"
    said: str = error["message"]
    return said


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "LOCALHOST:80", "localhost.", "emulator.localhost:8080", "127.0.0.1", "127.0.0.1:1"),
        *("192.168.7.1:8080", "[::1]", "[::1]:8080", "[2001:db8::7]:8080", "emulator.test:8080", "EMULATOR.TEST."),
    ],
)
async def test_the_control_plane_answers_to_this_machine_addresses_and_allowed_names(host: str) -> None:
    async with Emulator(allow_hosts=["emulator.test"]) as emulator:
        status, content = await sent(emulator, [f"Host: {host}"])
    found = orjson.loads(content)
    assert (status, {kind: found[kind] for kind in emulator.seed}) == (200, dict(emulator.seed))


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:8080", "localhost.evil.example", "notlocalhost", "127.0.0.1.evil.example"),
        *("2130706433", "0x7f.1", "127.1", "sub.emulator.test"),
    ],
)
async def test_other_hosts_are_refused_with_the_option_that_allows_them(host: str) -> None:
    async with Emulator(allow_hosts=["emulator.test"]) as emulator:
        for target in ("/_emulator/seed", "/_emulator/", "/_emulator/nothing"):
            status, content = await sent(emulator, [f"Host: {host}"], target=target)
            assert status == 403
            assert f"--allow-host {host.partition(':')[0]}" in message(content)


@pytest.mark.parametrize(
    "headers",
    [
        [],
        ["Host:"],
        ["Host: localhost", "Host: localhost"],
        ["Host: localhost@evil.example"],
        ["Host: localhost/evil.example"],
        ["Host: [localhost]"],
        ["Host: ::1"],
        ["Host: localhost:http"],
        ["Host: \xff.example"],
        ["Host: \x01"],
    ],
)
async def test_a_request_needs_one_valid_host(emulator: Emulator, headers: list[str]) -> None:
    status, content = await sent(emulator, headers)
    # aiohttp refuses some of them before the emulator sees them.
    assert status in (400, 403)
    if status == 403:
        assert "exactly one valid Host" in message(content)


async def test_a_whole_url_as_target_is_judged_by_its_own_host(emulator: Emulator) -> None:
    for target, status in (
        ("http://evil.example/_emulator/seed", 403),
        ("http://localhost:8080/_emulator/seed", 200),
        ("http://user@localhost/_emulator/seed", 403),
    ):
        for host in ("localhost", "evil.example"):
            assert (await sent(emulator, [f"Host: {host}"], target=target))[0] == status, (target, host)


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS"])
@pytest.mark.parametrize(
    "header",
    [
        *("Origin: null", "Origin: https://evil.example", "Origin: http://localhost:3000", "Origin: localhost:8080"),
        *("Origin: http://127.0.0.1:8080", "Origin: file://", "Origin:", "Sec-Fetch-Site: cross-site"),
        *("Origin: https://localhost:8080", "Sec-Fetch-Site: same-site"),
    ],
)
async def test_a_page_of_another_origin_can_do_nothing(emulator: Emulator, method: str, header: str) -> None:
    emulator.faults.add("status", status=500)
    status, content = await sent(emulator, ["Host: localhost:8080", header], method=method, target="/_emulator/faults")
    assert status == 403
    assert "another" in message(content)
    assert emulator.faults.pick("GET", "/").name == "status"


@pytest.mark.parametrize(
    "header",
    [
        *("Origin: http://localhost:8080", "Origin: http://LOCALHOST:8080"),
        *("Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: none"),
    ],
)
async def test_its_own_pages_may_do_everything(emulator: Emulator, header: str) -> None:
    emulator.faults.add("status", status=500)
    status, _ = await sent(emulator, ["Host: localhost:8080", header], method="DELETE", target="/_emulator/faults")
    assert (status, emulator.faults.pick("GET", "/").name) == (200, None)


async def test_the_default_port_of_an_origin_is_its_schemes(emulator: Emulator) -> None:
    """A proxy in front may have spoken TLS."""
    for host, origin in (
        ("localhost", "http://localhost:80"),
        ("localhost:443", "https://localhost"),
        ("localhost", "https://localhost"),
    ):
        assert (await sent(emulator, [f"Host: {host}", f"Origin: {origin}"]))[0] == 200
    assert (await sent(emulator, ["Host: localhost", "Origin: http://localhost:8080"]))[0] == 403


async def test_no_answer_lets_other_sites_read_it(ask: Asker) -> None:
    for method, path in (("GET", "seed"), ("OPTIONS", "clock"), ("GET", "requests"), ("GET", "nothing")):
        reply = await ask.control(method, path)
        assert not [name for name in reply.headers if name.lower().startswith("access-control-")]
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert reply.headers["Cross-Origin-Resource-Policy"] == "same-origin"


@pytest.mark.parametrize("media_type", ["text/plain", "text/plain;charset=UTF-8", "multipart/form-data; boundary=x"])
async def test_what_a_form_can_send_is_not_taken(emulator: Emulator, media_type: str) -> None:
    status, content = await sent(
        emulator,
        ["Host: localhost", f"Content-Type: {media_type}"],
        method="POST",
        target="/_emulator/clock",
        body=b'{"advance": 5}',
    )
    assert (status, "application/json" in content) == (415, True)
    assert emulator.state.clock.advanced == 0.0


@pytest.mark.parametrize("media_type", ["application/json", "application/x-www-form-urlencoded", None])
async def test_bodies_of_programs_are_taken(emulator: Emulator, media_type: str | None) -> None:
    """curl calls what it is given with `-d` a form."""
    headers = ["Host: localhost"] if media_type is None else ["Host: localhost", f"Content-Type: {media_type}"]
    status, _ = await sent(emulator, headers, method="POST", target="/_emulator/clock", body=b'{"advance": 5}')
    assert (status, emulator.state.clock.advanced) == (200, 5.0)


@pytest.mark.parametrize("name", ["http://emulator.test", "emulator.test:8080", "", "emulator.test/", "a b"])
def test_an_allowed_host_is_a_name(name: str) -> None:
    with pytest.raises(ConfigurationError, match="a name without scheme and port"):
        Emulator(allow_hosts=[name])


# Delivery targets ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "localhost.", "hooks.localhost", "127.0.0.1", "127.9.8.7", "[::1]", "[::ffff:127.0.0.1]"),
        *("LocalHost", "[0:0:0:0:0:0:0:1]"),
    ],
)
def test_webhooks_are_delivered_to_this_machine(host: str) -> None:
    for scheme in ("http", "https"):
        assert DeliveryTargets().problem(f"{scheme}://{host}:9000/in?a=b") is None


@pytest.mark.parametrize(
    "target",
    [
        *(
            "http://hooks.example.com/",
            "http://10.0.0.1/",
            "http://169.254.169.254/latest/meta-data",
            "http://0.0.0.0/",
        ),
        *("http://[::]/", "http://[::ffff:10.0.0.1]/", "http://[fe80::1]/", "http://[64:ff9b::7f00:1]/"),
        *("http://2130706433/", "http://0x7f.1/", "http://0177.0.0.1/", "http://127.1/", "http://127.0.0.1.nip.io/"),
        *("http://localhost.evil.example/", "http://notlocalhost/", "http://%6cocalhost.evil.example/"),
    ],
)
def test_other_targets_need_the_option(target: str) -> None:
    assert "--allow-remote-targets" in str(DeliveryTargets().problem(target))
    assert DeliveryTargets(allow_remote=True).problem(target) is None


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("http://localhost@evil.example/", "user name"),
        ("http://user:secret@localhost/", "user name"),
        ("http://localhost\\@evil.example/", "not an http address"),
        ("ftp://localhost/", "not an http address"),
        ("localhost:9000", "not an http address"),
        ("http://", "not an http address"),
        ("http:///in", "not an http address"),
        ("http://localhost:99999/", "not an http address"),
        ("http://[::1/", "not an http address"),
    ],
)
def test_no_option_makes_a_target_of_these(target: str, says: str) -> None:
    for allow_remote in (False, True):
        assert says in str(DeliveryTargets(allow_remote).problem(target))


async def test_a_remote_target_is_refused_wherever_it_is_given(ask: Asker) -> None:
    remote = "http://hooks.example.com/in"
    reply = await ask.control("POST", "webhook-targets", {"url": URL, "target": remote})
    assert (reply.status, reply.json["errors"][0]["parameter"]) == (400, "target")
    assert "--allow-remote-targets" in reply.json["errors"][0]["message"]
    assert dict(ask.emulator.webhook_targets) == {}
    with pytest.raises(ConfigurationError, match="--allow-remote-targets"):
        Emulator(webhook_targets={URL: remote})
    Emulator(webhook_targets={URL: remote}, allow_remote_targets=True)
    # The map itself takes everything, so it is looked at once more before something is sent.
    ask.emulator.webhook_targets[URL] = remote
    assert "--allow-remote-targets" in (await create_webhook(ask)).json["detail"]


async def test_a_name_below_localhost_is_this_machine_whatever_the_resolver_says(ask: Asker, owner: Owner) -> None:
    for name in ("localhost", "hooks.localhost", "[::ffff:127.0.0.1]"):
        ask.emulator.webhook_targets[URL] = owner.address.replace("127.0.0.1", name)
        reply = await create_webhook(ask)
        assert (reply.status, reply.data["valid"]) == (200, True)
        await ask.bearer("DELETE", f"/2/webhooks/{reply.data['id']}")
    assert len(owner.challenges) == 3


@pytest.mark.parametrize(("size", "says"), [(MAX_ANSWER_BYTES, None), (MAX_ANSWER_BYTES + 1, "more than 65,536 bytes")])
async def test_answers_to_challenges_are_read_up_to_a_limit(
    ask: Asker, owner: Owner, size: int, says: str | None
) -> None:
    async def respond(crc_token: str) -> web.Response:
        return web.Response(body=owner.answer(crc_token).ljust(size))

    owner.respond = respond
    reply = await create_webhook(ask)
    assert (reply.status == 200) is (says is None)
    assert says is None or says in reply.json["detail"]


async def test_challenges_and_deliveries_follow_no_redirect(ask: Asker, owner: Owner) -> None:
    async def respond(crc_token: str) -> web.Response:
        return web.Response(status=307, headers={"Location": owner.address})

    async def take(delivered: Delivered) -> web.Response:
        return web.Response(status=308, headers={"Location": owner.address})

    webhook_id = (await create_webhook(ask)).data["id"]
    owner.take = take
    await ask.emulator.publish({"event_type": "profile.update.bio", "user_id": ask.emulator.seed["user_ids"][0]})
    await ask.emulator.settle()
    (counted,) = ask.emulator.ledger()["deliveries"].values()
    assert (len(owner.deliveries), counted["statuses"]) == (1, {"308": 1})
    (webhook,) = (await ask.control("GET", "webhooks")).json["webhooks"]
    assert webhook == {
        "id": webhook_id,
        "api_key": ask.emulator.ready["api_key"],
        "valid": True,
        "checked_at": ask.emulator.state.clock.now(),
        "target": owner.address,
        **counted,
        "waiting": 0,
        "in_flight": 0,
    }
    owner.respond = respond
    assert "status 307" in (await ask.bearer("PUT", f"/2/webhooks/{webhook_id}")).json["detail"]
    assert len(owner.challenges) == 2


# Listening -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("host", "warns"), [("127.0.0.1", False), ("localhost", False), ("0.0.0.0", True)])
async def test_listening_for_other_machines_is_warned_of(
    host: str, warns: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    def end(ready: Mapping[str, str]) -> None:
        running.cancel()

    running = asyncio.create_task(serve(Emulator(host), on_ready=end))
    with pytest.raises(asyncio.CancelledError):
        await running
    printed = capsys.readouterr().err
    assert ("without a password" in printed, printed.count("\n")) == (warns, int(warns))
    assert not warns or re.match(rf"socialapi: warning: the emulator listens on {re.escape(host)},", printed)
