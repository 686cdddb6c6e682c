"""Webhooks (platform documentation, sections 2.1, 3.1, 4.1, 4.2, 6.1 and 7.2): states, challenges, failure reasons."""

import asyncio

import aiohttp
import pytest
from aiohttp import web

from socialapi.emulator import Emulator
from socialapi.emulator.platform import challenges
from tests.emulator.asking import Asker, Method, Reply
from tests.emulator.platform.receiving import URL, Owner, create_webhook, owner_of_webhook, validity


def assert_failed(reply: Reply, reason: str) -> None:
    assert (reply.status, reply.json["type"], reply.json["title"]) == (400, "about:blank", reason), reply.text
    assert reply.json["detail"].startswith(f"{reason}: ")


async def test_whoever_answers_the_challenge_has_a_webhook(ask: Asker, owner: Owner) -> None:
    reply = await create_webhook(ask)
    assert (reply.status, len(owner.challenges)) == (200, 1)
    assert set(reply.data) == {"id", "url", "valid", "created_at"}
    assert (reply.data["url"], reply.data["valid"]) == (URL, True)
    assert reply.data["id"].isdigit()
    assert reply.data["created_at"].endswith(".000Z")
    assert (await ask.get("/2/webhooks")).json == {"data": [reply.data], "meta": {"result_count": 1}}


async def test_a_query_of_the_target_is_kept_and_every_challenge_is_another(ask: Asker, owner: Owner) -> None:
    ask.emulator.webhook_targets[URL] = owner.address + "?source=emulator"
    webhook_id = (await create_webhook(ask)).data["id"]
    await ask.bearer("PUT", f"/2/webhooks/{webhook_id}")
    assert [query["source"] for query in owner.queries] == ["emulator"] * 2
    assert len(set(owner.challenges)) == 2


@pytest.mark.parametrize(
    "url",
    [
        *("http://hooks.example.com/in", "https://hooks.example.com:8443/in", "https://hooks.example.com:443/in"),
        *("ftp://hooks.example.com", "hooks.example.com", "", "https://", "https:///in", "https://a b.example/"),
        *("https://user@hooks.example.com/", "https://hooks.example.com/#part", "https://localhost/in"),
        *("https://a.localhost/in", "https://127.0.0.1/in", "https://10.0.0.1/in", "https://[::1]/in", 17),
        *("https://2130706433/in", "https://0x7f.0.0.1/in", "https://127.1/in", "https://0177.0.0.1/in"),
        *("https://intranet/in", "https://printer.local/in", "https://db.internal/in", "https://a..example/in"),
        *(
            "https://-a.example/in",
            "https://a_b.example/in",
            "https://127.0.0.1.",
            "https://\uff11\uff12\uff17.0.0.1/in",
        ),
        *("https://hooks.example.com\\@evil.example/in", "https://hooks%2eexample.com/in", "https://10。0。0。1/"),
        *("https://[fe80::1]/in", "https://[fc00::1]/in", "https://[2001:db8::1]/in", "https://[::ffff:10.0.0.1]/"),
        *("https://[2606:4700::1111]:8443/in", "https://[8.8.8.8]/in", "https://[2606:4700]/in", "https://[]/in"),
        *("https://[2606:4700:4700::1111]evil.example/in", "https://x[2606:4700:4700::1111]/in"),
        *("https:hooks.example.com/in", "//hooks.example.com/in", f"https://{'a' * 64}.example/", None, True, {}, []),
    ],
)
async def test_an_address_that_is_not_public_https_without_a_port_fails(ask: Asker, url: object) -> None:
    assert_failed(await create_webhook(ask, url), "UrlValidationFailed")


@pytest.mark.parametrize(
    "url",
    [
        *("HTTPS://Hooks.Example.com/in", "https://bücher.example/in", "https://8.8.8.8/in"),
        *("https://[2606:4700:4700::1111]/in", "https://[2606:4700:4700::1111]", "https://[2A00:1450::68]/?q=1"),
    ],
)
async def test_any_public_host_passes_the_judgement_of_its_address(ask: Asker, owner: Owner, url: str) -> None:
    ask.emulator.webhook_targets[url] = owner.address
    assert (await create_webhook(ask, url)).data["url"] == url


