"""From rows as they were read to rows ready to be sent."""

import datetime
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.bulk.audiences.cells import user_rows
from socialapi.bulk.audiences.phone_numbers import NO_REGION
from socialapi.bulk.audiences.prepare import PreparedBlock, Preparer, prepare_user
from socialapi.bulk.inputs.numbers import NOT_TEXT
from socialapi.bulk.rows import Action, Row
from socialapi.errors import InvalidInput
from socialapi.models.audiences import (
    DO_NOT_REACH_KINDS,
    IDENTIFIER_KINDS,
    AudienceUser,
    IdentifierKind,
    OperationParams,
)
from socialapi.models.validation import broken_rules
from socialapi.problems import BrokenRule
from socialapi.reports import RowIssue
from tests.bulk.blocks import GivenRow, block_of_rows, prepared_of, rows_of
from tests.bulk.input_files import do_not_reach_user, open_users, user
from tests.support.digests import sha256

NOW = datetime.datetime(2026, 1, 31, 9, tzinfo=datetime.UTC)
DIGEST = "a" * 64


def preparer(**options: Any) -> Preparer:
    return Preparer(now=NOW, **options)


def raw(*cells: tuple[str, IdentifierKind, Any], **rest: Any) -> GivenRow:
    return GivenRow(cells, **rest)


def prepared(*rows: GivenRow, first_number: int = 1, **options: Any) -> PreparedBlock:
    return prepared_of(preparer(**options), block_of_rows(rows, first_number))


def email(text: str = "a@b.example") -> tuple[str, IdentifierKind, str]:
    return ("E-Mail", "email", text)


def sent(block: PreparedBlock) -> list[Row]:
    return rows_of(block.blocks)


def users_of(block: PreparedBlock) -> list[str]:
    return [user for run in block.blocks for user in run.users]


def action_of(row: GivenRow, **options: Any) -> Action:
    (found,) = sent(prepared(row, **options))
    return found.action


def rejection_of(row: GivenRow, **options: Any) -> tuple[str, str]:
    block = prepared(row, first_number=5, **options)
    assert block.blocks == []
    assert block.warnings == []
    (issue,) = block.rejects
    assert issue.row == 5
    return issue.field, re.sub(r' \(to ignore the column: columns=\{"\w+": ""\}\)', "", issue.reason)


def test_a_row_becomes_its_user_object_in_the_order_of_the_kinds() -> None:
    row = raw(("Phone", "phone_number", "+14155550123"), email(" A@B.example"), ("id", "partner_user_id", 'x"\\é'))
    block = prepared(row, first_number=7)
    assert block.rejects == block.warnings == []
    (found,) = sent(block)
    mail, phone = sha256("a@b.example"), sha256("+14155550123")
    assert found.number == 7
    assert found.action == Action("Update")
    assert users_of(block) == [
        f'{{"email":["{mail}"],"phone_number":["{phone}"],"partner_user_id":["x\\"\\\\\\u00e9"]}}'
    ]
    assert found.identifiers == (("email", mail), ("phone_number", phone), ("partner_user_id", 'x"\\é'))


def test_several_identifiers_of_a_kind_are_all_sent_and_repeated_ones_once() -> None:
    row = raw(
        email("a@b.example"),
        email("c@d.example"),
        email("A@B.EXAMPLE"),
        ("h", "handle", sha256("x")),
        ("h", "handle", "@X"),
    )
    block = prepared(row)
    (found,), (user,) = sent(block), users_of(block)
    assert json.loads(user) == {
        "email": [sha256("a@b.example"), sha256("c@d.example")],
        "handle": [sha256("x")],
    }
    assert found.identifiers == (
        *(("email", sha256("a@b.example")), ("email", sha256("c@d.example"))),
        ("handle", sha256("x")),
    )


def test_unusable_identifiers_of_a_row_that_is_sent_are_warnings() -> None:
    row = raw(email(), email("nobody"), ("Tel", "phone_number", "5"), ("ids", "partner_user_id", 1.5))
    block = prepared(row, first_number=3, default_region="US")
    assert len(sent(block)) == 1
    assert block.rejects == []
    assert block.warnings == [
        RowIssue(3, "E-Mail", "is not a plausible e-mail address"),
        RowIssue(3, "Tel", "is not a possible phone number"),
        RowIssue(3, "ids", NOT_TEXT),
    ]


