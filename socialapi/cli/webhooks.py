"""`socialapi webhooks`: create, list, validate, delete, replay."""

import contextlib
from typing import Annotated, Any

import orjson
from cyclopts import Parameter

from socialapi.cli import exits
from socialapi.cli.connecting import open_client
from socialapi.cli.exits import printable
from socialapi.cli.output import moment
from socialapi.cli.walking import AsJson
from socialapi.errors import InvalidInput, WebhookRejected
from socialapi.models.webhooks import WebhookConfig
from socialapi.wire.encode import json_shape

WebhookIdArgument = Annotated[str, Parameter(help="Id of the webhook, as `socialapi webhooks list` shows it.")]


async def create(
    url: Annotated[str, Parameter(help="Public https address without a port.")], /, *, json: AsJson = False
) -> int:
    """Register an address for events. The service sends it a challenge at once, so the receiver must be running.

    Exit status: 0 registered, 2 not an address that can be one, 3 refused: the challenge failed, the address is
    registered already, or the app has as many webhooks as it may.
    """
    async with open_client() as client:
        _print(await client.webhooks.create(url), as_json=json)
    return exits.DONE


async def list_(*, json: AsJson = False) -> int:
    """Print the app's webhooks; events are delivered to the valid ones."""
    async with open_client() as client:
        found = await client.webhooks.list().collect()
    for webhook in found:
        _print(webhook, as_json=json)
    if not found and not json:
        exits.say("there are no webhooks")
    return exits.DONE


async def validate(webhook_id: WebhookIdArgument, /, *, json: AsJson = False) -> int:
    """Have the service send a new challenge, which makes an invalid webhook valid again if it passes.

    Exit status: 0 the check passed or was started, 1 the webhook stays invalid, 2 wrong usage, 3 refused.
    """
    async with open_client() as client:
        try:
            result = await client.webhooks.validate(webhook_id)
        except WebhookRejected as refusal:
            if refusal.reason != "CrcValidationFailed":
                raise
            exits.say(exits.sentence(refusal))
            return exits.SOME_REJECTED
    words = {True: "valid", False: "invalid", None: "checked"}
    _say(result, f"webhook {webhook_id} is {words[result.valid]}", as_json=json)
    return exits.SOME_REJECTED if result.valid is False else exits.DONE


async def delete(webhook_id: WebhookIdArgument, /, *, json: AsJson = False) -> int:
    """Remove a webhook. Exit status: 0 removed, 1 not removed, 2 wrong usage, 3 refused."""
    async with open_client() as client:
        result = await client.webhooks.delete(webhook_id)
    done = result.deleted is not False
    _say(result, f"webhook {webhook_id} is {'' if done else 'not '}removed", as_json=json)
    return exits.DONE if done else exits.SOME_REJECTED


async def replay(
    *parameters: Annotated[
        str, Parameter(help="KEY=TEXT, or KEY:=JSON for what is no text. Which keys there are is not documented.")
    ],
    json: AsJson = False,
) -> int:
    """Have events delivered again. The parameters are sent as they are given."""
    given = dict(_parameter(text) for text in parameters)
    async with open_client() as client:
        result = await client.webhooks.replay(**given)
    _say(result, f"replay asked for: {printable(orjson.dumps(json_shape(result)).decode())}", as_json=json)
    return exits.DONE


def _parameter(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    is_json = key.endswith(":")
    key = key.removesuffix(":")
    if not equals or not key:
        raise InvalidInput(f"a parameter is KEY=TEXT or KEY:=JSON, not {text!r}")
    with contextlib.suppress(orjson.JSONDecodeError):
        return key, orjson.loads(value) if is_json else value
    raise InvalidInput(f"what follows {key}:= is not JSON")


def _print(webhook: WebhookConfig, *, as_json: bool) -> None:
    words = {True: "valid", False: "invalid", None: "unknown"}
    time = moment(webhook.created_at, seconds=False) if webhook.created_at else "-"
    _say(webhook, f"{webhook.id}  {words[webhook.valid]}  {time}  {webhook.url or '-'}", as_json=as_json)


def _say(result: Any, text: str, *, as_json: bool) -> None:
    print(orjson.dumps(json_shape(result)).decode() if as_json else printable(text), flush=True)
