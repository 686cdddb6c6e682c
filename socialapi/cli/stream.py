"""`socialapi stream`: printing posts and activity events, and managing stream rules."""

import base64
import datetime
from collections.abc import Iterable
from typing import Annotated, Any, Final

import orjson
from cyclopts import App, Parameter, validators

from socialapi.cli import output
from socialapi.cli.credential_store import open_client
from socialapi.cli.formats import Column, ListKind, print_row, shown_json
from socialapi.cli.listing import ALL_PAGES, PagedFlags, names_in, print_pages
from socialapi.cli.options import whole_number
from socialapi.cli.output import moment, printable
from socialapi.client import Client
from socialapi.errors import ApiError, SocialApiError
from socialapi.internal.unset import UNSET
from socialapi.models.events import ActivityEvent, MatchedPost, StreamNotice
from socialapi.models.pages import Page
from socialapi.models.queries import Fields
from socialapi.models.streams import RuleDraft, StreamRule
from socialapi.models.undecoded import Undecoded
from socialapi.problems import Problem, ServiceError
from socialapi.streams import Gap, Stream

app: Final = App(name="stream")
rule_app: Final = App(name="rules", help="Rules of the filtered stream.")
app.command(rule_app)

Event = ActivityEvent | MatchedPost | Undecoded


def print_event(event: Event, *, as_json: bool, with_text: bool = False) -> None:
    """Prints an event on one line, without text written by users, except a post's text if `with_text` is true."""
    output.print_line(shown_json(json_line(event)) if as_json else text_line(event, with_text=with_text))


def say_notice(notice: StreamNotice) -> None:
    """Prints a notice from the service to standard error."""
    titles = (each.title or each.type if isinstance(each, Problem) else each.message for each in notice.problems)
    output.say(printable(f"the service says: {', '.join(title or '-' for title in titles)}"))


def json_line(event: Event) -> str:
    """Returns the event as sent, on one line; for an undecodable event, base64 and the reason."""
    if isinstance(event, Undecoded):
        return orjson.dumps({"undecoded": base64.b64encode(event.content).decode(), "reason": event.reason}).decode()
    # In JSON, line breaks are only whitespace. A byte order mark is not part of it.
    return event.content.replace(b"\r", b" ").replace(b"\n", b" ").decode("utf-8-sig", "replace")


def text_line(event: Event, *, with_text: bool = False) -> str:
    """Returns the time, type and id of an event, or the id and text of a post. The default time is the current one."""
    time: datetime.datetime | None = None
    if isinstance(event, Undecoded):
        kind, shown = "undecoded", f"{len(event.content):,} bytes: {event.reason}"
    elif isinstance(event, MatchedPost):
        if with_text:
            return printable(f"{event.data.id}  {' '.join((event.data.text or '').split())}")
        time, kind, shown = event.data.created_at, "post", event.data.id
    else:
        time, kind, shown = event.created_at, event.event_type or "-", event.event_id or "-"
    return printable(f"{moment(time or datetime.datetime.now(datetime.UTC))}  {kind}  {shown}")


def name_of(event: Event) -> str:
    """Returns the name of an event for a message: its id, if it has one."""
    found = event.data.id if isinstance(event, MatchedPost) else getattr(event, "event_id", None)
    return printable(f"event {found}" if found else "an event without an id")


SHORT_GAP_SECONDS: Final = 10.0
"""The length below which a gap is shown with milliseconds."""

Limit = Annotated[int | None, whole_number(help="Maximum number of items to print; by default no limit.", least=1)]
Backfill = Annotated[int | None, whole_number(help="Start every connection this many minutes in the past (1 to 5).")]
GiveUp = Annotated[
    float | None,
    Parameter(
        name="--give-up-after",
        help="Seconds without a connection after which to give up.",
        validator=validators.Number(gt=0),
    ),
]
AsSent = Annotated[bool, Parameter(help="Print each item as it was sent, one per line; unreadable items in base64.")]


@app.command
async def posts(
    *,
    fields: Annotated[str | None, Parameter(help="Fields beyond id and text, such as author_id,created_at.")] = None,
    expansions: Annotated[str | None, Parameter(help="Related objects to include.")] = None,
    backfill_minutes: Backfill = None,
    give_up_after: GiveUp = None,
    limit: Limit = None,
    json: AsSent = False,
) -> int:
    """Print posts that match the app's rules (`socialapi stream rules`) as they are published.

    For example: `socialapi stream posts --fields author_id --limit 10`. Lost connections are replaced. Lost
    connections, gaps, notices of the service and warnings about slow reading are printed to standard error. Exit
    status: 0 limit reached, 2 wrong usage, 3 refused permanently or given up, 130 interrupted.
    """
    async with open_client() as client:
        stream = client.filtered_stream.connect(
            Fields(post=names_in(fields), expansions=names_in(expansions)),
            backfill_minutes=backfill_minutes,
            on_gap=_say_gap,
            give_up_after_seconds=give_up_after,
        )
        async with stream:
            output.say("connected")
            if await _has_no_rules(client):
                output.say("the app has no rules, so no posts will arrive; add one with `socialapi stream rules add`")
            return await _print_all(stream, limit, as_json=json)


