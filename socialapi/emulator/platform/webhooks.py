"""Handlers for webhooks and stream links."""

import contextlib
import datetime
import re
from collections.abc import Mapping
from typing import Any, get_args
from urllib.parse import urlsplit

from socialapi.emulator.auth import not_enrolled
from socialapi.emulator.clock import milliseconds
from socialapi.emulator.faults import LINK_FAULTS, scripted_problem
from socialapi.emulator.handlers import Call, serves
from socialapi.emulator.hosts import is_public, parse_address
from socialapi.emulator.platform.selection import pick_fields, selected_names, selection
from socialapi.emulator.platform.state import Webhook
from socialapi.emulator.responses import (
    Answer,
    InvalidRequest,
    Refusal,
    answer,
    data,
    invalid,
    platform_not_found,
    problem,
)
from socialapi.models.webhooks import WebhookConfigField, WebhookFailure
from socialapi.routes import platform as routes


def rejected(reason: WebhookFailure, message: str) -> Refusal:
    """Returns a rejection. The reason becomes the title and the beginning of the detail."""
    return Refusal(400, "INVALID_PARAMETER", f"{reason}: {message}", extra={"title": reason})


def _refuse(refusal: InvalidRequest) -> Refusal:
    """Returns the error for an invalid URL or id, with its specific reason. A missing URL gets the general refusal."""
    for rule in refusal.broken:
        if rule.path == "url" and rule.code != "MISSING_PARAMETER":
            return rejected("UrlValidationFailed", f"the url {rule.reason}")
        if rule.path == "webhook_id":
            return rejected("WebhookIdInvalid", f"the id {rule.reason}")
    return refusal


@serves(routes.WEBHOOK_CREATE, refuse=_refuse)
async def create_webhook(call: Call) -> Answer:
    """Creates the webhook after its owner has answered the challenge, and returns it."""
    url, app = call.body["url"], call.caller.app
    authority = re.split("[/?]", url.partition("://")[2], maxsplit=1)[0]
    if not is_public(authority):  # the field's pattern cannot check this
        raise rejected("UrlValidationFailed", "the URL's host is not public")
    _check_room(call, url)
    if reason := await call.service.challenges.failure(url, app.api_key_secret):
        raise rejected("CrcValidationFailed", reason)
    # Meanwhile, other webhooks may have been registered, or the emulator may have been reset.
    _check_room(call, url)
    if call.state is not call.service.state:
        raise rejected("CrcValidationFailed", "the emulator was reset while the challenge was in progress")
    now = call.now
    webhook = Webhook(
        id=str(call.state.platform.new_id(now)),
        url=url,
        app_key=app.api_key,
        valid=True,
        created_at=now,
        checked_at=now,
    )
    call.state.platform.webhooks[webhook.id] = webhook
    call.service.deliveries.outbox(webhook)  # so that the ledger contains it before anything is delivered
    return data(_shown(webhook))


@serves(routes.WEBHOOKS)
async def list_webhooks(call: Call) -> Answer:
    """Returns the app's webhooks, valid or not, with all or the selected fields."""
    own, parameter = _own(call), "webhook_config.fields"
    names = selected_names(call.query, parameter) if call.query.get(parameter) else get_args(WebhookConfigField)
    shown = [pick_fields(_shown(webhook), names) for webhook in own]
    return answer({"data": shown, "meta": {"result_count": len(own)}})


@serves(routes.WEBHOOK_VALIDATE, refuse=_refuse)
async def validate_webhook(call: Call) -> Answer:
    """Sends a new challenge, which decides whether the webhook is valid."""
    webhook = _webhook(call)
    reason = await call.service.challenges.failure(webhook.url, call.caller.app.api_key_secret)
    # The webhook may have been deleted in the meantime.
    _webhook(call)
    webhook.valid, webhook.checked_at = reason is None, call.now
    if reason is not None:
        raise rejected("CrcValidationFailed", reason)
    return data({"valid": True})


@serves(routes.WEBHOOK_DELETE, refuse=_refuse)
async def delete_webhook(call: Call) -> Answer:
    """Deletes the webhook, its stream link, and the subscriptions that refer to it."""
    webhook = _webhook(call)
    # Another request may have deleted the webhook in the meantime.
    call.state.platform.forget_webhook(webhook.id)
    call.service.deliveries.forget(webhook.id)
    return data({"deleted": True})


