"""The base class of resources, and helpers for their arguments."""

import functools
import inspect
import typing
from collections.abc import Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from socialapi.models.pages import Page
from socialapi.models.validation import Faults, is_several
from socialapi.resources.arguments import show_options
from socialapi.routes.route import Route, Target
from socialapi.session.options import CallOptions
from socialapi.session.pager import Pager
from socialapi.session.session import Session
from socialapi.wire.paging import Collection
from socialapi.wire.request import path_id

if TYPE_CHECKING:
    from socialapi.session.auth import Authenticator

R = TypeVar("R")
T = TypeVar("T")


def flatten(given: Iterable[Any]) -> tuple[Any, ...]:
    """Returns arguments, which may be single values or iterables, as one tuple."""
    return tuple(item for each in given for item in as_iterable(each))


def as_iterable(given: Any) -> Iterable[Any]:
    """Returns an iterable of the given values: the argument itself, or a tuple that contains it."""
    return cast("Iterable[Any]", given) if is_several(given) else (given,)


def unless_empty(given: Any) -> Any:
    """Returns the argument, as a tuple if it is an iterable. Returns None, which is not sent, for an empty iterable."""
    return tuple(given) or None if is_several(given) else given


def without_none(**members: Any) -> dict[str, Any]:
    """Returns the fields of a body that are not None."""
    return {name: value for name, value in members.items() if value is not None}


class Resource:
    """A group of API methods.

    `path` contains the path parameters that they share, such as the account id.
    """

    def __init__(self, session: Session, options: CallOptions, **path: str | int) -> None:
        self._session = session
        self._options = options
        self._path = {name: path_id(name, value) for name, value in path.items()}

    def __init_subclass__(cls) -> None:
        """Makes Python name this package in its warning about a coroutine that was never awaited."""
        super().__init_subclass__()
        for function in vars(cls).values():
            if inspect.iscoroutinefunction(function):
                function.__qualname__ = f"socialapi.{function.__qualname__}"
            if inspect.isfunction(function):
                show_options(function)

    def __repr__(self) -> str:
        ids = "".join(f" {name}={value!r}" for name, value in self._path.items())
        return f"<{type(self).__name__.removesuffix('Resource')}{ids} at {self._session.config.addresses}>"

    def _call(
        self,
        route: Route[R],
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        authenticator: "Authenticator | None" = None,
        faults: Faults | None = None,
        **path: str | int,
    ) -> Coroutine[Any, Any, R]:
        """Returns a coroutine that calls the route and returns the decoded result.

        `path` contains the path parameters that are not shared, and `faults` the errors already found in other
        arguments. Every failure is raised as a SocialApiError.
        """
        target = Target(route, self._path | path if path else self._path)
        if faults:
            self._refuse(faults, target, query, body)
        call = self._session.prepare(target, options=self._options, query=query, body=body, authenticator=authenticator)
        return self._session.call(call)

    def _pages(
        self,
        route: Route[Page[T]],
        *,
        query: Mapping[str, Any] | None = None,
        start: str | None = None,
        key: str | None = None,
        faults: Faults | None = None,
        **path: str | int,
    ) -> Pager[T]:
        """Returns a pager over a collection. `key` is the field that identifies an item, if the item's class does not
        declare it. Raises InvalidInput for parameters that cannot be combined.
        """
        target = Target(route, self._path | path if path else self._path)
        faults = Faults() if faults is None else faults
        with faults:
            collection = Collection.of(target, query, start, sized=self._session.config.page_growth)
            (item_type,) = typing.get_args(route.result)
            pager = Pager(
                functools.partial(self._page, collection),
                self._session.spawn,
                start=start,
                item_type=item_type,
                sizes=collection.sizes,
                key=key,
            )
        if faults:
            self._refuse(faults, target, query)
        return pager

    def _refuse(self, faults: Faults, target: Target[Any], query: Mapping[str, Any] | None, body: Any = None) -> None:
        """Raises InvalidInput with these errors and all other errors of the request."""
        wrong = faults.names
        query, body = (
            {name: value for name, value in given.items() if name not in wrong} if isinstance(given, Mapping) else given
            for given in (query, body)
        )
        with faults:
            self._session.plan(target.route).request(target, query, body, self._session.now)
        faults.refuse()

    async def _page(self, collection: Collection[T], token: str | None, size: int | None) -> Page[T]:
        session = self._session
        request = collection.request(session.plan(collection.target.route), token, size, session.now)
        page = await session.call(session.prepared(request, options=self._options))
        return page if collection.split is None else collection.split.answer(page, token)
