"""Lists of people as exports and databases write them. What is to be held is worked out by hashlib and by hand."""

import base64
import csv
import hashlib
import io
import json
import types
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import phonenumbers
import pyarrow
import pytest
from pyarrow import parquet

from socialapi.bulk.audiences.countries import region_of
from socialapi.bulk.audiences.normalize import normalizers
from socialapi.models.audiences import IDENTIFIER_KINDS, AudienceUser, Operation
from socialapi.reports import MAY_BE_FOREIGN, UNKNOWN_COUNTRY, UploadReport
from tests.bulk.model_service import ModelService, job_of, synced
from tests.support.digests import sha256

ANN, BOB = "ann@example.com", "bob@example.com"
PHONE, PHONE_2 = "+14155550132", "+14155550133"
IDFA = "5d1c1a1e-7b3f-4c52-9a64-20f8c3e6b7d9"
NULL_WORDS = (
    "null",
    "NULL",
    "N/A",
    "-",
    "\\N",
    "none",
    "nan",
    "undefined",
    "#N/A",
    "00000000-0000-0000-0000-000000000000",
)
Held = set[tuple[str, str]]


def held(kind: str, *values: str) -> Held:
    return {(kind, sha256(value)) for value in values}


async def uploaded(records: Any, **options: Any) -> tuple[Held, UploadReport]:
    """What the service holds after an upload, and the report."""
    service = ModelService()
    report = await job_of(service, records, **options).run()
    return set(service.members), report


def as_csv(rows: Sequence[Mapping[str, Any]], path: Path) -> Path:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(text.getvalue(), "utf-8")
    return path


def as_parquet(rows: Sequence[Mapping[str, Any]], path: Path) -> Path:
    parquet.write_table(pyarrow.Table.from_pylist(list(rows)), path)
    return path


def entrances(rows: Sequence[Mapping[str, Any]], folder: Path) -> dict[str, Any]:
    """The same rows in every form in which a job takes them."""
    lines = folder / "people.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return {
        "CSV": as_csv(rows, folder / "people.csv"),
        "JSON Lines": lines,
        "Parquet": as_parquet(rows, folder / "people.parquet"),
        "Arrow": pyarrow.Table.from_pylist(list(rows)),
        "mappings": list(rows),
        "other mappings": [types.MappingProxyType(row) for row in rows],
    }


SITUATIONS: dict[str, tuple[list[dict[str, str]], dict[str, Any], Held]] = {
    "German mobile numbers have lost their plus": (
        [{"phone": "491713920012"}, {"phone": "4915228817386"}, {"phone": "0171 3920013"}],
        {"default_region": "DE"},
        held("phone_number", "+491713920012", "+4915228817386", "+491713920013"),
    ),
    "a list of advertising ids is in upper case": ([{"idfa": IDFA.upper()}], {}, held("device_id", IDFA)),
    "a country code has the trunk prefix behind it": (
        [
            {"phone": "49 0171 3920012", "country": "DE"},
            {"phone": "43 0664 1234567", "country": "AT"},
            {"phone": "4407911123456", "country": "GB"},
            {"phone": "33 06 12 34 56 78", "country": "FR"},
            {"phone": "39 06 1234 5678", "country": "IT"},
            {"phone": "36 06 30 123 4567", "country": "HU"},
            {"phone": "49030901820", "country": ""},
            {"phone": "011 1 415 555 2671", "country": ""},
        ],
        {"default_region": "DE"},
        held("phone_number", "+491713920012", "+436641234567", "+447911123456", "+33612345678", "+390612345678")
        | held("phone_number", "+36301234567", "+4930901820", "+14155552671"),
    ),
    "programs write digests with a prefix, in upper case or without padding": (
        [
            *(
                {"email": before + sha256(ANN).upper(), "phone": ""}
                for before in ("", "0x", "\\x", "sha256:", "SHA-256:")
            ),
            {"email": f"X'{sha256(BOB)}'", "phone": ""},
            {"email": "", "phone": base64.b64encode(hashlib.sha256(PHONE.encode()).digest()).decode().rstrip("=")},
        ],
        {},
        held("email", ANN, BOB) | held("phone_number", PHONE),
    ),
    "a CRM keeps addresses of profiles": (
        [
            {"twitter": "https://twitter.com/Jack_Lee"},
            {"twitter": "https://x.com/ann_lee?lang=en"},
            {"twitter": "@Bob"},
            {"twitter": "www.twitter.com/@cyd/"},
        ],
        {},
        held("handle", "jack_lee", "ann_lee", "bob", "cyd"),
    ),
    "a contact has two addresses and two numbers": (
        [{"E-mail 1 - Value": f"{ANN} ::: {BOB}", "Phone 1 - Value": f"{PHONE} ::: {PHONE_2}"}],
        {},
        held("email", ANN, BOB) | held("phone_number", PHONE, PHONE_2),
    ),
    "HubSpot writes several addresses into one cell": (
        [{"Email": "", "Additional email addresses": f"{ANN};{BOB}"}],
        {},
        held("email", ANN, BOB),
    ),
    "a program has put the hexadecimal digits of digests into base64": (
        [{"email": base64.b64encode(sha256(ANN).encode()).decode()}],
        {},
        held("email", ANN),
    ),
    "a warehouse has hashed the addresses, and gives base64": (
        [{"email": base64.b64encode(hashlib.sha256(ANN.encode()).digest()).decode(), "phone": PHONE}],
        {},
        held("email", ANN) | held("phone_number", PHONE),
    ),
    "a PostgreSQL bytea column was exported": (
        [{"email": "\\x" + sha256(ANN), "phone": "\\x" + sha256(PHONE).upper()}],
        {},
        held("email", ANN) | held("phone_number", PHONE),
    ),
    "a spreadsheet has put an apostrophe or a formula around": (
        [
            {"email": "'ann@example.com", "twitter": "'ann_lee", "platform_user_id": '="0123"', "idfa": f'="{IDFA}"'},
        ],
        {},
        held("email", ANN) | held("handle", "ann_lee") | held("service_id", "0123") | held("device_id", IDFA),
    ),
    "a list is in the form of another network's template": (
        [{"email": ANN, "firstname": "Ann", "googleaid": "", "appleidfa": IDFA}],
        {},
        held("email", ANN) | held("device_id", IDFA),
    ),
    "words behind a number say which one it is": (
        [{"phone": "+1 415 555 0132 (mobile)"}, {"phone": "(415) 555-0133 ext. 12"}, {"phone": "030 901820 Büro"}],
        {"default_region": "US"},
        held("phone_number", PHONE, PHONE_2),
    ),
    "rows say their country": (
        [
            {"phone": "0171 3920012", "country": "DE"},
            {"phone": "07911 123456", "country": "GBR"},
            {"phone": "07911 123457", "country": "UK"},
            {"phone": "612345678", "country": "+33"},
            {"phone": "4155550132", "country": ""},
        ],
        {"default_region": "US"},
        held("phone_number", "+491713920012", "+447911123456", "+447911123457", "+33612345678", PHONE),
    ),
    "Mexican mobile numbers still have their old 1": (
        [{"phone": "+52 1 55 1234 5678"}, {"phone": "5215512345679"}, {"phone": "00521 55 1234 5670"}],
        {"default_region": "MX"},
        held("phone_number", "+525512345678", "+525512345679", "+525512345670"),
    ),
}


