"""Receiving webhooks: challenges, signatures, and an event receiver.

    from socialapi.webhooks import Receiver

    receiver = Receiver(consumer_secret, inbox="events.sqlite")
    app.add_subapp("/hooks", receiver)                                     # aiohttp
    app.add_route("/hooks", receiver.asgi, methods=["GET", "POST"])        # FastAPI, Starlette
    async for event in receiver: ...

Once the receiver is serving, register it with `client.webhooks.ensure(url)`.
"""

from typing import TYPE_CHECKING

from socialapi.internal.lazy import on_first_use

if TYPE_CHECKING:
    from socialapi.models.events import ActivityEvent as ActivityEvent
    from socialapi.models.events import DirectMessage as DirectMessage
    from socialapi.models.events import MatchedPost as MatchedPost
    from socialapi.models.undecoded import Undecoded as Undecoded
    from socialapi.webhooks.dead_letters import DeadLetter as DeadLetter
    from socialapi.webhooks.dead_letters import DeadLetters as DeadLetters
    from socialapi.webhooks.endpoint import ReceiverCounters as ReceiverCounters
    from socialapi.webhooks.endpoint import WebhookReply as WebhookReply
    from socialapi.webhooks.endpoint import WebhookTelemetry as WebhookTelemetry
    from socialapi.webhooks.receiver import Delivery as Delivery
    from socialapi.webhooks.receiver import Receiver as Receiver
    from socialapi.webhooks.receiver import read_event as read_event
    from socialapi.webhooks.signatures import SIGNATURE_HEADER as SIGNATURE_HEADER
    from socialapi.webhooks.signatures import crc_response as crc_response
    from socialapi.webhooks.signatures import sign_body as sign_body
    from socialapi.webhooks.signatures import verify_signature as verify_signature
else:
    __getattr__, __dir__, __all__ = on_first_use(
        __name__,
        {
            "socialapi.models.events": "ActivityEvent DirectMessage MatchedPost",
            "socialapi.models.undecoded": "Undecoded",
            "socialapi.webhooks.dead_letters": "DeadLetter DeadLetters",
            "socialapi.webhooks.endpoint": "ReceiverCounters WebhookReply WebhookTelemetry",
            "socialapi.webhooks.receiver": "Delivery Receiver read_event",
            "socialapi.webhooks.signatures": "SIGNATURE_HEADER crc_response sign_body verify_signature",
        },
    )
