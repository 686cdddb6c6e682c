"""From identifiers as people write them to the digests that are sent."""

import subprocess
import sys
import unicodedata

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from socialapi.bulk.audiences import normalize as normalizing
from socialapi.bulk.audiences import phone_numbers
from socialapi.bulk.audiences.normalize import Unusable, normalizers
from socialapi.bulk.audiences.phone_numbers import check_region
from socialapi.bulk.inputs.null_words import NAMES as NAMES_OF_NOTHING
from socialapi.bulk.inputs.null_words import NO_PERSON, NULL_WORDS
from socialapi.errors import InvalidInput
from socialapi.models.audiences import IDENTIFIER_KINDS, IdentifierKind
from socialapi.reports import NULL_WORD
from tests.support.digests import sha256

HASHED_KINDS: tuple[IdentifierKind, ...] = tuple(kind for kind in IDENTIFIER_KINDS if kind != "partner_user_id")
DEVICES = ("6D92078A-8246-4BA4-AE5B-76104861E7DC", "6D92078A82464BA4AE5B76104861E7DC", "9774D56D682E549C")
FIXED_REASONS = {
    value for module in (normalizing, phone_numbers) for value in vars(module).values() if isinstance(value, str)
}
DIGEST = "49e0be2aeccfb51a8dee4c945c8a70a9ac500cf6f5cb08112575f74db9b1470d"


def normalize(kind: IdentifierKind, text: str, region: str | None = None) -> str:
    return normalizers(IDENTIFIER_KINDS, region)[kind](text)[0]


def cleaned(kind: IdentifierKind, text: str, region: str | None = None) -> str:
    return normalizers(IDENTIFIER_KINDS, region)[kind](text)[1]


def reason(kind: IdentifierKind, text: str, region: str | None = None) -> str:
    with pytest.raises(Unusable) as unusable:
        normalize(kind, text, region)
    return unusable.value.reason


def test_the_documented_handle_has_the_documented_digest() -> None:
    assert normalize("handle", "@AdsAPI") == DIGEST


@pytest.mark.parametrize(
    ("kind", "text", "clean"),
    [
        ("email", " John.Doe@Example.COM\r\n", "john.doe@example.com"),
        ("email", "\ufeff\u00a0john@example.com\u200b", "john@example.com"),
        ("email", "MÜLLER@BÜRO.example", "müller@büro.example"),
        ("email", "o'hara+news@mail.example.co.uk", "o'hara+news@mail.example.co.uk"),
        ("handle", "\t@Some_Body ", "some_body"),
        ("handle", "plain", "plain"),
        ("device_id", " 6D92078A-8246-4BA4-AE5B-76104861E7DC ", "6d92078a-8246-4ba4-ae5b-76104861e7dc"),
        ("device_id", "6D92078A82464BA4AE5B76104861E7DC", "6d92078a82464ba4ae5b76104861e7dc"),
        ("device_id", "{6d92078a-8246-4ba4-ae5b-76104861e7dc}", "6d92078a-8246-4ba4-ae5b-76104861e7dc"),
        ("device_id", "9774D56D682E549C", "9774d56d682e549c"),
        ("service_id", " 0012345 ", "0012345"),
        ("phone_number", "\u202a+1 (415) 555-0123\u202c", "+14155550123"),
        ("phone_number", "(415) 555-0123", "+14155550123"),
        ("phone_number", "415 555 0123 ext. 77", "+14155550123"),
        ("phone_number", "011 44 20 7946 0018", "+442079460018"),
    ],
)
def test_what_is_hashed_is_the_clean_value(kind: IdentifierKind, text: str, clean: str) -> None:
    assert normalize(kind, text, "us") == sha256(clean)


@pytest.mark.parametrize("kind", HASHED_KINDS)
def test_a_digest_passes_through_in_lower_case(kind: IdentifierKind) -> None:
    assert normalize(kind, f"\u00a0{DIGEST.upper()} ") == DIGEST


