"""Line items and curated categories."""

import itertools
import re
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
    rules_with_campaign,
    rules_with_stored,
    rules_within_change,
)
from socialapi.models.queries import CollectionQuery, RecordQuery
from socialapi.models.validation import broken_rules
from socialapi.resources.arguments import check_argument
from socialapi.resources.resource import Resource, unless_empty
from socialapi.routes import line_items as routes
from socialapi.session.pager import Pager
from socialapi.wire.encode import json_shape, shaped
from socialapi.wire.request import odd_ids, refuse


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
        """Changes a line item and returns its new record (`PUT accounts/:account_id/line_items/:line_item_id`).

        No endpoint reads a line item: a call without changes returns its record. Pass changes as keywords, or as a
        `LineItemChanges`; None clears a value. With the strategy AUTO, the service ignores a bid.

        Raises InvalidInput with all errors. The client always checks rules about the sent fields. It checks rules about
        stored values (objective, placements, bid) if you pass the record of this line item as `current`. It checks
        rules about the campaign if you pass `budget_optimization`, CAMPAIGN or LINE_ITEM. The service checks all other
        rules.
        """
        check_argument("changes", Mapping | None, changes)
        body: LineItemChanges = {**(changes or {}), **further}
        # A rule about several values does not apply if one of them is invalid by itself.
        given: object = current
        if given is not None and not (isinstance(given, LineItem) and given.id == str(line_item_id)):
            raise InvalidInput(f"current must be the LineItem with the id {line_item_id}, as the service returned it")
        if budget_optimization not in (None, *get_args(BudgetOptimization)):
            raise InvalidInput(f"budget_optimization must be {' or '.join(get_args(BudgetOptimization))}, or None")
        shape, now = shaped(LineItemChanges, body), self._session.now()
        broken = broken_rules(LineItemChanges, shape, now=now)
        wrong = {re.split(r"[.\[]", rule.path)[0] for rule in broken}
        right = {name: value for name, value in shape.items() if name not in wrong}
        if current is not None:
            between = rules_with_stored(right, json_shape(current), budget_optimization)
        else:
            between = itertools.chain(rules_within_change(right, now), rules_with_campaign(right, budget_optimization))
        broken += [rule for rule in between if not any(name in f"{rule.path} {rule.reason}" for name in wrong)]
        refuse(broken and [*odd_ids({"line_item_id": line_item_id}), *broken])
        return await self._call(routes.LINE_ITEM_UPDATE, body=body, line_item_id=line_item_id)

    async def delete(self, line_item_id: str | int) -> LineItem:
        """Deletes a line item for good (`DELETE accounts/:account_id/line_items/:line_item_id`). Returns
        its record, with `deleted` true.

        Its promoted posts are not deleted, but then appear only in reads with `with_deleted`.
        Raises NotFound if it was deleted before. Not retried if its outcome is unknown.
        """
        return await self._call(routes.LINE_ITEM_DELETE, line_item_id=line_item_id)


class CuratedCategories(Resource):
    """Curated categories: groups of publishers on whose content ads can run."""

    def list(
        self,
        country_codes: str | Sequence[str] = (),
        *,
        count: int | None = None,
        start: str | None = None,
    ) -> Pager[CuratedCategory]:
        """Returns all curated categories, or those available in one of `country_codes` (`GET
        accounts/:account_id/curated_categories`).

        Every page has the `total_count`. `count` is the page size (1 to 1,000), and `start` is a
        stored `Pager.position`. The documentation describes no request parameter other than
        `country_codes`.
        """
        query = {"country_codes": unless_empty(country_codes), "count": count}
        return self._pages(routes.CURATED_CATEGORIES, query=query, start=start)

    async def get(self, curated_category_id: str | int) -> CuratedCategory:
        """Returns one curated category
        (`GET accounts/:account_id/curated_categories/:curated_category_id`). Raises NotFound if it does not
        exist.
        """
        return await self._call(routes.CURATED_CATEGORY, curated_category_id=curated_category_id)


class LineItemCuratedCategories(Resource):
    """The pairs of a line item and a curated category on which it runs."""

    def list(self, *, start: str | None = None, **query: Unpack[CollectionQuery]) -> Pager[LineItemCuratedCategory]:
        """Returns all pairs of the account (`GET accounts/:account_id/line_item_curated_categories`).

        `sort_by` is an attribute with a direction (`created_at-desc`), `with_deleted` includes
        deleted pairs, `with_total_count` adds the total to the first page, `count` is the page size
        (1 to 1,000), and `start` is a stored `Pager.position`.
        """
        return self._pages(routes.LINE_ITEM_CURATED_CATEGORIES, query=query, start=start)

    async def get(
        self, line_item_curated_category_id: str | int, **query: Unpack[RecordQuery]
    ) -> LineItemCuratedCategory:
        """Returns one assignment of a curated category to a line item (`GET
        accounts/:account_id/line_item_curated_categories/:line_item_curated_category_id`). Raises NotFound for a
        deleted one, unless `with_deleted` is true.
        """
        return await self._call(
            routes.LINE_ITEM_CURATED_CATEGORY, query=query, line_item_curated_category_id=line_item_curated_category_id
        )

    async def create(self, line_item_id: str | int, curated_category_id: str | int) -> LineItemCuratedCategory:
        """Pairs a line item with a curated category and returns the pair
        (`POST accounts/:account_id/line_item_curated_categories`). Not retried if its outcome is unknown.
        """
        body = {"line_item_id": line_item_id, "curated_category_id": curated_category_id}
        return await self._call(routes.LINE_ITEM_CURATED_CATEGORY_CREATE, body=body)

    async def update(
        self, line_item_curated_category_id: str | int, **changes: Unpack[LineItemCuratedCategoryChanges]
    ) -> LineItemCuratedCategory:
        """Changes the `line_item_id` or `curated_category_id` of a pair
        (`PUT accounts/:account_id/line_item_curated_categories/:line_item_curated_category_id`). Returns
        the new record.
        """
        return await self._call(
            routes.LINE_ITEM_CURATED_CATEGORY_UPDATE,
            body=changes,
            line_item_curated_category_id=line_item_curated_category_id,
        )

    async def delete(self, line_item_curated_category_id: str | int) -> LineItemCuratedCategory:
        """Deletes a pair
        (`DELETE accounts/:account_id/line_item_curated_categories/:line_item_curated_category_id`). Returns
        its record, with `deleted` true.
        """
        return await self._call(
            routes.LINE_ITEM_CURATED_CATEGORY_DELETE, line_item_curated_category_id=line_item_curated_category_id
        )
