"""The product feed of the demo: the same each time, dirty in known ways, and with the truth about it."""

from pathlib import Path

import pytest

from socialapi.cli.demo_data import write_product_feed
from tests.bulk.products.model_catalog import ModelCatalog, job_of
from tests.cli.product_judge import judge


def test_the_same_seed_writes_the_same_file(tmp_path: Path) -> None:
    one, other, third = (tmp_path / name for name in ("a.csv", "b.csv", "c.csv"))
    assert write_product_feed(one, 500) == write_product_feed(other, 500)
    assert one.read_bytes() == other.read_bytes()
    write_product_feed(third, 500, seed=1)
    assert third.read_bytes() != one.read_bytes()


@pytest.mark.parametrize("rows", [0, 1, 7, 200, 5_000])
def test_the_truth_is_what_an_independent_reading_finds(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "feed.csv"
    truth = write_product_feed(path, rows)
    assert judge(path) == truth
    assert truth.read == rows == truth.accepted + truth.rejected


async def test_a_load_does_what_the_truth_says(tmp_path: Path) -> None:
    truth = write_product_feed(tmp_path / "feed.csv", 3_000)
    service = ModelCatalog()
    report = await job_of(service, tmp_path / "feed.csv").run()
    assert service.products == truth.products
    assert (report.created, report.updated, report.unchanged, report.rejected) == (
        truth.created,
        truth.updated,
        truth.unchanged,
        truth.rejected,
    )