@pytest.mark.parametrize("kind", IDENTIFIER_KINDS)
@pytest.mark.parametrize("blank", ["", " ", "\t\r\n", "\u00a0\u3000", "\ufeff\u200b"])
def test_a_blank_text_is_no_identifier_and_no_error(kind: IdentifierKind, blank: str) -> None:
    assert normalize(kind, blank) == ""
    assert normalizers((), None)[kind](blank) == ("", "")


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("email", "john", "is not a plausible e-mail address"),
        ("email", "@example.com", "is not a plausible e-mail address"),
        ("email", "john@example", "is not a plausible e-mail address"),
        ("email", "john@.com", "is not a plausible e-mail address"),
        ("email", "john@example.", "is not a plausible e-mail address"),
        ("email", "john@example..com", "is not a plausible e-mail address"),
        ("email", "john@doe@example.com", "is not a plausible e-mail address"),
        ("email", "م\u200cن@example.com", "contains a blank or an invisible character"),
        ("email", "john\x00@example.com", "contains a blank or an invisible character"),
        ("email", "m\udcfcller@example.com", "is not valid UTF-8"),
        ("handle", "some body", "contains a blank or an invisible character"),
        ("handle", "@ somebody", "contains a blank or an invisible character"),
        ("handle", "@", "is not a handle (at most 15 letters A to Z, digits and _)"),
        ("handle", "@@somebody", "is not a handle (at most 15 letters A to Z, digits and _)"),
        (
            "handle",
            "https://social.example/somebody",
            "is not a handle (at most 15 letters A to Z, digits and _)",
        ),
        ("handle", "b\udcff", "is not valid UTF-8"),
        ("device_id", "6D92 078A", "contains a blank or an invisible character"),
        *(
            ("device_id", text, normalizing.NOT_A_DEVICE_ID)
            for text in ("1", "0", "till-7", "23846200000000123", "6D92078A")
        ),
        *(("device_id", "".join("0" if c.isalnum() else c for c in text), NULL_WORD) for text in DEVICES),
        ("device_id", "\udc80", "is not valid UTF-8"),
        *(("device_id", text, NULL_WORD) for text in ("ffffffff-ffff-ffff-FFFF-ffffffffffff", "1" * 16, "A" * 32)),
        *(("handle", text, NULL_WORD) for text in ("true", "FALSE", "null", "0", "@000")),
        *(
            ("handle", f"https://x.com/{page}", normalizing.NOT_A_HANDLE)
            for page in ("messages", "home", "notifications", "privacy", "i/user/12", "intent/user?a=b", "search?q=a")
        ),
        ("service_id", "12a", "is not a decimal number"),
        ("service_id", "-12", "is not a decimal number"),
        ("service_id", "12.5", "is not a decimal number"),
        ("service_id", "1e", "is not a decimal number"),
        ("service_id", "1.2E", "is not a decimal number"),
        ("service_id", "1e3", phone_numbers.SCIENTIFIC),
        ("service_id", "1.0e+15", phone_numbers.SCIENTIFIC),
        ("service_id", "1.2E+17", phone_numbers.SCIENTIFIC),
        ("service_id", " 1,2E+17 ", phone_numbers.SCIENTIFIC),
        ("service_id", "1234567890123456.0", normalizing.LONG_FLOAT),
        ("service_id", "\u0661\u0662", "is not a decimal number"),
        ("service_id", "1 2", "contains a blank or an invisible character"),
        ("service_id", "1\udcff", "is not valid UTF-8"),
        ("phone_number", "+1415\udcff5550123", "is not valid UTF-8"),
        ("phone_number", "+1 415", "is not a possible phone number"),
        ("phone_number", "+999 415 555 0123", "is not a possible phone number"),
        ("phone_number", "nobody", "is not a possible phone number"),
        ("phone_number", "unknown", NULL_WORD),
        *(("handle", text, NULL_WORD) for text in ("leeg", "ND", "deleted", "redacted", "Empty", "blank", "missing")),
        *(
            ("partner_user_id", text, NULL_WORD)
            for text in ("#NV", "#WERT!", "#ÜBERLAUF!", "#VALEUR!", "#N/D", "Err:502")
        ),
        *(("partner_user_id", text, NULL_WORD) for text in ("#¡VALOR!", "#WAARDE!", "o.A.", "entfällt", "n.a", "***")),
        (
            "handle",
            "a_name_that_is_too_long",
            "is not a handle (at most 15 letters A to Z, digits and _)",
        ),
        ("partner_user_id", "crm-\udce4", "is not valid UTF-8"),
    ],
)
def test_what_cannot_be_an_identifier_is_unusable_for_a_reason(kind: IdentifierKind, text: str, expected: str) -> None:
    assert reason(kind, text) == expected


def test_a_phone_number_without_a_country_code_asks_for_a_default_region() -> None:
    assert reason("phone_number", "(415) 555-0123") == (
        "has no country code: write it as +<country code>…, or set a default region"
    )


