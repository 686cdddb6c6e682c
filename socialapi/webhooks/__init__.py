"""Receiving webhooks: challenges, signatures, and a receiver of events.

    from socialapi.webhooks import Receiver

    receiver = Receiver(consumer_secret, inbox="events.sqlite")
    app.add_subapp("/hooks", receiver)                                     # aiohttp
    app.add_route("/hooks", receiver.asgi, methods=["GET", "POST"])        # FastAPI, Starlette
    async for event in receiver: ...

Once the receiver is serving, register it with `client.webhooks.ensure(url)`.
"""

from socialapi.internal.lazy import on_first_use

__getattr__, __dir__, __all__ = on_first_use(
    __name__,
    {
        "socialapi.models.events": "ActivityEvent DirectMessage MatchedPost",
        "socialapi.models.pages": "Undecoded",
        "socialapi.webhooks.endpoint": "ReceiverCounters WebhookReply WebhookTelemetry",
        "socialapi.webhooks.receiver": "Delivery Receiver read_event",
        "socialapi.webhooks.signatures": "SIGNATURE_HEADER crc_response sign_body verify_signature",
    },
)
