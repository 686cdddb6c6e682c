"""Tables of models: the schema is the class's, whatever the items hold."""

import datetime
import importlib
import json
import pkgutil
import subprocess
import sys
from typing import Any, Final

import attrs
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import socialapi.models
from socialapi.errors import InvalidInput
from socialapi.integrations.arrow import arrow_schema, arrow_table, concatenated, data_frame
from socialapi.models.audiences import AudienceUser
from socialapi.models.cards import Button, Card, Label, Website
from socialapi.models.line_items import LineItem
from socialapi.models.model import Model
from socialapi.models.pages import Page
from socialapi.models.posts import EditControls, Post, PostMetrics, ReferencedPost
from socialapi.models.validation import wire_name
from socialapi.reports import RowIssue
from tests.support.instances import instances_of

for _module in pkgutil.iter_modules(socialapi.models.__path__):
    importlib.import_module(f"socialapi.models.{_module.name}")

MODELS: Final = sorted(
    (
        cls
        for cls in Model.__subclasses__()
        if attrs.has(cls) and getattr(sys.modules[cls.__module__], cls.__name__) is cls
    ),
    key=lambda cls: cls.__qualname__,
)
SEVERAL: Final = settings(
    max_examples=10, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
SCALARS: Final = (pa.int64(), pa.bool_(), pa.float64(), pa.timestamp("us", tz="UTC"))
NINE: Final = datetime.datetime(2026, 1, 31, 10, 0, 0, 5, datetime.timezone(datetime.timedelta(hours=1)))


@pytest.mark.slow
@pytest.mark.parametrize("cls", MODELS, ids=lambda cls: cls.__qualname__)
@SEVERAL
@given(data=st.data())
def test_every_model_makes_a_table_of_the_schema_of_its_class(cls: Any, data: st.DataObject) -> None:
    items = data.draw(st.lists(instances_of(cls), max_size=3))
    table = arrow_table(items, cls)
    assert table.schema.equals(arrow_schema(cls))
    assert table.num_rows == len(items)
    table.validate(full=True)
    for item, row in zip(items, table.to_pylist(), strict=True):
        for field in attrs.fields(cls):
            if field.init and table.schema.field(wire_name(field)).type in SCALARS:
                assert row[wire_name(field)] == getattr(item, field.name)
    assert concatenated([table, arrow_table([], cls)]).equals(table.combine_chunks())


def test_columns_are_the_fields_in_their_order_with_types_of_the_class() -> None:
    schema = arrow_schema(LineItem)
    assert schema.names == [
        field.name for field in attrs.fields(LineItem) if field.name not in ("extra", "partial_errors")
    ] + ["extra"]
    assert schema.field("id").type == pa.string()
    assert schema.field("bid_amount_local_micro").type == pa.int64()
    assert schema.field("placements").type == pa.list_(pa.string())
    assert schema.field("start_time").type == pa.timestamp("us", tz="UTC")
    assert schema.field("deleted").type == pa.bool_()
    controls = arrow_schema(Post).field("edit_controls").type
    assert [(each.name, each.type) for each in controls] == [
        ("edits_remaining", pa.int64()),
        ("is_edit_eligible", pa.bool_()),
        ("editable_until", pa.timestamp("us", tz="UTC")),
        ("extra", pa.string()),
    ]


def test_rows_hold_what_the_items_hold() -> None:
    post = Post(
        id="9007199254740993",
        created_at=NINE,
        public_metrics=PostMetrics(like_count=2, extra={"bookmark_count": 1}),
        referenced_tweets=(ReferencedPost(type="quoted", id="1"),),
        edit_controls=EditControls(editable_until=NINE),
        extra={"new": {"a": [2**64]}},
    )
    (row,) = arrow_table([post], Post).to_pylist()
    assert row["id"] == "9007199254740993"
    assert row["created_at"] == row["edit_controls"]["editable_until"] == NINE
    assert row["public_metrics"]["like_count"] == 2
    assert json.loads(row["public_metrics"]["extra"]) == {"bookmark_count": 1}
    assert row["referenced_tweets"] == [{"type": "quoted", "id": "1", "extra": None}]
    assert json.loads(row["extra"]) == {"new": {"a": [2**64]}}
    assert row["entities"] is None
    assert row["edit_history_tweet_ids"] == []


def test_unions_of_classes_are_json_text() -> None:
    card = Card(id="1", components=(Button(Label("SHOP"), Website("https://example.com")),))
    (row,) = arrow_table([card], Card).to_pylist()
    assert Card.from_dict({"id": "1", "components": [json.loads(each) for each in row["components"]]}) == card


def test_what_is_not_given_is_null_and_reports_make_tables_too() -> None:
    assert arrow_table([AudienceUser(email="a")], AudienceUser).to_pylist()[0]["email"] == ["a"]
    assert arrow_table([RowIssue(1, "email", "is empty")], RowIssue).to_pylist() == [
        {"row": 1, "field": "email", "reason": "is empty", "product_id": None, "file": None, "file_row": None}
    ]


def test_items_of_no_class_are_a_column_of_json_text() -> None:
    assert arrow_table([{"a": 1}, None], Any).to_pydict() == {"item": ['{"a":1}', None]}


def test_half_of_a_surrogate_pair_becomes_the_replacement_character() -> None:
    posts = [
        Post(id="1", text="half \ud83d"),
        Post(id="2", text="whole 🌊"),
        Post(id="3", edit_history_tweet_ids=("\udc00",)),
    ]
    table = arrow_table(posts, Post)
    assert table.column("text").to_pylist() == ["half \ufffd", "whole 🌊", None]
    assert table.column("edit_history_tweet_ids").to_pylist() == [[], [], ["\ufffd"]]


@pytest.mark.parametrize(
    ("post", "says"),
    [
        (
            Post(id="1", public_metrics=PostMetrics(like_count=2**63)),
            "[1].public_metrics.like_count: does not fit int64",
        ),
        (Post(id=7), "[1].id: does not fit string"),  # type: ignore[arg-type]
        (
            Post(id="1", created_at=datetime.datetime(2026, 1, 1)),  # noqa: DTZ001  # that is the point
            "[1].created_at: does not fit timestamp[us, tz=UTC]",
        ),
        (
            Post(id="1", referenced_tweets=(ReferencedPost(type="quoted", id=1),)),  # type: ignore[arg-type]
            "[1].referenced_tweets[0].id: does not fit string",
        ),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_its_row_and_column(post: Post, says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        arrow_table([Post(id="0"), post], Post)
    assert str(caught.value) == f"some values do not fit the columns of a table\n  - {says}"
    assert caught.value.__context__ is None


# Pages and DataFrames ----------------------------------------------------------------------------


def test_an_item_of_another_class_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"^a table of Post cannot contain RowIssue$"):
        arrow_table([RowIssue(1, "f", "r")], Post)


def test_pages_of_one_collection_fit_together_though_one_is_empty() -> None:
    page = Page.from_dict({"data": [{"id": "1", "created_at": "2026-01-31T09:00:00Z"}]}, Post)
    empty = Page.from_dict({"data": []}, Post)
    table = pa.concat_tables([page.to_arrow(), empty.to_arrow()])
    assert table.schema.equals(arrow_schema(Post))
    assert table.column("id").to_pylist() == ["1"]


def test_a_page_that_was_made_by_hand_has_the_type_of_its_items() -> None:
    assert Page(data=(Post(id="1"),)).to_arrow().schema.equals(arrow_schema(Post))
    assert Page(item_type=Post).to_arrow().num_rows == 0
    with pytest.raises(InvalidInput, match="the item type of an empty page is unknown"):
        Page[Post]().to_arrow()


def test_a_frame_has_text_for_ids_zones_for_times_and_whole_numbers_though_some_are_missing() -> None:
    items = [
        LineItem(id="007", bid_amount_local_micro=2**53 + 1, start_time=NINE, deleted=True),
        LineItem(id="9007199254740993"),
    ]
    frame = Page(data=tuple(items)).to_pandas()
    assert list(frame.columns) == arrow_schema(LineItem).names
    assert frame["id"].tolist() == ["007", "9007199254740993"]
    assert frame["bid_amount_local_micro"].dtype.name == "Int64"
    assert frame["bid_amount_local_micro"][0] == 2**53 + 1
    assert frame["bid_amount_local_micro"].isna().tolist() == [False, True]
    assert str(frame["start_time"].dtype.tz) == "UTC"
    assert frame["start_time"][0].to_pydatetime() == NINE
    assert frame["deleted"].dtype.name == "boolean"
    empty = data_frame(arrow_table([], LineItem))
    assert (
        empty.dtypes.astype(str)[["start_time", "deleted"]].tolist()
        == frame.dtypes.astype(str)[["start_time", "deleted"]].tolist()
    )


@pytest.mark.parametrize(
    ("missing", "call", "extra"),
    [
        ("pyarrow", "page.to_arrow()", "arrow"),
        ("pyarrow", "page.to_pandas()", "arrow"),
        ("pandas", "page.to_pandas()", "pandas"),
    ],
)
def test_a_library_that_is_missing_is_named_with_its_extra(missing: str, call: str, extra: str) -> None:
    script = f"""
import sys

class Missing:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == {missing!r}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
from socialapi import Page, errors
from socialapi.types import Post
page = Page(data=(Post(id="1"),))
try:
    {call}
except errors.InvalidInput as problem:
    print(problem)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.endswith(f"needs {missing}: pip install 'aiosocialapi[{extra}]'\n")


def test_neither_library_is_loaded_before_a_table_is_made() -> None:
    script = """
import sys
from socialapi import Page
from socialapi.integrations.arrow import arrow_table
from socialapi.types import Post
Page.from_dict(Page(data=(Post(id="1"),)).to_dict(), Post)._repr_html_()
print(sorted({"pyarrow", "pandas", "numpy"} & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
