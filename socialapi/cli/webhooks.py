"""`socialapi webhooks`: managing webhooks, and receiving their events."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import orjson
from cyclopts import App, Parameter

from socialapi.cli import inbox as inbox_commands
from socialapi.cli import output
from socialapi.cli.credential_store import open_client
from socialapi.cli.formats import Column, ListKind, print_json, print_row
from socialapi.cli.listing import ALL, AsJson, ListFlags, print_items
from socialapi.cli.options import whole_number
from socialapi.cli.output import printable
from socialapi.cli.stream import AsSent, Event, name_of, print_event
from socialapi.errors import ConfigurationError, InvalidInput, SocialApiError, WebhookRejected
from socialapi.models.webhooks import WebhookConfig
from socialapi.session.forwarder import Forwarder
from socialapi.session.network import Network
from socialapi.wire.encode import json_shape

app: Final = App(name="webhooks")
app.command(inbox_commands.app)

if TYPE_CHECKING:
    from socialapi.webhooks import Receiver


WebhookIdArgument = Annotated[
    str, Parameter(name="WEBHOOK", help="Id of the webhook, as `socialapi webhooks list` shows it.")
]


@app.command
async def create(
    url: Annotated[str, Parameter(help="Public https address without a port.")], /, *, json: AsJson = False
) -> int:
    """Register an address for events. The service sends a challenge to it immediately, so the receiver
    must be running.

    For example: `socialapi webhooks create https://hooks.example.com/in`. Exit status: 0 registered,
    2 not a valid address, 3 refused: the challenge failed, the address is already registered, or the
    app has the maximum number of webhooks.
    """
    async with open_client() as client:
        made = await client.webhooks.create(url)
    if json:
        print_json(made)
    else:
        print_row(_WEBHOOKS, made)
    return output.DONE


@app.command(name="list")
async def list_(*, flags: ListFlags = ALL) -> int:
    """Print the app's webhooks. Events are delivered only to valid ones.

    For example: `socialapi webhooks list --output json`. Exit status: 0 done, 2 wrong usage, 3
    refused by the service or unreachable.
    """
    async with open_client() as client:
        found = await client.webhooks.list().collect()  # they are all on one page
    print_items(found, _WEBHOOKS, flags, if_none="there are no webhooks; `socialapi webhooks create` adds one")
    return output.DONE


_VALIDITY: Final = {True: "valid", False: "invalid", None: "unknown"}
_WEBHOOKS: Final = ListKind[WebhookConfig](
    name="webhook",
    record=WebhookConfig,
    columns=(
        Column("id", lambda webhook: webhook.id, is_whole=True),
        Column("state", lambda webhook: _VALIDITY[webhook.valid], is_whole=True),
        Column("created", lambda webhook: webhook.created_at, is_whole=True),
        Column("url", lambda webhook: webhook.url),
    ),
)


@app.command
async def validate(webhook_id: WebhookIdArgument, /, *, json: AsJson = False) -> int:
    """Make the service send a new challenge. An invalid webhook that passes it becomes valid again.

    For example: `socialapi webhooks validate 1146654567674912769`. Exit status: 0 the challenge passed or was started,
    1 the webhook stays invalid, 2 wrong usage, 3 refused.
    """
    async with open_client() as client:
        try:
            result = await client.webhooks.validate(webhook_id)
        except WebhookRejected as refusal:
            if refusal.reason != "CrcValidationFailed":
                raise
            output.say(output.sentence(refusal))
            return output.SOME_REJECTED
    words = {True: "valid", False: "invalid", None: "checked"}
    _say(result, f"webhook {webhook_id} is {words[result.valid]}", as_json=json)
    return output.SOME_REJECTED if result.valid is False else output.DONE


@app.command
async def delete(webhook_id: WebhookIdArgument, /, *, json: AsJson = False) -> int:
    """Remove a webhook.

    For example: `socialapi webhooks delete 1146654567674912769`. Exit status: 0 removed, 1 not
    removed, 2 wrong usage, 3 refused.
    """
    async with open_client() as client:
        result = await client.webhooks.delete(webhook_id)
    done = result.deleted is not False
    _say(result, f"webhook {webhook_id} is {'' if done else 'not '}removed", as_json=json)
    return output.DONE if done else output.SOME_REJECTED


@app.command
async def replay(
    *parameters: Annotated[
        str, Parameter(help="KEY=TEXT, or KEY:=JSON for other values. The service does not document the keys.")
    ],
    json: AsJson = False,
) -> int:
    """Make the service deliver events again. The parameters are sent unchanged.

    For example: `socialapi webhooks replay from_date=202501060900 to_date=202501061000`.
    """
    given = dict(_parameter(text) for text in parameters)
    async with open_client() as client:
        result = await client.webhooks.replay(**given)
    shown = {name: value for name, value in json_shape(result).items() if value is not None}
    _say(shown, f"replay requested: {printable(orjson.dumps(shown).decode())}", as_json=json)
    return output.DONE


def _parameter(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    is_json = key.endswith(":")
    key = key.removesuffix(":")
    if not equals or not key:
        raise InvalidInput(f"a parameter must be KEY=TEXT or KEY:=JSON, not {text!r}")
    with contextlib.suppress(orjson.JSONDecodeError):
        return key, orjson.loads(value) if is_json else value
    raise InvalidInput(f"the value after {key}:= is not JSON")


def _say(result: Any, text: str, *, as_json: bool) -> None:
    if as_json:
        print_json(result)
    else:
        output.print_line(printable(text))


SECRET: Final = "SOCIALAPI_API_KEY_SECRET"  # noqa: S105 - the name of a variable
PREVIOUS_SECRET: Final = "SOCIALAPI_PREVIOUS_API_KEY_SECRET"  # noqa: S105 - the name of a variable


@app.command
async def listen(
    *,
    host: Annotated[str, Parameter(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, whole_number(help="Port to listen on; 0 uses a free one.", least=0, most=65_535)] = 9000,
    register: Annotated[
        str | None,
        Parameter(
            help="Register this public address once the server is listening, or validate it if it is registered."
        ),
    ] = None,
    forward: Annotated[
        str | None,
        Parameter(
            help="POST each event, unchanged and newly signed, to this URL. It must be https or on this machine."
        ),
    ] = None,
    inbox: Annotated[
        Path | None,
        Parameter(help="Store events in this file until they are printed or forwarded; it is created if missing."),
    ] = None,
    health_path: Annotated[
        str,
        Parameter(help="Answer GET requests for this path with 200 while events are accepted, and with 503 otherwise."),
    ] = "/healthz",
    limit: Annotated[int | None, whole_number(help="End after this many events.", least=1)] = None,
    json: AsSent = False,
) -> int:
    """Receive the events of a webhook, and print or forward them.

    For example: `socialapi webhooks listen --register https://hooks.example.com/in --inbox events.sqlite`. Answers the
    service's challenges, checks every signature with SOCIALAPI_API_KEY_SECRET (during a rotation, also with
    SOCIALAPI_PREVIOUS_API_KEY_SECRET), skips duplicates, and prints the time, type and id of each event.

    The service sends events to a public https address without a port. Use a tunnel or reverse proxy that terminates TLS
    and forwards requests to this port with unchanged bodies. The path of a request does not matter. Webhooks stay
    registered afterwards: `socialapi webhooks delete` removes them.

    An event is answered when it is accepted. It is finished when it is printed and, with --forward, the target has
    answered 2xx. While the target cannot be reached or answers 5xx, 408, 425 or 429, events wait and new ones are
    accepted. After any other response, the event's id is printed to standard error, and the event is neither printed
    nor finished. With --inbox, events survive an interruption or a crash: the next run starts with the unfinished
    events, and may print one of them twice. An event that was attempted five times and never finished is put aside
    (`socialapi webhooks inbox`). Standard error shows deliveries refused because of their signature, the number of
    waiting events at the start and the end, and finally the numbers of received, duplicate and refused events.

    Exit status: 0 done, 2 wrong usage, a port in use or an inbox that cannot be used, 3 refused by
    the service or unreachable, 130 interrupted.
    """
    from socialapi.webhooks import Receiver
    from socialapi.webhooks.serving import serving

    secrets = _secrets(os.environ)
    receiver = Receiver(secrets, inbox=inbox, health_path=health_path)
    async with contextlib.AsyncExitStack() as stack:
        forwarder = (
            None
            if forward is None
            else Forwarder(
                forward, tell=lambda sentence: output.say(printable(sentence)), network=Network.of(os.environ, own=True)
            )
        )
        if forwarder is not None:
            await stack.enter_async_context(forwarder)
        ended = stack.enter_context(contextlib.ExitStack())  # ended after the last request
        address = await stack.enter_async_context(serving(receiver, host, port))
        ended.callback(_say_what_was, receiver, is_kept=inbox is not None)
        output.say(f"listening on {address}")
        if receiver.waiting:
            output.say(
                f"{'1 event waits' if receiver.waiting == 1 else f'{receiver.waiting:,} events wait'} in {inbox}"
            )
        if register is not None:
            output.say(await _register(register))
        async with output.while_read():
            await _hand_on(receiver, forwarder, secrets[0], limit=limit, as_json=json)
    return output.DONE


def _secrets(environ: Mapping[str, str]) -> list[str]:
    present, previous = (environ.get(name, "").strip() for name in (SECRET, PREVIOUS_SECRET))
    if not present:
        raise ConfigurationError(f"set {SECRET}: events and challenges are signed with the app's API key secret")
    return [present, previous] if previous else [present]


async def _register(url: str) -> str:
    """Registers an address, or validates the webhook that has it. Returns a message that describes the result."""
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
            raise SocialApiError(
                f"webhook {known[0]} stays invalid: the service's challenge was not answered correctly"
            )
        return f"validated webhook {known[0]}"


async def _hand_on(
    receiver: "Receiver", forwarder: Forwarder | None, secret: str, *, limit: int | None, as_json: bool
) -> None:
    """Forwards and prints events in order, at most `limit`. Refused events stay unfinished."""
    count = 0
    async for event in receiver.unfinished():
        if forwarder is not None and not await _pass_on(forwarder, event, secret):
            continue
        print_event(event, as_json=as_json)
        await receiver.finish(event)
        count += 1
        if count == limit:
            return


async def _pass_on(forwarder: Forwarder, event: Event, secret: str) -> bool:
    """Returns whether the target accepted the event. Prints a message if the target refused it."""
    from socialapi.webhooks.signatures import SIGNATURE_HEADER, sign_body

    headers = {"Content-Type": "application/json", SIGNATURE_HEADER: sign_body(event.content, secret)}
    status = await forwarder.post(event.content, headers)
    is_taken = 200 <= status < 300
    if not is_taken:
        output.say(f"{forwarder.host} refuses {name_of(event)}: HTTP {status}")
    return is_taken


def _say_what_was(receiver: "Receiver", *, is_kept: bool) -> None:
    """Prints whether the remaining events are kept, and the counts of the receiver."""
    if left := receiver.waiting:
        one = left == 1
        if is_kept:
            output.say(f"{left:,} {'event is' if one else 'events are'} kept for the next run")
        else:
            said = f"{left:,} accepted {'event is' if one else 'events are'} lost"
            output.say(f"{said}; --inbox keeps {'it' if one else 'them'} for the next run")
    counted = receiver.counters
    refused = counted.refused_signature + counted.refused_body + counted.refused_full
    output.say(f"received {counted.accepted:,}, duplicates {counted.duplicates:,}, refused {refused:,}")
