"""Prints collections item by item, and says how to continue where the output stopped."""

import asyncio
import contextlib
import shlex
from collections.abc import Callable
from typing import Annotated, Any, Final, TypeVar

import orjson
from cyclopts import Parameter

from socialapi.cli import output
from socialapi.cli.options import whole_number
from socialapi.cli.output import printable
from socialapi.errors import ApiError, ConfigurationError, InvalidInput, SocialApiError
from socialapi.models.pages import Page
from socialapi.problems import InvalidRequest, Problem, ServiceError
from socialapi.routes.route import FAMILIES
from socialapi.session.pager import Pager
from socialapi.wire.encode import json_shape
from socialapi.wire.paging import Position

T = TypeVar("T")

AsJson = Annotated[bool, Parameter(help="Print JSON, one object on a line.", negative=())]
Limit = Annotated[int | None, whole_number(help="Most lines to print; by default all.", least=1)]


def is_position(kind: Any, text: str | None) -> None:
    """Raises ValueError, to which the option's name is added, for a text that is no position."""
    if text is None:
        return
    with contextlib.suppress(InvalidInput):
        Position.read(text)
        return
    raise ValueError("It is not the position that an earlier run ended with.")


_PAGE_TOKENS: Final = frozenset(family.page_token_parameter for family in FAMILIES.values())
GO_ON_HELP: Final = "Go on from here: the position that an earlier run ended with."
GoOn = Annotated[str | None, Parameter(help=GO_ON_HELP, validator=is_position)]


async def print_all(
    pager: Pager[T], text_line: Callable[[T], str], *, what: str, limit: int | None, go_on: str | None, as_json: bool
) -> int:
    """Prints the items, at most `limit`, and returns how many were printed.

    If it ends before the last one, prints how to continue on standard error.
    """

    def line(item: T, page: Page[T]) -> str:
        return as_line(item) if as_json else printable(text_line(item))

    return await print_lines(pager, line, what=what, limit=limit, go_on=go_on)


async def print_lines(
    pager: Pager[T], line: Callable[[T, Page[T]], str], *, what: str, limit: int | None, go_on: str | None
) -> int:
    """Prints lines made of an item and its page. Returns how many were printed; `what` names an
    item.
    """
    printed, position, is_over = 0, pager.position, True
    seen: Page[T] | None = None
    try:
        async with contextlib.aclosing(pager.with_pages()) as walk:
            async for item, page in walk:
                if page is not seen:
                    seen = page
                    for error in page.errors:
                        output.say(printable(_sentence(error)))
                print(line(item, page), flush=True)
                printed, position = printed + 1, pager.position
                if printed == limit:
                    is_over = page.next_token is None and item is page.data[-1]
                    break
    except (InvalidInput, ConfigurationError):
        raise
    except (asyncio.CancelledError, SocialApiError) as problem:
        if go_on is not None and not printed and _is_about_the_page(problem):
            raise InvalidInput(f"--go-on is not a position in what is asked for: {output.sentence(problem)}") from None
        if printed or go_on is not None:
            _say_position(printed, what, position)
        raise
    if not is_over:
        _say_position(printed, what, position)
    return printed


def _is_about_the_page(problem: BaseException) -> bool:
    """Returns whether the service refused the page token."""
    if not isinstance(problem, ApiError):
        return False
    named = {error.parameter for error in problem.errors}
    for each in problem.problems:
        named |= (
            {name for error in each.errors for name in error.parameters} if isinstance(each, InvalidRequest) else set()
        )
    return not named.isdisjoint(_PAGE_TOKENS)


def _say_position(printed: int, what: str, position: str) -> None:
    output.say(
        f"stopped after {printed:,} {what}{'' if printed == 1 else 's'}; go on with --go-on {shlex.quote(position)}"
    )


def _sentence(error: Problem | ServiceError) -> str:
    return output.words_of(error) or (f"error {error.code}" if isinstance(error, ServiceError) else "")


def as_line(item: Any) -> str:
    """Returns the item as JSON, with the service's field names."""
    return orjson.dumps(json_shape(item)).decode()
