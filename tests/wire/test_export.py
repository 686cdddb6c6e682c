"""What `to_dict` gives, `from_dict` takes: for every record, and with everything that answers may hold."""

import datetime
import importlib
import json
import pkgutil
import sys
from decimal import Decimal
from typing import Any, Final

import attrs
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import socialapi.models
from socialapi import streams, types, webhooks
from socialapi.errors import InvalidInput
from socialapi.internal.records import Exported
from socialapi.internal.unset import UNSET
from socialapi.models.cards import Button, Card, Label, Website
from socialapi.models.events import ActivityEvent, MatchedPost, StreamNotice
from socialapi.models.includes import Includes
from socialapi.models.model import Items
from socialapi.models.oauth import AccessToken, HoldsSecret, OAuth2Token
from socialapi.models.pages import Page
from socialapi.models.posts import AnnotationEntity, Post, PostDraft, PostMetrics, PostReply
from socialapi.models.undecoded import Undecoded
from socialapi.models.users import User
from socialapi.problems import Problem, RuleCap, ServiceError
from socialapi.reports import (
    Forecast,
    LoadForecast,
    Progress,
    RowIssue,
    SyncReport,
    UploadReport,
    UpsertReport,
)
from socialapi.wire.events import read_activity, read_delivery, read_post
from tests.support.instances import instances_of

for _module in pkgutil.iter_modules(socialapi.models.__path__):
    importlib.import_module(f"socialapi.models.{_module.name}")
for _name in ("reports", "routes.route", "session.rate_limiter", "streams", "webhooks", "wire.rate_limit_headers"):
    importlib.import_module(f"socialapi.{_name}")

SECRET: Final = "ada.lovelace@example.com"
JSON_TYPES: Final = (dict, list, str, int, float, bool, type(None))


def below(cls: Any) -> set[Any]:
    direct = {
        each for each in cls.__subclasses__() if each is getattr(sys.modules[each.__module__], each.__name__, None)
    }
    return direct.union(*map(below, cls.__subclasses__()))


PUBLIC: Final = [getattr(module, name) for module in (socialapi, types, streams, webhooks) for name in module.__all__]
ALL: Final = sorted(
    (
        cls
        for cls in below(Exported)
        if attrs.has(cls) and (cls in PUBLIC or ".models." in cls.__module__ or ".problems" in cls.__module__)
    ),
    key=lambda cls: (cls.__module__, cls.__qualname__),
)
SEVERAL: Final = settings(
    max_examples=10, deadline=None, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck)
)


def exported(record: Any) -> dict[str, Any]:
    return record.to_dict(with_secrets=True) if isinstance(record, HoldsSecret) else record.to_dict()


def is_json(value: Any) -> bool:
    if type(value) is dict:
        return all(type(name) is str and is_json(each) for name, each in value.items())
    return all(map(is_json, value)) if type(value) is list else type(value) in JSON_TYPES


def test_every_public_record_is_among_those_that_are_tried() -> None:
    records = {each for each in PUBLIC if isinstance(each, type) and attrs.has(each)}
    others = {"AppOnly", "Bearer", "Config", "DeadLetter", "OAuth1", "OAuth2User", "Reply", "ReplyInfo", "WebhookReply"}
    assert {each.__name__ for each in records - set(ALL)} == others
    assert len(ALL) > 150


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__qualname__)
@SEVERAL
@given(data=st.data())
def test_a_record_is_the_same_after_an_export(cls: Any, data: st.DataObject) -> None:
    record = data.draw(instances_of(cls))
    plain = exported(record)
    assert is_json(plain)
    read = Page.from_dict(plain) if cls is Page else cls.from_dict(plain)
    assert read == record
    assert type(read) is type(record)
    text = record.to_json(with_secrets=True) if isinstance(record, HoldsSecret) else record.to_json()
    assert json.loads(text) == plain


