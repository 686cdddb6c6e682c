"""`socialapi ads`: accounts, their history, keyword insights, line items and audience targeting."""

import datetime
from collections.abc import Callable
from typing import Annotated, Any, Final

import attrs
import orjson
from cyclopts import App, Parameter

from socialapi.cli import output
from socialapi.cli.credential_store import open_client
from socialapi.cli.formats import Column, ListKind, json_line, print_json
from socialapi.cli.listing import ALL_PAGES, AsJson, ListFlags, PagedFlags, print_items, print_pages
from socialapi.cli.options import time, whole_number
from socialapi.cli.output import moment, printable
from socialapi.errors import InvalidInput
from socialapi.models.accounts import Account, HistoryEntry
from socialapi.models.audiences import TargetingCampaign
from socialapi.models.insights import KeywordInsights
from socialapi.models.money import Micros
from socialapi.wire.encode import json_shape

app: Final = App(name="ads")
line_item_app: Final = App(name="line-item", help="Change line items.")
app.command(line_item_app)

AccountArgument = Annotated[
    str, Parameter(name="ACCOUNT", help="Id of the advertising account, as `socialapi ads accounts` shows it.")
]

_MICROS: Final = "_local_micro"
_UNITS: Final = {"DAY": datetime.timedelta(days=1), "HOUR": datetime.timedelta(hours=1)}


@app.command
async def accounts(
    *,
    q: Annotated[str | None, Parameter(name="--q", help="The beginning of the name, ignoring case.")] = None,
    with_deleted: Annotated[bool, Parameter(help="Include deleted accounts.")] = False,
    flags: PagedFlags = ALL_PAGES,
) -> int:
    """Print the accounts of the user: id, state and name.

    For example: `socialapi ads accounts --q north`, or `socialapi ads accounts --output csv
    --output-file accounts.csv`. Exit status: 0 done, 2 wrong usage, 3 refused by the service or
    unreachable.
    """
    query: dict[str, Any] = ({"q": q} if q is not None else {}) | ({"with_deleted": True} if with_deleted else {})
    async with open_client() as client:
        found = client.ads.accounts.list(start=flags.start, count=flags.page_size(least=200, most=1_000), **query)
        await print_pages(found, _ACCOUNTS, flags, if_none="there are no such accounts")
    return output.DONE


_ACCOUNTS: Final = ListKind[Account](
    name="account",
    record=Account,
    columns=(
        Column("id", lambda account: account.id, is_whole=True),
        Column("state", lambda account: "DELETED" if account.deleted else account.approval_status),
        Column("name", lambda account: account.name),
    ),
)


@app.command
async def account(
    account_id: AccountArgument,
    /,
    *,
    with_deleted: Annotated[bool, Parameter(help="Find the account even if it is deleted.")] = False,
    json: AsJson = False,
) -> int:
    """Print an account, one field per line.

    For example: `socialapi ads account 18ce54d4x5t --json`. Exit status: 0 done, 2 wrong usage, 3 refused by the
    service (such as an unknown account) or unreachable.
    """
    async with open_client() as client:
        found = await client.ads.accounts.get(account_id, with_deleted=with_deleted)
    print_record(found, as_json=json)
    return output.DONE


@app.command
async def history(
    account_id: AccountArgument,
    /,
    *,
    entity_type: Annotated[
        str, Parameter(help="campaign, line_item, promoted_tweet, targeting_criteria or promoted_account.")
    ],
    entity_id: Annotated[str, Parameter(help="Id of the changed object.")],
    start_time: Annotated[str, Parameter(help="Start, a full hour: 2025-01-06 (midnight UTC) or 2025-01-06T09:00Z.")],
    end_time: Annotated[str, Parameter(help="End (exclusive), a full hour.")],
    user: Annotated[str | None, Parameter(help="Only changes by this user.")] = None,
    flags: PagedFlags = ALL_PAGES,
) -> int:
    """Print the changes to a campaign or line item, with time and user, oldest first.

    For example: `socialapi ads history 18ce54d4x5t --entity-type campaign --entity-id 8wku2 --start-time 2025-01-06
    --end-time 2025-01-13 --output jsonl`. The history is in beta, and must be enabled for the account. Exit status: 0
    done, 2 wrong usage, 3 refused by the service or unreachable, 130 interrupted.
    """
    query: dict[str, Any] = {
        "entity_type": constant(entity_type),
        "entity_id": entity_id,
        "start_time": time("--start-time", start_time),
        "end_time": time("--end-time", end_time),
    }
    if user is not None:
        query["user_id"] = user
    async with open_client() as client:
        found = client.ads.account(account_id).history(
            start=flags.start, count=flags.page_size(least=200, most=1_000), **query
        )
        await print_pages(found, _CHANGES, flags, if_none="there were no changes")
    return output.DONE


def _who(entry: HistoryEntry) -> str | None:
    by = entry.change_by
    return f"{by.user_id or '-'} ({by.platform or '-'})" if by else None


