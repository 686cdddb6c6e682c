"""Layouts: what a lint has understood of a file decides how the next one is read, and what has changed is told."""

import base64
import gzip
import hashlib
import io
import json
import os
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import fsspec
import pyarrow
import pytest
from pyarrow import parquet

from socialapi.bulk.linting.linter import lint_records
from socialapi.bulk.linting.product_linter import lint_products
from socialapi.errors import InvalidInput
from socialapi.models.audiences import DO_NOT_REACH_KINDS
from tests.bulk.model_service import ModelService, job_of
from tests.bulk.products.model_catalog import product

ANN, BOB, CYD = "ann@example.com", "bob@example.com", "cyd@example.com"
PHONE: Final = "+14155550132"
DIGEST: Final = base64.b64encode(hashlib.sha256(ANN.encode()).digest()).decode()


def held(kind: str, *values: str) -> set[tuple[str, str]]:
    return {(kind, hashlib.sha256(value.encode()).hexdigest()) for value in values}


async def uploaded(records: Any, **options: Any) -> set[tuple[str, str]]:
    service = ModelService()
    await job_of(service, records, **options).run()
    return set(service.members)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(path: str, content: str | bytes) -> str:
    Path(path).write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def content_of(path: str) -> bytes:
    return Path(path).read_bytes()


def as_parquet(path: str, **columns: Any) -> str:
    parquet.write_table(pyarrow.table(columns), path)
    return path


NESTED = json.dumps({"data": {"people": [{"id": 1, "properties": {"email": ANN}}, {"id": 2}], "pages": [1, 2]}})
UNDERSTOOD: Mapping[str, tuple[str, str | bytes, dict[str, Any], dict[str, Any]]] = {
    "names of its own": ("p.csv", f"Kunde;Mail;Land\n1;{ANN};DE\n", {}, {"delimiter": ";", "header_line": 1}),
    "a title above the names": ("p.csv", f"Report,,\n,,\nEmail,Phone,Name\n{ANN},{PHONE},A\n", {}, {"header_line": 3}),
    "comments above them": ("p.csv", f"# Notes\n#\nEmail,Phone\n{ANN},{PHONE}\n", {}, {"header_line": 3}),
    "names in a comment": ("p.csv", f"# email,phone\n{ANN},{PHONE}\n", {}, {"header_line": 1}),
    "a line for Excel": ("p.csv", f"sep=|\nemail|x\n{ANN}|1\n", {}, {"header_line": 2, "delimiter": "|"}),
    "commas in a name": ("p.csv", f"Mail;Name, Vorname\n{ANN};Lee, Ann\n", {}, {"delimiter": ";"}),
    "lone quotation marks": ("p.tsv", f'name\temail\n"A\t{ANN}\nB"\t{BOB}\n', {}, {"delimiter": "\t"}),
    "escapes": ("p.csv", f'name,email\n"A \\"x\\", y",{ANN}\n"B \\"z\\"",{BOB}\n', {}, {"escapes": "quotes"}),
    "digests in base64": ("p.csv", f"email,phone\n{DIGEST},{PHONE}\n", {}, {}),
    "UTF-16": ("p.txt", f"email\tx\n{ANN}\t1\n".encode("utf-16"), {}, {"encoding": "utf-16", "delimiter": "\t"}),
    "Windows-1252": ("p.csv", f"email,name\n{ANN},J\xfcrgen\n".encode("cp1252"), {}, {"encoding": "unknown-8bit"}),
    "an archive": ("p.csv.gz", gzip.compress(f"email,x\n{ANN},1\n".encode()), {}, {"format": "csv"}),
    "no names": ("h.txt", "jack_lee,1\nann_lee,2\n", {"header": False, "columns": {"handle": 1}}, {"header": False}),
    "one column for two kinds": (
        *("p.csv", f"contact\n{ANN}\n"),
        *({"columns": {"email": "contact", "handle": "contact"}}, {"columns": {"contact": ["email", "handle"]}}),
    ),
    "two columns of a name": ("p.csv", f"email,email,,\n{ANN},{BOB},,\n", {}, {"repeated": ["email"]}),
    "an order of columns": (
        *("p.csv", f"a,b\n{ANN},{BOB}\n"),
        *({"columns": {"email": ["b", "a"]}}, {"columns": {"b": "email", "a": "email"}}),
    ),
    "JSON Lines": ("p.jsonl", f'{{"email":"{ANN}"}}\n{{"phone":"{PHONE}","n":1}}\n', {}, {"format": "jsonl"}),
    "a JSON array": ("p.json", f'[{{"email":"{ANN}","a b":1}}]', {}, {"format": "json"}),
    "paths, in an array below keys": (
        *("p.json", NESTED, {"columns": {"email": "properties.email"}}),
        {"format": "json", "rows": ["data", "people"]},
    ),
    "names that are escaped": (
        "p.csv",
        f'"e ""mail"" \\é😀",x\x7f\n{ANN},1\n',
        {"columns": {"email": 'e "mail" \\é😀'}},
        {},
    ),
}


