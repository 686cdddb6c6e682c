"""Handlers for advertiser posts and their names."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from socialapi.emulator.advertising.state import Record
from socialapi.emulator.clock import timestamp
from socialapi.emulator.creatives.media import of_platform
from socialapi.emulator.creatives.state import CARDS, CONVERSATIONS, LIBRARY, POLLS, POSTS
from socialapi.emulator.handlers import Call, serves
from socialapi.emulator.platform.new_posts import new_post
from socialapi.emulator.platform.state import PostRecord
from socialapi.emulator.responses import Answer, ads_data, ads_not_found, forbidden
from socialapi.models.creatives import MAX_MEDIA
from socialapi.problems import BrokenRule
from socialapi.routes import creatives as routes

_KEPT: Final = (
    *("name", "card_uri", "conversation_settings", "media_keys"),
    *("video_cta", "video_cta_value", "video_description", "video_title"),
)
_SHOWN: Final = tuple(name for name in _KEPT if name != "conversation_settings")
_ALONE: Final = ("VIDEO", "GIF")


def _rules(call: Call) -> Iterable[BrokenRule]:
    """Yields the violations in a post. Raises Refusal if the author may not post, or if the media or the card of the
    post do not exist.
    """
    query = call.query
    author = call.state.users.get(_author_id(query))
    if author is None or call.account_id not in author.account_ids:
        raise forbidden("the user has not granted access to the account", "as_user_id")
    if not query.get("nullcast", True) and author.id != call.user.id:
        raise forbidden("organic posts are only possible for the authenticated user", "nullcast")
    library = call.table(LIBRARY)
    media = [library.get(key) for key in query.get("media_keys", ())]
    lost = [key for key, medium in zip(query.get("media_keys", ()), media, strict=True) if medium is None]
    missing = {"media_keys": ", ".join(lost)} if lost else {}
    if "card_uri" in query and not _is_card(call, query["card_uri"]):
        missing["card_uri"] = query["card_uri"]
    if missing:
        raise ads_not_found(**missing)
    kinds = [medium["media_type"] for medium in media if medium is not None]
    if len(kinds) > 1 and any(kind in _ALONE for kind in kinds):
        yield BrokenRule(path="media_keys", reason=f"must be up to {MAX_MEDIA} images, one GIF, or one video")


@serves(routes.ADVERTISER_POST_CREATE, rules=_rules)
async def create_post(call: Call) -> Answer:
    """Creates a post in the account and on the platform, and returns it. A post that is only shown as an ad does not
    appear in any timeline or stream.
    """
    query = call.query
    author = call.state.users[_author_id(query)]
    further: dict[str, Any] = {}
    if media_keys := query.get("media_keys"):
        further["attachments"] = {"media_keys": media_keys}
        library = call.table(LIBRARY)
        for key in media_keys:
            medium = library.get(key)
            assert medium is not None, "the rules checked that it exists"
            library.change(medium, tweeted=True)
            call.state.platform.media.setdefault(key, of_platform(medium))
    post = new_post(call.state, author, query.get("text", ""), nullcast=query.get("nullcast", True), **further)
    call.service.publishing.post_created(call.state, post)
    kept = {name: list(value) if isinstance(value, tuple) else value for name, value in query.items() if name in _KEPT}
    made = call.table(POSTS).add(_record(post) | kept)
    return ads_data(_shown(call, made), call.echo)


@serves(routes.ADVERTISER_POST_RENAME)
async def rename_post(call: Call) -> Answer:
    """Sets the name of a post by one of the account's advertisers, and returns the post. The account keeps a record of
    every post that was named or created here.
    """
    record = call.table(POSTS).get(call.path["tweet_id"])
    if record is None:
        post = call.state.platform.posts.get(call.path["tweet_id"])
        if post is None or call.account_id not in call.state.users[post.author_id].account_ids:
            raise ads_not_found("tweet_id")
        record = call.table(POSTS).add(_record(post))
    call.table(POSTS).change(record, name=call.query["name"])
    return ads_data(_shown(call, record), call.echo)


def _author_id(query: Mapping[str, Any]) -> str:
    """Returns the id of the author without leading zeros."""
    return str(int(query["as_user_id"]))


def _is_card(call: Call, uri: str) -> bool:
    scheme, _, card_id = uri.partition("://")
    kinds = (CARDS, POLLS, CONVERSATIONS)
    tables = (call.table(kind) for kind in kinds)
    return scheme == "card" and any(table.get(card_id) is not None for table in tables)


def _record(post: PostRecord) -> Record:
    """Returns the record of a post to be stored for an account."""
    return {
        "id": post.id,
        "author_id": post.author_id,
        "text": post.fields["text"],
        "nullcast": post.nullcast,
        "created_at": timestamp(post.created_at),
    }


def _shown(call: Call, post: Record) -> Record:
    """Returns the post in the form that `tweet_mode` and `trim_user` select, without its reply settings."""
    author, query = call.state.users[post["author_id"]], call.query
    said: Record = {name: post[name] for name in ("id", "text", "nullcast", "created_at")}
    said |= {name: post[name] for name in _SHOWN if name in post}
    if query.get("tweet_mode") == "extended":
        said["full_text"] = post["text"]
    trimmed = query.get("trim_user", False)
    name = author.profile.get("name", author.username)
    said["user"] = {"id": author.id} if trimmed else {"id": author.id, "name": name, "username": author.username}
    return said
