"""Health checks of a receiver."""

from pathlib import Path

import pytest
from aiohttp import web
from starlette.applications import Starlette

from socialapi.errors import ConfigurationError
from socialapi.webhooks import Receiver
from tests.support.waiting import until
from tests.webhooks.posting import SECRET, event, running
from tests.webhooks.serving import under_uvicorn


async def test_a_mounted_receiver_says_that_it_accepts_events() -> None:
    receiver = Receiver(SECRET)
    app = web.Application()
    app.add_subapp("/hooks", receiver)
    async with running(app, "/hooks") as sender:
        healthy = await sender.challenge("", path="/healthz")
        assert (healthy.status, healthy.text) == (200, "ok")
        async with sender.session.head(f"{sender.url}/healthz") as response:
            assert response.status == 200
        assert (await sender.challenge("")).status == 400  # elsewhere a GET is a challenge
        challenged = await sender.challenge("?crc_token=a", path="/healthz")
        assert "response_token" in challenged.text
        assert (await sender.post(event(1), path="/healthz")).status == 200  # an event is one at every address
        receiver.stop()
        assert (await sender.challenge("", path="/healthz")).status == 503
    assert receiver.counters.challenges == 1


async def test_an_asgi_application_says_it_alone_and_mounted() -> None:
    async with under_uvicorn(Receiver(SECRET)) as sender:
        assert (await sender.challenge("", path="healthz")).status == 200
    outer = Starlette()
    outer.mount("/hooks", Receiver(SECRET).asgi)
    sent = []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b""}

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/hooks/healthz", "query_string": b"", "headers": []}
    await outer(scope, receive, send)  # type: ignore[arg-type]
    assert sent[0]["status"] == 200


async def test_an_inbox_is_opened_by_a_check_and_is_unhealthy_while_it_cannot_be_used(tmp_path: Path) -> None:
    receiver = Receiver(SECRET, inbox=tmp_path / "inbox.sqlite")
    answers = []

    async def is_healthy() -> bool:
        reply = receiver._endpoint.health("GET", "/hooks/healthz", "")
        assert reply is not None
        answers.append(reply.status)
        return reply.status == 200

    assert not await is_healthy()
    await until(lambda: receiver._store.is_accepting)
    assert await is_healthy()
    await receiver.aclose()
    assert not await is_healthy()
    unusable = Receiver(SECRET, inbox=tmp_path)
    for _ in range(2):
        reply = unusable._endpoint.health("GET", "/healthz", "")
        assert reply is not None
        assert (reply.status, reply.headers["Retry-After"]) == (503, "5")
    await unusable.aclose()


async def test_another_path_or_none_can_be_chosen() -> None:
    async with running(Receiver(SECRET, health_path="/live")) as sender:
        assert (await sender.challenge("", path="/live")).status == 200
        assert (await sender.challenge("", path="/healthz")).status == 400
    async with running(Receiver(SECRET, health_path=None)) as sender:
        assert (await sender.challenge("", path="/healthz")).status == 400


@pytest.mark.parametrize("path", ["", "/", "healthz", 5])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ConfigurationError, match="health_path must be a path that begins with /"):
        Receiver(SECRET, health_path=path)
