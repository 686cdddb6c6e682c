"""Business categories and curated categories (advertising documentation, sections 4.3 and 4.5)."""

import datetime
from typing import Annotated, TypedDict

import attrs
from annotated_types import MinLen

from socialapi.models.collections import TOTAL_OR_CURSOR, CollectionQuery, CountQuery, Id
from socialapi.models.model import Model
from socialapi.models.rules import ListOf, Pattern

CountryCode = Annotated[str, Pattern("[A-Z]{2}", "must be a country code of two capital letters")]


@attrs.define(kw_only=True)
class BusinessCategory(Model):
    """What an advertiser does; its `iab_categories` go into `categories` of PREROLL_VIEWS line items."""

    id: str
    name: str | None = None
    iab_categories: tuple[str, ...] = ()


@attrs.define(kw_only=True)
class CuratedCategory(Model):
    """A group of publishers, which can be had in the countries of `country_codes` only."""

    id: str
    name: str | None = None
    description: str | None = None
    country_codes: tuple[str, ...] = ()
    publisher_user_ids: tuple[str, ...] = ()
    videos_monetized_in_last_thirty_days: int | None = None
    created_at: datetime.datetime | None = None
    updated_at: datetime.datetime | None = None


@attrs.define(kw_only=True)
class LineItemCuratedCategory(Model):
    """That a line item runs beside the content of a curated category."""

    id: str
    line_item_id: str | None = None
    curated_category_id: str | None = None
    created_at: datetime.datetime | None = None
    updated_at: datetime.datetime | None = None
    deleted: bool | None = None


class CuratedCategoriesQuery(CountQuery, total=False):
    """Curated categories that can be had in one of the countries; the parameters of a page are assumed."""

    country_codes: Annotated[ListOf[CountryCode], MinLen(1)]


LineItemCuratedCategoriesQuery = Annotated[CollectionQuery, TOTAL_OR_CURSOR]


class LineItemCuratedCategoryDraft(TypedDict):
    """What belongs together."""

    line_item_id: Id
    curated_category_id: Id


class LineItemCuratedCategoryChanges(TypedDict, total=False):
    """What is to belong together from now on."""

    line_item_id: Id
    curated_category_id: Id
