"""The rules of creatives at their edges, with the literal values of the documentation."""

import datetime
from typing import Any, Final

import pytest

from socialapi.models.cards import App, Button, CardChanges, CardDraft, CardMedia, Details, Label, Website
from socialapi.models.creatives import (
    LibraryMediaChanges,
    LibraryMediaDraft,
    PollCardDraft,
    VideoConversationCardChanges,
    VideoConversationCardDraft,
)
from socialapi.models.validation import broken_rules
from socialapi.wire.encode import json_shape

NOW: Final = datetime.datetime(2026, 6, 1, tzinfo=datetime.UTC)
Shape = dict[str, Any]


def broken(declared: Any, data: Any) -> list[str]:
    return [str(rule) for rule in broken_rules(declared, data, now=NOW)]


def at_most(field: str, most: int) -> list[str]:
    return [f"{field}: must have at most {most:,} {counted(field)}s"]


def at_least(field: str, least: int) -> list[str]:
    return [f"{field}: must have at least {least:,} {counted(field)}{'' if least == 1 else 's'}"]


def counted(field: str) -> str:
    """What is counted of a field: the items of arrays, named in the plural or as ids, and the characters of others."""
    return "item" if field.endswith(("s", "]", "_id")) else "character"


# Cards -------------------------------------------------------------------------------------------------------------

WEBSITE: Final = {"type": "WEBSITE", "url": "https://shop.example"}
APP: Final = {"type": "APP", "country_code": "US", "ios_app_store_identifier": "17"}
MEDIA: Final = {"type": "MEDIA", "media_key": "3_1"}
SWIPEABLE: Final = {"type": "SWIPEABLE_MEDIA", "media_keys": ["3_1", "3_2"]}
DETAILS: Final = {"type": "DETAILS", "title": "Boots", "destination": WEBSITE}
BUTTON: Final = {"type": "BUTTON", "label": {"type": "ENUM", "value": "SHOP"}, "destination": APP}


def card(*components: Shape, **fields: Any) -> Shape:
    return {"name": "Boots", "components": list(components), **fields}


def said(*components: Shape) -> list[str]:
    return broken(CardDraft, card(*components))


@pytest.mark.parametrize("media", [MEDIA, SWIPEABLE])
@pytest.mark.parametrize("action", [DETAILS, BUTTON])
def test_a_card_has_a_media_component_and_one_that_leads_somewhere_in_any_order(media: Shape, action: Shape) -> None:
    assert said(media, action) == []
    assert said(action, media) == []


MEDIA_MISSING: Final = "components: must have exactly one component of type MEDIA or SWIPEABLE_MEDIA"
ACTION_MISSING: Final = "components: must have exactly one component of type DETAILS or BUTTON"


@pytest.mark.parametrize(
    ("components", "says"),
    [
        ((MEDIA,), [ACTION_MISSING]),
        ((DETAILS,), [MEDIA_MISSING]),
        ((MEDIA, SWIPEABLE, DETAILS), [MEDIA_MISSING]),
        ((MEDIA, MEDIA, DETAILS), [MEDIA_MISSING]),
        ((MEDIA, DETAILS, BUTTON), [ACTION_MISSING]),
        ((), at_least("components", 1)),
    ],
)
def test_another_number_of_them_is_refused(components: tuple[Shape, ...], says: list[str]) -> None:
    assert said(*components) == says


def test_components_and_slides_exclude_each_other_and_one_is_needed() -> None:
    slides = [[MEDIA, DETAILS], [MEDIA, DETAILS]]
    assert broken(CardDraft, {"name": "Boots", "slides": slides}) == []
    (both,) = broken_rules(CardDraft, card(MEDIA, DETAILS, slides=slides), now=NOW)
    assert (str(both), both.code) == ("slides: cannot be combined with components", "EXCLUSIVE_PARAMETERS")
    (neither,) = broken_rules(CardDraft, {"name": "Boots"}, now=NOW)
    assert (str(neither), neither.code) == ("components: or slides is required", "MISSING_PARAMETER")
    assert broken(CardDraft, {"name": "Boots", "slides": [[MEDIA, DETAILS], [MEDIA]]}) == [
        "slides[1]: must have exactly one component of type DETAILS or BUTTON"
    ]
    assert broken(CardDraft, {"name": "Boots", "slides": []}) == at_least("slides", 1)
    assert broken(CardDraft, {"name": "Boots", "slides": [[]]}) == at_least("slides[0]", 1)


def test_a_name_has_1_to_80_characters() -> None:
    for declared in (CardDraft, CardChanges):
        assert broken(declared, card(MEDIA, DETAILS, name="x" * 80)) == []
        assert broken(declared, card(MEDIA, DETAILS, name="x" * 81)) == at_most("name", 80)
        assert broken(declared, card(MEDIA, DETAILS, name="")) == at_least("name", 1)
    assert broken(CardDraft, {"components": [MEDIA, DETAILS]}) == ["name: is required"]


