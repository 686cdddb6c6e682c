"""The examples: each has a test and a line in their README, and those that read a database are tested here."""

import contextlib
import os
import re
import shutil
import sqlite3
from collections.abc import Awaitable, Sequence
from pathlib import Path

import asyncpg
import duckdb
import pytest

from socialapi.emulator import Emulator
from tests.support.examples import ACCOUNT, AUDIENCE, EXAMPLES, ROOT, run
from tests.support.pytest_runs import run_pytest

pytestmark = pytest.mark.slow


async def test_the_nightly_sync_leaves_the_audience_as_the_database_has_it(
    socialapi_emulator: Emulator, tmp_path: Path
) -> None:
    command = "nightly_sync.py", ACCOUNT, AUDIENCE
    out = await run(socialapi_emulator, tmp_path, *command)
    assert out == "4,500 read: 0 unchanged, 4,500 added; 0 identifiers removed\n"
    with contextlib.closing(sqlite3.connect(tmp_path / "customers.sqlite")) as database, database:
        database.execute("update customers set has_left = not has_left where rowid <= 20")
    out = await run(socialapi_emulator, tmp_path, *command)
    assert out == "4,484 read: 4,482 unchanged, 2 added; 36 identifiers removed\n"
    held = socialapi_emulator.members(ACCOUNT, AUDIENCE)
    assert len(held) == 2 * 4_484
    with contextlib.closing(sqlite3.connect(tmp_path / "customers.sqlite")) as database, database:
        database.execute("update customers set has_left = rowid % 2")
    out = await run(socialapi_emulator, tmp_path, *command, status=2)
    assert out.startswith("the sync stopped before anything was sent: ")
    assert socialapi_emulator.members(ACCOUNT, AUDIENCE) == held


async def test_the_sync_from_postgresql_leaves_the_audience_as_the_query_has_it(
    socialapi_emulator: Emulator, tmp_path: Path, postgresql: str
) -> None:
    def sync() -> Awaitable[str]:
        command = "sync_from_postgresql.py", ACCOUNT, AUDIENCE
        return run(socialapi_emulator, tmp_path, *command, DATABASE_URL=postgresql)

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


@pytest.mark.parametrize(
    ("value_of_one_row", "says", "status"),
    [("pg_terminate_backend(pg_backend_pid())", "the database went away", 3), ("n / 0 > 0", "the input broke off", 3)],
)
async def test_the_sync_from_postgresql_says_whether_to_repeat_what_the_database_has_ended(
    socialapi_emulator: Emulator, tmp_path: Path, postgresql: str, value_of_one_row: str, says: str, status: int
) -> None:
    connection = await asyncpg.connect(postgresql)
    await connection.execute(
        f"create view customers as select case when n = 500 then ({value_of_one_row})::text else 'a' || n || '@example.com' "
        "end as email, null::text as phone, false as has_left from generate_series(1, 10000) as n"
    )
    await connection.close()
    command = "sync_from_postgresql.py", ACCOUNT, AUDIENCE
    out = await run(socialapi_emulator, tmp_path, *command, status=status, DATABASE_URL=postgresql)
    assert says in out
    assert not socialapi_emulator.members(ACCOUNT, AUDIENCE)


@pytest.mark.parametrize(
    ("fault", "status"), [({"status": 429, "retry_after_seconds": 7_200}, 3), ({"status": 403}, 2)]
)
@pytest.mark.parametrize("command", ["nightly_sync.py", "sync_from_duckdb.py"])
async def test_a_sync_says_by_its_status_whether_to_repeat_it(
    socialapi_emulator: Emulator, tmp_path: Path, command: str, fault: dict[str, int], status: int
) -> None:
    duckdb.execute(f"copy (select 'a@example.com' as email, null as phone, 100 as amount) to '{tmp_path}/all.parquet'")
    socialapi_emulator.faults.add("status", times=100, **fault)
    files = ["*.parquet"] if command == "sync_from_duckdb.py" else []
    await run(socialapi_emulator, tmp_path, command, ACCOUNT, AUDIENCE, *files, status=status)