@pytest.mark.parametrize("what", UNDERSTOOD)
async def test_a_layout_says_what_was_understood_and_reads_the_same_without_a_guess(what: str) -> None:
    name, content, options, says = UNDERSTOOD[what]
    path = written(name, content)
    await lint_records(path, **options, write_layout="l.toml")
    layout = tomllib.loads(content_of("l.toml").decode())
    expected = {"version": 1, "reads": "people", "phone_format": "auto", **says}
    assert {key: layout[key] for key in expected if key != "columns"} | expected == expected
    assert layout["columns"].items() >= expected.get("columns", {}).items()
    members = await uploaded(path, **options)
    assert members
    assert await uploaded(path, layout="l.toml") == members
    assert (await lint_records(path, layout="l.toml", write_layout="l.toml")).rows
    assert stat.S_IMODE(os.stat("l.toml").st_mode) == 0o600  # noqa: PTH116


async def test_what_would_be_judged_otherwise_is_read_as_the_layout_says() -> None:
    await lint_records(written("a.csv", f"Kunde;Mail\n1;{ANN}\n"), columns={"email": "Kunde"}, write_layout="l.toml")
    # By itself a file like that has commas, names on line 3, and its addresses in Mail.
    text = f"Kunde;Mail\n{BOB};x,y,z\n{CYD};email,phone,y\n"
    assert await uploaded(written("b.csv", text), layout="l.toml") == held("email", BOB, CYD)


async def test_parquet_and_open_files_have_layouts_as_well() -> None:
    path = as_parquet("a.parquet", email=[ANN], customer=[{"phone": PHONE}])
    await lint_records(path, columns={"phone_number": "customer.phone"}, write_layout="l.toml")
    assert tomllib.loads(content_of("l.toml").decode())["format"] == "parquet"
    assert await uploaded(path, layout="l.toml") == held("email", ANN) | held("phone_number", PHONE)
    with pytest.raises(InvalidInput, match=r'l\.toml: missing: "email" \(email\); new: "Mail" \(email\)'):
        await uploaded(as_parquet("b.parquet", Mail=[ANN], customer=[{"phone": PHONE}]), layout="l.toml")
    await lint_records(written("c.csv", f"Mail\n{ANN}\n"), write_layout="c.toml")
    assert await uploaded(io.BytesIO(content_of("c.csv")), layout="c.toml") == held("email", ANN)
    assert (await lint_records(io.BytesIO(content_of("c.csv")), layout="c.toml")).rows == 1