def test_a_row_without_a_usable_identifier_is_one_reject_with_every_reason() -> None:
    assert rejection_of(raw(email("nobody"), ("Tel", "phone_number", "5550123"))) == (
        "E-Mail, Tel",
        f"is not a plausible e-mail address; {NO_REGION}",
    )
    assert rejection_of(raw(("ids", "service_id", 1.5))) == ("ids", NOT_TEXT)
    assert rejection_of(raw()) == ("", "has no identifier")
    assert rejection_of(raw(email(" "), email("\u200b"))) == ("", "has no identifier")
    assert rejection_of(raw(fault="is blank")) == ("", "is blank")


def test_kinds_that_are_not_taken_are_warnings_or_the_reason() -> None:
    handle: tuple[str, IdentifierKind, str] = ("Name", "handle", "somebody")
    block = prepared(raw(email(), handle), kinds=DO_NOT_REACH_KINDS)
    assert json.loads(users_of(block)[0]) == {"email": [sha256("a@b.example")]}
    assert block.warnings == [RowIssue(1, "Name", "is a kind of identifier that is not accepted here")]
    assert rejection_of(raw(handle), kinds=DO_NOT_REACH_KINDS) == (
        "Name",
        "is a kind of identifier that is not accepted here",
    )


@pytest.mark.parametrize("written", ["delete", "DELETE", " Delete "])
def test_a_row_says_for_itself_what_is_done_with_it(written: str) -> None:
    assert action_of(raw(email(), operation_type=written)).operation_type == "Delete"
    assert action_of(raw(email()), operation=written).operation_type == "Delete"
    assert action_of(raw(email(), operation_type="update"), operation=written).operation_type == "Update"


EAST = datetime.timezone(datetime.timedelta(hours=5, minutes=30))


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("2026-03-01T09:00:00Z", "2026-03-01T09:00:00Z"),
        ("2026-03-01T09:00:00+02:00", "2026-03-01T07:00:00Z"),
        ("2026-03-01 09:00:00.5-01:00", "2026-03-01T10:00:00.500000Z"),
        ("20260301T090000Z", "2026-03-01T09:00:00Z"),
        (datetime.datetime(2026, 3, 1, 9, tzinfo=EAST), "2026-03-01T03:30:00Z"),
    ],
)
def test_times_are_sent_in_utc(written: Any, sent: str) -> None:
    assert action_of(raw(email(), effective_at=written)) == Action("Update", sent)
    assert action_of(raw(email()), expires_at=written) == Action("Update", None, sent)
    assert action_of(raw(email(), operation_type="Delete"), expires_at=written) == Action("Delete", None, sent)


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("tomorrow", "is not an ISO 8601 time, for example 2026-01-31T09:00:00Z"),
        ("31/01/2026", "is not an ISO 8601 time, for example 2026-01-31T09:00:00Z"),
        ("0001-01-01T00:00:00+14:00", "is out of range in UTC: its year must be from 1 to 9999"),
        ("2026-03-01T09:00:00", "has no time zone, for example Z as in 2026-01-31T09:00:00Z"),
        ("2026-03-01", "has no time zone, for example Z as in 2026-01-31T09:00:00Z"),
        (datetime.datetime(2026, 3, 1, 9), "has no time zone, for example Z as in 2026-01-31T09:00:00Z"),  # noqa: DTZ001
    ],
)
def test_a_time_that_is_none_rejects_the_row_and_refuses_the_job(written: Any, reason: str) -> None:
    assert rejection_of(raw(email(), expires_at=written)) == ("expires_at", reason)
    assert rejection_of(raw(email(), effective_at=written)) == ("effective_at", reason)
    with pytest.raises(InvalidInput) as error:
        preparer(expires_at=written)
    assert error.value.broken_rules == (BrokenRule(path="expires_at", reason=reason),)


def test_everything_that_is_wrong_with_an_action_is_said_at_once() -> None:
    row = raw(email(), operation_type="x", effective_at="y", expires_at="2026-03-01")
    assert rejection_of(row)[0] == "operation_type, effective_at, expires_at"
    (issue,) = prepared(row).rejects
    assert issue.reason.startswith(
        'is neither Update nor Delete (to ignore the column: columns={"operation_type": ""}); '
    )
    with pytest.raises(InvalidInput) as error:
        preparer(operation="x", effective_at="y")
    assert [rule.path for rule in error.value.broken_rules] == ["operation", "effective_at"]


