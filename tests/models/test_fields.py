"""Field selection as query parameters."""

from socialapi.models.fields import Fields
from socialapi.wire.encoding import query_string


def test_each_kind_of_object_has_its_parameter_and_what_selects_nothing_is_left_out() -> None:
    fields = Fields(
        post=["created_at", "author_id"], user=["verified"], media=["variants"], expansions=["attachments.media_keys"]
    )
    assert query_string(fields.parameters()) == (
        "tweet.fields=created_at%2Cauthor_id&expansions=attachments.media_keys&media.fields=variants"
        "&user.fields=verified"
    )
    assert Fields().parameters() == {}


def test_names_that_are_not_known_are_sent_as_they_are() -> None:
    assert Fields(post=["brand_new"], poll=["options"], place=["country"]).parameters() == {
        "tweet.fields": ("brand_new",),
        "poll.fields": ("options",),
        "place.fields": ("country",),
    }


def test_a_text_is_a_comma_separated_list() -> None:
    assert Fields(post="id, text").parameters() == {"tweet.fields": ("id", "text")}
