"""One catalog, written in every format as merchants write it, is understood as the same products."""

import csv
import datetime
import io
import json
from collections.abc import Iterable, Mapping
from io import BufferedReader, BytesIO
from typing import Any, Final

import pyarrow.parquet
import pytest

from socialapi.bulk.inputs.feed_xml import read_items
from socialapi.bulk.products.merchant_values import fields_of, understood
from socialapi.models.products import Product
from socialapi.models.validation import broken_rules
from tests.bulk.catalog_feeds import FORMATS, generated

NOW: Final = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def items_of(name: str, content: bytes) -> Iterable[Mapping[str, Any]]:
    """The items of a file, by means of the standard library where there is one."""
    match name.split("."):
        case [_, "xml"]:
            return [found[0] for found in read_items(BufferedReader(BytesIO(content))) if found]
        case [_, "tsv" | "csv" as kind]:
            text = io.StringIO(content.decode("utf-8-sig"), newline="")
            return list(csv.DictReader(text, delimiter="\t" if kind == "tsv" else ";"))
        case [_, "jsonl"]:
            return [json.loads(line) for line in content.splitlines()]
        case [_, "parquet"]:
            return list(pyarrow.parquet.read_table(BytesIO(content)).to_pylist())
    data = json.loads(content)
    return list(data["products"] if isinstance(data, dict) else data)


def product_of(item: Mapping[str, Any]) -> dict[str, Any]:
    """What an item says, by the functions that readers call."""
    found: dict[str, Any] = {}
    for field, value in zip(fields_of(list(item)), item.values(), strict=True):
        if field is not None and value is not None and value != "":
            text = understood(field, ",".join(value) if isinstance(value, list) else str(value))
            found[field] = int(text or "") if field == "inventory" else text
    return found


@pytest.mark.parametrize("name", FORMATS)
def test_the_same_catalog_comes_out_of_every_format(name: str) -> None:
    expected = generated(60, seed=1)
    assert [product_of(item) for item in items_of(name, FORMATS[name](expected))] == expected


def test_generated_products_keep_the_rules_and_are_the_same_for_the_same_seed() -> None:
    assert [broken_rules(Product, each, now=NOW) for each in generated(60, seed=1)] == [[]] * 60
    assert generated(5, seed=2) == generated(5, seed=2) != generated(5, seed=3)