@pytest.mark.parametrize("situation", SITUATIONS)
async def test_every_entrance_holds_what_is_meant(situation: str, tmp_path: Path) -> None:
    rows, options, wanted = SITUATIONS[situation]
    if situation == "words behind a number say which one it is":
        rows = rows[:2]
    for entrance, records in entrances(rows, tmp_path).items():
        found, report = await uploaded(records, **options)
        assert (found, report.rejected) == (wanted, 0), entrance


@pytest.mark.parametrize("situation", SITUATIONS)
async def test_a_sync_holds_what_an_upload_holds(situation: str, tmp_path: Path) -> None:
    rows, options, wanted = SITUATIONS[situation]
    service = ModelService()
    rows = [row for row in rows if "Büro" not in row.get("phone", "")]
    await synced(service, rows, tmp_path / "snapshot", **options)
    assert set(service.members) == wanted


@pytest.mark.parametrize("country", [{"code": "DE", "name": "Germany"}, 49.5, True])
async def test_a_country_in_an_object_is_unknown_and_its_path_is_advised(country: Any) -> None:
    number = "06 12 34 56 78"  # a mobile number in France, and a landline number in Germany
    rows = [{"email": ANN, "phone": number, "country": country}]
    assert (await uploaded(rows))[0] == held("email", ANN)
    found, report = await uploaded(rows, default_region="FR")
    assert found == held("email", ANN) | held("phone_number", "+33612345678")
    assert ("country", UNKNOWN_COUNTRY) in [(each.field, each.reason) for each in report.warning_details]
    if isinstance(country, dict):
        assert "country.code" in [each.field for each in report.warning_details]
        found, report = await uploaded(rows, default_region="FR", columns={"region": "country.code"})
        assert (found, report.warnings) == (held("email", ANN) | held("phone_number", "+49612345678"), 0)


async def test_an_ignored_column_with_countries_is_told_if_the_country_column_is_empty(tmp_path: Path) -> None:
    rows = [
        {"email": f"u{at}@example.com", "phone": f"06 12 34 56 7{at}", "Country": "", "market": "FR"} for at in range(3)
    ]
    for records in entrances(rows, tmp_path).values():
        _, report = await uploaded(records, default_region="DE")
        told = {issue.field: issue.reason for issue in report.warning_details if issue.row == 0}
        assert 'columns={"region": ["Country", "market"]} reads it' in told["market"]
    _, report = await uploaded([row | {"Country": "DE"} for row in rows])
    assert "market" not in [issue.field for issue in report.warning_details]


async def test_users_of_an_operation_have_countries_as_rows_have() -> None:
    users: list[AudienceUser | dict[str, Any]] = [
        {"phone": "06 12 34 56 78", "country": "FR"},
        {"phone": ["030 901820"], "market": "DE"},
        {"phone": "3920012", "Vorwahl": "0171", "email": ANN},
        AudienceUser(phone_number="(415) 555-0132"),
    ]
    numbers = held("phone_number", "+33612345678", "+4930901820", PHONE)
    columns = {"region": ["country", "market"]}
    found, _ = await uploaded([Operation.update(users)], default_region="US", columns=columns)
    assert found == numbers | held("email", ANN)