@pytest.mark.slow
@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__qualname__)
@SEVERAL
@given(data=st.data())
def test_anything_is_read_or_refused_without_its_values(cls: Any, data: st.DataObject) -> None:
    plain = exported(data.draw(instances_of(cls)))
    odd = st.sampled_from(
        (SECRET, [SECRET], [SECRET, SECRET], {SECRET: SECRET}, {"id": SECRET}, True, 1.5, [], [[]], {})
    )
    for name in data.draw(st.lists(st.sampled_from([*plain, SECRET]) if plain else st.just(SECRET), max_size=3)):
        plain[name] = data.draw(odd)
    read, refusal = read_or_refused(cls, plain)
    assert isinstance(read, cls) if refusal is None else refusal.broken_rules
    assert refusal is None or (SECRET not in str(refusal) and refusal.__context__ is None)


def read_or_refused(cls: Any, plain: Any) -> tuple[Any, InvalidInput | None]:
    try:
        return cls.from_dict(plain), None
    except InvalidInput as problem:
        return None, problem


# Models ------------------------------------------------------------------------------------------


def test_a_model_is_exported_by_the_names_of_the_wire_with_what_was_not_known() -> None:
    created_at = datetime.datetime(2026, 1, 31, 10, 0, 0, 5, datetime.timezone(datetime.timedelta(hours=1)))
    post = Post(id="1", created_at=created_at, public_metrics=PostMetrics(like_count=2), extra={"new": [1]})
    data = post.to_dict()
    assert list(data)[:2] == ["id", "text"]
    assert {name: value for name, value in data.items() if value not in (None, [])} == {
        "id": "1",
        "created_at": "2026-01-31T09:00:00.000005Z",
        "public_metrics": PostMetrics(like_count=2).to_dict(),
        "new": [1],
    }
    assert Includes(all_media=()).to_dict()["media"] == []


def test_times_may_be_objects_as_a_row_of_a_table_has_them() -> None:
    post = Post(id="1", created_at=datetime.datetime(2026, 1, 31, 9, tzinfo=datetime.UTC))
    assert Post.from_dict({"id": "1", "created_at": post.created_at}) == post
    with pytest.raises(InvalidInput, match="created_at"):
        Post.from_dict({"id": "1", "created_at": datetime.datetime(2026, 1, 31, 9)})  # noqa: DTZ001  # on purpose


@pytest.mark.parametrize("text", ["one", "\ud83d"])
def test_json_is_on_one_line_or_indented(text: str) -> None:
    post, page = Post(id="1", text=text), Page(data=(Post(id="1", text=text),))
    assert "\n" not in post.to_json()
    assert post.to_json(indent=True).startswith('{\n  "id": "1",\n  "text": ')
    assert Post.from_dict(json.loads(post.to_json(indent=True))) == post
    assert Page.from_dict(json.loads(page.to_json(indent=True)), Post) == page
    assert Items.of([post], ()).to_json(indent=True).startswith('{\n  "data": [\n    {')


def test_an_answer_is_read_as_it_would_be_in_a_call() -> None:
    user = User.from_dict({"id": 12, "public_metrics": [{"tweet_count": "3"}], "new": 1})
    assert (user.id, user.public_metrics and user.public_metrics.tweet_count, user.extra) == ("12", 3, {"new": 1})


def test_a_draft_leaves_out_what_is_not_given() -> None:
    draft = PostDraft(text="t", reply=PostReply(in_reply_to_tweet_id="1"), extra={"brand_new": {"options": ["a"]}})
    assert draft.to_dict() == {"text": "t", "reply": {"in_reply_to_tweet_id": "1"}, "brand_new": {"options": ["a"]}}
    assert PostDraft.from_dict(draft.to_dict()) == draft
    assert PostDraft.from_dict({}).text is UNSET


def test_unions_are_told_apart_by_their_tag_and_unknown_ones_stay_as_they_are() -> None:
    button = Button(Label("SHOP"), Website("https://example.com"))
    card = Card(id="1", components=(button, {"type": "NEW", "a": 1}))  # type: ignore[arg-type]
    assert Card.from_dict(card.to_dict()) == card
    assert isinstance(Card.from_dict(card.to_dict()).components[0], Button)


