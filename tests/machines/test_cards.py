"""Cards, polls and conversation cards, the media in them and the posts that show them, beside a
model of all.
"""

import contextlib
import datetime
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import attrs
from hypothesis import strategies as st

from socialapi import errors
from socialapi.types import App, Button, CardMedia, Details, SwipeableMedia, Website
from tests.machines.advertising import LOST_ANSWERS, PatientMachine, check_refused_here
from tests.machines.machine import Asked, check, run_machine, step
from tests.machines.worlds import Worlds

Record = dict[str, Any]

# What a card is made of (creatives and catalogs, section 4.2) -----------------------------------------------------------

WIDE_VIDEOS: Final = ("7_1874750001", "13_1874750002", "7_1874750008")
HIGH_VIDEO: Final = "7_1874750006"
IMAGES: Final = ("3_1874750003", "3_1874750004", "3_1874750007")
GIF: Final = "16_1874750005"
UPLOADS: Final = (*WIDE_VIDEOS, HIGH_VIDEO, *IMAGES, GIF)
"""Media that are in no library yet."""
AMPLIFIED: Final = WIDE_VIDEOS[1]

KINDS: Final = dict.fromkeys((*WIDE_VIDEOS, HIGH_VIDEO), "VIDEO") | dict.fromkeys(IMAGES, "IMAGE") | {GIF: "GIF"}
Goal = Literal["website", "app", "app without a store", "link without its store", "website on a button", ""]
GOALS: Final[tuple[Goal, ...]] = ("website", "website", "app", "app")
BAD_GOALS: Final[tuple[Goal, ...]] = ("app without a store", "link without its store", "website on a button", "")


@attrs.frozen
class Face:
    """What is shown at once: media and where they lead."""

    media: tuple[str, ...]
    goal: Goal

    def components(self) -> list[Any]:
        media = CardMedia(self.media[0]) if len(self.media) == 1 else SwipeableMedia(self.media)
        website = Website("https://shop.example/boots")
        goals: dict[Goal, list[Any]] = {
            "website": [Details("All boots", website)],
            "app": [
                Button("SHOP", App(country_code="DE", ios_app_store_identifier="123", ios_deep_link="shop://boots"))
            ],
            "app without a store": [Button("SHOP", App(country_code="DE"))],
            "link without its store": [
                Button("OPEN", App(country_code="DE", ios_app_store_identifier="1", android_store_deep_link="shop://"))
            ],
            "website on a button": [Button("OPEN", website)],
            "": [],
        }
        return [media, *goals[self.goal]]

    @property
    def is_good(self) -> bool:
        return self.goal in GOALS and 1 <= len(self.media) <= 6


@attrs.frozen
class Layout:
    """Components, or slides that lead to different places."""

    faces: tuple[Face, ...]
    has_slides: bool

    def arguments(self) -> dict[str, Any]:
        faces = [face.components() for face in self.faces]
        return {"slides": faces} if self.has_slides else {"components": faces[0]}

    @property
    def keys(self) -> set[str]:
        return {key for face in self.faces for key in face.media}

    @property
    def is_good(self) -> bool:
        """Whether it keeps the rules that need nothing but itself."""
        return all(face.is_good for face in self.faces)

    @property
    def is_taken(self) -> bool:
        """Whether the service takes it, if its media are there: slides have a medium and a website
        each.
        """
        is_flat = all(len(face.media) == 1 and face.goal == "website" for face in self.faces)
        return GIF not in self.keys and (is_flat or not self.has_slides)

    @property
    def card_type(self) -> str:
        """By what the enumeration of the documentation calls them."""
        kinds = {KINDS[key] for key in self.keys}
        kind = kinds.pop() if len(kinds) == 1 else "MIXED_MEDIA"
        goal = "WEBSITE" if self.faces[0].goal == "website" else "APP"
        if self.has_slides:
            return f"{kind}_MULTI_DEST_CAROUSEL_{goal}"
        if len(self.faces[0].media) == 1:
            return f"{kind}_{goal}"
        return f"{kind}_SINGLE_DEST_CAROUSEL_{goal}" if kind == "MIXED_MEDIA" else f"{kind}_CAROUSEL_{goal}"

    def shown(self) -> Record:
        made = self.arguments()
        return {
            "card_type": self.card_type,
            "components": [each.to_dict() for each in made.get("components", ())],
            "slides": [[each.to_dict() for each in face] for face in made.get("slides", ())],
        }