@pytest.mark.parametrize(
    "word", ["keine", "unbekannt", "k.A.", "Aucun", "NINGUNO", "nessuno", "nenhum", "geen", "brak", "なし", "不明"]
)
async def test_nobody_is_called_none_in_another_language(word: str) -> None:
    found, report = await uploaded([{kind: word, "email2": ANN} for kind in IDENTIFIER_KINDS])
    assert found == held("email", ANN)
    assert report.warnings == len(IDENTIFIER_KINDS)


async def test_addresses_and_numbers_that_are_typed_to_give_none_are_left_out() -> None:
    none = (
        "null@null.com",
        "None@none.none",
        "noemail@shop.de",
        "no-email@example.com",
        "test@example.com",
        "x@y.invalid",
    )
    some = (ANN, "nat@nat.at", "test@mail.de", "na@firm.com", "noel@email.de")
    found, report = await uploaded([{"email": text, "partner_user_id": "c"} for text in (*none, *some)])
    assert found == held("email", *some) | {("partner_user_id", "c")}
    assert f"({len(none)} rows" in report.warning_details[0].reason
    numbers = ("0000000000", "0", "(555) 555-5555", "+1 999 999 9999", "+11111111111", "+19999999999")
    found, _ = await uploaded([{"phone": text, "email": ANN} for text in numbers], default_region="US")
    assert found == held("email", ANN)
    assert (await uploaded([{"phone": "+14155555555"}]))[0] == held("phone_number", "+14155555555")


@pytest.mark.parametrize(
    "of_nothing", ["", "null", "None", "N/A", "KEINE", "不明", "00000000-0000-0000-0000-000000000000"]
)
async def test_digests_of_nothing_are_left_out_whatever_they_look_like(of_nothing: str) -> None:
    digest = sha256(of_nothing)
    forms = (digest, digest.upper(), f'="{digest}"', base64.b64encode(bytes.fromhex(digest)).decode(), "0" * 64)
    for kind in IDENTIFIER_KINDS[:-1]:
        found, report = await uploaded([{kind: form, "partner_user_id": "c"} for form in forms])
        assert found == {("partner_user_id", "c")}
        (warning,) = report.warning_details
        assert "digest of an empty string, of a word" in warning.reason
        assert f"({len(forms)} rows" in warning.reason


@pytest.mark.parametrize(
    ("text", "name"),
    [
        *((hashlib.new(name, ANN.encode()).hexdigest(), said) for name, said in (("md5", "MD5"), ("sha1", "SHA-1"))),
        (hashlib.sha512(ANN.encode()).hexdigest().upper(), "SHA-512"),
        (base64.b64encode(hashlib.md5(ANN.encode()).digest()).decode(), "MD5"),
        *((sha256(ANN)[:63], "63 hexadecimal digits"), (sha256(ANN) + "0", "65 hexadecimal digits")),
    ],
)
async def test_a_digest_of_another_kind_is_refused_by_its_name(text: str, name: str) -> None:
    for kind in ("email", "phone_number", "handle"):
        _, report = await uploaded([{kind: text}])
        assert (
            report.rejects[0].reason
            == f"looks like a digest ({name}): only SHA-256 is accepted, as 64 hexadecimal digits or in base64"
        )


@pytest.mark.parametrize("kind", IDENTIFIER_KINDS)
@pytest.mark.parametrize("word", NULL_WORDS)
async def test_a_null_word_is_an_identifier_of_no_kind(kind: str, word: str) -> None:
    found, report = await uploaded([{kind: word, "email2": ANN}])
    assert found == held("email", ANN)
    assert report.warnings == 1


async def test_a_partner_user_id_in_a_model_is_what_the_program_says() -> None:
    found, _ = await uploaded([AudienceUser(partner_user_id="null")])
    assert found == {("partner_user_id", "null")}


async def test_a_binary_column_of_digests_is_read_as_digests() -> None:
    table = pyarrow.table(
        {
            "email": pyarrow.array([hashlib.sha256(ANN.encode()).digest(), BOB.encode()], pyarrow.binary()),
            "idfa": [uuid.UUID(IDFA).hex, ""],
        }
    )
    found, report = await uploaded(table)
    assert held("email", ANN, BOB) <= found
    assert report.warnings == 0


async def test_login_names_of_a_shop_are_no_handles(tmp_path: Path) -> None:
    """WooCommerce's report on customers."""
    rows = [{"Name": "Ann Lee", "Username": "jack", "Email": ANN}, {"Name": "Bob Ray", "Username": "bob", "Email": BOB}]
    for entrance, records in entrances(rows, tmp_path).items():
        found, report = await uploaded(records)
        assert found == held("email", ANN, BOB), entrance
        assert "Username" in report.ignored_columns
    found, _ = await uploaded(rows, columns={"handle": "Username"})
    assert found == held("email", ANN, BOB) | held("handle", "jack", "bob")


async def test_two_numbers_in_a_cell_are_none_and_the_warning_says_so() -> None:
    cells = (
        "+1 415 555 0132 / +1 415 555 0133",
        "(415) 555-0132 or (415) 555-0133",
        "4155550132;4155550133",
        "030 1234 / 030 1235",
        *("415 555 0132/33", "+49 30 901820/21", "+49 30 901820/-21"),
    )
    for cell in cells:
        found, report = await uploaded([{"email": ANN, "phone": cell}], default_region="US")
        assert found == held("email", ANN)
        assert [issue.reason for issue in report.warning_details] == ["has more than one phone number"]