TABLE: Final = f"Kunde;Mail;Telefon\n1;{ANN};{PHONE}\n2;{BOB};{PHONE}\n"
PEOPLE: Final = json.dumps([{"email": ANN, "n": 1}])
WRAPPED: Final = json.dumps({"data": [{"email": ANN}, {"email": BOB}]})
HANDLES: Final = "1,jack_lee\n2,ann_lee\n"
DRIFT: Mapping[str, tuple[str | bytes, str | bytes, str]] = {
    "a column that is read is gone": (TABLE, f"Kunde;Telefon\n1;{PHONE}\n", 'missing: "Mail" (email)'),
    "a column that is not read is gone": (TABLE, f"Mail;Telefon\n{ANN};{PHONE}\n", 'missing: "Kunde"'),
    "renamed, and known": (TABLE, TABLE.replace("Mail", "email"), 'missing: "Mail" (email); new: "email" (email)'),
    "renamed, and unknown": (TABLE, TABLE.replace("Mail", "Kontakt"), 'missing: "Mail" (email)'),
    "in another case": (TABLE, TABLE.replace("Mail", "MAIL"), 'missing: "Mail" (email); new: "MAIL" (email)'),
    "a column is there twice": (
        TABLE,
        TABLE.replace("Kunde", "Mail"),
        'missing: "Kunde"; repeated: "Mail"',
    ),
    "a new identifier": (TABLE, f"Kunde;Mail;Telefon;handle\n1;{ANN};;jack\n", 'new: "handle" (handle)'),
    "a new country": (TABLE, f"Kunde;Mail;Telefon;country\n1;{ANN};;DE\n", 'new: "country" (region)'),
    "a new operation": (TABLE, f"Kunde;Mail;Telefon;operation_type\n1;{ANN};;Delete\n", 'new: "operation_type"'),
    "one of two columns of a name": (
        *(f"email;email;x\n{ANN};{BOB};1\n", f"email;x\n{ANN};1\n"),
        'no longer repeated: "email"',
    ),
    "another delimiter": (TABLE, TABLE.replace(";", ","), "the delimiter is ',', not ';'"),
    "another delimiter, and a column": (
        *(TABLE, TABLE.replace(";", "\t").replace("Telefon", "Phone")),
        "the delimiter is '\\t', not ';'; missing: \"Telefon\" (phone_number); new: \"Phone\" (phone_number)",
    ),
    "a title above the names": (TABLE, f"Export\n\n{TABLE}", "line 3 names the columns, not line 1"),
    "the title is gone": (f"Export;;\n{TABLE}", TABLE, "line 1 names the columns, not line 2"),
    "blank above the names": (TABLE, f"\n{TABLE}", "line 2 names the columns, not line 1"),
    "the names are gone": (
        TABLE,
        TABLE.partition("\n")[2],
        'missing: "Kunde", "Mail" (email), "Telefon" (phone_number)',
    ),
    "a line for Excel": (TABLE, f"sep=;\n{TABLE}", "line 2 names the columns, not line 1"),
    "UTF-16": (TABLE, TABLE.encode("utf-16"), "the encoding is utf-16, not utf-8"),
    "UTF-16 and a column": (
        *(TABLE, TABLE.replace("Kunde", "Nr").encode("utf-16")),
        'the encoding is utf-16, not utf-8; missing: "Kunde"',
    ),
    "Windows-1252": (
        *(TABLE.replace("1;", "J\xfcrgen;"), TABLE.replace("1;", "J\xfcrgen;").encode("cp1252")),
        "the encoding is unknown-8bit, not utf-8",
    ),
    "JSON for CSV": (TABLE, PEOPLE, 'the format is json, not csv; missing: "Kunde", "Mail" (email)'),
    "CSV for JSON": (PEOPLE, f"email,n\n{ANN},1\n", "the format is csv, not json"),
    "JSON Lines for an array": (
        PEOPLE,
        f'{{"email":"{ANN}","n":1}}\n{{"email":"{BOB}"}}\n',
        "the format is jsonl, not json",
    ),
    "Parquet": (TABLE, b"parquet", "the format is parquet, not csv$"),
    "names that are not known above a list without names": (
        *(f"1,{ANN}\n2,{BOB}\n", f"id,Kontaktfeld\n1,{ANN}\n"),
        "line 1 names the columns$",
    ),
    "another array of rows": (WRAPPED, WRAPPED.replace("data", "items"), 'the rows are in "items", not in "data"'),
    "no key around the rows": (WRAPPED, PEOPLE, 'the rows are in the document itself, not in "data"'),
    "a key that is gone": (PEOPLE, PEOPLE.replace("email", "Mail"), 'missing: "email" (email); new: "Mail" (email)'),
    "a list without names has names": (HANDLES, "id,handle\n1,jack_lee\n", "line 1 names the columns"),
    "a list without names has another column": (HANDLES, "x,1,jack_lee\n", "the number of columns is 3, not 2"),
    "a list without names has another delimiter": (
        HANDLES,
        HANDLES.replace(",", "\t"),
        "the delimiter is '\\t', not ','",
    ),
}


