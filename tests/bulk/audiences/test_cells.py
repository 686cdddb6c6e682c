"""The rows of a block, and what their cells say."""

import datetime
from typing import Any, Final

import pandas
import pytest

from socialapi.bulk.audiences.cells import NOT_UNDERSTOOD, UserRow, user_rows
from socialapi.bulk.inputs.numbers import NOT_TEXT
from tests.bulk.blocks import user_block

BLOCK: Final = user_block(
    ("E-Mail", "email", ["a@b.example", "", " c@d.example"]),
    ("Other e-mail", "email", ["x@y.example", "\u00a0", ""]),
    ("id", "partner_user_id", ["1", "\u200b", " "]),
    ("operation_type", "operation_type", ["Delete", None, "?"]),
    ("expires_at", "expires_at", ["2091-01-01T00:00:00Z", None, None]),
    first_number=7,
    faults={1: "is blank"},
)


def rows(*columns: Any) -> list[UserRow]:
    return list(user_rows(user_block(*columns)))


def test_a_row_of_a_block_has_its_number_its_texts_and_what_it_says_for_itself() -> None:
    row = next(user_rows(BLOCK))
    assert row.number == 7
    assert row.identifiers == [
        *(("E-Mail", "email", "a@b.example"), ("Other e-mail", "email", "x@y.example")),
        ("id", "partner_user_id", "1"),
    ]
    assert (row.operation_type, row.effective_at, row.expires_at) == ("Delete", None, "2091-01-01T00:00:00Z")
    assert (row.problem, row.unusable) == (None, ())


def test_a_block_without_columns_for_what_is_done_has_no_overrides() -> None:
    assert BLOCK.layout.has_overrides
    assert BLOCK.part(1, 2).layout.has_overrides
    assert user_block(("effective_at", "effective_at", [None])).layout.has_overrides
    plain = user_block(("e", "email", ["a"]))
    assert not plain.layout.has_overrides
    (row,) = user_rows(plain)
    assert (row.operation_type, row.effective_at, row.expires_at) == (None, None, None)


def test_a_cell_of_several_values_or_of_numbers_has_their_texts_and_the_others_are_unusable() -> None:
    column = ("ids", "service_id", [["1", 2, None, ""], 3.0, 1.5, True, 10**5_000])
    found = rows(column)
    assert [[text for _, _, text in row.identifiers] for row in found] == [["1", "2"], ["3"], [], [], []]
    assert [row.unusable for row in found] == [(), (), *[(("ids", NOT_TEXT),)] * 3]


@pytest.mark.parametrize(
    ("cell", "read_as"),
    [
        *((nothing, None) for nothing in (None, "", " ", float("nan"), pandas.NaT)),
        (" 2091-01-01 ", "2091-01-01"),
        (datetime.date(2091, 1, 1), "2091-01-01"),
        (datetime.datetime(2091, 1, 1, tzinfo=datetime.UTC), datetime.datetime(2091, 1, 1, tzinfo=datetime.UTC)),
        (7, NOT_UNDERSTOOD),
        (["2091-01-01"], NOT_UNDERSTOOD),
    ],
)
def test_a_time_is_a_text_a_date_or_a_datetime_and_others_are_not_understood(cell: Any, read_as: Any) -> None:
    (row,) = rows(("email", "email", ["a@b.example"]), ("expires_at", "expires_at", [cell]))
    assert row.expires_at == read_as


@pytest.mark.parametrize(("cell", "read_as"), [("  ", None), (" Delete ", "Delete"), (7, "?"), (None, None)])
def test_an_operation_is_a_text_and_others_are_not_understood(cell: Any, read_as: str | None) -> None:
    (row,) = rows(("email", "email", ["a@b.example"]), ("operation_type", "operation_type", [cell]))
    assert row.operation_type == read_as