async def test_two_spellings_of_one_ipv6_address_are_the_same_webhook(ask: Asker, owner: Owner) -> None:
    for url in ("https://[2606:4700::1111]/in", "https://[2606:4700:0:0::1111]/in"):
        ask.emulator.webhook_targets[url] = owner.address
    assert (await create_webhook(ask, "https://[2606:4700::1111]/in")).status == 200
    assert_failed(await create_webhook(ask, "https://[2606:4700:0:0::1111]/in"), "DuplicateUrlFailed")


async def test_the_same_address_again_fails_and_is_free_for_another_app(ask: Asker, owner: Owner) -> None:
    await create_webhook(ask)
    for same in (URL, URL.replace("hooks", "HOOKS"), URL.replace("https", "HTTPS")):
        assert_failed(await create_webhook(ask, same), "DuplicateUrlFailed")
    assert len(owner.challenges) == 1
    app = await ask.another_app()
    owner.secret = app["api_key_secret"]
    reply = await ask.bearer("POST", "/2/webhooks", token=app["bearer_token"], json={"url": URL})
    assert reply.status == 200
    assert len(await validity(ask)) == 1


async def test_two_registrations_at_once_make_one_webhook(ask: Asker, owner: Owner) -> None:
    replies = await asyncio.gather(create_webhook(ask), create_webhook(ask))
    assert sorted(reply.status for reply in replies) == [200, 400]
    assert_failed(max(replies, key=lambda reply: reply.status), "DuplicateUrlFailed")


async def test_an_app_has_at_most_so_many_webhooks(session: aiohttp.ClientSession) -> None:
    async with Emulator(max_webhooks=2) as emulator, owner_of_webhook(emulator.ready["api_key_secret"]) as owner:
        ask = Asker(emulator, session)
        urls = [f"{URL}/{number}" for number in range(3)]
        emulator.webhook_targets.update(dict.fromkeys(urls, owner.address))
        assert [(await create_webhook(ask, url)).status for url in urls] == [200, 200, 400]
        assert_failed(await create_webhook(ask, urls[2]), "WebhookLimitExceeded")
        await ask.bearer("DELETE", f"/2/webhooks/{(await ask.get('/2/webhooks')).data[0]['id']}")
        assert (await create_webhook(ask, urls[2])).status == 200


async def answering(owner: Owner, response: web.Response) -> None:
    async def respond(token: str) -> web.Response:
        return response

    owner.respond = respond


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b'{"response_token": "sha256=AAAA"}'),
        (200, b'{"response_token": 17}'),
        (200, b'{"response_token": "\xc3\xa9"}'),
        (200, b"{}"),
        (200, b"[]"),
        (200, b"no json"),
        (200, b""),
        (500, b""),
        (302, b""),
    ],
)
async def test_a_wrong_answer_fails(ask: Asker, owner: Owner, status: int, body: bytes) -> None:
    await answering(owner, web.Response(status=status, body=body, headers={"Location": owner.address}))
    assert_failed(await create_webhook(ask), "CrcValidationFailed")
    assert (len(owner.challenges), await validity(ask)) == (1, [])


@pytest.mark.parametrize("status", [201, 204, 404])
async def test_the_right_answer_with_another_status_fails(ask: Asker, owner: Owner, status: int) -> None:
    async def respond(token: str) -> web.Response:
        return web.Response(status=status, body=owner.answer(token))

    owner.respond = respond
    assert_failed(await create_webhook(ask), "CrcValidationFailed")


