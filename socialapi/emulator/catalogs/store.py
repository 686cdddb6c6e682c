"""The product catalogs there are, with their products and product sets."""

from collections.abc import Iterator
from typing import Any

import attrs

from socialapi.emulator.catalogs.set_filters import matching
from socialapi.emulator.catalogs.stock import Stock


@attrs.define(kw_only=True)
class SetOfProducts:
    """A product set, MANUAL with the keys of its products, or FILTERED: then its products are found at `due_at`."""

    id: str
    name: str
    type: str
    description: str | None = None
    filters: list[dict[str, Any]] = attrs.field(factory=list)
    due_at: float = 0.0
    status: str | None = None
    product_keys: list[str] = attrs.field(factory=list)


@attrs.define
class Catalog:
    """A catalog of a user."""

    id: str
    user_id: str
    name: str
    stock: Stock = attrs.field(factory=Stock, repr=False)
    sets: dict[str, SetOfProducts] = attrs.field(factory=dict, repr=False)
    _pending: list[SetOfProducts] = attrs.field(factory=list, repr=False)

    def add_set(self, made: SetOfProducts) -> None:
        """One more product set."""
        self.sets[made.id] = made
        if made.status == "PROCESSING":
            self._pending.append(made)

    def settle(self, now: float) -> None:
        """Fills the sets that are due. Whoever is about to change products calls it before."""
        due = [each for each in self._pending if each.due_at <= now]
        for each in due:
            self._pending.remove(each)
            keys = matching(self.stock, each.filters)
            each.status, each.product_keys = ("FAILED", []) if keys is None else ("DONE", keys)


class Catalogs:
    """All catalogs by id. A user has one at most."""

    def __init__(self) -> None:
        self._by_id: dict[str, Catalog] = {}

    def all(self) -> Iterator[Catalog]:
        """The catalogs in the order in which they were made."""
        return iter(list(self._by_id.values()))

    def get(self, catalog_id: str) -> Catalog | None:
        """The catalog with the id."""
        return self._by_id.get(catalog_id)

    def of_user(self, user_id: str) -> Catalog | None:
        """The catalog of a user."""
        return next((each for each in self._by_id.values() if each.user_id == user_id), None)

    def add(self, catalog: Catalog) -> None:
        """One more catalog."""
        self._by_id[catalog.id] = catalog

    def remove(self, catalog: Catalog) -> None:
        """Removes a catalog with everything in it."""
        del self._by_id[catalog.id]
