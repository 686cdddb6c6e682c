"""Handing what is published over to streams and webhooks."""

from collections.abc import Iterable, Sequence

import attrs

from socialapi.emulator.platform.deliveries import Deliveries
from socialapi.emulator.platform.outbox import Outbox
from socialapi.emulator.platform.streaming import LINE_END, LiveStream


@attrs.frozen
class Parcel:
    """The same bytes for some streams and webhooks."""

    content: bytes
    streams: Sequence[LiveStream] = ()
    outboxes: Sequence[Outbox] = ()


@attrs.define
class Reach:
    """How many streams and webhooks something went to."""

    streams: int = 0
    webhooks: int = 0


def hand_over(parcels: Iterable[Parcel], deliveries: Deliveries) -> None:
    """Puts the parcels into the queues at once; who has a full one loses: a stream ends, a webhook misses the event."""
    for parcel in parcels:
        line = parcel.content + LINE_END
        for stream in parcel.streams:
            stream.put(line)
        for outbox in parcel.outboxes:
            deliveries.send(outbox, parcel.content)


async def hand_over_patiently(parcels: Iterable[Parcel], deliveries: Deliveries, copies: int) -> Reach:
    """Puts the parcels into the queues, waiting for room wherever there is none."""
    reach = Reach()
    for parcel in parcels:
        line = parcel.content + LINE_END
        for stream in parcel.streams:
            reach.streams += await _put(stream, line, copies)
        for outbox in parcel.outboxes:
            if outbox.is_crowded:
                await outbox.room()
            deliveries.send(outbox, parcel.content, copies)
            reach.webhooks += 1
    return reach


async def _put(stream: LiveStream, line: bytes, copies: int) -> bool:
    taken = False
    for _ in range(copies):
        if stream.is_crowded:
            await stream.room()
        taken = stream.put(line) or taken
    return taken
