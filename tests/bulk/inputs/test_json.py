"""Reading JSON Lines."""

import json
from pathlib import Path

import attrs
import pytest

from socialapi.bulk.audiences.cells import user_rows
from socialapi.bulk.audiences.columns import IdentifierColumns
from socialapi.bulk.inputs.formats import open_records
from socialapi.bulk.inputs.json import MAX_OBJECT_BYTES, JsonWindow
from socialapi.bulk.inputs.layouts import read_layout
from socialapi.bulk.inputs.numbers import INEXACT, INFINITE, NESTED, NOT_TEXT
from socialapi.bulk.inputs.reader import ROWS_PER_BLOCK, TableForm
from socialapi.errors import InvalidInput
from socialapi.models.audiences import IDENTIFIER_KINDS
from tests.bulk.input_files import Repeated, open_users, read, read_until_error, values, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "crm.jsonl"


async def test_keys_are_columns_and_may_differ_from_line_to_line(path: Path) -> None:
    write(
        path, '{"E-Mail": "a@b.example", "id": 1}\n{"phone": "+14155550123", "emails": ["c@d.example", "e@f.example"]}'
    )
    first, second = await read(path)
    assert first.identifiers == [("E-Mail", "email", "a@b.example")]
    assert second.identifiers == [
        ("emails", "email", "c@d.example"),
        ("emails", "email", "e@f.example"),
        ("phone", "phone_number", "+14155550123"),
    ]
    assert (first.number, second.number) == (1, 2)


@pytest.mark.parametrize("extension", [".jsonl", ".ndjson", ".json", ".JSONL", ".data", ""])
@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf"])
async def test_json_lines_are_known_by_extension_or_first_character(
    tmp_path: Path, extension: str, before: bytes
) -> None:
    path = tmp_path / f"crm{extension}"
    write(path, before + b'{"email": "a@b.example"}\r\n')
    assert values(await read(path)) == [["a@b.example"]]


async def test_whole_numbers_are_identifiers_and_other_types_are_not(path: Path) -> None:
    lines = [
        {"service_id": 123456789012345, "phone": None},
        {"service_id": [1, "2"], "email": ""},
        {"service_id": True, "email": {"a": 1}, "handle": [1.5, None], "phone": "1"},
    ]
    write(path, "".join(json.dumps(line) + "\n" for line in lines))
    rows = await read(path)
    assert values(rows) == [["123456789012345"], ["1", "2"], ["1"]]
    reason = "is neither text nor a whole number"
    assert rows[2].unusable == (("email", NESTED), ("handle", reason), ("service_id", reason))


@pytest.mark.parametrize(("name", "form"), [("crm.jsonl", "{}\n{}\n{}\n"), ("crm.json", "[{},{},{}]")])
async def test_an_object_with_a_name_twice_is_rejected_unless_both_values_are_equal(
    tmp_path: Path, name: str, form: str
) -> None:
    twice, same = (f'{{"email": "a@b.example", "email": "{other}"}}' for other in ("c@d.example", "a@b.example"))
    nested = '{"handle": "h", "x": {"a": 1, "b": [{"a": 2}]}, "y": "{\\"a\\": 1}"}'
    write(tmp_path / name, form.format(twice, same, nested))
    rows = await read(tmp_path / name)
    assert values(rows) == [[], ["a@b.example"], ["h"]]
    assert rows[0].problem == ("", 'has the name "email" twice, with different values')
    write(tmp_path / name, form.format(f'{{"handle": "h", "x": [{twice}]}}', same, nested))
    assert [row.problem is None for row in await read(tmp_path / name)] == [False, True, True]


async def test_a_number_with_a_point_is_a_whole_one_as_long_as_all_its_digits_are_sure(path: Path) -> None:
    numbers = ["1000.0", "1e3", "9007199254740991.0", "9007199254740992.0", "1000.5", "NaN", "Infinity", "-0.0"]
    write(path, "".join(f'{{"handle": "h", "service_id": {number}}}\n' for number in numbers))
    rows = await read(path)
    assert values(rows) == [
        *(["h", "1000"], ["h", "1000"], ["h", "9007199254740991"], ["h"], ["h"], ["h"], ["h"], ["h", "0"]),
    ]
    assert [row.unusable for row in rows if row.unusable] == [
        (("service_id", INEXACT),),
        (("service_id", NOT_TEXT),),
        (("service_id", INFINITE),),
    ]


