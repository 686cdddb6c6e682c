"""A million rows of demo data, read back."""

from pathlib import Path

from socialapi.cli.demo_data import write_crm_export
from tests.cli.crm_judge import judge


def test_the_truth_of_a_large_export_is_what_an_independent_reading_finds(tmp_path: Path, proof_scale: float) -> None:
    rows = int(1_000_000 * proof_scale)
    truth = write_crm_export(tmp_path / "crm.csv", rows)
    assert truth.read == rows
    assert judge(tmp_path / "crm.csv") == truth
