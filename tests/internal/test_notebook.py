"""Tables in notebooks: escaped, of a sane size, and without anything that a repr would not show."""

import datetime
from html.parser import HTMLParser
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.internal import notebook
from socialapi.models.audiences import AudienceUser
from socialapi.models.model import Items
from socialapi.models.oauth import AccessToken
from socialapi.models.pages import Page
from socialapi.models.posts import Post, PostMetrics
from socialapi.models.undecoded import Undecoded
from socialapi.models.users import User
from socialapi.problems import ServiceError
from socialapi.reports import Finding, KindLint, LintReport, Progress, RowIssue, SyncReport, UploadReport, UpsertReport

PERSONAL: Final = "ada.lovelace@example.com"


class Reader(HTMLParser):
    """Reads tables as rows of texts, and which elements and attributes there are."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.captions: list[str] = []
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attributes}
        self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        elif tag == "caption":
            self.captions.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1] == "caption":
            self.captions[-1] += data
        else:
            self.rows[-1][-1] += data


def read(shown: Any) -> Reader:
    return Reader(shown._repr_html_())


@given(texts=st.lists(st.text(), min_size=1, max_size=4))
def test_whatever_the_service_says_is_text(texts: list[str]) -> None:
    found = read(Page(data=tuple(Post(id="1", text=f"<script>{text}</td>&amp;") for text in texts)))
    assert found.elements == {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert found.attributes == {"style"}
    assert all(row[1].startswith("<script>") for row in found.rows[1:])


def test_a_page_is_a_table_of_the_columns_in_which_there_is_anything() -> None:
    created_at = datetime.datetime(2026, 1, 31, 9, 0, 0, 5, datetime.UTC)
    post = Post(id="1", text="one\n\ttwo", created_at=created_at, public_metrics=PostMetrics(like_count=2))
    page = Page(data=(post, Post(id="2", edit_history_tweet_ids=("2", "3"))), next_token="n", errors=(ServiceError(),))
    found = read(page)
    assert found.rows == [
        ["id", "text", "created_at", "edit_history_tweet_ids", "public_metrics.like_count"],
        ["1", "one two", "2026-01-31 09:00:00+00:00", "", "2"],
        ["2", "", "", "2, 3", ""],
    ]
    assert found.captions == ["Page: 2 items of Post, 1 error; another page follows"]


def test_objects_stay_in_one_column_where_their_members_would_be_too_many() -> None:
    metrics = PostMetrics(retweet_count=1, reply_count=1, like_count=1, quote_count=1, impression_count=1)
    post = Post(id="1", text="one", author_id="2", community_id="3", lang="en", conversation_id="1")
    post.public_metrics = metrics
    found = read(Page(data=(post,)))
    assert found.rows[0][-1] == "public_metrics"
    assert found.rows[1][-1] == repr(metrics)[:79] + "…"


def test_a_model_is_a_table_of_the_values_that_it_has() -> None:
    post = Post(id="1", text="one <b>", public_metrics=PostMetrics(like_count=2_000, reply_count=0))
    post.partial_errors = (ServiceError(),)
    found = read(post)
    assert found.captions == ["Post: 1 error"]
    assert dict(found.rows) == {
        "": "value",
        "id": "1",
        "text": "one <b>",
        "public_metrics.like_count": "2,000",
        "public_metrics.reply_count": "0",
    }


def test_a_model_shows_no_more_than_its_repr() -> None:
    token = AccessToken(oauth_token="hidden", oauth_token_secret="hidden", user_id="7")
    assert read(token).rows == [["", "value"], ["user_id", "7"]]
    assert PERSONAL not in User(id="1", confirmed_email=PERSONAL, extra={"email": PERSONAL})._repr_html_()


@pytest.mark.parametrize("control", ["\u202a", "\u202e", "\u2066", "\u2069"])
def test_characters_that_reorder_text_are_replaced(control: str) -> None:
    post = Post(id="1", text=f"gpj.{control}exe")
    assert read(post).rows[-1] == ["text", "gpj.\ufffdexe"]
    assert read(Page(data=(post,))).rows[-1] == ["1", "gpj.\ufffdexe"]


def test_a_large_page_shows_its_first_rows_and_says_how_many_it_has() -> None:
    users = [
        User.from_dict({"id": number, "verified": True} | dict.fromkeys(NAMES, "x" * 500)) for number in range(1_234)
    ]
    found = read(Items.of(users, ()))
    assert len(found.rows) == 1 + notebook.MAX_ROWS
    assert {len(row) for row in found.rows} == {notebook.MAX_COLUMNS}
    assert max(len(cell) for row in found.rows for cell in row) == notebook.MAX_TEXT_LENGTH
    assert found.captions == ["Items: 1,234 items of User; 1,214 items and 2 columns not shown"]


NAMES: Final = (
    *("name", "username", "description", "location", "pinned_tweet_id", "profile_image_url", "subscription_type"),
    *("url", "verified_type", "connection_status"),
)


def test_what_a_repr_hides_and_what_was_not_decoded_is_not_shown() -> None:
    user = User(id="1", confirmed_email=PERSONAL, extra={"email": PERSONAL})
    page = Page(
        data=(user,), undecoded=(Undecoded({"email": PERSONAL}, "data[1].id", "is missing"),), extra={"a": PERSONAL}
    )
    for shown in (page, Items.of([user], ()), Page(data=(AudienceUser(email=PERSONAL),))):
        assert PERSONAL not in shown._repr_html_()
    assert read(page).captions == ["Page: 1 item of User, 1 undecoded"]


def test_a_report_shows_its_counts_and_no_row() -> None:
    rejects = (RowIssue(1, "email", "is empty", PERSONAL),)
    report = UpsertReport(read=12_345, created=2, elapsed_seconds=1.25, rejects=rejects, vanished_ids=(PERSONAL,))
    found = read(report)
    assert found.captions == ["UpsertReport"]
    wanted = {"read": "12,345", "created": "2", "elapsed_seconds": "1.25"}
    assert wanted.items() <= {name: value for name, value in found.rows[1:]}.items()  # noqa: C416  # dict() takes pairs
    assert PERSONAL not in report._repr_html_()
    assert Progress(report=report)._repr_html_() == report._repr_html_()


def test_a_report_of_a_sync_has_a_column_for_additions_and_one_for_removals() -> None:
    report = SyncReport(read=3, unchanged=1, additions=UploadReport(read=2), removals=UploadReport(read=7))
    rows = {name: cells for name, *cells in read(report).rows}
    assert rows[""] == ["whole", "additions", "removals"]
    assert rows["read"] == ["3", "2", "7"]
    assert rows["unchanged"] == ["1", "", ""]


def test_a_report_of_a_lint_has_a_table_of_kinds_and_one_of_findings() -> None:
    report = LintReport(
        rows=1_000,
        unusable_rows=1,
        rows_with_several=0,
        duplicates=0,
        duplicates_are_exact=True,
        kinds=(KindLint(kind="email", present=999, reasons={"is empty": 1}),),
        columns=(),
        ignored_columns=(),
        findings=(Finding("1 row has no identifier", "high", is_error=True),),
    )
    found = read(report)
    assert found.captions == ["LintReport: 1,000 rows, 1 unusable, match risk high", ""]
    assert found.rows[1][:2] == ["email", "999"]
    assert found.rows[-1] == ["high", "1 row has no identifier"]
