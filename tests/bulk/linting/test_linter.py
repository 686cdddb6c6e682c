"""A look at an input before it is uploaded: what is counted, what is said of it, and that no value is in it."""

import datetime
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from socialapi.bulk.audiences.columns import COLUMNS_IN_OBJECT
from socialapi.bulk.inputs.columns import MAX_NAMES_KEPT
from socialapi.bulk.inputs.reader import ROWS_PER_BLOCK
from socialapi.bulk.linting.linter import lint_records
from socialapi.errors import InvalidInput
from socialapi.models.audiences import DO_NOT_REACH_KINDS
from socialapi.reports import MOJIBAKE, UNKNOWN_COUNTRY, KindLint, LintReport
from tests.bulk.input_files import write
from tests.bulk.model_service import ModelService, job_of
from tests.support.digests import sha256 as digest

EMPTY: Final = digest("")


async def look(*emails: Any, **options: Any) -> tuple[LintReport, KindLint]:
    """What is said of e-mail addresses, one in a row."""
    report = await lint_records([{"email": each} for each in emails], **options)
    return report, report.kinds[0]


def texts(report: LintReport) -> list[str]:
    return [finding.text for finding in report.findings]


async def test_a_clean_input_has_no_findings_and_a_low_risk(tmp_path: Path) -> None:
    path = tmp_path / "crm.csv"
    write(path, "customer_id,E-Mail,Phone\n1,Ada@b.example,+14155550101\n2,grace@b.example,\n")
    report = await lint_records(path)
    assert (report.rows, report.unusable_rows, report.rows_with_several, report.duplicates) == (2, 0, 1, 0)
    assert [(each.kind, each.present, each.usable, each.digests) for each in report.kinds] == [
        ("email", 2, 2, 0),
        ("phone_number", 1, 1, 0),
    ]
    assert [(each.name, each.kind, each.present) for each in report.columns] == [
        ("E-Mail", "email", 2),
        ("Phone", "phone_number", 1),
    ]
    assert report.ignored_columns == ("customer_id",)
    assert (report.findings, report.match_risk, report.has_errors) == ((), "low", False)


async def test_digests_are_counted_and_those_in_upper_case_among_them() -> None:
    report, emails = await look(digest("a@b.example"), digest("c@d.example").upper(), "e@f.example")
    assert (emails.present, emails.usable, emails.digests, emails.upper_case) == (3, 3, 2, 1)
    assert "email: 1 of 3 values: digests not in lower case; an upload sends them in lower case" in texts(report)
    assert not report.has_errors


async def test_the_digest_of_nothing_is_an_error() -> None:
    report, emails = await look(EMPTY, EMPTY.upper(), digest(" "), "e@f.example")
    assert (emails.usable, emails.of_nothing) == (1, 3)
    assert (
        "email: 3 of 4 values: digests of an empty string; leave empty values empty instead of hashing them"
        in texts(report)
    )
    assert report.has_errors
    assert report.match_risk == "high"


@pytest.mark.parametrize(
    "value", [digest(EMPTY), digest(EMPTY.upper()), digest(digest("test@example.com")), digest(digest("null"))]
)
async def test_a_digest_of_a_digest_of_a_well_known_value_gives_the_column_away(value: str) -> None:
    report, emails = await look(value, *(digest(digest(f"p{number}@b.example")) for number in range(100)))
    assert emails.hashed_twice == 1
    assert report.match_risk == "high"
    assert report.has_errors


@pytest.mark.parametrize("algorithm", ["md5", "sha1", "sha512"])
async def test_digests_of_another_kind_have_the_wrong_length(algorithm: str) -> None:
    other = hashlib.new(algorithm, b"a@b.example", usedforsecurity=False).hexdigest()
    report, emails = await look(other, digest("a@b.example")[:-1], "c@d.example")
    assert (emails.wrong_length, emails.usable) == (2, 1)
    assert (
        "email: 2 of 3 values: digests of another kind (MD5, SHA-1), or truncated; only SHA-256 is accepted"
        in texts(report)
    )
    report = await lint_records([{"handle": other}, {"handle": "ada"}])
    assert (report.unusable_rows, report.kinds[0].wrong_length, report.has_errors) == (1, 1, True)


