"""The rows say what the service documents."""

from typing import Any

import pytest

from socialapi.routes import ads, oauth, platform
from socialapi.routes.route import (
    ADS,
    ADS_SANDBOX,
    FAMILIES,
    OAUTH,
    PLATFORM,
    PLATFORM_CALLER,
    PLATFORM_USER,
    RateLimit,
    Route,
    encode_segment,
)

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
    (oauth.REQUEST_TOKEN, "POST", "/oauth/request_token", True),
    (oauth.AUTHORIZE, "GET", "/oauth/authorize", False),
    (oauth.AUTHENTICATE, "GET", "/oauth/authenticate", False),
    (oauth.ACCESS_TOKEN, "POST", "/oauth/access_token", False),
    (oauth.INVALIDATE_TOKEN, "POST", "/1.1/oauth/invalidate_token", False),
    (oauth.OAUTH2_AUTHORIZE, "GET", "/2/oauth2/authorize", False),
    (oauth.OAUTH2_TOKEN, "POST", "/2/oauth2/token", False),
    (platform.POSTS, "GET", "/2/tweets", True),
    (platform.USER_POSTS, "GET", "/2/users/{id}/tweets", True),
    (platform.POST_CREATE, "POST", "/2/tweets", False),
    (platform.WEBHOOK_CREATE, "POST", "/2/webhooks", False),
    (platform.WEBHOOKS, "GET", "/2/webhooks", True),
    (platform.WEBHOOK_DELETE, "DELETE", "/2/webhooks/{webhook_id}", False),
    (platform.WEBHOOK_VALIDATE, "PUT", "/2/webhooks/{webhook_id}", True),
    (platform.WEBHOOK_REPLAY, "POST", "/2/webhooks/replay", False),
    (platform.STREAM_LINK, "POST", "/2/tweets/search/webhooks/{webhook_id}", False),
    (platform.STREAM_RULES, "GET", "/2/tweets/search/stream/rules", True),
    (platform.STREAM_RULES_CHANGE, "POST", "/2/tweets/search/stream/rules", False),
    (platform.POWERSTREAM_RULES, "GET", "/2/powerstream/rules", True),
    (platform.POST_STREAM, "GET", "/2/tweets/search/stream", True),
    (platform.ACTIVITY_STREAM, "GET", "/2/activity/stream", True),
    (platform.CONNECTIONS, "GET", "/2/connections", True),
    (platform.CONNECTIONS_END, "DELETE", "/2/connections", False),
    (platform.CONNECTIONS_END_ENDPOINT, "DELETE", "/2/connections/{endpoint_id}", False),
    (platform.CONNECTIONS_END_ALL, "DELETE", "/2/connections/all", False),
    (platform.ARTICLE_DRAFT, "POST", "/2/articles/draft", False),
    (platform.ARTICLE_PUBLISH, "POST", "/2/articles/{article_id}/publish", False),
    (platform.NEWS_SEARCH, "GET", "/2/news/search", True),
    (platform.NEWS_STORY, "GET", "/2/news/{id}", True),
    (platform.NOTE_EVALUATE, "POST", "/2/evaluate_note", False),
    (platform.NOTE_SUBMIT, "POST", "/2/notes", False),
    (platform.NOTES_ELIGIBLE_POSTS, "GET", "/2/notes/search/posts_eligible_for_notes", True),
    (platform.NOTES_WRITTEN, "GET", "/2/notes/search/notes_written", True),
    (platform.SUBSCRIPTION_CREATE, "POST", "/2/activity/subscriptions", False),
]


@pytest.mark.parametrize(("route", "method", "path", "repeatable"), ROWS)
def test_a_row_has_the_documented_method_and_path_and_says_what_may_be_repeated(
    route: Route[Any], method: str, path: str, repeatable: bool
) -> None:
    assert (route.method, route.path, route.repeatable) == (method, path, repeatable)
    assert route.section


def test_every_row_is_tested_here() -> None:
    declared = [each for module in (ads, oauth, platform) for each in vars(module).values() if isinstance(each, Route)]
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
        "platform_user": ("base_url", ("OAuth1",)),
        "platform_caller": ("base_url", ("OAuth2User",)),
        "oauth": ("base_url", ()),
        "ads": ("ads_url", ("OAuth1",)),
        "ads_sandbox": ("ads_sandbox_url", ("OAuth1",)),
    }
    assert {
        family.name: family for family in (PLATFORM, PLATFORM_USER, PLATFORM_CALLER, OAUTH, ADS, ADS_SANDBOX)
    } == FAMILIES


@pytest.mark.parametrize(
    ("value", "encoded"),
    [("a", "a"), (".a", ".a"), ("/", "%2F"), ("~", "~"), ("é", "%C3%A9")],
)
def test_a_segment_is_percent_encoded(value: str, encoded: str) -> None:
    assert encode_segment(value) == encoded
