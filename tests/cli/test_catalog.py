"""The commands of catalogs, run in this process against an emulator in another thread."""

import json
import stat
from pathlib import Path
from typing import Final

import pytest

from socialapi.cli import app
from socialapi.emulator import Emulator
from tests.bulk.products.model_catalog import HEADER, csv_file, line
from tests.cli.terminal import Printed, last_json

CATALOG: Final = "7pc01"
TO_CATALOG: Final = ("--catalog", CATALOG)


def upsert(file: Path | str, *options: str) -> int:
    return app.run(["catalog", "upsert", str(file), *TO_CATALOG, *options])


def test_rejected_products_end_with_1_and_are_named(service: Emulator, tmp_path: Path, printed: Printed) -> None:
    bad = [line(f"SKU-{n}", price="free") for n in range(7)]
    file, rejects = csv_file(tmp_path / "feed.csv", line("a"), *bad), tmp_path / "rejects.csv"
    assert upsert(file) == 1
    out = printed.readouterr().out
    assert "7 rows: price: must be a number with a decimal point, a space and" in out
    assert "(row 2 (SKU-0), row 3 (SKU-1), row 4 (SKU-2), row 5 (SKU-3), row 6 (SKU-4), …)\n" in out
    assert "… 2 more rejected rows; list all with --rejects FILE" in out
    assert "row 1 (a), with a warning: product_type: RECOMMENDED_FIELD: " in out
    assert upsert(file, "--rejects", str(rejects)) == 1
    assert "… 2 more rejected rows; all of them in" in printed.readouterr().out
    assert stat.S_IMODE(rejects.stat().st_mode) == 0o600
    corrected = tmp_path / "corrected.csv"
    corrected.write_text(rejects.read_text("utf-8").replace("free", "1 EUR"), "utf-8")
    assert upsert(corrected, "--json") == 0
    assert last_json(printed.readouterr().out)["created"] == 7


def test_with_digests_what_has_not_changed_is_skipped_and_what_has_vanished_is_listed(
    service: Emulator, tmp_path: Path, printed: Printed
) -> None:
    memory = ("--digests", str(tmp_path / "digests"))
    lines = [line(f"p{n}") for n in range(10)]
    assert upsert(csv_file(tmp_path / "feed.csv", *lines), *memory) == 0
    shorter = csv_file(tmp_path / "shorter.csv", *lines[:-2])
    printed.readouterr()
    assert upsert(shorter, *memory) == 0
    out = printed.readouterr().out
    assert ["skipped", "8"] in [each.split() for each in out.splitlines()]
    assert "no longer in the feed: p8\nno longer in the feed: p9\n" in out
    assert upsert(shorter, *memory, "--delete-vanished") == 2
    out, err = printed.readouterr()
    assert out == ""
    assert err == (
        "socialapi: the load stopped: 2 of 10 products are not in the feed, more than the share of 10% that may be "
        "deleted (--max-vanished-share 0.1): is the feed complete? Nothing was deleted\n"
    )
    unreadable = csv_file(tmp_path / "unreadable.csv", *lines[:-2], line(""))
    assert upsert(unreadable, *memory, "--delete-vanished", "--max-vanished-share", "0.2") == 2
    out, err = printed.readouterr()
    assert out == ""
    assert "1 row could not be read and may contain products that seem to have vanished; nothing was deleted" in err
    assert upsert(shorter, *memory, "--delete-vanished", "--max-vanished-share", "0.2", "--json") == 0
    report = last_json(printed.readouterr().out)
    assert (report["vanished"], report["deleted"], report["vanished_ids"]) == (2, 2, ["p8", "p9"])
    assert "p9" not in service.products(CATALOG)


def test_more_rejected_products_than_may_be_end_with_2_and_a_report(
    service: Emulator, tmp_path: Path, printed: Printed
) -> None:
    file = csv_file(tmp_path / "feed.csv", line("a"), line("b", price="free"))
    assert upsert(file, "--max-reject-share", "0.4", "--json") == 2
    out, err = printed.readouterr()
    assert (last_json(out)["accepted"], last_json(out)["rejected"]) == (1, 1)
    assert "1 of 2 rows were rejected" in err
    memory = ("--digests", str(tmp_path / "digests"), "--delete-vanished")
    asked = len(service.requests)
    assert upsert(file, *memory, "--max-reject-share", "0.4") == 2
    assert len(service.requests) == asked
    assert upsert(file, *memory, "--max-reject-share", "0.5") == 1