async def test_a_device_identifier_without_hyphens_and_the_ids_of_partners_are_no_digests() -> None:
    report = await lint_records(
        [
            {"device_id": "6D92078A8246417C9B3E1B2A5D6E7F80"},
            {"partner_user_id": digest("x")},
            {"partner_user_id": "n/a"},
            {"service_id": "1" * 32},
        ]
    )
    assert [(each.kind, each.digests, each.wrong_length, each.placeholders) for each in report.kinds] == [
        ("device_id", 0, 0, 0),
        ("service_id", 0, 0, 0),
        ("partner_user_id", 0, 0, 1),
    ]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        *(("email", text) for text in ("Test@Example.com", digest("test@example.com"), "None", "n/a", "NULL")),
        *(("phone_number", text) for text in ("0000000000", "+1 (555) 555-5555", "1234567890", digest("+15555555555"))),
        *(("device_id", text) for text in ("00000000-0000-0000-0000-000000000000", "unknown")),
        ("handle", "null"),
    ],
)
async def test_placeholders_are_told_whether_they_are_usable_or_hashed_or_not(kind: str, value: str) -> None:
    report = await lint_records([{kind: value}])
    assert report.kinds[0].placeholders == 1
    assert f"{kind}: 1 of 1 values: placeholders instead of values" in texts(report)


async def test_numbers_of_one_digit_are_placeholders_of_phones_alone() -> None:
    report = await lint_records([{"service_id": "1111111111", "handle": "1234567890"}])
    assert [each.placeholders for each in report.kinds] == [0, 0]


async def test_phone_numbers_without_a_country_code_are_usable_with_a_region() -> None:
    numbers = [{"phone": each} for each in ("(415) 555-0101", "415 555 0102", "+49 30 123456", digest("x"), "12")]
    report = await lint_records(numbers)
    (phones,) = report.kinds
    assert (phones.usable, phones.no_country_code, phones.by_region) == (2, 2, 0)
    assert "phone_number: 2 of 5 values: no country code; lint again with a default region" in texts(report)
    report = await lint_records(numbers, default_region="US")
    (phones,) = report.kinds
    assert (phones.usable, phones.no_country_code, phones.by_region) == (4, 2, 2)
    assert (
        "phone_number: 2 of 5 values: no country code; an upload uses the default region or the country of the row"
        in texts(report)
    )


async def test_rows_that_an_upload_would_reject_are_counted_as_it_counts_them(tmp_path: Path) -> None:
    path = tmp_path / "crm.csv"
    write(path, "email,phone\na@b.example,1\nwrong,\n,\nc@d.example,+14155550101\nwrong,+14155550101\n")
    report = await lint_records(path)
    uploaded = await job_of(ModelService(), path).run()
    assert (report.rows, report.unusable_rows) == (uploaded.read, uploaded.rejected) == (5, 2)
    assert report.kinds[0].reasons == {"is not a plausible e-mail address": 2}
    assert "2 of 5 rows: no usable identifier; an upload would reject them" in texts(report)
    assert "1 of 5 rows: is blank" in texts(report)
    assert "email: 2 of 4 values: cannot be used: is not a plausible e-mail address" in texts(report)
    assert report.match_risk == "high"


async def test_duplicates_are_rows_with_the_same_identifiers_however_they_are_written() -> None:
    report, _ = await look("a@b.example", " A@B.example", digest("a@b.example"), "c@d.example")
    assert (report.duplicates, report.duplicates_are_exact) == (2, True)
    assert "2 of 4 rows: duplicates of an earlier row; each distinct row is sent once" in texts(report)
    assert report.match_risk == "medium"


