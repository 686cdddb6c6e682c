"""The quick way to E.164 gives what the library gives."""

import hashlib

import phonenumbers
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socialapi.bulk.audiences import phone_numbers
from socialapi.bulk.audiences.normalize import Unusable, hashed_column, phone_number
from socialapi.bulk.audiences.phone_numbers import PhoneFormat, e164, why_not
from socialapi.reports import NOT_VALID

REGIONS = sorted(phonenumbers.SUPPORTED_REGIONS)
CODES = sorted(phonenumbers.COUNTRY_CODE_TO_REGION_CODE)
EXAMPLES = [
    number
    for region in REGIONS
    for kind in phonenumbers.PhoneNumberType.values()
    if (number := phonenumbers.example_number_for_type(region, kind)) is not None
]
FORMATS = [
    phonenumbers.PhoneNumberFormat.E164,
    phonenumbers.PhoneNumberFormat.INTERNATIONAL,
    phonenumbers.PhoneNumberFormat.NATIONAL,
]
DEFAULT_REGIONS = (
    st.none() | st.sampled_from(REGIONS) | st.sampled_from(["US", "CA", "GB", "DE", "IT", "AR", "MX", "BR"])
)


def as_the_library_says(text: str, region: str | None) -> str | None:
    try:
        number = phonenumbers.parse(text, region)
    except phonenumbers.NumberParseException:
        return None
    if phonenumbers.is_possible_number_with_reason(number) != phonenumbers.ValidationResult.IS_POSSIBLE:
        return None
    found = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
    return found if len(found) <= len("+") + 15 else None  # as E.164 says; the library knows longer ones


@settings(max_examples=400)
@given(st.sampled_from(CODES), st.text("0123456789", max_size=15), DEFAULT_REGIONS)
def test_international_digits_have_the_verdict_of_the_library(code: int, digits: str, region: str | None) -> None:
    text = f"+{code}{digits}"
    assert e164(text, region) == as_the_library_says(text, region)


@settings(max_examples=400)
@given(st.sampled_from(EXAMPLES), st.sampled_from(FORMATS), DEFAULT_REGIONS, st.booleans())
def test_numbers_of_every_region_in_every_notation_have_the_verdict_of_the_library(
    number: phonenumbers.PhoneNumber, notation: int, region: str | None, at_home: bool
) -> None:
    text = phonenumbers.format_number(number, notation)
    dialled_from = phonenumbers.region_code_for_number(number) if at_home else region
    if dialled_from not in phonenumbers.SUPPORTED_REGIONS:
        dialled_from = region
    assert e164(text, dialled_from) == as_the_library_says(text, dialled_from)


@settings(max_examples=600)
@given(st.text("0123456789012345678901234567890123456789 -.()/+x", min_size=1, max_size=20), DEFAULT_REGIONS)
def test_any_digits_and_punctuation_have_the_verdict_of_the_library(text: str, region: str | None) -> None:
    text = text.strip()
    if text and why_not(text, region) not in (phone_numbers.SPREADSHEET, phone_numbers.NO_NUMBER):
        assert e164(text, region) == as_the_library_says(text, region)


@pytest.mark.parametrize(
    ("text", "region", "expected"),
    [
        ("+44 (0)20 7946 0018", None, "+442079460018"),
        ("0049 30 1234567", "FR", "+49301234567"),
        ("242-5551234", "BS", "+12425551234"),
        ("011 15 2345-6789", "AR", "+5491123456789"),
        ("\uff0b49 30 1234567", None, "+49301234567"),
        ("tel:+1-415-555-0123;ext=5", None, "+14155550123"),
        ("1-800-FLOWERS", "US", "+18003569377"),
        ("+800 1234 5678", None, "+80012345678"),
        ("44 020 7946 0018", "GB", "+442079460018"),
        ("491 2", "DE", "+494912"),
    ],
)
def test_notations(text: str, region: str | None, expected: str) -> None:
    assert e164(text, region) == expected


@pytest.mark.parametrize("text", ["+0123456789", "+", "+1", "+14", "5", "12", "+21", "+999123456789", "+" + "1" * 300])
def test_what_is_no_number_is_not_possible(text: str) -> None:
    assert e164(text, "US") is None
    assert why_not(text, "US") == "is not a possible phone number"


@pytest.mark.parametrize(
    "text", ["044 55 1234 5678", "(01 55) 1234-5678", "+52 045 55 1234 5678", "0052 01 55 1234 5678"]
)
def test_a_number_with_what_was_dialled_in_mexico_is_refused_with_what_to_write(text: str) -> None:
    assert phone_numbers.number_in(text, "MX") == (None, phone_numbers.OLD_PREFIX)
    assert phone_numbers.number_in(text, "US")[1] != phone_numbers.OLD_PREFIX or "52" in text


