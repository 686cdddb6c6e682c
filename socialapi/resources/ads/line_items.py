"""Line items (advertising documentation, section 4.4)."""

from collections.abc import Mapping
from typing import Unpack, get_args

from socialapi.errors import InvalidInput
from socialapi.models.line_items import (
    BudgetOptimization,
    LineItem,
    LineItemChanges,
    decidable_rules,
    rules_with_campaign,
    rules_with_stored,
)
from socialapi.resources.ads.account_scoped import AccountScoped
from socialapi.resources.arguments import check_argument
from socialapi.routes import ads as routes
from socialapi.wire.encoding import json_shape
from socialapi.wire.request import check, path_id, refuse


class LineItems(AccountScoped):
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
        target = routes.LINE_ITEM_UPDATE.at(account_id=self._account_id, line_item_id=line_item_id)
        return await self._session.call(target, options=self._options, body=body)

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
        target = routes.LINE_ITEM_DELETE.at(account_id=self._account_id, line_item_id=line_item_id)
        return await self._session.call(target, options=self._options)