async def test_a_line_of_more_than_a_mebibyte_is_a_problem_of_its_row_alone(path: Path) -> None:
    longest = '{"email": "a@b.example", "note": "' + "x" * (MAX_OBJECT_BYTES - 36) + '"}'
    assert len(longest) == MAX_OBJECT_BYTES
    write(path, "\n".join([longest, longest + "  ", "x" * (5 * MAX_OBJECT_BYTES), longest, longest + " "]))
    rows = await read(path)
    too_long = ("", "is longer than 1,048,576 bytes")
    assert [row.problem for row in rows] == [None, too_long, too_long, None, too_long]


@pytest.mark.parametrize("lines", ['{"name": "x", "customer_id": 1}\n', "{}\n"])
async def test_no_column_of_identifiers_in_the_first_lines_is_refused(path: Path, lines: str) -> None:
    write(path, lines * 3)
    with pytest.raises(InvalidInput, match=r"crm\.jsonl: no column of identifiers was found"):
        await read(path)


async def test_later_objects_without_identifiers_are_rows_without_identifiers(path: Path) -> None:
    write(path, '{"email": "a@b.example"}\n' + '{"name": "x"}\n' * ROWS_PER_BLOCK + '{"phone": "1"}')
    rows = await read(path)
    assert values(rows) == [["a@b.example"], *[[]] * ROWS_PER_BLOCK, ["1"]]


async def test_a_given_column_has_to_be_in_some_of_the_first_objects(path: Path) -> None:
    write(path, '{"phone": "1"}\n{"phone": "1", "contact": "a@b.example"}\n')
    assert values(await read(path, columns={"email": "contact"})) == [["1"], ["a@b.example", "1"]]
    with pytest.raises(
        InvalidInput, match='there is no column "contcat" for email; the columns are: "phone", "contact"'
    ):
        await read(path, columns={"email": "contcat"})


@pytest.mark.parametrize(
    "content",
    [
        '[\n{"email": "a@b.example"}, {"email": "c@d.example"}]',
        '  [{"email": "a@b.example"},{"email": "c@d.example"}]\n',
        '{"users": [{"email": "a@b.example"}, {"email": "c@d.example"}]}',
        '{"page": 1,\n "errors": [], "data": [\n{"email": "a@b.example"}, {"email": "c@d.example"}], "next": {"a": null}}',
    ],
)
@pytest.mark.parametrize("extension", [".json", ".export"])
async def test_an_array_is_read_also_as_the_member_of_an_object(tmp_path: Path, content: str, extension: str) -> None:
    path = tmp_path / f"crm{extension}"
    write(path, content)
    assert values(await read(path)) == [["a@b.example"], ["c@d.example"]]


@pytest.mark.parametrize(
    "content",
    [
        '{"orders": [{"n": 1}], "email": "a@b.example"}\n',
        '{"orders": [{"n": 1}], "name": "x"}\n{"email": "a@b.example"}\n',
        '{"email": "a@b.example", "orders": [{"n": 1}]}',
    ],
)
async def test_an_object_with_an_array_in_it_may_be_a_row(tmp_path: Path, content: str) -> None:
    write(tmp_path / "crm.json", content)
    assert [found for found in values(await read(tmp_path / "crm.json")) if found] == [["a@b.example"]]


@pytest.mark.parametrize(
    "more",
    [
        '"devices": [{"idfa": "5d1c1a1e-7b3f-4c52-9a64-20f8c3e6b7d9"}]',
        '"phones": [{"phone": "+14155550123", "type": "m"}]',
    ],
)
@pytest.mark.parametrize("form", ['{{"email": "a@b.example", {}}}', '{{{}, "email": "a@b.example"}}\n'])
async def test_an_array_of_other_identifiers_of_a_person_is_a_part_of_the_row(
    tmp_path: Path, form: str, more: str
) -> None:
    write(tmp_path / "crm.json", form.format(more))
    assert values(await read(tmp_path / "crm.json")) == [["a@b.example"]]


@pytest.mark.parametrize("people", [1, 9_000])
async def test_an_identifier_after_the_rows_is_reported_whatever_the_size_of_the_file(
    tmp_path: Path, people: int
) -> None:
    users = ", ".join(f'{{"email": "a{n}@b.example", "phone": "+14155550123"}}' for n in range(people))
    write(tmp_path / "crm.json", f'{{"name": "List", "users": [{users}], "email": "o@b.example", "n": 1}}')
    selection = IdentifierColumns.of(None, IDENTIFIER_KINDS)
    async with open_records(tmp_path / "crm.json", selection) as reader:
        assert sum([len(block) async for block in reader]) == people
    assert [each.reason for each in selection.remarks] == ['"email" is outside of the array "users", and is not read']


