"""Articles: drafted, and published as a post (platform section 4.4)."""

from typing import Any, Final

from socialapi.emulator.arguments import Arguments
from socialapi.emulator.call import Call
from socialapi.emulator.envelopes import Answer, Refusal, data, invalid_request, not_found
from socialapi.emulator.platform.endpoint import serves, user_of
from socialapi.emulator.platform.post_creation import WRITE_SCOPES
from socialapi.emulator.platform.post_making import new_post
from socialapi.emulator.platform.records import StoredArticle
from socialapi.routes import platform as routes

_MEDIA_NAMES: Final = ("media_key", "media_id", "id")


@serves(routes.ARTICLE_DRAFT, scopes=WRITE_SCOPES)
async def draft_article(call: Call, arguments: Arguments) -> Answer:
    """The draft, which nobody else sees."""
    body = arguments.body
    if not body["title"].strip():
        raise invalid_request("an article needs a title", {"title": [body["title"]]})
    _check_cover(call, body.get("cover_media", {}))
    article = StoredArticle(
        id=str(call.state.platform.new_id(call.now)),
        author_id=user_of(call).id,
        title=body["title"],
        content_state=body["content_state"],
        cover_media=body.get("cover_media"),
    )
    call.state.platform.articles[article.id] = article
    return data({"id": article.id, "title": article.title}, 201)


@serves(routes.ARTICLE_PUBLISH, scopes=WRITE_SCOPES)
async def publish_article(call: Call, arguments: Arguments) -> Answer:
    """The post that the draft becomes. It can become one only."""
    author = user_of(call)
    article = call.state.platform.articles.get(arguments.path["article_id"])
    if article is None or article.author_id != author.id:
        raise not_found("article", "article_id", arguments.path["article_id"])
    if article.post_id is not None:
        raise Refusal(409, "CONFLICT", f"the article was published before, as post {article.post_id}")
    link = f"https://social.example/{author.username}/articles/{article.id}"
    post = new_post(call.state, author, f"{article.title}\n\n{link}")
    article.post_id = post.id
    call.service.publishing.post_created(call.state, post)
    return data({"post_id": article.post_id})


def _check_cover(call: Call, cover: dict[str, Any]) -> None:
    """The medium may be named by its key or by its id, since neither is documented."""
    media = call.state.platform.media
    known = {*media, *(key.partition("_")[2] for key in media)}
    for name in _MEDIA_NAMES:
        if name in cover and cover[name] not in known:
            parameter = f"cover_media.{name}"
            raise invalid_request(f"{parameter} names no uploaded medium", {parameter: [str(cover[name])[:100]]})
