"""`socialapi ads line-item update`."""

from collections.abc import Callable
from typing import Annotated, Any, Final, TypeVar

import attrs
from cyclopts import Parameter

from socialapi.cli import exits
from socialapi.cli.ads import AccountArgument, constant, print_record, time
from socialapi.cli.connecting import open_client
from socialapi.cli.options import named, whole_number
from socialapi.cli.walking import AsJson
from socialapi.errors import InvalidInput
from socialapi.models.money import Micros

T = TypeVar("T")


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class Changes:
    """What can be changed, as people give it."""

    name: Annotated[str | None, Parameter(help="New name.")] = None
    status: Annotated[str | None, Parameter(help="active or paused.")] = None
    bid: Annotated[str | None, Parameter(help="Bid in units of the currency, as 1.50.")] = None
    bid_strategy: Annotated[
        str | None, Parameter(help="auto, max or target; with auto a bid is ignored, the others need one.")
    ] = None
    total_budget: Annotated[str | None, Parameter(help="Total budget in units of the currency.")] = None
    daily_budget: Annotated[
        str | None, Parameter(help="Daily budget, at most the total one, if the campaign leaves budgets to line items.")
    ] = None
    start: Annotated[str | None, Parameter(help="2025-01-06 (midnight UTC) or 2025-01-06T09:00Z.")] = None
    end: Annotated[str | None, Parameter(help="The same for its end.")] = None
    goal: Annotated[str | None, Parameter(help="link-clicks, max-reach, video-view, ….")] = None
    pay_by: Annotated[str | None, Parameter(help="app-click, impression or link-click; for app installs only.")] = None
    frequency_cap: Annotated[
        int | None, whole_number(help="How often somebody sees it in --duration-in-days.", least=1)
    ] = None
    duration_in_days: Annotated[int | None, whole_number(help="1, 7 or 30.")] = None
    audience_expansion: Annotated[str | None, Parameter(help="broad, defined or expanded.")] = None
    categories: Annotated[str | None, Parameter(help="IAB categories, with commas between them.", negative=())] = None
    advertiser_domain: Annotated[str | None, Parameter(help="Domain without a protocol.")] = None
    advertiser_user: Annotated[str | None, Parameter(help="Id of the user who promotes a preroll ad.")] = None
    android_app: Annotated[str | None, Parameter(help="Identifier of the app in its store.")] = None
    ios_app: Annotated[str | None, Parameter(help="Identifier of the app in its store.")] = None
    clear: Annotated[
        list[str] | None,
        Parameter(help="Option whose value is to be emptied, as --clear end; repeatable.", negative=()),
    ] = None

    def body(self) -> dict[str, Any]:
        """The same as the service wants it. Raises InvalidInput for what cannot be read."""
        given = {name: getattr(self, name) for name in _FIELDS if getattr(self, name) is not None}
        found = {_FIELDS[name][0]: _FIELDS[name][1](_option(name), value) for name, value in given.items()}
        for option in self.clear or ():
            name = option.removeprefix("--").replace("-", "_")
            if name not in _FIELDS or name in given:
                raise InvalidInput(f"--clear {option}: it names an option of this command that is not given beside it")
            found[_FIELDS[name][0]] = None
        if not found:
            raise InvalidInput("there is nothing to change: give at least one option, as --status paused")
        return found


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _same(option: str, value: T) -> T:
    return value


def _constant(option: str, text: str) -> str:
    return constant(text)


def _millionths(option: str, text: str) -> int:
    try:
        return Micros.of(text, "").value
    except InvalidInput as problem:
        raise InvalidInput(f"{option}: {problem}") from None


def _list(option: str, text: str) -> tuple[str, ...]:
    found = tuple(each.strip() for each in text.split(",") if each.strip())
    if not found:
        raise InvalidInput(f"{option}: name at least one, or empty the value with --clear {option.removeprefix('--')}")
    return found


_FIELDS: Final[dict[str, tuple[str, Callable[[str, Any], Any]]]] = {
    "name": ("name", _same),
    "status": ("entity_status", _constant),
    "bid": ("bid_amount_local_micro", _millionths),
    "bid_strategy": ("bid_strategy", _constant),
    "total_budget": ("total_budget_amount_local_micro", _millionths),
    "daily_budget": ("daily_budget_amount_local_micro", _millionths),
    "start": ("start_time", time),
    "end": ("end_time", time),
    "goal": ("goal", _constant),
    "pay_by": ("pay_by", _constant),
    "frequency_cap": ("frequency_cap", _same),
    "duration_in_days": ("duration_in_days", _same),
    "audience_expansion": ("audience_expansion", _constant),
    "categories": ("categories", _list),
    "advertiser_domain": ("advertiser_domain", _same),
    "advertiser_user": ("advertiser_user_id", _same),
    "android_app": ("android_app_store_identifier", _same),
    "ios_app": ("ios_app_store_identifier", _same),
}
"""The parameter that each option stands for, and how it is read."""


_OPTIONS: Final = {parameter: _option(name) for name, (parameter, _) in _FIELDS.items()}
_NOTHING: Final = Changes()


async def update(
    account_id: AccountArgument,
    line_item_id: Annotated[str, Parameter(help="Id of the line item.")],
    /,
    *,
    changes: Changes = _NOTHING,
    json: AsJson = False,
) -> int:
    """Change a line item and print its new record, with amounts in units of its currency.

    What is not given stays as it is: `socialapi ads line-item update ACCOUNT LINE_ITEM --bid 1.50 --daily-budget 20`.
    With --json amounts are whole millionths, as the service has them. Exit status: 0 changed, 2 wrong usage, 3 refused
    by the service or unreachable.
    """
    body: Any = changes.body()
    async with open_client() as client:
        with named(_OPTIONS):
            record = await client.ads.account(account_id).line_items.update(line_item_id, body)
    print_record(record, as_json=json)
    return exits.DONE
