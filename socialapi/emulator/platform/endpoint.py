"""Registration of platform handlers: who may call them, arguments and paging (platform
section 5).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Final, Literal

import attrs

from socialapi.emulator.arguments import Arguments, InvalidArguments, read_arguments
from socialapi.emulator.auth import any_caller
from socialapi.emulator.encoding import open_text, seal_text
from socialapi.emulator.handlers import Authenticate, Call, StreamAnswer, handles
from socialapi.emulator.request import Received
from socialapi.emulator.responses import Answer, Refusal, invalid_request
from socialapi.emulator.state import Caller, State, User
from socialapi.routes.route import PLATFORM_USER, Route

PlatformHandler = Callable[[Call, Arguments], Awaitable[Answer | StreamAnswer]]


def serves(
    route: Route[Any],
    *,
    scopes: Collection[str] = (),
    refuse: Callable[[InvalidArguments], Refusal] | None = None,
) -> Callable[[PlatformHandler], PlatformHandler]:
    """Registers the function below for a route of the platform; it is given arguments that break no declared rule.

    `scopes` are what a user's OAuth 2.0 token needs. `refuse` may put another refusal in the place of that of broken
    rules.
    """

    def register(handler: PlatformHandler) -> PlatformHandler:
        async def checked(call: Call) -> Answer | StreamAnswer:
            try:
                arguments = read_arguments(call)
            except InvalidArguments as refusal:
                raise (refuse(refusal) if refuse else refusal) from None
            return await handler(call, arguments)

        handles(route, caller=_caller_of(route, frozenset(scopes)))(checked)
        return handler

    return register


def _caller_of(route: Route[Any], scopes: frozenset[str]) -> Authenticate:
    def authenticate(state: State, received: Received, path_parameters: Mapping[str, str]) -> Caller:
        caller = any_caller(state, received, path_parameters)
        if route.family is PLATFORM_USER and caller.user is None:
            message = "this endpoint acts for a user: use OAuth 1.0a or a user's OAuth 2.0 token, not an app-only one"
            raise Refusal(403, "FORBIDDEN", message, problem="unsupported-authentication")
        if caller.scopes is not None and (lacking := sorted(scopes - caller.scopes)):
            raise Refusal(403, "FORBIDDEN", f"the access token lacks the scope {', '.join(lacking)}")
        return caller

    return authenticate


def user_of(call: Call) -> User:
    """The user of an endpoint that acts for one."""
    assert call.caller.user is not None
    return call.caller.user


DEFAULT_PAGE: Final = 100
LARGEST_PAGE: Final = 1_000
"""Bounds of pages whose parameters are not documented."""

Direction = Literal["n", "p"]


@attrs.frozen
class Cut:
    """The keys of the items on a page, in order, and its `meta`."""

    keys: Sequence[int]
    meta: Mapping[str, Any]


def paginate(
    call: Call, arguments: Arguments, keys: Sequence[int], *, newest_first: bool = False, default: int = DEFAULT_PAGE
) -> Cut:
    """The page that is asked for, of a collection whose items have ascending keys.

    A token names the item that its page begins behind (or ends before), so items that come or go elsewhere in the
    meantime neither repeat nor skip others.
    """
    size = _size(arguments.query, default)
    name = _collection(call, arguments)
    token = arguments.query.get("pagination_token")
    start, stop = _range(keys, size, None if token is None else _opened(token, name), newest_first=newest_first)
    last = len(keys) - 1
    shown = [keys[last - index if newest_first else index] for index in range(start, stop)]
    meta: dict[str, Any] = {"result_count": len(shown)}
    if shown and stop < len(keys):
        meta["next_token"] = _sealed("n", shown[-1], name)
    if shown and start > 0:
        meta["previous_token"] = _sealed("p", shown[0], name)
    return Cut(shown, meta)


def _range(
    keys: Sequence[int], size: int, place: tuple[Direction, int] | None, *, newest_first: bool
) -> tuple[int, int]:
    """The first position shown and the one behind the last."""
    if place is None:
        return 0, min(size, len(keys))
    direction, key = place
    # How many items are shown before the place: those up to the key for a next page, those before it for a previous.
    including = direction == "n"
    if newest_first:
        before = len(keys) - (bisect_left(keys, key) if including else bisect_right(keys, key))
    else:
        before = bisect_right(keys, key) if including else bisect_left(keys, key)
    return (before, min(before + size, len(keys))) if including else (max(0, before - size), before)


def _size(query: Mapping[str, Any], default: int) -> int:
    given = query.get("max_results", default)
    if not 1 <= given <= LARGEST_PAGE:
        raise invalid_request(f"max_results must be 1 to {LARGEST_PAGE}", {"max_results": [str(given)]})
    size: int = given
    return size


def _collection(call: Call, arguments: Arguments) -> str:
    """What a token is good for: the same route, path and filters, in pages of whatever size."""
    filters = {name: value for name, value in arguments.query.items() if _filters(name)}
    return repr((call.route.path, sorted(arguments.path.items()), sorted(filters.items())))


def _filters(name: str) -> bool:
    return name not in ("pagination_token", "max_results", "expansions") and not name.endswith(".fields")


def _sealed(direction: Direction, key: int, name: str) -> str:
    return seal_text(f"{direction}{key}".encode(), name)


def _opened(token: str, name: str) -> tuple[Direction, int]:
    content = open_text(token, name)
    if content is None:
        raise invalid_request("pagination_token is not one of this collection", {"pagination_token": [token[:100]]})
    return ("n" if content[:1] == b"n" else "p"), int(content[1:])


def collection(
    call: Call,
    arguments: Arguments,
    items: Mapping[int, Any],
    show: Callable[[Any], Any],
    *,
    newest_first: bool = False,
) -> tuple[list[Any], dict[str, Any]]:
    """The items of a page as they are shown, and `meta`, of items by ascending key."""
    page = paginate(call, arguments, list(items), newest_first=newest_first)
    return [show(items[key]) for key in page.keys], dict(page.meta)