def test_plain_international_numbers_need_no_parsing(monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(*_: object) -> None:
        raise AssertionError("the library was asked")

    monkeypatch.setattr(phonenumbers, "parse", parse)
    for text, region in [("+14155550123", None), ("+49 (0)30 1234567", None), ("030/1234567", "DE")]:
        assert e164(text, region)


def test_a_number_that_can_only_be_dialled_locally_is_not_a_number_of_the_world() -> None:
    assert e164("555-1234", "US") is None
    assert e164("(212) 555-1234", "US") == "+12125551234"


@pytest.mark.parametrize("phone_format", phone_numbers.PHONE_FORMATS)
@pytest.mark.parametrize("region", [None, "DE", "AT", "ID"])
@pytest.mark.parametrize(
    "text",
    [
        *("0151 12345678.0", "+49 151 12345678.0", "0151/12345678.0", "491713920012.0", "30901820.0", "43664123456.0"),
        *("(0)171 3920012.0", "02 1234567.00", "62812345678,0", "+491713920012.0"),
    ],
)
def test_a_number_that_a_table_made_a_float_is_refused(
    text: str, region: str | None, phone_format: PhoneFormat
) -> None:
    assert phone_numbers.number_in(text, region, phone_format) == (None, phone_numbers.SPREADSHEET)
    assert hashed_column("phone_number", [*[text.rstrip("0").rstrip(",.")] * 64, text], region)[64] is None


@pytest.mark.parametrize(
    ("text", "alike"),
    [
        *(("01.02.2026", "01022026"), ("1.2.2026", "122026"), ("01/02/2026", "01022026"), ("31-12-1999", "31121999")),
        *(("2026-02-01", "20260201"), ("2026.02.01", "20260201"), ("2026/02/01", "20260201")),
        *(("192.168.100.100", "192168100100"), ("10.0.0.1", "10001"), ("8.8.8.8", "8888")),
    ],
)
@pytest.mark.parametrize("region", [None, "DE", "AT", "NO", "SG"])
def test_a_date_or_an_address_of_a_network_is_no_phone_number(text: str, alike: str, region: str | None) -> None:
    with pytest.raises(Unusable, match="is a date, an amount or an IP address, not a phone number"):
        phone_number(text, region)
    assert hashed_column("phone_number", [*[alike] * 64, text], region)[64] is None


@pytest.mark.parametrize(
    ("text", "region", "expected"),
    [
        *(("044.668.18.00", "CH", "+41446681800"), ("44.668.18.00", "CH", "+41446681800")),
        *(("22.12.34.56", "NO", "+4722123456"), ("+1.415.555.2671", None, "+14155552671")),
        *(("415-555-2671", "US", "+14155552671"), ("030.901.820", "DE", "+4930901820")),
    ],
)
def test_a_number_with_as_many_separators_as_a_date_is_read(text: str, region: str | None, expected: str) -> None:
    digest = hashlib.sha256(expected.encode()).hexdigest()
    assert phone_number(text, region) == (digest, "")
    assert hashed_column("phone_number", [text] * 64, region)[63] in (None, digest)


@pytest.mark.parametrize(
    ("text", "region", "expected"),
    [
        *(("+48 (0) 601 234 567", None, "+48601234567"), ("0601 234 567", "PL", "+48601234567")),
        *(("+420 0601 123 456", None, "+420601123456"), ("+30 (0) 694 123 4567", "GR", "+306941234567")),
        *(("0-22 123 45 67", "PL", "+48221234567"), ("0048 0601234567", "DE", "+48601234567")),
        *(("+90 905321234567", None, "+905321234567"), ("+91 919876543210", "IN", "+919876543210")),
        *(("+31 31612345678", "DE", "+31612345678"), ("+48 0048601234567", None, None)),
        *(("+48 (0) 601 234", "PL", phone_numbers.WITH_TRUNK), ("0612345678", "US", phone_numbers.WITH_TRUNK)),
        *(("+49 491713920012", None, phone_numbers.TWO_CODES), ("0491713920012", "DE", phone_numbers.TWO_CODES)),
        *(("+62 62812345678", None, phone_numbers.TWO_CODES), ("49491713920012", "DE", phone_numbers.TWO_CODES)),
        *(("+494917139200", None, "+494917139200"), ("04921 123456", "DE", "+494921123456")),  # in Leer and Emden
        *(("+43 4352 12345", None, "+43435212345"), ("04352 12345", "AT", "+43435212345")),  # in Wolfsberg
        *(("+27 27 815 9309", None, "+27278159309"), ("+49 4921 12345678", None, "+49492112345678")),
        *(("+39 06 1234 5678", None, "+390612345678"), ("+39 393 123 4567", "IT", "+393931234567")),
        *(("+33 3 33 12 34 56", None, "+33333123456"), ("+7 771 234 56 78", None, "+77712345678")),
    ],
)
def test_a_second_country_code_or_a_0_that_the_country_does_not_have_is_dropped_where_only_the_rest_is_valid(
    text: str, region: str | None, expected: str | None
) -> None:
    number, reason = phone_numbers.number_in(text, region)
    assert expected in (number, reason) if expected else number is None
    digest = None if number is None else hashlib.sha256(number.encode()).hexdigest()
    assert hashed_column("phone_number", [text] * 64, region)[0] in (None, digest)


@pytest.mark.parametrize(
    ("text", "region", "is_warned"),
    [
        *(("4711", "DE", True), ("19900115", "DE", True), ("0171 3920012", "TR", True), ("30901820", "DE", False)),
        *(("+49 4711", "DE", False), ("0049 4711", "DE", False), ("0171 3920012", "DE", False)),
    ],
)
def test_a_number_that_is_completed_with_the_code_of_a_region_where_it_is_not_valid_has_a_remark(
    text: str, region: str, is_warned: bool
) -> None:
    number, remark = phone_numbers.number_in(text, region)
    assert number is not None
    assert (remark == NOT_VALID) == is_warned
    assert hashed_column("phone_number", [text] * 64, region)[0] is None or not is_warned


@pytest.mark.parametrize(
    "text", ["1.250,00", "1,250.00", "3501,50", "12 500,50", "99,95", "-1.250,00", "1.250,00 €", "1'250.00"]
)
@pytest.mark.parametrize("region", [None, "DE", "AT", "US"])
def test_an_amount_is_no_phone_number(text: str, region: str | None) -> None:
    with pytest.raises(Unusable, match="is a date, an amount or an IP address, not a phone number"):
        phone_number(text, region)
    assert hashed_column("phone_number", [text] * 64, region)[0] is None
