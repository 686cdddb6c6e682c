"""A table of rows is prepared as its rows are."""

import datetime
from typing import Any, Final

import phonenumbers
from hypothesis import example, given, settings
from hypothesis import strategies as st

from socialapi.bulk.audiences.prepare import PreparedChunk, Preparer
from socialapi.bulk.rows import Action, RawColumn, RawTable, rows_of
from socialapi.models.audiences import DO_NOT_REACH_KINDS, IDENTIFIER_KINDS, IdentifierKind
from socialapi.reports import RowIssue

NOW: Final = datetime.datetime(2026, 1, 31, 9, tzinfo=datetime.UTC)
DIGEST: Final = "a" * 64
EXAMPLES: Final = [
    phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
    for region in sorted(phonenumbers.SUPPORTED_REGIONS)
    if (number := phonenumbers.example_number(region)) is not None
]

BLANK: Final = st.sampled_from(("", "", "", " ", "\u200b", "\n"))
GOOD: Final[dict[IdentifierKind, st.SearchStrategy[str]]] = {
    **dict.fromkeys(IDENTIFIER_KINDS, st.sampled_from(("12", "13", DIGEST))),
    "email": st.sampled_from(("a@b.example", "A@B.example", "c@d.example", "é@ü.example", DIGEST, DIGEST.upper())),
    "phone_number": st.sampled_from(EXAMPLES) | st.sampled_from(("+14155550123", "(415) 555-0123", DIGEST)),
    "partner_user_id": st.sampled_from(("1", "é", 'x"\\', "{}", " 1")),
}
ODD: Final = st.sampled_from(
    ("nobody", "a b", "a\nb", "@", "\udcff", " a@b.example\n", "+1", "1.0", "@x", "A@b.EXAMPLE")
)
MOODS: Final = {"good": (9, 0, 0), "mixed": (3, 1, 1), "odd": (1, 2, 2), "blank": (0, 1, 0), "holes": (4, 2, 0)}
"""How many good, blank and odd cells a column has among them."""


def cells(kind: IdentifierKind, mood: str) -> st.SearchStrategy[str]:
    good, blank, odd = MOODS[mood]
    return st.one_of(*[GOOD[kind]] * good, *[BLANK] * blank, *[ODD] * odd)


@st.composite
def tables(draw: st.DrawFn) -> RawTable:
    """Of any columns, several of a kind among them, with equal cells, rows of blanks, short rows and unreadable ones."""
    size = draw(st.integers(0, 8))
    columns: list[RawColumn] = []
    for at, kind in enumerate(draw(st.lists(st.sampled_from(IDENTIFIER_KINDS), max_size=4))):
        column = draw(st.lists(cells(kind, draw(st.sampled_from(sorted(MOODS)))), min_size=size, max_size=size))
        columns.append(RawColumn(f"column {at}", kind, column))
    repeated = draw(st.lists(st.sampled_from(columns), max_size=1)) if columns else []
    columns += [
        RawColumn("the same", same.kind, [draw(st.sampled_from((each, ""))) for each in same.cells])
        for same in repeated
    ]
    short = draw(st.dictionaries(st.integers(0, 7), st.integers(0, 4), max_size=3))
    columns = [
        RawColumn(each.field, each.kind, [c if at < short.get(row, 9) else "" for row, c in enumerate(each.cells)])
        for at, each in enumerate(columns)
    ]
    problems = draw(st.dictionaries(st.integers(0, size - 1), st.just(("", "is blank")), max_size=3)) if size else {}
    return RawTable(draw(st.integers(1, 1_000)), size, tuple(columns), problems=problems)


def told(chunk: PreparedChunk) -> tuple[list[Any], list[RowIssue], list[RowIssue]]:
    """All of it as values. The identifiers are a set, since nothing depends on their order."""
    rows = [(row.number, row.action, set(row.identifiers), row.user_json) for row in rows_of(chunk.runs)]
    assert all(len(row.identifiers) == len(set(row.identifiers)) for row in rows_of(chunk.runs))
    return rows, chunk.rejects, chunk.warnings