def test_a_change_may_leave_anything_out() -> None:
    assert broken(CardChanges, {}) == []
    assert broken(CardChanges, {"name": "x"}) == []
    assert broken(CardChanges, {"components": [MEDIA]}) == [ACTION_MISSING]
    assert broken(CardChanges, {"components": [MEDIA, DETAILS], "slides": [[MEDIA, DETAILS]]}) == [
        "slides: cannot be combined with components"
    ]


def test_there_are_2_to_6_media_to_swipe_through() -> None:
    for count in (2, 6):
        assert said({**SWIPEABLE, "media_keys": ["3_1"] * count}, DETAILS) == []
    assert said({**SWIPEABLE, "media_keys": ["3_1"]}, DETAILS) == at_least("components[0].media_keys", 2)
    assert said({**SWIPEABLE, "media_keys": ["3_1"] * 7}, DETAILS) == at_most("components[0].media_keys", 6)


def test_details_lead_to_a_website_and_a_button_to_an_app() -> None:
    assert said(MEDIA, {**DETAILS, "destination": APP}) == [
        "components[1].destination.type: must be WEBSITE for DETAILS"
    ]
    assert said(MEDIA, {**BUTTON, "destination": WEBSITE}) == ["components[1].destination.type: must be APP for BUTTON"]


@pytest.mark.parametrize(
    ("component", "says"),
    [
        ({"type": "MEDIA"}, ["media_key: is required"]),
        ({"type": "SWIPEABLE_MEDIA"}, ["media_keys: is required"]),
        ({"type": "DETAILS"}, ["title: is required", "destination: is required"]),
        ({"type": "BUTTON"}, ["label: is required", "destination: is required"]),
        ({"type": "VIDEO"}, ["type: must be one of MEDIA, SWIPEABLE_MEDIA, DETAILS, BUTTON"]),
        ({}, ["type: is required"]),
        ({**DETAILS, "destination": {"type": "WEBSITE"}}, ["destination.url: is required"]),
        ({**DETAILS, "destination": {"type": "PAGE"}}, ["destination.type: must be one of WEBSITE, APP"]),
        ({**DETAILS, "destination": {}}, ["destination.type: is required"]),
        ({**BUTTON, "label": {"type": "TEXT", "value": "SHOP"}}, ["label.type: must be ENUM"]),
    ],
)
def test_what_a_component_lacks_is_said_with_its_place(component: Shape, says: list[str]) -> None:
    assert said(component)[: len(says)] == [f"components[0].{each}" for each in says]


def test_every_label_is_accepted_and_no_other() -> None:
    labels = ("BOOK", "CONNECT", "INSTALL", "OPEN", "ORDER", "PLAY", "SHOP")
    for label in labels:
        assert said(MEDIA, {**BUTTON, "label": {"type": "ENUM", "value": label}}) == []
    assert said(MEDIA, {**BUTTON, "label": {"type": "ENUM", "value": "BUY"}}) == [
        f"components[1].label.value: must be one of {', '.join(labels)}"
    ]


@pytest.mark.parametrize(
    ("app", "says"),
    [
        ({"android_store_app_id": "a.b"}, None),
        ({"ios_app_store_identifier": "17"}, None),
        ({"android_store_app_id": "a.b", "ios_app_store_identifier": "17", "android_store_deep_link": "a://",
          "ios_deep_link": "i://"}, None),
        ({}, "android_store_app_id: or ios_app_store_identifier is required"),
        ({"ios_app_store_identifier": "17", "android_store_deep_link": "a://"},
         "android_store_deep_link: requires android_store_app_id"),
        ({"android_store_app_id": "a.b", "ios_deep_link": "i://"}, "ios_deep_link: requires ios_app_store_identifier"),
        ({"android_store_app_id": "a.b", "country_code": "USA"}, "country_code: must be an ISO 3166-1 alpha-2 country code"),
        ({"android_store_app_id": "a.b", "country_code": "XX"}, "country_code: must be an ISO 3166-1 alpha-2 country code"),
        ({"android_store_app_id": "a.b", "country_code": "UK"}, "country_code: must be an ISO 3166-1 alpha-2 country code"),
        ({"android_store_app_id": "a.b", "country_code": None}, "country_code: is required"),
    ],
)  # fmt: skip
def test_an_app_is_in_one_store_or_both(app: Shape, says: str | None) -> None:
    whole = {name: value for name, value in {"type": "APP", "country_code": "US", **app}.items() if value is not None}
    found = said(MEDIA, {**BUTTON, "destination": whole})
    prefix = "components[1].destination."
    if says is None:
        assert found == []
    else:
        assert len(found) == 1
        assert found[0].startswith(prefix + says[: says.index(":")])


