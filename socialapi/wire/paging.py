"""Decodes pages and finds the next one. Pure functions; `session.pager` fetches the pages."""

import datetime
import functools
import typing
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote, unquote

import attrs
from annotated_types import Ge, Le, MaxLen

from socialapi.errors import DecodeError, InvalidInput
from socialapi.models.pages import Page, includes_class
from socialapi.models.undecoded import Undecoded
from socialapi.models.validation import broken_rules, invalid
from socialapi.problems import BrokenRule
from socialapi.routes.route import Family, Target
from socialapi.wire import scalars
from socialapi.wire.class_readers import join_path
from socialapi.wire.decode import read_errors, structure, structure_each, wire_names
from socialapi.wire.request import EPOCH, Plan, Request, refuse, shaped_arguments, with_path_texts

T = TypeVar("T")

MAX_DIGITS: Final = 18
MAX_ANCHORS: Final = 8
"""The maximum number of preceding items whose ids a position contains."""

TOKENS_KEPT: Final = 1_000
"""The number of recent page tokens that a pager remembers."""


def read_page(result: Any, body: Any) -> Page[Any]:
    """Returns the page in an envelope. A plain array counts as the data of an envelope.

    Undecodable items are in `undecoded`. Replaces the data in the body with model objects. Raises DecodeError with the
    path of the field if the entire page is unusable, for example because its next page's token is unreadable and
    iteration could not continue.
    """
    (kind,) = result.__args__
    envelope = body if body.__class__ is dict and "data" in body else _envelope(body, wire_names(kind))
    meta, items, included = envelope.get("meta"), envelope.get("data"), envelope.get("includes")
    if meta is None:
        meta = {}
    elif meta.__class__ is not dict:
        meta = _read_whole("meta", scalars.only_object, meta) or {}
    if items.__class__ is not list:
        items = _items(items, kind)
    data, undecoded = structure_each(items, kind, "data")
    includes, odd = (includes_class()(), ()) if included is None else _included(included)
    return Page(
        data=data,
        includes=includes,
        meta=meta,
        errors=read_errors(envelope.get("errors")),
        undecoded=(*undecoded, *odd),
        item_type=kind,
        places=_places(items, undecoded) if undecoded else None,
        next_token=_next_token(meta, envelope),
        previous_token=_token("meta.previous_token", meta["previous_token"]) if "previous_token" in meta else None,
        result_count=_count(meta["result_count"]) if "result_count" in meta else None,
        total_count=_count(envelope["total_count"]) if "total_count" in envelope else None,
        params=_echo(envelope["request"]) if "request" in envelope else {},
        extra={} if envelope.keys() <= _KNOWN else {name: envelope[name] for name in envelope.keys() - _KNOWN},
    )


def page_of(data: Mapping[str, Any], item_type: Any) -> Page[Any]:
    """Returns the page for an envelope, or for the result of `Page.to_dict`, which stays unchanged.

    Raises DecodeError as `read_page` does.
    """
    items = data.get("data")
    page = read_page(Page[item_type], {**data, "data": [*items]} if isinstance(items, list) else {**data})
    own = {name: data[name] for name in OWN_NAMES if name in data}
    earlier = _read_whole("undecoded", lambda listed: structure(listed, tuple[Undecoded, ...]), own.get("undecoded"))
    undecoded = (*(earlier or ()), *page.undecoded)
    return attrs.evolve(
        page,
        undecoded=undecoded,
        places=_places_by_count(len(page.data), undecoded),
        next_token=_token("next_token", own["next_token"]) if "next_token" in own else page.next_token,
        previous_token=_token("previous_token", own.get("previous_token")) or page.previous_token,
        result_count=page.result_count if own.get("result_count") is None else _count(own["result_count"]),
        extra={name: value for name, value in page.extra.items() if name not in own},
    )


OWN_NAMES: Final = ("undecoded", "next_token", "previous_token", "result_count")
"""The fields of a `Page.to_dict` result that an envelope keeps elsewhere or does not have."""


def _places_by_count(count: int, undecoded: Sequence[Undecoded]) -> tuple[int, ...] | None:
    """Returns the index of each of `count` decoded items in the response, followed by the number of items that arrived.
    Returns None if there are no undecoded items.
    """
    odd = {each.path.partition("]")[0] for each in undecoded if each.path.startswith("data[")}
    places = _places(range(count + len(odd)), undecoded)
    return places if odd and len(places) == count + 1 else None