@pytest.mark.parametrize("what", DRIFT)
async def test_a_file_that_has_changed_stops_before_the_first_request_and_says_how(what: str) -> None:
    before, after, says = DRIFT[what]
    options: dict[str, Any] = {"header": False} if str(before)[0] == "1" else {}
    options |= {"columns": {"handle" if before == HANDLES else "email": 2}} if options else {}
    await lint_records(written("a", before), **options, write_layout="l.toml")
    path = as_parquet("b", Kunde=[1], Mail=[ANN], Telefon=[PHONE]) if after == b"parquet" else written("b", after)
    service = ModelService()
    with pytest.raises(InvalidInput) as stopped:
        await job_of(service, path, layout="l.toml").run()
    assert f"{stopped.value.message}$".startswith(f"b: the file differs from the layout l.toml: {says}")
    assert not service.members
    # Of several files, too, whatever comes first.
    with pytest.raises(InvalidInput, match="the file differs from the layout"):
        await job_of(service, ["a", path], layout="l.toml").run()
    assert not service.members


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (PEOPLE, "the format looks like JSON, not csv"),
        (f'{{"email":"{ANN}"}}\n', "the format looks like JSON, not csv"),
        ("<!DOCTYPE html>\n<html><body>Please sign in; it is late\n", "the format looks like XML or HTML, not csv"),
    ],
)
async def test_what_is_no_csv_is_named_although_the_file_is_called_so(content: str, says: str) -> None:
    await lint_records(written("a.csv", TABLE), write_layout="l.toml")
    with pytest.raises(InvalidInput, match=f"differs from the layout l.toml: {says}; missing"):
        await uploaded(written("a.csv", content), layout="l.toml")


async def test_a_row_above_rows_is_no_name_and_an_object_need_not_have_what_is_not_read() -> None:
    options: dict[str, Any] = {"header": False, "columns": {"email": 2}}
    await lint_records(written("a.csv", f"1,{ANN}\n2,{BOB}\n"), **options, write_layout="l.toml")
    for first in ("1,none", ",nothing", "Ann,n/a"):
        assert await uploaded(written("b.csv", f"{first}\n2,{BOB}\n"), layout="l.toml") == held("email", BOB)
    await lint_records(written("a.jsonl", f'{{"email":"{ANN}","tags":1}}\n'), write_layout="m.toml")
    assert await uploaded(written("b.jsonl", f'{{"email":"{BOB}"}}\n'), layout="m.toml") == held("email", BOB)


async def test_a_file_at_an_address_has_a_layout_as_a_local_one_and_a_layout_at_an_address_is_refused() -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe_file("/a.csv", TABLE.encode())
    memory.pipe_file("/b.csv", TABLE.replace(";", ",").encode())
    await lint_records("memory://a.csv", write_layout="l.toml")
    assert await uploaded("memory://a.csv", layout="l.toml") >= held("email", ANN, BOB)
    with pytest.raises(
        InvalidInput, match=r"memory://b\.csv: the file differs from the layout l\.toml: the delimiter is ','"
    ):
        await uploaded("memory://b.csv", layout="l.toml")
    for option in ("layout", "write_layout"):
        options: Any = {option: "https://host.example/l.toml?token=1"}
        with pytest.raises(InvalidInput, match=f"^{option} must be a path on this machine, not an address$"):
            await lint_records("memory://a.csv", **options)


async def test_a_key_is_a_column_of_the_layout_whether_it_is_read_or_not() -> None:
    await lint_records(written("a.csv", TABLE), write_layout="l.toml")
    await uploaded("a.csv", layout="l.toml", key="Kunde", outcomes="o.csv")
    assert content_of("o.csv") == b"row,key,outcome,reason\r\n1,1,accepted,\r\n2,2,accepted,\r\n"
    with pytest.raises(InvalidInput, match="Mail"):
        await uploaded("a.csv", layout="l.toml", key="Mail", outcomes="o.csv")


async def test_one_layout_is_of_all_files_of_a_run_and_of_all_that_have_changed_some_are_named() -> None:
    await lint_records(written("1.csv", f"Mail;x\n{ANN};1\n"), write_layout="l.toml")
    written("2.csv", f"Mail;x\n{BOB};1\n")
    assert await uploaded("*.csv", layout="l.toml") == held("email", ANN, BOB)
    for number in range(3, 10):
        written(f"{number}.csv", f"Mail,x\n{BOB},1\n")
    with pytest.raises(InvalidInput) as stopped:
        await uploaded("*.csv", layout="l.toml")
    assert "3.csv: " in stopped.value.message
    assert stopped.value.message.endswith("; and 2 more files")
    with pytest.raises(InvalidInput, match=r"no layout is written: the files differ in their delimiter"):
        await lint_records("*.csv", write_layout="m.toml")
    # A pattern that matches layouts leaves those of the job out.
    assert (await lint_records("[12l].*", layout="l.toml")).rows == 2


