"""`socialapi posts by-user`."""

import asyncio
import contextlib
import shlex
from typing import Annotated, Any

import orjson
from cyclopts import Parameter, validators

from socialapi.cli import exits
from socialapi.cli.connecting import open_client
from socialapi.cli.exits import printable
from socialapi.errors import SocialApiError
from socialapi.models.fields import Fields
from socialapi.models.pages import Page
from socialapi.models.posts import Post
from socialapi.models.users import User
from socialapi.problems import Problem, ServiceError
from socialapi.session.pager import Pager
from socialapi.unset import UNSET
from socialapi.wire.encoding import json_shape


async def by_user(
    user: Annotated[str, Parameter(help="Id of the user.")],
    /,
    *,
    limit: Annotated[
        int | None, Parameter(help="Most posts to print; by default all of them.", validator=validators.Number(gte=1))
    ] = None,
    max_results: Annotated[int | None, Parameter(help="Posts of one request, 5 to 100.")] = None,
    fields: Annotated[
        str | None, Parameter(help="Fields beyond id and text, as created_at,public_metrics,….", negative=())
    ] = None,
    expansions: Annotated[
        str | None, Parameter(help="Related objects to include; author_id adds the author's name.", negative=())
    ] = None,
    start: Annotated[
        str | None, Parameter(help="Go on from here: the position that an earlier run ended with.")
    ] = None,
    json: Annotated[bool, Parameter(help="Print JSON Lines, one object for each post.", negative=())] = False,
) -> int:
    """Print a user's posts, the newest first, one on a line.

    When it stops before the end (by --limit, by Ctrl-C or by an error) it says on standard error how to go on:
    --start with the position, and nothing is skipped or printed twice. Exit status: 0 done, 2 wrong usage, 3 refused
    by the service or unreachable, 130 interrupted.
    """
    expanded = names_in(expansions)
    chosen = names_in(fields) + (["author_id"] if "author_id" in expanded else [])
    async with open_client() as client:
        pager = client.posts.by_user(
            user,
            max_results=UNSET if max_results is None else max_results,
            fields=Fields(post=list(dict.fromkeys(chosen)), expansions=expanded),
            start=start,
        )
        walk = _Walk(pager, as_json=json)
        try:
            is_over = await walk.run(limit)
        except (asyncio.CancelledError, SocialApiError):
            walk.say_position()
            raise
    if not is_over:
        walk.say_position()
    return exits.DONE


def names_in(text: str | None) -> list[str]:
    """The names of a comma-separated option."""
    return [name for part in (text or "").split(",") if (name := part.strip())]


class _Walk:
    """Prints posts and knows where it is, between any two of them."""

    def __init__(self, pager: Pager[Post], *, as_json: bool) -> None:
        self._pager = pager
        self._as_json = as_json
        self._position = pager.position
        self._printed = 0

    async def run(self, limit: int | None) -> bool:
        """Prints posts, at most so many; whether these were all."""
        seen: Page[Post] | None = None
        async with contextlib.aclosing(self._pager.with_pages()) as walk:
            async for post, page in walk:
                if page is not seen:
                    seen = page
                    for error in page.errors:
                        exits.say(printable(_sentence(error)))
                self._print(post, page)
                self._printed += 1
                self._position = self._pager.position
                if self._printed == limit:
                    return page.next_token is None and post is page.data[-1]
        return True

    def _print(self, post: Post, page: Page[Post]) -> None:
        author = page.includes.author(post)
        print(json_line(post, author) if self._as_json else text_line(post, author), flush=True)

    def say_position(self) -> None:
        """How to go on."""
        exits.say(f"stopped after {self._printed:,} posts; go on with --start {shlex.quote(self._position)}")


def json_line(post: Post, author: User | None) -> str:
    """What the service said of the post, and of its author if it was included."""
    shape = _said(json_shape(post)) | ({"author": _said(json_shape(author))} if author else {})
    return orjson.dumps(shape).decode()


def _said(value: Any) -> Any:
    """Without what the answer did not have."""
    if isinstance(value, dict):
        return {name: _said(each) for name, each in value.items() if each is not None and each not in ([], {})}
    return [_said(each) for each in value] if isinstance(value, list) else value


def _sentence(error: Problem | ServiceError) -> str:
    """What the service said of something that it left out."""
    if isinstance(error, ServiceError):
        return error.message or f"error {error.code}"
    return error.detail or error.title or error.type


def text_line(post: Post, author: User | None) -> str:
    """Id, time, author and text; what is no printable sign in them cannot move the terminal's cursor."""
    time = f"{post.created_at:%Y-%m-%d %H:%M}" if post.created_at else None
    name = f"@{author.username}" if author and author.username else None
    return "  ".join(printable(part) for part in (post.id, time, name, post.text) if part)
