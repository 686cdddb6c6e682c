"""`socialapi webhooks listen`."""

import asyncio
import base64
import contextlib
import datetime
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import orjson
from cyclopts import Parameter, validators

from socialapi.cli import exits
from socialapi.cli.connecting import open_client
from socialapi.cli.exits import printable
from socialapi.errors import ConfigurationError, SocialApiError, TransportError, WebhookRejected
from socialapi.models.events import ActivityEvent, MatchedPost, Undecoded
from socialapi.session.forwarder import Forwarder

if TYPE_CHECKING:
    from socialapi.webhooks import Receiver

SECRET: Final = "SOCIALAPI_API_KEY_SECRET"  # noqa: S105 - the name of a variable
PREVIOUS_SECRET: Final = "SOCIALAPI_PREVIOUS_API_KEY_SECRET"  # noqa: S105 - the name of a variable
PAUSE_SECONDS: Final = 5.0
"""How long an address that does not take an event is left alone after the last attempt of a series."""

Event = ActivityEvent | MatchedPost | Undecoded


async def listen(
    *,
    host: Annotated[str, Parameter(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int,
        Parameter(help="Port to listen on; 0 takes a free one.", validator=validators.Number(gte=0, lte=65_535)),
    ] = 9000,
    register: Annotated[
        str | None,
        Parameter(help="Register this public address once listening; if it is registered already, validate it."),
    ] = None,
    forward: Annotated[
        str | None,
        Parameter(help="POST each event on to this URL, as it was sent and signed anew: https, or on this machine."),
    ] = None,
    inbox: Annotated[
        Path | None,
        Parameter(help="Keep events in this file until they are printed or passed on; made if it is not there."),
    ] = None,
    limit: Annotated[
        int | None, Parameter(help="End after so many events.", validator=validators.Number(gte=1))
    ] = None,
    json: Annotated[
        bool, Parameter(help="Print each event as it was sent, on a line of its own.", negative=())
    ] = False,
) -> int:
    """Receive the events of a webhook, and print them or pass them on.

    Answers the service's challenges, checks every signature with SOCIALAPI_API_KEY_SECRET (while that is rotated also
    with SOCIALAPI_PREVIOUS_API_KEY_SECRET), leaves out duplicates, and prints time, type and id of each event.

    The service reaches a public https address without a port. Have a tunnel or reverse proxy that ends TLS pass
    requests on to this port, bodies unchanged; their path does not matter. Webhooks stay registered afterwards:
    `socialapi webhooks delete` removes them.

    An event is answered when it is accepted and done with when it is printed and, with --forward, when the other side
    has answered 2xx; while it does not, events wait and new ones are accepted. With --inbox they survive an
    interruption or a crash, and come first the next time; one may then come twice.

    Exit status: 0 done, 2 wrong usage, a port in use or an inbox that cannot be used, 3 refused by the service or
    unreachable, 130 interrupted.
    """
    from socialapi.webhooks import Receiver
    from socialapi.webhooks.serving import serving

    secrets = _secrets(os.environ)
    receiver = Receiver(secrets, inbox=inbox)
    async with contextlib.AsyncExitStack() as stack:
        forwarder = await stack.enter_async_context(Forwarder(forward)) if forward is not None else None
        if inbox is None:
            stack.callback(_say_what_is_lost, receiver)
        address = await stack.enter_async_context(serving(receiver, host, port))
        exits.say(f"listening on {address}")
        if register is not None:
            exits.say(await _register(register))
        await _hand_on(receiver, forwarder, secrets[0], limit=limit, as_json=json)
    return exits.DONE


def _secrets(environ: Mapping[str, str]) -> list[str]:
    """The present secret, and the previous one if there is one."""
    present, previous = (environ.get(name, "").strip() for name in (SECRET, PREVIOUS_SECRET))
    if not present:
        raise ConfigurationError(f"set {SECRET}: events and challenges are signed with the app's API key secret")
    return [present, previous] if previous else [present]


async def _register(url: str) -> str:
    """Registers an address, or validates the webhook that has it; says which."""
    async with open_client() as client:
        try:
            return f"registered as webhook {(await client.webhooks.create(url)).id}"
        except WebhookRejected as refusal:
            if refusal.reason != "DuplicateUrlFailed":
                raise
            known = [each.id for each in await client.webhooks.list().collect() if each.url == url]
            if not known:
                raise
        if (await client.webhooks.validate(known[0])).valid is False:
            raise SocialApiError(f"webhook {known[0]} stays invalid: the service's challenge was not answered well")
        return f"validated webhook {known[0]}"


async def _hand_on(
    receiver: "Receiver", forwarder: Forwarder | None, secret: str, *, limit: int | None, as_json: bool
) -> None:
    """Passes events on and prints them, at most so many, in their order."""
    count = 0
    async for event in receiver.unfinished():
        if forwarder is not None:
            await _pass_on(forwarder, event.content, secret)
        print(json_line(event) if as_json else text_line(event), flush=True)
        await receiver.finish(event)
        count += 1
        if count == limit:
            return


async def _pass_on(forwarder: Forwarder, content: bytes, secret: str) -> None:
    """Sends until the other side has it, and says once when that takes more than a series of attempts."""
    from socialapi.webhooks.signatures import SIGNATURE_HEADER, sign

    headers = {"Content-Type": "application/json", SIGNATURE_HEADER: sign(content, secret)}
    is_said = False
    while True:
        try:
            status = await forwarder.post(content, headers)
            if 200 <= status < 300:
                break
            problem = f"{forwarder.host}: HTTP {status}"
        except TransportError as error:
            problem = str(error)
        if not is_said:
            exits.say(f"{printable(problem)}; events wait until it takes them")
        is_said = True
        await asyncio.sleep(PAUSE_SECONDS)
    if is_said:
        exits.say(f"{forwarder.host} takes events again")


def _say_what_is_lost(receiver: "Receiver") -> None:
    lost = receiver.counters.accepted - receiver.counters.finished
    if lost:
        exits.say(f"{lost:,} accepted events are lost; --inbox keeps them for the next time")


def json_line(event: Event) -> str:
    """The body as it was sent, on one line; of one that is not JSON its bytes in base64."""
    if isinstance(event, Undecoded):
        return orjson.dumps({"undecoded": base64.b64encode(event.content).decode(), "reason": event.reason}).decode()
    # In JSON a line break can only be blank space between its parts.
    return event.content.replace(b"\r", b" ").replace(b"\n", b" ").decode()


def text_line(event: Event) -> str:
    """Time, type and id, and nothing of what people wrote."""
    time: datetime.datetime | None
    if isinstance(event, Undecoded):
        time, kind, identity = None, "undecoded", f"{len(event.content):,} bytes"
    elif isinstance(event, MatchedPost):
        time, kind, identity = event.data.created_at, "post", event.data.id
    else:
        time, kind, identity = event.created_at, event.event_type or "-", event.event_id or "-"
    shown = (time or datetime.datetime.now(datetime.UTC)).astimezone(datetime.UTC)
    return printable(f"{shown:%Y-%m-%d %H:%M:%S}  {kind}  {identity}")
