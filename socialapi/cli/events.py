"""How events are printed, wherever they come from."""

import base64
import datetime

import orjson

from socialapi.cli import exits
from socialapi.cli.exits import printable
from socialapi.cli.output import moment
from socialapi.models.events import ActivityEvent, MatchedPost, StreamNotice
from socialapi.models.pages import Undecoded
from socialapi.problems import Problem

Event = ActivityEvent | MatchedPost | Undecoded


def print_event(event: Event, *, as_json: bool, with_text: bool = False) -> None:
    """One line on standard output; for people it has nothing of what people wrote, or the text of a post."""
    print(json_line(event) if as_json else text_line(event, with_text=with_text), flush=True)


def say_notice(notice: StreamNotice) -> None:
    """What the service says beside events, on standard error."""
    titles = (each.title or each.type if isinstance(each, Problem) else each.message for each in notice.problems)
    exits.say(printable(f"the service says: {', '.join(title or '-' for title in titles)}"))


def json_line(event: Event) -> str:
    """The event as it was sent, on one line; of one that cannot be read its bytes in base64, and why."""
    if isinstance(event, Undecoded):
        return orjson.dumps({"undecoded": base64.b64encode(event.content).decode(), "reason": event.reason}).decode()
    # In JSON a line break can only be blank space between its parts. A byte order mark is no part of it.
    return event.content.replace(b"\r", b" ").replace(b"\n", b" ").decode("utf-8-sig", "replace")


def text_line(event: Event, *, with_text: bool = False) -> str:
    """Time (that of now where it has none), type and id; of a post that is to have it the id and the text."""
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
    """What an event is called in a sentence: its id, where it has one."""
    found = event.data.id if isinstance(event, MatchedPost) else getattr(event, "event_id", None)
    return printable(f"event {found}" if found else "an event without an id")