async def test_a_late_answer_fails(ask: Asker, owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    assert challenges.CHALLENGE_SECONDS == 3.0
    monkeypatch.setattr(challenges, "CHALLENGE_SECONDS", 0.05)

    async def respond(token: str) -> web.Response:
        await asyncio.sleep(0.3)
        return web.Response(body=owner.answer(token))

    owner.respond = respond
    reply = await create_webhook(ask)
    assert_failed(reply, "CrcValidationFailed")
    assert "0.05 s" in reply.json["detail"]


async def test_an_address_that_leads_nowhere_fails(ask: Asker, unused_tcp_port: int) -> None:
    reply = await create_webhook(ask)
    assert_failed(reply, "CrcValidationFailed")
    assert "no local target" in reply.json["detail"]
    for target in (f"http://127.0.0.1:{unused_tcp_port}/", "http://", "nonsense"):
        ask.emulator.webhook_targets[URL] = target
        assert_failed(await create_webhook(ask), "CrcValidationFailed")


# States ------------------------------------------------------------------------------------------------------------


async def test_the_hourly_challenge_makes_a_failing_webhook_invalid_and_put_makes_it_valid_again(
    ask: Asker, owner: Owner
) -> None:
    webhook_id = (await create_webhook(ask)).data["id"]
    await ask.control("POST", "clock", {"advance": 3_599})
    assert len(owner.challenges) == 1
    await ask.control("POST", "clock", {"advance": 1})
    assert (len(owner.challenges), await validity(ask)) == (2, [True])
    await answering(owner, web.Response(status=500))
    await ask.control("POST", "clock", {"advance": 3_600})
    assert (len(owner.challenges), await validity(ask)) == (3, [False])
    assert_failed(await ask.bearer("PUT", f"/2/webhooks/{webhook_id}"), "CrcValidationFailed")
    assert await validity(ask) == [False]
    owner.respond = None
    await ask.control("POST", "clock", {"advance": 3_600})
    assert (len(owner.challenges), await validity(ask)) == (5, [False])  # challenged, but only PUT helps
    reply = await ask.bearer("PUT", f"/2/webhooks/{webhook_id}")
    assert (reply.status, reply.json) == (200, {"data": {"valid": True}})
    assert await validity(ask) == [True]


async def test_a_valid_webhook_that_fails_when_it_is_validated_becomes_invalid(ask: Asker, owner: Owner) -> None:
    webhook_id = (await create_webhook(ask)).data["id"]
    owner.secret = "another"
    assert_failed(await ask.bearer("PUT", f"/2/webhooks/{webhook_id}"), "CrcValidationFailed")
    assert await validity(ask) == [False]


async def test_many_hours_at_once_are_one_challenge(ask: Asker, owner: Owner) -> None:
    await create_webhook(ask)
    ask.emulator.advance(100 * 3_600)
    await ask.emulator.settle()
    await ask.emulator.settle()
    assert len(owner.challenges) == 2


async def test_a_deleted_webhook_is_gone_and_not_challenged_any_more(ask: Asker, owner: Owner) -> None:
    webhook_id = (await create_webhook(ask)).data["id"]
    reply = await ask.bearer("DELETE", f"/2/webhooks/{webhook_id}")
    assert (reply.status, reply.json) == (200, {"data": {"deleted": True}})
    await ask.control("POST", "clock", {"advance": 7_200})
    assert (await validity(ask), len(owner.challenges)) == ([], 1)
    assert_failed(await ask.bearer("DELETE", f"/2/webhooks/{webhook_id}"), "WebhookIdInvalid")
    assert (await create_webhook(ask)).status == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
@pytest.mark.parametrize("webhook_id", ["17", "x", "1" * 20, "-1", "1%202", "%D9%A1"])
async def test_an_id_that_is_unknown_or_malformed_is_invalid(ask: Asker, method: Method, webhook_id: str) -> None:
    assert_failed(await ask.bearer(method, f"/2/webhooks/{webhook_id}"), "WebhookIdInvalid")


async def test_the_webhook_of_another_app_is_unknown(ask: Asker, owner: Owner) -> None:
    webhook_id = (await create_webhook(ask)).data["id"]
    other = (await ask.another_app(tier="enterprise"))["bearer_token"]
    for reply in (
        await ask.bearer("PUT", f"/2/webhooks/{webhook_id}", token=other),
        await ask.bearer("DELETE", f"/2/webhooks/{webhook_id}", token=other),
    ):
        assert_failed(reply, "WebhookIdInvalid")
    link = await ask.bearer("POST", f"/2/tweets/search/webhooks/{webhook_id}", token=other)
    assert (link.status, link.slug) == (404, "about:blank")
    assert await validity(ask) == [True]