_CHANGES: Final = ListKind[HistoryEntry](
    name="change",
    record=HistoryEntry,
    columns=(
        Column("time", lambda entry: entry.change_time, is_whole=True, has_seconds=True),
        Column("change", lambda entry: entry.change_type),
        Column("by", _who),
        Column("changes", lambda entry: json_line(json_shape(entry.changes)) if entry.changes else None),
    ),
)


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class InsightFlags(ListFlags):
    """The options of insights, which can also print the full response instead of the list of counts."""

    json: Annotated[
        bool, Parameter(help="Print the full response as one JSON object, instead of a list of counts.")
    ] = False


NO_INSIGHT_FLAGS: Final = InsightFlags()


@attrs.frozen
class Volume:
    """The number of posts in a day or hour, with the start of that period."""

    time: datetime.datetime
    tweet_volume: int


_ANSWER: Final = ListKind[KeywordInsights](name="answer", record=KeywordInsights, columns=())


def _volumes(unit: str) -> ListKind[Volume]:
    return ListKind(
        name="number",
        record=Volume,
        columns=(
            Column("time", lambda volume: f"{volume.time:%Y-%m-%d}" if unit == "DAY" else volume.time, is_whole=True),
            Column("posts", lambda volume: str(volume.tweet_volume), is_whole=True),
        ),
    )


@app.command
async def insights(
    *keywords: Annotated[str, Parameter(help="Count posts with any of these keywords.")],
    granularity: Annotated[str, Parameter(help="day or hour: the period of each count.")],
    start: Annotated[str, Parameter(help="2025-01-06 (midnight UTC) or 2025-01-06T09:00Z.")],
    end: Annotated[str | None, Parameter(help="End, at most seven days after the start; the default is now.")] = None,
    location: Annotated[
        str | None, Parameter(help="Targeting value of a country, such as 96683cc9126741d1 (US).")
    ] = None,
    negative: Annotated[list[str] | None, Parameter(help="Exclude posts with this keyword; repeatable.")] = None,
    flags: InsightFlags = NO_INSIGHT_FLAGS,
) -> int:
    """Print how many posts contained any of the keywords, by day or hour. Related keywords are printed to standard
    error.

    For example: `socialapi ads insights ski snow --granularity day --start 2025-01-06
    --end 2025-01-13`. At most ten keywords, including --negative. Exit status: 0 done, 2 wrong usage, 3
    refused by the service or unreachable.
    """
    flags.format()  # checks the options before the first request
    begin, unit = time("--start", start), constant(granularity)
    until = None if end is None else time("--end", end)
    async with open_client() as client:
        found = await client.ads.keyword_insights(
            keywords,
            granularity=unit,  # type: ignore[arg-type]  # checked with everything else
            start_time=begin,
            end_time=until,
            location=location,
            negative_keywords=negative or (),
        )
    if flags.json:
        print_items([found], _ANSWER, flags)
        return output.DONE
    numbers = (
        Volume(begin.astimezone(datetime.UTC) + at * _UNITS[unit], count) for at, count in enumerate(found.tweet_volume)
    )
    print_items(numbers, _volumes(unit), flags)
    if found.related_keywords and flags.format() == "table":
        output.say(printable(f"related keywords: {', '.join(found.related_keywords)}"))
    return output.DONE


@app.command
async def targeted(
    account_id: AccountArgument,
    audience: Annotated[str, Parameter(help="Id of the custom audience.")],
    /,
    *,
    all_: Annotated[bool, Parameter(name="--all", help="Include line items that cannot be served.")] = False,
    flags: PagedFlags = ALL_PAGES,
) -> int:
    """Print the campaigns that target an audience, with their line items.

    For example: `socialapi ads targeted 18ce54d4x5t 1nmth --output json`. Exit status: 0 done, 2 wrong usage, 3 refused by the service or unreachable, 130 interrupted.
    """
    async with open_client() as client:
        found = (
            client.ads.account(account_id).custom_audience(audience).targeted(with_active=not all_, start=flags.start)
        )
        nothing = "nothing targets this audience" if all_ else "nothing that targets this audience can be served"
        await print_pages(found, _CAMPAIGNS, flags, if_none=nothing)
    return output.DONE


def _line_items(campaign: TargetingCampaign) -> str:
    return "; ".join(f"{item.id} {item.name or '-'}{_SERVED[item.servable]}" for item in campaign.line_items)


_CAMPAIGNS: Final = ListKind[TargetingCampaign](
    name="campaign",
    record=TargetingCampaign,
    columns=(
        Column("id", lambda campaign: campaign.campaign_id, is_whole=True),
        Column("name", lambda campaign: campaign.campaign_name),
        Column("line items", _line_items),
    ),
)
_SERVED: Final = {True: "", False: " (not servable)", None: ""}


def constant(text: str) -> str:
    """Returns a value in the service's spelling of constants: `line-item` becomes LINE_ITEM."""
    return text.strip().upper().replace("-", "_")


