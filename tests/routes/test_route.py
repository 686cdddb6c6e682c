"""The rows say what the service documents."""

from typing import Any

import pytest

from socialapi.config import ADS_VERSIONS
from socialapi.routes import ads, catalogs, creatives, oauth, platform
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
    Target,
    encode_segment,
)

PAIRS = "/12/accounts/{account_id}/line_item_curated_categories"
CARDS = "/12/accounts/{account_id}/cards"
CATALOG = "/12/product_catalogs/{product_catalog_id}"
LIBRARY = "/12/accounts/{account_id}/media_library"
PERMISSIONS = "/5/accounts/{account_id}/tailored_audiences/{tailored_audience_id}/permissions"

ROWS: list[tuple[Route[Any], str, str, bool]] = [
    (oauth.APP_ONLY_TOKEN, "POST", "/oauth2/token", True),
    (oauth.INVALIDATE_APP_ONLY_TOKEN, "POST", "/oauth2/invalidate_token", False),
    (ads.ACCOUNTS, "GET", "/12/accounts", True),
    (ads.ACCOUNT, "GET", "/12/accounts/{account_id}", True),
    (ads.SANDBOX_ACCOUNT_CREATE, "POST", "/12/accounts", False),
    (ads.ACCOUNT_UPDATE, "PUT", "/12/accounts/{account_id}", True),
    (ads.SANDBOX_ACCOUNT_DELETE, "DELETE", "/12/accounts/{account_id}", False),
    (ads.ACCOUNT_APPS, "GET", "/12/accounts/{account_id}/account_apps", True),
    (ads.ACCOUNT_HISTORY, "GET", "/12/accounts/{account_id}/account_history", True),
    (ads.FEATURES, "GET", "/12/accounts/{account_id}/features", True),
    (ads.SANDBOX_FEATURES_ADD, "POST", "/12/accounts/{account_id}/features", False),
    (ads.BUSINESS_CATEGORIES, "GET", "/12/advertiser_business_categories", True),
    (ads.CURATED_CATEGORIES, "GET", "/12/accounts/{account_id}/curated_categories", True),
    (ads.CURATED_CATEGORY, "GET", "/12/accounts/{account_id}/curated_categories/{curated_category_id}", True),
    (ads.LINE_ITEM_CURATED_CATEGORIES, "GET", PAIRS, True),
    (ads.LINE_ITEM_CURATED_CATEGORY, "GET", PAIRS + "/{line_item_curated_category_id}", True),
    (ads.LINE_ITEM_CURATED_CATEGORY_CREATE, "POST", PAIRS, False),
    (ads.LINE_ITEM_CURATED_CATEGORY_UPDATE, "PUT", PAIRS + "/{line_item_curated_category_id}", True),
    (ads.LINE_ITEM_CURATED_CATEGORY_DELETE, "DELETE", PAIRS + "/{line_item_curated_category_id}", False),
    (ads.LINE_ITEM_UPDATE, "PUT", "/12/accounts/{account_id}/line_items/{line_item_id}", True),
    (ads.LINE_ITEM_DELETE, "DELETE", "/12/accounts/{account_id}/line_items/{line_item_id}", False),
    (ads.KEYWORD_INSIGHTS, "GET", "/12/insights/keywords/search", True),
    (ads.AUDIENCE_PERMISSIONS, "GET", PERMISSIONS, True),
    (ads.AUDIENCE_PERMISSION_CREATE, "POST", PERMISSIONS, False),
    (ads.AUDIENCE_PERMISSION_DELETE, "DELETE", PERMISSIONS + "/{tailored_audience_permission_id}", False),
    (ads.TARGETED, "GET", "/12/accounts/{account_id}/custom_audiences/{custom_audience_id}/targeted", True),
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
    (creatives.ACCOUNT_MEDIA, "GET", "/12/accounts/{account_id}/account_media", True),
    (creatives.ACCOUNT_MEDIUM, "GET", "/12/accounts/{account_id}/account_media/{account_media_id}", True),
    (creatives.ACCOUNT_MEDIUM_DELETE, "DELETE", "/12/accounts/{account_id}/account_media/{account_media_id}", False),
    (creatives.CARDS, "GET", CARDS, True),
    (creatives.CARD, "GET", CARDS + "/{card_id}", True),
    (creatives.CARD_CREATE, "POST", CARDS, False),
    (creatives.CARD_UPDATE, "PUT", CARDS + "/{card_id}", True),
    (creatives.IMAGE_CONVERSATION_CARD_DELETE, "DELETE", CARDS + "/image_conversation/{card_id}", False),
    (creatives.MEDIA_LIBRARY, "GET", LIBRARY, True),
    (creatives.LIBRARY_MEDIA, "GET", LIBRARY + "/{media_key}", True),
    (creatives.LIBRARY_MEDIA_ADD, "POST", LIBRARY, False),
    (creatives.LIBRARY_MEDIA_UPDATE, "PUT", LIBRARY + "/{media_key}", True),
    (creatives.LIBRARY_MEDIA_DELETE, "DELETE", LIBRARY + "/{media_key}", False),
    (creatives.POLL_CARDS, "GET", CARDS + "/poll", True),
    (creatives.POLL_CARD, "GET", CARDS + "/poll/{card_id}", True),
    (creatives.POLL_CARD_CREATE, "POST", CARDS + "/poll", False),
    (creatives.ADVERTISER_POST_CREATE, "POST", "/12/accounts/{account_id}/tweet", False),
    (creatives.ADVERTISER_POST_RENAME, "PUT", "/12/accounts/{account_id}/tweets/{tweet_id}/name", True),
    (creatives.VIDEO_CONVERSATION_CARDS, "GET", CARDS + "/video_conversation", True),
    (creatives.VIDEO_CONVERSATION_CARD, "GET", CARDS + "/video_conversation/{card_id}", True),
    (creatives.VIDEO_CONVERSATION_CARD_CREATE, "POST", CARDS + "/video_conversation", False),
    (creatives.VIDEO_CONVERSATION_CARD_UPDATE, "PUT", CARDS + "/video_conversation/{card_id}", True),
    (catalogs.CATALOGS, "GET", "/12/product_catalogs", True),
    (catalogs.CATALOG_CREATE, "POST", "/12/product_catalogs", False),
    (catalogs.CATALOG_RENAME, "PUT", CATALOG, True),
    (catalogs.CATALOG_DELETE, "DELETE", CATALOG, False),
    (catalogs.PRODUCTS, "GET", CATALOG + "/products", True),
    (catalogs.PRODUCTS_PUT, "PUT", CATALOG + "/products", True),
    (catalogs.PRODUCTS_DELETE, "DELETE", CATALOG + "/products", False),
    (catalogs.PRODUCT_SET, "GET", CATALOG + "/product_sets/{product_set_id}", True),
    (catalogs.PRODUCT_SET_CREATE, "POST", CATALOG + "/product_sets", False),
]


