"""The examples run, against an emulator."""

import asyncio
import os
import sys
from pathlib import Path

from socialapi.emulator import Emulator

EXAMPLES = Path(__file__).parents[1] / "examples"


async def test_the_nightly_sync_leaves_the_audience_as_the_database_has_it(
    socialapi_emulator: Emulator, tmp_path: Path
) -> None:
    variables = {f"SOCIALAPI_{name.upper()}": value for name, value in socialapi_emulator.ready.items()}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", EXAMPLES / "nightly_sync.py", "18ce54d4x5t", "1nmth"),
        cwd=tmp_path,
        env=os.environ | variables,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await process.communicate()
    assert out.decode() == "5,000 of 5,000 accepted in 2 requests, 0 rejected\n"
    assert process.returncode == 0
    assert len(socialapi_emulator.members("18ce54d4x5t", "1nmth")) == 2 * 4_500


def test_every_example_has_a_test() -> None:
    elsewhere = {"webhook_fastapi.py"}  # tests/webhooks/test_fastapi.py
    assert {path.name for path in EXAMPLES.glob("*.py")} == {"nightly_sync.py"} | elsewhere
