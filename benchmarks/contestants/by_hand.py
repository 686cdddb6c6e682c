"""The limit of the stack: what can be written by hand with aiohttp and orjson, with dicts for
results and no checks.
"""

import asyncio
import contextlib
import hashlib
from collections.abc import Awaitable, Callable
from typing import Any, Final

import aiohttp
import orjson

from benchmarks.contestants.measuring import Meter
from benchmarks.harness import canned

HEADERS: Final = {"Authorization": "Bearer token"}
JSON: Final = {**HEADERS, "Content-Type": "application/json"}
ROWS_A_REQUEST: Final = 2_500
PRODUCTS_A_REQUEST: Final = 25


def paging(order: dict[str, Any]) -> dict[str, Any]:
    """Walks a timeline."""

    def read(page: dict[str, Any]) -> tuple[int, int]:
        items = total = 0
        for post in page["data"]:
            items += 1
            total += len(post["text"]) + post["public_metrics"]["like_count"]
        return items, total

    return paging_with(read, order)


def paging_with(
    read: Callable[[Any], tuple[int, int]],
    order: dict[str, Any],
    decode: Callable[[bytes], Any] = orjson.loads,
    next_token: Callable[[Any], str | None] = lambda page: page["meta"].get("next_token"),
) -> dict[str, Any]:
    """Walks a timeline; `read` goes through the posts of a page, and says how many there are and
    their checksum.
    """

    async def walk(session: aiohttp.ClientSession, pages: int) -> tuple[int, int]:
        items = total = 0
        params = {"max_results": "100"}
        while True:
            async with session.get(f"{order['url']}/2/users/{pages}/tweets", params=params) as response:
                page = decode(await response.read())
            count, part = read(page)
            items += count
            total += part
            token = next_token(page)
            if token is None:
                return items, total
            params["pagination_token"] = token

    async def main() -> dict[str, Any]:
        async with aiohttp.ClientSession(headers=HEADERS) as session:
            await walk(session, order["warm_pages"])
            meter = Meter()
            items, total = await walk(session, order["pages"])
            return meter.told(items=items, checksum=total)

    return asyncio.run(main())


class _Reading:
    """What was read of a stream; `take` says whether it was enough."""

    def __init__(self, order: dict[str, Any]) -> None:
        self._warm_posts: int = order["warm_posts"]
        self._posts: int = order["posts"]
        self._seen = self._total = 0
        self._meter = Meter()

    def take(self, line: bytes) -> bool:
        post = orjson.loads(line)["data"]
        self._seen += 1
        if self._seen > self._warm_posts:
            self._total += len(post["text"]) + post["public_metrics"]["like_count"]
        elif self._seen == self._warm_posts:
            self._meter = Meter()
        return self._seen == self._warm_posts + self._posts

    def told(self) -> dict[str, Any]:
        return self._meter.told(items=self._posts, checksum=self._total)


async def _split_by_hand(content: aiohttp.StreamReader, reading: _Reading) -> None:
    rest = b""
    async for chunk in content.iter_any():
        *lines, rest = (rest + chunk).split(b"\r\n")
        for line in lines:
            if reading.take(line):
                return


async def _by_lines(content: aiohttp.StreamReader, reading: _Reading) -> None:
    async for line in content:
        if reading.take(line):
            return


def stream(order: dict[str, Any]) -> dict[str, Any]:
    """Reads a stream, splitting what has arrived by hand."""
    return asyncio.run(_stream(order, _split_by_hand))


def stream_by_lines(order: dict[str, Any]) -> dict[str, Any]:
    """Reads a stream with the lines of aiohttp's reader."""
    return asyncio.run(_stream(order, _by_lines))


async def _stream(
    order: dict[str, Any], read: Callable[[aiohttp.StreamReader, _Reading], Awaitable[None]]
) -> dict[str, Any]:
    reading = _Reading(order)
    timeout = aiohttp.ClientTimeout(total=None)
    async with (
        aiohttp.ClientSession(headers=HEADERS, timeout=timeout) as session,
        session.get(f"{order['url']}/2/tweets/search/stream") as response,
    ):
        await read(response.content, reading)
        return reading.told()


def small(order: dict[str, Any]) -> dict[str, Any]:
    """Asks for one post again and again."""
    url = f"{order['url']}/2/tweets"
    return _small(order, lambda session: session.get(url, params={"ids": "1"}, headers=HEADERS))


def small_signed(order: dict[str, Any]) -> dict[str, Any]:
    """Asks for one post again and again, with each request signed by oauthlib."""
    from oauthlib.oauth1 import Client

    signer = Client("key", "key-secret", "token", "token-secret")
    url = f"{order['url']}/2/tweets?ids=1"
    return _small(order, lambda session: session.get(url, headers=signer.sign(url)[1]))


def _small(
    order: dict[str, Any], get: Callable[[aiohttp.ClientSession], contextlib.AbstractAsyncContextManager[Any]]
) -> dict[str, Any]:
    async def ask(session: aiohttp.ClientSession, times: int) -> int:
        total = 0
        for _ in range(times):
            async with get(session) as response:
                page = orjson.loads(await response.read())
            total += len(page["data"][0]["text"])
        return total

    async def main() -> dict[str, Any]:
        async with aiohttp.ClientSession() as session:
            await ask(session, order["warm_requests"])
            meter = Meter()
            total = await ask(session, order["requests"])
            return meter.told(items=order["requests"], checksum=total)

    return asyncio.run(main())


