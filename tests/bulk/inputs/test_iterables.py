"""Reading records that the program makes itself."""

import asyncio
import datetime
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from socialapi.bulk.audiences.columns import IdentifierColumns
from socialapi.bulk.inputs.formats import open_records
from socialapi.bulk.inputs.reader import ROWS_PER_BLOCK, Selection
from socialapi.bulk.products.feed import ProductColumns
from socialapi.errors import InvalidInput
from socialapi.models.audiences import (
    IDENTIFIER_KINDS,
    AudienceUser,
    DoNotReachOperation,
    DoNotReachParams,
    Operation,
)
from socialapi.models.products import Product
from tests.bulk.input_files import do_not_reach_user, open_users, read, read_until_error, user, values
from tests.bulk.model_service import ModelService, job_of
from tests.support.rounds import counted_rounds

MIDNIGHT = datetime.datetime(2026, 1, 31, tzinfo=datetime.UTC)


async def asynchronously(items: list[Any]) -> AsyncIterator[Any]:
    for item in items:
        yield item


@pytest.fixture(params=["list", "generator", "asynchronous"])
def given_as(request: pytest.FixtureRequest) -> Any:
    ways = {"list": list, "generator": iter, "asynchronous": asynchronously}
    return ways[request.param]


async def test_users_are_rows(given_as: Any) -> None:
    users = [
        user(email=["a@b.example", "c@d.example"], handle="x"),
        do_not_reach_user(phone_number="1"),
        user(),
    ]
    rows = await read(given_as(users))
    assert [row.number for row in rows] == [1, 2, 3]
    assert rows[0].identifiers == [
        ("email", "email", "a@b.example"),
        ("email", "email", "c@d.example"),
        ("handle", "handle", "x"),
    ]
    assert rows[1].identifiers == [("phone_number", "phone_number", "1")]
    assert rows[2].identifiers == []


@pytest.mark.parametrize(
    ("item", "selection", "message"),
    [
        (user(email="a@b.example"), ProductColumns(), "item 2 is an AudienceUser: give Product objects, mappings"),
        (do_not_reach_user(email="a@b.example"), ProductColumns(), "item 2 is a DoNotReachUser: give Product"),
        (Operation.update([]), ProductColumns(), "item 2 is an Operation: give Product"),
        (
            Product(
                id="A",
                title="Mug",
                description="Enamel",
                availability="in stock",
                condition="new",
                price="9.50 EUR",
                link="https://shop.example/a",
                image_link="https://shop.example/a.png",
            ),
            IdentifierColumns.of(None, IDENTIFIER_KINDS),
            "item 2 is or holds a Product, where an AudienceUser, an Operation or a mapping is expected",
        ),
    ],
    ids=lambda each: type(each).__name__,
)
async def test_a_model_of_another_job_ends_the_input(
    given_as: Any, item: Any, selection: Selection[Any], message: str
) -> None:
    """Its fields would be columns without a meaning, and every row of it would be rejected one by one."""
    async with open_records(given_as([{"id": "1", "email": "a@b.example"}, item]), selection) as reader:
        assert len(await reader.read_block() or ()) == 1
        with pytest.raises(InvalidInput, match=message):
            await reader.read_block()


async def test_an_operation_is_a_row_for_each_of_its_users(given_as: Any) -> None:
    users = [user(email="a@b.example"), user(email="c@d.example")]
    operations = [
        Operation.update(users, effective_at=MIDNIGHT),
        Operation.delete([]),
        DoNotReachOperation(
            "Delete", DoNotReachParams(users=(do_not_reach_user(email="e@f.example"),), expires_at=MIDNIGHT)
        ),
    ]
    rows = await read(given_as(operations))
    assert [(row.number, row.operation_type, row.effective_at, row.expires_at) for row in rows] == [
        (1, "Update", MIDNIGHT, None),
        (2, "Update", MIDNIGHT, None),
        (3, "Delete", None, None),
        (4, "Delete", None, MIDNIGHT),
    ]
    assert values(rows) == [["a@b.example"], ["c@d.example"], [], ["e@f.example"]]


async def test_an_operation_with_more_users_than_a_chunk_is_split(given_as: Any) -> None:
    operation = Operation.update([user(email="a@b.example")] * (2 * ROWS_PER_BLOCK + 1))
    async with open_users(given_as([operation, user(handle="x")])) as reader:
        chunks = [chunk async for chunk in reader]
    assert [len(chunk) for chunk in chunks] == [ROWS_PER_BLOCK, ROWS_PER_BLOCK, 2]
    assert chunks[-1].first_number == 2 * ROWS_PER_BLOCK + 1


async def test_mappings_have_the_columns_of_their_keys(given_as: Any) -> None:
    records = [
        {"Email": "a@b.example", "id": 5, 7: "x", "expires_at": MIDNIGHT, "operation_type": "delete"},
        {"service_id": 12, "email": None, "handle": 1.5},
    ]
    rows = await read(given_as(records))
    assert values(rows) == [["a@b.example"], ["12"]]
    assert (rows[0].operation_type, rows[0].effective_at, rows[0].expires_at) == ("delete", None, MIDNIGHT)
    assert rows[1].unusable == (("handle", "is neither text nor a whole number"),)


async def test_values_of_a_user_that_are_no_texts_are_unusable_not_fatal() -> None:
    odd = user(service_id=[1, True, 10**5_000], email=[b"\xff"])
    rows = await read([odd])
    assert values(rows) == [["1"]]
    reason = "is neither text nor a whole number"
    assert rows[0].unusable == (("email", reason), ("service_id", reason), ("service_id", reason))


