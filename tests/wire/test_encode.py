"""What values look like on the wire."""

import datetime
from typing import Any
from urllib.parse import parse_qsl

import attrs
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.errors import InvalidInput
from socialapi.internal.unset import UNSET, Unset
from socialapi.wire.encode import json_bytes, json_shape, query_string

UTC = datetime.UTC
NEW_YEAR = datetime.datetime(2026, 1, 1, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("values", "sent"),
    [
        ({}, ""),
        ({"ids": ["1", "2", "3"]}, "ids=1%2C2%2C3"),
        ({"ids": ("1",)}, "ids=1"),
        ({"ids": []}, "ids="),
        ({"tweet.fields": "id,text"}, "tweet.fields=id%2Ctext"),
        ({"with_deleted": True, "draft": False}, "with_deleted=true&draft=false"),
        ({"name": None}, "name="),
        ({"name": UNSET, "count": 5}, "count=5"),
        ({"start": NEW_YEAR}, "start=2026-01-01T09%3A30%3A00Z"),
        ({"times": [NEW_YEAR, True]}, "times=2026-01-01T09%3A30%3A00Z%2Ctrue"),
        ({"q": "a b+c&d=e/f"}, "q=a%20b%2Bc%26d%3De%2Ff"),
        ({"q": "~-._"}, "q=~-._"),
        ({"q": "Zoë ☃"}, "q=Zo%C3%AB%20%E2%98%83"),
        ({"a b": "1"}, "a%20b=1"),
        ({"price": 1.5}, "price=1.5"),
    ],
)
def test_parameters_are_written_as_documented(values: dict[str, Any], sent: str) -> None:
    assert query_string(values) == sent


@given(st.dictionaries(st.text(min_size=1), st.text()))
def test_every_text_survives_a_query_string_or_is_refused(values: dict[str, str]) -> None:
    assert dict(parse_qsl(query_string(values), keep_blank_values=True, strict_parsing=bool(values))) == values


def test_a_time_is_written_in_utc_wherever_it_is_from() -> None:
    here = datetime.timezone(datetime.timedelta(hours=-5))
    assert json_shape(datetime.datetime(2026, 1, 1, 4, 30, tzinfo=here)) == "2026-01-01T09:30:00Z"
    assert json_shape(NEW_YEAR.replace(microsecond=250_000)) == "2026-01-01T09:30:00.250000Z"


def test_a_time_without_a_zone_is_refused_because_its_meaning_would_be_a_guess() -> None:
    with pytest.raises(InvalidInput, match="no time zone"):
        json_shape(datetime.datetime(2026, 1, 1, 9, 30))  # noqa: DTZ001


def test_unset_is_left_out_and_none_is_null() -> None:
    @attrs.define
    class Change:
        name: str | Unset | None = UNSET
        note: str | Unset | None = UNSET
        kept_as: int = attrs.field(default=1, metadata={"name": "kept-as"})

    assert json_bytes(json_shape(Change(name=None))) == b'{"name":null,"kept-as":1}'
    assert json_shape({"a": UNSET, "b": [None]}) == {"b": [None]}


@given(st.recursive(st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(), st.lists))
def test_json_data_come_through_as_they_are(value: Any) -> None:
    assert orjson.loads(json_bytes(json_shape(value))) == value
