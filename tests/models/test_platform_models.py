"""Posts, users and media with every documented field, with none, and with what is not known yet."""

import copy
import datetime
from typing import Any

import attrs
import pytest

from socialapi.errors import DecodeError
from socialapi.models.includes import Includes
from socialapi.models.pages import Page
from socialapi.models.posts import Media, Post, ReferencedPost
from socialapi.models.users import User
from socialapi.wire.decode import structure
from socialapi.wire.paging import read_page
from tests.support.comparing import assert_holds

POST: dict[str, Any] = {
    "id": "1",
    "text": "Grüße 🌊",
    "attachments": {"media_keys": ["3_1", "3_2"], "poll_ids": ["9"]},
    "author_id": "7",
    "conversation_id": "1",
    "created_at": "2026-06-03T12:00:00.250Z",
    "community_id": "17",
    "context_annotations": [
        {"domain": {"id": "47", "name": "Product", "description": "Things"}, "entity": {"id": "1", "name": "Rope"}}
    ],
    "entities": {
        "urls": [
            {
                "start": 0,
                "end": 5,
                "url": "https://a.example",
                "expanded_url": "https://a.example/long",
                "display_url": "a.example/long",
                "status": 200,
                "title": "A",
                "description": "About A",
                "unwound_url": "https://a.example/longer",
                "images": [{"url": "https://a.example/1.jpg", "width": 150, "height": 150}],
            }
        ],
        "mentions": [{"start": 6, "end": 10, "username": "ada", "id": "8"}],
        "hashtags": [{"start": 11, "end": 15, "tag": "hut"}],
        "annotations": [
            {"start": 16, "end": 20, "type": "Place", "normalized_text": "Bled", "probability": 0.75},
            {"start": 16, "end": 20, "probability": 1},
        ],
    },
    "in_reply_to_user_id": "8",
    "lang": "de",
    "paid_partnership": True,
    "possibly_sensitive": False,
    "public_metrics": {
        "retweet_count": 1,
        "reply_count": 2,
        "like_count": 3,
        "quote_count": 4,
        "impression_count": 5_000_000_000,
    },
    "referenced_tweets": [{"type": "replied_to", "id": "2"}],
    "edit_controls": {"edits_remaining": 4, "is_edit_eligible": True, "editable_until": "2026-06-03T13:00:00.250Z"},
    "edit_history_tweet_ids": ["1"],
}
USER: dict[str, Any] = {
    "id": "7",
    "name": "Ada",
    "username": "ada",
    "confirmed_email": "ada@mail.example",
    "created_at": "2010-01-01T00:00:00.000Z",
    "verified": True,
    "verified_type": "business",
    "location": "Lofoten",
    "description": "Huts",
    "pinned_tweet_id": "1",
    "protected": False,
    "url": "https://a.example",
    "profile_image_url": "https://a.example/p.jpg",
    "entities": {
        "url": {"urls": [{"start": 0, "end": 5, "url": "https://a.example"}]},
        "description": {"hashtags": [{"start": 0, "end": 4, "tag": "hut"}]},
    },
    "subscription_type": "Premium",
    "connection_status": ["following", "followed_by"],
    "affiliation": {"user_id": ["8", "9"]},
    "public_metrics": {"followers_count": 1, "following_count": 2, "tweet_count": 3, "listed_count": 4},
}
MEDIA: dict[str, Any] = {
    "media_key": "13_1",
    "type": "video",
    "duration_ms": 90_000,
    "public_metrics": {"view_count": 7},
    "variants": [{"url": "https://a.example/v.mp4", "content_type": "video/mp4", "bit_rate": 2_176_000}],
}
FULL = [(Post, POST), (User, USER), (Media, MEDIA)]


def with_strangers(data: Any) -> Any:
    """An unknown field in every object."""
    if isinstance(data, dict):
        return {**{name: with_strangers(value) for name, value in data.items()}, "brand_new": {"a": [1, None]}}
    return [with_strangers(each) for each in data] if isinstance(data, list) else data


