"""Bodies byte for byte, and the arithmetic that says beforehand how long they are."""

import datetime
from typing import Final

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.bulk.batches import PACKINGS, Batch, Packer, Packing
from socialapi.bulk.rows import ROWS_PER_CHUNK, Action, Row
from socialapi.models.audiences import Operations
from socialapi.models.rules import broken_rules

DIGEST: Final = "49e0be2aeccfb51a8dee4c945c8a70a9ac500cf6f5cb08112575f74db9b1470d"
UPDATE: Final = Action("Update")
DELETE: Final = Action("Delete")
TIMED: Final = Action("Update", "2090-01-01T00:00:00Z", "2091-06-30T12:00:00Z")
EXPIRING: Final = Action("Delete", None, "2091-06-30T12:00:00Z")


def row(number: int, action: Action = UPDATE, user_json: bytes | None = None) -> Row:
    return Row(number, action, (f"partner_user_id:{number}",), user_json or b'{"partner_user_id":["%d"]}' % number)


def packer(packing: Packing, *, max_operations: int = 2_500, max_bytes: int = 5_000_000) -> Packer:
    return Packer(packing, max_operations=max_operations, max_bytes=max_bytes)


def filled(packer: Packer, rows: list[Row]) -> Batch:
    batch = packer.new_batch()
    assert all(packer.add(batch, each) for each in rows)
    return batch


def body(packer: Packer, rows: list[Row]) -> bytes:
    return b"".join(packer.encode(packer.operations(rows)))


ROWS: Final = [
    row(1, UPDATE, b'{"email":["%s"]}' % DIGEST.encode()),
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


@pytest.mark.parametrize(
    ("packing", "operations"), [("single", [[1], [2], [3], [4], [5]]), ("packed", [[1, 3], [2, 5], [4]])]
)
def test_the_index_of_an_operation_leads_back_to_its_rows(packing: Packing, operations: list[list[int]]) -> None:
    found = packer(packing).operations(ROWS)
    assert [[each.number for each in operation] for operation in found] == operations


ANY_ROWS: Final = st.lists(
    st.builds(
        row,
        st.integers(0, 10**9),
        st.sampled_from((UPDATE, DELETE, TIMED, EXPIRING)),
        st.binary(min_size=2, max_size=60).map(lambda text: b'{"partner_user_id":["' + text.hex().encode() + b'"]}'),
    ),
    max_size=60,
)


@given(ANY_ROWS, st.sampled_from(PACKINGS), st.integers(1, 8), st.integers(300, 2_000))
def test_every_body_is_as_long_as_was_reckoned_and_within_both_bounds(
    rows: list[Row], packing: Packing, max_operations: int, max_bytes: int
) -> None:
    one = packer(packing, max_operations=max_operations, max_bytes=max_bytes)
    batches, current = [], one.new_batch()
    for each in rows:
        assert one.alone_fits(each)
        if not one.add(current, each):
            batches.append(current)
            current = one.new_batch()
            assert one.add(current, each)
    batches.append(current)
    assert list(one.split(rows)) == [batch.rows for batch in batches if batch.rows]
    for batch in batches:
        text = body(one, batch.rows)
        assert batch.size_bytes == len(text) <= max_bytes
        assert len(orjson.loads(text)) == len(one.operations(batch.rows)) <= max_operations
    assert [each for batch in batches for each in batch.rows] == rows
    assert [batch.number for batch in batches] == list(range(1, len(batches) + 1))


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_batch_is_full_at_exactly_5_000_000_bytes(packing: Packing) -> None:
    one = packer(packing)
    batch = filled(one, [row(1, UPDATE, b'{"partner_user_id":["' + b"x" * 4_999_000 + b'"]}')])
    room = 5_000_000 - batch.size_bytes - 1 - (len(body(one, [row(2, UPDATE, b"#")])) - 3 if packing == "single" else 0)
    assert not one.add(batch, row(2, UPDATE, b"#" * (room + 1)))
    assert one.add(batch, row(2, UPDATE, b"#" * room))
    assert batch.size_bytes == len(body(one, batch.rows)) == 5_000_000
    assert not one.add(batch, row(3, UPDATE, b"#"))


def test_a_batch_is_full_at_exactly_2_500_operations() -> None:
    one = packer("single")
    batch = filled(one, [row(number) for number in range(2_500)])
    assert not one.add(batch, row(2_500))
    assert len(orjson.loads(body(one, batch.rows))) == 2_500


def test_packed_a_batch_is_full_at_so_many_different_operations_and_takes_more_rows_of_these() -> None:
    one = packer("packed", max_operations=2)
    batch = filled(one, [row(1, UPDATE), row(2, DELETE), row(3, UPDATE), row(4, DELETE)])
    assert not one.add(batch, row(5, TIMED))
    assert one.add(batch, row(6, UPDATE))
    assert len(orjson.loads(body(one, batch.rows))) == 2


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_row_that_no_request_can_hold_is_recognised_at_the_byte(packing: Packing) -> None:
    one = packer(packing)
    frame = len(body(one, [row(1, TIMED, b"#")])) - 1
    assert one.alone_fits(row(1, TIMED, b"#" * (5_000_000 - frame)))
    assert not one.alone_fits(row(1, TIMED, b"#" * (5_000_001 - frame)))


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_large_body_is_encoded_in_parts_of_at_most_2_500_rows(packing: Packing) -> None:
    one = packer(packing)
    rows = [row(number) for number in range(2 * ROWS_PER_CHUNK + 1)]
    parts = list(one.encode(one.operations(rows)))
    assert max(part.count(b"partner_user_id") for part in parts) == ROWS_PER_CHUNK
    users = [user for operation in orjson.loads(b"".join(parts)) for user in operation["params"]["users"]]
    assert users == [{"partner_user_id": [str(number)]} for number in range(2 * ROWS_PER_CHUNK + 1)]


def test_times_that_are_different_for_every_row_do_not_pile_up() -> None:
    one = packer("single", max_operations=10_000)
    batch = one.new_batch()
    for number in range(3 * ROWS_PER_CHUNK):
        assert one.add(batch, row(number, Action("Update", None, f"2091-01-01T00:00:00.{number:06d}Z")))
    assert len(one._frames) <= ROWS_PER_CHUNK + 1
    assert batch.size_bytes == len(body(one, batch.rows))