@pytest.mark.parametrize(("route", "method", "path", "repeatable"), ROWS)
def test_a_row_has_the_documented_method_and_path_and_says_what_may_be_repeated(
    route: Route[Any], method: str, path: str, repeatable: bool
) -> None:
    assert (route.method, route.path, route.repeatable) == (method, path, repeatable)
    assert route.section


def test_every_row_is_tested_here() -> None:
    modules = (ads, catalogs, creatives, oauth, platform)
    declared = [each for module in modules for each in vars(module).values() if isinstance(each, Route)]
    assert {id(route) for route in declared} == {id(route) for route, *_ in ROWS}


def test_uploads_are_bounded_as_documented() -> None:
    assert ads.CUSTOM_AUDIENCE_USERS.max_body_bytes == 5_000_000
    limit = ads.CUSTOM_AUDIENCE_USERS.rate_limit
    assert limit is not None
    assert (limit.requests, limit.window_seconds, limit.per) == (1_500, 60.0, ("account_id",))


def key(target: Target[Any], **query: Any) -> str:
    return target.limit_key(target.route.limit(query))


def test_requests_of_one_account_share_a_documented_limit_whatever_the_audience() -> None:
    one = ads.CUSTOM_AUDIENCE_USERS.at(account_id="a", custom_audience_id="1")
    same = ads.CUSTOM_AUDIENCE_USERS.at(account_id="a", custom_audience_id="2")
    other = ads.CUSTOM_AUDIENCE_USERS.at(account_id="b", custom_audience_id="1")
    assert key(one) == key(same) == "custom_audience_uploads/a"
    assert key(other) == "custom_audience_uploads/b"


def test_lists_are_counted_apart_from_audiences() -> None:
    assert key(ads.DO_NOT_REACH_USERS.at(account_id="a", do_not_reach_list_id="1")) == "do_not_reach_uploads/a"


def test_a_limit_that_is_not_documented_is_assumed_by_endpoint_and_account() -> None:
    target = ads.DO_NOT_REACH_LIST_DELETE.at(account_id="a", do_not_reach_list_id="1")
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
    assert ads.CUSTOM_AUDIENCE_USERS.limit(query) == ads.CUSTOM_AUDIENCE_USERS.rate_limit


def test_the_platform_has_no_limit_for_total_counts() -> None:
    assert platform.POSTS.limit({"with_total_count": True}) is None


def test_an_id_that_is_a_number_makes_the_same_key_and_path() -> None:
    number: Any = 7
    route = Route("GET", ADS, "/12/{account_id}", dict, rate_limit=RateLimit("x", 1, 1.0, per=("account_id",)))
    assert key(route.at(account_id=number)) == "x/7"
    assert route.at(account_id=number).path({}) == "/12/7"


def test_the_versions_that_can_be_others_are_those_of_the_rows() -> None:
    declared = {route.path.split("/")[1] for route, *_ in ROWS if route.family.host != "base_url"}
    assert declared == set(ADS_VERSIONS)


def test_a_version_of_the_advertising_api_can_be_another_one() -> None:
    versions = {"12": "13", "5": "6"}
    assert ads.ACCOUNT.at(account_id="12").path({}, versions) == "/13/accounts/12"
    permissions = ads.AUDIENCE_PERMISSIONS.at(account_id="a", tailored_audience_id="t")
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