async def test_the_share_that_is_read_grows(path: Path) -> None:
    write(path, '{"email": "somebody.with.a.name.of.some.length@b.example"}\n' * 3 * ROWS_PER_BLOCK)
    async with open_users(path) as reader:
        fractions = [reader.fraction_read async for _ in reader]
    assert len(fractions) == 3
    assert 0 < (fractions[0] or 0) < (fractions[1] or 0) <= 1
    assert reader.fraction_read == 1.0


A, B = '[{"email": "a@b.example"}]', '[{"email": "c@d.example"}]'
DEEP = f'{{"de": {{"users": {A}}}, "fr": {{"users": {B}}}}}'


@pytest.mark.parametrize(
    ("content", "first", "second"),
    [
        (f'{{"a": {A}, "tags": ["x", [{{"y": 1}}]], "b": {B}}}', "a", "b"),
        (DEEP, "de.users", "fr.users"),
        (f'{{"data": {{"users": {A}}},\n "data2": {B}}}', "data.users", "data2"),
        (f'{{"owner": {{"contacts": {A}}}, "users": {B}}}', "owner.contacts", "users"),
        (f'{{"users": {A}, "years": [{{"year": 2020, "left": {B}}}]}}', "users", "years.left"),
        (f'{{"left": [{{"year": 2020}}, {B[1:-1]}], "users": {A}}}', "users", "left"),
        (f'{{"users": {A}, "old": [[1], {B}]}}', "users", "old"),
        (f'{{"email": "o@b.example", "phone": "1", "users": {A}}}', "users", None),
        (f'{{\n "users": {A},\n "email": "o@b.example"\n}}', "users", None),
    ],
)
async def test_two_arrays_of_people_are_refused_with_their_names(
    tmp_path: Path, content: str, first: str, second: str | None
) -> None:
    write(tmp_path / "crm.json", content)
    rows, error = await read_until_error(tmp_path / "crm.json", InvalidInput)
    other = "the object around it" if second is None else f'"{second}"'
    assert f'crm.json: both "{first}" and {other} may be rows: keep only one of them, or choose an array' in str(error)
    is_in_array = "years" in content or "old" in content  # found only when it is read
    assert is_in_array or values(rows) == []


async def test_an_array_of_people_far_behind_the_rows_ends_the_input(tmp_path: Path) -> None:
    many = ", ".join(f'{{"email": "u{n}@b.example"}}' for n in range(9_000))
    write(tmp_path / "crm.json", f'{{"de": {{"users": [{many}]}}, "fr": {{"users": [{many}]}}}}')
    rows, error = await read_until_error(tmp_path / "crm.json", InvalidInput)
    assert len(rows) == 9_000
    assert 'both "de.users" and "fr.users" may be rows' in str(error)


@pytest.mark.parametrize("array", ["de.users", "fr.users", "fr.none"])
@pytest.mark.parametrize("people", [1, 9_000])
async def test_a_layout_chooses_one_of_several_arrays(tmp_path: Path, array: str, people: int) -> None:
    de, fr = (", ".join(f'{{"email": "{name}{n}@b.example"}}' for n in range(people)) for name in ("de", "fr"))
    write(tmp_path / "crm.json", f'{{"de": {{"users": [{de}]}}, "fr": {{"users": [{fr}]}}}}')
    rows = json.dumps(array.split("."))
    layout = f'version = 1\nreads = "people"\nformat = "json"\nrows = {rows}\n[columns]\n"email" = "email"\n'
    write(tmp_path / "crm.toml", layout)
    selection = IdentifierColumns.of(None, IDENTIFIER_KINDS)
    form = TableForm(layout=read_layout(tmp_path / "crm.toml", selection))
    async with open_records(tmp_path / "crm.json", attrs.evolve(selection, form=form)) as reader:
        if "none" in array:
            with pytest.raises(InvalidInput, match=r"the file differs from the layout|there is no array"):
                await anext(reader)
        else:
            found = values([row async for block in reader for row in user_rows(block)])
            assert found == [[f"{array[:2]}{n}@b.example"] for n in range(people)]