LATER = datetime.timedelta(seconds=1)


def test_an_expiry_lies_after_the_time_of_effect_which_is_now_unless_given() -> None:
    assert rejection_of(raw(email(), expires_at=NOW)) == ("expires_at", "is not in the future")
    assert action_of(raw(email(), expires_at=NOW + LATER)).expires_at == "2026-01-31T09:00:01Z"
    assert rejection_of(raw(email(), effective_at=NOW + LATER, expires_at=NOW + LATER)) == (
        *("expires_at", "is not later than effective_at"),
    )
    assert rejection_of(raw(email(), expires_at=NOW + LATER), effective_at=NOW + 2 * LATER) == (
        *("expires_at", "is not later than effective_at"),
    )
    past = action_of(raw(email(), effective_at=NOW - 2 * LATER, expires_at=NOW - LATER))
    assert past.expires_at == "2026-01-31T08:59:59Z"
    with pytest.raises(InvalidInput, match="expires_at: is not in the future"):
        preparer(expires_at=NOW)


def test_a_target_without_times_of_effect_refuses_them() -> None:
    assert rejection_of(raw(email(), effective_at=NOW), allow_effective=False) == (
        *("effective_at", "is not supported for this target"),
    )
    with pytest.raises(InvalidInput, match="effective_at: is not supported for this target"):
        preparer(effective_at=NOW, allow_effective=False)


def test_an_action_is_one_object_however_it_is_written() -> None:
    rows = [
        raw(email(), expires_at="2026-03-01T09:00:00Z"),
        raw(email(), expires_at="2026-03-01T10:00:00+01:00", operation_type="UPDATE"),
        raw(email(), expires_at=datetime.datetime(2026, 3, 1, 9, tzinfo=datetime.UTC)),
    ]
    actions = {id(row.action) for row in sent(prepared(*rows))}
    assert len(actions) == 1
    plain, written = sent(prepared(raw(email()), raw(email(), operation_type="update")))
    assert plain.action is written.action


def test_nothing_that_is_said_about_a_row_holds_its_values() -> None:
    row = raw(
        *(("a", "email", "secret@nowhere"), ("b", "handle", "se cret"), ("c", "service_id", "secret")),
        *(("d", "phone_number", "secret"), ("e", "device_id", "sec\x00ret"), ("f", "partner_user_id", "secret\udcff")),
    )
    odd = raw(email("secret@example.com"), expires_at="secret", operation_type="secret")
    good = raw(email("secret@example.com"), ("id", "partner_user_id", "secret"))
    given_block = block_of_rows([row, odd, good])
    block = prepared_of(preparer(), given_block)
    assert len(block.rejects) == 2
    assert (
        "secret" not in f"{block!r} {block.blocks!r} {sent(block)!r} {given_block!r} {list(user_rows(given_block))!r}"
    )
    with pytest.raises(InvalidInput) as error:
        preparer(operation="secret", expires_at="secret", effective_at="secret")
    assert "secret" not in f"{error.value} {error.value!r}"


TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=20),
    st.emails(),
    st.from_regex(r"\+[0-9]{8,12}", fullmatch=True),
    st.sampled_from([DIGEST, DIGEST.upper(), "12", "@x", ""]),
)
TIMES = st.none() | st.datetimes(timezones=st.none() | st.just(datetime.UTC)) | st.text(max_size=10)
CELLS = TEXTS | st.none() | st.integers() | st.floats() | st.lists(TEXTS | st.integers(), max_size=3)
ROWS = st.builds(
    GivenRow,
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(IDENTIFIER_KINDS), CELLS), max_size=5),
    st.sampled_from([None, None, "update", "Delete", "x", ""]),
    TIMES,
    TIMES,
    st.sampled_from([None, None, None, "is blank"]),
)


