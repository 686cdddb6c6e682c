"""tweepy's asynchronous client, with the stub for the address that it has written into its code."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

import aiohttp
from tweepy import Tweet
from tweepy.asynchronous import AsyncClient, AsyncPaginator, AsyncStreamingClient
from tweepy.asynchronous.client import AsyncBaseClient

from benchmarks.contestants.measuring import Meter

WRITTEN: Final = "https://api.twitter.com"


def repoint(function: Callable[..., Any], url: str) -> None:
    """Makes a function of tweepy talk to another host.

    There is no setting for it. Replacing the constant in the compiled code adds nothing to what is measured, as a
    wrapper around the session would.
    """
    code = function.__code__
    constants = tuple(
        each.replace(WRITTEN, url) if isinstance(each, str) and each.startswith(WRITTEN) else each
        for each in code.co_consts
    )
    assert constants != code.co_consts, "tweepy does not have the address where it was"
    function.__code__ = code.replace(co_consts=constants)


async def _client(order: dict[str, Any]) -> AsyncClient:
    repoint(AsyncBaseClient.request, order["url"])
    client = AsyncClient("token", "key", "key-secret", "token", "token-secret")
    if order["reuses_session"]:
        client.session = aiohttp.ClientSession()
    return client


async def _close(client: AsyncClient) -> None:
    if client.session is not None:
        await client.session.close()


def paging(order: dict[str, Any]) -> dict[str, Any]:
    """Walks a timeline."""

    async def walk(client: AsyncClient, pages: int) -> tuple[int, int]:
        items = total = 0
        async for post in AsyncPaginator(client.get_users_tweets, pages, max_results=100).flatten():
            items += 1
            total += len(post.text) + post.public_metrics["like_count"]
        return items, total

    async def main() -> dict[str, Any]:
        client = await _client(order)
        try:
            await walk(client, order["warm_pages"])
            meter = Meter()
            items, total = await walk(client, order["pages"])
            return meter.told(items=items, checksum=total)
        finally:
            await _close(client)

    return asyncio.run(main())


def small(order: dict[str, Any]) -> dict[str, Any]:
    """Asks for one post again and again."""

    async def ask(client: AsyncClient, times: int) -> int:
        total = 0
        for _ in range(times):
            page = await client.get_tweets(["1"], user_auth=order.get("is_signed", False))
            total += len(page.data[0].text)
        return total

    async def main() -> dict[str, Any]:
        client = await _client(order)
        try:
            await ask(client, order["warm_requests"])
            meter = Meter()
            total = await ask(client, order["requests"])
            return meter.told(items=order["requests"], checksum=total)
        finally:
            await _close(client)

    return asyncio.run(main())


class _Reading(AsyncStreamingClient):  # type: ignore[misc]  # it has no types
    """A stream that is left after so many posts."""

    def __init__(self, warm_posts: int, posts: int) -> None:
        super().__init__("token", max_retries=0)
        self.meter = Meter()
        self.total = self.seen = 0
        self.warm_posts = warm_posts
        self.last = warm_posts + posts
        self.told: dict[str, Any] = {}

    async def on_tweet(self, tweet: Tweet) -> None:
        """Called by tweepy."""
        self.seen += 1
        if self.seen > self.warm_posts:
            self.total += len(tweet.text) + tweet.public_metrics["like_count"]
            if self.seen == self.last:
                self.told = self.meter.told(items=self.last - self.warm_posts, checksum=self.total)
                self.disconnect()
        elif self.seen == self.warm_posts:
            self.meter = Meter()


def stream(order: dict[str, Any]) -> dict[str, Any]:
    """Reads the filtered stream."""
    repoint(AsyncStreamingClient._connect, order["url"])

    async def main() -> dict[str, Any]:
        reading = _Reading(order["warm_posts"], order["posts"])
        await reading.filter()
        return reading.told

    return asyncio.run(main())