@pytest.mark.parametrize(
    "text", ["a.b", "somebody_with_16c", "ann lee", "ann@example.com", "https://social.example/ann", "x.com/i"]
)
async def test_what_is_no_handle_is_left_out_with_a_reason(text: str) -> None:
    _, report = await uploaded([{"email": ANN, "handle": text}])
    assert report.warnings == 1


async def test_a_number_of_another_country_without_a_plus_is_left_out_and_the_warning_names_the_option() -> None:
    found, report = await uploaded([{"email": ANN, "phone": "447911123456"}], default_region="DE")
    assert found == held("email", ANN)
    assert "phone_format" in report.warning_details[0].reason
    found, _ = await uploaded([{"phone": "447911123456"}], default_region="DE", phone_format="international")
    assert found == held("phone_number", "+447911123456")
    found, _ = await uploaded([{"phone": "447911123456"}], phone_format="international")
    assert found == held("phone_number", "+447911123456")


async def test_numbers_that_could_be_another_country_s_are_read_by_the_region_with_one_warning() -> None:
    """1512 3456789 is a German mobile without its 0, and +1 512 345 6789 a number in Austin."""
    rows = [{"phone": f"1512345678{last}"} for last in range(10)]
    found, report = await uploaded(rows, default_region="DE")
    assert found == held("phone_number", *(f"+491512345678{last}" for last in range(10)))
    assert report.warnings == 1
    (warning,) = report.warning_details
    assert (warning.row, warning.field) == (1, "phone")
    assert warning.reason == f"{MAY_BE_FOREIGN} (10 rows; this is the first)"
    _, report = await uploaded(rows, default_region="DE", phone_format="national")
    assert report.warnings == 0


COUNTRIES = ("DE", "US", "GB", "FR", "ES", "IT", "NL", "PL", "JP", "BR", "MX", "IN", "AU", "CN", "RU", "CH")


def mobiles(region: str, count: int) -> list[str]:
    """Valid mobile numbers of a country: its example with other last digits."""
    example = phonenumbers.example_number_for_type(region, phonenumbers.PhoneNumberType.MOBILE)
    assert example is not None
    code, start = example.country_code, str(example.national_number)[:-5]
    found = []
    for step in range(0, 100_000, 100_000 // (2 * count)):
        number = phonenumbers.parse(f"+{code}{start}{step * 7_919 % 100_000:05}")
        if phonenumbers.number_type(number) in (
            phonenumbers.PhoneNumberType.MOBILE,
            phonenumbers.PhoneNumberType.FIXED_LINE_OR_MOBILE,
        ):
            found.append(phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164))
    assert len(found) >= count
    return found[:count]


@pytest.mark.parametrize("region", COUNTRIES)
def test_no_mobile_number_is_lost_with_its_country_code_or_without(region: str) -> None:
    normalize = normalizers(("phone_number",), region)["phone_number"]
    code = phonenumbers.country_code_for_region(region)
    for number in mobiles(region, 100):
        national = number.removeprefix(f"+{code}")
        for written in (number, number[1:], national):
            assert normalize(written)[0] == sha256(number), written


async def test_a_country_that_is_not_known_is_one_warning_and_the_default_holds() -> None:
    rows = [{"phone": "(415) 555-0132", "country": "Atlantis"}, {"phone": "(415) 555-0133", "country": "Atlantis"}]
    found, report = await uploaded(rows, default_region="US")
    assert found == held("phone_number", PHONE, PHONE_2)
    assert [(issue.row, issue.field) for issue in report.warning_details] == [(1, "country")]
    assert "2 rows" in report.warning_details[0].reason


@pytest.mark.parametrize(
    ("region", "names"),
    [
        (
            "DE",
            "Germany, deutschland, Allemagne, ALEMANIA, Germania, Alemanha, Duitsland, Niemcy, ドイツ, de, DEU, D.E.",
        ),
        ("DE", "49, +49, 0049, 49.0, DE - Germany, Germany (DE), Germany (+49), DE-BY, Deutschland / Germany"),
        ("US", "USA, U.S.A., U.S., us, United States, the USA, United States of America, 1, +1, EE. UU., 米国, US-CA"),
        ("GB", "UK, U.K., GBR, England, Great Britain, Royaume-Uni, United Kingdom (UK), Großbritannien"),
        ("AT", "Austria, Österreich, Oesterreich, oesterreich, Autriche, Oostenrijk, AUT, 43"),
        ("DE", "D, '+49, '49, Germany"),
        ("US", "VS, アメリカ, アメリカ合衆国"),
        ("KR", "South Korea, Korea, Republic of Korea, 韓国"),
        ("BA", "Bosnia and Herzegovina, Bosnia & Herzegovina"),
        ("CI", "Côte d\u2019Ivoire, Cote d'Ivoire, Ivory Coast, CIV"),
        ("CZ", "Czech Republic, Czechia, Česko, Tschechien"),
        ("DO", "Dominican Republic, DOM"),
        *(("ET", "ET, eth"), ("ST", "ST"), ("IT", "I, IT"), ("HK", "Hong Kong SAR China")),
        ("LI", "Fürstentum Liechtenstein"),
        # Countries that share a calling code, as the lists of forms write them.
        ("CA", "Canada (+1), +1 (Canada), Canada +1, +1 Canada, CA +1, CAN|+1"),
        *(("GG", "Guernsey (+44)"), ("KZ", "+7 Kazakhstan"), ("DE", "DE +49, \U0001f1e9\U0001f1ea +49, Germany +49")),
        (None, "Canada (+49), +1 Germany, US/Canada (+1), Germany 1, Zone +49, +1 268"),
        (None, "Atlantis, ZZ, n/a, N A, Europe, Bavaria, DE/FR, Germany France, 12345, 999, de-AT, -, +, the"),
    ],
)
def test_a_country_is_read_by_its_codes_and_its_names(region: str | None, names: str) -> None:
    found = {name: region_of(name) for name in names.split(", ")}
    assert found == dict.fromkeys(found, region)


