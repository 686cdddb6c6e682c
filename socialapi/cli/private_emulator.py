"""An emulator in a process of its own, for as long as a block runs."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Mapping
from typing import Final

from socialapi.errors import ConfigurationError

READY_TIMEOUT_SECONDS: Final = 30.0
END_TIMEOUT_SECONDS: Final = 10.0


@contextlib.asynccontextmanager
async def private_emulator() -> AsyncIterator[Mapping[str, str]]:
    """Starts `socialapi emulator` on a free port and gives its ready line; ends it with the block.

    The child also ends when its standard input closes, and so with this process, however that ends.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "socialapi", "emulator", "--port", "0", "--until-stdin-closes"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield json.loads(await _ready_line(process.stdout))
    finally:
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), END_TIMEOUT_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()


async def _ready_line(output: asyncio.StreamReader) -> bytes:
    try:
        line = await asyncio.wait_for(output.readline(), READY_TIMEOUT_SECONDS)
    except TimeoutError:
        line = b""
    if not line:
        raise ConfigurationError("the emulator did not start")
    return line
