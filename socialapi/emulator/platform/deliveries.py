"""Delivering events to webhooks, signed with the secret of the app (platform sections 4.2, 5.5 and 6.1).

No retry is documented, and none is made.
"""

import asyncio
import base64
import hmac
import io
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final

import aiohttp

from socialapi.emulator.faults import Faults
from socialapi.emulator.platform.outbox import Outbox, Tally
from socialapi.emulator.platform.outgoing import Outgoing
from socialapi.emulator.platform.records import Webhook
from socialapi.emulator.state import State

SIGNATURE_HEADER: Final = "x-service-webhooks-signature"
DELIVERY_SECONDS: Final = 10.0
"""How long a delivery may take, in real time; nothing is documented."""

_WRONG_SECRET: Final = "not the secret of any app"  # noqa: S105 - what forgeries are signed with
_LARGE: Final = 1_000_000


class Deliveries:
    """The outboxes of the webhooks, by id, and the deliveries under way."""

    def __init__(self, outgoing: Outgoing, faults: Faults, state_now: Callable[[], State]) -> None:
        self._outgoing = outgoing
        self._faults = faults
        self._state_now = state_now
        self._outboxes: dict[str, Outbox] = {}
        self._tallies: dict[str, Tally] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Gives up what waits and what is under way; what was counted stays."""
        tasks = list(self._tasks)
        self._give_up()
        await asyncio.gather(*tasks, return_exceptions=True)

    def reset(self) -> None:
        """Forgets everything."""
        self._give_up()
        self._tallies.clear()

    def _give_up(self) -> None:
        for task in self._tasks:
            task.cancel()
        for outbox in self._outboxes.values():
            outbox.close()
        self._outboxes.clear()

    def outbox(self, webhook: Webhook) -> Outbox:
        """Where events for the webhook are put."""
        found = self._outboxes.get(webhook.id)
        if found is None:
            tally = self._tallies.setdefault(webhook.id, Tally(webhook.url))
            found = self._outboxes[webhook.id] = Outbox(webhook, tally)
        return found

    def forget(self, webhook_id: str) -> None:
        """The webhook is gone: what waits for it is not sent."""
        if (outbox := self._outboxes.pop(webhook_id, None)) is not None:
            outbox.close()

    def send(self, outbox: Outbox, body: bytes, copies: int = 1) -> None:
        """Puts an event into the outbox, from where it is delivered in its turn."""
        outbox.remember(body, self._state_now().clock.now())
        if outbox.put(body, copies):
            self._start(outbox)

    def replay(self, webhooks: Sequence[Webhook], begin: float, end: float) -> int:
        """Delivers once more what was sent to the webhooks in this time; how many events that are."""
        found = {webhook.id: self.outbox(webhook).sent_between(begin, end) for webhook in webhooks}
        for webhook in webhooks:
            if bodies := found[webhook.id]:
                self._own(self._send_again(self.outbox(webhook), bodies))
        return sum(map(len, found.values()))

    async def settle(self) -> None:
        """Waits until everything was delivered."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def summary(self) -> Mapping[str, Mapping[str, Any]]:
        """The outcomes by webhook."""
        return {webhook_id: tally.shown() for webhook_id, tally in self._tallies.items()}

    def _start(self, outbox: Outbox) -> None:
        while (body := outbox.take()) is not None:
            self._own(self._work(outbox, body))

    def _own(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name="socialapi-emulator-delivery")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self, outbox: Outbox, body: bytes) -> None:
        """One delivery, and then by the same task whatever else waits."""
        following: bytes | None = body
        while following is not None:
            try:
                await self._deliver(outbox, following)
            finally:
                outbox.finish()
            following = outbox.take()

    async def _send_again(self, outbox: Outbox, bodies: Sequence[bytes]) -> None:
        for body in bodies:
            await outbox.room()
            if outbox.put(body):
                self._start(outbox)

    async def _deliver(self, outbox: Outbox, body: bytes) -> None:
        webhook, state = outbox.webhook, self._state_now()
        app = state.apps.get(webhook.app_key)
        if app is None or not webhook.valid or state.platform.webhooks.get(webhook.id) is not webhook:
            outbox.tally.skipped += 1
            return
        signature = signed(body, app.api_key_secret)
        fault = self._faults.pick_for_delivery()
        if fault is not None:
            await self._play(fault.fault, outbox, body, signature)
        outbox.tally.count(await self._post(webhook.url, body, signature))

    async def _play(self, kind: str, outbox: Outbox, body: bytes, signature: str) -> None:
        url, tally = outbox.webhook.url, outbox.tally
        if kind == "delivery_duplicate":
            tally.count(await self._post(url, body, signature))
        elif kind == "delivery_tampered":
            # Still JSON and the same event, so that nothing but the signature gives it away.
            tally.count_forgery(await self._post(url, body[:-1] + b',"tampered":true}', signature))
        elif kind == "delivery_forged":
            tally.count_forgery(await self._post(url, body, signed(body, _WRONG_SECRET)))
        else:
            tally.count_forgery(await self._post(url, body, None))

    async def _post(self, url: str, body: bytes, signature: str | None) -> int | None:
        """The status of the answer, or None if there was none."""
        target = self._outgoing.targets.get(url)
        if target is None:
            return None
        headers = {"Content-Type": "application/json"} | ({} if signature is None else {SIGNATURE_HEADER: signature})
        # aiohttp warns of large bodies that are given as bytes.
        content = body if len(body) < _LARGE else io.BytesIO(body)
        try:
            async with (
                asyncio.timeout(DELIVERY_SECONDS),
                self._outgoing.client.post(target, data=content, headers=headers, allow_redirects=False) as response,
            ):
                return response.status
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError):
            return None


def signed(body: bytes, consumer_secret: str) -> str:
    """The signature of an event (section 5.5)."""
    return "sha256=" + base64.b64encode(hmac.digest(consumer_secret.encode(), body, "sha256")).decode()
