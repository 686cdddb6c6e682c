"""requests and httpx, as they are used without an SDK: one session, dicts for results."""

from typing import Any, Final

from benchmarks.contestants.measuring import Meter

HEADERS: Final = {"Authorization": "Bearer token"}


def _walk(get: Any, url: str, pages: int) -> tuple[int, int]:
    items = total = 0
    params = {"max_results": "100"}
    while True:
        page = get(f"{url}/2/users/{pages}/tweets", params=params).json()
        for post in page["data"]:
            items += 1
            total += len(post["text"]) + post["public_metrics"]["like_count"]
        token = page["meta"].get("next_token")
        if token is None:
            return items, total
        params["pagination_token"] = token


def _paging(client: Any, order: dict[str, Any]) -> dict[str, Any]:
    _walk(client.get, order["url"], order["warm_pages"])
    meter = Meter()
    items, total = _walk(client.get, order["url"], order["pages"])
    return meter.told(items=items, checksum=total)


def _small(client: Any, order: dict[str, Any]) -> dict[str, Any]:
    def ask(times: int) -> int:
        answers = (client.get(f"{order['url']}/2/tweets", params={"ids": "1"}) for _ in range(times))
        return sum(len(answer.json()["data"][0]["text"]) for answer in answers)

    ask(order["warm_requests"])
    meter = Meter()
    total = ask(order["requests"])
    return meter.told(items=order["requests"], checksum=total)


def httpx_paging(order: dict[str, Any]) -> dict[str, Any]:
    """Walks a timeline with httpx."""
    import httpx

    with httpx.Client(headers=HEADERS) as client:
        return _paging(client, order)


def httpx_small(order: dict[str, Any]) -> dict[str, Any]:
    """Asks for one post again and again with httpx."""
    import httpx

    with httpx.Client(headers=HEADERS) as client:
        return _small(client, order)


def requests_small(order: dict[str, Any]) -> dict[str, Any]:
    """Asks for one post again and again with requests."""
    import requests

    with requests.Session() as client:
        client.headers.update(HEADERS)
        return _small(client, order)


def requests_oauthlib_small(order: dict[str, Any]) -> dict[str, Any]:
    """Asks for one post again and again with requests, which requests-oauthlib signs."""
    from requests_oauthlib import OAuth1Session

    with OAuth1Session("key", "key-secret", "token", "token-secret") as client:
        return _small(client, order)
