"""Fills the platform API with the seed data: posts and their references, news, rules, connections."""

import uuid
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from socialapi.emulator.advertising.state import Record
from socialapi.emulator.platform.new_posts import post_fields
from socialapi.emulator.platform.state import PostRecord, StreamConnection, id_at, time_of_id
from socialapi.emulator.seed.records import contents, derived, epoch, filled, records
from socialapi.emulator.state import App, State, User

POSTS_LISTED: Final = 250
"""The number of post ids in the seed: handwritten posts first, then the newest remaining posts of the first user."""

_REFERENCES: Final = ("replied_to", "quoted", "retweeted")


def plant_platform(state: State) -> dict[str, list[str]]:
    """Adds posts, media, news and rules for the existing users, and returns the ids by kind."""
    platform, author = state.platform, next(iter(state.users.values()))
    platform.media = {each["media_key"]: each for each in records("posts", "media")}
    platform.polls = {each["id"]: each for each in records("posts", "polls")}
    platform.places = {each["id"]: each for each in records("posts", "places")}
    written = sum(row["author"] == author.username for row in contents("posts")["posts"])
    timeline = SeedTimeline(state, author, contents("timeline")["count"] - written)
    platform.posts.generate(timeline)
    posts = _plant_posts(state)
    platform.notable_posts = [int(posts[name].id) for name in contents("posts")["notable"]]
    author.profile["pinned_tweet_id"] = posts[contents("posts")["pinned"]].id
    for story in records("posts", "news"):
        clustered = [{"post_id": posts[name].id} for name in story["cluster_posts_results"]]
        platform.news[int(story["id"])] = story | {"cluster_posts_results": clustered}
    platform.powerstream_rules = {int(rule["id"]): rule for rule in records("posts", "powerstream_rules")}
    public = [post.id for post in posts.values() if not state.users[post.author_id].profile["protected"]]
    newest = [str(post_id) for post_id in timeline.ids[: len(public) - POSTS_LISTED - 1 : -1]]
    return {
        "post_ids": public + newest,
        "media_keys": list(platform.media),
        "news_ids": [story["id"] for story in platform.news.values()],
    }


def plant_connections(state: State, app: App) -> None:
    """Adds the streaming connections that the app had in the past."""
    now = state.clock.now()
    for past in contents("posts")["connections"]:
        connection = StreamConnection(
            id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{app.api_key}/{past['endpoint_id']}")),
            app_key=app.api_key,
            endpoint_id=past["endpoint_id"],
            connected_at=now - past["connected_seconds_ago"],
            disconnected_at=now - past["disconnected_seconds_ago"],
            disconnect_reason=past["disconnect_reason"],
        )
        state.platform.connections.append(connection)


def _plant_posts(state: State) -> dict[str, PostRecord]:
    """Adds the posts that are written by hand, and returns them by name, in chronological order."""
    planted: dict[str, PostRecord] = {}
    for index, row in enumerate(records("posts", "posts")):
        name, username, text = (row.pop(field) for field in ("name", "author", "text"))
        author = state.user_named(username)
        assert author is not None, "every author is one of the users"
        at_ms = epoch(row.pop("created_at")) * 1_000
        fields = post_fields(state, author, str(id_at(at_ms) + index), text, at_ms / 1000)
        fields["public_metrics"] = _metrics(120 + 37 * index, retweets=9, replies=14, quotes=40, impressions=55)
        for kind in _REFERENCES:
            if kind in row:
                _refer(fields, kind, row.pop(kind), planted)
        planted[name] = PostRecord.of(fields | row, at_ms / 1000)
        state.platform.posts.put(planted[name])
    state.platform.last_id = max(int(post.id) for post in planted.values())
    return planted


