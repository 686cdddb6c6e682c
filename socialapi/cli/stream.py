"""`socialapi stream`: what streams bring, and the rules of the filtered one."""

from typing import Annotated, Any

import orjson
from cyclopts import Parameter, validators

from socialapi.cli import exits
from socialapi.cli.connecting import open_client
from socialapi.cli.exits import printable
from socialapi.cli.posts import names_in
from socialapi.models.events import ActivityEvent, MatchedPost, StreamNotice, Undecoded
from socialapi.models.fields import Fields
from socialapi.models.pages import Page
from socialapi.models.stream_rules import StreamRule
from socialapi.problems import Problem
from socialapi.streams import Gap, SlowReading, Stream
from socialapi.unset import UNSET

Limit = Annotated[
    int | None,
    Parameter(help="Most items to print; by default it goes on until Ctrl-C.", validator=validators.Number(gte=1)),
]
Backfill = Annotated[int | None, Parameter(help="Begin so many minutes ago, 1 to 5, on every connection.")]
GiveUp = Annotated[
    float | None, Parameter(name="--give-up-after", help="Seconds without a connection after which to give up.")
]
AsJson = Annotated[bool, Parameter(help="Print each item as it was sent, on a line of its own.", negative=())]

AnyItem = ActivityEvent | MatchedPost | StreamNotice | Undecoded


async def posts(
    *,
    fields: Annotated[
        str | None, Parameter(help="Fields beyond id and text, as author_id,created_at,….", negative=())
    ] = None,
    expansions: Annotated[str | None, Parameter(help="Related objects to include.", negative=())] = None,
    backfill_minutes: Backfill = None,
    give_up_after: GiveUp = None,
    limit: Limit = None,
    json: AsJson = False,
) -> int:
    """Print the posts that match the app's rules (`socialapi stream rules`) as they are published.

    Lost connections are replaced. Standard error says when nothing could arrive, and when the posts come faster than
    they are taken. Exit status: 0 the limit is reached, 2 wrong usage, 3 refused for good or given up, 130 interrupted.
    """
    async with open_client() as client:
        stream = client.filtered_stream.connect(
            Fields(post=names_in(fields), expansions=names_in(expansions)),
            backfill_minutes=UNSET if backfill_minutes is None else backfill_minutes,
            on_gap=_say_gap,
            on_slow=_say_slow,
            give_up_after_seconds=give_up_after,
        )
        return await _print_all(stream, limit, as_json=json)


async def activity(
    *, backfill_minutes: Backfill = None, give_up_after: GiveUp = None, limit: Limit = None, json: AsJson = False
) -> int:
    """Print the events that the app has subscribed to as they happen. Otherwise as `socialapi stream posts`."""
    async with open_client() as client:
        stream = client.activity.stream(
            backfill_minutes=UNSET if backfill_minutes is None else backfill_minutes,
            on_gap=_say_gap,
            on_slow=_say_slow,
            give_up_after_seconds=give_up_after,
        )
        return await _print_all(stream, limit, as_json=json)


async def _print_all(stream: Stream[Any], limit: int | None, *, as_json: bool) -> int:
    printed = 0
    async with stream:
        exits.say("connected")
        async for item in stream:
            print(json_line(item) if as_json else printable(text_line(item)), flush=True)
            printed += 1
            if printed == limit:
                break
    return exits.DONE


def json_line(item: AnyItem) -> str:
    """The item as the service sent it."""
    return item.content.decode("utf-8", "backslashreplace")


def text_line(item: AnyItem) -> str:
    """The item for people."""
    if isinstance(item, MatchedPost):
        return f"{item.data.id}  {' '.join((item.data.text or '').split())}"
    if isinstance(item, ActivityEvent):
        time = f"{item.created_at:%Y-%m-%d %H:%M:%S}" if item.created_at else "-"
        return f"{time}  {item.event_type or 'unknown'}  {item.event_id or '-'}"
    if isinstance(item, StreamNotice):
        titles = (each.title or each.type if isinstance(each, Problem) else each.message for each in item.problems)
        return f"notice: {', '.join(title or '-' for title in titles)}"
    return f"unreadable line of {len(item.content):,} bytes: {item.reason}"


def _say_gap(gap: Gap) -> None:
    end = f"{gap.ended_at:%H:%M:%S}" if gap.ended_at else "now"
    exits.say(printable(f"nothing could arrive from {gap.started_at:%H:%M:%S} to {end} UTC: {gap.reason}"))


def _say_slow(reading: SlowReading) -> None:
    exits.say(f"output is taken too slowly for {reading.seconds:.0f} s; the service cuts off slow readers")


async def list_rules(*, json: Annotated[bool, Parameter(help="Print JSON Lines.", negative=())] = False) -> int:
    """Print the app's rules: id, tag, rule."""
    async with open_client() as client:
        async for rule in client.filtered_stream.rules():
            _print_rule(rule, as_json=json)
    return exits.DONE


async def add_rules(
    *rules: Annotated[str, Parameter(help="A rule of up to 2,048 characters, as 'snow lang:en -is:retweet'.")],
    dry_run: Annotated[bool, Parameter(help="Check the rules and keep none.", negative=())] = False,
) -> int:
    """Add rules, and print those that were added. Exit status: 0 all of them, 1 not all, 2 wrong usage, 3 refused."""
    async with open_client() as client:
        return _print_change(await client.filtered_stream.add_rules(*rules, dry_run=dry_run))


async def delete_rules(
    *ids: Annotated[str, Parameter(help="Ids of rules, as `socialapi stream rules list` shows.")],
) -> int:
    """Delete rules. Exit status: 0 all of them, 1 not all, 2 wrong usage, 3 refused."""
    async with open_client() as client:
        return _print_change(await client.filtered_stream.delete_rules(*ids))


def _print_change(page: Page[StreamRule]) -> int:
    for rule in page.data:
        _print_rule(rule, as_json=False)
    for error in page.errors:
        said = error.detail or error.title or error.type if isinstance(error, Problem) else error.message
        exits.say(printable(said or "a rule was refused"))
    return exits.SOME_REJECTED if page.errors else exits.DONE


def _print_rule(rule: StreamRule, *, as_json: bool) -> None:
    if as_json:
        print(orjson.dumps({"id": rule.id, "value": rule.value, "tag": rule.tag}).decode(), flush=True)
    else:
        print(printable(f"{rule.id or '-'}  {rule.tag or '-'}  {rule.value}"), flush=True)