async def test_a_national_number_of_an_unknown_country_is_taken_only_if_it_is_valid_in_the_default_region() -> None:
    numbers = ("(415) 555-0132", "0412 345 678", "+61 412 345 679", "0061 412 345 680")
    rows = [{"email": f"u{at}@example.com", "phone": number, "land": "Atlantis"} for at, number in enumerate(numbers)]
    found, report = await uploaded(rows, default_region="US")
    expected = held("phone_number", PHONE, "+61412345679", "+61412345680")
    assert found - held("email", *(row["email"] for row in rows)) == expected
    assert [issue.row for issue in report.warning_details if issue.field == "phone"] == [2]
    rows = [{"phone": "0412 345 678", "country": country} for country in ("Australia", "AU", "aus", "61")]
    assert (await uploaded(rows, default_region="US"))[0] == held("phone_number", "+61412345678")


@pytest.mark.parametrize(
    ("row", "number"),
    [
        ({"Phone": "030 901820", "country": "DE", "Country": "FR"}, "+4930901820"),
        ({"Phone": "030 901820", "Billing Country": "FR", "Country": "DE"}, "+4930901820"),
        ({"Phone": "030 901820", "Country": "", "Billing Country": "DE"}, "+4930901820"),
        ({"Shipping Phone": "030 901820", "Billing Country": "FR", "Shipping Country Code": "DE"}, "+4930901820"),
        ({"Phone (Billing)": "030 901820", "Country": "FR", "Country (Billing)": "Germany"}, "+4930901820"),
        ({"Phone": "30 901820", "Country": "FR", "Phone Country Code": "+49"}, "+4930901820"),
        ({"Home Phone": "030 901820", "Country": "null", "Home Country/Region": "?", "Land": "DE"}, "+4930901820"),
    ],
)
async def test_of_several_countries_a_number_takes_the_one_that_belongs_to_it(
    row: dict[str, str], number: str, tmp_path: Path
) -> None:
    for records in (as_csv([row], tmp_path / "people.csv"), as_parquet([row], tmp_path / "people.parquet")):
        assert (await uploaded(records))[0] == held("phone_number", number)


AREA = "may be its area code: join the two columns"
DIFFER = "the countries of the row differ"


@pytest.mark.parametrize(
    ("region", "row", "number"),
    [
        ("DE", {"Vorwahl": "0171", "Telefon": "3920012"}, AREA),
        ("DE", {"Vorwahl": "0171", "Telefon": "0171 3920012"}, "+491713920012"),
        ("DE", {"Vorwahl": "0171", "Telefon": "+49 171 3920012"}, "+491713920012"),
        ("DE", {"Vorwahl": "030", "Telefon": "0171 3920012"}, "+491713920012"),
        ("DE", {"Vorwahl": "", "Telefon": "030 901820"}, "+4930901820"),
        ("DE", {"Prefix": "Dr.", "Telefon": "030 901820"}, "+4930901820"),
        ("IT", {"Prefisso": "02", "Telefono": "12345678"}, AREA),
        ("BR", {"ddd": "11", "celular": "987654321"}, AREA),
        ("JP", {"市外局番": "03", "電話": "12345678"}, AREA),
        ("US", {"Area Code": "415", "Phone": "5550132"}, AREA),
        ("US", {"Area Code": "415", "Phone": "(415) 555-0132"}, PHONE),
        ("US", {"Home Area Code": "212", "Home Phone": "", "Mobile Phone": "415 555 0132"}, PHONE),
        *(("DE", {"Vorwahl": code, "Telefon": "030 901820"}, "+4930901820") for code in ("30", "49", "12", "40")),
        *(("DE", {"Vorwahl": code, "Telefon": "90182000"}, AREA) for code in ("30", "89", "49", "40", "4930")),
        ("DE", {"Vorwahl": "43", "Telefon": "0664 1234567"}, AREA),
        ("ES", {"Prefijo": "34", "Teléfono": "612345678"}, "+34612345678"),
        ("IT", {"Prefisso": "39", "Telefono": "333 1234567"}, "+393331234567"),
        ("IT", {"Prefisso": "2", "Telefono": "80012345"}, AREA),
        ("BR", {"DDI": "55", "Telefone": "11987654321"}, "+5511987654321"),
        *(("BR", {"DDD": "11", "Telefone": f"{start}11987654321"}, "+5511987654321") for start in ("", "0", "55")),
        ("ZA", {"Area Code": "27", "Phone": "8159309"}, AREA),
        *(("US", {"Area Code": code, "Phone": "1-415-555-0132"}, PHONE) for code in ("415", "737", "415.0")),
        ("US", {"Area Code": "737", "Cell": "415-555-0132", "Country": "US"}, PHONE),
        ("US", {"Area Code": "415.0", "Phone": "4155550132"}, PHONE),
        ("ES", {"prefijo": "+351", "teléfono": "912345678"}, "+351912345678"),
        ("ES", {"prefijo": "351", "teléfono": "912345678"}, AREA),
        ("ES", {"prefijo": "91", "país": "ES", "teléfono": "2345678"}, AREA),
        ("US", {"Phone Prefix": "0044", "Phone": "7911 123456"}, "+447911123456"),
        ("DE", {"Internationale Vorwahl": "43", "Telefon": "0664 1234567"}, "+436641234567"),
        ("DE", {"Country": "Germany", "Country Code": "AT", "Phone": "0664 1234567"}, DIFFER),
        ("DE", {"Country": "Germany", "Country Code": "AT", "Phone": "+43 664 1234567"}, "+436641234567"),
        ("DE", {"Country": "Germany", "Country Code": "AT", "Phone": "n/a"}, "represents a missing value"),
        (None, {"Country": "\0D\0E\0", "Phone": "030 901820"}, "+4930901820"),
        ("DE", {"Country": "Canada", "Country Code": "+1", "Phone": "(415) 555-0132"}, PHONE),
        ("DE", {"Country": "Germany", "Dial Code": "+43", "Phone": "0664 1234567"}, "+436641234567"),
        (None, {"Business Country": "Germany", "Home Country": "Austria", "Mobile Phone": "0664 1234567"}, DIFFER),
        (None, {"Billing Country": "GB", "Shipping Country": "FR", "Phone": "07911 123456"}, "+447911123456"),
    ],
)
async def test_a_number_is_completed_only_if_its_row_settles_how(
    region: str | None, row: dict[str, str], number: str, tmp_path: Path
) -> None:
    for entrance, records in list(entrances([{"email": ANN, **row}], tmp_path).items())[:-1]:
        found, report = await uploaded(records, default_region=region)
        if number.startswith("+"):
            assert found == held("email", ANN) | held("phone_number", number), entrance
            assert not report.warning_details, entrance
        else:
            assert found == held("email", ANN), entrance
            assert [number in issue.reason for issue in report.warning_details] == [True], entrance


