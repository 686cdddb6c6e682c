"""Curated categories, and the line items that run beside them (advertising documentation, sections 4.3 and 4.5)."""

from collections.abc import Sequence
from typing import Unpack

from socialapi.models.line_items import CuratedCategory, LineItemCuratedCategory, LineItemCuratedCategoryChanges
from socialapi.models.queries import CollectionQuery, RecordQuery
from socialapi.resources.ads.account_scoped import AccountScoped
from socialapi.resources.resource import unless_empty
from socialapi.routes import ads as routes
from socialapi.session.pager import Pager
from socialapi.unset import UNSET, Unset


class CuratedCategories(AccountScoped):
    """Curated categories."""

    def list(
        self,
        country_codes: str | Sequence[str] = (),
        *,
        count: int | Unset = UNSET,
        start: str | None = None,
    ) -> Pager[CuratedCategory]:
        """Curated categories, or those that can be had in one of `country_codes` (section 4.3).

        Every page has the `total_count`; `count` is its size (1 to 1,000), `start` a stored position. The request is not documented beyond `country_codes`.
        """
        query = {"country_codes": unless_empty(country_codes), "count": count}
        return self._session.pages(
            routes.CURATED_CATEGORIES.at(account_id=self._account_id), options=self._options, query=query, start=start
        )

    async def get(self, curated_category_id: str | int) -> CuratedCategory:
        """One curated category (section 4.3)."""
        target = routes.CURATED_CATEGORY.at(account_id=self._account_id, curated_category_id=curated_category_id)
        return await self._session.call(target, options=self._options)


class LineItemCuratedCategories(AccountScoped):
    """Pairs of a line item and a curated category."""

    def list(self, *, start: str | None = None, **query: Unpack[CollectionQuery]) -> Pager[LineItemCuratedCategory]:
        """All pairs of the account (section 4.5).

        `sort_by` is an attribute with its direction (`created_at-desc`), `with_deleted` includes deleted pairs,
        `with_total_count` has the first page count them, `count` is the size of a page (1 to 1,000), and `start` a
        stored position.
        """
        target = routes.LINE_ITEM_CURATED_CATEGORIES.at(account_id=self._account_id)
        return self._session.pages(target, options=self._options, query=query, start=start)

    async def get(
        self, line_item_curated_category_id: str | int, **query: Unpack[RecordQuery]
    ) -> LineItemCuratedCategory:
        """One pair (section 4.5). Raises NotFound for a deleted one, unless `with_deleted` is true."""
        target = routes.LINE_ITEM_CURATED_CATEGORY.at(**self._path(line_item_curated_category_id))
        return await self._session.call(target, options=self._options, query=query)

    async def create(self, line_item_id: str | int, curated_category_id: str | int) -> LineItemCuratedCategory:
        """Has a line item run beside a curated category (section 4.5). Not repeated when its outcome is unknown."""
        target = routes.LINE_ITEM_CURATED_CATEGORY_CREATE.at(account_id=self._account_id)
        body = {"line_item_id": line_item_id, "curated_category_id": curated_category_id}
        return await self._session.call(target, options=self._options, body=body)

    async def update(
        self, line_item_curated_category_id: str | int, **changes: Unpack[LineItemCuratedCategoryChanges]
    ) -> LineItemCuratedCategory:
        """Changes what belongs together (`line_item_id`, `curated_category_id`), and returns the new record (section 4.5)."""
        target = routes.LINE_ITEM_CURATED_CATEGORY_UPDATE.at(**self._path(line_item_curated_category_id))
        return await self._session.call(target, options=self._options, body=changes)

    async def delete(self, line_item_curated_category_id: str | int) -> LineItemCuratedCategory:
        """Ends it, and returns the record with `deleted` true (section 4.5)."""
        target = routes.LINE_ITEM_CURATED_CATEGORY_DELETE.at(**self._path(line_item_curated_category_id))
        return await self._session.call(target, options=self._options)

    def _path(self, line_item_curated_category_id: str | int) -> dict[str, str | int]:
        return {"account_id": self._account_id, "line_item_curated_category_id": line_item_curated_category_id}
