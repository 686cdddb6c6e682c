"""A Spark of two cores that attempts a task four times, a Redis, and the emulator in a process of its own.

These tests take an environment with PySpark, and are run by `make test-spark`. What is missing skips them, or fails
them where SOCIALAPI_REQUIRE_SPARK is set.
"""

import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest

from tests.proofs.processes import ROOT, Service, service
from tests.support.full_size import FULL_SIZE
from tests.support.redis import redis_running

TIMEOUT_SECONDS: Final = 3
"""The timeout of a request, which a successor waits out."""


def pytest_configure(config: pytest.Config) -> None:
    # Of pandas nothing is used, which the other tests have here.
    config.addinivalue_line("filterwarnings", "ignore:PySpark does not yet fully support pandas:FutureWarning")


IS_INSTALLED: Final = importlib.util.find_spec("pyspark") is not None
# Every module here imports it: it fails where it must not be missing.
collect_ignore_glob = [] if IS_INSTALLED or os.environ.get("SOCIALAPI_REQUIRE_SPARK") else ["test_*.py"]


def pytest_report_header() -> str | None:
    return None if IS_INSTALLED else "writing from Spark needs PySpark: make test-spark installs it into .spark"


def skip(why: str) -> NoReturn:
    reason = f"writing from Spark needs {why}"
    if os.environ.get("SOCIALAPI_REQUIRE_SPARK"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session", autouse=True)
def pieces() -> None:
    """What these tests are made of."""
    if shutil.which("java") is None:
        skip("Java 17 (Debian: apt-get install openjdk-17-jre-headless)")
    if shutil.which("redis-server") is None and not os.environ.get("SOCIALAPI_TEST_REDIS_URL"):
        skip("a Redis, or SOCIALAPI_TEST_REDIS_URL (Debian: apt-get install redis-server)")


@pytest.fixture(scope="session")
def proof_scale() -> float:
    return 1.0 if FULL_SIZE else 0.05


@pytest.fixture(scope="session")
def redis_url(pieces: None) -> Iterator[str]:
    with redis_running() as url:
        yield url


@pytest.fixture(scope="session")
def running(pieces: None) -> Iterator[Service]:
    with service() as emulator:
        yield emulator


@pytest.fixture
def emulator(running: Service) -> Service:
    """The emulator with the data that it begins with."""
    running.ask("POST", "reset")
    return running


@pytest.fixture(scope="session")
def spark(running: Service) -> Iterator[Any]:
    """A session; the environment of its tasks is that of Java, which is started with it."""
    variables = environment_of(running)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        session = start_spark()
        yield session
        session.stop()


def environment_of(emulator: Service) -> dict[str, str]:
    """The variables of executors that write to the emulator."""
    return emulator.environment | {
        "SOCIALAPI_TIMEOUT_SECONDS": str(TIMEOUT_SECONDS),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        # The tasks import what fails on purpose.
        "PYTHONPATH": str(ROOT),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def start_spark(rows_per_batch: int = 2_000) -> Any:
    from pyspark.sql import SparkSession

    from tests.spark.sources import LoggedDataSource

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.default.parallelism": "4",
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir(), "socialapi-spark-warehouse")),
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(rows_per_batch),
    }
    builder = SparkSession.builder.master("local[2,4]").appName("socialapi")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    session.dataSource.register(LoggedDataSource)
    return session


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder for reports."""
    return tmp_path / "report"
