"""User objects that are made of columns, in C and in Python, are those that are written one by one."""

import itertools
import json
import sys
from collections.abc import Sequence
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.bulk.audiences.batches import PACKINGS, Batch, Packer, Packing
from socialapi.bulk.rows import Action, RowBlock, Texts
from socialapi.models.audiences import IDENTIFIER_KINDS, IdentifierKind
from tests.speedups.implementations import EACH, IN_C, NATIVE, REFERENCE

DIGEST: Final = st.binary(min_size=32, max_size=32).map(bytes.hex)
PARTNER: Final = st.text(min_size=1, max_size=9).filter(lambda text: text.isascii() or max(text) < "\ud800")
ACTIONS: Final = (
    Action("Update"),
    Action("Delete"),
    Action("Update", "2026-03-01T09:00:00Z", "2026-04-01T09:00:00Z"),
    Action("Update", None, "2026-04-01T09:00:00Z"),
)


Cells = list[str]
Columns = list[tuple[IdentifierKind, Cells]]


@EACH
@st.composite
def columns_of_rows(draw: st.DrawFn) -> Columns:
    """Of any kinds, several of a kind among them; every row has a value in the first one."""
    rows, found = draw(st.integers(1, 6)), Columns()
    for kind in draw(st.lists(st.sampled_from(IDENTIFIER_KINDS), min_size=1, max_size=4)):
        value = PARTNER if kind == "partner_user_id" else DIGEST
        cell = value | st.just("") if found else value
        found.append((kind, draw(st.lists(cell, min_size=rows, max_size=rows))))
    return found


def users_in(speedups: Any, columns: Columns) -> Any:
    """The users with these columns, made by one of the implementations."""
    members: dict[str, list[Any]] = {}
    for kind, cells in columns:
        is_json = kind == "partner_user_id"
        column = tuple(cell and json.dumps(cell) for cell in cells) if is_json else speedups.Digests(cells)
        members.setdefault(kind, []).append(column)
    return speedups.Users(tuple((kind, tuple(members[kind])) for kind in IDENTIFIER_KINDS if kind in members))


def texts_of(columns: Columns) -> list[str]:
    """The same users, as an encoder of JSON writes them one by one."""
    found = []
    for row in zip(*(cells for _, cells in columns), strict=True):
        user: dict[str, list[str]] = {}
        for (kind, _), value in zip(columns, row, strict=True):
            if value:
                user.setdefault(kind, []).append(value)
        ordered = {kind: user[kind] for kind in IDENTIFIER_KINDS if kind in user}
        found.append(json.dumps(ordered, separators=(",", ":")))
    return found


@EACH
@given(columns_of_rows(), st.integers(0, 7), st.integers(0, 7))
def test_each_user_is_the_one_that_is_written_one_by_one(
    speedups: Any, columns: Columns, start: int, stop: int
) -> None:
    users, texts = users_in(speedups, columns), texts_of(columns)
    assert list(users) == texts
    part, expected = users[start:stop], texts[start:stop]
    assert (len(part), list(part), list(part[1:])) == (len(expected), expected, expected[1:])
    assert users[-1] == texts[-1]
    assert all(map(str.isascii, users))


@EACH
@given(columns_of_rows(), st.integers(0, 7), st.integers(0, 7), st.binary(max_size=5), st.binary(max_size=5))
def test_users_are_rendered_with_what_stands_between_and_before_them(
    speedups: Any, columns: Columns, start: int, stop: int, between: bytes, before: bytes
) -> None:
    part, texts = users_in(speedups, columns)[start:stop], texts_of(columns)[start:stop]
    assert part.render(between, before) == before + between.join(text.encode() for text in texts)


@EACH
@given(columns_of_rows(), st.integers(-1, 7), st.integers(0, 9), st.integers(0, 900))
def test_as_many_fit_as_their_sizes_say(speedups: Any, columns: Columns, most: int, more: int, room: int) -> None:
    sizes = [len(text) + more for text in texts_of(columns)]
    fitting = max(rows for rows in range(max(0, min(most, len(sizes))) + 1) if sum(sizes[:rows]) <= room)
    assert users_in(speedups, columns).fitting(most, more, room) == (fitting, sum(sizes[:fitting]))