async def test_a_user_may_say_what_a_column_of_prefixes_has() -> None:
    rows = [{"prefijo": "351", "teléfono": "912345678"}]
    for named in ({"region": "prefijo"}, {"region": ["prefijo"], "area_code": ""}):
        assert (await uploaded(rows, columns=named, default_region="ES"))[0] == held("phone_number", "+351912345678")
    found, report = await uploaded(rows, columns={"area_code": ""}, default_region="ES")
    assert (found, report.ignored_columns) == (held("phone_number", "+34912345678"), ("prefijo",))
    _, report = await uploaded(rows, default_region="ES")
    assert 'to ignore the column: columns={"area_code": ""}' in report.rejects[0].reason


@pytest.mark.parametrize(
    ("row", "is_told"),
    [
        *(({"Tel": "0664 1234567", name: value}, True) for name, value in (("Staat", "Österreich"), ("Ülke", "AT"))),
        *(({"Tel": "0664 1234567", name: value}, True) for name, value in (("country_id", "AT"), ("Cc 2", "+43"))),
        ({"Tel": "0664 1234567", "Country/State": "Austria"}, True),
        ({"Tel": "+43 664 1234567", "Market": "AT"}, False),
        ({"Tel": "0664 1234567", "Land": "AT", "Market": "DE"}, False),
        ({"email": ANN, "Market": "AT"}, False),
        *(({"Tel": "0664 1234567", name: value}, False) for name, value in (("State", "CA"), ("Language", "de"))),
        *(({"Tel": "0664 1234567", name: value}, False) for name, value in (("Opt-in", "NO"), ("Salutation", "Mr"))),
        *(({"Tel": "0664 1234567", name: value}, False) for name, value in (("Visits", "43"), ("City", "Luxembourg"))),
    ],
)
async def test_a_column_of_countries_that_is_not_read_is_told_if_numbers_need_one(
    row: dict[str, str], is_told: bool, tmp_path: Path
) -> None:
    for entrance, records in list(entrances([row], tmp_path).items())[:-1]:
        _, report = await uploaded(records, default_region="DE")
        advice = f'contain countries: columns={{"region": "{list(row)[1]}"}} reads it'
        assert [issue.reason.endswith(advice) for issue in report.warning_details] == [True] * is_told, entrance


@pytest.mark.parametrize(
    ("row", "path"),
    [
        ({"phone": "0664 1234567", "address": {"country": "AT"}}, "address.country"),
        ({"email": ANN, "billing": {"phone": "0171 3920012"}}, "billing.phone"),
        ({"phone": PHONE, "billing": {"contact": {"email": ANN}}}, "billing.contact.email"),
        ({"email": ANN, "addresses": [{"phone": "0171 3920012"}]}, "addresses.phone"),
        ({"email": ANN, "order": {"id": "0171 3920012x", "state": "CA"}}, None),
        ({"email": ANN, "traits": {"email": ANN}}, None),
    ],
)
async def test_identifiers_in_nested_objects_are_told_with_their_path(
    row: dict[str, Any], path: str | None, tmp_path: Path
) -> None:
    (lines := tmp_path / "people.jsonl").write_text(json.dumps(row), "utf-8")
    records = [lines, [row]]
    if "addresses" not in row:
        records += [as_parquet([row], tmp_path / "people.parquet"), pyarrow.Table.from_pylist([row])]
    for each in records:
        _, report = await uploaded(each, default_region="DE")
        assert [issue.field for issue in report.warning_details] == [path] * (path is not None)
        if path is not None:
            assert f'"{path}"' in report.warning_details[0].reason
    if path is not None:
        kind = "region" if path.endswith("country") else "phone_number" if path.endswith("phone") else "email"
        assert not (await uploaded([row], columns={kind: path}, default_region="DE"))[1].warning_details


