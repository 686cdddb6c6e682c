"""`socialapi webhooks inbox`: the events that were put aside because no process could finish them."""

import contextlib
import datetime
import functools
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import attrs
from cyclopts import App, Parameter

from socialapi.cli import output
from socialapi.cli.formats import Column, ListKind, print_json
from socialapi.cli.listing import ALL, AsJson, ListFlags, print_items
from socialapi.errors import ConfigurationError, InvalidInput
from socialapi.internal.sqlite_file import SqliteFile
from socialapi.webhooks import attempts
from socialapi.webhooks.dead_letters import DeadLetter, DeadLetters

app: Final = App(name="inbox", help="Events that were put aside in an inbox.")

InboxArgument = Annotated[Path, Parameter(help="File of the inbox that the receiver uses.")]
Numbers = Annotated[int, Parameter(help="Number of an event, as `socialapi webhooks inbox list` shows it.")]
EveryOne = Annotated[bool, Parameter(name="--all", help="All events that were put aside.")]


@attrs.frozen(kw_only=True)
class PutAside:
    """An entry in the list of events that were put aside."""

    number: int
    event_id: str | None
    event_type: str | None
    attempts: int
    put_aside_at: datetime.datetime


def _row(letter: DeadLetter) -> PutAside:
    event: Any = letter.event
    post = getattr(event, "data", None)
    return PutAside(
        number=letter.number,
        event_id=getattr(event, "event_id", None) or getattr(post, "id", None),
        event_type=getattr(event, "event_type", None),
        attempts=letter.attempts,
        put_aside_at=letter.put_aside_at,
    )


_LETTERS: Final = ListKind[PutAside](
    name="event",
    record=PutAside,
    columns=(
        Column("number", lambda letter: str(letter.number), is_whole=True),
        Column("id", lambda letter: letter.event_id, is_whole=True),
        Column("type", lambda letter: letter.event_type),
        Column("attempts", lambda letter: str(letter.attempts), is_whole=True),
        Column("put aside", lambda letter: letter.put_aside_at, is_whole=True),
    ),
    to_json=functools.partial(attrs.asdict, recurse=False),
)


@app.command(name="list")
async def list_(inbox: InboxArgument, /, *, flags: ListFlags = ALL) -> int:
    """Print the events that were put aside after too many unfinished attempts: number, id, type,
    attempts and time.

    For example: `socialapi webhooks inbox list events.sqlite`. Exit status: 0 done, 2 wrong usage or
    no inbox.
    """
    async with _opened(inbox) as file:
        rows = [_row(letter) async for letter in DeadLetters(file.read)]
    print_items(rows, _LETTERS, flags, if_none="no events were put aside")
    return output.DONE


@app.command
async def retry(inbox: InboxArgument, /, *numbers: Numbers, every: EveryOne = False, json: AsJson = False) -> int:
    """Deliver events again, with a new count of attempts. A running receiver gets them within seconds; otherwise, the
    next receiver does.

    For example: `socialapi webhooks inbox retry events.sqlite --all`. Exit status: 0 done, 1 some
    were not put aside, 2 wrong usage or no inbox.
    """
    return await _change(inbox, numbers, attempts.retry, "delivered again", every=every, as_json=json)


@app.command
async def drop(inbox: InboxArgument, /, *numbers: Numbers, every: EveryOne = False, json: AsJson = False) -> int:
    """Delete events that were put aside, with their bodies.

    For example: `socialapi webhooks inbox drop events.sqlite 3 4`. Exit status: 0 done, 1 some were
    not put aside, 2 wrong usage or no inbox.
    """
    return await _change(inbox, numbers, attempts.drop, "dropped", every=every, as_json=json)


async def _change(
    inbox: Path, numbers: Sequence[int], change: Callable[..., int], done: str, *, every: bool, as_json: bool
) -> int:
    if every == bool(numbers):
        raise InvalidInput("specify the numbers of events, or --all")
    async with _opened(inbox) as file:
        count = await file.run(functools.partial(change, None if every else numbers))
        await file.erase()
    missing = 0 if every else len(set(numbers)) - count
    if as_json:
        print_json({"changed": count, "not_put_aside": missing})
    else:
        output.print_line(f"{count:,} {'event is' if count == 1 else 'events are'} {done}")
    if missing:
        output.say(f"{missing:,} of these events {'is' if missing == 1 else 'are'} not put aside")
    return output.SOME_REJECTED if missing else output.DONE


@contextlib.asynccontextmanager
async def _opened(inbox: Path) -> AsyncIterator[SqliteFile]:
    """Opens an existing inbox, which receivers may be using."""
    from socialapi.webhooks.inbox import SCHEMA

    if not inbox.is_file():  # noqa: ASYNC240 - a look at a local file, before anything else runs
        raise ConfigurationError(f"there is no inbox {inbox}")
    file = SqliteFile(inbox, SCHEMA, purpose="inbox", shared=True)
    await file.open(attempts.create_tables)
    try:
        yield file
    finally:
        await file.aclose()