@settings(max_examples=500)
@given(tables(), st.sampled_from((None, "US")), st.sampled_from(("Update", "Delete")))
def test_a_table_has_the_rows_the_rejects_and_the_warnings_that_its_rows_have_one_by_one(
    table: RawTable, region: str | None, operation: str
) -> None:
    preparer = Preparer(now=NOW, default_region=region, operation=operation)
    before = [list(column.cells) for column in table.columns]
    assert told(preparer.prepare_chunk(table)) == told(preparer.prepare_chunk(list(table)))
    assert [list(column.cells) for column in table.columns] == before


@given(tables(), st.data())
def test_a_table_has_the_rows_the_rejects_and_the_warnings_of_its_parts(table: RawTable, data: st.DataObject) -> None:
    preparer, middle = Preparer(now=NOW, default_region="US"), data.draw(st.integers(0, len(table)))
    whole = told(preparer.prepare_chunk(table))
    parts = [told(preparer.prepare_chunk(part)) for part in (table.part(0, middle), table.part(middle, len(table)))]
    assert whole == tuple(first + second for first, second in zip(*parts, strict=True))


@given(tables(), st.data())
def test_a_table_whose_rows_say_for_themselves_what_is_done_is_prepared_as_its_rows_are(
    table: RawTable, data: st.DataObject
) -> None:
    def column(*choices: str | None) -> list[str | None] | None:
        return data.draw(st.none() | st.lists(st.sampled_from(choices), min_size=len(table), max_size=len(table)))

    overrides = (column(None, "Delete", "?"), column(None, "2026-03-01T09:00:00Z"), column(None, "2026-04-01", ""))
    said = RawTable(table.first_number, table.size, table.columns, overrides, table.problems)
    preparer = Preparer(now=NOW)
    assert told(preparer.prepare_chunk(said)) == told(preparer.prepare_chunk(list(said)))


@given(tables())
@example(RawTable(1, 1, (RawColumn("Handle", "handle", [DIGEST]), RawColumn("E-Mail", "email", [DIGEST]))))
def test_a_table_with_kinds_that_are_not_taken_is_prepared_as_its_rows_are(table: RawTable) -> None:
    preparer = Preparer(now=NOW, kinds=DO_NOT_REACH_KINDS)
    assert told(preparer.prepare_chunk(table)) == told(preparer.prepare_chunk(list(table)))


def test_a_table_in_which_rows_are_odd_by_its_values() -> None:
    table = RawTable(
        5,
        6,
        (
            RawColumn("E-Mail", "email", [DIGEST, "nobody", "b" * 64, "", "nobody", DIGEST]),
            RawColumn("Second", "email", [DIGEST, DIGEST, "", "", "", "c" * 64]),
            RawColumn("id", "partner_user_id", ["1", "2", " ", "\u200b", "", "é"]),
        ),
        problems={5: ("", "is blank")},
    )
    prepared = Preparer(now=NOW).prepare_chunk(table)
    assert told(prepared) == (
        [
            (
                *(5, Action("Update"), {("email", DIGEST), ("partner_user_id", "1")}),
                f'{{"email":["{DIGEST}"],"partner_user_id":["1"]}}',
            ),
            (
                *(6, Action("Update"), {("email", DIGEST), ("partner_user_id", "2")}),
                f'{{"email":["{DIGEST}"],"partner_user_id":["2"]}}',
            ),
            (7, Action("Update"), {("email", "b" * 64)}, f'{{"email":["{"b" * 64}"]}}'),
        ],
        [
            RowIssue(8, "", "has no identifier"),
            RowIssue(9, "E-Mail", "is not a plausible e-mail address"),
            RowIssue(10, "", "is blank"),
        ],
        [RowIssue(6, "E-Mail", "is not a plausible e-mail address")],
    )
    assert len(prepared.runs) == 1


def test_a_table_of_which_nothing_can_be_sent_makes_no_run() -> None:
    for table in (RawTable(1, 2, ()), RawTable(1, 2, (RawColumn("e", "email", ["", "x"]),)), RawTable(1, 0, ())):
        prepared = Preparer(now=NOW).prepare_chunk(table)
        assert (prepared.runs, len(prepared.rejects)) == ([], len(table))
