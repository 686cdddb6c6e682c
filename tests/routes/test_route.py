"""The rows say what the service documents."""

from typing import Any

import pytest

from socialapi.routes import ads, oauth
from socialapi.routes.route import ADS, ADS_SANDBOX, FAMILIES, OAUTH, PLATFORM, RateLimit, Route, encode_segment

ROWS: list[tuple[Route[Any], str, str, bool]] = [
    (oauth.APP_ONLY_TOKEN, "POST", "/oauth2/token", True),
    (oauth.INVALIDATE_APP_ONLY_TOKEN, "POST", "/oauth2/invalidate_token", False),
    (
        ads.CUSTOM_AUDIENCE_USERS,
        "POST",
        "/12/accounts/{account_id}/custom_audiences/{custom_audience_id}/users",
        True,
    ),
    (
        ads.DO_NOT_REACH_USERS,
        "POST",
        "/12/batch/accounts/{account_id}/do_not_reach_lists/{do_not_reach_list_id}/users",
        True,
    ),
    (
        ads.DO_NOT_REACH_LIST_DELETE,
        "DELETE",
        "/12/accounts/{account_id}/do_not_reach_lists/{do_not_reach_list_id}",
        False,
    ),
]


@pytest.mark.parametrize(("route", "method", "path", "repeatable"), ROWS)
def test_a_row_has_the_documented_method_and_path_and_says_what_may_be_repeated(
    route: Route[Any], method: str, path: str, repeatable: bool
) -> None:
    assert (route.method, route.path, route.repeatable) == (method, path, repeatable)
    assert route.section


def test_every_row_is_tested_here() -> None:
    declared = [each for module in (ads, oauth) for each in vars(module).values() if isinstance(each, Route)]
    assert {id(route) for route in declared} == {id(route) for route, *_ in ROWS}


def test_uploads_are_bounded_as_documented() -> None:
    assert ads.CUSTOM_AUDIENCE_USERS.max_body_bytes == 5_000_000
    limit = ads.CUSTOM_AUDIENCE_USERS.rate_limit
    assert limit is not None
    assert (limit.requests, limit.window_seconds, limit.per) == (1_500, 60.0, ("account_id",))


def test_requests_of_one_account_share_a_documented_limit_whatever_the_audience() -> None:
    one = ads.CUSTOM_AUDIENCE_USERS.at(account_id="a", custom_audience_id="1")
    same = ads.CUSTOM_AUDIENCE_USERS.at(account_id="a", custom_audience_id="2")
    other = ads.CUSTOM_AUDIENCE_USERS.at(account_id="b", custom_audience_id="1")
    assert one.limit_key == same.limit_key == "custom_audience_uploads/a"
    assert other.limit_key == "custom_audience_uploads/b"


def test_lists_are_counted_apart_from_audiences() -> None:
    assert ads.DO_NOT_REACH_USERS.at(account_id="a", do_not_reach_list_id="1").limit_key == "do_not_reach_uploads/a"


def test_a_limit_that_is_not_documented_is_assumed_by_endpoint_and_account() -> None:
    target = ads.DO_NOT_REACH_LIST_DELETE.at(account_id="a", do_not_reach_list_id="1")
    assert target.limit_key == ("DELETE /12/accounts/{account_id}/do_not_reach_lists/{do_not_reach_list_id}/a")
    assert oauth.APP_ONLY_TOKEN.at().limit_key == "POST /oauth2/token"


def test_an_id_that_is_a_number_makes_the_same_key_and_path() -> None:
    number: Any = 7
    route = Route("GET", ADS, "/12/{account_id}", dict, rate_limit=RateLimit("x", 1, 1.0, per=("account_id",)))
    assert route.at(account_id=number).limit_key == "x/7"
    assert route.at(account_id=number).path({}) == "/12/7"


def test_each_family_has_its_host_and_the_credentials_it_prefers_first() -> None:
    assert {name: (family.host, family.credentials[:1]) for name, family in FAMILIES.items()} == {
        "platform": ("base_url", ("AppOnly",)),
        "oauth": ("base_url", ()),
        "ads": ("ads_url", ("OAuth1",)),
        "ads_sandbox": ("ads_sandbox_url", ("OAuth1",)),
    }
    assert {family.name: family for family in (PLATFORM, OAUTH, ADS, ADS_SANDBOX)} == FAMILIES


@pytest.mark.parametrize(
    ("value", "encoded"),
    [("a", "a"), (".a", ".a"), ("/", "%2F"), ("~", "~"), ("é", "%C3%A9")],
)
def test_a_segment_is_percent_encoded(value: str, encoded: str) -> None:
    assert encode_segment(value) == encoded
