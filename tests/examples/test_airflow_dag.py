"""The example for Airflow, run by the real one in an environment of its own: `make airflow`."""

import asyncio
import contextlib
import json
import os
import sqlite3
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path
from typing import Any, Final

import pytest

from socialapi.emulator import Emulator
from tests.cli.terminal import write_people
from tests.support.examples import ACCOUNT, AUDIENCE, EXAMPLES, ROOT

PYTHON: Final = ROOT / ".airflow" / "bin" / "python"
CALLED: Final = """
import airflow_dag, asyncio
asyncio.run(airflow_dag.upload.function("2026-05-02", ".", "18ce54d4x5t", "1nmth"))
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not PYTHON.exists(), reason="Airflow is not installed: make airflow"),
]


async def test_the_dag_uploads_the_file_of_its_day_and_is_repeated_only_where_that_helps(
    socialapi_emulator: Emulator, tmp_path: Path
) -> None:
    for day, count in (("2026-05-01", 300), ("2026-05-02", 1)):
        write_people(tmp_path / f"crm-{day}.csv", count)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "SOCIALAPI_"))},
        **socialapi_emulator.environment,
        "AIRFLOW_HOME": str(tmp_path / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(EXAMPLES),
        "PYTHONPATH": str(EXAMPLES),
        "SOCIALAPI_MAX_ATTEMPTS": "1",
    }

    async def run(*arguments: str) -> tuple[int | None, str]:
        process = await asyncio.create_subprocess_exec(
            *(str(PYTHON), *arguments), cwd=tmp_path, env=environment, stdout=PIPE, stderr=STDOUT
        )
        said, _ = await process.communicate()
        return process.returncode, said.decode()

    def stored(query: str) -> list[Any]:
        with contextlib.closing(sqlite3.connect(tmp_path / "airflow" / "airflow.db")) as database:
            return database.execute(query).fetchall()

    assert (await run("-m", "airflow", "db", "migrate"))[0] == 0
    status, said = await run("-m", "airflow", "dags", "test", "crm_upload", "2026-05-01")
    assert status == 0, said
    assert len(socialapi_emulator.members(ACCOUNT, AUDIENCE)) == 300
    ((report,),) = stored("select value from xcom where key = 'return_value'")
    assert json.loads(report)["accepted"] == 300
    assert (tmp_path / "crm-2026-05-01.journal").exists()

    socialapi_emulator.faults.add("status", status=403, times=100)
    await run("-m", "airflow", "dags", "test", "crm_upload", "2026-05-02")
    states = stored("select state, try_number, max_tries from task_instance order by start_date")
    assert states == [("success", 1, 4), ("failed", 1, 4)]

    socialapi_emulator.faults.clear()
    socialapi_emulator.faults.add("status", status=429, retry_after_seconds=7_200, times=100)
    status, said = await run("-c", CALLED)
    assert status == 1
    assert said.splitlines()[-1].startswith("socialapi.errors.")