FACES: Final = st.builds(
    Face,
    st.lists(st.sampled_from((*UPLOADS, *IMAGES[:2], *WIDE_VIDEOS)), min_size=1, max_size=3, unique=True).map(tuple),
    st.sampled_from((*GOALS * 8, *BAD_GOALS)),
)
SLIDE: Final = st.builds(Face, st.sampled_from((*UPLOADS, *IMAGES)).map(lambda key: (key,)), st.just("website"))
LAYOUTS: Final = st.one_of(
    st.builds(lambda face: Layout((face,), has_slides=False), FACES),
    st.builds(lambda face: Layout((face,), has_slides=False), FACES),
    st.builds(lambda faces: Layout(tuple(faces), has_slides=True), st.lists(SLIDE, min_size=1, max_size=3)),
    st.builds(lambda faces: Layout(tuple(faces), has_slides=True), st.lists(FACES, min_size=1, max_size=2)),
)

# Polls and conversations (sections 4.4 and 4.5) -------------------------------------------------------------------------

ORDINALS: Final = ("second", "third", "fourth")
CHOICE: Final = st.sampled_from([None, None, "Yes", "Größe & Maß=1", "x" * 25, "x" * 26])
TEXT: Final = st.sampled_from([None, "Go", "a" * 20, "#" + "b" * 20])
CONVERSATION: Final = st.fixed_dictionaries(
    {},
    optional={
        "title": st.sampled_from(["Boots", "t" * 23, "t" * 24, None]),
        "first_cta": st.sampled_from(["#Go", "c" * 20, "c" * 21]),
        "thank_you_text": st.sampled_from(["Thanks", "t" * 24]),
        "media_key": st.sampled_from([*WIDE_VIDEOS, *WIDE_VIDEOS, HIGH_VIDEO, IMAGES[0]]),
        **{f"{ordinal}_cta": TEXT for ordinal in ORDINALS},
        **{f"{ordinal}_cta_tweet": st.sampled_from([None, "I go", "I go"]) for ordinal in ORDINALS},
    },
)
LENGTHS: Final = {"title": 23, "first_cta": 20, "thank_you_text": 23, **{f"{each}_cta": 20 for each in ORDINALS}}


def is_short(given: Mapping[str, Any]) -> bool:
    return all(len((given.get(name) or "").removeprefix("#")) <= most for name, most in LENGTHS.items())


def is_whole(card: Mapping[str, Any]) -> bool:
    """A title or a second call to action, and for each call its text."""
    calls = all(card.get(f"{each}_cta_tweet") for each in ORDINALS if card.get(f"{each}_cta"))
    return bool(calls and (card.get("title") or card.get("second_cta")))


# The machine ----------------------------------------------------------------------------------------------------------

Kind = Literal["cards", "poll_cards", "video_conversation_cards"]
POLL_IMAGES: Final = {"3_1874700001": True, "3_1874710001": False, "3_1874710002": False, "no-such": False}
"""Images of the first account: whether they are wide enough for a poll."""
USER_ID: Final = "2244994945"
LEGACY: Final = {"lc000": True, "lc003": True, "lc001": False}
"""Cards of older kinds, and whether they are image conversations."""


