"""Products that were read, and the batches in which they are sent."""

import asyncio
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

import attrs

from socialapi.bulk.dispatcher import Sendable
from socialapi.models.products import Product

FIELDS: Final = tuple(field.name for field in attrs.fields(Product))
"""The names of all fields of a product."""
REQUIRED: Final = tuple(field.name for field in attrs.fields(Product) if field.default is attrs.NOTHING)
IDENTIFYING: Final = ("brand", "gtin", "mpn")
"""A product needs at least one of these fields."""

ENVELOPE: Final = (b'{"products":[', b"]}")
"""The JSON before and after the products of a request."""


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ProductRow:
    """A product that was read. `shape` has the fields to send, and `number` counts products from 1.

    `problem` is a (field, reason) pair if the product could not be read, and `other_problems` are those of further
    fields. `values` are the cells of its line in the order of the columns, or None if the input has no columns. `json`
    is the encoded shape, set once the product is validated. `is_blank` is true for an empty line. `warnings` are
    (field, reason) pairs about values that are sent unchanged, and `converted` are the fields whose values were
    converted. `location` is the position of the row in its file, and the reason in `problem` starts with it.
    `keeps_field_rules` is true if every value is known to follow the rules of its field, so that only the rules that
    involve several fields must be checked. `digest` is the digest of the content, set for the comparison with the last
    load. `is_repeated` is true if an earlier product has the same id.
    """

    number: int
    shape: Mapping[str, Any]
    problem: tuple[str, str] | None = None
    values: Sequence[str] | None = None
    json: bytes = b""
    is_blank: bool = False
    warnings: Sequence[tuple[str, str]] = ()
    converted: Sequence[str] = ()
    location: str = ""
    keeps_field_rules: bool = False
    digest: bytes = b""
    is_repeated: bool = False
    other_problems: Sequence[tuple[str, str]] = ()

    @property
    def id(self) -> str:
        """The id of a valid product."""
        found: str = self.shape["id"]
        return found

    @property
    def group(self) -> str | None:
        """The group of a valid product."""
        found: str | None = self.shape.get("item_group_id")
        return found

    @property
    def known_id(self) -> str | None:
        """The id of a product, valid or not. None if it is missing or cannot be encoded in UTF-8."""
        found = self.shape.get("id")
        # UTF-8 cannot represent a lone surrogate.
        is_text = isinstance(found, str) and found.encode("utf-8", "replace").decode() == found
        return found if found and is_text else None

    def has_sure_id(self, fields: str) -> bool:
        """Returns whether the id of a product is reliable even though these fields are invalid."""
        # If title and link are missing, the id may be an entire line.
        is_product = "title" in self.shape or "link" in self.shape
        return self.known_id is not None and is_product and "id" not in fields.split(", ")


@attrs.define(eq=False)
class ProductBatch:
    """A batch for one request. Each id occurs once, and no other batch in flight has the same ids or groups."""

    number: int
    rows: list[ProductRow] = attrs.field(factory=list, repr=False)
    ids: set[str] = attrs.field(factory=set, repr=False)
    groups: set[str] = attrs.field(factory=set, repr=False)
    size_bytes: int = sum(map(len, ENVELOPE)) - 1
    after: AbstractSet[Sendable] = frozenset()
    settled: asyncio.Event = attrs.field(factory=asyncio.Event)
    failed: bool = False

    @property
    def row_count(self) -> int:
        """The number of products."""
        return len(self.rows)

    def add(self, row: ProductRow) -> int:
        """Adds a product whose id is not in the batch yet. Returns the new number of products."""
        self.rows.append(row)
        self.ids.add(row.shape["id"])
        if (group := row.shape.get("item_group_id")) is not None:
            self.groups.add(group)
        self.size_bytes += len(row.json) + 1
        return len(self.rows)

    def release(self) -> None:
        """Releases the products."""
        self.rows = []
