"""The demo's export is as dirty as it says, and its truth is what an independent reading of the file finds."""

import csv
from pathlib import Path

import phonenumbers
import pytest

from socialapi.cli import demo_data
from socialapi.cli.demo_data import CRM_COLUMNS, ExpectedOutcome, write_crm_export
from tests.cli.crm_judge import judge

ROWS = 4_000


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ExpectedOutcome]:
    path = tmp_path_factory.mktemp("crm") / "crm.csv"
    return path, write_crm_export(path, ROWS, seed=7)


@pytest.fixture(scope="module")
def table(export: tuple[Path, ExpectedOutcome]) -> list[list[str]]:
    with export[0].open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))[1:]


@pytest.fixture(scope="module")
def raw(export: tuple[Path, ExpectedOutcome]) -> bytes:
    return export[0].read_bytes()


def test_an_independent_reading_finds_the_same_truth(export: tuple[Path, ExpectedOutcome]) -> None:
    path, truth = export
    assert judge(path) == truth


def test_the_same_seed_writes_the_same_file_and_another_seed_another(tmp_path: Path, raw: bytes) -> None:
    truths = [write_crm_export(tmp_path / name, ROWS, seed=seed) for name, seed in (("a", 7), ("b", 7), ("c", 8))]
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == raw
    assert truths[0] == truths[1]
    assert (tmp_path / "c").read_bytes() != raw


def test_there_are_exactly_as_many_rows_as_asked_for_whatever_the_number(tmp_path: Path) -> None:
    for rows in (0, 1, 199, 201):
        truth = write_crm_export(tmp_path / "crm.csv", rows)
        assert judge(tmp_path / "crm.csv") == truth
        assert truth.read == rows


def test_the_file_has_a_mark_crlf_line_ends_and_line_breaks_within_cells(raw: bytes) -> None:
    header = ",".join(CRM_COLUMNS)
    assert raw.startswith(b"\xef\xbb\xbf" + header.encode() + b"\r\n")
    assert raw.endswith(b"\r\n")
    assert b'said: ""call back"",\nthen hung up"\r\n' in raw
    assert b'"moved in 2024,\r\nnew address pending"\r\n' in raw


def test_no_bad_number_could_be_taken_for_a_number() -> None:
    for text in demo_data.BAD_PHONES:
        try:
            parsed = phonenumbers.parse(text, demo_data.DEFAULT_REGION)
        except phonenumbers.NumberParseException:
            continue
        assert not phonenumbers.is_possible_number(parsed), text
