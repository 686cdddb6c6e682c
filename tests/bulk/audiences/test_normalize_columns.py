"""A column of identifiers gives what its cells give one by one."""

import math
from collections.abc import Sequence
from typing import Final

import phonenumbers
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from socialapi.bulk.audiences import phone_numbers, phone_starts
from socialapi.bulk.audiences.normalize import Unusable, hashed_column, normalizers, plain_value
from socialapi.bulk.audiences.phone_numbers import e164
from socialapi.models.audiences import IDENTIFIER_KINDS, IdentifierKind
from tests.support.digests import sha256

DIGEST: Final = "49e0be2aeccfb51a8dee4c945c8a70a9ac500cf6f5cb08112575f74db9b1470d"
REGIONS: Final = sorted(phonenumbers.SUPPORTED_REGIONS)
CODES: Final = sorted(phonenumbers.COUNTRY_CODE_TO_REGION_CODE)
FORMATS: Final = [
    phonenumbers.PhoneNumberFormat.E164,
    phonenumbers.PhoneNumberFormat.INTERNATIONAL,
    phonenumbers.PhoneNumberFormat.NATIONAL,
    phonenumbers.PhoneNumberFormat.RFC3966,
]


def example_number(region: str) -> phonenumbers.PhoneNumber:
    number = phonenumbers.example_number(region)
    assert number is not None
    return number


def in_e164(number: phonenumbers.PhoneNumber) -> str:
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)


EXAMPLES: Final = [example_number(region) for region in REGIONS]


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """As at the start of a process, in which no country was met yet."""
    monkeypatch.setattr(phone_numbers, "_PLANS", phone_numbers._Plans())
    monkeypatch.setattr(phone_starts, "_looked_at", set())
    monkeypatch.setattr(phone_starts, "LOADING_SECONDS", math.inf)