def _refer(fields: Record, kind: str, target: str, planted: dict[str, PostRecord]) -> None:
    """Adds a reference. The target is the name of a post, or the id of a deleted post."""
    post = planted.get(target)
    fields["referenced_tweets"] = [{"type": kind, "id": post.id if post else target}]
    if kind == "replied_to" and post is not None:
        fields["conversation_id"] = post.fields["conversation_id"]
        fields["in_reply_to_user_id"] = post.author_id


def _metrics(likes: int, *, retweets: int, replies: int, quotes: int, impressions: int) -> dict[str, int]:
    """Returns the counts of a post: its retweets, replies and quotes are fractions of its likes, and its impressions
    are a multiple.
    """
    return {
        "retweet_count": likes // retweets,
        "reply_count": likes // replies,
        "like_count": likes,
        "quote_count": likes // quotes,
        "impression_count": likes * impressions,
    }


class SeedTimeline:
    """The long timeline of a user. Each post is derived from its position when it is read."""

    def __init__(self, state: State, author: User, count: int) -> None:
        self.author_id: str = author.id
        self._author = author
        self._state = state
        self._media = sorted(state.platform.media)
        self._content = contents("timeline")
        self.ids, self._indexes = _timeline_ids(count)

    def record(self, post_id: str) -> PostRecord | None:
        """Returns the post with the id, if it is one of these posts."""
        index = self._indexes.get(post_id)
        if index is None:
            return None
        at, lists = time_of_id(int(post_id)), self._content["words"]
        words = {name: each[_mixed(index, salt) % len(each)] for salt, (name, each) in enumerate(lists.items(), 1)}
        words["number"] = index + 1
        text = filled({"text": self._content["texts"][index % len(self._content["texts"])]}, **words)["text"]
        fields = post_fields(self._state, self._author, post_id, text, at)
        likes = _mixed(index, 10) % 900
        fields["public_metrics"] = _metrics(likes, retweets=7, replies=19, quotes=31, impressions=41)
        fields["public_metrics"]["impression_count"] += 600
        if index % 5 == 0:
            fields["attachments"] = {"media_keys": [self._media[index // 5 % len(self._media)]]}
        if index % 3 == 0:
            entity = {"id": str(1000 + lists["product"].index(words["product"])), "name": words["product"]}
            fields["context_annotations"] = [{"domain": derived(self._content["domain"], {}), "entity": entity}]
        if index % 6 == 1 and words["place"] in self._content["place_ids"]:
            fields["geo"] = {"place_id": self._content["place_ids"][words["place"]]}
        self._refer(index, fields)
        return PostRecord.of(fields, at)

    def _refer(self, index: int, fields: Record) -> None:
        """Adds references: some posts reply to an earlier post, some quote one."""
        if index % 6 == 5 and index >= 7:
            earlier = str(self.ids[index - 7])
            fields["referenced_tweets"] = [{"type": "replied_to", "id": earlier}]
            fields["conversation_id"], fields["in_reply_to_user_id"] = earlier, self.author_id
        elif index % 6 == 4 and index >= 9:
            fields["referenced_tweets"] = [{"type": "quoted", "id": str(self.ids[index - 9])}]


@cache
def _timeline_ids(count: int) -> tuple[Sequence[int], Mapping[str, int]]:
    """Returns the ids of the timeline, which are the same every time, and their indexes."""
    content = contents("timeline")
    first, step = epoch(content["first_at"]) * 1_000, content["seconds_apart"] * 1_000
    times = (first + index * step + _mixed(index, 0) % step for index in range(count))
    ids = [id_at(at) + index % 4096 for index, at in enumerate(times)]
    return ids, {str(post_id): index for index, post_id in enumerate(ids)}


def _mixed(index: int, salt: int) -> int:
    """Returns a number that looks random, but is the same every time."""
    value = (index * 2_654_435_761 + salt * 40_503 + 12_345) & 0xFFFFFFFF
    value = ((value ^ value >> 15) * 2_246_822_519) & 0xFFFFFFFF
    return value ^ value >> 13
