"""DataFrames are written to audiences, do-not-reach lists and catalogs, exactly, though tasks fail."""

import csv
import hashlib
import json
import re
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.proofs.processes import Service
from tests.spark.sources import FailsMidway
from tests.spark.writing_client import people

pytestmark = pytest.mark.timeout(300)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def emails(texts: Iterable[str]) -> set[tuple[str, str]]:
    return {("email", digest(text)) for text in texts}


def usable(rows: int) -> set[tuple[str, str]]:
    return emails(f"person{number}@example.com" for number in range(rows) if number % 100 != 7)


def write(df: Any, emulator: Service, **options: Any) -> None:
    account, audience = emulator.audience
    where = {} if options.keys() & {"catalog", "do_not_reach_list"} else {"audience": audience}
    where |= {} if "catalog" in options else {"account": account}
    df.write.format("socialapi").options(**where, **options).mode("append").save()


def summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return found


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_an_audience_is_written_and_every_row_counted(
    spark: Any, emulator: Service, redis_url: str, folder: Path, tmp_path: Path
) -> None:
    rejects = tmp_path / "rejects"
    write(people(spark, 10_000, 4), emulator, redis_url=redis_url, report=folder, rejects=rejects)
    assert emulator.members() == usable(10_000)
    told = summary(folder)
    assert {name: told[name] for name in ("state", "read", "accepted", "rejected", "duplicate", "pending")} == {
        "state": "finished",
        "read": 10_000,
        "accepted": 9_900,
        "rejected": 100,
        "duplicate": 0,
        "pending": 0,
    }
    assert [part["partition"] for part in told["partitions"]] == [0, 1, 2, 3]
    assert sum(part["read"] for part in told["partitions"]) == 10_000
    files = [Path(part[name]) for part in told["partitions"] for name in ("report", "rejects")]
    assert {mode(path) for path in (*files, folder / "summary.json")} == {0o600}
    refused = [
        row for part in told["partitions"] for row in csv.DictReader(Path(part["rejects"]).read_text().splitlines())
    ]
    assert len(refused) == 100
    assert {(row["field"], row["reason"]) for row in refused} == {("email", "is not a plausible e-mail address")}


def test_tasks_that_fail_midway_change_neither_members_nor_counts(
    spark: Any, emulator: Service, redis_url: str, folder: Path
) -> None:
    df = people(spark, 60_000, 6)
    write(df.mapInArrow(FailsMidway(10_000), df.schema), emulator, redis_url=redis_url, report=folder)
    assert emulator.members() == usable(60_000)
    told = summary(folder)
    assert (told["read"], told["accepted"], told["rejected"]) == (60_000, 59_400, 600)
    assert [part["attempt"] for part in told["partitions"]] == [1, 0, 0, 1, 0, 0]


def test_without_redis_a_second_attempt_is_refused_and_the_report_says_which_partition_failed(
    spark: Any, emulator: Service, folder: Path
) -> None:
    df = people(spark, 9_000, 3)
    with pytest.raises(Exception, match=r"partition 0, attempt 3: .*set SOCIALAPI_REDIS_URL"):
        write(df.mapInArrow(FailsMidway(3_000), df.schema), emulator, report=folder)
    told = summary(folder)
    assert told["state"] == "failed"
    assert 0 in told["failed_partitions"]
    assert re.search(r"partitions .*0.* have not finished.*write the complete DataFrame again", told["why"])


def test_without_redis_a_write_whose_tasks_all_succeed_is_fine(spark: Any, emulator: Service) -> None:
    write(people(spark, 1_000, 2), emulator)
    assert emulator.members() == usable(1_000)


def test_replacing_and_the_default_mode_are_refused(spark: Any, emulator: Service) -> None:
    account, audience = emulator.audience
    writer = people(spark, 10, 1).write.format("socialapi").options(account=account, audience=audience)
    with pytest.raises(Exception, match=re.escape('write with mode("append")')):
        writer.mode("overwrite").save()
    with pytest.raises(Exception, match=r"(?i)append"):
        writer.mode("errorifexists").save()
    assert emulator.requests() == []


ROWS = [
    ("Ada@example.com", "+14155550100", "Update", 1),
    ("ada@example.com ", None, "Delete", 2),
    ("bob@example.com", "+1 415 555 0100", "Delete", 1),
    ("bob@example.com", None, "Update", 3),
    ("eve@example.com", None, "Update", 5),
    ("eve@example.com", None, "Delete", 5),
    ("nonsense", None, "Update", 1),
    (None, None, "Update", 1),
    ("zoe@example.com", None, "Update", None),
]


