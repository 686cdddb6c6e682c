"""Numbers that the extension reads by their first digits are read as one by one."""

import itertools
import math
import random
import re
from typing import Final

import phonenumbers
import pytest

from socialapi.bulk.audiences import phone_starts
from socialapi.bulk.audiences.normalize import Unusable, hashed_column, normalizers
from socialapi.bulk.audiences.phone_numbers import PhoneFormat

REGIONS: Final = (
    *("DE", "AT", "CH", "FR", "IT", "ES", "GB", "NL", "PL", "HU", "SE", "FI", "LT", "RU", "UA", "TR", "US", "MX", "BR"),
    *("AR", "JP", "CN", "IN", "AU", "ZA", "SM", "BE", "CA", "KR", "NO", "ID", "VN", "NZ", "JM", "KZ", "JE"),
)
FORMATS: Final[tuple[PhoneFormat, ...]] = ("auto", "national")


def random_digits(rng: random.Random, count: int) -> str:
    return "".join(rng.choices("0123456789", k=count))


def random_cell(rng: random.Random, region: str) -> str:
    """A number of a region, most often this one, or something like it: as people write it, or cut at random."""
    kind = rng.choice((phonenumbers.PhoneNumberType.MOBILE, phonenumbers.PhoneNumberType.FIXED_LINE))
    of_region = region if rng.random() < 0.7 else rng.choice(REGIONS)
    number = phonenumbers.example_number_for_type(of_region, kind) or phonenumbers.example_number(of_region)
    assert number is not None
    national = phonenumbers.national_significant_number(number)
    kept = rng.randrange(len(national))
    national = national[:kept] + random_digits(rng, len(national) - kept + rng.choice((-1, 0, 0, 0, 0, 0, 0, 1)))
    metadata = phonenumbers.PhoneMetadata.metadata_for_region(region)
    trunk = (metadata and metadata.national_prefix) or ""
    before = ("", "", "", trunk, trunk, f"+{number.country_code}", f"+{number.country_code}{trunk}")
    odd = (f"00{number.country_code}", f"+{number.country_code} (0)", f"{trunk}{number.country_code}")
    text = rng.choice((*before, *odd, str(number.country_code), "00", "011", "521", "15")) + national
    for _ in range(rng.choice((0, 0, 0, 1, 2, 3))):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice("-- ../()") + text[at:]
    return text


@pytest.fixture(autouse=True)
def starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """No start was looked at before, and there is time for all of them."""
    monkeypatch.setattr(phone_starts, "_looked_at", set())
    monkeypatch.setattr(phone_starts, "LOADING_SECONDS", math.inf)


@pytest.mark.parametrize("count", [300, pytest.param(30_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("region", REGIONS)
def test_numbers_that_are_read_together_are_read_as_one_by_one(region: str, count: int) -> None:
    rng = random.Random(f"{region}{count}")
    cells = [random_cell(rng, region) for _ in range(count)]
    found = hashed_column("phone_number", cells, region)
    assert found.count(None) < count
    for phone_format in FORMATS:
        normalize = normalizers(["phone_number"], region, phone_format)["phone_number"]
        for cell, value in zip(cells, found, strict=True):
            try:
                assert value in (None, normalize(cell)[0]), cell
                assert value is None or not normalize(cell)[1], cell
            except Unusable:
                assert value is None, cell


@pytest.mark.parametrize(
    ("region", "cells"),
    [
        ("US", ["(415) 555-0123", "415-555-0123", "4155550123", "1-415-555-0123", "+1 415 555 0123"]),
        ("DE", ["0171 1234568", "0171/1234568", "+49 171 1234568", "+49 (171) 12345-68"]),
        ("FR", ["06 12 34 56 78", "06.12.34.56.78", "612345678"]),
        ("GB", ["07400 123456", "020 7946 0958", "+44 7400 123456"]),
        ("ES", ["612 34 56 78", "612345678"]),
        ("IT", ["333 123 4568", "347-1234568"]),
        ("BR", ["(11) 98765-4321", "11987654321"]),
        ("JP", ["090-1234-5678", "03-1234-5678"]),
        ("AU", ["0412 345 678", "(02) 9374 4001"]),
        ("AR", ["11 2345-6789", "+54 9 11 2345-6789"]),
        ("CN", ["138 1234 5678"]),
        ("KR", ["010-1234-5678"]),
    ],
)
def test_numbers_as_people_of_a_country_write_them_are_read_together(region: str, cells: list[str]) -> None:
    found = hashed_column("phone_number", cells * phone_starts.FEWEST_WORTH_LOADING, region)
    assert None not in found


@pytest.mark.parametrize(
    "pattern",
    ["0", "0|80?", "(?:0|90)(?:(1[245]|99)\\d{0,1})?", "(1(?:[12]\\d|79))|0", "0?(?:11)?", "\\d{2,3}", "(3)$|1", ""],
)
@pytest.mark.parametrize("start", ["", "0", "1", "9", "12", "90"])
def test_what_follows_a_start_is_known_from_the_pattern(pattern: str, start: str) -> None:
    automaton = phone_starts._automaton(pattern)
    matches = {
        more: {
            bool(re.fullmatch(pattern, start + "".join(each))) for each in itertools.product("0123456789", repeat=more)
        }
        for more in range(5 - len(start))
    }
    assert {more: automaton.outcomes(automaton.after(start), more) for more in matches} == matches
    assert bool(automaton.after(start)) == any(True in outcomes for outcomes in matches.values())