@serves(routes.WEBHOOK_REPLAY)
async def replay_events(call: Call) -> Answer:
    """Redelivers the events of a period to all webhooks of the app, or to the specified one.

    Each app can have only one replay at a time. No parameter is documented, so none is required, and others are
    ignored.
    """
    body = call.body
    begin = _time(body, "from_date", 0.0)
    end = _time(body, "to_date", call.now)
    if call.service.deliveries.is_replaying(call.caller.app.api_key):
        raise Refusal(409, "CONFLICT", "a replay of the app is still in progress", problem="conflict")
    wanted = [each for each in _own(call) if each.id == str(body.get("webhook_id") or each.id)]
    events = call.service.deliveries.replay(wanted, begin, end)
    job_id = str(call.state.platform.new_id(call.now))
    made = {"job_id": job_id, "status": "accepted", "created_at": milliseconds(call.now)}
    return data({**made, **body, "events": events})


@serves(routes.STREAM_LINK, faults=LINK_FAULTS)
async def link_stream(call: Call) -> Answer:
    """Links the app's filtered-stream rules to a valid webhook. A second call replaces the fields.

    Requires enterprise access.
    """
    app = call.caller.app
    if app.tier != "enterprise" and not app.stream_webhooks:
        raise not_enrolled("stream links require enterprise access")
    selection(call.query)
    webhook_id = call.path["webhook_id"]
    webhook = next((webhook for webhook in _own(call) if webhook.id == webhook_id), None)
    if webhook is None:
        raise platform_not_found("webhook", "webhook_id", webhook_id)
    if not webhook.valid:
        reason = "is the id of an invalid webhook: validate it again with PUT /2/webhooks/{webhook_id}"
        raise invalid("webhook_id", reason, webhook_id)
    if call.fault is not None:
        slug, fields = scripted_problem(call.fault)
        error = problem(call.state.problem_base_url, slug, "Not Provisioned", "a scripted fault", **fields)
        return data({"provisioned": False}, errors=[error])
    call.state.platform.links[webhook_id] = call.query
    return data({"provisioned": True})


def _time(body: Mapping[str, Any], name: str, default: float) -> float:
    """Returns a time in epoch seconds. Accepts ISO 8601, or the digits of year, month, day, hour and minute."""
    given = body.get(name)
    if given is None:
        return default
    for read in (
        datetime.datetime.fromisoformat,
        lambda text: datetime.datetime.strptime(text, "%Y%m%d%H%M").replace(tzinfo=datetime.UTC),
    ):
        with contextlib.suppress(ValueError, OverflowError):
            moment = read(str(given))
            return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp()
    raise invalid(name, "is not a time in ISO 8601", str(given)[:100])


def _own(call: Call) -> list[Webhook]:
    webhooks = call.state.platform.webhooks.values()
    return [webhook for webhook in webhooks if webhook.app_key == call.caller.app.api_key]


def _webhook(call: Call) -> Webhook:
    for webhook in _own(call):
        if webhook.id == call.path["webhook_id"]:
            return webhook
    raise rejected("WebhookIdInvalid", f"the app has no webhook {call.path['webhook_id']}")


def _check_room(call: Call, url: str) -> None:
    own = _own(call)
    if any(_address(webhook.url) == _address(url) for webhook in own):
        raise rejected("DuplicateUrlFailed", "the app already has a webhook for this URL")
    most = call.state.platform.max_webhooks
    if len(own) >= most:
        raise rejected("WebhookLimitExceeded", f"the app has {most} webhooks, which is the maximum")


def _address(url: str) -> tuple[str, str, str]:
    """Returns the normalized parts of a URL, which are equal for different spellings of the same address."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    return str(parse_address(host) or host.removesuffix(".")), parts.path or "/", parts.query


def _shown(webhook: Webhook) -> dict[str, Any]:
    return {
        "id": webhook.id,
        "url": webhook.url,
        "valid": webhook.valid,
        "created_at": milliseconds(webhook.created_at),
    }
