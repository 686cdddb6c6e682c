"""Telemetry by OpenTelemetry for what has no client: a webhook receiver.

A client makes its own with `Client(telemetry=True)`. Needs the extra `[otel]`.
"""

from collections.abc import Awaitable
from typing import Final, TypeVar

from socialapi.session.telemetry import Instrumentation

__all__ = ["DeliveryTelemetry"]

T = TypeVar("T")

DELIVERY_RESULT: Final = "socialapi.webhook.result"


class DeliveryTelemetry:
    """The spans and metrics of a receiver: `Receiver(secret, telemetry=DeliveryTelemetry())`.

    They go to the tracer and meter providers that the application has set; without any, nothing is
    recorded. Raises ConfigurationError if OpenTelemetry is not installed.
    """

    def __init__(self) -> None:
        self._instrumentation = Instrumentation()
        self._deliveries = self._instrumentation.counter(
            "socialapi.webhook.deliveries", "{delivery}", "Requests of webhooks, by result."
        )

    async def delivery(self, answering: Awaitable[T]) -> T:
        """Returns the answer to a request of a webhook, in a span."""
        with self._instrumentation.span("socialapi.webhook.delivery", {}):
            return await answering

    def delivered(self, result: str) -> None:
        """Counts a request of a webhook by what became of it, and names that in its span."""
        self._deliveries.add(1, {DELIVERY_RESULT: result})
        self._instrumentation.set_attribute(DELIVERY_RESULT, result)
