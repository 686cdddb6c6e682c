"""Fills the advertising API with the seed data. Records are derived when they are first read."""

from collections.abc import Iterable, Iterator
from functools import cache, partial
from typing import Any, Final

from socialapi.emulator.advertising.state import Advertising, Load, Record, Table, entry
from socialapi.emulator.clock import timestamp
from socialapi.emulator.creatives import state as creatives
from socialapi.emulator.seed.records import contents, derived, epoch, filled, live_ids, records

_EUR: Final = 1_000_000
"""One euro, in millionths."""


def plant_advertising(advertising: Advertising, account_ids: list[str], user_ids: list[str]) -> dict[str, list[str]]:
    """Fills the tables of all accounts, and returns the ids of the first account's records, by kind."""
    first = account_ids[0]
    advertising.history.seeded = partial(_seeded, user_ids)
    advertising.business_categories = Table(_business_categories)
    advertising.curated_categories = Table(partial(records, "categories", "curated_categories"))
    # Uploads in the library, uploads in no library yet, and one upload by another user.
    kinds = ("library", "uploaded", "uploaded_by_others")
    advertising.uploads = Table(lambda: (upload for kind in kinds for upload in records("media", kind)))
    for account_id in account_ids:
        funding, both = contents("accounts")["funding"][account_id], ("campaigns", "line_items")
        advertising.plant(account_id, {kind: partial(records, kind, kind, account_id, **funding) for kind in both})
    # The many line items that come from a single entry.
    many = [each for each in live_ids("line_items", "line_items", first) if each.startswith("8z")]
    of_first: dict[str, Load] = {
        "account_apps": partial(records, "accounts", "account_apps"),
        "promoted_tweets": partial(records, "line_items", "promoted_tweets"),
        "targeting_criteria": partial(records, "line_items", "targeting_criteria", many_line_items=many),
        "line_item_curated_categories": partial(_line_item_curated_categories, many),
        creatives.LIBRARY: _library,
        creatives.ACCOUNT_MEDIA: partial(records, "media", "account_media", **_media_keys()),
        creatives.CARDS: _cards,
        creatives.POLLS: _poll_cards,
        creatives.CONVERSATIONS: _conversation_cards,
    }
    advertising.plant(first, of_first)
    return {
        "campaign_ids": list(live_ids("campaigns", "campaigns", first)),
        "line_item_ids": list(live_ids("line_items", "line_items", first)),
        "curated_category_ids": list(live_ids("categories", "curated_categories")),
        "line_item_curated_category_ids": list(_LINE_ITEM_CURATED_CATEGORY_IDS),
        "account_app_ids": list(live_ids("accounts", "account_apps")),
        "video_media_keys": list(_media_keys()["wide_videos"]),
        "uploaded_media_keys": list(live_ids("media", "uploaded")),
        "account_media_ids": list(live_ids("media", "account_media")),
        "card_ids": list(live_ids("cards", "cards")),
        "poll_card_ids": list(live_ids("cards", "poll_cards")),
        "video_conversation_card_ids": list(live_ids("cards", "video_conversation_cards")),
    }


def _business_categories() -> Iterator[Record]:
    """Yields one business category for each top-level IAB category, so no IAB category belongs to two of them."""
    for number, category in enumerate(records("categories", "business_categories"), 1):
        subcategories = range(1, category.pop("subcategories") + 1)
        yield category | {"iab_categories": [f"IAB{number}", *(f"IAB{number}-{each}" for each in subcategories)]}


_LINE_ITEM_CURATED_CATEGORY_IDS: Final = tuple(f"c{n:05x}" for n in range(10_000))


def _line_item_curated_categories(line_item_ids: list[str]) -> Iterator[Record]:
    """Yields forty records for each of 250 line items, with three at a time created at the same moment. After every 400
    records, yields a deleted one.
    """
    began = epoch("2024-09-02T08:00:00Z")
    for n, record_id in enumerate(_LINE_ITEM_CURATED_CATEGORY_IDS):
        item, each = divmod(n, 40)
        if n % 3 == 0:
            made = timestamp(began + n * 61)
        record = {
            "id": record_id,
            "line_item_id": line_item_ids[item],
            # 29 and 1,200 have no common factor, so no line item has the same category twice.
            "curated_category_id": f"cc{100 + (item * 7 + each * 29) % 1_200:04x}",
            "created_at": made,
            "updated_at": made,
            "deleted": False,
        }
        yield record
        if n % 400 == 399:
            yield record | {"id": f"d{n:05x}", "curated_category_id": "cc0000", "deleted": True}


def _seeded(user_ids: list[str], entity_type: str, entity: Record) -> Iterable[Record]:
    """Returns the changes of an entity before the start, oldest first."""
    if entity["id"] == contents("campaigns")["budget_changes"]["campaign_id"]:
        return _budget_changes(user_ids, entity)
    return [entry(entity_type, entity, "CREATE", at=entity["created_at"], by=(user_ids[0], "WEB"))]


