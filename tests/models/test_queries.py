"""Field selection as query parameters."""

from typing import Any, get_args

import pytest

from socialapi.errors import InvalidInput
from socialapi.models.queries import Expansion, Fields, MediaField, PostField, UserField, selected_by
from socialapi.wire.encode import query_string


def test_each_kind_of_object_has_its_parameter_and_what_selects_nothing_is_left_out() -> None:
    fields = Fields(post=["created_at", "author_id"], user=["verified"], media=["variants"], expansions=["author_id"])
    assert query_string(fields.parameters()) == (
        "tweet.fields=created_at%2Cauthor_id&expansions=author_id&media.fields=variants&user.fields=verified"
    )
    assert Fields().parameters() == {}


def test_names_that_are_not_known_are_sent_as_they_are() -> None:
    assert Fields(post=["brand_new"], poll=["options"], place=["country"]).parameters() == {
        "tweet.fields": ("brand_new",),
        "poll.fields": ("options",),
        "place.fields": ("country",),
    }


@pytest.mark.parametrize("names", [("lang", "id"), ["lang", "id"], iter(["lang", "id"]), {"lang": 1, "id": 2}.keys()])
def test_any_iterable_of_names_is_a_list(names: Any) -> None:
    fields = Fields(post=names)
    assert fields.parameters() == fields.parameters() == {"tweet.fields": ("lang", "id")}


# What an expansion brings along


@pytest.mark.parametrize(
    ("expansion", "joined"),
    [
        ("author_id", {"tweet.fields": ("author_id",)}),
        ("attachments.media_keys", {"tweet.fields": ("attachments",)}),
        ("attachments.poll_ids", {"tweet.fields": ("attachments",)}),
        ("entities.mentions.username", {"tweet.fields": ("entities",)}),
        ("geo.place_id", {"tweet.fields": ("geo",)}),
        ("in_reply_to_user_id", {"tweet.fields": ("in_reply_to_user_id",)}),
        ("pinned_tweet_id", {"user.fields": ("pinned_tweet_id",)}),
        ("referenced_tweets.id", {"tweet.fields": ("referenced_tweets",)}),
        ("referenced_tweets.id.author_id", {"tweet.fields": ("referenced_tweets", "author_id")}),
    ],
)
def test_an_expansion_also_asks_for_the_field_that_joins_it(expansion: str, joined: dict[str, Any]) -> None:
    assert Fields(expansions=expansion).parameters() == {"expansions": (expansion,), **joined}


def test_every_known_expansion_brings_known_fields_along() -> None:
    known = {"tweet.fields": get_args(PostField), "user.fields": get_args(UserField)}
    for expansion in get_args(Expansion):
        joined = Fields(expansions=[expansion]).parameters()
        del joined["expansions"]
        assert joined
        assert all(name in known[parameter] for parameter, names in joined.items() for name in names)


def test_a_field_that_was_chosen_is_asked_for_once() -> None:
    fields = Fields(post=["lang", "author_id"], expansions=["author_id", "referenced_tweets.id.author_id"])
    assert fields.parameters()["tweet.fields"] == ("lang", "author_id", "referenced_tweets")


def test_an_expansion_that_is_not_known_brings_nothing_along() -> None:
    assert Fields(expansions=["brand_new.id"]).parameters() == {"expansions": ("brand_new.id",)}


# Names that are nearly known


@pytest.mark.parametrize(
    ("kind", "name", "meant"),
    [
        ("post", "authorid", "author_id"),
        ("post", "auther_id", "author_id"),
        ("post", "created-at", "created_at"),
        ("post", "createdAt", "created_at"),
        ("post", "LANG", "lang"),
        ("post", "lnag", "lang"),
        ("post", "possibly_sensitve", "possibly_sensitive"),
        ("post", "reffrenced_tweet", "referenced_tweets"),
        ("user", "user_name", "username"),
        ("media", "media_keys", "media_key"),
        ("expansions", "author-id", "author_id"),
        ("expansions", "attachment.media_keys", "attachments.media_keys"),
    ],
)
def test_a_name_that_is_nearly_known_is_refused_with_the_one_that_is_meant(kind: str, name: str, meant: str) -> None:
    given: Any = {kind: [name]}
    with pytest.raises(InvalidInput, match=rf"Fields\.{kind} has no name '{name}': did you mean '{meant}'\?"):
        Fields(**given)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("post", "non_public_metrics"),
        ("post", "organic_metrics"),
        ("post", "promoted_metrics"),
        ("post", "source"),
        ("post", "language"),
        ("user", "profile_banner_url"),
        ("user", "subscription"),
        ("user", "most_recent_tweet_id"),
        ("media", "url"),
        ("media", "alt_text"),
        ("expansions", "author_screen_name"),
        ("expansions", "referenced_tweets.id.attachments.media_keys"),
        ("poll", "optiones"),
        ("post", "a" * 10_000),
    ],
)
def test_a_name_that_is_merely_like_a_known_one_is_sent(kind: str, name: str) -> None:
    given: Any = {kind: [name]}
    assert name in next(iter(Fields(**given).parameters().values()))


@pytest.mark.parametrize(
    ("kind", "listed"), [("post", PostField), ("user", UserField), ("media", MediaField), ("expansions", Expansion)]
)
def test_no_known_name_is_taken_for_another(kind: str, listed: Any) -> None:
    given: Any = {kind: get_args(listed)}
    assert Fields(**given).parameters()


# What is no list of names


@pytest.mark.parametrize("given", [5, 1.5, True, None, b"lang", object(), {"lang": 1}, ["lang", 5], [["lang"]]])
@pytest.mark.parametrize("kind", ["post", "user", "media", "poll", "place", "expansions"])
def test_anything_else_is_refused_by_name(kind: str, given: Any) -> None:
    arguments: Any = {kind: given}
    with pytest.raises(InvalidInput, match=rf"^Fields\.{kind} must"):
        Fields(**arguments)


@pytest.mark.parametrize("given", [["lang"], "lang", 5, {"post": ["lang"]}])
def test_what_is_given_as_fields_is_fields(given: Any) -> None:
    with pytest.raises(InvalidInput, match=r"fields must be Fields\(…\)"):
        selected_by(given)
