"""xdk, which takes the address of the service as an argument. It is synchronous."""

from typing import Any

import xdk

from benchmarks.contestants.measuring import Meter


def _client(order: dict[str, Any]) -> Any:
    return xdk.Client(base_url=order["url"], bearer_token="token")


def paging(order: dict[str, Any]) -> dict[str, Any]:
    """Walks a timeline."""

    def walk(client: Any, pages: int) -> tuple[int, int]:
        items = total = 0
        for page in client.users.get_posts(str(pages), max_results=100):
            for post in page.data:
                items += 1
                total += len(post.text) + post.public_metrics.like_count
        return items, total

    client = _client(order)
    walk(client, order["warm_pages"])
    meter = Meter()
    items, total = walk(client, order["pages"])
    return meter.told(items=items, checksum=total)


def small(order: dict[str, Any]) -> dict[str, Any]:
    """Asks for one post again and again."""

    def ask(client: Any, times: int) -> int:
        return sum(len(client.posts.get_by_ids(["1"]).data[0].text) for _ in range(times))

    client = _client(order)
    ask(client, order["warm_requests"])
    meter = Meter()
    total = ask(client, order["requests"])
    return meter.told(items=order["requests"], checksum=total)


def stream(order: dict[str, Any]) -> dict[str, Any]:
    """Reads the filtered stream."""
    total = 0
    last = order["warm_posts"] + order["posts"]
    meter = Meter()
    for seen, event in enumerate(_client(order).stream.posts(), 1):
        if seen > order["warm_posts"]:
            total += len(event.data.text) + event.data.public_metrics.like_count
            if seen == last:
                break
        elif seen == order["warm_posts"]:
            meter = Meter()
    return meter.told(items=order["posts"], checksum=total)