def test_text_and_numbers_that_few_writers_take_are_exported() -> None:
    post = Post(id="1", text="half \ud83d", extra={"big": 2**64})
    assert json.loads(post.to_json()) == post.to_dict()
    assert Post.from_dict(json.loads(post.to_json())) == post


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (float("nan"), "extra_value[0]: is not a finite number"),
        (float("inf"), "extra_value[0]: is not a finite number"),
        (Decimal("1.5"), "extra_value[0]: JSON has no equivalent of Decimal"),
        (b"bytes", "extra_value[0]: JSON has no equivalent of bytes"),
        ({1: 2}, "extra_value[0]: a name in it is not a string, but int"),
    ],
)
def test_what_json_has_no_form_for_is_refused_with_its_place(value: object, says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Post(id="1", extra={"extra_value": [value]}).to_dict()
    assert str(caught.value) == f"Post cannot be exported as JSON\n  - {says}"


def test_a_number_that_is_none_and_a_time_without_a_zone_are_refused() -> None:
    with pytest.raises(InvalidInput, match="probability: is not a finite number"):
        AnnotationEntity(start=1, end=2, probability=float("nan")).to_json()
    with pytest.raises(InvalidInput, match="a time has no time zone"):
        Post(id="1", created_at=datetime.datetime(2026, 1, 1)).to_dict()  # noqa: DTZ001  # that is the point


def test_data_that_hold_themselves_are_refused() -> None:
    post = Post(id="1")
    post.extra["self"] = post.extra
    with pytest.raises(InvalidInput, match="nested too deeply"):
        post.to_dict()


@pytest.mark.parametrize(
    ("cls", "data", "says"),
    [
        (Post, {}, "the data cannot be read as Post\n  - id: is missing"),
        (
            Post,
            {"id": "1", "created_at": SECRET},
            "the data cannot be read as Post\n  - created_at: expected an ISO 8601 time",
        ),
        (
            Post,
            {"id": "1", "referenced_tweets": [{"type": "quoted", "id": "2"}, {"id": SECRET}]},
            "the data cannot be read as Post\n  - referenced_tweets[1].type: is missing",
        ),
        (RowIssue, {"row": SECRET}, "the data cannot be read as RowIssue\n  - row: expected a whole number"),
    ],
)
def test_bad_data_are_refused_with_the_field_and_without_the_value(cls: Any, data: Any, says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        cls.from_dict(data)
    assert str(caught.value) == says


def test_only_a_mapping_is_read() -> None:
    with pytest.raises(InvalidInput, match=r"^Post\.from_dict takes a mapping, not str$"):
        Post.from_dict('{"id": "1"}')  # type: ignore[arg-type]


def test_tokens_are_exported_on_demand_alone() -> None:
    token = AccessToken(oauth_token=SECRET, oauth_token_secret=SECRET, user_id="1")
    for export in (token.to_dict, token.to_json, OAuth2Token(access_token=SECRET).to_json):
        with pytest.raises(InvalidInput, match=r"contains secrets: .* to_dict\(with_secrets=True\)") as caught:
            export()
        assert SECRET not in str(caught.value)
    assert AccessToken.from_dict(token.to_dict(with_secrets=True)) == token
    assert json.loads(token.to_json(with_secrets=True))["oauth_token_secret"] == SECRET


# Problems, events and reports --------------------------------------------------------------------


def test_a_problem_is_read_as_its_documented_type() -> None:
    problem = RuleCap(type="https://example.com/problems/rule-cap", title="t", extra={"more": 1})
    assert Problem.from_dict(problem.to_dict()) == problem
    assert type(Problem.from_dict({"type": "about:blank"})) is Problem
    assert ServiceError.from_dict({"code": "88", "message": "m"}) == ServiceError(code=88, message="m")


def test_items_of_streams_are_the_same_after_an_export() -> None:
    line = {"data": {"id": "1", "text": "t"}, "matching_rules": [{"id": "2"}], "errors": [{"title": "t"}], "new": 1}
    post = read_post(json.dumps(line).encode())
    assert isinstance(post, MatchedPost)
    assert post.errors
    assert MatchedPost.from_dict(post.to_dict()) == post
    assert json.loads(MatchedPost.from_dict(post.to_dict()).content) == post.to_dict()

    notice = read_post(b'{"errors": [{"title": "t", "type": "about:blank"}]}')
    assert isinstance(notice, StreamNotice)
    assert StreamNotice.from_dict(notice.to_dict()) == notice

    payload = {"id": "1", "event_type": "MessageCreate", "sender_id": "2"}
    event = read_activity(json.dumps({"data": {"event_type": "dm.received", "payload": payload}}).encode())
    assert isinstance(event, ActivityEvent)
    assert event.message is not None
    assert ActivityEvent.from_dict(event.to_dict()) == event

    undecoded = read_delivery(b"\xff{")
    assert isinstance(undecoded, Undecoded)
    assert undecoded.to_dict()["raw_base64"] == "/3s="
    assert Undecoded.from_dict(undecoded.to_dict()) == undecoded
    with pytest.raises(InvalidInput, match="raw_base64: expected Base64"):
        Undecoded.from_dict({"raw_base64": "?"})


def test_a_report_has_the_rows_that_it_names_and_a_summary_has_not() -> None:
    report = UploadReport(read=2, rejected=2, rejects=(RowIssue(1, "email", "is empty"),))
    assert report.to_dict()["rejects"][0]["reason"] == "is empty"
    assert report.summary() == {
        name: value
        for name, value in report.to_dict().items()
        if name not in ("rejects", "warning_details", "columns", "reject_groups", "warning_groups")
    } | {"ignored_columns": ()}
    assert "forecast" not in report.to_dict()


@pytest.mark.parametrize(
    "report",
    [
        UpsertReport(
            created=1,
            vanished_ids=("a",),
            forecast=LoadForecast(requests=1, bytes=2, quota_minutes=0.5, new=1, changed=0, unchanged=0, vanished=0),
        ),
        SyncReport(additions=UploadReport(read=3, forecast=Forecast(requests=1, bytes=2, quota_minutes=0.5))),
        UploadReport(read=1),
    ],
)
def test_the_report_of_a_progress_stays_what_it_is(report: UploadReport) -> None:
    progress = Progress(report=report, fraction_read=0.5)
    assert Progress.from_dict(progress.to_dict()) == progress
    assert type(UploadReport.from_dict(report.to_dict())) is type(report)


# Pages -------------------------------------------------------------------------------------------


def test_an_answer_is_read_as_a_page() -> None:
    answer = {"data": [{"id": "1"}, {"text": "no id"}], "meta": {"next_token": "n", "result_count": 2}, "new": 1}
    page = Page.from_dict(answer, Post)
    assert [post.id for post in page] == ["1"]
    assert (page.next_token, page.result_count, page.extra) == ("n", 2, {"new": 1})
    assert page.undecoded == (Undecoded({"text": "no id"}, "data[1].id", "is missing"),)
    assert answer["data"] == [{"id": "1"}, {"text": "no id"}]


def test_positions_count_what_was_not_decoded_after_an_export_too() -> None:
    page = Page.from_dict({"data": [{"text": "no id"}, {"id": "2"}, {"id": "3"}]}, Post)
    read = Page.from_dict(page.to_dict(), Post)
    assert (
        [read.arrived_before(index) for index in range(3)]
        == [page.arrived_before(index) for index in range(3)]
        == [0, 2, 3]
    )


def test_what_is_no_page_is_refused() -> None:
    with pytest.raises(
        InvalidInput, match=r"^the data cannot be read as Page\n  - data: is missing, and so are meta and errors$"
    ):
        Page.from_dict({"id": SECRET}, Post)
    with pytest.raises(InvalidInput, match="undecoded: "):
        Page.from_dict({"data": [], "undecoded": [{"raw_base64": 1}]}, Post)


def test_items_are_the_same_after_an_export_with_their_errors() -> None:
    items = Items.of((Post(id="1"),), (ServiceError(code=1, message="m"), Problem(title="t")))
    read = Items.from_dict(items.to_dict(), Post)
    assert read == items
    assert read.partial_errors == items.partial_errors
    assert json.loads(items.to_json()) == items.to_dict()
    with pytest.raises(InvalidInput, match=r"\[0\]\.id: is missing"):
        Items.from_dict({"data": [{}]}, Post)