def hashing(order: dict[str, Any]) -> dict[str, Any]:
    """Encodes and hashes, and nothing else: what no upload can do without."""
    people = [canned.person(number) for number in range(order["records"])]
    meter = Meter()
    total = 0
    for email, phone in people:
        digest = hashlib.sha256(email.encode()).hexdigest()
        other = hashlib.sha256(phone.encode()).hexdigest()
        total += len(digest) + len(other)
    return meter.told(items=len(people), checksum=total)


Operations = list[dict[str, Any]]


def operation(*identifiers: tuple[str, str]) -> dict[str, Any]:
    """What adds a user to an audience: kinds and digests."""
    return {"operation_type": "Update", "params": {"users": [{kind: [digest] for kind, digest in identifiers}]}}


def _operations(people: list[dict[str, str]]) -> Operations:
    return [
        operation(
            ("email", hashlib.sha256(each["email"].strip().lower().encode()).hexdigest()),
            ("phone_number", hashlib.sha256(each["phone_number"].strip().encode()).hexdigest()),
        )
        for each in people
    ]


def audience(order: dict[str, Any]) -> dict[str, Any]:
    """Builds dicts and sends them with orjson, in the shape of the service."""
    return asyncio.run(audience_with(_operations, order))


async def audience_with(
    operations_of: Callable[[list[dict[str, str]]], Operations], order: dict[str, Any]
) -> dict[str, Any]:
    """Sends what `operations_of` makes of so many people at a time."""

    async def send(session: aiohttp.ClientSession, people: list[dict[str, str]]) -> int:
        accepted = 0
        url = f"{order['url']}/ads/12/accounts/a/custom_audiences/c/users"
        for start in range(0, len(people), ROWS_A_REQUEST):
            body = orjson.dumps(operations_of(people[start : start + ROWS_A_REQUEST]))
            async with session.post(url, data=body) as response:
                accepted += orjson.loads(await response.read())["data"]["success_count"]
        return accepted

    warm, people = people_of(order)
    async with aiohttp.ClientSession(headers=JSON) as session:
        await send(session, warm)
        meter = Meter()
        accepted = await send(session, people)
        return meter.told(items=accepted)


def people_of(order: dict[str, Any]) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """The rows to warm up with, which are others, and those that count."""
    records = order["records"]
    warm, people = (
        [{"email": email, "phone_number": phone} for email, phone in each]
        for each in (map(canned.person, range(records, records + order["warm_records"])), canned.people(order))
    )
    return warm, people


def products(order: dict[str, Any]) -> dict[str, Any]:
    """Puts products 25 at a time, so many requests at once."""
    return products_with(None, order)


def products_with(check: Callable[[list[dict[str, str]]], None] | None, order: dict[str, Any]) -> dict[str, Any]:
    """Puts products; `check`, if there is one, looks at those of each request first."""

    async def main() -> dict[str, Any]:
        shapes = [canned.product(number) for number in range(order["products"])]
        gate = asyncio.Semaphore(order["at_once"])
        async with aiohttp.ClientSession(headers=JSON) as session:

            async def put(part: list[dict[str, str]]) -> int:
                if check is not None:
                    check(part)
                async with (
                    gate,
                    session.put(
                        f"{order['url']}/ads/12/product_catalogs/c/products", data=orjson.dumps({"products": part})
                    ) as response,
                ):
                    answers = orjson.loads(await response.read())["data"]["products_response"]
                return sum(each["status"] == "CREATE_SUCCESS" for each in answers)

            await put(shapes[:PRODUCTS_A_REQUEST])
            meter = Meter()
            parts = [shapes[at : at + PRODUCTS_A_REQUEST] for at in range(0, len(shapes), PRODUCTS_A_REQUEST)]
            return meter.told(items=sum(await asyncio.gather(*map(put, parts))))

    return asyncio.run(main())


def quota(order: dict[str, Any]) -> dict[str, Any]:
    """Sends small requests, `at_once` of them at a time, each of which waits as long as a 429
    says.
    """

    async def main() -> dict[str, Any]:
        url = f"{order['url']}/ads/12/accounts/a/custom_audiences/c/users"
        body = orjson.dumps(_operations([{"email": "ada@example.com", "phone_number": "+14155552671"}]))
        meter = Meter()

        async def send_until_the_end(session: aiohttp.ClientSession) -> int:
            accepted = 0
            while meter.seconds < order["seconds"]:
                async with session.post(url, data=body) as response:
                    answer = orjson.loads(await response.read())
                if response.status == 429:
                    await asyncio.sleep(min(float(response.headers["Retry-After"]), order["seconds"]))
                else:
                    accepted += answer["data"]["success_count"]
            return accepted

        async with aiohttp.ClientSession(headers=JSON) as session:
            sending = (send_until_the_end(session) for _ in range(order.get("at_once", 1)))
            return meter.told(items=sum(await asyncio.gather(*sending)))

    return asyncio.run(main())