def test_a_feed_without_products_is_a_mistake_unless_it_is_allowed(
    service: Emulator, tmp_path: Path, printed: Printed
) -> None:
    file, memory = csv_file(tmp_path / "feed.csv"), ("--digests", str(tmp_path / "digests"))
    assert upsert(file, *memory) == 2
    says = f"socialapi: {file}: the file has no rows, only column names"
    assert printed.readouterr().err == f"{says}; --allow-empty accepts that\n"
    assert upsert(file, *memory, "--allow-empty", "--json") == 0
    assert last_json(printed.readouterr().out)["read"] == 0
    assert upsert(file, *memory, "--allow-empty", "--delete-vanished") == 2
    assert printed.readouterr().err == (f"{says}: an empty feed would delete every product\n")


@pytest.mark.parametrize(
    ("name", "content", "more", "says"),
    [
        ("feed.json", b'[{"id": 1;}]', "", "line 1, column 10: is not JSON"),
        ("ok.csv", f"{HEADER}\n{line('a')}\n".encode(), "--rejects ok.csv", "is the input itself"),
        ("ok.csv", f"{HEADER}\n{line('a')}\n".encode(), "--digests ok.csv", "is the input itself"),
        ("ok.csv", f"{HEADER}\n{line('a')}\n".encode(), "--rejects new --digests new", "is the rejects file, too"),
        ("ok.csv", f"{HEADER}\n{line('a')}\n".encode(), "--delete-vanished", "--delete-vanished needs --digests"),
        (
            "ok.csv",
            f"{HEADER}\n{line('a')}\n".encode(),
            "--max-vanished-share 2",
            "for --max-vanished-share. Must be <= 1.",
        ),
    ],
)
def test_what_cannot_be_used_ends_with_2_and_says_why_and_nothing_is_sent(
    service: Emulator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    printed: Printed,
    name: str,
    content: bytes | None,
    more: str,
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path(name).write_bytes(content)
    assert upsert(name, *more.split()) == 2
    out, err = printed.readouterr()
    assert err.startswith("socialapi: ")
    assert says in err
    assert err.count("\n") == 1 or "--help" in err
    assert not out
    assert not service.requests


def test_catalogs_are_listed_and_created(service: Emulator, printed: Printed) -> None:
    assert app.run(["catalog", "list"]) == 0
    assert printed.readouterr().out == "ID\tNAME\n7pc01\tNorthwind Outdoor shop\n"
    assert app.run(["catalog", "list", "--json"]) == 0
    assert json.loads(printed.readouterr().out) == {"id": "7pc01", "name": "Northwind Outdoor shop"}
    assert app.run(["catalog", "create", "Another"]) == 3
    assert ": 400 INVALID_PARAMETER" in printed.readouterr().err
    service.state.catalogs.clear()
    assert app.run(["catalog", "list"]) == 0
    assert printed.readouterr() == ("", "socialapi: there are no catalogs; `socialapi catalog create` creates one\n")
    assert app.run(["catalog", "create", "Another", "--json"]) == 0
    assert json.loads(printed.readouterr().out)["name"] == "Another"


def test_products_are_listed_one_of_each_group(service: Emulator, printed: Printed) -> None:
    assert app.run(["catalog", "products", CATALOG]) == 0
    lines = printed.readouterr().out.splitlines()
    assert len(lines) == 35
    assert lines[:2] == ["ID\tPRICE\tAVAILABILITY\tTITLE", "NW-1001\t189.00 EUR\tin stock\tRidge jacket, XS"]
    assert app.run(["catalog", "products", CATALOG, "--limit", "3"]) == 0
    assert printed.readouterr().out.splitlines() == lines[:4]
    assert app.run(["catalog", "products", CATALOG, "--limit", "1", "--json"]) == 0
    first = json.loads(printed.readouterr().out)
    assert (first["id"], first["size"]) == ("NW-1001", "XS")
    assert app.run(["catalog", "products", CATALOG, "--group", first["item_group_key"]]) == 0
    assert len(printed.readouterr().out.splitlines()) == 6
