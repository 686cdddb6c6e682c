"""What programs have their people in, uploaded as it is over a real socket."""

import asyncio
import gzip
import hashlib
import io
import threading
from pathlib import Path
from typing import Any, Final

import duckdb
import pandas
import polars
import pyarrow
import pytest
from pyarrow import parquet

from socialapi.client import Client
from socialapi.emulator import Emulator

PEOPLE: Final = {
    "customer": [17, 18, 19, 20],
    "E-Mail": [" Ada@B.example", "grace@b.example", None, "no address"],
    "Phone": ["+1 415 555 0101", None, "+44 7911 123456", None],
}
EXPECTED: Final = {
    ("email", "ada@b.example"),
    ("phone_number", "+14155550101"),
    ("email", "grace@b.example"),
    ("phone_number", "+447911123456"),
}
TABLES: dict[str, Any] = {
    "pandas": pandas.DataFrame,
    "polars": polars.DataFrame,
    "pyarrow": pyarrow.table,
    "duckdb": lambda people: duckdb.connect().from_arrow(pyarrow.table(people)),
}


def digests(values: set[tuple[str, str]]) -> set[tuple[str, str]]:
    return {(kind, hashlib.sha256(value.encode()).hexdigest()) for kind, value in values}


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
async def test_a_table_is_uploaded(make: Any, socialapi_client: Client, socialapi_emulator: Emulator) -> None:
    account, audience = (socialapi_emulator.seed[name][0] for name in ("account_ids", "custom_audience_ids"))
    report = await socialapi_client.ads.account(account).custom_audience(audience).upload(make(PEOPLE))
    assert (report.read, report.accepted, report.rejected) == (4, 3, 1)
    assert [(issue.row, issue.field, issue.reason) for issue in report.rejects] == [
        (4, "E-Mail", "contains a blank or an invisible character")
    ]
    assert socialapi_emulator.members(account, audience) == digests(EXPECTED)


async def test_a_do_not_reach_list_takes_tables_and_files_too(
    tmp_path: Path, socialapi_client: Client, socialapi_emulator: Emulator
) -> None:
    account, list_id = (socialapi_emulator.seed[name][0] for name in ("account_ids", "do_not_reach_list_ids"))
    people = socialapi_client.ads.account(account).do_not_reach_list(list_id)
    report = await people.upload(polars.DataFrame(PEOPLE))
    assert (report.read, report.accepted) == (4, 3)
    parquet.write_table(pyarrow.table({"email": ["joan@b.example"]}), tmp_path / "1.parquet")
    (tmp_path / "2.csv.gz").write_bytes(gzip.compress(b"email\nmary@b.example\n"))
    report = await people.upload(f"{tmp_path}/*")
    assert (report.read, report.accepted) == (2, 2)
    report = await people.upload(io.BytesIO(b'{"email": "edith@b.example"}'))
    assert (report.read, report.accepted) == (1, 1)
    more = {("email", f"{name}@b.example") for name in ("joan", "mary", "edith")}
    assert socialapi_emulator.do_not_reach_members(account, list_id) == digests(EXPECTED | more)


async def test_a_relation_of_duckdb_is_computed_beside_the_loop(
    socialapi_client: Client, socialapi_emulator: Emulator
) -> None:
    account, audience = (socialapi_emulator.seed[name][0] for name in ("account_ids", "custom_audience_ids"))
    loop, asked = asyncio.get_running_loop(), asyncio.Event()
    answer, answered = threading.Event(), list[bool]()

    def name(number: int) -> str:
        if number == 0:
            loop.call_soon_threadsafe(asked.set)
            answered.append(answer.wait(30))
        return f"user{number}"

    async def answer_from_the_loop() -> None:
        await asked.wait()
        answer.set()

    connection = duckdb.connect()
    connection.create_function("name", name, ["BIGINT"], "VARCHAR")
    relation = connection.sql("select name(i) as handle from range(30000) t(i)")
    answering = asyncio.create_task(answer_from_the_loop())
    report = await socialapi_client.ads.account(account).custom_audience(audience).upload(relation)
    await answering
    assert (report.accepted, report.requests) == (30_000, 12)
    assert answered == [True]


async def test_a_look_at_an_input_sends_nothing(socialapi_client: Client, socialapi_emulator: Emulator) -> None:
    account = socialapi_client.ads.account("18ce54d4x5t")
    report = await account.custom_audience("1nmth").lint(polars.DataFrame(PEOPLE), default_region="US")
    assert (report.rows, report.unusable_rows, report.has_errors) == (4, 1, True)
    report = await account.do_not_reach_list("7b2f1").lint([{"handle": "ada", "email": "ada@b.example"}], sample=1)
    assert [kind.kind for kind in report.kinds] == ["email"]
    assert not socialapi_emulator.requests