def test_rows_with_operations_of_their_own_are_refused_with_advice_and_fine_once_reduced(
    spark: Any, emulator: Service, redis_url: str, folder: Path
) -> None:
    from socialapi.integrations.spark import latest_per_identifier

    df = spark.createDataFrame(ROWS * 3, "email string, phone string, operation_type string, changed int").repartition(
        3
    )
    with pytest.raises(Exception, match=r'\("operation_type"\).*only one operation.*latest_per_identifier'):
        write(df, emulator, redis_url=redis_url)
    # At the same time a Delete wins.
    last = latest_per_identifier(df, order_by="changed")
    write(last, emulator, redis_url=redis_url, order_by="changed", report=folder)
    members = emulator.members() - {("phone_number", digest("+14155550100"))}
    assert members == emails(["bob@example.com", "zoe@example.com"])
    told = summary(folder)
    assert (told["accepted"], told["rejected"]) == (5, 6)  # what is unusable stays as often as it is there


def test_the_times_of_rows_are_sent_once_they_are_reduced(spark: Any, emulator: Service, redis_url: str) -> None:
    from pyspark.sql import functions as f

    from socialapi.integrations.spark import latest_per_identifier

    df = spark.createDataFrame([("ada@example.com", 1), ("bob@example.com", 400)], "email string, days int")
    ends = f.expr("current_timestamp() + make_interval(0, 0, 0, days)")
    last = latest_per_identifier(df.withColumn("expires_at", ends), order_by="days")
    write(last, emulator, redis_url=redis_url, order_by="days")
    assert emulator.members() == emails(["ada@example.com", "bob@example.com"])
    emulator.ask("POST", "clock", {"advance": 2 * 86_400})
    assert emulator.members() == emails(["bob@example.com"])


def feed(spark: Any, rows: int, partitions: int) -> Any:
    return spark.range(0, rows, 1, partitions).selectExpr(
        "concat('sku-', id) AS id",
        "concat('Teapot ', id) AS title",
        "'A pot for tea' AS description",
        "'in stock' AS availability",
        "'new' AS condition",
        "concat(10 + id % 90, '.00 USD') AS price",
        "concat('https://shop.example/', id) AS link",
        "concat('https://shop.example/', id, '.jpg') AS image_link",
        "'Northwind' AS brand",
        "id AS changed",
    )


def test_products_are_written_and_the_tasks_that_fail_repeated(
    spark: Any, emulator: Service, redis_url: str, folder: Path
) -> None:
    catalog = emulator.ask("GET", "seed")["product_catalog_ids"][0]
    before = emulator.products(catalog)
    df = feed(spark, 600, 3)
    write(df.mapInArrow(FailsMidway(200), df.schema), emulator, redis_url=redis_url, catalog=catalog, report=folder)
    held = emulator.products(catalog)
    assert held.keys() - before.keys() == {f"sku-{number}" for number in range(600)}
    assert held["sku-5"]["title"] == "Teapot 5"
    told = summary(folder)
    assert (told["read"], told["accepted"], told["rejected"]) == (600, 600, 0)
    assert told["created"] + told["updated"] + told["unchanged"] == 600


def test_repeated_products_are_refused_within_a_partition_and_found_by_a_check(
    spark: Any, emulator: Service, redis_url: str, folder: Path
) -> None:
    from socialapi.integrations.spark import latest_per_product, repeated_products

    catalog = emulator.ask("GET", "seed")["product_catalog_ids"][0]
    df = feed(spark, 100, 2)
    old = df.withColumn("title", df.title.substr(1, 3)).withColumn("changed", df.changed - 1)
    twice = old.limit(10).unionByName(df)
    assert {(row["id"], row["rows"]) for row in repeated_products(twice).collect()} == {
        (f"sku-{n}", 2) for n in range(10)
    }
    with pytest.raises(Exception, match=r"a product id occurs more than once.*latest_per_product"):
        write(twice.coalesce(1), emulator, redis_url=redis_url, catalog=catalog)
    last = latest_per_product(twice, order_by="changed")
    write(last, emulator, redis_url=redis_url, catalog=catalog, order_by="changed", report=folder)
    assert summary(folder)["read"] == 100
    assert emulator.products(catalog)["sku-3"]["title"] == "Teapot 3"