@pytest.mark.parametrize("size", [0, 4_000])
async def test_json_is_judged_by_its_first_1000_objects(size: int) -> None:
    lines = [f'{{"email":"p{n}@example.com","note":"{"x" * size}"}}\n' for n in range(1_001)]
    await lint_records(written("a.jsonl", "".join(lines)), write_layout="l.toml")
    lines[1_000] = f'{{"email":"{ANN}","phone":"{PHONE}"}}\n'
    assert not held("phone_number", PHONE) & await uploaded(written("b.jsonl", "".join(lines)), layout="l.toml")
    lines[999:] = lines[1_000:]
    with pytest.raises(InvalidInput, match=r'new: "phone" \(phone_number\)'):
        await uploaded(written("c.jsonl", "".join(lines)), layout="l.toml")


OTHERWISE: Mapping[str, Any] = {
    "columns": {"email": "x"},
    "header": False,
    "header_line": 2,
    "default_region": "US",
    "phone_format": "national",
}


@pytest.mark.parametrize("option", OTHERWISE)
async def test_an_option_that_says_otherwise_than_the_layout_is_refused(option: str) -> None:
    path = written("a.csv", f"Mail;x\n{ANN};1\n")
    await lint_records(path, default_region="DE", write_layout="l.toml")
    with pytest.raises(InvalidInput, match=f"{option} contradicts the layout"):
        await uploaded(path, layout="l.toml", **{option: OTHERWISE[option]})
    same: dict[str, Any] = {"columns": {"email": "Mail"}, "header_line": 1, "default_region": "DE"}
    written("l.toml", b"\xef\xbb\xbf" + content_of("l.toml"))  # as some editors save it
    assert await uploaded(path, layout="l.toml", **same) == held("email", ANN)


@pytest.mark.parametrize("records", [[{"email": ANN}], pyarrow.table({"email": [ANN]})], ids=["objects", "a table"])
async def test_rows_in_memory_have_no_layout(records: Any) -> None:
    await lint_records(written("a.csv", f"email\n{ANN}\n"), write_layout="l.toml")
    with pytest.raises(InvalidInput, match="a layout describes files only: "):
        await uploaded(records, layout="l.toml")
    with pytest.raises(InvalidInput, match="a layout describes files only: "):
        await lint_records(records, write_layout="m.toml")


async def test_no_layout_is_written_over_a_file_after_a_broken_input_or_with_names_that_are_data() -> None:
    good = written("a.csv", f"email,x\n{ANN},1\n")
    written("notes.txt", "mine")
    with pytest.raises(InvalidInput, match=r"notes\.txt is not a layout and is not overwritten"):
        await lint_records(good, write_layout="notes.txt")
    with pytest.raises(InvalidInput, match="there is no such folder"):
        await lint_records(good, write_layout="none/l.toml")
    await lint_records(good, write_layout="l.toml")
    before = content_of("l.toml")
    with pytest.raises(InvalidInput, match=r"l\.toml is a different layout and is not overwritten"):
        await lint_records(good, default_region="DE", write_layout="l.toml")
    assert content_of("l.toml") == before
    broken = written("b.csv", f'email,x\n{ANN},1\n"{BOB},1\n{CYD},2\n')
    assert (await lint_records(broken, write_layout="b.toml")).broken_off
    personal = written("c.csv", f"email,{BOB}\n{ANN},1\n")
    with pytest.raises(InvalidInput, match="the names of columns 2 look like data") as refused:
        await lint_records(personal, header_line=1, write_layout="b.toml")
    assert BOB not in str(refused.value)
    with pytest.raises(FileNotFoundError):
        content_of("b.toml")


PLAIN: Final = 'version = 1\nreads = "people"\nformat = "jsonl"\n'
NAMES: Final = (
    *(
        "Sales 2023/2024",
        "custom_field_360012345678",
        "How satisfied are you with the goods that we have sent you so far?",
    ),
    *("CLV @ risk", "2024"),
)
"""Names that are no data, although messages about files whose names are not known hide them."""


@pytest.mark.parametrize("name", NAMES)
async def test_a_layout_has_every_name_that_is_no_data_and_says_which_is_gone(name: str) -> None:
    await lint_records(written("a.csv", f"Mail;{name}\n{ANN};1\n"), write_layout="l.toml")
    assert tomllib.loads(content_of("l.toml").decode())["columns"] == {"Mail": "email", name: ""}
    assert await uploaded("a.csv", layout="l.toml") == held("email", ANN)
    with pytest.raises(InvalidInput) as stopped:
        await uploaded(written("b.csv", f"Mail;x\n{ANN};1\n"), layout="l.toml")
    assert stopped.value.message.endswith(f'missing: "{name}"')


