"""Columns are hashed alike in C and in Python, whatever their cells hold."""

import functools
import gc
import hashlib
import itertools
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from socialapi.bulk import rows
from socialapi.bulk.audiences import normalize, phone_numbers, phone_starts, prepare
from socialapi.bulk.audiences.cells import UserBlock
from socialapi.bulk.audiences.normalize import Unusable, hashed_column, normalizers
from socialapi.bulk.audiences.prepare import PreparedBlock, Preparer
from socialapi.bulk.inputs.null_words import NULL_WORDS, null_digests
from socialapi.bulk.rows import Values
from socialapi.models.audiences import IDENTIFIER_KINDS, IdentifierKind
from tests.bulk.audiences.test_prepare_blocks import EXAMPLES, NOW, blocks
from tests.bulk.blocks import prepared_of, rows_of, user_block
from tests.speedups.implementations import IN_C, NATIVE, REFERENCE

HASHED: Final = tuple(kind for kind in IDENTIFIER_KINDS if kind != "partner_user_id")
KINDS: Final = pytest.mark.parametrize("kind", HASHED)
DIGEST: Final = "0123456789abcdef" * 4

LETTERS: Final = st.text(
    st.sampled_from("aZ0.9@+-_' \"<>,:;()[]{}\\/\n\r\t\0\x1f\x7f\xa0é\u200b\u0130\u017f\u212a\ud800😀=!#~"), max_size=12
)
NEAR: Final = st.builds(
    "{}{}{}".format,
    st.sampled_from(("", " ", " \t ", '"', "<", "mailto:", "@", "\ufeff", "A", ".")),
    st.sampled_from(
        (
            "Ada.Lovelace+x@Mail.Example",
            "Null@x.de",
            "a@b.INVALID",
            "+1999999999",
            "a@b.c",
            "a@b",
            "a@b..c",
            "+14155550123",
            "00491",
            "Ada_1",
            "12345",
        )
    ),
    st.sampled_from(("", " ", "\t  ", '"', ">", ".", "@x.y", "\n", "\0", "7", ".0", "x" * 260)),
)
HEX: Final = st.text("0123456789abcdefABCDEF", min_size=63, max_size=65) | st.sampled_from(
    (
        *sorted(null_digests())[:9],
        DIGEST,
        DIGEST.upper(),
        "@" + DIGEST,
        "1" * 64,
        "0" * 64,
        " " + DIGEST,
        DIGEST[:-1] + "g",
    )
)
PHONE: Final = st.sampled_from(EXAMPLES) | st.from_regex(r"\+[0-9]{1,18}", fullmatch=True)
UUIDS: Final = (
    st.uuids().map(str).flatmap(lambda text: st.sampled_from((text, text.upper(), f"{text}0", text.replace("-", ""))))
)
SHORT: Final = st.text(st.sampled_from("aZ09_-.:@'="), max_size=18)
WORDS: Final = st.sampled_from(sorted(NULL_WORDS)).flatmap(
    lambda word: st.sampled_from((word, word.upper(), f"@{word}"))
)
TEXT: Final = UUIDS | SHORT | WORDS | LETTERS | NEAR | HEX | PHONE | st.text(max_size=20) | st.sampled_from(("", " "))


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
def test_a_cell_is_what_the_normaliser_makes_of_it_or_left_to_it(
    kind: IdentifierKind, cells: list[Any], is_tuple: bool
) -> None:
    found = hashed_column(kind, tuple(cells) if is_tuple else cells)
    assert len(found) == len(cells)
    for cell, value in zip(cells, found, strict=True):
        if cell is None or cell == "":
            assert value == ""
        elif value is not None:
            assert type(cell) is str
            assert value == in_python(kind, cell)


@pytest.fixture(autouse=True, scope="module")
def null_words() -> None:
    for speedups in filter(None, (REFERENCE, NATIVE)):
        for word in normalize.add_null_words():
            speedups.add_null_word(word)


