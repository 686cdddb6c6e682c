"""What every group of methods holds: the session, the options of its calls, and the account or catalog."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

import attrs

from socialapi.session.session import CallOptions, Session
from socialapi.unset import UNSET
from socialapi.wire.request import path_id


def flat(given: Iterable[Any]) -> tuple[Any, ...]:
    """Arguments that were given one by one, or as lists (or other iterables) of them."""
    return tuple(item for each in given for item in several(each))


def several(given: Any) -> Iterable[Any]:
    """What was given as one or as an iterable."""
    return cast("Iterable[Any]", given) if _is_several(given) else (given,)


def unless_empty(given: Any) -> Any:
    """One value or several; UNSET for an empty list, which asks for nothing."""
    return tuple(given) or UNSET if _is_several(given) else given


def _is_several(given: Any) -> bool:
    if isinstance(given, str | bytes | bytearray | memoryview | Mapping) or attrs.has(type(given)):
        return False
    return isinstance(given, Iterable)


class Resource:
    """A group of methods."""

    def __init__(self, session: Session, options: CallOptions) -> None:
        self._session = session
        self._options = options


class AccountScoped(Resource):
    """A group of methods of one account."""

    def __init__(self, session: Session, options: CallOptions, account_id: str | int) -> None:
        super().__init__(session, options)
        self._account_id = path_id("account_id", account_id)


class CatalogScoped(Resource):
    """A group of methods of one catalog."""

    def __init__(self, session: Session, options: CallOptions, catalog_id: str | int) -> None:
        super().__init__(session, options)
        self._catalog_id = path_id("product_catalog_id", catalog_id)
