"""A block of rows is prepared as its rows are, one by one and in parts."""

import base64
import datetime
import hashlib
from typing import Any, Final

import phonenumbers
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from socialapi.bulk.audiences.cells import UserBlock
from socialapi.bulk.audiences.prepare import PreparedBlock, Preparer
from socialapi.bulk.inputs.columns import Override
from socialapi.models.audiences import DO_NOT_REACH_KINDS, IDENTIFIER_KINDS, IdentifierKind
from socialapi.reports import ROUNDED_ID, RowIssue
from tests.bulk.blocks import Column, prepared_of, rows_of, user_block

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
OVERRIDES: Final[tuple[tuple[Override, tuple[Any, ...]], ...]] = (
    ("operation_type", (None, "Delete", "?", 7)),
    ("effective_at", (None, "2026-03-01T09:00:00Z", datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC))),
    ("expires_at", (None, "2026-04-01", "", datetime.date(2026, 4, 1))),
)
MOODS: Final = {"good": (9, 0, 0), "mixed": (3, 1, 1), "odd": (1, 2, 2), "blank": (0, 1, 0), "holes": (4, 2, 0)}
"""How many good, blank and odd cells a column has among them."""


NO_TEXT: Final = st.sampled_from((None, 12, 1.5, True, 2**70, (), ["1", 13], [None, "a@b.example", "nobody"]))
"""What cells of typed sources hold, in the place of texts."""


def cells(kind: IdentifierKind, mood: str, *, is_text: bool) -> st.SearchStrategy[Any]:
    good, blank, odd = MOODS[mood]
    return st.one_of(*[GOOD[kind]] * good, *[BLANK] * blank, *[ODD] * odd, *([] if is_text else [NO_TEXT]))


@st.composite
def blocks(draw: st.DrawFn, *, has_overrides: bool = False) -> UserBlock:
    """Of any columns, several of a kind among them, with equal cells, rows of blanks, short rows and unreadable ones."""
    size, is_text = draw(st.integers(0, 8)), draw(st.booleans())
    columns: list[Column] = []
    for at, kind in enumerate(draw(st.lists(st.sampled_from(IDENTIFIER_KINDS), max_size=4))):
        cell = cells(kind, draw(st.sampled_from(sorted(MOODS))), is_text=is_text)
        columns.append((f"column {at}", kind, draw(st.lists(cell, min_size=size, max_size=size))))
    repeated = draw(st.lists(st.sampled_from(columns), max_size=1)) if columns else []
    columns += [("the same", key, [draw(st.sampled_from((c, ""))) for c in some]) for _, key, some in repeated]
    short = draw(st.dictionaries(st.integers(0, 7), st.integers(0, 4), max_size=3))
    columns = [
        (name, key, [cell if at < short.get(row, 9) else "" for row, cell in enumerate(some)])
        for at, (name, key, some) in enumerate(columns)
    ]
    if has_overrides:
        columns += [
            (key, key, draw(st.lists(st.sampled_from(choices), min_size=size, max_size=size)))
            for key, choices in draw(st.lists(st.sampled_from(OVERRIDES), unique=True))
        ]
    faults = draw(st.dictionaries(st.integers(0, size - 1), st.just("is blank"), max_size=3)) if size else {}
    return user_block(*columns, size=size, first_number=draw(st.integers(1, 1_000)), faults=faults, is_text=is_text)


Told = tuple[list[Any], list[RowIssue], list[RowIssue], list[RowIssue]]


def told(prepared: PreparedBlock) -> Told:
    """All of it as values. The identifiers are a set, since nothing depends on their order."""
    users = [user for run in prepared.blocks for user in run.users]
    rows = [
        (row.number, row.action, set(row.identifiers), user)
        for row, user in zip(rows_of(prepared.blocks), users, strict=True)
    ]
    assert all(len(row.identifiers) == len(set(row.identifiers)) for row in rows_of(prepared.blocks))
    return rows, prepared.rejects, prepared.warnings, prepared.cleaned


def one_by_one(preparer: Preparer, block: UserBlock) -> Told:
    """What is said of the rows of a block when each of them is a block of its own."""
    parts = [told(prepared_of(preparer, block.part(at, at + 1))) for at in range(len(block))]
    rows, rejects, warnings, cleaned = ([each for some in parts for each in some[at]] for at in range(4))
    return rows, rejects, warnings, cleaned


