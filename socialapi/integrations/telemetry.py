"""OpenTelemetry for objects without a client: webhook receivers and connections to Redis.

For clients, use `Client(telemetry=True)`. Needs the extra `[otel]`.
"""

from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from socialapi.session.clock import Clock, SystemClock
from socialapi.session.telemetry import DURATION_BUCKETS, ERROR_TYPE, WAIT_BUCKETS, Attributes, Instrumentation, type_of

__all__ = ["DeliveryTelemetry", "RedisTelemetry"]

T = TypeVar("T")

DELIVERY_RESULT: Final = "socialapi.webhook.result"


class DeliveryTelemetry:
    """The spans and metrics of a receiver: `Receiver(secret, telemetry=DeliveryTelemetry())`.

    The application's tracer and meter providers are used; without providers, nothing is recorded. Raises
    ConfigurationError if OpenTelemetry is not installed.
    """

    def __init__(self) -> None:
        self._instrumentation = Instrumentation()
        self._deliveries = self._instrumentation.counter(
            "socialapi.webhook.deliveries", "{delivery}", "Webhook requests, by result."
        )

    async def delivery(self, answering: Awaitable[T]) -> T:
        """Returns the response to a webhook request, recorded in a span."""
        with self._instrumentation.span("socialapi.webhook.delivery", {}):
            return await answering

    def delivered(self, result: str) -> None:
        """Counts a webhook request by its result, and records the result in the span."""
        self._deliveries.add(1, {DELIVERY_RESULT: result})
        self._instrumentation.set_attribute(DELIVERY_RESULT, result)


class RedisTelemetry:
    """The spans and metrics of a `RedisPacer`, `RedisTokenCache` or `RedisFence`:
    `RedisPacer(url, telemetry=RedisTelemetry())`.

    A client that `Client.from_env` creates with telemetry also records its own connection to Redis. Raises
    ConfigurationError if OpenTelemetry is not installed.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._instrumentation = Instrumentation()
        histogram = self._instrumentation.histogram
        self._calls = histogram("db.client.operation.duration", "Duration of calls to Redis.", DURATION_BUCKETS)
        self._outages = histogram("socialapi.redis.outage.duration", "Length of Redis outages.", WAIT_BUCKETS)
        self._waits = histogram("socialapi.redis.wait.duration", "How long attempts waited for Redis.", WAIT_BUCKETS)

    @contextmanager
    def call(self, name: str) -> Iterator[None]:
        """Records a call: the command, followed by the script's name if it runs one."""
        command, _, script = name.partition(" ")
        attributes: Attributes = {"db.system.name": "redis", "db.operation.name": command}
        if script:
            attributes["db.stored_procedure.name"] = script
        started = self._clock.monotonic()
        try:
            with self._instrumentation.span(name, attributes, is_client=True):
                yield
        except BaseException as problem:
            attributes[ERROR_TYPE] = type_of(problem)
            raise
        finally:
            self._calls.record(self._clock.monotonic() - started, attributes)

    def record_outage(self, seconds: float) -> None:
        """Records the length of an outage when Redis replies again."""
        self._outages.record(seconds)

    def record_wait(self, seconds: float) -> None:
        """Records how long a caller waited for Redis, as a metric and in the current span."""
        self._waits.record(seconds)
        self._instrumentation.add_event("socialapi.redis.wait", {"socialapi.wait.duration": seconds})