@pytest.mark.parametrize("region", ["US", "us", " gb "])
def test_a_region_is_known_in_either_case(region: str) -> None:
    assert check_region(region) == region.strip().upper()


@pytest.mark.parametrize("region", ["UK", "", "USA", "001", "Germany"])
def test_an_unknown_region_is_refused_with_what_to_write(region: str) -> None:
    with pytest.raises(InvalidInput, match="is not a region: give a two-letter ISO 3166 code such as US, DE or GB"):
        normalizers(IDENTIFIER_KINDS, region)


def test_every_blank_and_control_character_inside_makes_a_value_unusable() -> None:
    wanted = {"Cc", "Zs", "Zl", "Zp"}
    for character in map(chr, range(sys.maxunicode + 1)):
        if unicodedata.category(character) in wanted:
            assert reason("email", f"john{character}doe@example.com") == normalizing.BLANK_INSIDE, ascii(character)


# Points and hyphens alone stand for no value.
NAMES = st.text(st.sampled_from("abcxyz019._+-'"), min_size=1, max_size=20).filter(
    lambda name: name[0] != "'" and name.strip(".-") != ""
)


@example("device_id", "{", None)
@given(st.sampled_from(IDENTIFIER_KINDS), st.text(st.characters(exclude_categories=())), st.sampled_from([None, "DE"]))
def test_any_text_gives_nothing_or_a_digest_or_a_reason_that_does_not_quote_it(
    kind: IdentifierKind, text: str, region: str | None
) -> None:
    try:
        value = normalize(kind, text, region)
    except Unusable as unusable:
        said, shown = str(unusable), repr(unusable)
        assert shown == f"Unusable({said!r})"
        # The text may be a word of a fixed sentence, such as "number", which does not quote it.
        if said not in FIXED_REASONS:
            assume(len(text) > 3)
            assert text not in said
        assert normalizing.trimmed(text)
    else:
        if kind == "partner_user_id":
            assert value == normalizing.trimmed(text)
        elif value:
            assert len(value) == 64
            assert set(value) <= set("0123456789abcdef")
        else:
            assert not normalizing.trimmed(text)


@example("12E5")
@example("00000000-0000-0000-0000-000000000001")
@given(
    st.text(st.sampled_from("aZ0159-_.eE'\"= \u200b"), max_size=20)
    | st.uuids().map(str)
    | st.from_regex("[A-Z]-[0-9]{1,6}")
)
def test_a_partner_user_id_that_is_read_by_pattern_is_one_that_the_normalizer_does_not_change(text: str) -> None:
    (found,) = normalizing.plain_partner_user_ids([text])
    assert found is None or normalizers(IDENTIFIER_KINDS)["partner_user_id"](text) == (found, "")


def test_no_placeholder_is_read_as_a_partner_user_id_by_pattern() -> None:
    assert set(normalizing.plain_partner_user_ids([*NULL_WORDS, *NO_PERSON, *NAMES_OF_NOTHING])) == {None}


def test_the_usual_partner_user_ids_are_read_by_pattern() -> None:
    ids = ["C-1234", "cus_NffrFeUfNV2Hib9", "1234", "0a1b2c3d-1234-4abc-8def-0123456789ab", 12, None, " C-1"]
    assert normalizing.plain_partner_user_ids(ids) == [*ids[:4], None, None, None]


def test_the_library_for_phone_numbers_is_imported_when_it_is_needed() -> None:
    program = (
        "import sys; from socialapi.bulk.audiences.normalize import normalizers; n = normalizers(('email', 'phone_number'));"
        "n['email']('a@b.example'); assert 'phonenumbers' not in sys.modules;"
        "n['phone_number']('+14155550123'); assert 'phonenumbers' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    "text", ["\uff41\uff44\uff41@example.com", "ada\uff20example\uff0ecom", "\uff21DA@EXAMPLE.COM"]
)
def test_letters_in_the_width_of_chinese_characters_are_those_of_ascii(text: str) -> None:
    assert normalizers(("email",))["email"](text)[0] == sha256("ada@example.com")


@pytest.mark.parametrize("text", ["\u0130SMA\u0130L@EXAMPLE.COM", "i\u0307smai\u0307l@example.com"])
def test_a_turkish_capital_i_with_a_dot_is_an_ordinary_i(text: str) -> None:
    digest, remark = normalizers(("email",))["email"](text)
    assert digest == sha256("ismail@example.com")
    assert remark.startswith("was cleaned")
