"""Fills the platform API with the seed data: users, posts, media, news, rules and past
connections.
"""

import uuid
from collections.abc import Mapping
from typing import Any, Final

from socialapi.emulator.platform import seed_posts
from socialapi.emulator.platform.seed_posts import NOTABLE, count_by, plant_posts
from socialapi.emulator.platform.seed_timeline import SeedTimeline
from socialapi.emulator.platform.seed_users import NORTHWIND
from socialapi.emulator.platform.state import PostRecord, StreamConnection
from socialapi.emulator.state import App, State

POSTS_OF_FIRST_USER: Final = 20_000
POSTS_LISTED: Final = 250
"""How many ids of posts the seed lists: those written by hand, then the newest of the first user's others."""

_STORIES: Final = (
    (
        "Snow closes mountain passes",
        "Passes in the Alps close two weeks early after the first winter storm.",
        "Weather",
    ),
    ("Night trains are back", "Six new night trains will run to the mountains from December.", "Travel"),
    ("Huts look for wardens", "Forty huts have no warden for the summer; the clubs ask for applications.", "Outdoor"),
    ("The return of the paper map", "Sales of paper maps have doubled, say bookshops in mountain towns.", "Books"),
    ("Repair beats replace", "More outdoor shops repair what they sell, and some do so for free.", "Outdoor"),
    ("Winter reading lists", "Bookshops on what people read in huts when the weather turns.", "Books"),
)
_POWERSTREAM_RULES: Final = (("from:northwind has:media", "northwind"), ("#OutThere -is:retweet", "campaign"))
_PAST_CONNECTIONS: Final = (
    ("filtered_stream", 172_800, 86_400, "UpstreamOperationalDisconnect"),
    ("activity_stream", 90_000, 3_600, "OperationalDisconnect"),
)


def plant_platform(state: State) -> dict[str, list[str]]:
    """Fills what is there beside the users; the ids by kind."""
    platform = state.platform
    platform.media, platform.polls, platform.places = seed_posts.media(), seed_posts.polls(), seed_posts.places()
    timeline = SeedTimeline(state, state.users[NORTHWIND], POSTS_OF_FIRST_USER - count_by(NORTHWIND))
    platform.posts.generate(timeline)
    planted = plant_posts(state)
    platform.notable_posts = [int(planted[name].id) for name in NOTABLE]
    state.users[NORTHWIND].profile["pinned_tweet_id"] = planted["catalogue"].id
    platform.news = _news(planted)
    platform.powerstream_rules = {
        number: {"id": str(number), "value": value, "tag": tag}
        for number, (value, tag) in enumerate(_POWERSTREAM_RULES, 7001)
    }
    public = [post.id for post in planted.values() if not state.users[post.author_id].profile["protected"]]
    newest = [str(timeline[len(timeline) - 1 - index]) for index in range(POSTS_LISTED - len(public))]
    return {
        "post_ids": public + newest,
        "media_keys": list(platform.media),
        "news_ids": [story["id"] for story in platform.news.values()],
    }


def plant_connections(state: State, app: App) -> None:
    """Two streaming connections that the app had in the past."""
    now = state.clock.now()
    for endpoint_id, began, ended, reason in _PAST_CONNECTIONS:
        connection = StreamConnection(
            id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{app.api_key}/{endpoint_id}")),
            app_key=app.api_key,
            endpoint_id=endpoint_id,
            connected_at=now - began,
            disconnected_at=now - ended,
            disconnect_reason=reason,
        )
        state.platform.connections.append(connection)


def _news(planted: Mapping[str, PostRecord]) -> dict[int, dict[str, Any]]:
    posts = [planted[name].id for name in NOTABLE]
    return {
        number: {
            "id": str(number),
            "name": name,
            "summary": summary,
            "contexts": {"topics": [topic], "entities": {"places": ["Alps"]}},
            "cluster_posts_results": [{"post_id": post_id} for post_id in posts[number % 3 :: 3]],
            "last_updated_at_ms": 1_736_400_000_000 + number * 60_000,
        }
        for number, (name, summary, topic) in enumerate(_STORIES, 190_501)
    }
