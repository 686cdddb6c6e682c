"""Bodies byte for byte, and the arithmetic that says beforehand how long they are."""

import datetime
from collections.abc import Iterable
from typing import Final

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.bulk.audiences.batches import PACKINGS, PART_BYTES, Batch, Packer, Packing
from socialapi.bulk.inputs.reader import ROWS_PER_BLOCK
from socialapi.bulk.rows import Action, Identifier, Row, RowBlock
from socialapi.models.audiences import IdentifierKind, Operations
from socialapi.models.validation import broken_rules
from tests.bulk.blocks import blocks_of, rows_of

DIGEST: Final = "49e0be2aeccfb51a8dee4c945c8a70a9ac500cf6f5cb08112575f74db9b1470d"
UPDATE: Final = Action("Update")
DELETE: Final = Action("Delete")
TIMED: Final = Action("Update", "2090-01-01T00:00:00Z", "2091-06-30T12:00:00Z")
EXPIRING: Final = Action("Delete", None, "2091-06-30T12:00:00Z")


def row(number: int, action: Action = UPDATE, value: str = "", kind: IdentifierKind = "partner_user_id") -> Row:
    return Row(number, action, ((kind, value or str(number)),))


def packer(packing: Packing, *, max_operations: int = 2_500, max_bytes: int = 5_000_000) -> Packer:
    return Packer(packing, max_operations=max_operations, max_bytes=max_bytes)


def filled(packer: Packer, rows: list[Row]) -> Batch:
    batch = Batch()
    assert all(packer.add(batch, run) == len(run) for run in blocks_of(rows))
    assert batch.row_count == len(rows)
    return batch


def one(row: Row) -> RowBlock:
    (run,) = blocks_of([row])
    return run


def body(packer: Packer, rows: list[Row]) -> bytes:
    return b"".join(packer.encode(blocks_of(rows)))


def told(rows: Iterable[Row]) -> list[tuple[int, Action, tuple[Identifier, ...]]]:
    """Rows as values, since they are compared by identity."""
    return [(each.number, each.action, each.identifiers) for each in rows]


ROWS: Final = [
    row(1, UPDATE, DIGEST, "email"),
    row(2, TIMED),
    row(3, UPDATE),
    row(4, EXPIRING),
    row(5, TIMED),
]


def test_single_packing_makes_an_operation_of_every_row() -> None:
    assert body(packer("single"), ROWS) == (
        b'[{"operation_type":"Update","params":{"users":[{"email":["'
        b"49e0be2aeccfb51a8dee4c945c8a70a9ac500cf6f5cb08112575f74db9b1470d"
        b'"]}]}},'
        b'{"operation_type":"Update","params":{"users":[{"partner_user_id":["2"]}],'
        b'"effective_at":"2090-01-01T00:00:00Z","expires_at":"2091-06-30T12:00:00Z"}},'
        b'{"operation_type":"Update","params":{"users":[{"partner_user_id":["3"]}]}},'
        b'{"operation_type":"Delete","params":{"users":[{"partner_user_id":["4"]}],'
        b'"expires_at":"2091-06-30T12:00:00Z"}},'
        b'{"operation_type":"Update","params":{"users":[{"partner_user_id":["5"]}],'
        b'"effective_at":"2090-01-01T00:00:00Z","expires_at":"2091-06-30T12:00:00Z"}}]'
    )


def test_packed_packing_groups_rows_by_what_is_done_in_the_order_of_the_first_of_each() -> None:
    assert body(packer("packed"), ROWS) == (
        b'[{"operation_type":"Update","params":{"users":[{"email":["'
        b"49e0be2aeccfb51a8dee4c945c8a70a9ac500cf6f5cb08112575f74db9b1470d"
        b'"]},{"partner_user_id":["3"]}]}},'
        b'{"operation_type":"Update","params":{"users":[{"partner_user_id":["2"]},{"partner_user_id":["5"]}],'
        b'"effective_at":"2090-01-01T00:00:00Z","expires_at":"2091-06-30T12:00:00Z"}},'
        b'{"operation_type":"Delete","params":{"users":[{"partner_user_id":["4"]}],'
        b'"expires_at":"2091-06-30T12:00:00Z"}}]'
    )


@pytest.mark.parametrize("packing", PACKINGS)
def test_the_service_takes_what_is_encoded(packing: Packing) -> None:
    assert not broken_rules(
        Operations, orjson.loads(body(packer(packing), ROWS)), now=datetime.datetime.now(datetime.UTC)
    )


ANY_ROWS: Final = st.lists(
    st.builds(
        row,
        st.integers(0, 10**9),
        st.sampled_from((UPDATE, DELETE, TIMED, EXPIRING)),
        st.binary(min_size=2, max_size=60).map(bytes.hex),
    ),
    max_size=60,
)


@given(ANY_ROWS, st.sampled_from(PACKINGS), st.integers(1, 8), st.integers(300, 2_000))
def test_every_body_is_as_long_as_was_reckoned_and_within_both_bounds(
    rows: list[Row], packing: Packing, max_operations: int, max_bytes: int
) -> None:
    packs = packer(packing, max_operations=max_operations, max_bytes=max_bytes)
    batches, current = [], Batch()
    for each in rows:
        assert packs.alone_fits(one(each), 0)
        if not packs.add(current, one(each)):
            batches.append(current)
            current = Batch()
            assert packs.add(current, one(each)) == 1
    batches.append(current)
    for batch in batches:
        text = body(packs, rows_of(batch.blocks))
        assert batch.size_bytes == len(text) <= max_bytes
        assert b"".join(packs.encode(batch.blocks)) == text
        assert len(orjson.loads(text)) == len(packs.operations(batch.blocks)) <= max_operations
    assert [each for batch in batches for each in told(rows_of(batch.blocks))] == told(rows)
    assert [batch.row_count for batch in batches] == [len(rows_of(batch.blocks)) for batch in batches]


