"""What is sent for a route and its arguments."""

import datetime
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.config import Config
from socialapi.errors import InvalidInput
from socialapi.models.oauth import InvalidateTokenRequest
from socialapi.routes import audiences, oauth
from socialapi.routes.route import ADS, PLATFORM, Route, Target
from socialapi.wire.request import Request
from tests.support.requests import assemble, build_request

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
CONFIG = Config(base_url="https://api.example.com", ads_url="https://ads.example.com/api/")
USERS = audiences.CUSTOM_AUDIENCE_USERS.at(account_id="18ce5", custom_audience_id="4f2a")


def build(target: Target[Any], config: Config = CONFIG, **arguments: Any) -> Request[Any]:
    return build_request(target, config, now=NOW, **arguments)


def test_a_form_body_is_percent_encoded_and_kept_as_text_for_the_signature() -> None:
    request = build(oauth.INVALIDATE_APP_ONLY_TOKEN.at(), body=InvalidateTokenRequest(access_token="a b&c"))
    assert request.url == "https://api.example.com/oauth2/invalidate_token"
    assert request.headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert request.body == (b"access_token=a%20b%26c",)
    assert request.form == "access_token=a%20b%26c"


def test_parameters_of_a_write_without_a_body_go_into_the_query() -> None:
    rename = Route("PUT", ADS, "/12/accounts/{account_id}/cards/{card_id}", dict, Any, "query")
    request = build(rename.at(account_id="1", card_id="2"), query={"trace": True}, body={"name": "new name"})
    assert request.url == "https://ads.example.com/api/12/accounts/1/cards/2?trace=true&name=new%20name"
    assert request.body == ()
    assert "Content-Type" not in request.headers


@pytest.mark.parametrize(
    ("value", "segment"),
    [
        ("a/b", "a%2Fb"),
        ("...", "..."),
        ("a?b#c", "a%3Fb%23c"),
        ("50%", "50%25"),
        ("a b", "a%20b"),
        ("ü", "%C3%BC"),
        ("{account_id}", "%7Baccount_id%7D"),
    ],
)
def test_no_path_parameter_leaves_its_segment(value: str, segment: str) -> None:
    url = build(audiences.DO_NOT_REACH_LIST_DELETE.at(account_id=value, do_not_reach_list_id="2")).url
    assert url == f"https://ads.example.com/api/12/accounts/{segment}/do_not_reach_lists/2"


PATH_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1)


@given(PATH_TEXT.filter(lambda text: text.strip(" ") not in ("", ".", "..")))
def test_every_path_parameter_arrives_as_it_was_given(value: str) -> None:
    url = build(audiences.DO_NOT_REACH_LIST_DELETE.at(account_id=value, do_not_reach_list_id="2")).url
    before, segment, after = (
        url.removeprefix("https://ads.example.com/api/12/").removesuffix("/do_not_reach_lists/2").partition("/")
    )
    assert (before, segment) == ("accounts", "/")
    assert "/" not in after
    assert unquote(after) == value
    assert urlsplit(url).query == urlsplit(url).fragment == ""


@given(st.text(), st.characters(categories=["Cc", "Cs"]), st.text())
def test_no_path_parameter_has_control_characters_or_half_a_surrogate_pair(before: str, odd: str, after: str) -> None:
    with pytest.raises(InvalidInput, match="account_id must contain neither control characters nor unpaired") as caught:
        build(audiences.DO_NOT_REACH_LIST_DELETE.at(account_id=before + odd + after, do_not_reach_list_id="2"))
    assert caught.value.__context__ is None


def test_an_empty_path_parameter_is_refused_since_the_path_would_be_that_of_something_else() -> None:
    with pytest.raises(InvalidInput, match=r"account_id and do_not_reach_list_id must not be empty, \. or \.\."):
        build(audiences.DO_NOT_REACH_LIST_DELETE.at(account_id="", do_not_reach_list_id=""))


def test_a_path_can_be_replaced_in_the_configuration() -> None:
    config = Config(
        ads_url="https://ads.example.com",
        paths={audiences.CUSTOM_AUDIENCE_USERS.path: "/13/a/{account_id}/{custom_audience_id}"},
    )
    assert build(USERS, config).url == "https://ads.example.com/13/a/18ce5/4f2a"


def test_a_body_of_five_million_bytes_is_sent_and_one_byte_more_is_not() -> None:
    assert assemble(USERS, CONFIG, {}, (b"x" * 4_999_999, b"y")).body_bytes == 5_000_000
    with pytest.raises(InvalidInput, match="larger than 5,000,000 bytes; send it in several requests"):
        assemble(USERS, CONFIG, {}, (b"x" * 5_000_000, b"y"))


def test_the_largest_body_can_be_configured_where_the_service_bounds_it() -> None:
    small = Config(base_url="https://api.example.com", ads_url="https://ads.example.com", max_batch_bytes=10)
    with pytest.raises(InvalidInput, match="larger than 10 bytes"):
        assemble(USERS, small, {}, (b"x" * 11,))
    unbounded = Route("POST", PLATFORM, "/2/anything", dict, Any, "json").at()
    assert assemble(unbounded, small, {}, (b"x" * 11,)).body_bytes == 11


def test_the_repr_of_a_request_shows_neither_parameters_nor_body() -> None:
    request = build(USERS, query={"q": "planted"}, body=[])
    assert repr(request) == (
        "Request(POST /12/accounts/{account_id}/custom_audiences/{custom_audience_id}/users, 2 bytes)"
    )


@pytest.mark.parametrize("odd", [".", ".."])
def test_an_id_that_a_proxy_would_resolve_is_refused(odd: str) -> None:
    target = audiences.DO_NOT_REACH_LIST_DELETE.at(account_id=odd, do_not_reach_list_id="7b2f1")
    with pytest.raises(InvalidInput, match=r"account_id must not be empty, \. or \.\."):
        assemble(target, Config(ads_url="https://ads.example"), {}, ())
