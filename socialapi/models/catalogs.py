"""Product catalogs and product sets."""

import datetime
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Required, TypedDict

import attrs
from annotated_types import MinLen

from socialapi.internal.records import Record
from socialapi.internal.unset import UNSET, Unset
from socialapi.models.model import Model
from socialapi.models.products import Price
from socialapi.models.queries import CursorQuery, Long
from socialapi.models.validation import AnyId, broken_rules
from socialapi.problems import BrokenRule

FilterAttribute = Literal[
    "price",
    "product_type",
    "taxonomy_product_category",
    "sale_price",
    "inventory",
    "custom_label_0",
    "custom_label_1",
    "custom_label_2",
    "custom_label_3",
    "custom_label_4",
]
FilterOperator = Literal["GREATER_THAN", "EQUAL_TO", "LESS_THAN", "MATCH", "NOT_CONTAINS", "CONTAINS"]
ProductSetType = Literal["MANUAL", "FILTERED"]


@attrs.define(kw_only=True)
class ProductCatalog(Model):
    """A product catalog of a user."""

    id: str
    name: str | None = None
    deleted: bool | None = None


class CatalogsQuery(CursorQuery, total=False):
    """Parameters for listing catalogs. `user_id` defaults to the calling user."""

    user_id: Long


class CatalogFields(TypedDict, total=False):
    """A catalog to create. Each user has at most one."""

    name: Required[Annotated[str, MinLen(1)]]
    user_id: Long


class CatalogName(TypedDict):
    """A new name for a catalog."""

    name: Annotated[str, MinLen(1)]


@attrs.define
class ProductFilter(Record):
    """A condition that compares `attribute` of a product with `value`."""

    attribute: FilterAttribute
    operator: FilterOperator
    value: str | int = attrs.field(metadata={"read_as": Any})

    @staticmethod
    def conditions(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
        """Yields a violation for an amount without a currency, which cannot be compared with a price."""
        if data["attribute"] in ("price", "sale_price") and broken_rules(Price, data["value"], now=now):
            reason = "must be an amount with its currency if the attribute is a price, for example 20 USD"
            yield BrokenRule(path="value", reason=reason)


@attrs.define(kw_only=True)
class ProductSet(Model):
    """A group of products for ads, chosen one by one or by filters.

    `product_ids` are the ids of the products in the catalog, complete once `processing_status` is
    DONE.
    """

    id: str
    name: str | None = None
    description: str | None = None
    type: ProductSetType | str | None = None
    product_ids: tuple[str, ...] = ()
    filters: tuple[Mapping[str, Any], ...] = ()
    processing_status: Literal["DONE", "PROCESSING", "FAILED"] | str | None = None


@attrs.define(kw_only=True)
class ProductSetDraft(Record):
    """A product set to create: MANUAL with `product_keys`, or FILTERED with `filters`."""

    name: Annotated[str, MinLen(1)]
    type: ProductSetType
    description: str | Unset = UNSET
    filters: Annotated[tuple[ProductFilter, ...], MinLen(1)] | Unset = UNSET
    product_keys: Annotated[tuple[AnyId, ...], MinLen(1)] | Unset = UNSET

    @staticmethod
    def conditions(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
        """Yields a violation unless the set has the keys or filters that its type requires."""
        needed = "product_keys" if data["type"] == "MANUAL" else "filters"
        if needed not in data:
            reason = f"is required for the type {data['type']}"
            yield BrokenRule(path=needed, reason=reason, code="MISSING_PARAMETER")
