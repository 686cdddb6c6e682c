"""The long timeline of the first user: posts that are generated when they are read, always the
same.
"""

from typing import Any, Final

from socialapi.emulator.platform.new_posts import post_fields
from socialapi.emulator.platform.seed_users import ADA, MARCO
from socialapi.emulator.platform.state import PostRecord, id_at
from socialapi.emulator.state import State, User

_START_MS: Final = 1_672_646_400_000  # 2023-01-02
_STEP_MS: Final = 3_100_000  # about 52 minutes: 20,000 posts in two years

_PRODUCTS: Final = (
    "Ridgeline jacket", "Tarn 40 rucksack", "Fell gaiters", "Cairn lantern", "Moraine boots", "Birch mug",
    "Drift sleeping bag", "Scree poles", "Halyard rope", "Lichen beanie", "Col tent",
)  # fmt: skip
_COLOURS: Final = ("moss", "slate", "rowan red", "glacier blue", "oat", "charcoal", "cloudberry")
_REMARKS: Final = (
    "Tested for a whole winter before we put our name on it.",
    "Repairs are free, as long as you have it.",
    "Lighter than last year's, and not a stitch weaker.",
    "The zip is the one you asked for.",
    "Half the packaging, all of the warmth.",
    "It dries overnight, even in a hut without a stove.",
    "Made in the workshop behind the shop.",
    "Bring it back when it is worn out: we make new ones of it.",
)
_PLACES: Final = ("Lofoten", "the Dolomites", "the Cairngorms", "Jotunheimen", "the Tatra Mountains", "Lake Bled")
_WEATHER: Final = (
    "minus nine and not a breath of wind", "fog up to the second hut", "sun from seven, storm from three",
    "fresh snow on the north side", "rain, and everybody happy", "clear enough to count the summits",
    "wind that takes the hat off you",
)  # fmt: skip
_TIPS: Final = (
    "eat before you are hungry, drink before you are thirsty.",
    "the map weighs less than the detour.",
    "put the dry socks where you find them in the dark.",
    "turn round at the time you said you would.",
    "tell somebody which way you go.",
    "wax the seams in autumn, not in the car park.",
    "the last hour of light is for the tent, not for the view.",
)
_ANSWERS: Final = (
    "Thank you for asking.",
    "Yes, in every size.",
    "From Thursday on.",
    "We asked the workshop for you.",
)
_TAGS: Final = ("OutThere", "MadeToLast", "WinterIsFine", "HutLife", "TrailTip")
_NAMES: Final = {ADA: "ada_lindqvist", MARCO: "marco_ferri"}

_DOMAIN: Final = {"id": "47", "name": "Product", "description": "Things that are made and sold"}


class SeedTimeline:
    """The generated posts of one user, each made from its position alone."""

    def __init__(self, state: State, author: User, count: int) -> None:
        self.author_id: str = author.id
        self._author = author
        self._state = state
        self._count = count
        self._media = sorted(state.platform.media)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> int:
        return id_at(_time_ms(index)) + index % 4096

    def record(self, post_id: int) -> PostRecord | None:
        """The post with the id, if it is one of these."""
        index = (_milliseconds_of(post_id) - _START_MS) // _STEP_MS
        if not 0 <= index < self._count or self[index] != post_id:
            return None
        at = _time_ms(index) / 1000
        fields = post_fields(self._state, self._author, str(post_id), _text(index), at)
        fields["public_metrics"] = _metrics(index)
        if index % 5 == 0:
            fields["attachments"] = {"media_keys": [self._media[index // 5 % len(self._media)]]}
        if index % 3 == 0:
            product = _chosen(_PRODUCTS, index, 1)
            entity = {"id": str(1000 + _PRODUCTS.index(product)), "name": product}
            fields["context_annotations"] = [{"domain": _DOMAIN, "entity": entity}]
        self._refer(index, fields)
        return PostRecord(id=str(post_id), author_id=self.author_id, created_at=at, fields=fields)

    def _refer(self, index: int, fields: dict[str, Any]) -> None:
        """Some posts go on with an earlier one, some quote one."""
        if index % 6 == 5 and index >= 7:
            earlier = str(self[index - 7])
            fields["referenced_tweets"] = [{"type": "replied_to", "id": earlier}]
            fields["conversation_id"], fields["in_reply_to_user_id"] = earlier, self.author_id
        elif index % 6 == 4 and index >= 9:
            fields["referenced_tweets"] = [{"type": "quoted", "id": str(self[index - 9])}]


def _text(index: int) -> str:
    product, remark = _chosen(_PRODUCTS, index, 1), _chosen(_REMARKS, index, 2)
    place, weather = _chosen(_PLACES, index, 3), _chosen(_WEATHER, index, 4)
    slug = f"{product}-{_chosen(_COLOURS, index, 5)}".lower().replace(" ", "-")
    tag, log = _chosen(_TAGS, index, 6), f"Log {index + 1}:"
    name = _chosen(tuple(_NAMES.values()), index, 7)
    return (
        f"{log} new in {_chosen(_COLOURS, index, 5)}, the {product}. {remark} https://northwind.example/shop/{slug} #{tag}",
        f"{log} a field report from {place}: {weather}.",
        f"{log} {_chosen(_TIPS, index, 8)} #TrailTip",
        f"{log} {product}. {remark} #{tag}",
        f"{log} @{name} {_chosen(_ANSWERS, index, 9)} Back in stock: {product}. {remark}",
        f"{log} morning in the shop, {place} on the wall, {weather} outside.",
    )[index % 6]


def _metrics(index: int) -> dict[str, int]:
    likes = _mixed(index, 10) % 900
    return {
        "retweet_count": likes // 7,
        "reply_count": likes // 19,
        "like_count": likes,
        "quote_count": likes // 31,
        "impression_count": likes * 41 + 600,
    }


def _time_ms(index: int) -> int:
    return _START_MS + index * _STEP_MS + _mixed(index, 0) % _STEP_MS


def _milliseconds_of(post_id: int) -> int:
    """The millisecond of an id, which `id_at` shifts."""
    return (post_id >> 22) - (id_at(0) >> 22)


def _chosen(options: tuple[str, ...], index: int, salt: int) -> str:
    return options[_mixed(index, salt) % len(options)]


def _mixed(index: int, salt: int) -> int:
    """A number that looks like chance, and is the same every time."""
    value = (index * 2_654_435_761 + salt * 40_503 + 12_345) & 0xFFFFFFFF
    value = ((value ^ value >> 15) * 2_246_822_519) & 0xFFFFFFFF
    return value ^ value >> 13