def print_record(record: Any, *, as_json: bool) -> None:
    """Prints a record as JSON, or one field per line, with amounts in units of the currency."""
    if as_json:
        print_json(record)
        return
    currency = getattr(record, "currency", None) or ""
    known = {field.name: getattr(record, field.name) for field in attrs.fields(type(record)) if field.name != "extra"}
    rows = [
        (name.removesuffix(_MICROS), _text(name, value, currency))
        for name, value in (known | record.extra).items()
        if value not in (None, (), [], {})
    ]
    output.print_pairs(rows)


def _text(name: str, value: Any, currency: str) -> str:
    if name.endswith(_MICROS) and isinstance(value, int):
        return str(Micros(value, currency)).strip()
    if isinstance(value, datetime.datetime):
        return moment(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return value if isinstance(value, str) else orjson.dumps(json_shape(value)).decode()


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class Changes:
    """The options for changing a line item."""

    name: Annotated[str | None, Parameter(help="New name.")] = None
    status: Annotated[str | None, Parameter(help="active or paused.")] = None
    bid: Annotated[str | None, Parameter(help="Bid in units of the currency, such as 1.50.")] = None
    bid_strategy: Annotated[
        str | None, Parameter(help="auto, max or target. auto ignores the bid; max and target need one.")
    ] = None
    total_budget: Annotated[str | None, Parameter(help="Total budget in units of the currency.")] = None
    daily_budget: Annotated[
        str | None,
        Parameter(help="Daily budget, at most the total budget; only if the campaign's line items have budgets."),
    ] = None
    start: Annotated[str | None, Parameter(help="2025-01-06 (midnight UTC) or 2025-01-06T09:00Z.")] = None
    end: Annotated[str | None, Parameter(help="The end time, in the same form as --start.")] = None
    goal: Annotated[str | None, Parameter(help="link-clicks, max-reach, video-view, ….")] = None
    pay_by: Annotated[str | None, Parameter(help="app-click, impression or link-click; for app installs only.")] = None
    frequency_cap: Annotated[
        int | None, whole_number(help="Maximum views per person in --duration-in-days.", least=1)
    ] = None
    duration_in_days: Annotated[int | None, whole_number(help="1, 7 or 30.")] = None
    audience_expansion: Annotated[str | None, Parameter(help="broad, defined or expanded.")] = None
    categories: Annotated[str | None, Parameter(help="IAB categories, separated by commas.")] = None
    advertiser_domain: Annotated[str | None, Parameter(help="Domain without a protocol.")] = None
    advertiser_user: Annotated[str | None, Parameter(help="Id of the user who promotes a preroll ad.")] = None
    android_app: Annotated[str | None, Parameter(help="Identifier of the app in its store.")] = None
    ios_app: Annotated[str | None, Parameter(help="Identifier of the app in its store.")] = None
    clear: Annotated[list[str] | None, Parameter(help="Option to clear, such as --clear end; repeatable.")] = None

    def body(self) -> dict[str, Any]:
        """Returns the changes under the service's names. Raises InvalidInput for invalid values."""
        given = {name: getattr(self, name) for name in _FIELDS if getattr(self, name) is not None}
        found = {_FIELDS[name][0]: _FIELDS[name][1](_option(name), value) for name, value in given.items()}
        for option in self.clear or ():
            name = option.removeprefix("--").replace("-", "_")
            if name not in _FIELDS or name in given:
                raise InvalidInput(f"--clear {option}: must be an option of this command that is not set")
            found[_FIELDS[name][0]] = None
        if not found:
            raise InvalidInput("there is nothing to change: specify at least one option, such as --status paused")
        return found


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _same(option: str, value: Any) -> Any:
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
        raise InvalidInput(
            f"{option}: specify at least one value, or clear it with --clear {option.removeprefix('--')}"
        )
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
"""The request parameter for each option, and the function that reads the option's value."""


_NOTHING: Final = Changes()


@line_item_app.command
async def update(
    account_id: AccountArgument,
    line_item_id: Annotated[str, Parameter(name="LINE_ITEM", help="Id of the line item.")],
    /,
    *,
    changes: Changes = _NOTHING,
    json: AsJson = False,
) -> int:
    """Change a line item and print the result, with amounts in units of its currency.

    For example: `socialapi ads line-item update 18ce54d4x5t 8xdpe --bid 1.50 --daily-budget 20`. Values whose options
    are not given stay unchanged. With --json, amounts are in millionths, as the service sends them. Exit status: 0
    changed, 2 wrong usage, 3 refused by the service or unreachable.
    """
    body: Any = changes.body()
    output.OPTIONS.update({parameter: _option(name) for name, (parameter, _) in _FIELDS.items()})
    async with open_client() as client:
        record = await client.ads.account(account_id).line_items.update(line_item_id, body)
    print_record(record, as_json=json)
    return output.DONE