@given(ANY_ROWS, st.sampled_from(PACKINGS), st.integers(1, 8), st.integers(300, 2_000), st.data())
def test_of_a_run_so_many_rows_fit_as_would_one_by_one_however_it_is_cut(
    rows: list[Row], packing: Packing, max_operations: int, max_bytes: int, data: st.DataObject
) -> None:
    packs = packer(packing, max_operations=max_operations, max_bytes=max_bytes)
    single, together = Batch(), Batch()
    for run in blocks_of(rows):
        middle = data.draw(st.integers(0, len(run)))
        fitted = packs.add(together, run.part(0, middle))
        if fitted == middle:
            fitted += packs.add(together, run.part(middle, len(run)))
        expected = next((n for n in range(len(run)) if not packs.add(single, run.part(n, n + 1))), len(run))
        assert fitted == expected
        assert (together.row_count, together.size_bytes, together.actions) == (
            *(single.row_count, single.size_bytes, single.actions),
        )
        assert told(rows_of(together.blocks)) == told(rows_of(single.blocks))
        if fitted < len(run):
            break


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_batch_is_full_at_exactly_5_000_000_bytes(packing: Packing) -> None:
    packs = packer(packing)
    batch = filled(packs, [row(1, UPDATE, "x" * 4_999_000)])
    frame = len(body(packs, [row(2, UPDATE, "#")])) - 3
    room = 5_000_000 - batch.size_bytes - 1 - (frame if packing == "single" else len('{"partner_user_id":[""]}'))
    assert not packs.add(batch, one(row(2, UPDATE, "#" * (room + 1))))
    assert packs.add(batch, one(row(2, UPDATE, "#" * room))) == 1
    assert batch.size_bytes == len(body(packs, rows_of(batch.blocks))) == 5_000_000
    assert not packs.add(batch, one(row(3, UPDATE, "#")))


def test_a_batch_is_full_at_exactly_2_500_operations() -> None:
    packs = packer("single")
    batch = filled(packs, [row(number) for number in range(2_500)])
    assert not packs.add(batch, one(row(2_500)))
    assert len(orjson.loads(body(packs, rows_of(batch.blocks)))) == 2_500
    (run,) = blocks_of([row(number) for number in range(2_501)])
    assert packs.add(Batch(), run) == 2_500


def test_packed_a_batch_is_full_at_so_many_different_operations_and_takes_more_rows_of_these() -> None:
    packs = packer("packed", max_operations=2)
    batch = filled(packs, [row(1, UPDATE), row(2, DELETE), row(3, UPDATE), row(4, DELETE)])
    assert not packs.add(batch, one(row(5, TIMED)))
    assert packs.add(batch, one(row(6, UPDATE))) == 1
    assert len(orjson.loads(body(packs, rows_of(batch.blocks)))) == 2


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_row_that_no_request_can_hold_is_recognised_at_the_byte(packing: Packing) -> None:
    packs = packer(packing)
    frame = len(body(packs, [row(1, TIMED, "#")])) - 1
    fits, does_not = row(1, TIMED, "#" * (5_000_000 - frame)), row(1, TIMED, "#" * (5_000_001 - frame))
    assert packs.alone_fits(one(fits), 0)
    assert packs.add(Batch(), one(fits)) == 1
    assert not packs.alone_fits(one(does_not), 0)
    assert not packs.add(Batch(), one(does_not))


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_large_body_is_encoded_in_parts_of_so_many_rows_at_most(packing: Packing) -> None:
    packs = packer(packing)
    numbers = range(2 * ROWS_PER_BLOCK + 1)
    rows = [Row(number, UPDATE, (("email", DIGEST), ("phone_number", f"{number:064}"))) for number in numbers]
    parts = list(packs.encode(blocks_of(rows)))
    assert max(part.count(b"email") for part in parts) == ROWS_PER_BLOCK
    sent = [user for operation in orjson.loads(b"".join(parts)) for user in operation["params"]["users"]]
    assert sent == [{"email": [DIGEST], "phone_number": [f"{number:064}"]} for number in numbers]


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("actions", [(UPDATE,), (UPDATE, TIMED)])
def test_small_rows_and_short_runs_share_a_part_until_it_is_large_enough(
    packing: Packing, actions: tuple[Action, ...]
) -> None:
    packs = packer(packing)
    rows = [row(number, actions[number % len(actions)]) for number in range(4 * ROWS_PER_BLOCK + 1)]
    parts = list(packs.encode(blocks_of(rows)))
    largest = ROWS_PER_BLOCK * len(body(packs, [row(4 * ROWS_PER_BLOCK, TIMED)]))
    assert all(PART_BYTES <= len(part) <= PART_BYTES + largest for part in parts[:-1])
    assert len(parts) <= 1 + len(b"".join(parts)) / PART_BYTES
    sent = [user for operation in orjson.loads(b"".join(parts)) for user in operation["params"]["users"]]
    grouped = [each for action in actions for each in rows if each.action == action]
    assert sent == [{"partner_user_id": [str(each.number)]} for each in (grouped if packing == "packed" else rows)]


def test_times_that_are_different_for_every_row_do_not_pile_up() -> None:
    packs = packer("single", max_operations=10_000)
    batch = Batch()
    for number in range(3 * ROWS_PER_BLOCK):
        assert packs.add(batch, one(row(number, Action("Update", None, f"2091-01-01T00:00:00.{number:06d}Z"))))
    assert len(packs._frames) <= ROWS_PER_BLOCK + 1
    assert batch.size_bytes == len(body(packs, rows_of(batch.blocks)))
