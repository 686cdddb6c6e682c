"""Handlers for articles, news and community notes."""

import hashlib
from typing import Any, Final

import orjson

from socialapi.emulator.handlers import Call, serves
from socialapi.emulator.paging import Numbered, paginate, paginate_items
from socialapi.emulator.platform.new_posts import new_post
from socialapi.emulator.platform.post_projection import may_read
from socialapi.emulator.platform.posts import posts_answer
from socialapi.emulator.platform.selection import pick_fields, selected_names, selection
from socialapi.emulator.platform.state import StoredArticle, StoredNote
from socialapi.emulator.responses import Answer, Refusal, data, invalid, platform_not_found
from socialapi.routes import platform as routes

_MEDIA_NAMES: Final = ("media_key", "media_id", "id")


@serves(routes.ARTICLE_DRAFT)
async def draft_article(call: Call) -> Answer:
    """Creates a draft, which only its author can see, and returns it."""
    body = call.body
    if not body["title"].strip():
        raise invalid("title", "must not be blank", body["title"])
    # A cover may be identified by its key or its id, because the documentation does not specify which.
    cover = body.get("cover_media", {})
    media = call.state.platform.media
    known = {*media, *(key.partition("_")[2] for key in media)}
    for name in _MEDIA_NAMES:
        if name in cover and not (isinstance(cover[name], str) and cover[name] in known):
            parameter = f"cover_media.{name}"
            raise invalid(parameter, "does not match any uploaded medium", str(cover[name])[:100])
    article_id = str(call.state.platform.new_id(call.now))
    article = StoredArticle(id=article_id, author_id=call.user.id, title=body["title"])
    call.state.platform.articles[article.id] = article
    return data({"id": article.id, "title": article.title}, call.success_status)


@serves(routes.ARTICLE_PUBLISH)
async def publish_article(call: Call) -> Answer:
    """Publishes the draft as a post, and returns the post. A draft can be published only once."""
    author = call.user
    article = call.state.platform.articles.get(call.path["article_id"])
    if article is None or article.author_id != author.id:
        raise platform_not_found("article", "article_id", call.path["article_id"])
    if article.post_id is not None:
        raise Refusal(409, "CONFLICT", f"the article was already published, as post {article.post_id}")
    link = f"https://social.example/{author.username}/articles/{article.id}"
    post = new_post(call.state, author, f"{article.title}\n\n{link}")
    article.post_id = post.id
    call.service.publishing.post_created(call.state, post)
    return data({"post_id": article.post_id})


@serves(routes.NEWS_SEARCH)
async def search_news(call: Call) -> Answer:
    """Returns the stories whose name and summary together contain every word of the query."""
    names = selected_names(call.query, "news.fields")
    words = call.query["query"].lower().split()
    stories = call.state.platform.news
    texts = {key: f"{story['name']} {story['summary']}".lower() for key, story in stories.items()}
    found = {key: stories[key] for key, text in texts.items() if all(word in text for word in words)}
    shown, meta = paginate_items(call, found, lambda story: pick_fields(story, names))
    return data(shown, meta=meta)


@serves(routes.NEWS_STORY)
async def news_story(call: Call) -> Answer:
    """Returns one story."""
    names = selected_names(call.query, "news.fields")
    wanted = call.path["id"]
    for story in call.state.platform.news.values():
        if story["id"] == wanted:
            return data(pick_fields(story, names))
    raise platform_not_found("news", "id", wanted)


@serves(routes.NOTE_EVALUATE)
async def evaluate_note(call: Call) -> Answer:
    """Returns a score from 0 to 1, which is always the same for the same text."""
    _check_post(call, call.body)
    content = orjson.dumps(call.body, option=orjson.OPT_SORT_KEYS)
    return data({"claim_opinion_score": hashlib.sha256(content).digest()[0] / 255})


@serves(routes.NOTE_SUBMIT)
async def submit_note(call: Call) -> Answer:
    """Creates a note, and returns it with its id."""
    _check_post(call, call.body)
    key = call.state.platform.new_id(call.now)
    note = StoredNote(id=str(key), writer=_writer(call), fields=call.body)
    call.state.platform.notes[key] = note
    return data(_shown(note), call.success_status)


@serves(routes.NOTES_ELIGIBLE_POSTS)
async def eligible_posts(call: Call) -> Answer:
    """Returns the posts on which notes can be written. Accepts the same field parameters as other calls that return
    posts.
    """
    selected = selection(call.query)
    page = paginate(call, Numbered(call.state.platform.notable_posts, newest_first=True))
    return posts_answer(call, call.state.platform.posts.known(page.positions), selected, meta=page.meta)


@serves(routes.NOTES_WRITTEN)
async def notes_written(call: Call) -> Answer:
    """Returns the notes of the caller, newest first."""
    own = {key: note for key, note in call.state.platform.notes.items() if note.writer == _writer(call)}
    shown, meta = paginate_items(call, own, _shown, newest_first=True)
    return data(shown, meta=meta)


def _writer(call: Call) -> str:
    """Returns the id of the user, or the key of an app that acts without a user."""
    return call.caller.user.id if call.caller.user else call.caller.app.api_key


def _check_post(call: Call, body: dict[str, Any]) -> None:
    post_id = body.get("post_id")
    if not isinstance(post_id, str):
        return
    post = call.state.platform.posts.get(post_id)
    if post is None or not may_read(call.state.users[post.author_id], call.caller.user):
        raise platform_not_found("tweet", "post_id", post_id[:100])


def _shown(note: StoredNote) -> dict[str, Any]:
    return {**note.fields, "id": note.id}
