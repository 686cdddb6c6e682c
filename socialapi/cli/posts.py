"""`socialapi posts`: the posts of a user."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

import attrs
from cyclopts import App, Parameter

from socialapi.cli import output
from socialapi.cli.credential_store import open_client
from socialapi.cli.formats import EXTRA, Column, ListKind, json_line
from socialapi.cli.listing import PagedFlags, names_in, print_pages
from socialapi.cli.options import time, whole_number
from socialapi.models.pages import Page
from socialapi.models.posts import Post
from socialapi.models.queries import Fields
from socialapi.models.users import User
from socialapi.models.validation import wire_name
from socialapi.wire.encode import json_shape

app: Final = App(name="posts")


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class PostFilters:
    """The filters for a user's posts."""

    start_time: Annotated[str | None, Parameter(help="Only posts since 2025-01-06 or 2025-01-06T09:00Z.")] = None
    end_time: Annotated[str | None, Parameter(help="Only posts before this time.")] = None
    since_id: Annotated[str | None, Parameter(help="Only posts after the post with this id.")] = None
    until_id: Annotated[str | None, Parameter(help="Only posts before the post with this id.")] = None
    exclude: Annotated[str | None, Parameter(help="Exclude replies, retweets or both.")] = None

    def arguments(self) -> dict[str, Any]:
        """Returns the arguments of `by_user`."""
        return {
            "start_time": self.start_time and time("--start-time", self.start_time),
            "end_time": self.end_time and time("--end-time", self.end_time),
            "since_id": self.since_id,
            "until_id": self.until_id,
            "exclude": names_in(self.exclude),
        }


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class PostFlags(PagedFlags):
    """The options of a list of posts, including the fields to request."""

    fields: Annotated[str | None, Parameter(help="Fields beyond id and text, such as created_at,public_metrics.")] = (
        None
    )

    def chosen(self) -> list[str]:
        """Returns an empty list, because the requested fields determine the columns."""
        return []


EVERY_POST: Final = PostFilters()
ALL_POSTS: Final = PostFlags()


@attrs.define(kw_only=True)
class AuthoredPost(Post):
    """A post with its author, if the response includes the author."""

    author: User | None = None


@app.command(name="by-user")
async def by_user(
    user: Annotated[str, Parameter(help="Id of the user.")],
    /,
    *,
    max_results: Annotated[
        int | None, whole_number(help="Posts per request, 5 to 100; by default, as many as needed.")
    ] = None,
    expansions: Annotated[
        str | None,
        Parameter(
            help="Related objects to request; author_id adds the author to each post. Other objects are not "
            "printed, only their ids: a program can join them with `with_pages()`.",
        ),
    ] = None,
    filters: PostFilters = EVERY_POST,
    flags: PostFlags = ALL_POSTS,
) -> int:
    """Print a user's posts, newest first.

    For example: `socialapi posts by-user 2244994945 --limit 100 --fields created_at,public_metrics`, or for a file with
    the complete timeline, `socialapi posts by-user 2244994945 --output-file posts.parquet`. If it stops early (--limit,
    Ctrl-C or an error), it prints the --start option with the position to standard error. With this option, the next
    run continues without gaps or duplicates. Exit status: 0 done, 2 wrong usage, 3 refused by the service or
    unreachable, 130 interrupted.
    """
    expanded = names_in(expansions)
    chosen = names_in(flags.fields) + (["author_id"] if "author_id" in expanded else [])
    async with open_client() as client:
        pager = client.posts.by_user(
            user,
            max_results=flags.page_size(least=5, most=100) if max_results is None else max_results,
            fields=Fields(post=list(dict.fromkeys(chosen)), expansions=expanded),
            start=flags.start,
            **filters.arguments(),
        )
        kind = posts_with(chosen, expanded)
        if flags.fields and flags.format() == "csv":
            known = {path[0] for path in kind.paths()}
            others = [EXTRA] if set(chosen) - known else []
            kind = attrs.evolve(
                kind,
                fields=[name for name in dict.fromkeys(("id", "text", *chosen, "author", *others)) if name in known],
            )
        join = with_author if "author_id" in expanded else lambda post, _: post
        await print_pages(pager, kind, flags, join=join)
    return output.DONE


def posts_with(fields: Sequence[str], expansions: Sequence[str]) -> ListKind[Any]:
    """Returns the kind of list for posts with these fields and expansions."""
    has_author = "author_id" in expansions
    columns = [Column[AuthoredPost]("id", lambda post: post.id, is_whole=True)]
    if "created_at" in fields:
        columns.append(Column("time", lambda post: post.created_at, is_whole=True))
    if has_author:
        columns.append(Column("author", lambda post: f"@{post.author.username}" if post.author else None))
    columns.append(Column("text", lambda post: post.text))
    has_column = {"id", "text", "created_at"} | ({"author_id"} if has_author else set())
    columns += [_column(name) for name in fields if name not in has_column]
    return ListKind(
        name="post",
        record=AuthoredPost if has_author else Post,
        columns=columns,
        to_json=lambda post: _said(json_shape(post)),
    )


def with_author(post: Post, page: Page[Post]) -> AuthoredPost:
    """Returns the post with its author, if the page includes the author."""
    values = {field.name: getattr(post, field.name) for field in attrs.fields(Post) if field.init}
    return AuthoredPost(**values, author=page.includes.author(post))


def _column(field: str) -> Column[AuthoredPost]:
    attribute = next((known.name for known in attrs.fields(Post) if wire_name(known) == field), None)

    def value(post: AuthoredPost) -> str | None:
        found = post.extra.get(field) if attribute is None else _said(json_shape(getattr(post, attribute)))
        return found if found is None or isinstance(found, str) else json_line(found)

    return Column(field, value)


def _said(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _said(each) for name, each in value.items() if each is not None and each not in ([], {})}
    return [_said(each) for each in value] if isinstance(value, list) else value
