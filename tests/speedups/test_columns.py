"""Columns that are hashed in C are those that Python hashes, whatever their cells hold."""

import functools
import gc
import hashlib
import sys
from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from socialapi._speedups import IS_ENABLED

if not IS_ENABLED:
    pytest.skip("the extension is not used here", allow_module_level=True)

from socialapi._speedups._native import Digests, Users, add_phone_plan, hash_column
from socialapi.bulk.audiences import phone_numbers, prepare
from socialapi.bulk.audiences.cells import UserBlock
from socialapi.bulk.audiences.normalize import Unusable, hashed_plain, normalizers
from socialapi.bulk.audiences.prepare import PreparedBlock, Preparer
from socialapi.bulk.rows import rows_of
from socialapi.models.audiences import IDENTIFIER_KINDS, IdentifierKind
from tests.bulk.audiences.test_prepare_blocks import EXAMPLES, NOW, blocks
from tests.bulk.blocks import user_block

HASHED: Final = tuple(kind for kind in IDENTIFIER_KINDS if kind != "partner_user_id")
KINDS: Final = pytest.mark.parametrize("kind", HASHED)
DIGEST: Final = "0123456789abcdef" * 4

LETTERS: Final = st.text(
    st.sampled_from("aZ0.9@+-_' \"<>,:;()[]{}\\/\n\r\t\0\x1f\x7f\xa0é\u200b\u0130\u017f\u212a\ud800😀=!#~"), max_size=12
)
NEAR: Final = st.builds(
    "{}{}{}".format,
    st.sampled_from(("", " ", '"', "<", "mailto:", "@", "\ufeff", "A", ".")),
    st.sampled_from(
        ("Ada.Lovelace+x@Mail.Example", "a@b.c", "a@b", "a@b..c", "+14155550123", "00491", "Ada_1", "12345")
    ),
    st.sampled_from(("", " ", '"', ">", ".", "@x.y", "\n", "\0", "7", ".0", "x" * 260)),
)
HEX: Final = st.text("0123456789abcdefABCDEF", min_size=63, max_size=65) | st.sampled_from(
    (DIGEST, DIGEST.upper(), "@" + DIGEST, "1" * 64, " " + DIGEST, DIGEST[:-1] + "g")
)
PHONE: Final = st.sampled_from(EXAMPLES) | st.from_regex(r"\+[0-9]{1,18}", fullmatch=True)
TEXT: Final = LETTERS | NEAR | HEX | PHONE | st.text(max_size=20) | st.sampled_from(("", " "))


class Text(str):
    """A text whose class may mean anything."""

    __slots__ = ()


NO_TEXT: Final[st.SearchStrategy[Any]] = st.sampled_from(
    (
        0,
        14155550123,
        2**70,
        1.5,
        True,
        b"a@b.example",
        object(),
        (),
        ["a@b.example"],
        Text("a@b.example"),
        str,
        Ellipsis,
    )
)


def in_python(kind: IdentifierKind, cell: str) -> str | None:
    """What is sent of a text about which there is nothing to say."""
    try:
        value, remark = normalizers([kind], None)[kind](cell)
    except Unusable:
        return None
    return None if remark else value


@KINDS
@given(cells=st.lists(TEXT | st.none() | NO_TEXT, max_size=9), is_tuple=st.booleans())
@settings(max_examples=300)
@example(cells=["a@b.c" + "x" * 242, "a@b.c" + "x" * 243], is_tuple=False)
def test_a_cell_is_what_python_makes_of_it_or_left_to_python(
    kind: IdentifierKind, cells: list[Any], is_tuple: bool
) -> None:
    found = hashed_plain(kind, tuple(cells) if is_tuple else cells)
    assert len(found) == len(cells)
    for cell, value in zip(cells, found, strict=True):
        if cell is None or cell == "":
            assert value == ""
        elif value is not None:
            assert type(cell) is str
            assert value == in_python(kind, cell)


PLAIN: Final[dict[IdentifierKind, list[tuple[str, str]]]] = {
    "email": [("Ada+1@Mail.Example", "ada+1@mail.example"), ("o'x@a-b_c.d", "o'x@a-b_c.d"), (".a.@b.c.d", ".a.@b.c.d")],
    "phone_number": [
        ("+14155550123", "+14155550123"),
        ("+4930901820", "+4930901820"),
        ("+8613912345678", "+8613912345678"),
    ],
    "device_id": [("AEBE52E7-03EE-455A-B3C4-E57283966239", "AEBE52E7-03EE-455A-B3C4-E57283966239"), ("~!", "~!")],
    "handle": [("@Ada", "ada"), ("Ada_1", "ada_1")],
    "service_id": [("0012", "0012"), ("9" * 63, "9" * 63)],
}


@KINDS
def test_plain_cells_are_hashed_in_c(kind: IdentifierKind) -> None:
    raw, sent = [raw for raw, _ in PLAIN[kind]], [sent for _, sent in PLAIN[kind]]
    digests = [hashlib.sha256(each.encode()).hexdigest() for each in sent]
    for count in range(len(raw) + 1):
        assert list(hashed_plain(kind, raw[:count])) == digests[:count]
    assert list(hashed_plain(kind, [DIGEST, "", DIGEST.upper(), None])) == [DIGEST, "", DIGEST, ""]


@given(st.sampled_from(EXAMPLES), st.integers(0, 10**12))
def test_a_number_is_hashed_in_c_only_if_the_numbering_plan_leaves_it_as_it_is(example: str, digits: int) -> None:
    number = example[: -len(str(digits))] + str(digits) if len(str(digits)) < len(example) - 4 else example
    (found,) = hashed_plain("phone_number", [number])
    if found is not None:
        assert phone_numbers.e164(number, None) == number
        assert found == hashlib.sha256(number.encode()).hexdigest()


