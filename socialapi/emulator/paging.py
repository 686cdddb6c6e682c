"""Pages of collections, and the opaque tokens that lead from one page to another.

A token identifies the item that a page starts after (or ends before), with its sort value at that time. So no item is
repeated or skipped when other items are created or deleted in the meantime.
"""

import base64
import hmac
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, Protocol

import attrs
import orjson

from socialapi.emulator.handlers import Call
from socialapi.emulator.responses import invalid, style_of

_KEY: Final = b"socialapi emulator pagination"
_SEAL_BYTES: Final = 9


class Rows(Protocol):
    """The order of a collection. Items are identified by numeric positions."""

    def after(self, cursor: Any) -> Iterator[int]:
        """Returns the positions after a cursor, or all positions if it is None."""

    def before(self, cursor: Any) -> Iterator[int]:
        """Returns the positions before a cursor, nearest first, or none if pages only lead forward."""
        return iter(())

    def cursor_of(self, position: int) -> Any:
        """Returns the cursor of an item as JSON, which is used to find its neighbors later."""


@attrs.frozen
class Numbered(Rows):
    """Items with ascending numbers, which are also their positions and their cursors."""

    numbers: Sequence[int]
    newest_first: bool = False

    def after(self, cursor: Any) -> Iterator[int]:
        """Returns the numbers after a cursor."""
        return self._falling(cursor) if self.newest_first else self._rising(cursor)

    def before(self, cursor: Any) -> Iterator[int]:
        """Returns the numbers before a cursor, nearest first."""
        return self._rising(cursor) if self.newest_first else self._falling(cursor)

    def cursor_of(self, position: int) -> int:
        """Returns the number itself."""
        return position

    def _rising(self, cursor: int | None) -> Iterator[int]:
        first = 0 if cursor is None else bisect_right(self.numbers, cursor)
        return (self.numbers[index] for index in range(first, len(self.numbers)))

    def _falling(self, cursor: int | None) -> Iterator[int]:
        end = len(self.numbers) if cursor is None else bisect_left(self.numbers, cursor)
        return (self.numbers[index] for index in range(end - 1, -1, -1))


@attrs.frozen
class Page:
    """The positions on a page, and the tokens of the neighboring pages."""

    positions: Sequence[int]
    next_token: str | None = None
    previous_token: str | None = None

    @property
    def meta(self) -> dict[str, Any]:
        """The `meta` of a page in the platform API."""
        tokens = {"next_token": self.next_token, "previous_token": self.previous_token}
        return {"result_count": len(self.positions)} | {name: token for name, token in tokens.items() if token}


MAX_SIZE: Final = 1_000
"""The largest page if the page parameters are not documented."""
_DEFAULTS: Final[Mapping[str, Any]] = {"with_deleted": False, "with_active": True, "include_legacy_cards": False}
"""Parameters that have no effect when they have these values."""


def paginate(
    call: Call, rows: Rows, accepts: Callable[[int], bool] | None = None, *, default: int | None = None
) -> Page:
    """Returns the requested page, which contains only items at accepted positions.

    The last page has no next token. `default` replaces the API's default page size.
    """
    family = call.route.family
    size = call.query.get(family.page_size_parameter, default or (100 if style_of(family) == "platform" else 200))
    if not isinstance(size, int) or not 1 <= size <= MAX_SIZE:
        raise invalid(family.page_size_parameter, f"must be 1 to {MAX_SIZE:,}", str(size)[:100])
    token, name = call.query.get(family.page_token_parameter), _collection_name(call)
    backward, cursor = (False, None) if token is None else _opened(token, name, family.page_token_parameter)
    found = list(islice(_accepted(accepts, (rows.before if backward else rows.after)(cursor)), size + 1))
    is_cut, shown = len(found) > size, found[:size]
    if backward:
        shown.reverse()
    if not shown:
        return Page(())
    first, last = rows.cursor_of(shown[0]), rows.cursor_of(shown[-1])
    has_next = any(True for _ in _accepted(accepts, rows.after(last))) if backward else is_cut
    has_previous = is_cut if backward else any(True for _ in _accepted(accepts, rows.before(first)))
    return Page(
        shown, _sealed(False, last, name) if has_next else None, _sealed(True, first, name) if has_previous else None
    )


def paginate_items(
    call: Call, items: Mapping[int, Any], show: Callable[[Any], Any], *, newest_first: bool = False
) -> tuple[list[Any], dict[str, Any]]:
    """Returns the items of a page, each rendered with `show`, and the `meta` of the page. `items` must be sorted by
    ascending number.
    """
    page = paginate(call, Numbered(list(items), newest_first))
    return [show(items[number]) for number in page.positions], page.meta


def _accepted(accepts: Callable[[int], bool] | None, positions: Iterable[int]) -> Iterator[int]:
    return (position for position in positions if accepts is None or accepts(position))


def _collection_name(call: Call) -> str:
    """Returns the name of the collection for which a token is valid: the path, filters and order, but not the page size
    and fields.
    """
    family = call.route.family
    aside = {family.page_size_parameter, family.page_token_parameter, "with_total_count", "expansions"}
    asked = {name: value for name, value in call.query.items() if name not in aside and not name.endswith(".fields")}
    filters = sorted((name, value) for name, value in asked.items() if _DEFAULTS.get(name) is not value)
    return repr((call.route.path, sorted(call.path.items()), filters))


def _sealed(backward: bool, cursor: Any, name: str) -> str:
    content = orjson.dumps([backward, cursor])
    return base64.urlsafe_b64encode(_seal(content, name) + content).decode().rstrip("=")


def _opened(token: str, name: str, parameter: str) -> tuple[bool, Any]:
    """Returns the direction and the cursor of a token, which must have been issued for this collection."""
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except ValueError:
        raw = b""
    content = raw[_SEAL_BYTES:]
    if not hmac.compare_digest(raw[:_SEAL_BYTES], _seal(content, name)):
        raise invalid(parameter, "is not a token for this collection with these parameters", token[:100])
    backward, cursor = orjson.loads(content)
    return backward, cursor


def _seal(content: bytes, name: str) -> bytes:
    return hmac.digest(_KEY, content + b"\0" + name.encode(), "sha256")[:_SEAL_BYTES]
