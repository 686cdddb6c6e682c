"""`socialapi posts`: the posts of a user."""

from typing import Annotated, Any, Final

import orjson
from cyclopts import App, Parameter

from socialapi.cli import output
from socialapi.cli.credential_store import open_client
from socialapi.cli.listing import GO_ON_HELP, is_position, print_lines
from socialapi.cli.options import named, whole_number
from socialapi.cli.output import moment, printable
from socialapi.models.pages import Page
from socialapi.models.posts import Post
from socialapi.models.queries import Fields
from socialapi.models.users import User
from socialapi.wire.encode import json_shape

app: Final = App(name="posts")


@app.command(name="by-user")
async def by_user(
    user: Annotated[str, Parameter(help="Id of the user.")],
    /,
    *,
    limit: Annotated[int | None, whole_number(help="Most posts to print; by default all of them.", least=1)] = None,
    max_results: Annotated[int | None, whole_number(help="Posts of one request, 5 to 100.")] = None,
    fields: Annotated[
        str | None, Parameter(help="Fields beyond id and text, as created_at,public_metrics,….", negative=())
    ] = None,
    expansions: Annotated[
        str | None, Parameter(help="Related objects to include; author_id adds the author's name.", negative=())
    ] = None,
    go_on: Annotated[str | None, Parameter(name=("--go-on", "--start"), help=GO_ON_HELP, validator=is_position)] = None,
    json: Annotated[bool, Parameter(help="Print JSON Lines, one object for each post.", negative=())] = False,
) -> int:
    """Print a user's posts, the newest first, one on a line.

    When it stops before the end (by --limit, by Ctrl-C or by an error) it says on standard error
    how to go on: --go-on with the position, and nothing is skipped or printed twice. Exit status: 0
    done, 2 wrong usage, 3 refused by the service or unreachable, 130 interrupted.
    """
    expanded = names_in(expansions)
    chosen = names_in(fields) + (["author_id"] if "author_id" in expanded else [])
    async with open_client() as client:
        pager = client.posts.by_user(
            user,
            max_results=max_results,
            fields=Fields(post=list(dict.fromkeys(chosen)), expansions=expanded),
            start=go_on,
        )

        def line(post: Post, page: Page[Post]) -> str:
            author = page.includes.author(post)
            return json_line(post, author) if json else text_line(post, author)

        with named({"max_results": "--max-results"}):
            await print_lines(pager, line, what="post", limit=limit, go_on=go_on)
    return output.DONE


def names_in(text: str | None) -> list[str]:
    """Returns the names in a comma-separated option."""
    return [name for part in (text or "").split(",") if (name := part.strip())]


def json_line(post: Post, author: User | None) -> str:
    """Returns the post as JSON, with its author if included, without fields that were not
    returned.
    """
    shape = _said(json_shape(post)) | ({"author": _said(json_shape(author))} if author else {})
    return orjson.dumps(shape).decode()


def _said(value: Any) -> Any:
    """Returns the value without empty fields."""
    if isinstance(value, dict):
        return {name: _said(each) for name, each in value.items() if each is not None and each not in ([], {})}
    return [_said(each) for each in value] if isinstance(value, list) else value


def text_line(post: Post, author: User | None) -> str:
    """Returns id, time, author and text on one line, without characters that move the cursor."""
    time = moment(post.created_at, seconds=False) if post.created_at else None
    name = f"@{author.username}" if author and author.username else None
    return "  ".join(printable(part) for part in (post.id, time, name, post.text) if part)
