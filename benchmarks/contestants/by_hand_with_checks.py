"""Raw aiohttp and orjson with the checks that ours makes as well, by hand: what it costs to trust
nobody.
"""

import asyncio
import datetime
import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from benchmarks.contestants.by_hand import Operations, audience_with, operation, paging_with, products_with

Check = Callable[[Any], object]


def _is(kind: type) -> Check:
    def check(value: Any) -> None:
        if type(value) is not kind:
            raise TypeError(f"{value!r} is no {kind.__name__}")

    return check


def _each(check: Check) -> Check:
    def check_each(values: Any) -> None:
        for value in values:
            check(value)

    return check_each


def _members(checks: Mapping[str, Check], *, required: tuple[str, ...] = ()) -> Check:
    find = checks.get

    def check(value: Any) -> None:
        for name, member in value.items():
            if (of_member := find(name)) is not None:
                of_member(member)
        for name in required:
            if name not in value:
                raise KeyError(name)

    return check


_parse_time: Final = datetime.datetime.fromisoformat
_TEXT: Final = _is(str)
_NUMBER: Final = _is(int)
_YES_OR_NO: Final = _is(bool)
_SPAN: Final = {"start": _NUMBER, "end": _NUMBER}
_COUNTS: Final = ("retweet_count", "reply_count", "like_count", "quote_count", "impression_count")
_URL: Final = {**dict.fromkeys(("url", "expanded_url", "display_url", "title"), _TEXT), **_SPAN, "status": _NUMBER}
_TOPIC: Final = _members(dict.fromkeys(("id", "name", "description"), _TEXT))
_ENTITIES: Final = _members(
    {
        "urls": _each(_members(_URL, required=("start", "end"))),
        "mentions": _each(_members({**_SPAN, "username": _TEXT, "id": _TEXT}, required=("start", "end"))),
        "hashtags": _each(_members({**_SPAN, "tag": _TEXT}, required=("start", "end"))),
    }
)
_check_post: Final = _members(
    {
        "id": _TEXT,
        "text": _TEXT,
        "author_id": _TEXT,
        "conversation_id": _TEXT,
        "lang": _TEXT,
        "edit_history_tweet_ids": _each(_TEXT),
        "possibly_sensitive": _YES_OR_NO,
        "public_metrics": _members(dict.fromkeys(_COUNTS, _NUMBER)),
        "entities": _ENTITIES,
        "referenced_tweets": _each(_members({"type": _TEXT, "id": _TEXT}, required=("type", "id"))),
        "in_reply_to_user_id": _TEXT,
        "attachments": _members({"media_keys": _each(_TEXT), "poll_ids": _each(_TEXT)}),
        "context_annotations": _each(_members({"domain": _TOPIC, "entity": _TOPIC})),
        "edit_controls": _members(
            {"edits_remaining": _NUMBER, "is_edit_eligible": _YES_OR_NO, "editable_until": _parse_time}
        ),
        "community_id": _TEXT,
    },
    required=("id",),
)


def paging(order: dict[str, Any]) -> dict[str, Any]:
    """Walks a timeline, checks the types of all members that are known, and makes datetimes of the
    times.
    """

    def read(page: dict[str, Any]) -> tuple[int, int]:
        items = total = 0
        for post in page["data"]:
            _check_post(post)
            post["created_at"] = _parse_time(post["created_at"])
            items += 1
            total += len(post["text"]) + post["public_metrics"]["like_count"]
        return items, total

    return paging_with(read, order)


_is_email: Final = re.compile(r"[^@\s<>\"(),:;\[\]\\]+@(?:[a-z0-9_-]+\.)+[a-z0-9_-]+").fullmatch
_is_e164: Final = re.compile(r"\+[1-9][0-9]{6,14}").fullmatch
_in_brackets: Final = re.compile("[^<>]*<([^<>]*)>").fullmatch


def _email(text: str) -> str | None:
    """The digest of an address; None of nothing that could be one."""
    address = text.strip().lower()
    if not _is_email(address):
        if (found := _in_brackets(address)) is not None:
            address = found[1]
        address = address.strip("\"'").removeprefix("mailto:")
        if not _is_email(address):
            return None
    return hashlib.sha256(address.encode()).hexdigest()


def _phone_number(text: str) -> str | None:
    """The digest of a number in E.164; None of nothing that could be one."""
    number = text.strip()
    if not _is_e164(number):
        import phonenumbers

        try:
            parsed = phonenumbers.parse(number.strip("\"'").removeprefix("tel:"))
        except phonenumbers.NumberParseException:
            return None
        if not phonenumbers.is_possible_number(parsed):
            return None
        number = phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.E164)
    return hashlib.sha256(number.encode()).hexdigest()


class _Checked:
    """Makes operations of people. Who was there before is left out, and so is who has nothing to be
    found by.
    """

    def __init__(self) -> None:
        self._known: set[tuple[str | None, str | None]] = set()
        self.rejected = self.duplicate = 0

    def operations(self, people: list[dict[str, str]]) -> Operations:
        """Those of so many people, or of fewer."""
        operations = []
        for each in people:
            email, phone = identifiers = _email(each["email"]), _phone_number(each["phone_number"])
            if email is None and phone is None:
                self.rejected += 1
            elif identifiers in self._known:
                self.duplicate += 1
            else:
                self._known.add(identifiers)
                named = (("email", email), ("phone_number", phone))
                operations.append(operation(*((kind, digest) for kind, digest in named if digest is not None)))
        return operations


def audience(order: dict[str, Any]) -> dict[str, Any]:
    """Uploads people of whom every value is checked and normalised, and each once."""
    checked = _Checked()
    told = asyncio.run(audience_with(checked.operations, order))
    return {**told, "rejected": checked.rejected, "duplicate": checked.duplicate}


_REQUIRED: Final = ("id", "title", "description", "availability", "condition", "price", "link", "image_link")
_CHOICES: Final = {
    "availability": {"in stock", "available for order", "preorder", "out of stock", "discontinued"},
    "condition": {"new", "used", "refurbished"},
}
_LONGEST: Final = {"title": 150, "description": 5_000}
_is_price: Final = re.compile(r"[0-9]+(?:\.[0-9]+)? [A-Z]{3}").fullmatch
_is_https: Final = re.compile(r"https://[^\s/]+\S*", re.IGNORECASE).fullmatch


def _check_product(product: dict[str, str]) -> None:
    for name in _REQUIRED:
        if not product[name].strip():
            raise ValueError(f"{name} is blank")
    for name, choices in _CHOICES.items():
        if product[name] not in choices:
            raise ValueError(f"{name} is {product[name]}")
    for name, longest in _LONGEST.items():
        if len(product[name]) > longest:
            raise ValueError(f"{name} is too long")
    if not (_is_price(product["price"]) and _is_https(product["link"]) and _is_https(product["image_link"])):
        raise ValueError("price, link or image_link")
    if not (product.get("brand") or product.get("gtin") or product.get("mpn")):
        raise ValueError("brand, gtin or mpn is missing")


def _check_products(part: list[dict[str, str]]) -> None:
    for product in part:
        _check_product(product)


def products(order: dict[str, Any]) -> dict[str, Any]:
    """Puts products whose required fields are checked."""
    return products_with(_check_products, order)