def _envelope(body: Any, names: AbstractSet[str]) -> Mapping[str, Any]:
    """Returns the envelope of a page. If the page is an array, that array is the data. If it has a single array under
    another name than `data`, that array is the data if it is empty or has an object with one of the fields in `names`,
    or if `names` is empty.
    """
    if isinstance(body, dict) and not body.keys().isdisjoint(("data", "meta", "errors")):
        return body
    if not isinstance(body, dict | list):
        raise DecodeError("", "expected an object")
    arrays = [body] if isinstance(body, list) else [value for value in body.values() if isinstance(value, list)]
    if len(arrays) == 1 and (
        not arrays[0] or not names or any(isinstance(item, dict) and not names.isdisjoint(item) for item in arrays[0])
    ):
        return {**(body if isinstance(body, dict) else {}), "data": arrays[0]}
    # The response is not a page, so it must not pass for an empty collection.
    raise DecodeError("data", "is missing, and so are meta and errors")


def _items(data: Any, kind: Any) -> list[Any]:
    """Returns the items of a page: an array, a single object, or an array under another name."""
    if isinstance(data, dict) and wire_names(kind).isdisjoint(data):
        arrays = [value for value in data.values() if isinstance(value, list)]
        data = arrays[0] if len(arrays) == 1 else data
    if data is None or isinstance(data, list | dict):
        return scalars.as_list(data) or []
    raise DecodeError("data", "expected an array")


def _included(given: Any) -> tuple[Any, tuple[Undecoded, ...]]:
    """Returns the included objects, and those that cannot be decoded."""
    kind = includes_class()
    try:
        found = structure(given, kind) or kind()
    except DecodeError as problem:
        return kind(), (Undecoded(given, "includes", problem.reason),)
    return found, tuple(attrs.evolve(each, path=join_path("includes", each.path)) for each in found.undecoded)


def _places(items: Sequence[Any], undecoded: Sequence[Undecoded]) -> tuple[int, ...]:
    """Returns the index of each decoded item in the response, followed by the number of items that arrived."""
    odd = {each.path.partition("]")[0] for each in undecoded}
    return (*(place for place in range(len(items)) if f"data[{place}" not in odd), len(items))


def _read_whole(path: str, read: Callable[[Any], T], value: Any) -> T:
    try:
        return read(value)
    except DecodeError as problem:
        error = DecodeError(path, problem.reason)
    raise error


def _echo(request: Any) -> Mapping[str, Any]:
    params = request.get("params") if isinstance(request, dict) else None
    return params if isinstance(params, dict) else {}


def _token(path: str, value: Any) -> str | None:
    """Returns a page token. Raises DecodeError if it is unreadable, because the iteration would otherwise end early."""
    return None if value is None else _read_whole(path, scalars.identifier, value) or None


def _count(value: Any) -> int | None:
    """Returns a count, or None if it cannot be read; nothing depends on it."""
    return scalars.read_or_none(scalars.whole_number, value)


def next_token_path(meta: Mapping[str, Any]) -> str:
    """Returns the path of the next page's token in a response with this `meta`."""
    return "meta.next_token" if "next_token" in meta else "next_cursor"


def _next_token(meta: Mapping[str, Any], envelope: Mapping[str, Any]) -> str | None:
    """Returns the token of the next page from any place where one of the APIs puts it. Overlooking it would end the
    iteration early.
    """
    for place, holder in (("meta.", meta), ("", envelope)):
        for name in _NEXT:
            if name in holder and (token := _token(place + name, holder[name])) is not None:
                return token
    return None


_NEXT: Final = ("next_token", "next_cursor")


_KNOWN: Final = frozenset(("data", "includes", "meta", "errors", "request", "total_count", "next_cursor", "next_token"))
"""The envelope fields that have a field in Page."""


def page_query(family: Family, query: Mapping[str, Any], token: str | None) -> dict[str, Any]:
    """Returns the query for a page: the original one, or one with the token and without conflicting parameters."""
    if token is None:
        return dict(query)
    return query_without_token(family, query) | {family.page_token_parameter: token}