async def test_the_sync_from_duckdb_leaves_the_audience_as_the_query_has_it(
    socialapi_emulator: Emulator, tmp_path: Path
) -> None:
    for file in (1, 2):
        duckdb.execute(
            "copy (select 'customer' || n || '@example.com' as email, '(415) 555-' || 2000 + n as phone, n as amount "
            f"from range({500 * file}) as numbers(n)) to '{tmp_path}/purchases{file}.parquet'"
        )
    out = await run(socialapi_emulator, tmp_path, "sync_from_duckdb.py", ACCOUNT, AUDIENCE, "*.parquet")
    assert out == "900 read: 0 unchanged, 900 added; 0 identifiers removed\n"
    assert len(socialapi_emulator.members(ACCOUNT, AUDIENCE)) == 2 * 900


async def test_the_metrics_for_prometheus_tell_of_the_upload(socialapi_emulator: Emulator, tmp_path: Path) -> None:
    uploads = "/ads/12/accounts/*/custom_audiences/*/users"
    socialapi_emulator.faults.add("status", path=uploads, status=503, retry_after_seconds=0.1)
    told = dict(
        line.rsplit(" ", 1)
        for line in (await run(socialapi_emulator, tmp_path, "prometheus_metrics.py", ACCOUNT, AUDIENCE)).splitlines()
    )
    rows = {name: value for name, value in told.items() if name.startswith("socialapi_job_rows_total{")}
    assert list(rows.values()) == ["5000.0"]
    assert all('outcome="accepted"' in name and 'kind="upload"' in name for name in rows)
    requests = {
        name: value for name, value in told.items() if name.startswith("http_client_request_duration_seconds_count")
    }
    by_status = {re.findall(r'status_code="(\d+)"', name)[0]: value for name, value in requests.items()}
    assert by_status == {"200": "2.0", "503": "1.0"}
    retries = [value for name, value in told.items() if name.startswith("socialapi_request_retries_total{")]
    assert retries == ["1.0"]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "with workers"])
def test_the_project_that_shows_how_to_test_passes_its_tests(tmp_path: Path, options: Sequence[str]) -> None:
    project = shutil.copytree(EXAMPLES / "testing_a_service", tmp_path / "project")
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "SOCIALAPI"))}
    done = run_pytest(project, "-W", "error", *options, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\b19 passed in ", done.stdout), done.stdout


def test_the_project_that_shows_how_to_test_lists_its_files() -> None:
    project = EXAMPLES / "testing_a_service"
    listed = set(re.findall(r"^\| `(\w+\.py)` \|", (project / "README.md").read_text("utf-8"), re.MULTILINE))
    assert listed == {path.name for path in project.glob("*.py")} - {"newsletter.py"}


def names_of_examples() -> set[str]:
    """Files and folders in `examples/`, without what Python leaves behind."""
    return {path.name for path in EXAMPLES.iterdir() if path.name != "README.md" and path.name[0] not in "._"}


def test_every_example_has_a_test() -> None:
    tests = "".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert {
        name for name in names_of_examples() if not re.search(rf"\b{re.escape(name.split('.')[0])}\b", tests)
    } == set()


def test_every_example_has_a_line_in_their_readme_and_says_at_its_top_what_it_shows() -> None:
    listed = re.findall(
        r"^- \[([\w.]+)/?\]\(([\w.]+)/?\): \w", (EXAMPLES / "README.md").read_text("utf-8"), re.MULTILINE
    )
    assert all(text == address for text, address in listed)
    assert len(listed) == len(set(listed))
    assert {name for name, _ in listed} == names_of_examples()
    for path in EXAMPLES.glob("*.py"):
        assert re.match(r'r?"""\w.+\.\n\n', path.read_text("utf-8")), path.name
