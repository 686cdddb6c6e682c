"""aiohttp and orjson by hand, with cattrs as it comes for the objects: what typed results cost without more thought."""

from typing import Any

from cattrs.preconf.orjson import make_converter

from benchmarks.contestants.by_hand import paging_with
from socialapi.types import Post


def paging(order: dict[str, Any]) -> dict[str, Any]:
    """Walks a timeline."""
    converter = make_converter()

    def read(page: dict[str, Any]) -> tuple[int, int]:
        items = total = 0
        for post in converter.structure(page["data"], list[Post]):
            assert post.text is not None
            assert post.public_metrics is not None
            items += 1
            total += len(post.text) + (post.public_metrics.like_count or 0)
        return items, total

    return paging_with(read, order)
