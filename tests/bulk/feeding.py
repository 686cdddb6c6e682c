"""Upload jobs whose input comes in chunks, and at moments, that a test chooses; and what such a job has to bring."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from socialapi.bulk.audiences.batches import Batch
from socialapi.bulk.audiences.job import UploadJob
from socialapi.bulk.inputs.reader import Chunk, Reader
from socialapi.bulk.rows import RawColumn, RawRow, RawTable, RowBlock, rows_of
from tests.bulk.model_service import Identifier, Times, members_after

SOME_TURNS: Final = 60
"""Turns of the event loop in which the model service answers a request or two, whatever it has drawn."""


@attrs.frozen
class Wish:
    """What a row of an input says: what is done, with which identifiers."""

    values: tuple[str, ...]
    operation_type: str = "Update"
    expires_at: str | None = None


def table_of(wishes: Sequence[Wish]) -> RawTable:
    """The rows as a table; without columns for what is done if all of them do the usual."""
    columns = [
        RawColumn(f"id {at}", "partner_user_id", [w.values[at] if at < len(w.values) else "" for w in wishes])
        for at in range(max((len(wish.values) for wish in wishes), default=0))
    ]
    usual = all(wish == Wish(wish.values) for wish in wishes)
    overrides = ([wish.operation_type for wish in wishes], None, [wish.expires_at for wish in wishes])
    return RawTable(1, len(wishes), tuple(columns), (None, None, None) if usual else overrides)


class Feed(Reader[RawRow]):
    """Hands out chunks; before each it lets others have so many turns of the event loop."""

    def __init__(self, chunks: Iterable[Chunk[RawRow]], turns: Iterable[int]) -> None:
        self._chunks = iter(chunks)
        self._turns = iter(turns)

    @property
    def fraction_read(self) -> float | None:
        """Nobody asks."""
        return None

    async def read_chunk(self) -> Chunk[RawRow]:
        for _ in range(next(self._turns, 0)):
            await asyncio.sleep(0)
        return next(self._chunks, [])

    async def aclose(self) -> None:
        return


def cut(table: RawTable, sizes: Iterable[int], *, as_rows: bool = False) -> list[Chunk[RawRow]]:
    """The table in chunks of these sizes, which repeat to its end; as a list of rows each, or as tables."""
    chunks: list[Chunk[RawRow]] = []
    sizes, start = list(sizes), 0
    while start < len(table):
        stop = start + sizes[len(chunks) % len(sizes)]
        part = table.part(start, stop)
        chunks.append(list(part) if as_rows else part)
        start = stop
    return chunks


def watch_batches(job: UploadJob) -> list[list[int]]:
    """The numbers of the rows of each batch, as it is sent off; without those that repeat what was refused."""
    batches: list[list[int]] = []
    stage = job.stage
    dispatch = stage._dispatch_open

    async def dispatch_open() -> None:
        if rows := rows_of(stage._open.runs):
            batches.append([row.number for row in rows])
        await dispatch()

    watched: Any = stage
    watched._dispatch_open = dispatch_open
    return batches


def bounded(job: UploadJob, most: int = 10_000) -> None:
    """Ends a job that packs rows more often than any of these inputs needs: nothing else would, as it never waits."""
    packer = job.stage._packer
    add, calls = packer.add, iter(range(most))

    def counted(batch: Batch, run: RowBlock) -> int:
        assert next(calls, None) is not None, "rows are packed for ever"
        return add(batch, run)

    changed: Any = packer
    changed.add = counted


def replayed(wishes: Sequence[Wish], rejected: set[int]) -> Mapping[Identifier, Times]:
    """The members after the rows that were not rejected, one after another."""
    rows = [
        {"partner_user_id": wish.values, "operation_type": wish.operation_type, "expires_at": wish.expires_at}
        for wish in wishes
    ]
    return members_after(rows, rejected)
