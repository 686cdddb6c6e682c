"""What the stub answers with, and what a contestant must find in it: made from numbers, so that both sides know it."""

from collections.abc import Callable, Iterable
from typing import Any, Final

import orjson

POSTS_A_PAGE: Final = 100
LINES_A_BLOCK: Final = 500
"""A stream repeats so many posts."""

Shape = Callable[[int], dict[str, Any]]

_WORDS: Final = (
    "Snow on the hut again, the path is open, Grüße from the ridge \N{SNOWFLAKE}. More tomorrow: rope, boots, soup."
)
_FIRST_ID: Final = 1_988_000_000_000_000_000


def post(number: int) -> dict[str, Any]:
    """A post with the fields that timelines are mostly asked for."""
    post_id = str(_FIRST_ID + number * 7)
    return {
        "id": post_id,
        "text": _WORDS[number % 40 :] + f" #{number}",
        "created_at": f"2026-11-{number % 28 + 1:02}T{number % 24:02}:{number % 60:02}:{number % 59:02}.000Z",
        "author_id": "2244994945",
        "conversation_id": post_id,
        "lang": "en",
        "edit_history_tweet_ids": [post_id],
        "possibly_sensitive": False,
        "public_metrics": {
            "retweet_count": number % 13,
            "reply_count": number % 11,
            "like_count": number % 1009,
            "quote_count": number % 7,
            "impression_count": number % 10_007,
        },
    }


def post_for_xdk(number: int) -> dict[str, Any]:
    """The same post with the counts as xdk names them: it refuses a post without these two."""
    shape = post(number)
    metrics = shape["public_metrics"]
    metrics["repost_count"] = metrics.pop("retweet_count")
    metrics["bookmark_count"] = 0
    return shape


def page(number: int, pages: int, shape: Shape = post) -> bytes:
    """One page of a timeline; the token of the next one is its number."""
    first = number * POSTS_A_PAGE
    meta: dict[str, Any] = {"result_count": POSTS_A_PAGE}
    if number + 1 < pages:
        meta["next_token"] = str(number + 1)
    return orjson.dumps({"data": [shape(first + each) for each in range(POSTS_A_PAGE)], "meta": meta})


def line(number: int, shape: Shape = post) -> bytes:
    """One line of a filtered stream, its end included."""
    rules = [{"id": "1166916266197536768", "tag": "snow"}]
    return orjson.dumps({"data": shape(number % LINES_A_BLOCK), "matching_rules": rules}) + b"\r\n"


def checksum_of_posts(numbers: Iterable[int]) -> int:
    """What `len(text) + like_count` of all of these comes to."""
    return sum(len(each["text"]) + each["public_metrics"]["like_count"] for each in map(post, numbers))


def person(number: int) -> tuple[str, str]:
    """An e-mail address and a phone number as a customer database has them."""
    return f"Person.{number}@Example.com", f"+1415{5_550_000 + number % 1_000_000:07}"


def product(number: int) -> dict[str, str]:
    """A product that keeps every rule of the service."""
    return {
        "id": f"SKU-{number}",
        "title": f"Cairn boots {number}",
        "description": "Made to be repaired. Leather, wool, and a sole that can be replaced twice.",
        "availability": "in stock",
        "condition": "new",
        "price": f"{number % 900 + 10}.00 EUR",
        "link": f"https://shop.example/boots/{number}",
        "image_link": f"https://shop.example/boots/{number}.jpg",
        "brand": "Northwind",
        "product_type": "Shoes > Boots",
    }
