"""A small service: a newsletter sends its subscribers to an audience, shows posts and collects
mentions.

Hosts and credentials come from SOCIALAPI_* variables. To show the headlines of an author:

    python newsletter.py 2244994945
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterable, Mapping

from aiohttp import web

from socialapi import Client
from socialapi.errors import RateLimitTooLong, SocialApiError
from socialapi.streams import Dispatcher
from socialapi.types import UploadReport
from socialapi.webhooks import ActivityEvent, Receiver

HEADLINE_CHARACTERS = 60
BUSY_SECONDS = 1.0
MAX_MENTIONS = 1_000

# Asynchronous


async def send_subscribers(
    client: Client, account_id: str, audience_id: str, subscribers: Iterable[Mapping[str, object]]
) -> UploadReport:
    """Adds the subscribers who agreed to an audience. Returns the report."""
    agreed = [{"email": each["email"]} for each in subscribers if each["agreed"]]
    return await client.ads.account(account_id).custom_audience(audience_id).upload(agreed)


async def headlines(client: Client, user_id: str) -> list[str] | None:
    """Returns the beginnings of a user's newest posts, or None if reading them would currently take too long."""
    try:
        page = await client.with_options(max_wait_seconds=BUSY_SECONDS).posts.by_user(user_id, max_results=5).first()
    except RateLimitTooLong:
        return None
    return [(post.text or "(nothing)")[:HEADLINE_CHARACTERS] for post in page.data]


class Mentions:
    """Collects posts about the newsletter that the service delivers to the webhook at `/hooks`."""

    def __init__(self, api_key_secret: str) -> None:
        self.found: asyncio.Queue[str] = asyncio.Queue(MAX_MENTIONS)
        self._receiver = Receiver(api_key_secret)
        self._events = Dispatcher()
        self._events.on("post.create")(self._note)

    def application(self) -> web.Application:
        """Returns the web application."""
        app = web.Application()
        app.add_subapp("/hooks", self._receiver)
        app.cleanup_ctx.append(self._handling)
        return app

    async def _handling(self, app: web.Application) -> AsyncIterator[None]:
        async with self._receiver.handled_by(self._events.run):
            yield

    async def _note(self, event: ActivityEvent) -> None:
        text = str(event.payload.get("text", ""))
        if "newsletter" in text.lower():
            await self.found.put(text)


# Synchronous


def latest_headlines(user_id: str) -> list[str]:
    """Returns the result of `headlines`. Call it from a Django or Flask view, a Celery task or a command."""

    async def read() -> list[str]:
        async with Client.from_env() as client:
            return await headlines(client, user_id) or []

    return asyncio.run(read())


def main(arguments: list[str]) -> int:
    """Prints headlines, and returns the exit status."""
    try:
        print(*latest_headlines(arguments[0]), sep="\n")
    except SocialApiError as problem:
        print(f"no headlines today: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