@pytest.mark.parametrize("name", [f"Ann <{ANN}>", PHONE, "0171 3920012", "0" * 64])
async def test_a_layout_has_no_name_that_is_data(name: str) -> None:
    with pytest.raises(InvalidInput, match="no layout is written: the names of columns 2 look like data"):
        await lint_records(written("a.csv", f"Mail;{name}\n{BOB};1\n"), header_line=1, write_layout="l.toml")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("version = 1\nnot = [toml", "it is not TOML (at line 2, "),
        (f'{PLAIN}encoding = "latin-1"\n[columns]\n"email" = "email"', 'check "encoding"'),
        (f'{PLAIN}default_region = "XX"\n[columns]\n"email" = "email"', "l.toml is not valid: 'XX' is not a region"),
        (f'{PLAIN}phone_format = "x"\n[columns]\n"email" = "email"', "l.toml is not valid: phone_format must be"),
        ("version = 2", "or was written by another version"),
        ('version = 1\nreads = "products"', "is not a layout of people"),
        ('version = 1\nreads = "people"\nformat = "csv"\ndelimiter = ";;"', '"delimiter", "columns", "header_line"'),
        ('version = 1\nreads = "people"\nformat = "jsonl"\nfoo = 1\n[columns]\n"a" = ""', 'check "foo"'),
        (
            'version = 1\nreads = "people"\nformat = "jsonl"\n[columns]\n"a" = "mail"',
            'reads "a" as "mail", which is not a field',
        ),
    ],
)
async def test_a_layout_that_is_none_is_refused_with_what_is_wrong(text: str, says: str) -> None:
    written("l.toml", text)
    with pytest.raises(InvalidInput) as refused:
        await uploaded(written("a.csv", f"email\n{ANN}\n"), layout="l.toml")
    assert says in refused.value.message


async def test_a_layout_of_people_serves_a_do_not_reach_list_which_takes_fewer_kinds() -> None:
    path = written("a.csv", f"email,handle,x\n{ANN},jack,1\n")
    await lint_records(path, write_layout="l.toml")
    report = await lint_records(path, kinds=DO_NOT_REACH_KINDS, layout="l.toml")
    assert [(each.name, each.kind) for each in report.columns] == [("email", "email")]


@pytest.mark.parametrize("columns", [{"email": "Kontakt"}, {"email": ["Kontakt"]}])
async def test_a_journal_has_what_a_layout_decides_so_that_the_options_themselves_resume_the_job(columns: Any) -> None:
    path = written("a.csv", f"Kontakt;Telefon\n{ANN};0171 3920012\n")
    await lint_records(path, columns=columns, default_region="DE", write_layout="l.toml")
    service = ModelService()
    await job_of(service, path, layout="l.toml", journal="j").run()
    report = await job_of(service, path, columns=columns, default_region="DE", journal="j").run()
    assert (report.resumed, report.requests) == (1, 0)
    with pytest.raises(InvalidInput, match="the same job with different settings"):
        await job_of(service, path, columns=columns, default_region="AT", journal="j").run()
    assert b"l.toml" not in content_of("j")


async def test_products_have_layouts_with_the_currency_and_what_each_object_has() -> None:
    rows = [product("p1", price=None, Preis="9,99", Waehrung="EUR"), product("p2")]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    before = await lint_products(written("a.jsonl", lines), write_layout="l.toml")
    layout = tomllib.loads(content_of("l.toml").decode())
    assert (layout["reads"], layout["columns"]["id"]) == ("products", "id")
    assert "phone_format" not in layout
    after = await lint_products("a.jsonl", layout="l.toml")
    assert (after.kinds, after.unusable_rows) == (before.kinds, before.unusable_rows)
    with pytest.raises(
        InvalidInput, match=r'missing: "title" \(title\); new: "titel" \(title\)|missing: "title" \(title\)'
    ):
        await lint_products(written("b.jsonl", lines.replace('"title"', '"titel"')), layout="l.toml")
    with pytest.raises(InvalidInput, match="is not a layout of people"):
        await lint_records("a.jsonl", layout="l.toml")
