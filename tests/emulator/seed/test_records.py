"""What the files of seed data may say, and that nobody can change what they hold."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from socialapi.emulator.clock import EmulatorClock
from socialapi.emulator.rate_limits import RateLimits
from socialapi.emulator.seed import records as seed_records
from socialapi.emulator.seed.plant import plant
from socialapi.emulator.seed.records import contents, live_ids, records
from socialapi.emulator.state import State

Describe = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def describe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Describe:
    """The records of entries that stand in a file of their own."""
    monkeypatch.setattr(seed_records, "_FILES", tmp_path)

    def described(*entries: dict[str, Any], templates: Any = None, **names: Any) -> list[dict[str, Any]]:
        file = tmp_path / f"described{len(list(tmp_path.iterdir()))}.json"
        file.write_text(json.dumps({"templates": templates, "kind": {"account": entries}}), "utf-8")
        contents.cache_clear()
        live_ids.cache_clear()
        return list(records(file.stem, "kind", "account", **names))

    return described


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Files of a test are forgotten after it."""
    yield
    contents.cache_clear()
    live_ids.cache_clear()


def test_a_template_gives_the_fields_that_an_entry_does_not_say(describe: Describe) -> None:
    templates = {"item": {"id": None, "state": "on", "pay": 1}, "dear": {"like": "item", "pay": 9}}
    found = describe({"like": "dear", "id": "a"}, {"like": "item", "state": "off", "id": "b"}, templates=templates)
    assert found == [{"id": "a", "state": "on", "pay": 9}, {"id": "b", "state": "off", "pay": 1}]
    assert list(found[1]) == ["id", "state", "pay"], "in the order of the template"


def test_records_are_numbered_through_the_list_until_an_entry_says_otherwise(describe: Describe) -> None:
    found = describe({"count": 2, "id": "a{n}"}, {"id": "b{number:03}"}, {"first": 30, "count": 2, "id": "c{n:02x}"})
    assert [each["id"] for each in found] == ["a0", "a1", "b003", "c1e", "c1f"]


def test_there_is_a_record_for_each_combination_and_the_last_name_changes_fastest(describe: Describe) -> None:
    found = describe({"each": {"week": [1, 2], "place": ["Voss", "Bled"]}, "name": "{place} {week}, {n}"})
    assert [each["name"] for each in found] == ["Voss 1, 0", "Bled 1, 1", "Voss 2, 2", "Bled 2, 3"]


def test_a_text_can_name_earlier_fields_and_what_the_code_provides(describe: Describe) -> None:
    (found,) = describe({"name": "Big Red_Hut", "page": "/{name:slug}", "at": "{name:lower} {{id}} {shop}"}, shop="S")
    assert found == {"name": "Big Red_Hut", "page": "/big-red-hut", "at": "big red_hut {id} S"}


def test_deleted_records_are_not_among_the_live_ids(describe: Describe) -> None:
    describe({"count": 2, "id": "a{n}"}, {"id": "b", "deleted": True}, {"id": "c", "deleted": False})
    assert live_ids("described0", "kind", "account") == ("a0", "a1", "c")


def planted() -> State:
    clock = EmulatorClock(lambda: 1_750_000_000.0)
    state = State(clock, RateLimits(clock, {}))
    plant(state, empty=False)
    return state


def spoil(value: Any) -> None:
    """Changes everything that can be changed."""
    if isinstance(value, dict):
        for each in list(value.values()):
            spoil(each)
        value.clear()
    elif isinstance(value, list):
        for each in value:
            spoil(each)
        value.append("spoilt")


def everything(state: State) -> dict[str, Any]:
    """All records of the seed data."""
    ads, platform = state.advertising, state.platform
    common = {"accounts": ads.accounts, "categories": ads.curated_categories, "uploads": ads.uploads}
    tables = common | {f"{account} {kind}": table for (account, kind), table in ads.tables.items()}
    newest = platform.posts.timeline(next(iter(state.users)))[-100:]
    return {
        **{name: list(table.rows) for name, table in tables.items()},
        "platform": [platform.media, platform.polls, platform.places, platform.news, platform.powerstream_rules],
        "users": [user.profile for user in state.users.values()],
        "posts": [post.fields for post in platform.posts.known(newest)],
    }


def test_what_is_done_to_records_does_not_reach_the_next_seed() -> None:
    fresh = json.dumps(everything(planted()))
    spoil(everything(planted()))
    assert json.dumps(everything(planted())) == fresh
