"""The options of a write are read on the driver: everything that is wrong is said there."""

import datetime
from typing import Any, Final

import pytest

from socialapi.errors import InvalidInput
from socialapi.integrations.spark_options import REDUCED_BY, WriteSettings, read_settings

NOW: Final = datetime.datetime(2027, 1, 15, 8, 0, tzinfo=datetime.UTC)
AUDIENCE: Final = {"account": "18ce5", "audience": "4f2a"}
LIST: Final = {"account": "18ce5", "do_not_reach_list": "9d"}
CATALOG: Final = {"catalog": "77"}
FEED: Final = (
    *("id", "title", "description", "availability", "condition", "price", "link", "image_link", "brand"),
    "sku",
)


def read(options: dict[str, str], names: tuple[str, ...] = ("email", "phone"), **more: Any) -> WriteSettings:
    return read_settings(options, names, now=NOW, **more)


def refusal(options: dict[str, str], names: tuple[str, ...] = ("email", "phone"), **more: Any) -> str:
    with pytest.raises(InvalidInput) as refused:
        read(options, names, **more)
    return str(refused.value)


def test_a_write_to_an_audience_has_one_operation_and_the_times_that_are_given() -> None:
    given = {"operation": "delete", "packing": "packed", "effective_at": "2027-02-01T00:00:00Z", "default_region": "US"}
    settings = read(AUDIENCE | given)
    assert (settings.kind, settings.account, settings.target) == ("audience", "18ce5", "4f2a")
    assert settings.keywords == given | {"operation": "Delete"}
    assert settings.write.startswith("20270115T080000Z-")
    assert settings.job == "audience 18ce5 4f2a"
    assert settings.to_dict() == {
        "write": settings.write,
        "job": "audience 18ce5 4f2a",
        "started_at": "2027-01-15T08:00:00Z",
        "audience": "4f2a",
        "account": "18ce5",
        "operation": "Delete",
        "effective_at": "2027-02-01T00:00:00Z",
        "expires_at": None,
    }


def test_a_do_not_reach_list_expires_thirteen_months_after_the_write_began_for_every_task() -> None:
    assert read(LIST).keywords["expires_at"] == "2028-02-15T08:00:00Z"
    assert read(LIST | {"expires_at": "2027-03-01T00:00:00Z"}).keywords["expires_at"] == "2027-03-01T00:00:00Z"


def test_a_column_may_be_several_or_have_a_comma_in_its_name_or_be_none() -> None:
    def columns(text: str, *names: str) -> Any:
        return read(AUDIENCE | {"column.email": text}, ("phone", *names)).keywords["columns"]

    assert columns("Mail, Mail 2", "Mail", "Mail 2") == {"email": ["Mail", "Mail 2"]}
    assert columns("Mail, home", "Mail, home") == {"email": ["Mail, home"]}
    assert columns("", "email") == {"email": []}


def test_the_ids_of_products_must_not_repeat_unless_they_were_reduced() -> None:
    assert read(CATALOG, FEED[:-1]).id_columns == ("id",)
    assert read(CATALOG | {"column.id": "sku"}, FEED).id_columns == ("sku",)
    assert read(CATALOG | {"order_by": "changed"}, (*FEED, REDUCED_BY)).id_columns == ()
    assert read(CATALOG, FEED).keywords == {}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "one of the options audience, do_not_reach_list (both with account) or catalog"),
        (AUDIENCE | CATALOG, "one of the options audience, do_not_reach_list (both with account) or catalog"),
        ({"audience": "4f2a"}, "the option account is missing"),
        (AUDIENCE | {"path": "x"}, "there is no option path for a custom audience"),
        (AUDIENCE | {"packng": "single"}, "did you mean packing instead of packng?"),
        (AUDIENCE | {"access_token": "hush"}, "configuration and credentials come from the SOCIALAPI_* variables"),
        (LIST | {"effective_at": "2027-02-01T00:00:00Z"}, "there is no option effective_at for a do-not-reach list"),
        (AUDIENCE | {"operation": "replace"}, "operation: is neither Update nor Delete"),
        (AUDIENCE | {"packing": "loose"}, "packing must be one of single, packed"),
        (AUDIENCE | {"expires_at": "tomorrow"}, "expires_at: is not an ISO 8601 time"),
        (AUDIENCE | {"expires_at": "2027-01-01T00:00:00Z"}, "expires_at: is not in the future"),
        (AUDIENCE | {"default_region": "XX"}, "is not a region"),
        (AUDIENCE | {"concurrency": "many"}, 'concurrency must be a number, not "many"'),
        (AUDIENCE | {"concurrency": "0"}, "concurrency must be"),
        (AUDIENCE | {"max_reject_share": "5%"}, 'max_reject_share must be a number, not "5%"'),
        (AUDIENCE | {"max_reject_share": "5"}, "max_reject_share must be a number from 0 to 1"),
        (AUDIENCE | {"dry_run": "1"}, "dry_run must be true or false"),
        (AUDIENCE | {"report": "dbfs:/reports"}, "the option report must be the path of a folder"),
        (AUDIENCE | {"rejects": "s3://bucket/rejects"}, "the option rejects must be the path of a folder"),
        (AUDIENCE | {"redis_url": "redis://:hush@cache.example/0"}, "redis_url contains credentials"),
        (AUDIENCE | {"redis_url": "unix:///run/redis?password=hush"}, "redis_url contains credentials"),
        (AUDIENCE | {"column.mail": "phone"}, "is not a kind of identifier accepted here"),
        (AUDIENCE | {"order_by": "changed"}, "reduce the DataFrame first, with latest_per_identifier"),
    ],
)
def test_what_cannot_be_written_is_refused_with_a_sentence(options: dict[str, str], says: str) -> None:
    said = refusal(options)
    assert says in said
    assert "hush" not in said


def test_replacing_is_refused() -> None:
    assert 'write with mode("append")' in refusal(AUDIENCE, overwrite=True)


def test_a_table_without_identifiers_or_ids_is_refused() -> None:
    assert "no column of identifiers was found" in refusal(AUDIENCE, ("name", "city"))
    assert "there is no column" in refusal(CATALOG, ("title",))


@pytest.mark.parametrize("name", ["operation_type", "effective_at", "expires_at"])
def test_rows_that_say_themselves_what_is_done_are_refused_until_they_are_reduced(name: str) -> None:
    said = refusal(AUDIENCE, ("email", name))
    assert f'("{name}"), but rows of a DataFrame have no order' in said
    assert "latest_per_identifier" in said
    assert "reduce the DataFrame first" in refusal(AUDIENCE | {"order_by": "changed"}, ("email", name))
    assert f'("{name}")' in refusal(AUDIENCE, ("email", name, REDUCED_BY))
    assert read(AUDIENCE | {"order_by": "changed"}, ("email", name, REDUCED_BY)).kind == "audience"


def test_options_are_found_in_any_case() -> None:
    assert read({"Account": "18ce5", "AUDIENCE": "4f2a"}).target == "4f2a"