async def test_columns_whose_names_say_something_else_than_their_values(tmp_path: Path) -> None:
    path = tmp_path / "crm.csv"
    hashed = digest("a@b.example")
    write(path, f"email_sha256,email,email_md5\n{hashed},{hashed},x\nplain@b.example,c@d.example,x\n")
    report = await lint_records(path)
    assert texts(report) == [
        'the name of the column "email_sha256" says that its values are hashed, but 1 of its 2 values are not',
        'the column "email" mixes digests (1) and plain values (1)',
        'the column "email_md5" is ignored: only SHA-256 is accepted',
    ]
    assert report.match_risk == "medium"
    assert not report.has_errors


async def test_a_column_whose_name_denies_digests_may_have_other_values(tmp_path: Path) -> None:
    path = tmp_path / "crm.csv"
    write(path, "Email (not hashed),hashed_phone\na@b.example,+14155550101\n")
    assert texts(await lint_records(path, columns={"email": "Email (not hashed)"})) == [
        'the name of the column "hashed_phone" says that its values are hashed, but 1 of its 1 values are not'
    ]


async def test_what_an_upload_would_mend_is_counted_and_said(tmp_path: Path) -> None:
    path = tmp_path / "crm.csv"
    write(path, "email;phone\nmailto:a@b.example;'+14155550101\nc@d.example;+14155550102\n<e@f.example>;\n")
    report = await lint_records(path)
    emails, phones = report.kinds
    assert (emails.present, emails.usable, emails.cleaned) == (3, 3, 2)
    assert (phones.present, phones.usable, phones.cleaned) == (2, 2, 1)
    found = [finding for finding in report.findings if "an upload removes them" in finding.text]
    assert [finding.text.split(":")[0] for finding in found] == ["email", "phone_number"]
    assert {(finding.risk, finding.is_error) for finding in found} == {("low", False)}
    assert "2 of 3 values" in found[0].text


async def test_a_sample_is_the_first_rows(tmp_path: Path) -> None:
    path = tmp_path / "crm.csv"
    write(path, "email\n" + "a@b.example\n" * 3 * ROWS_PER_BLOCK)
    for rows in (1, ROWS_PER_BLOCK, ROWS_PER_BLOCK + 1, 10 * ROWS_PER_BLOCK):
        report = await lint_records(path, sample=rows)
        assert report.rows == min(rows, 3 * ROWS_PER_BLOCK)
    with pytest.raises(InvalidInput, match="sample must be at least 1 row"):
        await lint_records(path, sample=0)


async def test_an_input_that_breaks_is_reported_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "crm.csv"
    write(path, 'email\na@b.example\n"never closed\n')
    report = await lint_records(path)
    assert report.rows == 1
    assert report.broken_off is not None
    assert "a quotation mark is not closed" in report.broken_off
    assert report.has_errors
    with pytest.raises(InvalidInput, match="there is no such file"):
        await lint_records(tmp_path / "missing.csv")


async def test_what_is_not_taken_is_ignored_and_options_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "crm.csv"
    write(path, "email,handle,Contact\n,ada,a@b.example\n")
    report = await lint_records(path, kinds=DO_NOT_REACH_KINDS, columns={"email": "Contact"})
    assert [each.kind for each in report.kinds] == ["email"]
    assert report.ignored_columns == ("email", "handle")
    with pytest.raises(InvalidInput, match="region"):
        await lint_records(path, default_region="Atlantis")


async def test_ever_new_keys_do_not_fill_the_memory() -> None:
    async def rows() -> AsyncIterator[dict[str, str]]:
        for number in range(2 * MAX_NAMES_KEPT):
            yield {"email": "a@b.example", f"k{number}": ""}

    report = await lint_records(rows())
    assert len(report.ignored_columns) == MAX_NAMES_KEPT - 1


