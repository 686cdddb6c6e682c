"""A million customers go from databases into an audience, night after night, in flat memory."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol

import asyncpg
import attrs
import duckdb
import pyarrow
import pytest

from tests.proofs.processes import Service, service, upload

pytestmark = [pytest.mark.timeout(1_800), pytest.mark.xdist_group("uploads")]

ROWS: Final = 1_000_000
ROWS_WRITTEN_AT_ONCE: Final = 100_000
FORMS: Final = 50
"""After so many customers, the clean and dirty ones come again."""
MEGABYTE: Final = 1_000_000
FLAT: Final = 15 * MEGABYTE
"""What the third quarter of the rows may add."""

TABLE: Final = (
    "create table customers (id bigint, email text, phone text, balance numeric(9, 2) default 17.50, "
    "created_at timestamp with time zone default now())"
)
QUERY: Final = "select id, created_at, email, phone, balance from customers"
LEAVE: Final = "delete from customers where id % 100 = 17"
CHANGE: Final = "update customers set email = 'changed.' || id || '@example.com' where id % 1000 = 23"


# Customers -----------------------------------------------------------------------------------------------------------


@attrs.frozen
class Customer:
    """A row of the table, and the identifiers that belong in the audience for it."""

    number: int
    email: str | None
    phone: str | None
    identifiers: tuple[tuple[str, str], ...]


def customer(number: int, email: str | None = None) -> Customer:
    email = email or f"person.{number}@example.com"
    local = 2_000_000 + number
    phone, pretty = f"+1415{local:07}", f"(415) {local // 10_000}-{local % 10_000:04}"
    by_email, by_phone = ("email", email), ("phone_number", phone)
    forms: dict[int, tuple[str | None, str | None, tuple[tuple[str, str], ...]]] = {
        0: (None, None, ()),
        1: (None, phone, (by_phone,)),
        2: (email, None, (by_email,)),
        3: (f"  {email.title()} ", pretty, (by_email, by_phone)),
        4: (email, "n/a", (by_email,)),
        5: ("nobody at example", phone, (by_phone,)),
        6: ("", "ext. 12", ()),
        7: (f"person.{number - 5}@example.com", None, ()),  # the customer of form 2 again
        8: (hashlib.sha256(email.encode()).hexdigest().upper(), f"1.415.{local}", (by_email, by_phone)),
    }
    return Customer(number, *forms.get(number % FORMS, (email, phone, (by_email, by_phone))))


NOTHING_USABLE: Final = (0, 6)
"""The forms without an identifier."""


def first_night(rows: int) -> Iterator[Customer]:
    yield from map(customer, range(rows))


def newcomers(rows: int) -> range:
    return range(rows, rows + rows // 100)


def second_night(rows: int) -> Iterator[Customer]:
    """After some have left, others have another address, and others have come."""
    for number in range(rows):
        if number % 100 != 17:
            yield customer(number, f"changed.{number}@example.com" if number % 1000 == 23 else None)
    yield from map(customer, newcomers(rows))


def ledger_of(customers: Iterable[Customer]) -> dict[str, Any]:
    """What the emulator has to say about an audience of these, worked out without it."""
    members, total = 0, 0
    for each in customers:
        for kind, text in each.identifiers:
            members += 1
            member = f"{kind}:{hashlib.sha256(text.encode()).hexdigest()}"
            total ^= int.from_bytes(hashlib.sha256(member.encode()).digest()[:8])
    return {"members": members, "checksum": f"{total:016x}"}


# Databases -----------------------------------------------------------------------------------------------------------


class Database(Protocol):
    """A database with a table of customers."""

    max_resident: ClassVar[int]
    """How much memory the client may have at most, the library of the database included."""

    @property
    def address(self) -> str: ...

    async def execute(self, *statements: str) -> None: ...

    async def insert(self, customers: range) -> None: ...


@attrs.frozen
class PostgreSql:
    address: str
    max_resident: ClassVar[int] = 200 * MEGABYTE

    async def execute(self, *statements: str) -> None:
        connection = await asyncpg.connect(self.address)
        for statement in statements:
            await connection.execute(statement)
        await connection.close()

    async def insert(self, customers: range) -> None:
        connection = await asyncpg.connect(self.address)
        records = ((each.number, each.email, each.phone) for each in map(customer, customers))
        await connection.copy_records_to_table("customers", records=records, columns=["id", "email", "phone"])
        await connection.close()


@attrs.frozen
class DuckDb:
    """A file, which is closed when the client reads it: it is one process's while it is written."""

    address: str
    max_resident: ClassVar[int] = 300 * MEGABYTE

    async def execute(self, *statements: str) -> None:
        with duckdb.connect(self.address) as connection:
            for statement in statements:
                connection.execute(statement)

    async def insert(self, customers: range) -> None:
        with duckdb.connect(self.address) as connection:
            for start in range(customers.start, customers.stop, ROWS_WRITTEN_AT_ONCE):
                some = [customer(each) for each in range(start, min(start + ROWS_WRITTEN_AT_ONCE, customers.stop))]
                texts = pyarrow.string()
                columns = {
                    "id": pyarrow.array([each.number for each in some]),
                    "email": pyarrow.array([each.email for each in some], texts),
                    "phone": pyarrow.array([each.phone for each in some], texts),
                }
                connection.register("newcomers", pyarrow.table(columns))
                connection.execute("insert into customers (id, email, phone) select id, email, phone from newcomers")