def query_without_token(family: Family, query: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the parameters that can be combined with a page token, without a token."""
    # A total count cannot be combined with a cursor.
    conflicting = ("with_total_count", family.page_token_parameter)
    return {name: value for name, value in query.items() if name not in conflicting}


def is_number(text: str) -> bool:
    """Returns whether a string is a whole number of at most `MAX_DIGITS` decimal digits."""
    return text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS


@attrs.frozen
class Position:
    """A position between two items of a collection: after `taken` items on the page for `token`.

    `after` contains the ids of the last of these items, the last one first. They matter if the page has changed because
    items were deleted, or added before it. The position is after the first of these ids that still exists, or at the
    start of the page if none does, because a repeated item is better than a lost one. Items without ids are counted.
    Undecodable items count too, because another version may decode them.
    """

    token: str | None = None
    taken: int = 0
    after: tuple[str, ...] = ()

    @classmethod
    def behind(cls, page: Page[Any], index: int) -> "Position":
        """Returns the position after the item with this index on a page."""
        if index + 1 >= len(page.data) and page.next_token is not None:
            return cls(page.next_token)
        origin = origin_of(page)
        latest = page.data[max(0, index + 1 - MAX_ANCHORS) : index + 1]
        return cls(
            origin.token,
            origin.offset + page.arrived_before(index + 1),
            tuple(found for item in reversed(latest) if (found := _key_of(item, origin.key)) is not None),
        )

    @classmethod
    def read(cls, text: object) -> "Position":
        """Returns the position that a string encodes. Raises InvalidInput, without quoting the value, for any other
        value.
        """
        if not isinstance(text, str):
            raise invalid("start", f"must be a string from Pager.position, not {type(text).__name__}")
        before, colon, token = text.partition(":")
        taken, _, after = before.partition("@")
        if not colon or not is_number(taken):
            raise invalid(
                "start",
                "is not a position from Pager.position. Pass a page token of the service as pagination_token= for "
                "posts, and as cursor= in the advertising API",
            )
        return cls(token or None, int(taken), tuple(unquote(each) for each in after.split(",") if each))

    def __str__(self) -> str:
        after = ",".join(quote(each, safe="") for each in self.after)
        return f"{self.taken}{'@' if after else ''}{after}:{self.token or ''}"

    def is_on(self, page: Page[Any]) -> bool:
        """Returns whether the item just before this position is on the page."""
        key = origin_of(page).key
        return bool(self.after) and any(_key_of(item, key) == self.after[0] for item in page.data)

    def find(self, pages: Sequence[Page[Any]]) -> tuple[int, int]:
        """Returns the index in `pages` of the page that contains this position, and the number of items on that page
        before it. `pages` must start with the page on which the position was saved.
        """
        if not self.after:
            left = self.taken
            for number, page in enumerate(pages):
                arrived = page.arrived_before(len(page.data))
                if left <= arrived:
                    return number, page.index_after(left)
                left -= arrived
            return len(pages) - 1, len(pages[-1].data)
        places = {
            key: (number, index + 1)
            for number, page in enumerate(pages)
            for index, item in enumerate(page.data)
            if (key := _key_of(item, origin_of(page).key)) is not None
        }
        return next((places[each] for each in self.after if each in places), (0, 0))


class ReadTokens:
    """The tokens of the pages that a pager has read.

    It remembers the last `TOKENS_KEPT` tokens and one marked token. A cycle is detected as soon as it returns to one of
    the last pages. A longer cycle is detected at the marked token (Brent's algorithm). The mark moves to the current
    page, after twice as many pages each time, until a complete cycle fits between two moves. Detection reads fewer than
    three times as many pages as exist.
    """

    def __init__(self, first: str | None, most: int = TOKENS_KEPT) -> None:
        self._most = most
        self._recent: OrderedDict[str | None, None] = OrderedDict({first: None})
        self._marked = first
        self._pages = self._mark_at = 1

    def __len__(self) -> int:
        return len(self._recent) + 1

    def repeats(self, token: str) -> bool:
        """Returns whether the page is known to have been read. If not, records it as read."""
        if token == self._marked or token in self._recent:
            return True
        self._recent[token] = None
        if len(self._recent) > self._most:
            self._recent.popitem(last=False)
        self._pages += 1
        if self._pages == 2 * self._mark_at:
            self._marked, self._mark_at = token, self._pages
        return False


@attrs.frozen
class PageOrigin:
    """The location of a page: the token of its request, the number of items on the page before the first one in `data`,
    and the field that identifies items, if their class does not declare it.
    """

    token: str | None = None
    offset: int = 0
    key: str | None = None

    def position_behind(self, page: Page[Any], index: int) -> str:
        """Returns the position after an item of the page."""
        return str(Position.behind(page, index))


def origin_of(page: Page[Any]) -> PageOrigin:
    """Returns the location of a page, or the start of the collection for a page created in code."""
    origin = page._origin  # noqa: SLF001  # only walks and their pages know it
    return origin if isinstance(origin, PageOrigin) else _BEGINNING


_BEGINNING: Final = PageOrigin()


def _key_of(item: Any, name: str | None) -> str | None:
    """Returns the value that identifies an item, from the field with this name or the declared field."""
    if name is None:
        kind: Any = type(item)
        name = _key_name(kind)
    found = None
    if name is not None:
        found = item.get(name) if isinstance(item, dict) else getattr(item, name, None)
    if found.__class__ is int:
        return str(found)
    return found if isinstance(found, str) and found else None


@functools.cache
def _key_name(kind: Any) -> str | None:
    """Returns the field that identifies the items of a collection: the one with `key` metadata, else `id`."""
    fields = attrs.fields(kind) if attrs.has(kind) else ()
    declared = (field.name for field in fields if field.metadata.get("key"))
    return next(declared, "id" if any(field.name == "id" for field in fields) else None)


@attrs.frozen
class PageSizes:
    """The page sizes that a pager requests if its caller sets none: a parameter and its bounds.

    A pager that `grows` starts with the service's default and at most doubles it from page to page,
    because every item counts against a cap. Other pagers request the largest page immediately.
    """

    parameter: str
    least: int
    most: int
    grows: bool

    @classmethod
    def of(cls, family: Family, declared: Any, asked: Mapping[str, Any]) -> "PageSizes | None":
        """Returns the sizes for a query, or None if the query sets a size itself or the bounds are unknown."""
        name = family.page_size_parameter
        bounds = _bounds_of(declared, name)
        if bounds is None or name in asked:
            return None
        return cls(name, *bounds, grows=family.host == "base_url")

    @property
    def first(self) -> int | None:
        """The size of the first page; None for the service's default."""
        return None if self.grows else self.most

    def after(self, size: int | None, arrived: int) -> int | None:
        """Returns the size of the next page, after a page of this size with this number of items."""
        former = size or arrived
        return min(max(2 * former, self.least), self.most) if former else None

    def of_items(self, count: int | None) -> int:
        """Returns the page size that reads this number of items with the fewest requests; None means all items."""
        return self.most if count is None else min(max(count, self.least), self.most)


@functools.cache
def _bounds_of(declared: Any, name: str) -> tuple[int, int] | None:
    """Returns the declared bounds of a query parameter."""
    rules = getattr(_parameters(declared).get(name), "__metadata__", ())
    least = next((rule.ge for rule in rules if isinstance(rule, Ge)), None)
    most = next((rule.le for rule in rules if isinstance(rule, Le)), None)
    return (least, most) if isinstance(least, int) and isinstance(most, int) else None


def _parameters(declared: Any) -> Mapping[str, Any]:
    """Returns the declared type of each parameter of a query."""
    if typing.get_origin(declared) is typing.Annotated:
        declared = typing.get_args(declared)[0]
    return typing.get_type_hints(declared, include_extras=True) if declared is not None else {}


@attrs.define(eq=False)
class Collection(Generic[T]):
    """A requested collection: its query, split into parts if it has more ids than one request may contain."""

    target: Target[Page[T]]
    asked: Mapping[str, Any]
    split: "Split | None" = None
    begin_token: str | None = None
    """The token of the caller's first page."""
    sizes: PageSizes | None = None
    """The page sizes to request; None if the query sets one."""
    _without_token: tuple[int | None, Request[Page[T]]] | None = attrs.field(init=False, default=None)

    @classmethod
    def of(
        cls, target: Target[Page[T]], query: Mapping[str, Any] | None, start: str | None, *, sized: bool = True
    ) -> "Collection[T]":
        """Returns the collection for a target and its query. Raises InvalidInput for parameters that cannot be
        combined.
        """
        target = Target(target.route, with_path_texts(target.path_parameters))
        begin_token = None if start is None else Position.read(start).token
        route = target.route
        asked = shaped_arguments(route, query, None)[0]
        if start is not None and asked.get("with_total_count"):
            reason = "cannot be combined with start"
            refuse([BrokenRule(path="with_total_count", reason=reason, code="EXCLUSIVE_PARAMETERS")])
        sizes = PageSizes.of(route.family, route.query, asked) if sized else None
        return cls(target, asked, split_of(route.query, asked), begin_token, sizes)

    def request(
        self, plan: Plan[Page[T]], token: str | None, size: int | None, now: Callable[[], datetime.datetime]
    ) -> Request[Page[T]]:
        """Returns the request for the page of a token, with a size unless that is the service's default. Raises
        InvalidInput with every broken rule of the arguments, which are checked only for the caller's first page.
        """
        if token == self.begin_token:
            return plan.request(self.target, self.query(token, size), None, now)
        # From here on, the token is the service's own.
        if token is None or self.split is not None:
            return plan.assemble(self.target, self.query(token, size), ())
        # Built once: encoding the same parameters for every page took two thirds of building its request.
        family = self.target.route.family
        if self._without_token is None or self._without_token[0] != size:
            query = query_without_token(family, self._sized(size))
            self._without_token = size, plan.assemble(self.target, query, ())
        return self._without_token[1].with_parameter(family.page_token_parameter, token)

    def _sized(self, size: int | None) -> Mapping[str, Any]:
        return self.asked if size is None or self.sizes is None else {**self.asked, self.sizes.parameter: size}

    def query(self, token: str | None, size: int | None = None) -> Mapping[str, Any]:
        """Returns the query for the page of a token, with a size unless that is the service's default."""
        asked = self._sized(size)
        if self.split is not None:
            asked, token = self.split.ask(asked, token)
        return page_query(self.target.route.family, asked, token)


@attrs.frozen
class Split:
    """A filter with more ids than one request may contain, requested in parts one after another.

    A page token is the number of the part, followed by the service's token: `2~` starts the third part.
    """

    parameter: str
    parts: tuple[tuple[Any, ...], ...]

    def ask(self, query: Mapping[str, Any], token: str | None) -> tuple[dict[str, Any], str | None]:
        """Returns the query and the service's token for a page. Raises InvalidInput for a token of a different
        collection.
        """
        number, _, cursor = (token or "0~").partition("~")
        if not (is_number(number) and int(number) < len(self.parts)):
            raise invalid("start", "is a position in another collection")
        return {**query, self.parameter: self.parts[int(number)]}, cursor or None

    def answer(self, page: Page[T], token: str | None) -> Page[T]:
        """Returns the page with the token of the next page, in this part or the next."""
        number = int((token or "0~").partition("~")[0])
        if page.next_token is not None:
            return attrs.evolve(page, next_token=f"{number}~{page.next_token}")
        return attrs.evolve(page, next_token=f"{number + 1}~") if number + 1 < len(self.parts) else page


def split_of(declared: Any, query: Mapping[str, Any]) -> Split | None:
    """Returns how to split a query whose filter has too many ids, or None if it fits.

    Raises InvalidInput for an invalid id, and for parameters that prevent merging: several filters
    that are too long, a sort order, a total count or a cursor.
    """
    too_long = {
        name: (size, kind)
        for name, (size, kind) in _id_filters(declared).items()
        if isinstance(query.get(name), tuple | list) and len(query[name]) > size
    }
    if not too_long:
        return None
    broken: list[BrokenRule] = []
    for name, (_, kind) in too_long.items():  # of each id, whatever the length of the list
        broken += broken_rules(kind, query[name], now=EPOCH, path=name)
    refuse(broken)
    (name, (size, _)), *others = too_long.items()
    other = next((each for each in (*dict(others), *_NOT_IN_PARTS) if query.get(each)), None)
    if other is not None:
        raise InvalidInput(
            f"{name} has more than {size} ids, which cannot be combined with {other}: make several calls"
        )
    ids = tuple(dict.fromkeys(query[name]))
    return Split(name, tuple(ids[start : start + size] for start in range(0, len(ids), size)))


_NOT_IN_PARTS: Final = ("with_total_count", "cursor", "sort_by")


@functools.cache
def _id_filters(declared: Any) -> Mapping[str, tuple[int, Any]]:
    """Returns the list parameters that have a maximum length, with this length and their type without it."""
    return {
        name: (rule.max_length, kind.__origin__)
        for name, kind in _parameters(declared).items()
        for rule in getattr(kind, "__metadata__", ())
        if isinstance(rule, MaxLen) and typing.get_origin(kind.__origin__) is tuple
    }