async def test_an_override_that_is_neither_text_nor_time_is_not_taken_for_absent() -> None:
    rows = await read(
        [{"email": "a@b.example", "operation_type": 5, "effective_at": datetime.date(2026, 1, 1), "expires_at": 5}]
    )
    assert (rows[0].operation_type, rows[0].effective_at) == ("?", "2026-01-01")


async def test_mappings_without_identifiers_are_refused_unless_others_have_some(given_as: Any) -> None:
    with pytest.raises(InvalidInput, match='no column of identifiers was found; the columns are: "name"'):
        await read(given_as([{"name": "x"}] * 3))
    assert len(await read(given_as([{"name": "x"}, user(email="a@b.example")]))) == 2


async def test_an_item_of_another_type_is_named_by_type_and_position(given_as: Any) -> None:
    rows, error = await read_until_error(given_as([user(handle="x"), "secret@example.com"]), InvalidInput)
    assert len(rows) == 1
    assert str(error) == "item 2 is or holds a str, where an AudienceUser, an Operation or a mapping is expected"
    with pytest.raises(InvalidInput, match="item 1 is or holds an int"):
        await read(given_as([Operation.update([5])]))  # type: ignore[list-item]


async def test_users_of_an_operation_may_be_mappings() -> None:
    operation = Operation.delete([{"email": "a@b.example"}])
    rows = await read([operation])
    assert values(rows) == [["a@b.example"]]
    assert rows[0].operation_type == "Delete"


async def test_rows_come_in_chunks_and_the_share_that_is_read_is_known_of_collections(given_as: Any) -> None:
    records = given_as([user(handle=f"user{i}") for i in range(2 * ROWS_PER_BLOCK)])
    async with open_users(records) as reader:
        found = [(len(chunk), reader.fraction_read) async for chunk in reader]
        assert await reader.read_block() is None
    known = isinstance(records, list)
    assert found == [(ROWS_PER_BLOCK, 0.5 if known else None), (ROWS_PER_BLOCK, 1.0 if known else None)]


def broken(rows: int) -> Iterator[AudienceUser]:
    for i in range(rows):
        yield user(handle=f"user{i}")
    raise ConnectionError("the database went away")


async def broken_asynchronously(rows: int) -> AsyncIterator[AudienceUser]:
    for each in broken(rows):
        yield each


@pytest.mark.parametrize("source", [broken, broken_asynchronously])
@pytest.mark.parametrize("count", [0, 3, ROWS_PER_BLOCK, ROWS_PER_BLOCK + 3])
async def test_an_iterable_that_breaks_hands_out_what_came_before(source: Any, count: int) -> None:
    rows, error = await read_until_error(source(count), ConnectionError)
    assert len(rows) == count
    assert str(error) == "the database went away"


async def test_a_plain_iterable_lets_others_run_between_chunks() -> None:
    async with counted_rounds() as rounds:
        await job_of(ModelService(), [user(handle="x")] * (4 * ROWS_PER_BLOCK), dry_run=True).run()
    assert rounds.now >= 4


async def test_closing_ends_generators() -> None:
    ended: list[str] = []

    def plain() -> Iterator[AudienceUser]:
        try:
            while True:
                yield user(handle="x")
        finally:
            ended.append("plain")

    async def asynchronous() -> AsyncIterator[AudienceUser]:
        try:
            while True:
                yield user(handle="x")
        finally:
            ended.append("asynchronous")

    for source in (plain(), asynchronous()):
        async with open_users(source) as reader:
            await reader.read_block()
        await reader.aclose()
    assert ended == ["plain", "asynchronous"]


class Endless:
    """An asynchronous iterable that is no generator."""

    def __aiter__(self) -> "Endless":
        return self

    async def __anext__(self) -> AudienceUser:
        return user(handle="x")


async def test_iterables_that_cannot_be_closed_are_left_alone() -> None:
    async with open_users(Endless()) as reader:
        assert len(await reader.read_block() or ()) == ROWS_PER_BLOCK
    async with open_users(iter([user(handle="x")])) as reader:
        assert len(await reader.read_block() or ()) == 1


async def test_a_step_that_is_cancelled_loses_no_rows() -> None:
    gate = asyncio.Event()
    at_gate = asyncio.Event()

    class Slow:
        def __init__(self) -> None:
            self.handed_out = 0

        def __aiter__(self) -> "Slow":
            return self

        async def __anext__(self) -> AudienceUser:
            if self.handed_out == 2:
                at_gate.set()
                await gate.wait()
            if self.handed_out == 3:
                raise StopAsyncIteration
            self.handed_out += 1
            return user(handle=f"user{self.handed_out}")

    async with open_users(Slow()) as reader:
        step = asyncio.create_task(reader.read_block())
        await at_gate.wait()
        step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step
        gate.set()
        assert values(await reader.read_block()) == [["user1"], ["user2"], ["user3"]]


async def test_a_none_among_the_users_of_an_operation_is_refused_and_hides_nobody(given_as: Any) -> None:
    nobody: Any = None
    operation = Operation.update([user(handle="a"), nobody, user(handle="b")])
    rows, error = await read_until_error(given_as([operation, user(handle="c")]), InvalidInput)
    assert values(rows) == [["a"]]
    assert str(error).startswith("item 1 is or holds a NoneType")


async def test_objects_whose_keys_contradict_each_other_are_faults_of_their_rows() -> None:
    odd = {"email": "c@d.example", "operation_type": "Delete", "Operation Type": "Update"}
    rows = await read([*[{"email": "a@b.example"}] * 3, odd, {"phone": "1"}])
    assert values(rows) == [["a@b.example"]] * 3 + [[], ["1"]]
    says = '2 columns are called operation_type: choose one with columns={"operation_type": "<column>"}'
    assert [row.problem for row in rows] == [None, None, None, ("", says), None]
    with pytest.raises(InvalidInput, match="2 columns are called operation_type"):
        await read([odd, odd])
