"""The page on several processes is run as it stands, with a Redis of its own."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Final

import pytest
import redis.asyncio

from socialapi.emulator import Emulator
from tests.support.redis import own_redis
from tests.test_readme import Shell, run_console, run_python, snippets_of

pytestmark = pytest.mark.slow

PAGE: Final = Path(__file__).parents[2] / "docs" / "several-processes.md"


async def test_the_page_on_several_processes_does_what_it_says(tmp_path: Path) -> None:
    install, shell, in_code, fallback, _rights = snippets_of(PAGE)
    assert install.language == "sh"
    with own_redis() as server:
        async with Emulator(port=0) as emulator:
            environ = {
                **os.environ,
                **emulator.environment,
                "SOCIALAPI_REDIS_URL": server.url,
                "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
            }
            with Shell(tmp_path, environ) as typed:
                await asyncio.to_thread(run_console, shell, typed)
            said = await asyncio.to_thread(run_python, in_code, tmp_path, environ)
            assert await asyncio.to_thread(run_python, fallback, tmp_path, environ) == "0.1\n"
        async with redis.asyncio.Redis.from_url(server.url, decode_responses=True) as asking:
            windows = {key async for key in asking.scan_iter(match="socialapi:*:state")}
    assert said == "custom_audience_uploads/18ce54d4x5t 1500 1498\n"
    assert len(windows) == 1, "the command and the program share it"
