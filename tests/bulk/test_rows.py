"""Rows side by side and one by one are the same rows."""

import itertools
from collections.abc import Iterable
from typing import Any, Final

import attrs
from hypothesis import given
from hypothesis import strategies as st

from socialapi.bulk.rows import Action, Row, RowBlock, Texts
from socialapi.models.audiences import IDENTIFIER_KINDS
from tests.bulk.blocks import blocks_of, rows_of

UPDATE: Final = Action("Update")
DELETE: Final = Action("Delete")


def told(rows: Iterable[Row]) -> list[tuple[Any, ...]]:
    """Rows as values, since they are compared by identity."""
    return [tuple(getattr(each, field.name) for field in attrs.fields(type(each))) for each in rows]


ROWS: Final = st.lists(
    st.builds(
        Row,
        st.integers(1, 10**9),
        st.builds(lambda found: Action(*found), st.sampled_from((("Update",), ("Delete",), ("Update", "2091")))),
        st.lists(st.tuples(st.sampled_from(IDENTIFIER_KINDS), st.text(min_size=1, max_size=3)), max_size=5).map(tuple),
    ),
    max_size=20,
)


def in_order_of_kinds(rows: Iterable[Row], *, first_of: Iterable[Row]) -> list[tuple[Any, ...]]:
    """Rows as values, their identifiers as the columns of a run have them: by when each kind came up first."""
    seen: dict[tuple[str, int], None] = {}
    for row in first_of:
        kinds = [kind for kind, _ in row.identifiers]
        seen.update(dict.fromkeys((kind, kinds[:place].count(kind)) for place, kind in enumerate(kinds)))
    found = []
    for row in rows:
        values: dict[str, list[str]] = {}
        for kind, value in row.identifiers:
            values.setdefault(kind, []).append(value)
        ordered = tuple((kind, values[kind][at]) for kind, at in seen if at < len(values.get(kind, ())))
        found.append((row.number, row.action, ordered))
    return found


@given(ROWS)
def test_rows_that_become_runs_and_rows_again_are_the_same_rows(rows: list[Row]) -> None:
    runs = blocks_of(rows)
    assert [row.number for row in rows_of(runs)] == [row.number for row in rows]
    start = 0
    for run in runs:
        same = rows[start : start + len(run)]
        assert told(rows_of([run])) == in_order_of_kinds(same, first_of=same)
        assert {row.action for row in same} == {run.action}
        assert all(len(values) == len(run) for _, values in run.columns)
        start += len(run)
    assert all(before.action != after.action for before, after in itertools.pairwise(runs))
    assert told(rows_of(blocks_of(rows_of(runs)))) == told(rows_of(runs))


@given(ROWS, st.data())
def test_a_part_of_a_run_has_the_rows_of_the_run(rows: list[Row], data: st.DataObject) -> None:
    for run in blocks_of(rows):
        start = data.draw(st.integers(0, len(run)))
        stop = data.draw(st.integers(start, len(run) + 3))
        part, whole = run.part(start, stop), rows_of([run])
        assert told(rows_of([part])) == told(whole[start:stop])
        assert len(part) == len(whole[start:stop])
        assert (part is run) == (start == 0 and stop >= len(run))
        middle = data.draw(st.integers(0, len(part)))
        assert told(rows_of([part.part(0, middle), part.part(middle, len(part))])) == told(rows_of([part]))


def test_a_row_of_a_run_has_the_identifiers_that_are_there_in_the_order_of_the_columns() -> None:
    run = RowBlock(
        DELETE,
        range(5, 8),
        (("email", Texts(["a", "", "c"])), ("handle", Texts(["h", "i", ""])), ("email", Texts(["", "", "d"]))),
    )
    assert told(rows_of([run])) == [
        (5, DELETE, (("email", "a"), ("handle", "h"))),
        (6, DELETE, (("handle", "i"),)),
        (7, DELETE, (("email", "c"), ("email", "d"))),
    ]
    assert told([run.part(1, 3).row(1)]) == told([run.row(2)])


def test_several_values_of_a_kind_are_several_columns() -> None:
    rows = [
        Row(1, UPDATE, (("handle", "h"),)),
        Row(2, UPDATE, (("email", "a"), ("handle", "i"), ("email", "b"))),
        Row(3, UPDATE, ()),
    ]
    (run,) = blocks_of(rows)
    assert run.columns == (("handle", ["h", "i", ""]), ("email", ["", "a", ""]), ("email", ["", "b", ""]))
    assert blocks_of([]) == []
