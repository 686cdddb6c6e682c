"""aiohttp and orjson by hand, with cattrs as it comes for the objects: what typed results cost without more thought."""

import asyncio
from typing import Any

import aiohttp
import orjson
from cattrs.preconf.orjson import make_converter

from benchmarks.contestants.measuring import Meter
from benchmarks.contestants.raw import HEADERS
from socialapi.types import Post


def paging(order: dict[str, Any]) -> dict[str, Any]:
    """Walks a timeline."""
    converter = make_converter()

    async def walk(session: aiohttp.ClientSession, pages: int) -> tuple[int, int]:
        items = total = 0
        params = {"max_results": "100"}
        while True:
            async with session.get(f"{order['url']}/2/users/{pages}/tweets", params=params) as response:
                page = orjson.loads(await response.read())
            for post in converter.structure(page["data"], list[Post]):
                assert post.text is not None
                assert post.public_metrics is not None
                items += 1
                total += len(post.text) + (post.public_metrics.like_count or 0)
            token = page["meta"].get("next_token")
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