@pytest.mark.parametrize("rows", [2_600, 40])
async def test_its_counts_are_those_of_an_upload(rows: int) -> None:
    """Of rows that repeat others, in one identifier or in all, and of some that cannot be used."""
    records = [
        {
            "email": ["" if number % 7 == 0 else f"p{number % 500}@b.example", "<x@b.example>"][number % 11 == 0],
            "phone": "" if number % 5 == 0 else f"+1415555{number % 300:04}",
        }
        for number in range(rows)
    ]
    report = await lint_records(records)
    uploaded = await job_of(ModelService(), records).run()
    assert report.rows == uploaded.read
    assert report.unusable_rows == uploaded.rejected > 0
    assert report.duplicates == uploaded.duplicate
    assert sum(kind.cleaned for kind in report.kinds) == uploaded.warnings


async def test_rows_that_an_upload_rejects_for_their_operation_or_times_are_told() -> None:
    now = datetime.datetime(2026, 1, 31, tzinfo=datetime.UTC)
    rows: list[Any] = [
        {"email": "a@b.example", "expires_at": "soon"},
        {"email": "c@d.example", "expires_at": now, "operation_type": "delete"},
        {"email": "e@f.example", "effective_at": "2026-03-01T00:00:00Z", "expires_at": "2026-04-01T00:00:00Z"},
        {"email": "g@h.example", "operation_type": "upsert"},
    ]
    ignore, rejects = ' (to ignore the column: columns={{"{}": ""}})', "an upload would reject them"
    said = [
        f"1 of 4 rows: {field} {reason}{ignore.format(field)}; {rejects}"
        for field, reason in (
            ("expires_at", "is not an ISO 8601 time, for example 2026-01-31T09:00:00Z"),
            ("expires_at", "is not in the future"),
            ("operation_type", "is neither Update nor Delete"),
        )
    ]
    report = await lint_records(rows, now=now)
    assert texts(report) == said
    assert report.has_errors
    assert (report.unusable_rows, report.match_risk) == (0, "medium")
    report = await lint_records(rows, now=now, kinds=DO_NOT_REACH_KINDS, takes_effective_at=False)
    assert any(
        text.startswith("1 of 4 rows: effective_at is not supported for this target (") for text in texts(report)
    )
    report = await lint_records(rows[:1])
    assert report.match_risk == "high"


async def test_a_lint_names_the_column_of_countries_and_what_an_upload_warns_of_in_columns() -> None:
    rows = [
        {"phone": "0171 3920012", "email": "m\u00c3\u00bcller@x.example", "land": "Utopia"},
        {"phone": "0171 3920013", "email": "ada@x.example", "land": "Deutschland"},
    ]
    report = await lint_records(rows, default_region="DE")
    assert ("land", "region") in [(each.name, each.kind) for each in report.columns]
    warnings = (await job_of(ModelService(), rows, default_region="DE").run()).warning_details
    assert {each.reason for each in warnings} == {MOJIBAKE, UNKNOWN_COUNTRY}
    assert all(
        f'the column "{each.field}" has 1 values, each of which {each.reason}' in texts(report) for each in warnings
    )


@pytest.mark.parametrize(
    ("rows", "is_noted"),
    [
        ([{"email": ["a@x.example", "b@x.example"], "phone": ["+493012345678", "+493012345679"]}], True),
        ([{"email": ["a@x.example", "b@x.example"], "phone": ["+493012345678"]}], False),
        ([{"email": ["a@x.example"], "phone": ["+493012345678"]}], False),
        ([{"email": ["a@x.example", "b@x.example"], "tags": ["x", "y"]}], False),
        ([{"emails": [f"u{number}@x.example" for number in range(6)], "list": "spring"}], True),
        ([{"emails": [f"u{number}@x.example" for number in range(5)]}], False),
        ([{"email": ["a@x.example", "b@x.example"], "phone": ["+493012345678", "+493012345679"]}] * 2, False),
    ],
)
async def test_an_only_object_of_arrays_that_may_be_columns_is_noted(
    tmp_path: Path, rows: list[Any], *, is_noted: bool
) -> None:
    path = tmp_path / "people.jsonl"
    path.write_bytes(b"\n".join(map(orjson.dumps, rows)))
    for source in (path, rows):
        assert (COLUMNS_IN_OBJECT in texts(await lint_records(source))) == is_noted