@pytest.mark.parametrize("number", [9, 25, 400])
async def test_nested_objects_are_looked_at_across_the_block(number: int) -> None:
    # The first third of the contacts has no phone number yet.
    rows = [
        {"email": f"u{at}@example.com", "billing": {"phone": "0171 3920012" if at > number // 3 else None}}
        for at in range(number)
    ]
    _, report = await uploaded(rows, default_region="DE")
    assert [issue.field for issue in report.warning_details] == ["billing.phone"]


async def test_a_column_that_says_yes_or_no_names_no_handle(tmp_path: Path) -> None:
    flags = ("yes", "No", "ja", "NEIN", "oui", "si", "x", "TRUE", "1", "0", "t", "F", "WAHR", "Faux", "vero", "ONWAAR")
    rows = [{"email": f"u{at}@example.com", "Twitter": flag} for at, flag in enumerate(flags)]
    for records in entrances(rows, tmp_path).values():
        assert {kind for kind, _ in (await uploaded(records))[0]} == {"email"}
    assert (await uploaded([{"email": ANN, "Twitter": 1}]))[0] == held("email", ANN)
    found, _ = await uploaded([{"Twitter": text} for text in ("@yes", "https://x.com/no", "noah", "@1", "11", "tf")])
    assert found == held("handle", "yes", "no", "noah", "1", "11", "tf")


@pytest.mark.parametrize("names", ["email,idfa", "idfa,email"])
async def test_no_address_or_uuid_below_a_phone_column_makes_a_row_of_the_rest_of_a_cell(
    names: str, tmp_path: Path
) -> None:
    path, address = tmp_path / "shop.csv", "ann1985@example.com"
    # On the second line of an address, the cell after it is the second one, as the phone number is in a row.
    rest = names.replace("email", address).replace("idfa", IDFA)
    rows = (f'Ann,{PHONE},"Main St 1\nSpringfield",{rest}', f'Bob,{PHONE_2},"Side St 2\nSpringfield",,')
    path.write_text("\n".join((f"Name,Phone,Address,{names}", *rows)))
    found, report = await uploaded(path)
    assert found == held("phone_number", PHONE, PHONE_2) | held("email", address) | held("device_id", IDFA)
    assert (report.accepted, report.rejected) == (2, 0)


async def test_a_domain_has_letters_of_any_script_and_no_symbols() -> None:
    fine = ("ann@müller.de", "ann@例え.jp", "ann@पोस्ट.भारत", "ann@ex_a-b.com")
    odd = ("ann@mail.exam…", "ann@example.com→", "ann@example.com\U0001f4e7", "ann@m\u2011b.com")
    found, report = await uploaded([{"email": text} for text in (*fine, *odd)])
    assert (found, report.rejected) == (held("email", *fine), len(odd))
    assert {each.reason for each in report.rejects} == {"is not a plausible e-mail address"}


async def test_columns_that_another_one_makes_ambiguous_are_told() -> None:
    rows = [{"User Email": BOB, "Invitee Email": ANN, "device_id": IDFA.upper(), "idfa": IDFA}]
    found, report = await uploaded(rows)
    assert found == held("email", ANN) | held("device_id", IDFA)
    said = {issue.field: issue.reason for issue in report.warning_details}
    assert 'next to "Invitee Email": columns={"email": ["Invitee Email", "User Email"]}' in said["User Email"]
    assert 'next to "idfa": columns={"device_id": ["idfa", "device_id"]}' in said["device_id"]
    columns = {"email": ["Invitee Email", "User Email"], "device_id": ["idfa", "device_id"]}
    found, report = await uploaded(rows, columns=columns)
    assert (found, report.warning_details) == (held("email", ANN, BOB) | held("device_id", IDFA), ())


async def test_with_require_hashed_no_raw_value_is_hashed_or_sent() -> None:
    rows = [{"email": ANN, "phone": sha256(PHONE).upper(), "partner_user_id": "c-17"}, {"email": BOB, "phone": ""}]
    found, report = await uploaded(rows, require_hashed=True)
    assert found == held("phone_number", PHONE) | {("partner_user_id", "c-17")}
    assert (report.accepted, report.rejected) == (1, 1)
    assert "require_hashed" in report.rejects[0].reason
    for kind, value in (("handle", "ann"), ("device_id", IDFA), ("service_id", "12"), ("phone_number", PHONE)):
        found, report = await uploaded([{kind: value}], require_hashed=True)
        assert (found, report.rejected) == (set(), 1)


async def test_the_report_says_what_was_read_as_what_and_which_columns_were_overlooked(tmp_path: Path) -> None:
    rows = [
        {
            "Mail": f"u{at}@example.com",
            "Note": "x",
            "country": "US",
            "Kontakt": f"v{at}@example.com",
            "Nr": PHONE[:-1] + str(at),
        }
        for at in range(3)
    ]
    for entrance, records in entrances(rows, tmp_path).items():
        _, report = await uploaded(records)
        assert report.columns == {"Mail": "email", "country": "region"}, entrance
        assert set(report.ignored_columns) == {"Note", "Kontakt", "Nr"}
        if entrance == "other mappings":  # mappings that are no dictionaries may do anything when they are asked twice
            continue
        said = {issue.field: issue.reason for issue in report.warning_details}
        assert said.keys() == {"Kontakt", "Nr"}, entrance
        assert "contain e-mail addresses" in said["Kontakt"]
        assert "contain phone numbers" in said["Nr"]


@pytest.mark.parametrize(
    ("name", "holds"),
    [
        *(
            (name, True)
            for name in (
                "Contact No.",
                "Kontaktnummer",
                "Rückruf",
                "Callback",
                "Contact 2",
                "Kontakt",
                "Feld 3",
                "Numéro 2",
            )
        ),
        *((name, False) for name in ("Kundennummer", "Order", "created_at", "Last Login", "EAN", "Client", "Lead ID")),
    ],
)
async def test_digits_of_a_column_that_is_not_read_are_phone_numbers_unless_its_name_says_otherwise(
    name: str, holds: bool
) -> None:
    rows = [{"email": ANN, name: 491713920012}, {"email": BOB, name: 14155550132}]
    _, report = await uploaded(rows)
    assert [issue.field for issue in report.warning_details] == [name] * holds


async def test_numbers_of_any_size_may_be_in_a_column_that_is_not_read() -> None:
    _, report = await uploaded([{"email": ANN, "n": 10**5_000}, {"email": BOB, "n": -1}])
    assert (report.accepted, report.warning_details) == (2, ())


async def test_several_columns_without_a_name_each_have_a_warning(tmp_path: Path) -> None:
    (path := tmp_path / "people.csv").write_text(f"email,,name,\n{ANN},{BOB},x,{BOB}\n")
    _, report = await uploaded(path)
    assert ["column 2" in report.warning_details[0].reason, "column 4" in report.warning_details[1].reason] == [
        True
    ] * 2


async def test_the_advice_on_an_unread_column_keeps_the_columns_that_are_read(tmp_path: Path) -> None:
    for text, advice in (
        (f"Phone,Fax\n{PHONE},{PHONE_2}\n", 'columns={"phone_number": ["Phone", "Fax"]}'),
        (f"Email,\n{ANN},{BOB}\n", "give column 2 a name (in the first line of a file)"),
    ):
        (path := tmp_path / "people.csv").write_text(text)
        _, report = await uploaded(path)
        assert [advice in issue.reason for issue in report.warning_details] == [True]
    found, _ = await uploaded([{"Phone": PHONE, "Fax": PHONE_2}], columns={"phone_number": ["Phone", "Fax"]})
    assert found == held("phone_number", PHONE, PHONE_2)


@pytest.mark.parametrize(
    ("cells", "holds"),
    [
        ([*[""] * 500, "a@example.com; b@example.com", "n/a", "", "c@example.com"], "e-mail addresses"),
        ([*["a@example.com"] * 19, "see notes"], "e-mail addresses"),
        (["a@example.com", "see notes"], ""),
        (["415-555-0132", "(415) 555-0132", "06 12 34 56 78", "", "0171/3920012"], "phone numbers"),
        (["2026-01-02", "01-02-2026"], ""),
        (["123-45-6789"], ""),
        (["0012345678", "4155550132"], ""),
        (["01713920012", "0171392001", "4155550132"], "phone numbers"),
        (["4000012345", "1713920012"], ""),
        (["491713920012", "14155550132", "33612345678"], "phone numbers"),
        (["612345678", "712345678", "+34612345678"], "phone numbers"),  # of Spain
        (["1764201600", "1764288000"], ""),  # seconds, milliseconds and digits of a date
        (["1764201600000", "1764288000000"], ""),
        (["20261127143000", "20261127143055"], ""),
        (["202611271430", "202601011200"], ""),
        (["4987654321010", "4006381333931"], ""),  # EAN
        (["80331", "10115"], ""),
        ([sha256("a"), "NULL", sha256("b").upper(), ""], "SHA-256 digests"),
        ([hashlib.md5(b"a").hexdigest()], ""),
        (
            ["a@example.com", "+34 612 345 678", "b@example.com", "+34 712 345 678"],
            "e-mail addresses and phone numbers",
        ),
        (["", "null", ";", "a@" + "b." * 50_000 + "<"], ""),
    ],
)
async def test_a_column_that_is_not_read_is_reported_if_nearly_all_its_filled_cells_are_identifiers(
    cells: list[str], holds: str, tmp_path: Path
) -> None:
    rows = [{"email": f"u{at}@example.com", "other": cell, "first_name": sha256("f")} for at, cell in enumerate(cells)]
    for records in list(entrances(rows, tmp_path).values())[:-1]:
        _, report = await uploaded(records, default_region="ES")
        reasons = [issue.reason for issue in report.warning_details if issue.field == "other"]
        assert len(reasons) == bool(holds)
        assert all(f"contain {holds}: columns=" in reason for reason in reasons)
        assert not [issue for issue in report.warning_details if issue.field == "first_name"]
