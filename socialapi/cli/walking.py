"""Printing a collection item by item, and saying how to go on where it stopped."""

import asyncio
import contextlib
import shlex
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import orjson
from cyclopts import Parameter, validators

from socialapi.cli import exits
from socialapi.cli.exits import printable
from socialapi.errors import SocialApiError
from socialapi.models.pages import Page
from socialapi.problems import Problem, ServiceError
from socialapi.session.pager import Pager
from socialapi.wire.encoding import json_shape

T = TypeVar("T")

AsJson = Annotated[bool, Parameter(help="Print JSON, one object on a line.", negative=())]
Limit = Annotated[
    int | None, Parameter(help="Most lines to print; by default all.", validator=validators.Number(gte=1))
]
GoOn = Annotated[str | None, Parameter(help="Go on from here: the position that an earlier run ended with.")]


async def print_all(
    pager: Pager[T], text_line: Callable[[T], str], *, what: str, limit: int | None, as_json: bool
) -> int:
    """Prints the items, at most so many, and returns how many; says how to go on when it ends before the last one."""
    printed, position, is_over = 0, pager.position, True
    seen: Page[T] | None = None
    try:
        async with contextlib.aclosing(pager.with_pages()) as walk:
            async for item, page in walk:
                if page is not seen:
                    seen = page
                    for error in page.errors:
                        exits.say(printable(_sentence(error)))
                print(as_line(item) if as_json else printable(text_line(item)), flush=True)
                printed, position = printed + 1, pager.position
                if printed == limit:
                    is_over = page.next_token is None and item is page.data[-1]
                    break
    except (asyncio.CancelledError, SocialApiError):
        _say_position(printed, what, position)
        raise
    if not is_over:
        _say_position(printed, what, position)
    return printed


def _say_position(printed: int, what: str, position: str) -> None:
    exits.say(f"stopped after {printed:,} {what}; go on with --go-on {shlex.quote(position)}")


def _sentence(error: Problem | ServiceError) -> str:
    if isinstance(error, ServiceError):
        return error.message or f"error {error.code}"
    return error.detail or error.title or error.type


def as_line(item: Any) -> str:
    """The item as JSON, as the service would name its fields."""
    return orjson.dumps(json_shape(item)).decode()
