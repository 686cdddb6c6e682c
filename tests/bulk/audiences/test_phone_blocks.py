"""Phone numbers of a block, which are read together, are what each of them is by itself."""

import hashlib
import random
from operator import attrgetter
from typing import Any, Final

import phonenumbers
import pytest

from socialapi.bulk.audiences.phone_numbers import PHONE_FORMATS, PhoneFormat
from socialapi.bulk.audiences.prepare import PreparedBlock, Preparer
from tests.bulk.audiences.test_prepare_blocks import NOW
from tests.bulk.blocks import prepared_of, rows_of, user_block

REGIONS: Final = (
    *("DE", "AT", "CH", "FR", "IT", "ES", "GB", "NL", "PL", "HU", "SE", "FI", "LT", "RU", "UA", "TR", "US", "MX", "BR"),
    *("AR", "JP", "CN", "IN", "AU", "ZA", "SM"),
)
CELLS: Final = 60
MARKS: Final = (" ", "-", ".", "/", " (", ") ", "  ")
ODD: Final = (
    "p:{}",
    "'{}",
    "{} x12",
    "{}.0",
    "{}.",
    "{};",
    "{} / 0171 1234567",
    "{} ::: {}",
    "{}\n",
    "é{}",
    "{})",
    " {} ",
)


def national_numbers(region: str) -> list[str]:
    """The examples of the region's numbering plan, of every type of number."""
    examples = (phonenumbers.example_number_for_type(region, each) for each in range(11))
    return [phonenumbers.national_significant_number(each) for each in examples if each is not None]


def numbers(region: str, seed: int) -> list[str]:
    """Numbers of a region, right, nearly right and wrong, as people write them."""
    chance = random.Random(f"{region}{seed}")
    plan, code = phonenumbers.PhoneMetadata.metadata_for_region(region), phonenumbers.country_code_for_region(region)
    assert plan is not None
    trunk, examples = plan.national_prefix or "", national_numbers(region)
    codes = list(phonenumbers.COUNTRY_CODE_TO_REGION_CODE)
    found = []
    for _ in range(CELLS):
        example = chance.choice(examples)
        kept = chance.randint(0, len(example))
        length = len(example) + chance.choice((0, 0, 0, 0, 1, 2, -1, -3))
        national = example[:kept] + "".join(chance.choices("0123456789", k=max(0, length - kept)))
        start = chance.choice(
            (
                *(trunk, trunk, trunk, "", "0", "1", "8", f"{code}", f"+{code}", f"+{code}", f"00{code}"),
                *(
                    f"+{code}{trunk}",
                    f"+{code} (0)",
                    f"{code}{trunk}",
                    f"011{code}",
                    f"{trunk}{code}",
                    "521",
                    "+521",
                    "00521",
                    "0521",
                ),
                *(f"+{chance.choice(codes)}", f"{chance.choice(codes)}"),
            )
        )
        text = start + national
        if chance.random() < 0.4:
            text = "".join(each + (chance.choice(MARKS) if chance.random() < 0.2 else "") for each in text)
        found.append(chance.choice(ODD).replace("{}", text) if chance.random() < 0.02 else text)
    return found


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
