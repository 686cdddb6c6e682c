"""Puts products into batches of 25 and keeps dependent products in order.

Products with the same id depend on each other, because the later one replaces the earlier one. Products in the same
group depend on each other, because the service shows the variant submitted first. A product whose predecessor is in
flight is held back until the predecessor is settled. Other products are sent meanwhile, so no request waits for
another.
"""

import asyncio
import pickle
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import IO, Any, Final

import orjson

from socialapi._speedups import IdentifierTable
from socialapi.bulk.products.rows import ProductBatch, ProductRow
from socialapi.errors import InvalidInput, printable
from socialapi.models.products import MAX_PRODUCTS
from socialapi.reports import RowIssue

MAX_HELD: Final = 500
"""The number of held-back products at which reading pauses, so that memory use stays flat."""


class ProductBatcher:
    """Accepts products in order, and submits them in batches until `stopped` returns True."""

    def __init__(self, submit: Callable[[ProductBatch], Awaitable[None]], stopped: Callable[[], bool]) -> None:
        self._submit = submit
        self._stopped = stopped
        self._made = 0
        self._open = self._new_batch()
        self._live_ids: set[str] = set()
        self._live_groups: set[str] = set()
        self._held: list[ProductRow] = []
        self._held_ids: Counter[str] = Counter()
        self._held_groups: Counter[str] = Counter()
        self._freed = asyncio.Event()

    def __repr__(self) -> str:
        return f"<ProductBatcher: {len(self._open.rows)} products in the open batch, {len(self._held)} held back>"

    async def add(self, rows: Iterable[ProductRow]) -> None:
        """Puts the products into batches, or holds them back until the products that they depend on are settled."""
        for row in rows:
            if self._stopped():
                return
            if self._freed.is_set():
                await self._release()
            if self._has_to_wait(row):
                self._hold(row)
                while len(self._held) >= MAX_HELD and not self._stopped():
                    await self._continue()
            elif self._open.add(row) == MAX_PRODUCTS:
                await self._dispatch()

    @property
    def first_waiting(self) -> int | None:
        """The number of the first product that is not in a submitted batch yet, or None."""
        return min((row.number for row in (*self._open.rows, *self._held[:1])), default=None)

    async def flush(self) -> None:
        """Submits all remaining products."""
        await self._dispatch()
        while self._held and not self._stopped():
            await self._continue()
        await self._dispatch()

    def settled(self, batch: ProductBatch) -> None:
        """Records that the batch is done, so that the products it held back can be released."""
        self._live_ids -= batch.ids
        self._live_groups -= batch.groups
        self._freed.set()

    async def _continue(self) -> None:
        """Submits the open batch, and waits until held-back products can be added to a batch."""
        await self._dispatch()
        if self._stopped():
            return
        if self._live_ids:
            await self._freed.wait()
        await self._release()

    def _has_to_wait(self, row: ProductRow) -> bool:
        product_id, group = row.shape["id"], row.shape.get("item_group_id")  # faster than the properties
        if product_id in self._open.ids or product_id in self._live_ids or product_id in self._held_ids:
            return True
        return group is not None and (group in self._live_groups or group in self._held_groups)

    def _hold(self, row: ProductRow) -> None:
        self._held.append(row)
        self._held_ids[row.id] += 1
        if row.group is not None:
            self._held_groups[row.group] += 1

    async def _release(self) -> None:
        """Moves the held-back products that no longer have to wait into batches, in order."""
        self._freed.clear()
        held, self._held = self._held, []
        self._held_ids.clear()
        self._held_groups.clear()
        for row in held:
            if self._has_to_wait(row):
                self._hold(row)
            elif self._open.add(row) == MAX_PRODUCTS:
                await self._dispatch()

    async def _dispatch(self) -> None:
        if not self._open.rows:
            return
        batch, self._open = self._open, self._new_batch()
        self._live_ids |= batch.ids
        self._live_groups |= batch.groups
        await self._submit(batch)

    def _new_batch(self) -> ProductBatch:
        self._made += 1
        return ProductBatch(self._made)


REMEMBERED_IDS: Final = 100_000
"""The number of ids in each of the two generations that are remembered."""
IDS_SHOWN: Final = 5


class RepeatedIds:
    """Detects repeated ids in bounded memory: every repetition within 100,000 products, and some later ones."""

    def __init__(self) -> None:
        self._young: IdentifierTable[bool] = IdentifierTable()
        self._old: IdentifierTable[bool] = IdentifierTable()
        self._count = 0
        self._first_row = 0
        self._first_ids: dict[str, None] = {}

    def note(self, row: ProductRow) -> None:
        """Remembers the id of the next valid product, and sets `row.is_repeated`."""
        product_id = row.shape["id"]
        row.is_repeated = bool(self._young.get(product_id) or self._old.get(product_id))
        self._young.put(product_id, True)
        if len(self._young) >= REMEMBERED_IDS:
            self._young, self._old = IdentifierTable(), self._young
        if row.is_repeated:
            self._count += 1
            self._first_row = self._first_row or row.number
            if len(self._first_ids) <= IDS_SHOWN:
                self._first_ids[product_id] = None

    def warning(self) -> RowIssue | None:
        """Returns one warning about all repeated ids, or None if no id was repeated."""
        if not self._count:
            return None
        shown = ", ".join(map(printable, list(self._first_ids)[:IDS_SHOWN]))
        more = ", …" if len(self._first_ids) > IDS_SHOWN else ""
        products = "1 product has" if self._count == 1 else f"{self._count:,} products have"
        reason = f"{products} the same id as an earlier product; each replaces its predecessor, in input order: {shown}{more}"
        return RowIssue(self._first_row, "id", reason)


IN_MEMORY_BYTES: Final = 8_000_000
"""The number of bytes kept in memory before they are moved to a file on disk."""


class WaitingProducts:
    """A temporary file of valid products. All products are added first and then read back in the same order.

    The file has no name, and only its owner can read it. `add` raises InvalidInput if the file cannot be written.
    """

    def __init__(self) -> None:
        self._is_full = False
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES)  # noqa: SIM115  # closed by `aclose`

    async def add(self, rows: Sequence[ProductRow]) -> None:
        """Adds products."""
        if rows:
            parts = [(row.number, row.json, row.values, row.is_repeated) for row in rows]
            await asyncio.to_thread(self._write, parts)

    async def take(self) -> Sequence[ProductRow]:
        """Returns the next products, or an empty sequence at the end."""
        return await asyncio.to_thread(self._read)

    async def aclose(self) -> None:
        """Deletes the file. Idempotent."""
        await asyncio.to_thread(self._file.close)

    def _write(self, rows: Sequence[tuple[int, bytes, Sequence[str] | None, bool]]) -> None:
        try:
            pickle.dump(rows, self._file)
        except OSError as problem:
            says = f"the temporary file for waiting products cannot be written: {problem.strerror}"
        else:
            return
        raise InvalidInput(says)

    def _read(self) -> Sequence[ProductRow]:
        if not self._is_full:
            self._file.seek(0)
            self._is_full = True
        try:
            rows: Sequence[Any] = pickle.load(self._file)  # noqa: S301  # written by this process
        except EOFError:
            return ()
        return [
            ProductRow(number, orjson.loads(json), values=values, json=json, is_repeated=is_repeated)
            for number, json, values, is_repeated in rows
        ]
