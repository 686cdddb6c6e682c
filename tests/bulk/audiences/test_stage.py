"""The stage of an upload takes rows that are ready to be sent, whoever has prepared them."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

import pytest

from socialapi._speedups import Digests
from socialapi.bulk.audiences.batches import Packer
from socialapi.bulk.audiences.job import UploadOptions, UploadStage
from socialapi.bulk.audiences.prepare import PreparedBlock
from socialapi.bulk.audiences.sender import BatchSender
from socialapi.bulk.counters import RowCounters
from socialapi.bulk.inputs.reader import Reader
from socialapi.bulk.job import JobDescription, bulk_options, run_job
from socialapi.bulk.rows import Action, RowBlock
from socialapi.config import Config
from socialapi.errors import BulkError
from socialapi.reports import UploadReport
from socialapi.session.options import CallOptions
from tests.bulk.model_service import DESTINATION, ModelService
from tests.bulk.model_transport import refusal, session_of

DIGESTS: Final = [f"{number:064x}" for number in range(5)]


class Blocks(Reader[RowBlock]):
    """Hands out blocks of rows that are ready to be sent."""

    def __init__(self, blocks: Sequence[RowBlock]) -> None:
        self._blocks = iter(blocks)
        self.is_closed = False

    @property
    def fraction_read(self) -> float | None:
        return None

    async def read_block(self) -> RowBlock | None:
        return next(self._blocks, None)

    async def aclose(self) -> None:
        self.is_closed = True


def block_of(digests: Sequence[str], first_number: int) -> RowBlock:
    numbers = range(first_number, first_number + len(digests))
    return RowBlock(Action("Update"), numbers, (("email", Digests(digests)),))


def already_prepared(block: RowBlock) -> Iterable[PreparedBlock]:
    return [PreparedBlock([block])]


async def uploaded(service: ModelService, reader: Blocks) -> UploadReport:
    session = session_of(service, max_operations=2)
    target = DESTINATION.target
    options = bulk_options(session.config, CallOptions.interactive(Config()))
    packer = Packer("single", max_operations=2, max_bytes=10_000)
    counters = RowCounters(None)
    sender = BatchSender(session, target, options, packer, counters)
    stage = UploadStage(lambda _: already_prepared, sender)
    description = JobDescription(target=target, source=None)
    return await run_job(reader, stage, counters, description, UploadOptions(concurrency=1), session)


async def test_rows_that_are_ready_are_sent_as_they_are() -> None:
    service, reader = ModelService(), Blocks([block_of(DIGESTS[:3], 1), block_of([*DIGESTS[3:], DIGESTS[0]], 4)])
    report = await uploaded(service, reader)
    assert (report.read, report.accepted, report.duplicate) == (6, 5, 1)
    assert service.values == [[[DIGESTS[0]], [DIGESTS[1]]], [[DIGESTS[2]], [DIGESTS[3]]], [[DIGESTS[4]]]]
    assert reader.is_closed


async def test_a_job_that_stops_counts_such_rows_as_pending() -> None:
    with pytest.raises(BulkError) as caught:
        await uploaded(ModelService([refusal(403)] * 3), Blocks([block_of(DIGESTS, 1)]))
    assert (caught.value.report.read, caught.value.report.pending) == (5, 5)
    assert asyncio.all_tasks() == {asyncio.current_task()}
