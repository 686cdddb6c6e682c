"""The examples run, against an emulator."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Final

import asyncpg
import duckdb
import pytest

from socialapi.emulator import Emulator

EXAMPLES = Path(__file__).parents[1] / "examples"


PLUGINS: Final = ("-p", "no:cacheprovider", "-p", "no:schemathesis", "-p", "no:hypothesispytest")
"""Without those that only take time to load."""
ACCOUNT, AUDIENCE = "18ce54d4x5t", "1nmth"


async def run(emulator: Emulator, folder: Path, example: str, *arguments: str, **environment: str) -> str:
    """What an example prints, when it ends well."""
    variables = {f"SOCIALAPI_{name.upper()}": value for name, value in emulator.ready.items()}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", str(EXAMPLES / example), ACCOUNT, AUDIENCE, *arguments),
        cwd=folder,
        env=os.environ | variables | environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await process.communicate()
    assert process.returncode == 0, out.decode()
    return out.decode()


async def test_the_nightly_sync_leaves_the_audience_as_the_database_has_it(
    socialapi_emulator: Emulator, tmp_path: Path
) -> None:
    out = await run(socialapi_emulator, tmp_path, "nightly_sync.py")
    assert out == "5,000 of 5,000 accepted in 2 requests, 0 rejected\n"
    assert len(socialapi_emulator.members(ACCOUNT, AUDIENCE)) == 2 * 4_500


async def test_the_sync_from_postgresql_leaves_the_audience_as_the_query_has_it(
    socialapi_emulator: Emulator, tmp_path: Path, postgresql: str
) -> None:
    def sync() -> Awaitable[str]:
        return run(socialapi_emulator, tmp_path, "sync_from_postgresql.py", DATABASE_URL=postgresql)

    connection = await asyncpg.connect(postgresql)
    await connection.execute(
        "create table customers as select 'customer' || n || '@example.com' as email, '(415) 555-' || 2000 + n as phone, "
        "n % 10 = 0 as has_left from generate_series(1, 1000) as n"
    )
    assert await sync() == "900 read: 0 unchanged, 900 added; 0 identifiers removed\n"
    assert len(socialapi_emulator.members(ACCOUNT, AUDIENCE)) == 2 * 900
    await connection.execute("update customers set has_left = email like 'customer5_@%'")
    assert await sync() == "990 read: 891 unchanged, 99 added; 18 identifiers removed\n"
    assert len(socialapi_emulator.members(ACCOUNT, AUDIENCE)) == 2 * 990
    await connection.close()


async def test_the_sync_from_duckdb_leaves_the_audience_as_the_query_has_it(
    socialapi_emulator: Emulator, tmp_path: Path
) -> None:
    for file in (1, 2):
        duckdb.execute(
            "copy (select 'customer' || n || '@example.com' as email, '(415) 555-' || 2000 + n as phone, n as amount "
            f"from range({500 * file}) as numbers(n)) to '{tmp_path}/purchases{file}.parquet'"
        )
    out = await run(socialapi_emulator, tmp_path, "sync_from_duckdb.py", "*.parquet")
    assert out == "900 read: 0 unchanged, 900 added; 0 identifiers removed\n"
    assert len(socialapi_emulator.members(ACCOUNT, AUDIENCE)) == 2 * 900


@pytest.mark.timeout(300)
@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "with workers"])
def test_the_project_that_shows_how_to_test_passes_its_tests(tmp_path: Path, options: Sequence[str]) -> None:
    project = shutil.copytree(EXAMPLES / "testing_a_service", tmp_path / "project")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-W", "error", *PLUGINS, *options],
        cwd=project,
        env={name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "SOCIALAPI"))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\b19 passed in ", done.stdout), done.stdout


def test_the_project_that_shows_how_to_test_lists_its_files() -> None:
    project = EXAMPLES / "testing_a_service"
    listed = set(re.findall(r"^\| `(\w+\.py)` \|", (project / "README.md").read_text("utf-8"), re.MULTILINE))
    assert listed == {path.name for path in project.glob("*.py")} - {"newsletter.py"}


def test_every_example_has_a_test() -> None:
    elsewhere = {"webhook_fastapi.py"}  # tests/webhooks/test_fastapi.py
    assert {path.name for path in EXAMPLES.iterdir() if not path.name.startswith("__")} == {
        *("nightly_sync.py", "sync_from_duckdb.py", "sync_from_postgresql.py", "testing_a_service"),
        *elsewhere,
    }
