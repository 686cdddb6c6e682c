"""Webhooks, on the side of who owns one: challenges, signatures, and a receiver of events.

    from socialapi.webhooks import Receiver

    receiver = Receiver(consumer_secret, inbox="events.sqlite")
    app.add_subapp("/hooks", receiver)
    async for event in receiver: ...

Registering a webhook is `client.webhooks.create(url)`.
"""

from socialapi.models.events import ActivityEvent, DirectMessage, MatchedPost
from socialapi.models.pages import Undecoded
from socialapi.webhooks.receiver import Receiver
from socialapi.webhooks.signatures import SIGNATURE_HEADER, crc_response, verify_signature

__all__ = [
    "SIGNATURE_HEADER",
    "ActivityEvent",
    "DirectMessage",
    "MatchedPost",
    "Receiver",
    "Undecoded",
    "crc_response",
    "verify_signature",
]
