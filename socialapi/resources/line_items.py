"""Line items and their categories (advertising documentation, sections 4.3 to 4.5)."""

from collections.abc import Mapping, Sequence
from typing import Unpack, get_args

from socialapi.errors import InvalidInput
from socialapi.models.line_items import (
    BudgetOptimization,
    CuratedCategory,
    LineItem,
    LineItemChanges,
    LineItemCuratedCategory,
    LineItemCuratedCategoryChanges,
    decidable_rules,
    rules_with_campaign,
    rules_with_stored,
)
from socialapi.models.queries import CollectionQuery, RecordQuery
from socialapi.resources.arguments import check_argument
from socialapi.resources.resource import Resource, unless_empty
from socialapi.routes import ads as routes
from socialapi.session.pager import Pager
from socialapi.unset import UNSET, Unset
from socialapi.wire.encode import json_shape
from socialapi.wire.request import check, path_id, refuse


class LineItems(Resource):
    """The line items of an account."""

    async def update(
        self,
        line_item_id: str | int,
        changes: LineItemChanges | None = None,
        /,
        *,
        current: LineItem | None = None,
        budget_optimization: BudgetOptimization | None = None,
        **further: Unpack[LineItemChanges],
    ) -> LineItem:
        """Changes a line item and returns its new record (section 4.4). There is no endpoint that reads one: without
        changes the record comes back as it is.

        What to change is given by keyword, or as `LineItemChanges`; `None` clears a value. Rules about the fields that
        are sent are checked here. Rules about the line item as it is (its objective and placements, the bid it has)
        are checked as well if it is given as `current` (which must be the record of this line item), and those about
        its campaign with `budget_optimization`, CAMPAIGN or LINE_ITEM; else the service checks them. A bid is ignored with the strategy AUTO. Raises InvalidInput with every broken rule.
        """
        check_argument("changes", Mapping | None, changes)
        body: LineItemChanges = {**(changes or {}), **further}
        self._check(path_id("line_item_id", line_item_id), body, current, budget_optimization)
        return await self._call(routes.LINE_ITEM_UPDATE, body=body, line_item_id=line_item_id)

    def _check(
        self,
        line_item_id: str | int,
        changes: LineItemChanges,
        current: LineItem | None,
        budget_optimization: BudgetOptimization | None,
    ) -> None:
        """Single values first, as the service does: rules that span several make sense only of right ones."""
        given: object = current
        if given is not None and not (isinstance(given, LineItem) and given.id == line_item_id):
            raise InvalidInput(f"current must be the LineItem with the id {line_item_id}, as the service answered it")
        if budget_optimization not in (None, *get_args(BudgetOptimization)):
            raise InvalidInput(f"budget_optimization must be {' or '.join(get_args(BudgetOptimization))}, or None")
        shape = check(LineItemChanges, changes, now=self._session.now())
        if current is not None:
            refuse(list(rules_with_stored(shape, json_shape(current), budget_optimization)))
        else:
            refuse([*decidable_rules(shape, self._session.now()), *rules_with_campaign(shape, budget_optimization)])

    async def delete(self, line_item_id: str | int) -> LineItem:
        """Deletes a line item for good, and returns its record with `deleted` true (section 4.4).

        Its promoted posts are not deleted, and appear only in reads with `with_deleted` from then on. Raises NotFound
        when it is deleted already. Not repeated when its outcome is unknown.
        """
        return await self._call(routes.LINE_ITEM_DELETE, line_item_id=line_item_id)


class CuratedCategories(Resource):
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
        return self._pages(routes.CURATED_CATEGORIES, query=query, start=start)

    async def get(self, curated_category_id: str | int) -> CuratedCategory:
        """One curated category (section 4.3)."""
        return await self._call(routes.CURATED_CATEGORY, curated_category_id=curated_category_id)


class LineItemCuratedCategories(Resource):
    """Pairs of a line item and a curated category."""

    def list(self, *, start: str | None = None, **query: Unpack[CollectionQuery]) -> Pager[LineItemCuratedCategory]:
        """All pairs of the account (section 4.5).

        `sort_by` is an attribute with its direction (`created_at-desc`), `with_deleted` includes deleted pairs,
        `with_total_count` has the first page count them, `count` is the size of a page (1 to 1,000), and `start` a
        stored position.
        """
        return self._pages(routes.LINE_ITEM_CURATED_CATEGORIES, query=query, start=start)

    async def get(
        self, line_item_curated_category_id: str | int, **query: Unpack[RecordQuery]
    ) -> LineItemCuratedCategory:
        """One pair (section 4.5). Raises NotFound for a deleted one, unless `with_deleted` is true."""
        return await self._call(
            routes.LINE_ITEM_CURATED_CATEGORY, query=query, line_item_curated_category_id=line_item_curated_category_id
        )

    async def create(self, line_item_id: str | int, curated_category_id: str | int) -> LineItemCuratedCategory:
        """Has a line item run beside a curated category (section 4.5). Not repeated when its outcome is unknown."""
        body = {"line_item_id": line_item_id, "curated_category_id": curated_category_id}
        return await self._call(routes.LINE_ITEM_CURATED_CATEGORY_CREATE, body=body)

    async def update(
        self, line_item_curated_category_id: str | int, **changes: Unpack[LineItemCuratedCategoryChanges]
    ) -> LineItemCuratedCategory:
        """Changes what belongs together (`line_item_id`, `curated_category_id`), and returns the new record (section 4.5)."""
        return await self._call(
            routes.LINE_ITEM_CURATED_CATEGORY_UPDATE,
            body=changes,
            line_item_curated_category_id=line_item_curated_category_id,
        )

    async def delete(self, line_item_curated_category_id: str | int) -> LineItemCuratedCategory:
        """Ends it, and returns the record with `deleted` true (section 4.5)."""
        return await self._call(
            routes.LINE_ITEM_CURATED_CATEGORY_DELETE, line_item_curated_category_id=line_item_curated_category_id
        )
