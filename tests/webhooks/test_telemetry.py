"""The spans and metrics of a receiver."""

import pytest

from socialapi.errors import ConfigurationError
from socialapi.integrations.telemetry import DeliveryTelemetry
from socialapi.webhooks import Receiver
from tests.support import planted
from tests.support.records import Records, records
from tests.support.telemetry import Recorded, attributes_of, by, recorded
from tests.webhooks.posting import SECRET, event, running

__all__ = ["recorded", "records"]  # fixtures


async def test_a_delivery_to_a_webhook_is_a_span_and_is_counted_by_its_result(recorded: Recorded) -> None:
    receiver = Receiver(SECRET, telemetry=DeliveryTelemetry(), max_queue=2)
    async with running(receiver) as sender:
        await sender.challenge("?crc_token=one")
        assert (await sender.post(event(1))).status == 200
        assert (await sender.post(event(1))).status == 200
        assert (await sender.post(event(2), "sha256=" + "A" * 43 + "=")).status == 401
        assert (await sender.post(b"plain")).status == 400
        assert (await sender.post(event(3))).status == 200
        assert (await sender.post(event(4))).status == 503
        assert (await sender.ask("DELETE")).status == 405
    results = [attributes_of(span).get("socialapi.webhook.result") for span in recorded.spans]
    counted = ["challenge", "accepted", "duplicate", "refused_signature", "refused_body", "accepted", "refused_full"]
    assert results == [*counted, None]
    assert {span.name for span in recorded.spans} == {"socialapi.webhook.delivery"}
    told = by(recorded.metrics()["socialapi.webhook.deliveries"], "socialapi.webhook.result")
    assert told == {result: counted.count(result) for result in counted}


async def test_nothing_of_a_request_is_in_a_span_a_metric_or_a_log_record(recorded: Recorded, records: Records) -> None:
    email, secret = planted.PEOPLE["email"], planted.SECRETS["bearer"]
    async with running(Receiver(secret, telemetry=DeliveryTelemetry())) as sender:
        await sender.post(event(1, email=email), "sha256=" + "A" * 43 + "=", path=f"/{email}")
        await sender.post(email.encode())
        await sender.challenge(f"?crc_token={email}")
        await sender.challenge(f"?crc_token={{{email}")
    told = [*recorded.everything(), *(repr(vars(record)) for record in records.kept if record.name == "socialapi")]
    assert len(told) > 5
    assert [line for line in told if planted.leaks(line)] == []


async def test_without_telemetry_a_receiver_has_neither_a_span_nor_a_metric(recorded: Recorded) -> None:
    async with running(Receiver(SECRET)) as sender:
        assert (await sender.post(event(1))).status == 200
    assert recorded.spans == []
    assert recorded.metrics() == {}


def test_what_is_no_telemetry_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"^telemetry must be a DeliveryTelemetry\(\), not bool$"):
        Receiver(SECRET, telemetry=True)  # type: ignore[arg-type]
