"""User objects that are made of columns are those that Python writes one by one."""

import itertools
import sys
import tracemalloc
from collections.abc import Sequence
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi._speedups import IS_ENABLED

if not IS_ENABLED:
    pytest.skip("the extension is not used here", allow_module_level=True)

from socialapi._speedups._native import Digests, Users
from socialapi.bulk.audiences.batches import Batch, Packer, Packing
from socialapi.bulk.audiences.prepare import users_of
from socialapi.bulk.rows import Action, Column, RowBlock, rendered
from socialapi.models.audiences import IDENTIFIER_KINDS, IdentifierKind

DIGEST: Final = st.binary(min_size=32, max_size=32).map(bytes.hex)
PARTNER: Final = st.text(min_size=1, max_size=9).filter(lambda text: text.isascii() or max(text) < "\ud800")
ACTIONS: Final = (
    Action("Update"),
    Action("Delete"),
    Action("Update", "2026-03-01T09:00:00Z", "2026-04-01T09:00:00Z"),
    Action("Update", None, "2026-04-01T09:00:00Z"),
)


@st.composite
def columns_of(draw: st.DrawFn, rows: int) -> tuple[Column, ...]:
    """Of any kinds, several of a kind among them; every row has a value in the first one."""
    found = list[Column]()
    for kind in draw(st.lists(st.sampled_from(IDENTIFIER_KINDS), min_size=1, max_size=4)):
        value = PARTNER if kind == "partner_user_id" else DIGEST
        cell = value | st.just("") if found else value
        found.append((kind, draw(st.lists(cell, min_size=rows, max_size=rows))))
    return tuple(found)


@st.composite
def twin_blocks(draw: st.DrawFn) -> tuple[RowBlock, RowBlock]:
    """The same rows, in Python and in C."""
    rows = draw(st.integers(1, 6))
    columns = draw(columns_of(rows))
    action, numbers = draw(st.sampled_from(ACTIONS)), range(1, rows + 1)
    in_c = tuple((kind, values if kind == "partner_user_id" else Digests(values)) for kind, values in columns)
    python = RowBlock(action, numbers, users_of(columns, rows), columns)
    return python, RowBlock(action, numbers, rendered(in_c), in_c)  # type: ignore[arg-type]


@given(twin_blocks(), st.integers(0, 7), st.integers(0, 7))
def test_each_user_is_the_one_that_python_writes(blocks: tuple[RowBlock, RowBlock], start: int, stop: int) -> None:
    python, in_c = blocks
    assert list(in_c.users) == list(python.users)
    part, expected = in_c.users[start:stop], python.users[start:stop]
    assert (len(part), list(part), list(part[1:])) == (len(expected), expected, expected[1:])
    assert [row.user_json for row in in_c.part(start, stop)] == expected
    assert in_c.users[-1] == python.users[-1]


@given(twin_blocks(), st.integers(0, 7), st.integers(0, 7), st.binary(max_size=5), st.binary(max_size=5))
def test_users_are_rendered_with_what_stands_between_and_before_them(
    blocks: tuple[RowBlock, RowBlock], start: int, stop: int, between: bytes, before: bytes
) -> None:
    python, in_c = blocks
    part = in_c.users[start:stop]
    assert isinstance(part, Users)
    assert part.render(between, before) == before + between.join(user.encode() for user in python.users[start:stop])


@given(twin_blocks(), st.integers(0, 7), st.integers(0, 9), st.integers(0, 900))
def test_as_many_fit_as_their_sizes_say(blocks: tuple[RowBlock, RowBlock], most: int, more: int, room: int) -> None:
    python, in_c = blocks
    assert isinstance(in_c.users, Users)
    sizes = [len(user) + more for user in python.users]
    fitting = max(rows for rows in range(min(most, len(sizes)) + 1) if sum(sizes[:rows]) <= room)
    assert in_c.users.fitting(most, more, room) == (fitting, sum(sizes[:fitting]))


