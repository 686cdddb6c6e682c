"""The handler for activity subscriptions (platform sections 4.4 and 6.2)."""

from typing import Final, get_args

from socialapi.emulator.auth import require_scopes
from socialapi.emulator.handlers import Call, serves
from socialapi.emulator.platform.state import ActivitySubscription
from socialapi.emulator.responses import Answer, Refusal, data, invalid, platform_not_found
from socialapi.models.events import EventType, canonical_event_type, scope_of_event
from socialapi.routes import platform as routes

EVENT_TYPES: Final = frozenset(get_args(EventType))


@serves(routes.SUBSCRIPTION_CREATE)
async def create_subscription(call: Call) -> Answer:
    """Creates the subscription under the current name of its event type. An app can have
    the same one once.
    """
    body = dict(call.body)
    given, wanted = body.pop("event_type"), body.pop("filter")
    event_type = canonical_event_type(given)
    if event_type not in EVENT_TYPES:
        raise invalid("event_type", "is none of those that exist", given[:100])
    require_scopes(call.caller, [scope] if (scope := scope_of_event(event_type)) else [])
    if (webhook_id := body.get("webhook_id")) is not None:
        webhook = call.state.platform.webhooks.get(str(webhook_id))
        if webhook is None or webhook.app_key != call.caller.app.api_key:
            raise platform_not_found("webhook", "webhook_id", str(webhook_id)[:100])
    platform, app_key = call.state.platform, call.caller.app.api_key
    for other in platform.subscriptions.values():
        if (other.app_key, other.event_type, other.filter) == (app_key, event_type, wanted):
            raise Refusal(409, "CONFLICT", f"the app has this subscription: {other.id}")
    made = ActivitySubscription(
        id=str(platform.new_id(call.now)), app_key=app_key, event_type=event_type, filter=wanted, extra=body
    )
    platform.subscriptions[made.id] = made
    return data({**body, "subscription_id": made.id, "event_type": event_type, "filter": wanted}, call.success_status)