def in_a_column(kind: IdentifierKind, cells: Sequence[str], region: str | None = None) -> list[str | None]:
    """The values of a column: those that are hashed together, and the others one by one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(phone_starts, "FEWEST_WORTH_LOADING", 1)
        together = list(hashed_column(kind, cells, region)) if kind != "partner_user_id" else [None] * len(cells)
    normalize = normalizers(IDENTIFIER_KINDS, region)[kind]
    return [
        plain_value(normalize, cell) if value is None else value for cell, value in zip(cells, together, strict=True)
    ]


def one_by_one(kind: IdentifierKind, cells: Sequence[str], region: str | None) -> list[str | None]:
    """What the single normaliser gives: None for an unusable cell, and for one with something around the value, of
    which a warning is to be made.
    """

    def given(cell: str) -> str | None:
        try:
            value, removed = normalizers(IDENTIFIER_KINDS, region)[kind](cell)
        except Unusable:
            return None
        return None if removed else value

    return [given(cell) for cell in cells]


DIGITS: Final = st.text("0123456789", max_size=15)
ODD: Final = st.sampled_from(
    (
        *("", "", " ", "\t", "\u00a0", "\u200b", "\ufeff", "\n", "a\nb", "\r\n", "x\ry", "\u2028", "\x85", "\x1c"),
        *(DIGEST, DIGEST.upper(), f" {DIGEST}", f"{DIGEST}\n", DIGEST[:-1], "0" * 64, f"@{DIGEST}", "\udcff", "\x00"),
        *("@", "@@", "@a", "a/b", "12", "012", "1 2", "1.0", "\u0661", "@AdsAPI", '"', "\\", "{v0}", "é", "İ"),
    )
)
NAMES: Final = st.text(st.sampled_from("abcXYZ019._+-'{}\"\\ßΣσΑİǅÅ中"), min_size=1, max_size=8)
EMAILS: Final = st.builds("{}@{}.{}".format, NAMES, NAMES, NAMES)
NUMBERS: Final = st.one_of(
    st.sampled_from(EXAMPLES).map(in_e164),
    st.builds(phonenumbers.format_number, st.sampled_from(EXAMPLES), st.sampled_from(FORMATS)),
    st.builds("+{}{}".format, st.sampled_from(CODES), DIGITS),
    st.builds("+{}{}{}".format, st.sampled_from(CODES), st.sampled_from((" ", "-", "\n", "(0)", "٤")), DIGITS),
)
BLANK: Final = st.sampled_from(("", "", "", "", " ", "\n", "\r\n", "\u00a0", "\u200b", "\ufeff"))
AROUND: Final = st.text(st.sampled_from("\"'`=;,<>()\u201c\u201d\u200b\u202a "), max_size=3) | st.sampled_from(
    ("mailto:", "tel:", "Ada <", '="', "'")
)
CELLS: Final = st.one_of(
    st.builds("{}{}{}".format, AROUND, EMAILS | NUMBERS, AROUND),
    *(ODD, EMAILS, NUMBERS, st.text(st.characters(exclude_categories=()), max_size=10)),
    st.builds("{}{}{}".format, BLANK, EMAILS | NUMBERS | ODD, BLANK),
)
"""Of every sort in one column, in which something is odd nearly always."""
ALIKE: Final = st.one_of(
    st.lists(EMAILS | st.just("")),
    st.lists(st.sampled_from(EXAMPLES).map(in_e164) | st.just("")),
    st.lists(st.text("0123456789abcdefABCDEF", min_size=64, max_size=64) | st.just("")),
)
"""Columns in which nothing is odd."""
COLUMNS: Final = st.one_of(
    st.lists(CELLS, max_size=12),
    ALIKE,
    st.builds(lambda cells, cell, place: [*cells[:place], cell, *cells[place:]], ALIKE, CELLS, st.integers(0, 12)),
)
A_REGION: Final = st.sampled_from((None, "US", "DE", "IT", "AR", "RU"))


@settings(max_examples=600)
@given(st.sampled_from(IDENTIFIER_KINDS), COLUMNS, A_REGION)
@example("email", [f"{DIGEST}\n", DIGEST], None)
@example("email", ["a@b.example\nc@d.example", ""], None)
@example("email", ["ΑΣ@ΒΣ.ΣΣ", "Σ@b.example", "İ@b.example"], None)
@example("phone_number", ["+14155550123", "", "+14155550123\n"], None)
@example("phone_number", ["+14155550123", "+1415555\n0123"], None)
def test_a_column_gives_for_every_cell_what_the_cell_gives_by_itself(
    kind: IdentifierKind, cells: list[str], region: str | None
) -> None:
    before = list(cells)
    assert in_a_column(kind, cells, region) == one_by_one(kind, cells, region)
    assert cells == before


PLACEHOLDERS: Final = (
    *(
        "",
        " ",
        "\n",
        "NaN",
        "nAN",
        "Null",
        "NULL",
        "None",
        "N/A\n",
        "0",
        "0000000000",
        "+",
        "+0",
        '""',
        "''",
        "true",
        "False",
    ),
    *("test@example.com", "null@null.com", "f" * 32, "ffffffff-ffff-ffff-ffff-ffffffffffff", sha256("")),
)


@pytest.mark.parametrize("kind", IDENTIFIER_KINDS[:-1])
def test_the_digest_of_a_placeholder_is_left_out_of_a_column(kind: IdentifierKind) -> None:
    assert in_a_column(kind, [sha256(text) for text in PLACEHOLDERS]) == [None] * len(PLACEHOLDERS)
    assert in_a_column(kind, ["f" * 64, sha256("ada@b.example")]) == [None, sha256("ada@b.example")]


@pytest.mark.parametrize(
    ("kind", "is_taken"), [("handle", True), ("service_id", True), ("phone_number", False), ("email", False)]
)
def test_digits_that_are_alike_may_be_a_handle_or_an_id_but_no_phone_number(
    kind: IdentifierKind, *, is_taken: bool
) -> None:
    digests = [sha256(text) for text in ("7777777", "1111111111", "+11111111111")]
    assert in_a_column(kind, digests) == (digests if is_taken else [None] * 3)


@pytest.mark.usefixtures("plans")
def test_plain_cells_are_hashed_together() -> None:
    numbers = ["+14155550123", "", "+493012345678"]
    assert list(hashed_column("phone_number", numbers)) == [sha256("+14155550123"), "", sha256("+493012345678")]
    assert list(hashed_column("email", ["a@b.example", ""])) == [sha256("a@b.example"), ""]
    assert list(hashed_column("email", [DIGEST, ""])) == list(hashed_column("handle", [DIGEST, ""])) == [DIGEST, ""]


# Numbers that are in E.164 already ---------------------------------------------------------------------------------


@pytest.mark.parametrize("region", REGIONS)
def test_a_number_of_every_region_is_hashed_with_its_column_only_if_it_is_left_as_it_is(region: str) -> None:
    number = in_e164(example_number(region))
    (found,) = hashed_column("phone_number", [number])
    assert found in (None, sha256(number))
    assert found is None or e164(number, None) == number
    assert list(hashed_column("phone_number", [f"{number} ", f" \t{number}"])) == [found, found]
    odd = (number[1:], f"{number}\r", number[:5], "+")
    assert list(hashed_column("phone_number", odd)) == [None] * len(odd)


@settings(max_examples=1_500)
@given(st.sampled_from(CODES), st.text("0123456789", min_size=0, max_size=15), st.sampled_from(("", "", "0", "1", "8")))
def test_random_digits_of_every_country_are_hashed_with_their_column_only_if_they_are_left_as_they_are(
    code: int, digits: str, start: str
) -> None:
    number = f"+{code}{start}{digits}"
    (found, odd) = hashed_column("phone_number", [number, f"{number}\u0660"])
    assert odd is None
    assert found is None or (found == sha256(number) and e164(number, None) == number)


@given(st.lists(st.sampled_from(CODES), min_size=1, max_size=40), st.lists(DIGITS, min_size=40, max_size=40))
def test_of_many_countries_at_once_no_number_is_hashed_that_would_change(codes: list[int], digits: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(phone_numbers, "_PLANS", phone_numbers._Plans())
        numbers = [f"+{code}{rest}" for code, rest in zip(codes, digits, strict=False)]
        found = hashed_column("phone_number", numbers)
        assert all(value in (None, sha256(number)) for number, value in zip(numbers, found, strict=True))
        kept = {number for number in numbers if e164(number, None) == number}
        assert kept.issuperset(number for number, value in zip(numbers, found, strict=True) if value is not None)
