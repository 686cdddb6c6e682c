"""Whether a model holds everything that the JSON has of which it was made."""

import datetime
from collections.abc import Mapping
from typing import Any

import attrs

from socialapi.models.pages import Page


def assert_holds(model: Any, json: Any, at: str = "") -> None:
    """Every field of the JSON is on the model, by its name, or in its `extra`; nothing is dropped or changed."""
    if isinstance(model, datetime.datetime):
        assert model == datetime.datetime.fromisoformat(json), at
    elif attrs.has(type(model)):
        assert isinstance(json, Mapping), at
        names = {each.metadata.get("name", each.name): each.name for each in attrs.fields(type(model)) if each.init}
        names.pop("extra", None)
        for name, value in json.items():
            if name in names:
                assert_holds(getattr(model, names[name]), value, f"{at}.{name}")
            else:
                assert name in getattr(model, "extra", {}), f"{at}.{name} was dropped"
                assert model.extra[name] == value, f"{at}.{name}"
        made_up = getattr(model, "extra", {}).keys() - json.keys()
        assert not made_up, f"{at} has {made_up}, which nobody sent"
    elif isinstance(model, tuple):
        assert isinstance(json, list), at
        assert len(model) == len(json), at
        for index, (each, value) in enumerate(zip(model, json, strict=True)):
            assert_holds(each, value, f"{at}[{index}]")
    else:
        assert model == json, at


def assert_holds_answer(model: Any, body: Mapping[str, Any]) -> None:
    """As `assert_holds`, of a whole answer with its envelope."""
    if "data" not in body:
        assert_holds(model, body)
        return
    if isinstance(model, Page):
        beside = {name: value for name, value in body.items() if name != "data"}
        assert_holds(model.data, body["data"], "data")
        assert model.meta == beside.pop("meta", {})
        assert_holds(model.includes, beside.pop("includes", {}), "includes")
        for name in ("previous_token", "result_count"):
            assert getattr(model, name) == model.meta.get(name), name
        assert model.next_token == model.meta.get("next_token", beside.pop("next_cursor", None)), "next_token"
        assert model.total_count == beside.pop("total_count", None), "total_count"
        assert model.params == beside.pop("request", {}).get("params", {}), "params"
    else:
        assert_holds(model, body["data"], "data")
        # What was asked for is repeated in advertising answers, and said by collections alone.
        beside = {name: value for name, value in body.items() if name not in ("data", "request")}
    errors = beside.pop("errors", [])
    if errors:
        assert_holds(model.errors, errors, "errors")
    assert not beside, f"{beside.keys()} beside data were dropped"
