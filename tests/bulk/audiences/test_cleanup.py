"""What exports leave around e-mail addresses and phone numbers is removed, and nothing that may be part of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.bulk.audiences.cleanup import (
    cleaned_email,
    is_ascii_email,
    is_email,
)
from socialapi.bulk.audiences.normalize import Unusable, hashed_column, normalizers
from socialapi.bulk.inputs.leftovers import MAX_CHARACTERS
from socialapi.models.audiences import IDENTIFIER_KINDS, IdentifierKind
from socialapi.reports import CLEANED, LOOKS_LIKE_FLOAT, LOOKS_WRAPPED
from tests.bulk.model_service import ModelService, job_of
from tests.support.digests import sha256

ADA = "ada@example.com"
NUMBER = "+4917612345678"
DIGEST = "49e0be2aeccfb51a8dee4c945c8a70a9ac500cf6f5cb08112575f74db9b1470d"


def normalize(kind: IdentifierKind, text: str, region: str | None = None) -> tuple[str, str]:
    return normalizers(IDENTIFIER_KINDS, region)[kind](text)


def reason(kind: IdentifierKind, text: str, region: str | None = None) -> str:
    with pytest.raises(Unusable) as unusable:
        normalize(kind, text, region)
    return unusable.value.reason


@pytest.mark.parametrize(
    "text",
    [
        *(
            '="ada@example.com"',
            '="""ada@example.com"""',
            '\\"ada@example.com\\"',
            '"ada@example.com',
            'ada@example.com"',
        ),
        *(
            "'ada@example.com'",
            "\"'ada@example.com'\"",
            "`ada@example.com`",
            "ada@example.com'",
            "'ada@example.com",
            "\u00b4ada@example.com\u00b4",
        ),
        *(
            "“ada@example.com”",
            "„ada@example.com“",
            "«ada@example.com»",
            "\u2039ada@example.com\u203a",
            "\u2019ada@example.com\u2019",
        ),
        *("\uff02ada@example.com\uff02", "「ada@example.com」", "mailto:ada@example.com", "MAILTO: Ada@Example.com"),
        *("mailto:ada@example.com?subject=Hello, you", "smtp:ada@example.com", "E-Mail: ada@example.com"),
        *("<ada@example.com>", "<mailto:ada@example.com>", "Ada <ada@example.com>", '"King, Ada" <ada@example.com>'),
        *("ADA@example.com <ada@example.com>", "Ada @ Home <ada@example.com>;", "<ada@example.com", "ada@example.com>"),
        *("ada@example.com;", "ada@example.com,", "ada@example.com ; ,", "ada@example.com.", "; ada@example.com"),
        *("ada@example.com\uff1b", "(ada@example.com)", "[ada@example.com]", "{ada@example.com}"),
        *("ada\u200b@example.com", "\u202aada@example.com\u202c", "ada@exam\u00adple.com", "\ufeffada@example.com"),
        *("ada@example.com\u200d", "a\u2060da@example.com", " \u200e ada@example.com \u200f ", "ada@example.com\ufe0f"),
    ],
)
def test_an_address_is_taken_out_of_what_stands_around_it(text: str) -> None:
    value, removed = normalize("email", text)
    assert value == sha256(ADA)
    assert removed.startswith(f"{CLEANED}: ")
    assert removed.endswith(" removed")
    assert "ada" not in removed.lower()


@pytest.mark.parametrize(
    "text",
    [
        *(ADA, " ada@example.com\t", "\u00a0ada@example.com\u3000", "o'hara@example.com", "d\u2019arcy@example.com"),
        *("`ada@example.com", "=ada@example.com", '"ada"@example.com', '"ada;b"@example.com'),
        *(
            "a+b{c}d|e~f@example.com",
            "ada@ex_ample.com",
            "ada..b@example.com",
            "ada.@example.com",
            "müller@bücher.example",
        ),
    ],
)
def test_what_may_be_part_of_an_address_stays(text: str) -> None:
    assert normalize("email", text) == (sha256(text.strip().lower()), "")


@pytest.mark.parametrize(
    "text",
    [
        *("ada@example.com, bob@example.com", "ada@example.com;bob@example.com", "ada@example.com bob@example.com"),
        *("ada@example.com / bob@example.com", "ada@example.com; ada@example.com", "bob@example.com <ada@example.com>"),
        *("mailto:ada@example.com?cc=bob@example.com", "mailto:ada@example.com,bob@example.com"),
        *('"ada@example.com","bob@example.com"', "ada@example.com\nbob@example.com"),
    ],
)
def test_two_addresses_in_a_cell_are_none(text: str) -> None:
    assert reason("email", text) == "has more than one e-mail address"


@pytest.mark.parametrize(
    "text",
    [
        *("ada:b@example.com", 'a"b@example.com', "ada@example.com (Ada)", "ada@exam/ple.com", "ada@[192.168.0.1]"),
        *("mailto:a%64a@example.com", "<ada>@example.com", '"@example.com', "ada\ufffd@example.com", "=", '=""', "<>"),
        *("ada@example.com?subject=x", "Ada ada@example.com", "ada@example.com;Ada", "ada@-;"),
        '"' * 200_000 + ADA,
    ],
    ids=lambda text: text[:20],
)
def test_what_is_not_unmistakable_is_unusable(text: str) -> None:
    reason("email", text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "tel:+4917612345678",
            "TEL: +49 176 12345678",
            "p:+4917612345678",
            "Tel.: +49 176 12345678",
            "<tel:+4917612345678>",
        ),
        *(
            '="+4917612345678"',
            "=+4917612345678",
            "'+4917612345678",
            '"+4917612345678"',
            "\u2019+4917612345678",
            "`+4917612345678",
        ),
        *("+4917612345678;", "+4917612345678,", "+49 176 12345678.", "Ada <+4917612345678>", "(+4917612345678)"),
        *("+49176\u200b12345678", "\u202a+4917612345678\u202c", "+49 176\u00ad12345678", "\ufeff+4917612345678"),
        *("mobil +49 176 12345678", "Tel. (privat): +49 176 12345678", "Handy-Nr.: +49 176 12345678"),
        *("whatsapp:+4917612345678", "тел. +49 176 12345678", "+4917612345678 (work cell)"),
        *(
            "+4917612345678 (mobile)",
            "+49 176 12345678 privat",
            "+49 176 12345678 (Zentrale)",
            "+49 176 12345678 (pro)",
            "+49 176 12345678 - Handy",
            "Mobil: +49 176 12345678",
        ),
        "tel:0176-12345678;phone-context=+49",
    ],
)
def test_a_phone_number_is_taken_out_of_what_stands_around_it(text: str) -> None:
    value, removed = normalize("phone_number", text)
    assert value == sha256(NUMBER)
    assert removed.startswith(f"{CLEANED}: ")
    assert "176" not in removed


WORDS_BEFORE = "has words before the number, which may change its meaning: keep only the number"
SCIENTIFIC = "is in scientific notation, like a long number from a spreadsheet, and may have lost digits: export the column as text"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("+493012345 nobody", "has letters after a complete phone number"),
        ("030 1234567 Ada", "has letters after a complete phone number"),
        *((text, WORDS_BEFORE) for text in ("call +4917612345678 now", "Fax 030 901820", "Do not call: 0171 3920012")),
        ("+14155550101;4155550102", "has more than one phone number"),
        ("+14155550101,,4155550102", "has more than one phone number"),
        ("+4917612345678 <+4917612345679>", "is not a possible phone number"),
        *(
            (text, "has more than one phone number")
            for text in (
                *("+4917612345678 / +4917612345679", "030 901820/901821", "06221/45678/45679", "06221 45678 / 45679"),
                *("+49 30 901820/901821", "089/123456/654321", "06221 45678, 45679", "06221 45678/79"),
            )
        ),
        ("Phone:(030) 9018202 Mobile:(0171) 3920012", "has more than one phone number"),  # of QuickBooks
        ("0711 123456 654321", "is not a possible phone number"),  # 17 digits, and E.164 has 15
        ("ada@+4917612345678", WORDS_BEFORE),
        *(
            (text, "ends in .0 like a number from a spreadsheet: export the column as text")
            for text in ("4917612345678.0", "4917612345678,0")
        ),
        *(
            (text, SCIENTIFIC)
            for text in ("4.91761E+12", "4,91761E+12", "491761e7", "1.41556E+10", '="4.91761E+12"', " +4.9E+12 ")
        ),
    ],
)
def test_a_phone_number_that_may_be_another_one_is_unusable(text: str, expected: str) -> None:
    assert reason("phone_number", text, "DE") == expected


@pytest.mark.parametrize(
    ("text", "region"),
    [
        *(("98XXXXXX10", "IN"), ("07XXX 123456", "GB"), ("06 XX XX XX 78", "FR"), ("41xxxxxx32", "US")),
        *(("138****5678", "CN"), ("010-****-5678", "KR"), ("+49 171 *** 0012", "DE"), ("0171 XXX0012", "DE")),
        *(("0171 392\u2022\u202212", "DE"), ("0171##00##12", "DE"), ("0171 392001*", "DE"), ("+1 415 555 XXXX", None)),
    ],
)
def test_a_number_whose_digits_are_masked_is_nobody_s(text: str, region: str | None) -> None:
    assert reason("phone_number", text, region) == "has x, * or other signs in place of digits"


@pytest.mark.parametrize(
    "text", ["* 030 901820", "\u2022 030 901820", "030 901820 x12", "030 901820 #12", "030 901820 *", "030 901820 ???"]
)
def test_the_mark_of_a_list_or_an_extension_hides_no_digits(text: str) -> None:
    assert normalize("phone_number", text, "DE")[0] == sha256("+4930901820")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *(("email", "#ada@example.com"), ("email", "'#ada@example.com"), ("email", '="#ada@example.com"')),
        *(("phone_number", "#+4917612345678"), ("phone_number", "'#0176 12345678")),
    ],
)
def test_an_identifier_behind_the_mark_of_a_comment_is_not_used(kind: IdentifierKind, text: str) -> None:
    assert reason(kind, text, "DE").startswith("begins with #, as if the row were commented out")
    assert list(hashed_column(kind, [text, "a#da@example.com"])) == [
        None,
        sha256("a#da@example.com") if kind == "email" else None,
    ]


@pytest.mark.parametrize(
    "text", ['"a"', "'a'", '="0013"', "'0012", "\ufeff'7", "a\u200bb", "<a>", "a;", "=a", "mailto:a"]
)
def test_the_id_of_a_partner_is_never_touched(text: str) -> None:
    is_wrapped = text not in ("<a>", "a;", "=a", "mailto:a")
    assert normalize("partner_user_id", text) == (text.lstrip("\ufeff"), LOOKS_WRAPPED if is_wrapped else "")


@pytest.mark.parametrize(
    "around",
    [
        *('="{}"', "'{}", '"{}"', "'{}'", "“{}”", "„{}“", "«{}»", "=“{}”", '"=""{}"""', "\ufeff{}", "\u200b{}\u200b"),
        *("\u202a{}\u202c", "\u200e{}", "\u00a0{}\u00a0", "\ufeff'{}"),
    ],
)
def test_every_kind_loses_what_a_spreadsheet_or_a_copied_page_leaves_around_it(around: str) -> None:
    values: tuple[tuple[IdentifierKind, str], ...] = (
        *(("email", ADA), ("phone_number", NUMBER), ("handle", "ada_king"), ("service_id", "00123")),
        *(("device_id", "5d1c1a1e-7b3f-4c52-9a64-20f8c3e6b7d9"),),
    )
    for kind, value in values:
        assert normalize(kind, around.format(value))[0] == sha256(value), kind
        assert normalize(kind, around.format(DIGEST))[0] == DIGEST, kind