@pytest.mark.parametrize("pretty", [None, 2])
@pytest.mark.parametrize(
    "other",
    [
        {"errors": [{"code": 1}, {"code": 2, "details": [{"field": "name"}]}]},
        {"included": [{"type": "address", "country": "DE", "attributes": {"city": "Ulm"}}]},
        {"account": {"email": "o@b.example"}, "meta": {"facets": [{"name": "x"}]}},
    ],
)
async def test_arrays_without_people_are_ignored_before_and_after_the_rows(
    tmp_path: Path, other: dict[str, object], pretty: int | None
) -> None:
    users = {"data": [{"email": "a@b.example", "attributes": {"phone": "1"}}]}
    for document in (users | other, other | users):
        write(tmp_path / "crm.json", json.dumps(document, indent=pretty))
        assert values(await read(tmp_path / "crm.json")) == [["a@b.example"]]
    columns = {"phone_number": "attributes.phone"}
    assert values(await read(tmp_path / "crm.json", columns=columns)) == [["a@b.example", "1"]]


async def test_an_object_with_an_array_of_people_is_read_from_json_lines(tmp_path: Path) -> None:
    write(tmp_path / "crm.jsonl", f'{{"email": "o@b.example", "friends": {A}}}')
    assert values(await read(tmp_path / "crm.jsonl")) == [["o@b.example"]]


async def test_an_empty_array_does_not_hide_an_array_without_people(tmp_path: Path) -> None:
    write(tmp_path / "crm.json", '{"warnings": [], "people": [{"contact": "a@b.example"}]}')
    with pytest.raises(InvalidInput, match='no column of identifiers was found; the columns are: "contact"'):
        await read(tmp_path / "crm.json")


async def test_an_array_that_is_ignored_is_reported(tmp_path: Path) -> None:
    write(tmp_path / "crm.json", f'{{"users": {A}, "meta": {{"errors": [{{"code": 1}}], "tags": ["x"]}}}}')
    selection = IdentifierColumns.of(None, IDENTIFIER_KINDS)
    async with open_records(tmp_path / "crm.json", selection) as reader:
        assert [len(block) async for block in reader] == [1]
    assert selection.ignored_columns() == ("meta.errors",)


@pytest.mark.parametrize(
    "content",
    [
        '{"name": "My list", "users": [{"email": "a@b.example", "phone": "+14155550123"}]}',
        '{"meta": {"page": 1, "tags": ["x"]}, "users": [{"email": "a@b.example", "phone": "+14155550123"}], "n": 1}',
        '{\n  "handle": "owner",\n  "users": [\n    {"email": "a@b.example", "phone": "+14155550123"}\n  ]\n}\n',
    ],
)
async def test_a_wrapper_may_say_something_about_itself(tmp_path: Path, content: str) -> None:
    write(tmp_path / "crm.json", content)
    assert values(await read(tmp_path / "crm.json")) == [["a@b.example", "+14155550123"]]


@pytest.mark.parametrize("number", [b"1", b"1.0", b"1e"])
async def test_a_number_that_does_not_end_is_refused_where_an_item_is_too_long(number: bytes) -> None:
    with pytest.raises(InvalidInput, match="line 1, column 2: an item is longer than 1,048,576 characters"):
        await read(Repeated(b"[" + number, b"1", 50_000_000))


async def test_blanks_between_items_are_passed_over_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[int] = []
    go_to = JsonWindow._go_to

    def counted(window: JsonWindow, place: int) -> None:
        steps.append(place)
        go_to(window, place)

    monkeypatch.setattr(JsonWindow, "_go_to", counted)
    blanks = Repeated(b'[{"email": "a@b.example"},', b" \n", 3_000_000, b'{"email": "c@d.example"}]')
    assert values(await read(blanks)) == [["a@b.example"], ["c@d.example"]]
    assert len(steps) < 200


@pytest.mark.parametrize("number", ["1.5", "-0.25", "1e5", "1E+5", "-17.25e-3", "12"])
async def test_a_number_is_the_same_wherever_the_parts_of_the_file_end(number: str) -> None:
    text = f'[{number}, {{"email": "a@b.example"}}, {number}]'.encode()
    for size in range(2, len(text)):

        class Parts:
            def __init__(self, *parts: bytes) -> None:
                self.parts = list(parts)

            def read(self, _: int) -> bytes:
                return self.parts.pop(0) if self.parts else b""

        rows = await read(Parts(text[:size], text[size:]))
        assert [row.problem is None for row in rows] == [False, True, False]
