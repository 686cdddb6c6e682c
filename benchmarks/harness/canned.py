"""What the stub answers with, and what a contestant must find in it: made from numbers, so that
both sides know it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Literal

import attrs
import orjson

POSTS_A_PAGE: Final = 100
LINES_A_BLOCK: Final = 500
"""A stream repeats so many posts."""

Shape = Callable[[int], dict[str, Any]]

_WORDS: Final = (
    "Snow on the hut again, the path is open, Grüße from the ridge \N{SNOWFLAKE}. More tomorrow: rope, boots, soup."
)
_FIRST_ID: Final = 1_988_000_000_000_000_000


def post(number: int) -> dict[str, Any]:
    """A post with the fields that timelines are mostly asked for."""
    post_id = str(_FIRST_ID + number * 7)
    return {
        "id": post_id,
        "text": _WORDS[number % 40 :] + f" #{number}",
        "created_at": f"2026-11-{number % 28 + 1:02}T{number % 24:02}:{number % 60:02}:{number % 59:02}.000Z",
        "author_id": "2244994945",
        "conversation_id": post_id,
        "lang": "en",
        "edit_history_tweet_ids": [post_id],
        "possibly_sensitive": False,
        "public_metrics": {
            "retweet_count": number % 13,
            "reply_count": number % 11,
            "like_count": number % 1009,
            "quote_count": number % 7,
            "impression_count": number % 10_007,
        },
    }


def _entities(number: int) -> dict[str, Any]:
    link = {"start": 3, "end": 26, "url": f"https://x.test/{number}", "expanded_url": "https://hut.example/snow"}
    return {
        "urls": [link, {**link, "start": 30, "end": 53, "status": 200, "title": "The hut"}][: number % 2 + 1],
        "mentions": [{"start": 54, "end": 60, "username": "grace", "id": "12"}],
        "hashtags": [{"start": 61, "end": 66, "tag": "snow"}],
    }


def _annotations(number: int) -> list[dict[str, Any]]:
    domain = {"id": "65", "name": "Interests", "description": "What people like"}
    return [{"domain": domain, "entity": {"id": str(number % 50 + each), "name": "Climbing"}} for each in range(2)]


def _edit_controls(number: int) -> dict[str, Any]:
    until = f"2026-11-{number % 28 + 1:02}T{number % 24:02}:30:00.000Z"
    return {"edits_remaining": 5, "is_edit_eligible": number % 2 == 0, "editable_until": until}


_MEMBERS: Final[tuple[tuple[str, Callable[[int], Any]], ...]] = (
    ("entities", _entities),
    ("referenced_tweets", lambda number: [{"type": "replied_to", "id": str(_FIRST_ID + number)}]),
    ("in_reply_to_user_id", lambda number: str(12 + number % 90)),
    ("attachments", lambda number: {"media_keys": [f"3_{_FIRST_ID + number}"]}),
    ("context_annotations", _annotations),
    ("edit_controls", _edit_controls),
    ("community_id", str),
    ("reply_settings", lambda number: ("everyone", "following")[number % 2]),  # which the package has no field for
)
SHAPES: Final = 30


def mixed_post(number: int) -> dict[str, Any]:
    """A post as timelines have them: some are replies, some have links or pictures; 30 sets of
    members in all.
    """
    shape = post(number)
    # The bits of 1 to 30 choose among the first five members; the others come and go with them.
    chosen = number * 7 % SHAPES + 1
    for place, (name, make) in enumerate(_MEMBERS):
        if (chosen >> place) & 1 or (place >= 5 and chosen % place == 0):
            shape[name] = make(number)
    if chosen % 4 == 0:
        del shape["lang"]
    return shape


def post_for_xdk(number: int) -> dict[str, Any]:
    """The same post with the counts as xdk names them: it refuses a post without these two."""
    shape = post(number)
    metrics = shape["public_metrics"]
    metrics["repost_count"] = metrics.pop("retweet_count")
    metrics["bookmark_count"] = 0
    return shape


def page(number: int, pages: int, shape: Shape = post) -> bytes:
    """One page of a timeline; the token of the next one is its number."""
    first = number * POSTS_A_PAGE
    meta: dict[str, Any] = {"result_count": POSTS_A_PAGE}
    if number + 1 < pages:
        meta["next_token"] = str(number + 1)
    return orjson.dumps({"data": [shape(first + each) for each in range(POSTS_A_PAGE)], "meta": meta})


def line(number: int, shape: Shape = post) -> bytes:
    """One line of a filtered stream, its end included."""
    rules = [{"id": "1166916266197536768", "tag": "snow"}]
    return orjson.dumps({"data": shape(number % LINES_A_BLOCK), "matching_rules": rules}) + b"\r\n"


def checksum_of_posts(numbers: Iterable[int]) -> int:
    """What `len(text) + like_count` of all of these comes to, mixed or not."""
    return sum(len(each["text"]) + each["public_metrics"]["like_count"] for each in map(post, numbers))


_FIRST_NUMBER: Final = 4_155_550_000


def person(number: int) -> tuple[str, str]:
    """An e-mail address and a phone number as a customer database has them; nobody shares one."""
    return f"Person.{number}@Example.com", f"+1{_FIRST_NUMBER + number}"


@attrs.frozen
class Person:
    """A row of an export, and what has to become of it: `sent` are the normalised e-mail address
    and phone number.
    """

    email: str
    phone_number: str
    outcome: Literal["accepted", "rejected", "duplicate"]
    sent: tuple[str, ...]


ODD_AT: Final = 50
REPEATED_AT: Final = 75
"""One row of a hundred is odd, and another one has been there before."""
_NEAR: Final = 37
_FAR: Final = 4_937
"""How many rows ago a repeated one was there."""


def dirty_people(count: int) -> Iterator[Person]:
    """People as exports have them: of a hundred rows one is odd, and one repeats an earlier one in
    another case.
    """
    for number in range(count):
        email, phone = person(number)
        if number % 100 == ODD_AT:
            yield _odd(number // 100, email, phone)
        elif number % 100 == REPEATED_AT:
            email, phone = person(number - (_FAR if number > _FAR and number % 200 == REPEATED_AT else _NEAR))
            yield Person(email.upper(), phone, "duplicate", ())
        else:
            yield Person(email, phone, "accepted", (email.lower(), phone))


def _odd(number: int, email: str, phone: str) -> Person:
    """What is wrong with it goes round: blanks, links, quotes, spellings, empty cells, what cannot
    be used.
    """
    both, national = (email.lower(), phone), f"+1 ({phone[2:5]}) {phone[5:8]}-{phone[8:]}"
    odd = (
        Person(f"  {email} ", f"{phone} ", "accepted", both),
        Person(f"mailto:{email}", phone, "accepted", both),
        Person(f'"{email}"', f'"{phone}"', "accepted", both),
        Person(email, national, "accepted", both),
        Person(email, f"tel:{phone[:2]}-{phone[2:5]}-{phone[5:]}", "accepted", both),
        Person(f"Ada Example <{email}>", phone, "accepted", both),
        Person("", phone, "accepted", both[1:]),
        Person(email, "", "accepted", both[:1]),
        Person("not an address", phone, "accepted", both[1:]),
        Person(f"\N{NO-BREAK SPACE}{email}", "12", "accepted", both[:1]),
        Person("n/a", "none", "rejected", ()),
        Person("", " ", "rejected", ()),
    )
    return odd[number % len(odd)]


ORDERS_A_CUSTOMER: Final = 3
_CUSTOMERS_AT_ONCE: Final = 1_000
"""The orders of so many customers are written before those of the next ones."""
COLUMNS_OF_EXPORTS: Final = ("email", "phone_number", "partner_user_id")
_SPELLINGS: Final = ("clean", "national US", "spaced", "blanks")


@attrs.frozen
class ExportedPerson:
    """A row of an ordinary export, and what has to become of it."""

    cells: tuple[str, ...]
    outcome: Literal["accepted", "duplicate"]
    sent: tuple[str, ...]


def exported_people(kind: str, numbers: Iterable[int]) -> Iterator[ExportedPerson]:
    """People as an ordinary export of one kind has them."""
    for number in numbers:
        if kind == "mixed rows":
            yield _exported("missing" if number % 5 == 0 else _SPELLINGS[number % len(_SPELLINGS)], number)
            continue
        if kind not in ("orders", "mixed"):
            yield _exported(kind, number)
            continue
        block, index = divmod(number, ORDERS_A_CUSTOMER * _CUSTOMERS_AT_ONCE)
        order, customer = divmod(index, _CUSTOMERS_AT_ONCE)
        spelling = "clean"
        if kind == "mixed":
            spelling = "missing" if customer % 5 == 0 else _SPELLINGS[(customer + order) % len(_SPELLINGS)]
        found = _exported(spelling, block * _CUSTOMERS_AT_ONCE + customer)
        yield attrs.evolve(found, outcome="duplicate", sent=()) if order else found


def _exported(kind: str, number: int) -> ExportedPerson:
    email, phone = person(number)
    both: tuple[str, ...] = (email.lower(), phone)
    spaced = f"{phone[2:5]} {phone[5:8]} {phone[8:]}"
    match kind:
        case "national US":
            phone = f"({phone[2:5]}) {phone[5:8]}-{phone[8:]}" if number % 2 else phone[2:]
        case "national DE":
            digits = f"{number:07}"
            phone, both = f"01512 {digits}" if number % 2 else f"01512{digits}", (both[0], f"+491512{digits}")
        case "spaced":
            phone = f"+1 {spaced}"
        case "blanks":
            email, phone = f" {email} ", f"{phone} "
        case "missing" if number % 3 < 2:
            is_email = number % 3 == 0
            email, phone = ("", phone) if is_email else (email, "")
            both = both[is_email:][:1]
        case "third column":
            return ExportedPerson((email, phone, f"C-{number}"), "accepted", both)
    return ExportedPerson((email, phone), "accepted", both)


def people(order: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """The rows of an order: `records` of them, dirty where it `is_dirty`."""
    if order.get("is_dirty"):
        return ((each.email, each.phone_number) for each in dirty_people(order["records"]))
    return map(person, range(order["records"]))


def product(number: int) -> dict[str, str]:
    """A product that keeps every rule of the service."""
    return {
        "id": f"SKU-{number}",
        "title": f"Cairn boots {number}",
        "description": "Made to be repaired. Leather, wool, and a sole that can be replaced twice.",
        "availability": "in stock",
        "condition": "new",
        "price": f"{number % 900 + 10}.00 EUR",
        "link": f"https://shop.example/boots/{number}",
        "image_link": f"https://shop.example/boots/{number}.jpg",
        "brand": "Northwind",
        "product_type": "Shoes > Boots",
    }
