"""Upload jobs whose input comes in blocks, and at moments, that a test chooses."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Final

import attrs

from socialapi.bulk.audiences.batches import Batch
from socialapi.bulk.audiences.cells import UserBlock
from socialapi.bulk.audiences.job import UploadJob
from socialapi.bulk.inputs.reader import Reader
from socialapi.bulk.rows import RowBlock
from tests.bulk.blocks import Column, rows_of, user_block

SOME_TURNS: Final = 60
"""Turns of the event loop in which the model service answers a request or two, whatever it has drawn."""


@attrs.frozen
class Wish:
    """What a row of an input says: what is done, with which identifiers."""

    values: tuple[str, ...]
    operation_type: str = "Update"
    expires_at: str | None = None


def block_of(wishes: Sequence[Wish]) -> UserBlock:
    """The rows as a block; without columns for what is done if all of them do the usual."""
    columns: list[Column] = [
        (f"id {at}", "partner_user_id", [w.values[at] if at < len(w.values) else "" for w in wishes])
        for at in range(max((len(wish.values) for wish in wishes), default=0))
    ]
    if any(wish != Wish(wish.values) for wish in wishes):
        columns.append(("operation_type", "operation_type", [wish.operation_type for wish in wishes]))
        columns.append(("expires_at", "expires_at", [wish.expires_at for wish in wishes]))
    return user_block(*columns, size=len(wishes))


class Feed(Reader[UserBlock]):
    """Hands out blocks; before each it lets others have so many turns of the event loop."""

    def __init__(self, blocks: Iterable[UserBlock], turns: Iterable[int]) -> None:
        self._blocks = iter(blocks)
        self._turns = iter(turns)

    @property
    def fraction_read(self) -> float | None:
        """Nobody asks."""
        return None

    async def read_block(self) -> UserBlock | None:
        for _ in range(next(self._turns, 0)):
            await asyncio.sleep(0)
        return next(self._blocks, None)

    async def aclose(self) -> None:
        return


def cut(block: UserBlock, sizes: Iterable[int]) -> list[UserBlock]:
    """The block in parts of these sizes, which repeat to its end."""
    parts: list[UserBlock] = []
    sizes, start = list(sizes), 0
    while start < len(block):
        stop = start + sizes[len(parts) % len(sizes)]
        parts.append(block.part(start, stop))
        start = stop
    return parts


def watch_batches(job: UploadJob) -> list[list[int]]:
    """The numbers of the rows of each batch, as it is sent off; without those that repeat what was refused."""
    batches: list[list[int]] = []
    stage = job.stage
    dispatch = stage._dispatch_open

    async def dispatch_open() -> None:
        if rows := rows_of(stage._open.blocks):
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