def test_a_text_that_is_far_too_long_is_left_alone_at_once() -> None:
    for text in ('"' * 10**6, "<" * 10**6, "a" * 10**6, "@" * 10**6, f"'{ADA}'".ljust(MAX_CHARACTERS + 1, ";")):
        assert cleaned_email(text).text == text
        reason("email", text)


async def test_what_is_mended_is_sent_with_a_warning_that_does_not_quote_it() -> None:
    service = ModelService()
    rows = [
        {"email": "mailto:ada@example.com", "Phone": "+4917612345678"},
        {"email": "bob@example.com", "Phone": "'+4917612345679"},
        {"email": "a@example.com;b@example.com", "Phone": "+4917612345670"},
        {"email": "a@example.com;b@example.com", "Phone": ""},
        {"email": "<c@example.com>", "Phone": "nobody"},
    ]
    report = await job_of(service, rows).run()
    assert (report.accepted, report.rejected, report.warnings) == (4, 1, 5)
    assert [(issue.row, issue.field, issue.reason) for issue in report.warning_details] == [
        (3, "email", "has more than one e-mail address"),
        (5, "Phone", "is not a possible phone number"),
        (1, "email", "was cleaned: mailto: removed"),
        (2, "Phone", "was cleaned: quotation marks removed"),
        (5, "email", "was cleaned: brackets removed"),
    ]
    (rejected,) = report.rejects
    assert (rejected.row, rejected.reason) == (4, "has more than one e-mail address")
    assert {value for _, value in service.members} == {
        *map(sha256, (ADA, "bob@example.com", "c@example.com")),
        *map(sha256, ("+4917612345678", "+4917612345679", "+4917612345670")),
    }


@given(st.text(st.characters(max_codepoint=127), max_size=12), st.text(st.sampled_from("abz0-_.\"'@ "), max_size=8))
def test_the_quick_pattern_takes_what_the_whole_one_takes_of_ascii_without_quotation_marks(
    name: str, domain: str
) -> None:
    for text in (f"{name}@{domain}.com".lower(), f"{name}{domain}".lower()):
        if '"' not in text:
            assert (is_ascii_email(text) is not None) == is_email(text)


@pytest.mark.parametrize("text", ["1000.0", "1E+15", "8.7e12"])
async def test_a_partner_id_that_looks_like_a_float_is_sent_as_it_is_with_a_warning(text: str) -> None:
    service = ModelService()
    rows = [{"partner_user_id": text}, {"partner_user_id": "1000"}, {"partner_user_id": "v1.5"}]
    report = await job_of(service, rows).run()
    assert {value for _, value in service.members} == {text, "1000", "v1.5"}
    assert [(each.row, each.field, each.reason) for each in report.warning_details] == [
        (1, "partner_user_id", LOOKS_LIKE_FLOAT),
    ]
    assert report.accepted == 3
