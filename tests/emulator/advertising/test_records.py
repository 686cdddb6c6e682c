"""The store of records, against a list that is sorted anew each time."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from socialapi.emulator.advertising.state import Order, Record, Table

VALUES = st.one_of(st.none(), st.integers(-2, 2))
ORDERS = st.sampled_from([None, Order("rank"), Order("rank", descending=True)])
STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "change", "delete", "page"]), st.integers(0, 30), VALUES), max_size=40
)


def walked(table: Table, order: Order | None) -> list[str]:
    return [table.rows[position]["id"] for position in table.after(order, None)]


def expected(rows: list[Record], order: Order | None) -> list[str]:
    if order is None:
        return [row["id"] for row in rows]

    def key(row: Record) -> Any:
        return (row[order.field] is not None, row[order.field] or 0)

    return [row["id"] for row in sorted(rows, key=key, reverse=order.descending)]


@given(st.lists(VALUES, max_size=12), STEPS, ORDERS, st.integers(1, 4))
def test_pages_lose_and_double_nothing_that_stands_still(
    values: list[int | None], steps: list[tuple[str, int, int | None]], order: Order | None, size: int
) -> None:
    start = [{"id": f"s{number}", "rank": value, "deleted": False} for number, value in enumerate(values)]
    table = Table(lambda: start)
    rows = table.rows
    moved: set[str] = set()
    seen: list[str] = []
    cursor = None
    ended = False
    for number, (step, which, value) in enumerate(steps + [("page", 0, None)] * 60):
        if step == "add":
            moved.add(table.add({"id": f"a{number}", "rank": value, "deleted": False})["id"])
        elif step == "page" and not ended:
            page = list(table.after(order, cursor))[:size]
            seen += (rows[position]["id"] for position in page if not rows[position]["deleted"])
            ended = not page
            cursor = table.cursor_of(order, page[-1]) if page else cursor
        elif rows and step in ("change", "delete"):
            row = rows[which % len(rows)]
            moved.add(row["id"])
            table.change(row, **({"rank": value} if step == "change" else {"deleted": True}))
        assert walked(table, order) == expected(list(rows), order)
    still = [each for each in seen if each not in moved]
    assert still == [each for each in expected(list(rows), order) if each not in moved]


def test_texts_are_compared_by_their_beginnings_so_that_cursors_stay_short() -> None:
    table = Table(
        lambda: [{"id": "a", "name": "x" * 300 + "b"}, {"id": "b", "name": "x" * 300 + "a"}, {"id": "c", "name": "w"}]
    )
    assert walked(table, Order("name")) == ["c", "a", "b"]
    cursor = table.cursor_of(Order("name"), 0)
    assert cursor[0] == "x" * 200
    assert [table.rows[position]["id"] for position in table.after(Order("name"), cursor)] == ["b"]
