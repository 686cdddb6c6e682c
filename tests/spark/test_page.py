"""The page on Spark (docs/spark.md) is run as it stands, its snippets in their order and each as a program of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from socialapi.integrations import spark_options
from tests.proofs.processes import ROOT, service
from tests.spark.conftest import environment_of
from tests.spark.test_writes import emails
from tests.test_readme import snippets_of

PAGE: Final = ROOT / "docs" / "spark.md"


@pytest.mark.timeout(300)
def test_the_page_on_spark_does_what_it_says(redis_url: str, tmp_path: Path) -> None:
    first, changes, products = [each for each in snippets_of(PAGE) if each.language == "python"]
    with service() as emulator:
        variables = environment_of(emulator) | {
            "SOCIALAPI_REDIS_URL": redis_url,
            "SOCIALAPI_REDIS_NAMESPACE": "page",
            "PYSPARK_SUBMIT_ARGS": "--master local[2,4] --conf spark.ui.enabled=false pyspark-shell",
        }

        def run(text: str) -> None:
            done = subprocess.run(
                [sys.executable, "-c", text],
                cwd=tmp_path,
                env={**os.environ, **variables},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stdout

        run(first.text)
        assert emulator.members() == emails(["ada@example.com", "grace@example.com"])
        told = json.loads((tmp_path / "report" / "summary.json").read_text())
        assert (told["read"], told["accepted"], told["rejected"]) == (3, 2, 1)
        run(changes.text)
        assert emulator.members() == emails(["grace@example.com"])
        run(products.text)
        assert emulator.products("7pc01")["sku-1"]["title"] == "Teapot, red"


def test_the_page_names_every_option() -> None:
    text = PAGE.read_text("utf-8")
    (table,) = [each for each in text.split("\n\n") if each.startswith("| Option |")]
    for taken in spark_options._TAKEN.values():
        for name in taken:
            assert f"`{name}`" in table, name