def _budget_changes(user_ids: list[str], campaign: Record) -> Iterator[Record]:
    """Yields the creation and many changes of the daily budget, every fifth by the second user."""
    described = contents("campaigns")["budget_changes"]
    total, start = described["days"] * described["changes_a_day"], epoch(described["first_day"])
    snapshot, last = dict(campaign), campaign["daily_budget_amount_local_micro"]
    for number in range(total):
        day, of_day = divmod(number, described["changes_a_day"])
        at = timestamp(start + day * 86_400 + of_day * described["seconds_apart"])
        before = snapshot["daily_budget_amount_local_micro"]
        budget = last if number == total - 1 else (100 + number % 40) * _EUR
        snapshot = snapshot | {"daily_budget_amount_local_micro": budget, "updated_at": at}
        changes = {"daily_budget_amount_local_micro": {"before": before, "after": budget}} if number else {}
        by = (user_ids[1], "API") if number % 5 == 4 else (user_ids[0], "WEB")
        yield entry("CAMPAIGN", snapshot, "UPDATE" if number else "CREATE", at=at, by=by, changes=changes)


@cache
def _media_keys() -> dict[str, tuple[str, ...]]:
    """Returns lists of media keys that other records use in turn."""
    library = list(records("media", "library"))
    images = tuple(each["id"] for each in library if each["media_type"] == "IMAGE")
    wide_videos = tuple(
        each["id"] for each in library if each["media_type"] == "VIDEO" and each["aspect_ratio"] == "16:9"
    )
    return {
        "images": images,
        "wide_videos": wide_videos,
        "wide_video_ids": tuple(key.partition("_")[2] for key in wide_videos),
        "platform_images": images[:8],  # media of posts come first
        "platform_videos": wide_videos[:3],
    }


def _library() -> Iterator[Record]:
    """Yields the library media of the first account. Videos have a title, and some have a custom poster."""
    file, keys = contents("media"), _media_keys()
    for n, upload in enumerate(records("media", "library")):
        is_video = upload["media_type"] == "VIDEO"
        names = {
            "subject": file["subjects"][n % len(file["subjects"])],
            "extension": upload["media_url"].rpartition(".")[2],
            "first_frame": creatives.first_frame(upload),
        }
        fields = file["library_record"] | (file["video_record"] if is_video else {})
        yield {
            "id": upload["id"],
            **{name: upload[name] for name in creatives.FACTS},
            **filled(fields, n=n, number=n + 1, **names, **keys),
            "tweeted": upload["id"] in (*keys["platform_images"], *keys["platform_videos"]),
        }


def _cards() -> Iterator[Record]:
    """Yields cards, one type after the other, then deleted cards, then cards of older kinds."""
    for n, card in enumerate(records("cards", "cards")):
        yield {**card, **_layout(card["card_type"], n), "is_legacy": False}
    yield from records("cards", "legacy_cards")


def _layout(kind: str, n: int) -> Record:
    """Returns components or slides for a card of the type, with images, videos, or both in turn."""
    keys = []
    for each in range(3):
        is_video = kind.startswith("VIDEO") or (kind.startswith("MIXED") and each == 1)
        options = _media_keys()["wide_videos" if is_video else "images"]
        keys.append(options[(n + each) % len(options)])
    action = contents("cards")["website" if kind.endswith("WEBSITE") else "app"]
    if "MULTI_DEST" in kind:
        slides = enumerate(keys, 1)
        return {"slides": [[_medium(key), derived(action, {"number": number})] for number, key in slides]}
    shown = {"type": "SWIPEABLE_MEDIA", "media_keys": keys} if "CAROUSEL" in kind else _medium(keys[0])
    return {"components": [shown, derived(action, {"number": n + 1})]}


def _medium(key: str) -> dict[str, Any]:
    return {"type": "MEDIA", "media_key": key}


def _poll_cards() -> Iterator[Record]:
    """Yields four polls: two with only text, one with an image and one with a video. The last poll is deleted."""
    media = {medium["id"]: medium for medium in _library()}
    for card in records("cards", "poll_cards", **_media_keys()):
        key = card.pop("media_key")
        yield card | creatives.of_poll(media[key] if key else None)


def _conversation_cards() -> Iterator[Record]:
    """Yields cards with one to four calls to action, with and without a poster. The last card is deleted."""
    media = {medium["id"]: medium for medium in _library()}
    for card in records("cards", "video_conversation_cards", **_media_keys()):
        poster = card["poster_media_key"]
        yield card | creatives.of_conversation(media[card["media_key"]], media[poster] if poster else None)
