"""Phone numbers of a block, which are read together, are what each of them is by itself."""

import hashlib
import random
from operator import attrgetter
from typing import Any, Final

import pytest

from socialapi.bulk.audiences.phone_numbers import PHONE_FORMATS, PhoneFormat
from socialapi.bulk.audiences.prepare import PreparedBlock, Preparer
from tests.bulk.audiences.test_phone_starts import REGIONS, random_cell
from tests.bulk.audiences.test_prepare_blocks import NOW
from tests.bulk.blocks import prepared_of, rows_of, user_block

CELLS: Final = 60


def numbers(region: str, seed: int) -> list[str]:
    """Numbers of a region, right, nearly right and wrong, as people write them."""
    chance = random.Random(f"{region}{seed}")
    return [random_cell(chance, region) for _ in range(CELLS)]


def told(prepared: PreparedBlock) -> tuple[list[Any], ...]:
    sent = [(row.number, row.identifiers) for row in rows_of(prepared.blocks)]
    return sent, prepared.rejects, prepared.warnings, sorted(prepared.cleaned, key=attrgetter("row"))


def one_by_one(preparer: Preparer, cells: list[str], countries: list[str] | None) -> tuple[list[Any], ...]:
    """What is told of the cells if each is a block, which is too small to be read together."""
    found: tuple[list[Any], ...] = ([], [], [], [])
    for index, cell in enumerate(cells):
        country = () if countries is None else (("country", "region", [countries[index]]),)
        block = user_block(("phone", "phone_number", [cell]), *country, first_number=index + 1)
        for everything, some in zip(found, told(prepared_of(preparer, block)), strict=True):
            everything.extend(some)
    return found


@pytest.mark.parametrize("phone_format", PHONE_FORMATS)
@pytest.mark.parametrize("region", REGIONS)
def test_numbers_of_a_block_are_read_as_each_by_itself(region: str, phone_format: PhoneFormat) -> None:
    preparer = Preparer(now=NOW, default_region=region, phone_format=phone_format)
    cells = numbers(region, seed=0)
    for start in range(0, CELLS, 20):  # one odd cell has all of its block read one by one
        some = cells[start : start + 20]
        assert told(prepared_of(preparer, user_block(("phone", "phone_number", some)))) == one_by_one(
            preparer, some, None
        )


@pytest.mark.parametrize("region", REGIONS)
def test_numbers_of_rows_with_a_country_are_read_by_that_of_their_row(region: str) -> None:
    preparer = Preparer(now=NOW, default_region="DE")
    cells, chance = numbers(region, seed=1), random.Random(region)
    countries = [chance.choice((region, region.lower(), "DE", "", "Atlantis", "FRA", "44")) for _ in cells]
    for start in range(0, CELLS, 20):
        some, of_some = cells[start : start + 20], countries[start : start + 20]
        block = user_block(("phone", "phone_number", some), ("country", "region", of_some))
        assert told(prepared_of(preparer, block)) == one_by_one(preparer, some, of_some)


@pytest.mark.parametrize(
    ("country", "cell", "expected"),
    [
        *(("250", "06 12 34 56 78", None), ("56", "0470 12 34 56", None), ("40", "0664 1234567", None)),  # of ISO 3166
        *(("49", "0171 3920012", "+491713920012"), ("44.0", "07400 123456", "+447400123456")),
        *(("+43", "0664 123", "+43664123"), ("250", "+33 6 12 34 56 78", "+33612345678")),
    ],
)
def test_a_number_in_a_country_column_is_a_calling_code_only_for_numbers_that_are_valid_with_it(
    country: str, cell: str, expected: str | None
) -> None:
    block = user_block(("phone", "phone_number", [cell]), ("country code", "region", [country]))
    prepared = prepared_of(Preparer(now=NOW, default_region="DE"), block)
    sent = [value for row in rows_of(prepared.blocks) for _, value in row.identifiers]
    assert sent == ([] if expected is None else [hashlib.sha256(expected.encode()).hexdigest()])
    assert len(prepared.rejects) == (expected is None)
