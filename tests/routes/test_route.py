"""The rows say what the service documents."""

from typing import Any

import pytest

from socialapi.config import ADS_VERSIONS
from socialapi.routes import ads, audiences, oauth, platform
from socialapi.routes.route import (
    ADS,
    ADS_SANDBOX,
    FAMILIES,
    OAUTH,
    PLATFORM,
    PLATFORM_APP,
    PLATFORM_CALLER,
    PLATFORM_SUBSCRIBER,
    PLATFORM_USER,
    RateLimit,
    Route,
    Target,
    encode_segment,
)
from tests.support.endpoint_table import CALLS
from tests.support.routes import ROUTES, name_of


@pytest.mark.parametrize("route", ROUTES, ids=name_of)
def test_whatever_is_no_write_may_be_repeated(route: Route[Any]) -> None:
    """Methods and paths are spelled by hand in the table of endpoints, which leaves no route out."""
    kinds = {row.route: row.kind for row in CALLS}
    assert route.repeatable == (kinds.get(route) != "write"), (
        f"{name_of(route)}: `repeatable` of the route contradicts `kind` of its row in tests/support/endpoint_table.py"
    )


def test_no_two_rows_are_the_same_endpoint() -> None:
    endpoints = [(route.family.host, route.method, route.path) for route in ROUTES]
    assert len(set(endpoints)) == len(endpoints)


def test_uploads_are_bounded_as_documented() -> None:
    assert audiences.CUSTOM_AUDIENCE_USERS.max_body_bytes == 5_000_000
    limit = audiences.CUSTOM_AUDIENCE_USERS.rate_limit
    assert limit is not None
    assert (limit.requests, limit.window_seconds, limit.per) == (1_500, 60.0, ("account_id",))


def key(target: Target[Any], **query: Any) -> str:
    return target.limit_key(target.route.limit(query))


def test_requests_of_one_account_share_a_documented_limit_whatever_the_audience() -> None:
    one = audiences.CUSTOM_AUDIENCE_USERS.at(account_id="a", custom_audience_id="1")
    same = audiences.CUSTOM_AUDIENCE_USERS.at(account_id="a", custom_audience_id="2")
    other = audiences.CUSTOM_AUDIENCE_USERS.at(account_id="b", custom_audience_id="1")
    assert key(one) == key(same) == "custom_audience_uploads/a"
    assert key(other) == "custom_audience_uploads/b"


def test_lists_are_counted_apart_from_audiences() -> None:
    assert key(audiences.DO_NOT_REACH_USERS.at(account_id="a", do_not_reach_list_id="1")) == "do_not_reach_uploads/a"


def test_a_limit_that_is_not_documented_is_assumed_by_endpoint_and_account() -> None:
    target = audiences.DO_NOT_REACH_LIST_DELETE.at(account_id="a", do_not_reach_list_id="1")
    assert key(target) == "DELETE /12/accounts/{account_id}/do_not_reach_lists/{do_not_reach_list_id}/a"
    assert key(oauth.APP_ONLY_TOKEN.at()) == "POST /oauth2/token"
    assert key(ads.ACCOUNTS.at()) == "GET /12/accounts"


@pytest.mark.parametrize("asked", [True, "true", "True", "TRUE", " true", 1, "1", "yes"])
@pytest.mark.parametrize("target", [ads.ACCOUNTS.at(), ads.ACCOUNT_APPS.at(account_id="a")])
def test_reads_with_a_total_count_share_a_limit_of_200_in_15_minutes_whatever_they_read(
    target: Target[Any], asked: Any
) -> None:
    limit = target.route.limit({"with_total_count": asked})
    assert limit == RateLimit("total_count_reads", 200, 900.0)
    assert target.limit_key(limit) == "total_count_reads"


@pytest.mark.parametrize(
    "query", [{}, {"with_total_count": False}, {"with_total_count": "False"}, {"with_total_count": 0}, {"count": 1}]
)
def test_reads_without_a_total_count_are_not_held_back_by_it(query: dict[str, Any]) -> None:
    assert ads.ACCOUNTS.limit(query) is None
    assert audiences.CUSTOM_AUDIENCE_USERS.limit(query) == audiences.CUSTOM_AUDIENCE_USERS.rate_limit


def test_the_platform_has_no_limit_for_total_counts() -> None:
    assert platform.POSTS.limit({"with_total_count": True}) is None


def test_an_id_that_is_a_number_makes_the_same_key_and_path() -> None:
    number: Any = 7
    route = Route("GET", ADS, "/12/{account_id}", dict, rate_limit=RateLimit("x", 1, 1.0, per=("account_id",)))
    assert key(route.at(account_id=number)) == "x/7"
    assert route.at(account_id=number).path({}) == "/12/7"


def test_the_versions_that_can_be_others_are_those_of_the_rows() -> None:
    declared = {route.path.split("/")[1] for route in ROUTES if route.family.host != "base_url"}
    assert declared == set(ADS_VERSIONS)


def test_a_version_of_the_advertising_api_can_be_another_one() -> None:
    versions = {"12": "13", "5": "6"}
    assert ads.ACCOUNT.at(account_id="12").path({}, versions) == "/13/accounts/12"
    permissions = audiences.AUDIENCE_PERMISSIONS.at(account_id="a", tailored_audience_id="t")
    assert permissions.path({}, versions) == "/6/accounts/a/tailored_audiences/t/permissions"
    assert permissions.path({}, {"12": "13"}) == "/5/accounts/a/tailored_audiences/t/permissions"
    assert ads.SANDBOX_ACCOUNT_CREATE.at().path({}, versions) == "/13/accounts"
    assert platform.POSTS.at().path({}, {"2": "3"}) == "/2/tweets"


def test_a_path_that_was_given_is_sent_as_it_is_whatever_the_versions() -> None:
    replaced = {"/12/accounts/{account_id}": "/12/adaccounts/{account_id}"}
    assert ads.ACCOUNT.at(account_id="a").path(replaced, {"12": "13"}) == "/12/adaccounts/a"
    written = Route("GET", ADS, "/12/campaigns", dict, label="/12/campaigns")
    assert written.at().path({}, {"12": "13"}) == "/12/campaigns"


def test_each_family_has_its_host_and_the_credentials_it_prefers_first() -> None:
    assert {name: (family.host, family.credentials[:1]) for name, family in FAMILIES.items()} == {
        "platform": ("base_url", ("AppOnly",)),
        "platform_user": ("base_url", ("OAuth1",)),
        "platform_app": ("base_url", ("AppOnly",)),
        "platform_caller": ("base_url", ("OAuth2User",)),
        "platform_subscriber": ("base_url", ("OAuth1",)),
        "oauth": ("base_url", ()),
        "ads": ("ads_url", ("OAuth1",)),
        "ads_sandbox": ("ads_sandbox_url", ("OAuth1",)),
    }
    assert {
        family.name: family
        for family in (
            *(PLATFORM, PLATFORM_USER, PLATFORM_APP, PLATFORM_CALLER, PLATFORM_SUBSCRIBER),
            *(OAUTH, ADS, ADS_SANDBOX),
        )
    } == FAMILIES


@pytest.mark.parametrize(
    ("value", "encoded"),
    [("a", "a"), (".a", ".a"), ("/", "%2F"), ("~", "~"), ("é", "%C3%A9")],
)
def test_a_segment_is_percent_encoded(value: str, encoded: str) -> None:
    assert encode_segment(value) == encoded


def test_a_route_is_paged_when_its_result_is_a_page() -> None:
    assert platform.POSTS.is_paged
    assert not platform.POST_CREATE.is_paged
