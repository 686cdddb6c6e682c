"""The rules of platform requests at their edges, with the literal values of the documentation."""

import datetime
import warnings
from typing import Any

import pytest

from socialapi.models.events import current_event_type
from socialapi.models.oauth import AccessTokenRequest, AuthorizeQuery, OAuth2TokenRequest
from socialapi.models.posts import PostDraft
from socialapi.models.queries import NewsSearch
from socialapi.models.streams import RulesChange
from socialapi.models.validation import broken_rules
from socialapi.models.webhooks import WebhookDraft

NOW = datetime.datetime(2026, 6, 1, tzinfo=datetime.UTC)


def broken(declared: Any, data: Any) -> list[str]:
    return [str(rule) for rule in broken_rules(declared, data, now=NOW)]


def test_a_post_has_at_most_25000_characters() -> None:
    assert broken(PostDraft, {"text": "x" * 25_000}) == []
    assert broken(PostDraft, {"text": "x" * 25_001}) == ["text: must have at most 25,000 characters"]


def test_a_draft_passes_on_what_it_does_not_know() -> None:
    assert broken(PostDraft, {"text": "x", "brand_new": {"a": 1}}) == []
    assert broken(PostDraft, {"reply": {"in_reply_to_tweet_id": 1}}) == ["reply.in_reply_to_tweet_id: must be a string"]


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "https://example.com/",
        "https://a.example.com/hook/x?y=1",
        "https://example.com?x=:1",
        "https://[2606:4700::1]/in",
    ],
)
def test_a_webhook_url_is_https_without_a_port(url: str) -> None:
    assert broken(WebhookDraft, {"url": url}) == []


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com",
        "https://example.com:443/",
        "https://example.com:8443",
        "https://[2606:4700::1]:443/",
        "https://2606:4700::1/",
        "https://[hook]/",
        "https://user@example.com/",
        "https://",
        "https:///x",
        "https://exa mple.com",
        "ftp://example.com",
        "example.com",
        "",
    ],
)
def test_another_webhook_url_is_refused(url: str) -> None:
    assert broken(WebhookDraft, {"url": url}) == ["url: must be a public https URL without a port number"]


def test_a_rule_has_1_to_2048_characters() -> None:
    assert broken(RulesChange, {"add": [{"value": "x" * 2_048, "tag": "t"}]}) == []
    assert broken(RulesChange, {"add": [{"value": "x" * 2_049}, {"value": ""}]}) == [
        "add[0].value: must have at most 2,048 characters",
        "add[1].value: must have at least 1 character",
    ]
    assert broken(RulesChange, {"delete": {"ids": []}}) == ["delete.ids: must have at least 1 item"]


def test_parameters_that_are_not_documented_pass_where_the_endpoint_is_not() -> None:
    assert broken(NewsSearch, {"query": "x", "max_age_hours": "24"}) == []


def test_the_verifier_of_the_third_step_is_mandatory() -> None:
    assert broken(AccessTokenRequest, {"oauth_token": "t"}) == ["oauth_verifier: is required"]
    assert broken(AccessTokenRequest, {"oauth_token": "t", "oauth_verifier": ""}) == [
        "oauth_verifier: must have at least 1 character"
    ]


def test_no_callback_is_sent_to_the_authorize_page() -> None:
    assert broken(AuthorizeQuery, {"oauth_token": "t", "force_login": True, "screen_name": "ada"}) == []
    assert broken(AuthorizeQuery, {"oauth_token": "t", "oauth_callback": "https://x"}) == [
        "oauth_callback: is not a field of this object"
    ]


def test_each_grant_has_its_own_parameters() -> None:
    assert broken(OAuth2TokenRequest, {"grant_type": "refresh_token", "client_id": "c"}) == [
        "refresh_token: is required for this grant_type"
    ]
    code = {"grant_type": "authorization_code", "client_id": "c", "code": "x", "redirect_uri": "https://x"}
    assert broken(OAuth2TokenRequest, code) == ["code_verifier: is required for this grant_type"]
    assert broken(OAuth2TokenRequest, code | {"code_verifier": "v" * 43}) == []
    assert broken(OAuth2TokenRequest, code | {"code_verifier": "v" * 42}) != []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ProfileBioUpdate", "profile.update.bio"),
        ("ProfilePictureUpdate", "profile.update.profile_picture"),
        ("ProfileBannerUpdate", "profile.update.banner_picture"),
        ("ProfileGeoUpdate", "profile.update.geo"),
        ("ProfileUrlUpdate", "profile.update.url"),
    ],
)
def test_a_deprecated_event_type_is_replaced_with_a_warning(old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"{old} is deprecated since 2026-03-18: use {new}"):
        assert current_event_type(old) == new


def test_other_event_types_pass_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert current_event_type("post.create") == "post.create"
        assert current_event_type("something.else") == "something.else"
