"""Trending news stories (platform section 4.4)."""

from typing import Any

from socialapi.emulator.arguments import Arguments
from socialapi.emulator.call import Call
from socialapi.emulator.envelopes import Answer, data, not_found
from socialapi.emulator.platform.endpoint import serves
from socialapi.emulator.platform.paging import collection
from socialapi.emulator.platform.selection import chosen, news_selection
from socialapi.routes import platform as routes


@serves(routes.NEWS_SEARCH)
async def search_news(call: Call, arguments: Arguments) -> Answer:
    """The stories whose name and summary together hold every word of the query; all of them without one."""
    names = news_selection(arguments.query)
    words = arguments.query.get("query", "").lower().split()
    stories = call.state.platform.news
    found = {key: story for key, story in stories.items() if all(word in _text(story) for word in words)}
    shown, meta = collection(call, arguments, found, lambda story: chosen(story, names))
    return data(shown, meta=meta)


@serves(routes.NEWS_STORY)
async def news_story(call: Call, arguments: Arguments) -> Answer:
    """One story."""
    names = news_selection(arguments.query)
    wanted = arguments.path["id"]
    for story in call.state.platform.news.values():
        if story["id"] == wanted:
            return data(chosen(story, names))
    raise not_found("news", "id", wanted)


def _text(story: dict[str, Any]) -> str:
    text: str = f"{story['name']} {story['summary']}"
    return text.lower()