MOST: Final = sys.maxsize
HUGE: Final = st.sampled_from((MOST, MOST - 1, MOST - 80, MOST // 2, MOST // 3, 80, 0))


@given(twin_blocks(), HUGE, HUGE, HUGE | HUGE.map(int.__neg__) | st.just(-MOST - 1))
def test_sizes_near_the_limit_of_an_index_are_added_as_python_does(
    blocks: tuple[RowBlock, RowBlock], most: int, more: int, room: int
) -> None:
    python, in_c = blocks
    assert isinstance(in_c.users, Users)
    totals = [0, *itertools.accumulate(len(user) + more for user in python.users)]
    fitting = max((rows for rows in range(min(most, len(totals) - 1) + 1) if totals[rows] <= room), default=0)
    assert in_c.users.fitting(most, more, room) == (fitting, totals[fitting])


@given(st.lists(twin_blocks(), max_size=5), st.sampled_from(("single", "packed")), st.integers(100, 2_000))
def test_batches_and_bodies_are_the_same(
    blocks: list[tuple[RowBlock, RowBlock]], packing: Packing, max_bytes: int
) -> None:
    def bodies(runs: Sequence[RowBlock]) -> list[tuple[int, bytes]]:
        packer, batch, found = Packer(packing, max_operations=5, max_bytes=max_bytes), Batch(), []
        for run in runs:
            start = 0
            while start < len(run):
                if count := packer.add(batch, run.part(start, len(run))):
                    start += count
                    continue
                start += not batch.runs  # a row that fits into no request
                found.append((batch.size_bytes, b"".join(packer.encode(batch.runs))))
                batch = Batch()
        return [*found, (batch.size_bytes, b"".join(packer.encode(batch.runs)))]

    expected = bodies([python for python, _ in blocks])
    assert bodies([in_c for _, in_c in blocks]) == expected
    mixed = [blocks[at % 2] for at, blocks in enumerate(blocks)]
    assert bodies(mixed) == expected
    assert all(size == len(body) for size, body in expected if body != b"[]")


COLUMN: Final = Digests(["a" * 64])
MEMBER: Final[tuple[Any, ...]] = ("email", (COLUMN,))


@pytest.mark.parametrize(
    "members",
    [
        (),
        [MEMBER],
        (("email", ()),),
        ((),),
        (7,),
        ((7, (COLUMN,)),),
        ("xy",),
        (("email", [COLUMN]),),
        (("email", (["a"],)),),
        (("email", (("é",),)),),
        (("email", ((b"x",),)),),
        (MEMBER, ("handle", (Digests([]),))),
        (MEMBER, ("handle", (("", ""),))),
        (MEMBER, None),
        (("\ud800", (COLUMN,)),),
        (("é", (COLUMN,)),),
        ((b"email", (COLUMN,)),),
        (('e"mail', (COLUMN,)),),
        (("e\\mail", (COLUMN,)),),
        (("email\n", (COLUMN,)),),
        (("email\0", (COLUMN,)),),
        (("email\x7f", (COLUMN,)),),
    ],
)
def test_members_that_make_no_sense_are_refused(members: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        Users(members)


def test_parts_and_rows_that_make_no_sense_are_refused() -> None:
    users: Any = Users((MEMBER,))
    for call in (
        lambda: users[1],
        lambda: users[-2],
        lambda: users[::2],
        lambda: users["0"],
        lambda: users.render(b"", "x"),
        lambda: users.render(None, b""),
        lambda: users.fitting(1, 1),
        lambda: users.fitting(1, -1, 1),
        Users,
    ):
        with pytest.raises((IndexError, TypeError, ValueError)):
            call()  # type: ignore[call-arg]
    assert isinstance(users, Users)


def test_small_parts_keep_none_of_the_columns_that_they_were_cut_from() -> None:
    def users_of_block(block: int) -> Users:
        digests = Digests(f"{block + row:064x}" for row in range(1_250))
        return Users((("email", (digests,)), ("partner_user_id", (tuple(f'"{row}"' for row in range(1_250)),))))

    tracemalloc.start()
    try:
        parts = [users_of_block(block)[100:][block : block + 1] for block in range(50)]
        kept_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [list(part) for part in parts] == [
        [f'{{"email":["{2 * block + 100:064x}"],"partner_user_id":["{block + 100}"]}}'] for block in range(50)
    ]
    assert kept_bytes < 50 * 2_000  # where the digests of each alone have 41,250


def test_users_are_a_sequence() -> None:
    users = Users((("partner_user_id", (('"a"', '"b"', '"a"'),)),))
    rows = list(users)
    assert isinstance(users, Sequence)
    assert list(reversed(users)) == rows[::-1]
    assert (rows[1] in users, "" in users) == (True, False)
    assert (users.index(rows[1]), users.count(rows[0]), users.count(7)) == (1, 2, 0)
    with pytest.raises(ValueError, match="not in sequence"):
        users.index("")


def test_a_row_without_values_is_an_empty_object() -> None:
    users = Users((("email", (Digests(["", "a" * 64, None]),)), ("partner_user_id", (("", '"x"', ""),))))
    assert list(users) == ["{}", f'{{"email":["{"a" * 64}"],"partner_user_id":["x"]}}', "{}"]


def test_kinds_stand_in_their_order_whatever_that_of_the_columns() -> None:
    columns: list[tuple[IdentifierKind, Any]] = [(kind, Digests(["b" * 64])) for kind in reversed(IDENTIFIER_KINDS)]
    positions = [rendered(columns)[0].index(f'"{kind}"') for kind in IDENTIFIER_KINDS]
    assert positions == sorted(positions)