def test_components_are_built_as_the_service_takes_them() -> None:
    assert json_shape(CardMedia("3_1")) == MEDIA
    assert json_shape(Details("Boots", Website("https://shop.example"))) == DETAILS
    assert json_shape(Button("SHOP", App(country_code="US", ios_app_store_identifier="17"))) == BUTTON
    assert Button(Label("SHOP"), App(country_code="US")).label == Button("SHOP", App(country_code="US")).label


# Media library -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "most"), [("name", 100), ("file_name", 255), ("title", 70), ("description", 200)])
def test_what_is_said_about_media_has_a_longest(name: str, most: int) -> None:
    for declared, more in ((LibraryMediaDraft, {"media_key": "3_1"}), (LibraryMediaChanges, {})):
        assert broken(declared, {**more, name: "x" * most}) == []
        assert broken(declared, {**more, name: "x" * (most + 1)}) == at_most(name, most)
        assert broken(declared, {**more, name: None}) == []
    assert broken(LibraryMediaDraft, {name: "x"}) == ["media_key: is required"]


# Poll cards --------------------------------------------------------------------------------------------------------

POLL: Final = {"name": "Boots", "duration_in_minutes": 5, "first_choice": "Yes", "second_choice": "No"}


@pytest.mark.parametrize("name", ["first_choice", "second_choice", "third_choice", "fourth_choice"])
def test_a_choice_has_up_to_25_characters(name: str) -> None:
    whole = {**POLL, "third_choice": "Maybe", "fourth_choice": "Never", "media_key": "3_1"}
    assert broken(PollCardDraft, {**whole, name: "x" * 25}) == []
    assert broken(PollCardDraft, {**whole, name: "x" * 26}) == at_most(name, 25)
    assert broken(PollCardDraft, {**whole, name: ""}) == at_least(name, 1)


def test_choices_come_one_after_another() -> None:
    assert broken(PollCardDraft, {**POLL, "third_choice": "Maybe"}) == []
    assert broken(PollCardDraft, {**POLL, "fourth_choice": "Never"}) == ["third_choice: is required with fourth_choice"]
    for name in POLL:
        assert broken(PollCardDraft, {key: value for key, value in POLL.items() if key != name}) == [
            f"{name}: is required"
        ]


# Video conversation cards ------------------------------------------------------------------------------------------

CONVERSATION: Final = {
    "name": "Boots",
    "media_key": "13_1",
    "first_cta": "#WetFeet",
    "first_cta_tweet": "Never again",
    "thank_you_text": "Thank you",
    "title": "Boots",
}


@pytest.mark.parametrize("declared", [VideoConversationCardDraft, VideoConversationCardChanges])
@pytest.mark.parametrize("name", ["first_cta", "second_cta", "third_cta", "fourth_cta"])
def test_a_call_to_action_has_up_to_20_characters_beside_the_hash(declared: Any, name: str) -> None:
    tweets = {f"{ordinal}_cta_tweet": "x" for ordinal in ("second", "third", "fourth")}
    for text in ("x" * 20, "#" + "x" * 20, "x", "#x"):
        assert broken(declared, {**CONVERSATION, **tweets, name: text}) == []
    for text in ("x" * 21, "#" + "x" * 21, "", "#", "##x"):
        assert broken(declared, {**CONVERSATION, **tweets, name: text}) == [
            f"{name}: must have 1 to 20 characters besides the hash"
        ]


@pytest.mark.parametrize("declared", [VideoConversationCardDraft, VideoConversationCardChanges])
@pytest.mark.parametrize("name", ["thank_you_text", "title"])
def test_thanks_and_title_have_up_to_23_characters(declared: Any, name: str) -> None:
    assert broken(declared, {**CONVERSATION, name: "x" * 23}) == []
    assert broken(declared, {**CONVERSATION, name: "x" * 24}) == at_most(name, 23)


def test_a_title_or_a_second_call_is_needed_and_each_call_with_its_text() -> None:
    untitled = {name: value for name, value in CONVERSATION.items() if name != "title"}
    assert broken(VideoConversationCardDraft, untitled) == ["title: or second_cta is required"]
    assert broken(VideoConversationCardDraft, {**untitled, "second_cta": "#Dry", "second_cta_tweet": "x"}) == []
    for ordinal in ("second", "third", "fourth"):
        assert broken(VideoConversationCardDraft, {**CONVERSATION, f"{ordinal}_cta": "#Dry"}) == [
            f"{ordinal}_cta_tweet: is required with {ordinal}_cta"
        ]
    for name in ("name", "media_key", "first_cta", "first_cta_tweet", "thank_you_text"):
        draft = {key: value for key, value in CONVERSATION.items() if key != name}
        assert broken(VideoConversationCardDraft, draft) == [f"{name}: is required"]
    assert broken(VideoConversationCardChanges, {}) == []
    assert broken(VideoConversationCardChanges, {"title": None, "third_cta": None}) == []