MOST: Final = sys.maxsize
HUGE: Final = st.sampled_from((MOST, MOST - 1, MOST - 80, MOST // 2, MOST // 3, 80, 0))


@EACH
@given(columns_of_rows(), HUGE, HUGE, HUGE | HUGE.map(int.__neg__) | st.just(-MOST - 1))
def test_sizes_near_the_limit_of_an_index_are_added_exactly(
    speedups: Any, columns: Columns, most: int, more: int, room: int
) -> None:
    totals = [0, *itertools.accumulate(len(text) + more for text in texts_of(columns))]
    fitting = max((rows for rows in range(min(most, len(totals) - 1) + 1) if totals[rows] <= room), default=0)
    assert users_in(speedups, columns).fitting(most, more, room) == (fitting, totals[fitting])


@EACH
def test_a_partner_user_id_cannot_leave_its_quotation_marks(speedups: Any) -> None:
    planted = '"],"email":["x'
    (text,) = users_in(speedups, [("partner_user_id", [planted])])
    assert text == '{"partner_user_id":["\\"],\\"email\\":[\\"x"]}'


@given(
    st.lists(st.tuples(st.sampled_from(ACTIONS), columns_of_rows()), max_size=5),
    st.sampled_from(PACKINGS),
    st.integers(100, 2_000),
)
def test_batches_and_bodies_are_the_same(
    blocks: list[tuple[Action, Columns]], packing: Packing, max_bytes: int
) -> None:
    def bodies(speedups: Any) -> list[tuple[int, bytes]]:
        packer, batch, found = Packer(packing, max_operations=5, max_bytes=max_bytes), Batch(), []
        for action, columns in blocks:
            values = [(kind, Texts(v) if kind == "partner_user_id" else speedups.Digests(v)) for kind, v in columns]
            numbers = range(1, len(columns[0][1]) + 1)
            run, start = RowBlock(action, numbers, tuple(values), users_in(speedups, columns)), 0
            while start < len(run):
                if count := packer.add(batch, run.part(start, len(run))):
                    start += count
                    continue
                start += not batch.blocks  # a row that fits into no request
                found.append((batch.size_bytes, b"".join(packer.encode(batch.blocks))))
                batch = Batch()
        return [*found, (batch.size_bytes, b"".join(packer.encode(batch.blocks)))]

    expected = bodies(REFERENCE)
    assert all(size == len(body) for size, body in expected if body != b"[]")
    if NATIVE is not None:
        assert bodies(NATIVE) == expected


COLUMN: Final[Any] = None if NATIVE is None else NATIVE.Digests(["a" * 64])
MEMBER: Final[tuple[Any, ...]] = ("email", (COLUMN,))


@IN_C
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
        (MEMBER, ("handle", ((),))),
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
        NATIVE.Users(members)


@IN_C
def test_parts_and_rows_that_make_no_sense_are_refused() -> None:
    users: Any = NATIVE.Users((MEMBER,))
    for call in (
        lambda: users[1],
        lambda: users[-2],
        lambda: users[::2],
        lambda: users["0"],
        lambda: users.render(b"", "x"),
        lambda: users.render(None, b""),
        lambda: users.fitting(1, 1),
        lambda: users.fitting(1, -1, 1),
        NATIVE.Users,
    ):
        with pytest.raises((IndexError, TypeError, ValueError)):
            call()
    assert isinstance(users, NATIVE.Users)


@EACH
def test_users_are_a_sequence(speedups: Any) -> None:
    users = speedups.Users((("partner_user_id", (('"a"', '"b"', '"a"'),)),))
    rows = list(users)
    assert isinstance(users, Sequence)
    assert list(reversed(users)) == rows[::-1]
    assert (rows[1] in users, "" in users) == (True, False)
    assert (users.index(rows[1]), users.count(rows[0]), users.count(7)) == (1, 2, 0)
    with pytest.raises(ValueError, match=r"not in (sequence|tuple)"):
        users.index("")


@EACH
def test_a_row_without_values_is_an_empty_object(speedups: Any) -> None:
    users = speedups.Users(
        (("email", (speedups.Digests(["", "a" * 64, None]),)), ("partner_user_id", (("", '"x"', ""),)))
    )
    assert list(users) == ["{}", f'{{"email":["{"a" * 64}"],"partner_user_id":["x"]}}', "{}"]