@pytest.mark.slow
@settings(max_examples=500)
@given(blocks(), st.sampled_from((None, "US")), st.sampled_from(("Update", "Delete")))
def test_a_block_has_the_rows_the_rejects_and_the_warnings_that_its_rows_have_one_by_one(
    block: UserBlock, region: str | None, operation: str
) -> None:
    preparer = Preparer(now=NOW, default_region=region, operation=operation)
    before = [list(column) for column in block.columns]
    assert told(prepared_of(preparer, block)) == one_by_one(preparer, block)
    assert [list(column) for column in block.columns] == before


@given(blocks(has_overrides=True), st.data())
def test_a_block_has_the_rows_the_rejects_and_the_warnings_of_its_parts(block: UserBlock, data: st.DataObject) -> None:
    preparer, middle = Preparer(now=NOW, default_region="US"), data.draw(st.integers(0, len(block)))
    whole = told(prepared_of(preparer, block))
    parts = [told(prepared_of(preparer, part)) for part in (block.part(0, middle), block.part(middle, len(block)))]
    assert whole == tuple(first + second for first, second in zip(*parts, strict=True))


@given(blocks(has_overrides=True))
def test_a_block_whose_rows_say_for_themselves_what_is_done_is_prepared_as_its_rows_are(block: UserBlock) -> None:
    preparer = Preparer(now=NOW)
    assert told(prepared_of(preparer, block)) == one_by_one(preparer, block)


@given(blocks())
@example(user_block(("Handle", "handle", [DIGEST]), ("E-Mail", "email", [DIGEST])))
def test_a_block_with_kinds_that_are_not_taken_is_prepared_as_its_rows_are(block: UserBlock) -> None:
    preparer = Preparer(now=NOW, kinds=DO_NOT_REACH_KINDS)
    assert told(prepared_of(preparer, block)) == one_by_one(preparer, block)


MD5: Final = hashlib.md5(b"ada").hexdigest()
IN_BASE64: Final = base64.b64encode(bytes.fromhex(DIGEST)).decode()


@pytest.mark.parametrize(
    "name", ["hashed_device_id", "idfa_hash", "gaid hash", "madid_hashed", "hashed_idfa_sha256", "IDFA SHA-256"]
)
@pytest.mark.parametrize(
    ("cell", "expected"),
    [(DIGEST, DIGEST), (IN_BASE64, DIGEST), (MD5, "(MD5)"), (MD5[:16], "is not a SHA-256 digest"), ("", "identifier")],
)
def test_a_column_that_is_named_hashed_has_no_device_ids_but_digests(name: str, cell: str, expected: str) -> None:
    prepared = prepared_of(Preparer(now=NOW), user_block((name, "device_id", [cell])))
    sent = [value for row in rows_of(prepared.blocks) for _, value in row.identifiers]
    assert sent == ([DIGEST] if expected == DIGEST else [])
    assert all(expected in each.reason for each in prepared.rejects)


@pytest.mark.parametrize(
    "name", ["gaid_unhashed", "not_hashed", "device id (not hashed)", "plain (no hash)", "Non-Hashed"]
)
def test_a_column_that_is_named_not_hashed_has_device_ids(name: str) -> None:
    device_id = "5d1c1a1e-7b3f-4c52-9a64-20f8c3e6b7d9"
    prepared = prepared_of(Preparer(now=NOW), user_block((name, "device_id", [device_id])))
    assert (len(list(rows_of(prepared.blocks))), prepared.rejects, prepared.warnings) == (1, [], [])


@pytest.mark.parametrize(
    ("ids", "warned"),
    [
        (["1234567890123450000", "7", "1987654321098760000"], [1, 3]),
        ([1234567890123450000, 7, 1987654321098760000], [1, 3]),
        (["1234567890123450000", "1987654321098760001"], []),
        (["1523456789012345700", "1523456789012346600", "7", "1523456781234567200"], [1, 2, 4]),
        (["1523456789012345700", "1523456789012346600", "1523456781234567210"], []),
        (["1234567890123450000"], []),  # by chance
        (["1523456789012345700", "1523456789012346600"], []),
        (["1234567890123450", "1234567890123460"], []),
        (["783214000000000", "12000000"], []),
        ([2**20_000, None, "x", DIGEST], []),
    ],
)
def test_user_ids_that_all_end_in_zeros_as_programs_round_them_are_sent_with_a_warning(
    ids: list[Any], warned: list[int]
) -> None:
    prepared = prepared_of(Preparer(now=NOW), user_block(("x_user_id", "service_id", ids)))
    assert [each.row for each in prepared.cleaned if each.reason == ROUNDED_ID] == warned
    assert set(warned) <= {row.number for row in rows_of(prepared.blocks)}