@pytest.fixture(params=["postgresql", "duckdb"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    if request.param == "duckdb":
        return DuckDb(str(tmp_path / "shop.duckdb"))
    return PostgreSql(request.getfixturevalue("postgresql"))


# Nights --------------------------------------------------------------------------------------------------------------


@attrs.frozen
class Nights:
    """Syncs of an audience with the table, and what the emulator holds after each."""

    emulator: Service
    database: Database
    snapshot: Path

    def sync(self, title: str, rows: int) -> dict[str, Any]:
        options = {"snapshot": str(self.snapshot), "default_region": "US"}
        told = upload(self.emulator, self.database.address, query=QUERY, rows=rows, method="sync", options=options)
        report, resident = told["report"], ", ".join(f"{each / MEGABYTE:.0f}" for each in told["resident"])
        print(
            f"\n{type(self.database).__name__}, {title}: {rows:,} rows in {told['seconds']:.1f} s "
            f"({rows / told['seconds']:,.0f} rows/s), {report['requests']} requests; resident {resident} MB at 25, 50, "
            f"75 % of the rows and at the end, peak {told['peak'] / MEGABYTE:.0f} MB"
        )
        assert told["adds_up"]
        return told

    def held(self) -> dict[str, Any]:
        account, audience = self.emulator.audience
        entry = self.emulator.ask("GET", "ledger")["audiences"][account][audience]
        return {name: entry[name] for name in ("members", "checksum")}


WHOLE: Final = ("read", "unchanged", "rejected", "duplicate", "repeated", "pending", "held_back")


def outcome(told: dict[str, Any]) -> dict[str, int]:
    report = told["report"]
    return {
        **{name: report[name] for name in WHOLE},
        "added": report["additions"]["accepted"],
        "removed": report["removals"]["accepted"],
    }


def shares(rows: int) -> tuple[int, int]:
    """How many of so many customers have nothing usable, and how many are there again."""
    return len(NOTHING_USABLE) * rows // FORMS, rows // FORMS


def check_memory(told: dict[str, Any], most: int, proof_scale: float) -> None:
    assert told["peak"] < most
    if proof_scale == 1:  # a small job ends before its memory has levelled off
        _, half, three_quarters, _ = told["resident"]
        assert three_quarters - half < FLAT


async def test_nightly_syncs_leave_the_audience_as_the_database_has_it(
    database: Database, tmp_path: Path, proof_scale: float
) -> None:
    rows = int(ROWS * proof_scale)
    unusable, again = shares(rows)
    await database.execute(TABLE)
    await database.insert(range(rows))
    with service() as emulator:
        nights = Nights(emulator, database, tmp_path / "audience.snapshot")
        first = nights.sync("first night", rows)
        assert nights.held() == ledger_of(first_night(rows))
        await database.execute(LEAVE, CHANGE)
        await database.insert(newcomers(rows))
        second = nights.sync("second night", rows)
        assert nights.held() == ledger_of(second_night(rows))
        third = nights.sync("third night", rows)
        assert nights.held() == ledger_of(second_night(rows))
    left, changed, came = rows // 100, rows // 1000, len(newcomers(rows))
    came_unusable, came_again = shares(came)
    added = came - came_unusable + changed  # with those that are there again
    nothing = dict.fromkeys(("pending", "held_back", "added", "removed", "unchanged", "duplicate", "repeated"), 0)
    counts = {"read": rows, "rejected": unusable, "repeated": again, "added": rows - unusable}
    assert outcome(first) == nothing | counts
    unusable += came_unusable
    counts = {"read": rows, "rejected": unusable, "repeated": came_again, "added": added}
    counts |= {"unchanged": rows - unusable - added}
    counts |= {"removed": 2 * left + changed}  # those who left had two identifiers each
    assert outcome(second) == nothing | counts
    counts = {"read": rows, "rejected": unusable, "unchanged": rows - unusable}
    assert outcome(third) == nothing | counts
    assert third["report"]["requests"] == 0
    for told in (first, second, third):
        check_memory(told, database.max_resident, proof_scale)