@app.command
async def activity(
    *, backfill_minutes: Backfill = None, give_up_after: GiveUp = None, limit: Limit = None, json: AsSent = False
) -> int:
    """Print the events that the app has subscribed to as they happen. Works like `socialapi stream
    posts`.

    For example: `socialapi stream activity --json`.
    """
    async with open_client() as client:
        stream = client.activity.stream(
            backfill_minutes=backfill_minutes,
            on_gap=_say_gap,
            give_up_after_seconds=give_up_after,
        )
        async with stream:
            output.say("connected")
            return await _print_all(stream, limit, as_json=json)


async def _has_no_rules(client: Client) -> bool:
    """Returns whether the app certainly has no rules. Returns False if the request fails, because that must not end a
    stream.
    """
    asking = client.with_options(timeout_seconds=5.0, max_wait_seconds=0.0, retries=0)
    try:
        return not await asking.filtered_stream.rules().collect(limit=1)
    except SocialApiError:
        return False


async def _print_all(stream: Stream[Any], limit: int | None, *, as_json: bool) -> int:
    printed = 0
    async with output.while_read():
        async for item in stream:
            if isinstance(item, StreamNotice):
                say_notice(item)
                continue
            print_event(item, as_json=as_json, with_text=True)
            printed += 1
            if printed == limit:
                break
    return output.DONE


def _say_gap(gap: Gap) -> None:
    """Prints the start and end of a gap. The reason is printed when the connection is lost, or as the final error."""
    if gap.ended_at is None:
        output.say(f"nothing could be received since {gap.started_at:%H:%M:%S} UTC")
        return
    is_short = (gap.ended_at - gap.started_at).total_seconds() < SHORT_GAP_SECONDS
    start, end = (
        f"{each:%H:%M:%S}" + (f".{each.microsecond // 1_000:03}" if is_short else "")
        for each in (gap.started_at, gap.ended_at)
    )
    output.say(f"nothing could be received from {start} to {end} UTC")


_RULES: Final = ListKind[StreamRule](
    name="rule",
    record=StreamRule,
    columns=(
        Column("id", lambda rule: rule.id, is_whole=True),
        Column("tag", lambda rule: rule.tag),
        Column("rule", lambda rule: rule.value),
    ),
    to_json=lambda rule: {"id": rule.id, "value": rule.value, "tag": rule.tag},
)


@rule_app.command(name="list")
async def list_rules(*, flags: PagedFlags = ALL_PAGES) -> int:
    """Print the app's rules: id, tag, rule.

    For example: `socialapi stream rules list --output csv`. Exit status: 0 done, 2 wrong usage, 3
    refused by the service or unreachable.
    """
    async with open_client() as client:
        found = client.filtered_stream.rules(start=flags.start)
        await print_pages(found, _RULES, flags, if_none="there are no rules; `socialapi stream rules add` adds one")
    return output.DONE


@rule_app.command(name="add")
async def add_rules(
    *rules: Annotated[
        str, Parameter(help="A rule of up to 2,048 characters, such as 'snow lang:en -is:retweet'.", required=True)
    ],
    tag: Annotated[str | None, Parameter(help="Tag for all these rules, added to the posts that match them.")] = None,
    dry_run: Annotated[bool, Parameter(help="Check the rules without adding them.")] = False,
) -> int:
    """Add rules, and print those that were added.

    For example: `socialapi stream rules add 'snow lang:en -is:retweet' --tag snow`. Exit status: 0
    all were added, 1 some were not, 2 wrong usage, 3 refused.
    """
    drafts = [RuleDraft(rule, tag=UNSET if tag is None else tag) for rule in rules]
    async with open_client() as client:
        try:
            return _print_change(await client.filtered_stream.add_rules(*drafts, dry_run=dry_run))
        except ApiError as refusal:
            return _say_refusal(refusal)


@rule_app.command(name="delete")
async def delete_rules(
    *ids: Annotated[str, Parameter(help="Ids of rules, as `socialapi stream rules list` shows them.", required=True)],
    by_value: Annotated[bool, Parameter(help="Identify rules by their text, not by id.")] = False,
) -> int:
    """Delete rules.

    For example: `socialapi stream rules delete 1166895166390583299`. Exit status: 0 all were
    deleted, 1 some were not, 2 wrong usage, 3 refused.
    """
    async with open_client() as client:
        delete = client.filtered_stream.delete_rules
        try:
            return _print_change(await (delete(values=ids) if by_value else delete(*ids)))
        except ApiError as refusal:
            return _say_refusal(refusal)


def _print_change(page: Page[StreamRule]) -> int:
    for rule in page.data:
        print_row(_RULES, rule)
    _say_all(page.errors)
    return output.SOME_REJECTED if page.errors else output.DONE


def _say_refusal(refusal: ApiError) -> int:
    """Reports refused rules and returns the exit status.

    A response with status 200 and only errors lists the refused rules. Raises any other error.
    """
    if refusal.status != 200:
        raise refusal
    _say_all((*refusal.problems, *refusal.errors))
    return output.SOME_REJECTED


def _say_all(errors: Iterable[Problem | ServiceError]) -> None:
    for error in errors:
        output.say(printable(output.words_of(error) or "a rule was refused"))