@given(st.lists(ROWS, max_size=10), st.sampled_from([None, "US", "DE"]))
def test_every_row_is_sent_or_rejected_and_what_is_sent_breaks_no_rule(
    rows: list[GivenRow], region: str | None
) -> None:
    block = prepared(*rows, default_region=region)
    assert len(sent(block)) + len(block.rejects) == len(rows)
    numbers = [row.number for row in sent(block)]
    assert sorted(numbers + [issue.row for issue in block.rejects]) == list(range(1, len(rows) + 1))
    assert numbers == sorted(numbers)
    assert {warning.row for warning in block.warnings} <= set(numbers)
    for row, text in zip(sent(block), users_of(block), strict=True):
        sent_user = json.loads(text)
        assert broken_rules(AudienceUser, sent_user, now=NOW) == []
        assert list(sent_user) == [kind for kind in IDENTIFIER_KINDS if kind in sent_user]
        assert set(row.identifiers) == {(kind, value) for kind, values in sent_user.items() for value in values}
        assert len(set(row.identifiers)) == len(row.identifiers) > 0
        assert text.isascii()
        params = {"users": [sent_user], "effective_at": row.action.effective_at, "expires_at": row.action.expires_at}
        given_params = {name: value for name, value in params.items() if value is not None}
        assert broken_rules(OperationParams, given_params, now=NOW) == []


def test_a_single_user_is_prepared_strictly() -> None:
    person = user(
        email=["A@b.example", "nobody", " ", "a@b.example"], phone_number="(415) 555-0123", partner_user_id="x"
    )
    data, broken = prepare_user(person, default_region="us")
    assert data == {
        "email": [sha256("a@b.example")],
        "phone_number": [sha256("+14155550123")],
        "partner_user_id": ["x"],
    }
    assert broken == [
        BrokenRule(path="email[1]", reason="is not a plausible e-mail address"),
        BrokenRule(path="email[2]", reason="is empty"),
    ]


def test_a_single_user_of_other_kinds_types_or_none() -> None:
    taken, broken = prepare_user(user(email="a@b.example", handle=["x", "y"]), DO_NOT_REACH_KINDS)
    assert taken == {"email": [sha256("a@b.example")]}
    reason = "is a kind of identifier that is not accepted here"
    assert broken == [BrokenRule(path="handle[0]", reason=reason), BrokenRule(path="handle[1]", reason=reason)]
    odd = user(service_id=[12, 1.5])
    assert prepare_user(odd) == (
        {"service_id": [sha256("12")]},
        [BrokenRule(path="service_id[1]", reason="is neither text nor a whole number")],
    )
    assert prepare_user(user()) == ({}, [BrokenRule(path="", reason="has no identifier")])
    assert prepare_user(do_not_reach_user(email=DIGEST.upper())) == ({"email": [DIGEST]}, [])


async def test_a_misquoted_identifier_is_left_out_and_other_cells_of_its_row_are_not(tmp_path: Path) -> None:
    path = tmp_path / "crm.csv"
    path.write_text(
        'name,email,phone\n"Ada" L,"a@b.example"z,+14155550123\n"Joan" X,j@b.example,\n,"k@b.ex"m,\n', "utf-8"
    )
    async with open_users(path) as reader:
        done = [prepared_of(preparer(), block) async for block in reader]
    reason = "text follows the closing quotation mark of a cell: double each quotation mark within a cell"
    kinds = [[kind for kind, _ in row.identifiers] for some in done for row in sent(some)]
    assert kinds == [["phone_number"], ["email"]]
    assert [issue for some in done for issue in some.warnings] == [RowIssue(1, "email", reason)]
    assert [issue for some in done for issue in some.rejects] == [RowIssue(3, "email", reason)]


def test_a_column_named_like_a_person_is_hidden_in_what_is_said_of_its_rows() -> None:
    name = "Tel. 030 901820"
    done = prepared(*(raw((name, "phone_number", text), email()) for text in ("tel:+14155550132", "12")))
    rejected = prepared(raw((name, "phone_number", "12")))
    assert [issue.field for issue in (*done.cleaned, *done.warnings, *rejected.rejects)] == ["<hidden>"] * 3


@pytest.mark.parametrize("word", ["\\N", "null", "NULL", "NaN", "None", ""])
def test_an_override_that_a_database_left_out_is_none(word: str) -> None:
    row = raw(email(), operation_type=word, effective_at=word, expires_at=word)
    assert action_of(row, operation="Delete") == action_of(raw(email()), operation="Delete")


@pytest.mark.parametrize("word", ["?", "unknown", "deleted"])
def test_an_operation_that_is_not_known_is_not_that_of_the_job(word: str) -> None:
    assert rejection_of(raw(email(), operation_type=word)) == ("operation_type", "is neither Update nor Delete")