def load_everywhere(cells: list[Any], region: str | None) -> None:
    """Both implementations know how these numbers are read."""
    for speedups in filter(None, (REFERENCE, NATIVE)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(phone_starts, "add_phone_start", speedups.add_phone_start)
            patch.setattr(phone_starts, "_looked_at", set())
            patch.setattr(phone_starts, "LOADING_SECONDS", math.inf)
            patch.setattr(phone_starts, "FEWEST_WORTH_LOADING", 0)
            phone_starts.load_starts(cells, region)


DIGITS: Final = st.text("0123456789", max_size=30)
PLANNED: Final = st.builds("{}{}".format, st.sampled_from(EXAMPLES).map(lambda number: number[:4]), DIGITS) | st.builds(
    "{}{}{}{}".format,
    st.sampled_from(("0", "1", "(0)", "017", "(415) ", "1-415-", "11 ", "+49 ", "+1/")),
    st.text("0123456789", min_size=3, max_size=9),
    st.sampled_from(("", "", " ", "-", "/", ".", "0.")),
    st.text("0123456789", max_size=6),
)


@IN_C
@KINDS
@given(
    cells=st.lists(TEXT | PLANNED | st.none() | NO_TEXT, max_size=9),
    is_tuple=st.booleans(),
    region=st.sampled_from(("", "US", "DE", "AR")),
)
@settings(max_examples=500)
@example(
    cells=["a@b.c" + "x" * 242, "a@b.c" + "x" * 243, "@" + "a" * 64, "g" * 64, "@", "+", "+123"],
    is_tuple=False,
    region="",
)
@example(
    cells=["0301234567", "030/1234567", "0301234/567", "030.12345.00", ".0301234567", "(030 1234567"],
    is_tuple=True,
    region="DE",
)
def test_a_column_is_the_same_in_c_and_in_python(
    kind: IdentifierKind, cells: list[Any], is_tuple: bool, region: str
) -> None:
    given_cells = tuple(cells) if is_tuple else cells
    load_everywhere(cells, region or None)
    found, expected = (each.hash_column(given_cells, kind, region) for each in (NATIVE, REFERENCE))
    assert list(found) == list(expected)
    assert (found.gaps(), found.undecided()) == (expected.gaps(), expected.undecided())


PLAIN: Final[dict[IdentifierKind, list[tuple[str, str]]]] = {
    "email": [("Ada+1@Mail.Example", "ada+1@mail.example"), ("o'x@a-b_c.d", "o'x@a-b_c.d"), (".a.@b.c.d", ".a.@b.c.d")],
    "phone_number": [
        ("+14155550123", "+14155550123"),
        ("+4930901820", "+4930901820"),
        ("+8613912345678", "+8613912345678"),
    ],
    "device_id": [
        ("AEBE52E7-03EE-455A-B3C4-E57283966239", "aebe52e7-03ee-455a-b3c4-e57283966239"),
        ("9774D56D682E549C", "9774d56d682e549c"),
    ],
    "handle": [("@Ada", "ada"), ("Ada_1", "ada_1"), ("a" * 15, "a" * 15)],
    "service_id": [("0012", "0012"), ("9" * 63, "9" * 63)],
}


@KINDS
def test_plain_cells_are_hashed_with_their_column(kind: IdentifierKind) -> None:
    raw, sent = [raw for raw, _ in PLAIN[kind]], [sent for _, sent in PLAIN[kind]]
    digests = [hashlib.sha256(each.encode()).hexdigest() for each in sent]
    for count in range(len(raw) + 1):
        assert list(hashed_column(kind, raw[:count])) == digests[:count]
    assert list(hashed_column(kind, [DIGEST, "", DIGEST.upper(), None])) == [DIGEST, "", DIGEST, ""]


@given(st.sampled_from(EXAMPLES), st.integers(0, 10**12))
def test_a_number_is_hashed_with_its_column_only_if_the_numbering_plan_leaves_it_as_it_is(
    example: str, digits: int
) -> None:
    number = example[: -len(str(digits))] + str(digits) if len(str(digits)) < len(example) - 4 else example
    (found,) = hashed_column("phone_number", [number])
    if found is not None:
        assert phone_numbers.e164(number, None) == number
        assert found == hashlib.sha256(number.encode()).hexdigest()


def test_nearly_all_countries_have_their_numbers_hashed_with_their_column() -> None:
    load_everywhere(EXAMPLES, None)
    assert hashed_column("phone_number", EXAMPLES).count(None) <= len(EXAMPLES) * 0.05


def told(prepared: PreparedBlock) -> tuple[Any, ...]:
    sent = [(row.number, row.action, sorted(row.identifiers)) for row in rows_of(prepared.blocks)]
    users = [user for run in prepared.blocks for user in run.users]
    return sent, users, prepared.rejects, prepared.warnings, prepared.cleaned


@IN_C
@given(blocks() | blocks(has_overrides=True), st.sampled_from((None, "US")))
@settings(max_examples=400)
def test_a_block_is_prepared_alike_in_c_and_in_python(block: UserBlock, region: str | None) -> None:
    found = []
    for speedups in (NATIVE, REFERENCE):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(normalize, "hash_column", speedups.hash_column)
            for module in (prepare, rows):
                patch.setattr(module, "Digests", speedups.Digests)
            patch.setattr(rows, "Users", speedups.Users)
            found.append(told(prepared_of(Preparer(now=NOW, default_region=region), block)))
    assert found[0] == found[1]


class CountingObserver:
    """Counts the values that are seen."""

    values = 0

    def saw_column(self, field: str, kind: IdentifierKind, cells: Sequence[Any], values: Values) -> None:
        self.values += len(values)

    def saw_value(self, field: str, kind: IdentifierKind, text: str, value: str, remark: str) -> None:
        self.values += 1


@pytest.mark.parametrize(
    ("size", "columns", "cell", "most"),
    [
        (700, 1, "p{}@x.example", 700),
        (20, 300, "p{}@x.example", 16),
        (700, 1, "nobody", 50),
        (5, 300, "<p{}@x.example>", 1),
        (5, 2, ["<p{}@x.example>"] * 99, 1),
    ],
)
def test_a_block_is_prepared_in_parts_of_few_rows_and_values(size: int, columns: int, cell: Any, most: int) -> None:
    cells = [cell.format(n) if isinstance(cell, str) else [each.format(n) for each in cell] for n in range(size)]
    block = user_block(*[(f"email {at}", "email", cells) for at in range(columns)])
    preparer, observer = Preparer(now=NOW), CountingObserver()
    preparer.observer = observer
    seen, prepared = [0], list[int]()
    for part in preparer.prepare(block):
        seen.append(observer.values)
        prepared.append(len(part.rejects) + sum(map(len, part.blocks)))
    assert max(after - before for before, after in itertools.pairwise(seen)) <= most
    assert (sum(prepared), max(prepared)) == (size, most)


@given(st.lists(TEXT | st.none(), max_size=9))
def test_of_a_column_of_digests_no_raw_value_is_hashed(cells: list[str | None]) -> None:
    for speedups in filter(None, (NATIVE, REFERENCE)):
        found = speedups.hash_column(cells, "digest")
        for cell, value in zip(cells, found, strict=True):
            text = (cell or "").strip(" \t")
            is_digest = len(text) == 64 and set(text.lower()) <= set("0123456789abcdef")
            is_digest = is_digest and text.lower() not in null_digests()
            assert value == (text.lower() if is_digest else None if text else "")


@IN_C
def test_what_is_no_column_or_kind_is_refused() -> None:
    for cells, kind in (("a@b.example", "email"), ({"a": 1}, "email"), (None, "email"), ([], 7), ([], b"email")):
        with pytest.raises(TypeError):
            NATIVE.hash_column(cells, kind)
    for word, error in ((7, TypeError), ("", ValueError), ("a" * 16, ValueError), ("g" * 64, ValueError)):
        for speedups in (NATIVE, REFERENCE):
            with pytest.raises(error):
                speedups.add_null_word(word)
    for name in ("partner_user_id", "", "é", "\ud800"):
        with pytest.raises(ValueError, match="kind must be a hashed kind"):
            NATIVE.hash_column([], name)


@pytest.mark.parametrize("speedups", [each for each in (NATIVE, REFERENCE) if each is not None])
@pytest.mark.parametrize(
    "start",
    [
        *(("us", "+1", "1", "4155", 10), ("USA", "+1", "1", "4155", 10), ("É", "+1", "1", "4155", 10)),
        *(("US", "", "1", "4155", 10), ("US", "+1234", "1", "4155", 10), ("US", "+1", "11", "4155", 10)),
        *(("US", "+1", "1", "415", 10), ("US", "+1", "1", "1415", 10), ("US", "+1", "1", "41 5", 10)),
        *(("US", "+1", "1", "4155", 4), ("US", "+1", "1", "4155", 32), ("US", "+1", "1", "4155", -1)),
    ],
)
def test_a_start_of_phone_numbers_for_which_there_is_no_room_is_refused(speedups: Any, start: tuple[Any, ...]) -> None:
    speedups.add_phone_start("ZZ", "+1", "0", "04155", 10)
    for refused in (start, ("ZZ", "+1", "", "0415", 10)):
        with pytest.raises(ValueError, match=r"a (start|region) must"):
            speedups.add_phone_start(*refused)


def use_everything(cells: list[Any]) -> None:
    for kind in HASHED:
        column = NATIVE.hash_column(cells, kind)
        users = NATIVE.Users((("email", (column, column[:])), ("partner_user_id", (("x",) * len(cells),))))
        list(users[1:]), users.render(b",", b"["), users.fitting(9, 1, 1_000)
        NATIVE.Digests.joined((column, column[2:])).compress(bytes(2 * len(cells) - 2))
        NATIVE.Digests.unpacked(column.packed(), column.gaps())
        list(column), column[::2], column.undecided(), column.same_as(column), None in column, column.count("")
        for refused in (
            functools.partial(NATIVE.hash_column, cells, "x"),
            functools.partial(NATIVE.Users, (("x", (cells,)),)),
            functools.partial(column.compress, b""),
        ):
            with pytest.raises((TypeError, ValueError)):
                refused()


@IN_C
def test_nothing_is_kept_of_what_was_given() -> None:
    cells = ["a@b.example", "é" * 9, DIGEST, "", "+14155550123", None, object(), "x" * 300]
    before = [sys.getrefcount(cell) for cell in (cells[1], cells[6], cells[7])]
    use_everything(cells)
    assert [sys.getrefcount(cell) for cell in (cells[1], cells[6], cells[7])] == before


@IN_C
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
