"""Receiving webhooks: challenges, signatures, and a receiver of events.

    from socialapi.webhooks import Receiver

    receiver = Receiver(consumer_secret, inbox="events.sqlite")
    app.add_subapp("/hooks", receiver)                                     # aiohttp
    app.add_route("/hooks", receiver.asgi, methods=["GET", "POST"])        # FastAPI, Starlette
    async for event in receiver: ...

Once the receiver is serving, register it with `client.webhooks.ensure(url)`.
"""

from socialapi.models.events import ActivityEvent, DirectMessage, MatchedPost
from socialapi.models.pages import Undecoded
from socialapi.webhooks.endpoint import ReceiverCounters, WebhookReply
from socialapi.webhooks.receiver import Delivery, Receiver, read_event
from socialapi.webhooks.signatures import SIGNATURE_HEADER, crc_response, verify_signature

__all__ = [
    "SIGNATURE_HEADER",
    "ActivityEvent",
    "Delivery",
    "DirectMessage",
    "MatchedPost",
    "Receiver",
    "ReceiverCounters",
    "Undecoded",
    "WebhookReply",
    "crc_response",
    "read_event",
    "verify_signature",
]