class Cards(PatientMachine):
    max_examples = 30
    max_steps = 40

    async def open(self) -> None:
        await super().open()
        self.rich_id, self.account_id = self.emulator.seed["account_ids"]
        self.library: dict[str, Worlds[Record | None]] = {key: Worlds[Record | None](None) for key in UPLOADS}
        self.made: dict[Kind, dict[str, Worlds[Record]]] = {
            kind: {} for kind in ("cards", "poll_cards", "video_conversation_cards")
        }
        self.legacy = {card_id: Worlds({"deleted": False}) for card_id in LEGACY}
        self.posts: dict[str, Worlds[Record]] = {}
        self.names = 0
        for key in (*WIDE_VIDEOS, *IMAGES[:2], GIF):
            await self.account.media_library.add(key, name="at first")
            self.library[key] = Worlds[Record | None]({"name": "at first", "title": None})

    @property
    def account(self) -> Any:
        return self.client.ads.account(self.account_id)

    @property
    def rich(self) -> Any:
        """The account that has media and the feature of polls with media."""
        return self.client.ads.account(self.rich_id)

    def new_name(self) -> str:
        self.names += 1
        return f"machine {self.names:04}"

    def has(self, *keys: str) -> bool:
        return all(self.library[key].only is not None for key in keys)

    # Media ------------------------------------------------------------------------------------------------------------

    async def _see_medium(self, key: str) -> None:
        seen: Record | None = None
        with contextlib.suppress(errors.NotFound):
            found = await self.look(lambda: self.account.media_library.get(key))
            seen = {"name": found.name, "title": found.title}
        self.library[key].see(lambda state: state, seen)

    @step(trouble=LOST_ANSWERS, key=st.sampled_from(UPLOADS), title=st.sampled_from([None, None, "A title", "t" * 71]))
    async def add_medium(self, key: str, title: str | None) -> None:
        name = self.new_name()
        about = {"name": name} | ({} if title is None else {"title": title})
        if self.has(key):
            return
        asked = await self.ask(self.account.media_library.add(key, **about))
        if title is not None and len(title) > 70:
            check_refused_here(asked)
        elif title is not None and KINDS[key] != "VIDEO":
            assert not asked.is_done
        else:
            self.library[key] = Worlds(*_after(asked, None, {"name": name, "title": title}))
        await self._see_medium(key)
        if key == AMPLIFIED and self.has(key):
            listed = await self.look(lambda: self.account.media.list(creative_types=["PREROLL"]).collect())
            assert len(listed) >= 1

    @step(key=st.sampled_from(UPLOADS), title=st.sampled_from([None, "Another title"]))
    async def change_medium(self, key: str, title: str | None) -> None:
        before = self.library[key].only
        name = self.new_name()
        about = {"name": name} | ({} if title is None else {"title": title})
        asked = await self.ask(self.account.media_library.update(key, **about), repeatable=True)
        if before is None or (title is not None and KINDS[key] != "VIDEO"):
            assert not asked.is_done
        else:
            self.library[key] = Worlds(*_after(asked, before, before | about))
        await self._see_medium(key)

    @step(trouble=LOST_ANSWERS, key=st.sampled_from(UPLOADS))
    async def delete_medium(self, key: str) -> None:
        before = self.library[key].only
        asked = await self.ask(self.account.media_library.delete(key))
        if before is None:
            assert not asked.is_done
        else:
            assert not isinstance(asked.error, errors.NotFound)
            assert not asked.is_done or asked.value.deleted
            self.library[key] = Worlds(*_after(asked, before, None))
        await self._see_medium(key)

    @step(kind=st.sampled_from([None, "IMAGE", "VIDEO", "GIF"]), count=st.sampled_from([1, 3, 50]))
    async def read_media(self, kind: str | None, count: int) -> None:
        query = {} if kind is None else {"media_type": kind}
        asked = await self.ask(self.account.media_library.list(count=count, **query).collect(), repeatable=True)
        if asked.is_done:
            expected = {key for key in UPLOADS if self.has(key) and kind in (None, KINDS[key])}
            assert sorted(each.media_key for each in asked.value) == sorted(expected)

    # Cards ------------------------------------------------------------------------------------------------------------

    @step(trouble=LOST_ANSWERS, layout=LAYOUTS, fault=st.sampled_from(["", "", "", "", "long name", "both"]))
    async def make_card(self, layout: Layout, fault: str) -> None:
        name = self.new_name()
        arguments = layout.arguments()
        if fault == "both":
            arguments = {"components": layout.faces[0].components(), "slides": [layout.faces[0].components()]}
        sent = name + "x" * 80 if fault == "long name" else name
        asked = await self.ask(self.account.cards.create(sent, **arguments))
        if fault or not layout.is_good:
            check_refused_here(asked)
        await self._see_new("cards", name, asked, {"name": name, **layout.shown()}, self._takes(layout) and not fault)

    @step(trouble=LOST_ANSWERS, key=st.sampled_from(IMAGES[:2]))
    async def make_simple_card(self, key: str) -> None:
        """Most cards of `make_card` are refused, so that few of them can be made twice."""
        name, layout = self.new_name(), Layout((Face((key,), "website"),), has_slides=False)
        asked = await self.ask(self.account.cards.create(name, **layout.arguments()))
        await self._see_new("cards", name, asked, {"name": name, **layout.shown()}, self._takes(layout))

    def _takes(self, layout: Layout) -> bool:
        return layout.is_good and layout.is_taken and self.has(*layout.keys)

    async def _see_new(self, kind: Kind, name: str, asked: Asked[Any], new: Record, is_taken: bool) -> None:
        """There is one more if it was made, and never two."""
        listed = await self.look(lambda: self._of(kind).list(q=name.upper(), with_deleted=True).collect())
        possible = {"yes": [1], "no": [0], "unknown": [0, 1]}[asked.executed] if is_taken else [0]
        assert len(listed) in possible, (asked, listed)
        assert is_taken or not asked.is_done
        for each in listed:
            assert each.card_uri == f"card://{each.id}"
            assert _said(each.to_dict(), new) == new
            self.made[kind][each.id] = Worlds(dict(new))
        assert not asked.is_done or asked.value.id == listed[0].id

    def _of(self, kind: Kind) -> Any:
        return getattr(self.account, kind)

    @step(index=st.integers(0, 9), layout=st.none() | LAYOUTS, is_renamed=st.booleans())
    async def change_card(self, index: int, layout: Layout | None, *, is_renamed: bool) -> None:
        if (found := self._pick("cards", index)) is None:
            return
        card_id, worlds = found
        name = self.new_name()
        arguments = ({} if layout is None else layout.arguments()) | ({"name": name} if is_renamed else {})
        asked = await self.ask(self.account.cards.update(card_id, **arguments), repeatable=True)
        if layout is not None and not layout.is_good:
            check_refused_here(asked)
        elif layout is not None and not self._takes(layout):
            assert not asked.is_done
        else:
            change = ({} if layout is None else layout.shown()) | ({"name": name} if is_renamed else {})
            worlds.change(asked.executed, lambda state: state.update(change))
            if asked.is_done:
                worlds.see(lambda state: state, _said(asked.value.to_dict(), worlds.states[0]))
        await self._see(("cards", card_id), worlds)

    async def _see(self, what: tuple[Kind, str], worlds: Worlds[Record]) -> None:
        kind, card_id = what
        found = await self.look(lambda: self._of(kind).get(card_id))
        worlds.see(lambda state: state, _said(found.to_dict(), worlds.states[0]))

    def _pick(self, kind: Kind, index: int) -> tuple[str, Worlds[Record]] | None:
        made = list(self.made[kind].items())
        return made[index % len(made)] if made else None

    @step(kind=st.sampled_from(["cards", "poll_cards", "video_conversation_cards"]), index=st.integers(0, 9))
    async def read_card(self, kind: Kind, index: int) -> None:
        found = self._pick(kind, index)
        card_id, worlds = found or ("no-such", None)
        asked = await self.ask(self._of(kind).get(card_id), repeatable=True)
        if worlds is None:
            assert not asked.is_done
        elif asked.is_done:
            worlds.see(lambda state: state, _said(asked.value.to_dict(), worlds.states[0]))
        else:
            assert not isinstance(asked.error, errors.NotFound)

    @step(
        kind=st.sampled_from(["cards", "poll_cards", "video_conversation_cards"]),
        count=st.integers(1, 3),
        is_sorted=st.booleans(),
        card_type=st.sampled_from([None, "IMAGE_WEBSITE", "VIDEO_APP"]),
    )
    async def read_cards(self, kind: Kind, count: int, *, is_sorted: bool, card_type: str | None) -> None:
        query: dict[str, Any] = {"sort_by": "name-desc"} if is_sorted else {}
        if kind == "cards" and card_type is not None:
            query["card_types"] = [card_type]
        asked = await self.ask(self._of(kind).list(count=count, **query).collect(), repeatable=True)
        if asked.is_done:
            wanted = query.get("card_types")
            records = {name: worlds.only for name, worlds in self.made[kind].items()}
            expected = [name for name, each in records.items() if wanted is None or each["card_type"] in wanted]
            if is_sorted:
                expected.sort(key=lambda name: records[name]["name"], reverse=True)
            assert [each.id for each in asked.value] == expected

    @step(trouble=LOST_ANSWERS, card_id=st.sampled_from(sorted(LEGACY)), index=st.integers(0, 9), is_new=st.booleans())
    async def delete_image_conversation(self, card_id: str, index: int, *, is_new: bool) -> None:
        """Cards of other kinds cannot be deleted."""
        if is_new and (found := self._pick("cards", index)) is not None:
            asked = await self.ask(self.account.cards.delete_image_conversation(found[0]))
            assert not asked.is_done
            await self._see(("cards", found[0]), found[1])
            return
        worlds = self.legacy[card_id]
        asked = await self.ask(self.rich.cards.delete_image_conversation(card_id))
        if not LEGACY[card_id] or worlds.only["deleted"]:
            assert not asked.is_done
            return
        assert not isinstance(asked.error, errors.NotFound)
        worlds.change(asked.executed, lambda state: state.update(deleted=True))
        card = await self.look(lambda: self.rich.cards.get(card_id, with_deleted=True))
        worlds.see(lambda state: state["deleted"], card.deleted)

    # Polls ------------------------------------------------------------------------------------------------------------

    @step(
        trouble=LOST_ANSWERS,
        minutes=st.sampled_from([5, 60, 10_080, 10_080, 4, 10_081]),
        choices=st.lists(CHOICE, min_size=2, max_size=4),
        media_key=st.sampled_from([None, None, None, IMAGES[0]]),
    )
    async def make_poll(self, minutes: int, choices: list[str | None], media_key: str | None) -> None:
        name, began = self.new_name(), self.clock.time()
        given: dict[str, Any] = _choices(choices)
        if media_key is not None:
            given["media_key"] = media_key
        asked = await self.ask(self.account.poll_cards.create(name=name, duration_in_minutes=minutes, **given))
        if not _is_poll(minutes, choices):
            check_refused_here(asked)
        # The account has no feature for media.
        is_taken = _is_poll(minutes, choices) and media_key is None
        new = {"name": name, "card_type": "TEXT_POLLS", "duration_in_minutes": minutes, **_choices(choices)}
        await self._see_new("poll_cards", name, asked, new, is_taken)
        if asked.is_done:
            assert asked.value.end_time - asked.value.start_time == datetime.timedelta(minutes=minutes)
            assert int(began) <= asked.value.start_time.timestamp() <= self.clock.time()

    @step(trouble=LOST_ANSWERS, media_key=st.sampled_from(sorted(POLL_IMAGES)))
    async def make_poll_with_an_image(self, media_key: str) -> None:
        name = self.new_name()
        asked = await self.ask(
            self.rich.poll_cards.create(
                name=name, duration_in_minutes=60, first_choice="a", second_choice="b", media_key=media_key
            )
        )
        listed = await self.look(lambda: self.rich.poll_cards.list(q=name).collect())
        possible = {"yes": [1], "no": [0], "unknown": [0, 1]}[asked.executed] if POLL_IMAGES[media_key] else [0]
        assert len(listed) in possible
        assert {each.card_type for each in listed} <= {"IMAGE_POLLS"}

    # Conversations ----------------------------------------------------------------------------------------------------

    @step(trouble=LOST_ANSWERS, given=CONVERSATION)
    async def make_conversation(self, given: dict[str, Any]) -> None:
        name = self.new_name()
        defaults = {"first_cta": "#Go", "thank_you_text": "Thanks", "media_key": WIDE_VIDEOS[0]}
        card = {"name": name, "first_cta_tweet": "I go", **defaults, **given}
        asked = await self.ask(self.account.video_conversation_cards.create(**card))
        if not (is_short(card) and is_whole(card)):
            check_refused_here(asked)
        is_taken = is_short(card) and is_whole(card) and self._is_wide(card["media_key"])
        new = {"card_type": "VIDEO_CONVERSATION", **{f"{each}_cta": None for each in ORDINALS}, "title": None, **card}
        await self._see_new("video_conversation_cards", name, asked, new, is_taken)

    def _is_wide(self, key: str) -> bool:
        return key in WIDE_VIDEOS and self.has(key)

    @step(index=st.integers(0, 9), given=CONVERSATION)
    async def change_conversation(self, index: int, given: dict[str, Any]) -> None:
        if (found := self._pick("video_conversation_cards", index)) is None:
            return
        card_id, worlds = found
        asked = await self.ask(self.account.video_conversation_cards.update(card_id, **given), repeatable=True)
        if not is_short(given):
            check_refused_here(asked)
        elif not is_whole(worlds.only | given) or ("media_key" in given and not self._is_wide(given["media_key"])):
            assert not asked.is_done
        else:
            worlds.change(asked.executed, lambda state: state.update(given))
        await self._see(("video_conversation_cards", card_id), worlds)

    # Posts ------------------------------------------------------------------------------------------------------------

    @step(
        trouble=LOST_ANSWERS,
        index=st.integers(0, 9),
        text=st.sampled_from(["New boots", "Größe & Maß = 100 %"]),
        nullcast=st.booleans(),
    )
    async def post(self, index: int, text: str, *, nullcast: bool) -> None:
        card = self._pick("cards", index)
        given: dict[str, Any] = {} if card is None else {"card_uri": f"card://{card[0]}"}
        name = self.new_name()
        given |= {"text": f"{text} {name}", "name": name, "nullcast": nullcast}
        asked = await self.ask(self.account.posts.create(as_user_id=USER_ID, **given))
        # Those with nullcast are in no timeline.
        page = await self.look(lambda: self.client.posts.by_user(USER_ID, max_results=5).first())
        made = [each for each in page.data if each.text == given["text"]]
        assert len(made) in ([0] if nullcast else {"yes": [1], "no": [0], "unknown": [0, 1]}[asked.executed])
        if asked.is_done:
            assert _said(asked.value.to_dict(), given) == given
            (found,) = (await self.look(lambda: self.client.posts.lookup([asked.value.id]))).data
            assert found.text == given["text"]
            self.posts[asked.value.id] = Worlds({"name": name})

    @step(index=st.integers(0, 9), length=st.sampled_from([12, 80, 81]))
    async def rename_post(self, index: int, length: int) -> None:
        if not self.posts:
            return
        post_id, worlds = list(self.posts.items())[index % len(self.posts)]
        name = self.new_name().ljust(length, "x")
        asked = await self.ask(self.account.posts.rename(post_id, name), repeatable=True)
        if length > 80:
            check_refused_here(asked)
            return
        worlds.change(asked.executed, lambda state: state.update(name=name))
        if asked.is_done:
            worlds.see(lambda state: state["name"], asked.value.name)

    # What must hold ---------------------------------------------------------------------------------------------------

    @check
    def there_are_as_many_as_in_the_model(self) -> None:
        for kind, made in self.made.items():
            assert len(self.emulator.state.advertising.table(self.account_id, kind).rows) == len(made)


def _said(record: Record, like: Mapping[str, Any]) -> Record:
    """The fields that were said."""
    return {name: record[name] for name in like}


def _after(asked: Asked[Any], before: Any, after: Any) -> Sequence[Any]:
    return {"yes": [after], "no": [before], "unknown": [before, after]}[asked.executed]


def _choices(choices: Sequence[str | None]) -> dict[str, str]:
    names = ("first_choice", "second_choice", "third_choice", "fourth_choice")
    return {name: choice for name, choice in zip(names, choices, strict=False) if choice is not None}


def _is_poll(minutes: int, choices: Sequence[str | None]) -> bool:
    """Five minutes to a week, two choices and then one after the other, of 25 characters."""
    said = [choice is not None for choice in choices]
    is_gapless = said == sorted(said, reverse=True) and all(said[:2])
    return 5 <= minutes <= 10_080 and is_gapless and all(len(choice or "") <= 25 for choice in choices)


def test_cards_are_those_of_the_model() -> None:
    run_machine(Cards)
