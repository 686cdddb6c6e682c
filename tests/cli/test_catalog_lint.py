"""`catalog lint`, and what loads say of columns: on the terminal, and by their exit status."""

import json
from pathlib import Path

import pytest

from socialapi.cli import app
from socialapi.emulator import Emulator
from tests.bulk.products.model_catalog import HEADER, csv_file, line
from tests.cli.terminal import Printed, last_json

CATALOG = "7pc01"
ITEM = """<item><g:id>A1</g:id><title>Boots</title><description>Warm</description><link>https://s.example/1</link>
<g:image_link>https://s.example/1.jpg</g:image_link><g:availability>in_stock</g:availability>
<g:condition>new</g:condition><g:price>EUR 1.299,00</g:price><g:brand>N</g:brand>
<g:shipping><g:country>DE</g:country></g:shipping></item>"""
FEED = f'<rss xmlns:g="http://base.google.com/ns/1.0" version="2.0"><channel>{ITEM}</channel></rss>'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def test_a_feed_that_would_be_loaded_ends_with_0_and_needs_no_credentials(capsys: Printed) -> None:
    Path("feed.xml").write_text(FEED, "utf-8")
    assert app.run(["catalog", "lint", "feed.xml"]) == 0
    out, err = capsys.readouterr()
    lines = [each.split() for each in out.splitlines()]
    assert lines[:6] == [
        ["rows", "1"],
        ["to", "be", "rejected", "0"],
        ["duplicates", "0"],
        [],
        ["field", "present", "usable", "understood"],
        ["id", "1", "1", "0"],
    ]
    assert ["price", "1", "1", "1"] in lines
    assert "ignored: shipping.country" in out
    assert out.splitlines()[-1] == (
        "risk of rejected products: low (counted: 0 of 1 rows would be rejected by the rules that lint checks)"
    )
    assert not err


def test_a_feed_with_faults_ends_with_1_and_says_each_reason_once(capsys: Printed) -> None:
    csv_file(Path("feed.csv"), *(line(each, price="free") for each in "abc"))
    assert app.run(["catalog", "lint", "feed.csv", "--json"]) == 1
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (report["rows"], report["unusable_rows"]) == (3, 3)
    price = next(kind for kind in report["kinds"] if kind["kind"] == "price")
    assert list(price["reasons"].values()) == [3]


@pytest.mark.parametrize(
    ("content", "more", "says"),
    [
        ("sku\na\n", (), "line 1: there is no column title"),
        ("", (), "the file is empty; --allow-empty accepts that"),
        (f"{HEADER}\n{line('a')}\n", ("--column", "price"), "--column takes FIELD=NAME, for example --column price="),
        (f"{HEADER}\n{line('a')}\n", ("--column", "prise=x"), "is not a field of a product; did you mean price?"),
        (f'{HEADER}\n{line("a")}\n"never\n', (), "the input broke off: feed.csv: line 3, column 1: a quotation mark"),
    ],
)
def test_what_cannot_be_used_ends_with_2(content: str, more: tuple[str, ...], says: str, capsys: Printed) -> None:
    Path("feed.csv").write_text(content, "utf-8")
    assert app.run(["catalog", "lint", "feed.csv", *more]) == 2
    assert says in capsys.readouterr().err


def test_a_load_takes_several_files_and_names_columns_and_says_which_it_did_not_read(
    service: Emulator, printed: Printed
) -> None:
    csv_file(Path("a.csv"), f"{line('a')},9", header=f"{HEADER.replace('price', 'Preis')},shelf")
    Path("feed.xml").write_text(FEED.replace("g:price", "g:Preis"), "utf-8")
    files = ("a.csv", "feed.xml")
    assert app.run(["catalog", "upsert", *files, "--catalog", CATALOG, "--column", "price=Preis"]) == 0
    assert "columns that were not read: shelf, shipping.country" in printed.readouterr().out
    assert service.products(CATALOG)["A1"]["price"] == "1299.00 EUR"
    assert service.products(CATALOG)["a"]["price"] == "10.00 EUR"


def test_a_dry_run_with_a_digest_file_says_what_is_new_and_changed(service: Emulator, printed: Printed) -> None:
    command = ["catalog", "upsert", "feed.csv", "--catalog", CATALOG, "--digests", "feed.digests"]
    csv_file(Path("feed.csv"), line("a"), line("b"), line("c"))
    assert app.run(command) == 0
    printed.readouterr()
    csv_file(Path("feed.csv"), line("a"), line("b", title="New"), line("d"))
    assert app.run([*command, "--dry-run", "--json"]) == 0
    forecast = last_json(printed.readouterr().out)["forecast"]
    assert {name: forecast[name] for name in ("new", "changed", "unchanged", "vanished")} == {
        "new": 1,
        "changed": 1,
        "unchanged": 1,
        "vanished": 1,
    }
    assert app.run([*command, "--dry-run"]) == 0
    lines = [each.split() for each in printed.readouterr().out.splitlines()]
    assert [each for each in lines if each and each[0] in ("new", "changed")] == [["new", "1"], ["changed", "1"]]


def test_an_id_between_colons_is_no_emoji(service: Emulator, tmp_path: Path, printed: Printed) -> None:
    feed = csv_file(tmp_path / "feed.csv", line(":id:3", price="cheap"))
    assert app.run(["catalog", "upsert", str(feed), "--catalog", CATALOG]) == 1
    assert "(:id:3)" in printed.readouterr().out


def test_what_a_feed_lacks_can_be_set(capsys: Printed) -> None:
    header = HEADER.replace(",condition", "").replace(",brand", "")
    cells = line("a").split(",")
    del cells[8], cells[4]
    csv_file(Path("feed.csv"), ",".join(cells), header=header)
    assert app.run(["catalog", "lint", "feed.csv"]) == 2
    assert "--set condition=new" in " ".join(capsys.readouterr().err.split())
    assert app.run(["catalog", "lint", "feed.csv", "--set", "condition=new", "--set", "brand=Hut"]) == 0


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (("condition",), "--set takes FIELD=VALUE"),
        (("condition=",), "--set takes FIELD=VALUE"),
        (("brand=A", "brand=B"), "--set specifies brand twice"),
        (("condition=shiny",), "the constant condition must be"),
    ],
)
def test_a_value_that_cannot_be_set_is_wrong_usage(capsys: Printed, values: tuple[str, ...], says: str) -> None:
    csv_file(Path("feed.csv"), line("a"))
    assert app.run(["catalog", "lint", "feed.csv", *(word for each in values for word in ("--set", each))]) == 2
    assert says in " ".join(capsys.readouterr().err.split())