def test_nearly_all_countries_have_their_numbers_hashed_in_c() -> None:
    for _ in range(len(EXAMPLES) // phone_numbers.STARTS_AT_ONCE + 1):
        found = hashed_plain("phone_number", EXAMPLES)
    assert found.count(None) <= len(EXAMPLES) * 0.05


@pytest.mark.parametrize(
    ("pattern", "starts"),
    [
        ("0", ("0",)),
        ("0|180020", ("0", "180020")),
        ("[08]", ("0", "8")),
        ("0|80?", ("0", "8")),
        ("(?:0|90)(?:(1[245]|99)(\\d{10,11}))?", ("0", "90")),
        ("(1(?:[12]\\d|79)\\d\\d)|0", ("0", "11", "12", "179")),
        ("(15(?:0[06]|1[12]|[35]5|4[04]|6[26]|77|88|99)\\d)", ("15",)),
        ("0?(?:11)?", None),
        ("\\d", None),
        ("", None),
        ("0123456789", ("012345",)),
    ],
)
def test_it_is_known_with_what_a_national_prefix_begins(pattern: str, starts: tuple[str, ...] | None) -> None:
    assert phone_numbers.starts_of(pattern) == starts


def in_both(block: UserBlock, **options: Any) -> tuple[PreparedBlock, PreparedBlock]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(prepare, "IS_ENABLED", False)
        in_python = Preparer(now=NOW, **options).prepare_block(block)
    return in_python, Preparer(now=NOW, **options).prepare_block(block)


def told(prepared: PreparedBlock) -> tuple[Any, ...]:
    rows = [(row.number, row.action, sorted(row.identifiers), row.user_json) for row in rows_of(prepared.runs)]
    return rows, prepared.rejects, prepared.warnings, prepared.mended


@given(blocks() | blocks(has_overrides=True), st.sampled_from((None, "US")))
@settings(max_examples=400)
def test_a_block_is_prepared_as_in_python(block: UserBlock, region: str | None) -> None:
    python, in_c = in_both(block, default_region=region)
    assert told(in_c) == told(python)
    assert all(isinstance(run.users, Users) for run in in_c.runs)


@given(blocks())
def test_a_block_is_prepared_in_parts_as_it_is_at_once(block: UserBlock) -> None:
    preparer = Preparer(now=NOW)
    parts = list(preparer.prepare(block))
    rows, *issues = told(preparer.prepare_block(block))
    assert [row for part in parts for row in told(part)[0]] == rows
    assert [[issue for part in parts for issue in told(part)[at]] for at in (1, 2, 3)] == issues


def test_a_block_of_odd_cells_is_prepared_in_steps() -> None:
    emails = ["nobody"] * 700
    block = user_block(("email", "email", emails))
    assert [len(part.rejects) for part in Preparer(now=NOW).prepare(block)] == [250, 250, 200]
    plain = user_block(("email", "email", [f"p{n}@x.example" for n in range(700)]))
    assert [sum(map(len, part.runs)) for part in Preparer(now=NOW).prepare(plain)] == [700]


def test_what_is_no_column_or_kind_is_refused() -> None:
    for cells, kind in (("a@b.example", "email"), ({"a": 1}, "email"), (None, "email"), ([], 7), ([], b"email")):
        with pytest.raises(TypeError):
            hash_column(cells, kind)  # type: ignore[arg-type]
    for name in ("partner_user_id", "", "é", "\ud800"):
        with pytest.raises(ValueError, match="no such kind"):
            hash_column([], name)


@pytest.mark.parametrize(
    "plan",
    [(1_000, 1, 1, ()), (-1, 1, 1, ()), (1, 0, 1, ()), (1, 4, 1, ()), (1, 1, 1, ("1234567",)), (1, 1, 1, ("1",) * 11)],
)
def test_a_phone_plan_for_which_there_is_no_room_is_refused(plan: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match=r"digits|room"):
        add_phone_plan(*plan)
    with pytest.raises(TypeError):
        add_phone_plan(1, 1, 1, (7,))  # type: ignore[arg-type]


def use_everything(cells: list[Any]) -> None:
    for kind in HASHED:
        column = hash_column(cells, kind)
        users = Users((("email", (column, column[:])), ("partner_user_id", (("x",) * len(cells),))))
        list(users[1:]), users.render(b",", b"["), users.fitting(9, 1, 1_000)
        Digests.joined((column, column[2:])).compress(bytes(2 * len(cells) - 2))
        Digests.unpacked(column.packed(), column.gaps())
        list(column), column[::2], column.odd(), column.same_as(column), None in column, column.count("")
        for refused in (
            functools.partial(hash_column, cells, "x"),
            functools.partial(Users, (("x", (cells,)),)),  # type: ignore[arg-type]
            functools.partial(column.compress, b""),
        ):
            with pytest.raises((TypeError, ValueError)):
                refused()


def test_nothing_is_kept_of_what_was_given() -> None:
    cells = ["a@b.example", "é" * 9, DIGEST, "", "+14155550123", None, object(), "x" * 300]
    before = [sys.getrefcount(cell) for cell in (cells[1], cells[6], cells[7])]
    use_everything(cells)
    assert [sys.getrefcount(cell) for cell in (cells[1], cells[6], cells[7])] == before


def test_no_memory_is_lost_over_many_calls() -> None:
    cells = ["a@b.example", DIGEST, "", "+14155550123", None, "x" * 300]
    count: Callable[[], int] = sys.getallocatedblocks
    for _ in range(20):
        use_everything(cells)
    gc.collect()
    before = count()
    for _ in range(200):
        use_everything(cells)
    gc.collect()
    assert count() - before < 100
