"""Products that wait in a file until all of a feed is read, which may be larger than memory and there only once."""

import asyncio
import pickle
import tempfile
from collections.abc import Sequence
from typing import IO, Any, Final

import orjson

from socialapi.bulk.products.rows import ProductRow
from socialapi.errors import InvalidInput

IN_MEMORY_BYTES: Final = 8_000_000
"""What is kept in memory before a file is made."""


class WaitingProducts:
    """Products that keep the rules: first all of them are added, then they are taken in their order.

    The file has no name and is for its owner alone. Raises InvalidInput when it cannot be written.
    """

    def __init__(self) -> None:
        self._is_full = False
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES)  # noqa: SIM115  # closed by `aclose`

    async def add(self, rows: Sequence[ProductRow]) -> None:
        """Further products."""
        if rows:
            await asyncio.to_thread(self._write, [(row.number, row.json, row.values) for row in rows])

    async def take(self) -> Sequence[ProductRow]:
        """The next products; none at the end."""
        return await asyncio.to_thread(self._read)

    async def aclose(self) -> None:
        """Lets go of the products. Idempotent."""
        await asyncio.to_thread(self._file.close)

    def _write(self, rows: Sequence[tuple[int, bytes, Sequence[str] | None]]) -> None:
        try:
            pickle.dump(rows, self._file)
        except OSError as problem:
            says = f"the temporary file in which products wait cannot be written: {problem.strerror}"
        else:
            return
        raise InvalidInput(says)

    def _read(self) -> Sequence[ProductRow]:
        if not self._is_full:
            self._file.seek(0)
            self._is_full = True
        try:
            rows: Sequence[Any] = pickle.load(self._file)  # noqa: S301  # written above, by this very process
        except EOFError:
            return ()
        return [ProductRow(number, orjson.loads(json), values=values, json=json) for number, json, values in rows]
