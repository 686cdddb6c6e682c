"""aiohttp by hand, with msgspec for the objects: the fastest typed results that Python has."""

import datetime
from typing import Any

import msgspec

from benchmarks.contestants.by_hand import paging_with


class Metrics(msgspec.Struct):
    """The counts of a post."""

    retweet_count: int
    reply_count: int
    like_count: int
    quote_count: int
    impression_count: int | None = None


class Post(msgspec.Struct):
    """A post with the fields that timelines are mostly asked for."""

    id: str
    text: str
    created_at: datetime.datetime
    author_id: str
    conversation_id: str
    lang: str
    edit_history_tweet_ids: list[str]
    possibly_sensitive: bool
    public_metrics: Metrics


class Meta(msgspec.Struct):
    """The end of a page."""

    result_count: int
    next_token: str | None = None


class Page(msgspec.Struct):
    """A page of posts."""

    data: list[Post]
    meta: Meta


def paging(order: dict[str, Any]) -> dict[str, Any]:
    """Walks a timeline."""

    def read(page: Page) -> tuple[int, int]:
        items = total = 0
        for post in page.data:
            items += 1
            total += len(post.text) + post.public_metrics.like_count
        return items, total

    return paging_with(read, order, msgspec.json.Decoder(Page).decode, lambda page: page.meta.next_token)
