"""Challenges to the owners of webhooks."""

import asyncio
import contextlib
import hmac
import secrets
from collections.abc import Callable
from typing import Final

import aiohttp
import orjson

from socialapi.emulator.platform.deliveries import Outgoing, signed
from socialapi.emulator.platform.state import Webhook
from socialapi.emulator.state import State

CHALLENGE_SECONDS: Final = 3.0
"""The wall-clock time that a response may take. The documentation does not specify one."""
MAX_ANSWER_BYTES: Final = 65_536
RECHECK_SECONDS: Final = 3_600.0
"""The interval at which webhooks are challenged again, on the emulator's clock."""


class Challenges:
    """Challenges for webhooks, which are sent on request and every hour.

    `state_now` returns the current state, because a reset replaces it.
    """

    def __init__(self, outgoing: Outgoing, state_now: Callable[[], State]) -> None:
        self._outgoing = outgoing
        self._state_now = state_now
        self._watcher: asyncio.Task[None] | None = None
        self._moved = asyncio.Event()
        self._turn = asyncio.Lock()

    async def open(self) -> None:
        """Starts the background checks."""
        self._moved = asyncio.Event()
        self._turn = asyncio.Lock()
        self._watcher = asyncio.create_task(self._watch(), name="socialapi-emulator-webhook-checks")

    async def close(self) -> None:
        """Stops the background checks, and cancels those in progress."""
        if self._watcher is not None:
            self._watcher.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watcher

    def time_moved(self) -> None:
        """Runs the checks that are due because the clock was advanced."""
        self._moved.set()

    async def settle(self) -> None:
        """Sends every challenge that is due, and waits for the results."""
        async with self._turn:
            while due := [webhook for webhook in self._webhooks() if self._seconds_left(webhook) <= 0]:
                state = self._state_now()
                await asyncio.gather(*(self._check_again(state, webhook) for webhook in due))

    async def failure(self, url: str, consumer_secret: str) -> str | None:
        """Sends one challenge. Returns why it failed, or None if it passed."""
        target = self._outgoing.targets.get(url)
        if target is None:
            return "the address cannot be reached: no local target is mapped to it (POST /_emulator/webhook-targets)"
        if (problem := self._outgoing.rule.problem(target)) is not None:
            return problem
        token = secrets.token_urlsafe(24)
        try:
            async with asyncio.timeout(CHALLENGE_SECONDS):
                async with self._outgoing.client.get(
                    target, params={"crc_token": token}, allow_redirects=False
                ) as response:
                    body = await _read_answer(response)
                return _challenge_failure(response.status, body, signed(token.encode(), consumer_secret))
        except TimeoutError:
            return f"there was no answer within {CHALLENGE_SECONDS:g} s"
        except (aiohttp.ClientError, OSError, ValueError) as reason:
            return f"the request failed: {type(reason).__name__}"

    async def _check_again(self, state: State, webhook: Webhook) -> None:
        """Challenges a webhook. If the challenge fails, the webhook becomes invalid, and only a PUT makes it valid
        again.
        """
        reason = await self.failure(webhook.url, state.apps[webhook.app_key].api_key_secret)
        webhook.checked_at = state.clock.now()
        if reason is not None:
            webhook.valid = False

    async def _watch(self) -> None:
        while True:
            self._moved.clear()
            await self.settle()
            wait = min((self._seconds_left(webhook) for webhook in self._webhooks()), default=RECHECK_SECONDS)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(wait, 0.0)):
                    await self._moved.wait()

    def _webhooks(self) -> list[Webhook]:
        return list(self._state_now().platform.webhooks.values())

    def _seconds_left(self, webhook: Webhook) -> float:
        return webhook.checked_at + RECHECK_SECONDS - self._state_now().clock.now()


async def _read_answer(response: aiohttp.ClientResponse) -> bytes | None:
    """Returns the body, or None if it is too long, in which case the rest is not read."""
    body = b""
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > MAX_ANSWER_BYTES:
            return None
    return body


def _challenge_failure(status: int, body: bytes | None, expected: str) -> str | None:
    if status != 200:
        return f"the answer has status {status}, not 200"
    if body is None:
        return f"the answer has more than {MAX_ANSWER_BYTES:,} bytes"
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        return "the answer is not JSON"
    given = answer.get("response_token") if isinstance(answer, dict) else None
    if not isinstance(given, str) or not hmac.compare_digest(given.encode(), expected.encode()):
        return "response_token is not the HMAC-SHA256 of crc_token with the app's secret"
    return None