@pytest.mark.parametrize(("model", "data"), FULL)
def test_every_documented_field_is_read_and_has_a_place_of_its_own(model: Any, data: dict[str, Any]) -> None:
    found = structure(data, model)
    assert_holds(found, data)
    assert found.extra == {}
    own = {field.name for field in attrs.fields(model) if field.init and field.name != "extra"}
    assert own == data.keys(), "the example has every field"


@pytest.mark.parametrize(("model", "data"), FULL)
def test_unknown_fields_survive_at_every_depth(model: Any, data: dict[str, Any]) -> None:
    strange = with_strangers(data)
    found = structure(strange, model)
    assert_holds(found, strange)
    assert found.extra == {"brand_new": {"a": [1, None]}}


@pytest.mark.parametrize(("model", "data"), FULL)
def test_a_field_that_is_null_is_as_good_as_left_out(model: Any, data: dict[str, Any]) -> None:
    key = "media_key" if model is Media else "id"
    nothing = structure({key: "1"}, model)
    assert structure(dict.fromkeys(data) | {key: "1"}, model) == nothing
    values = {field.name: getattr(nothing, field.name) for field in attrs.fields(model)}
    assert {name for name, value in values.items() if value not in (None, (), {})} == {key}


def test_values_are_of_the_types_that_are_documented() -> None:
    post, user = structure(POST, Post), structure(USER, User)
    assert post.created_at == datetime.datetime(2026, 6, 3, 12, 0, 0, 250_000, tzinfo=datetime.UTC)
    assert user.affiliation.user_id == ("8", "9")
    assert post.entities.annotations[1].probability == 1
    assert hash(post.attachments.media_keys)


def test_values_of_enumerations_that_are_not_known_survive() -> None:
    assert structure({"type": "reimagined", "id": "2"}, ReferencedPost).type == "reimagined"
    assert structure({"media_key": "1", "type": "hologram"}, Media).type == "hologram"
    assert structure({"id": "7", "connection_status": ["befriended"]}, User).connection_status == ("befriended",)


@pytest.mark.parametrize(
    ("model", "data", "path"),
    [
        (Post, {"text": "x"}, "id"),
        (Post, {"id": True}, "id"),
        (Post, {"id": 2.0**53}, "id"),
        (Post, {"id": 1.5}, "id"),
        (Post, {"id": "1", "created_at": "yesterday"}, "created_at"),
        (Post, {"id": "1", "created_at": 5}, "created_at"),
        (Post, {"id": "1", "entities": {"urls": [{"start": 0}]}}, "entities.urls[0].end"),
        (Post, {"id": "1", "public_metrics": {"like_count": "many"}}, "public_metrics.like_count"),
        (Post, {"id": "1", "paid_partnership": 1}, "paid_partnership"),
        (Post, {"id": "1", "referenced_tweets": {"type": "quoted"}}, "referenced_tweets[0].id"),
        (User, {"id": "7", "affiliation": {"user_id": {}}}, "affiliation.user_id[0]"),
        (User, {"id": "7", "connection_status": [True]}, "connection_status[0]"),
        (Media, {"type": "photo"}, "media_key"),
        (Media, {"media_key": "1", "variants": [{}, 5]}, "variants[1]"),
    ],
)
def test_a_value_of_another_type_is_named_and_not_quoted(model: Any, data: Any, path: str) -> None:
    with pytest.raises(DecodeError) as caught:
        structure(data, model)
    assert caught.value.path == path
    assert "yesterday" not in str(caught.value)


def test_what_is_included_is_joined_however_often_it_is_asked_for() -> None:
    body = {
        "data": [POST, {"id": "5", "text": "nobody's"}],
        "includes": {"users": [USER], "media": [MEDIA | {"media_key": "3_2"}], "tweets": [{"id": "2", "text": "two"}]},
    }
    page: Page[Post] = read_page(Page[Post], copy.deepcopy(body))
    post, bare = page.data
    for _ in range(2):
        assert page.includes.author(post) is page.includes.users[0]
        assert page.includes.media(post) == page.includes.all_media
        assert page.includes.referenced(post) == page.includes.tweets
        assert page.includes.author(bare) is None
        assert page.includes.media(bare) == ()
        assert page.includes.referenced(bare) == ()
    again = read_page(Page[Post], body)
    assert again.includes == page.includes, "what was looked up before makes no difference"
    assert Includes().author(post) is None
