"""Products of a catalog and their rules."""

import datetime
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, TypedDict

import attrs
from annotated_types import Ge, Le, MaxLen, MinLen

from socialapi.internal.records import Record
from socialapi.internal.unset import UNSET, Unset
from socialapi.models.model import Model
from socialapi.models.money import CURRENCIES
from socialapi.models.queries import CursorQuery
from socialapi.models.validation import AnyId, Pattern, parse_iso_8601
from socialapi.problems import BrokenRule

MAX_PRODUCTS: Final = 25
MAX_ADDITIONAL_IMAGES: Final = 10

Availability = Literal["in stock", "available for order", "preorder", "out of stock", "discontinued"]
Condition = Literal["new", "used", "refurbished"]
Gender = Literal["female", "male", "unisex"]
AgeGroup = Literal["adult", "all ages", "teen", "kids", "toddler", "infant", "newborn"]
UpsertStatus = Literal["CREATE_SUCCESS", "UPDATE_SUCCESS", "ERROR", "NO_CHANGE"]


def _any_of(words: Collection[str], form: Callable[[str], str] = str) -> str:
    """Returns a regular expression that matches any of the words. It shares common prefixes, because a plain
    alternation takes several times as long. `form` is the expression for a letter.
    """
    rests: dict[str, list[str]] = {}
    for word in sorted(filter(None, words)):
        rests.setdefault(word[0], []).append(word[1:])
    branches = [form(letter) + (_any_of(rest, form) if any(rest) else "") for letter, rest in rests.items()]
    if len(branches) == 1 and "" not in words:
        return branches[0]
    return f"(?:{'|'.join(branches)}){'?' if '' in words else ''}"


def _in_any_case(letter: str) -> str:
    return f"[{letter}{letter.upper()}]" if letter.isalpha() else letter


_NOT_BLANK: Final = Pattern(r"[\s\S]*[^\s\u00ad\u200b-\u200f\u2060\ufeff][\s\S]*", "must not be blank")
_HTTPS: Final = Pattern(r"[Hh][Tt][Tt][Pp][Ss]://[^\s/]+\S*", "must be an https URL")

Text = Annotated[str, _NOT_BLANK]
Price = Annotated[
    str,
    Pattern(
        rf"[0-9]+(\.[0-9]+)? {_any_of(CURRENCIES)}",
        "must be a number with a decimal point, a space and an ISO 4217 currency code, for example 9.99 USD",
    ),
]
_OTHER_KINDS: Final = (
    *("avif", "bmp", "eps", "heic", "heif", "ico", "jp2", "jxl", "pdf", "psd", "svg", "svgz", "tif", "tiff"),
    *("avi", "m4v", "mkv", "mov", "mp3", "mp4", "mpeg", "mpg", "ogv", "webm"),
)
"""Extensions of files that are not JPG, GIF, WEBP or PNG. A URL without an extension, or with a program's extension
such as `.php`, may be an image.
"""
_EXTENSION: Final = _any_of(_OTHER_KINDS, _in_any_case)
_IMAGE_URL: Final = r"[Hh][Tt][Tt][Pp][Ss]?://[^\s/]+\S*"
_MAY_BE_IMAGE: Final = rf"(?![^?#]*\.{_EXTENSION}(?:[?#]|$))[\s\S]*"
NOT_THIS_KIND: Final = "must be a JPG, GIF, WEBP or PNG, but its extension is for another type of file"
ImageUrl = Annotated[str, Pattern(_IMAGE_URL, "must be the URL of an image"), Pattern(_MAY_BE_IMAGE, NOT_THIS_KIND)]

_HEX: Final = "[0-9A-Fa-f]"
_HEX_COLOR: Final = rf"(?:#{_HEX}{{3,8}}|0[xX]{_HEX}{{6,8}}|(?=[A-Fa-f]*[0-9]){_HEX}{{6}}(?:{_HEX}{{2}})?)"
_BETWEEN: Final = r"[\s/,;|]"
WordColor = Annotated[
    str,
    Pattern(
        rf"(?!(?:[\s\S]*{_BETWEEN})?{_HEX_COLOR}(?:{_BETWEEN}|$))[\s\S]*", "must be a word, not a hexadecimal code"
    ),
]
Levels = Annotated[
    str,
    Pattern(r"(?!\s*>)(?![\s\S]*>\s*(?:>|$))(?![\s\S]*(?:\S>|>\S))[\s\S]*", "must have levels, separated by ' > '"),
]


@attrs.define(kw_only=True)
class Product(Record):
    """A product to create or update. `id` is your own id, such as the SKU; if it already exists, the product is
    updated.

    One of `brand`, `gtin` and `mpn` is required. Prices are strings such as `9.99 USD`.
    `product_key` and `item_group_key` are assigned by the service.
    """

    id: Text
    title: Annotated[Text, MaxLen(150)]
    description: Annotated[Text, MaxLen(5_000)]
    availability: Availability
    condition: Condition
    price: Price
    link: Annotated[str, _HTTPS]
    image_link: ImageUrl
    brand: Text | Unset = UNSET
    gtin: Text | Unset = UNSET
    mpn: Text | Unset = UNSET
    mobile_link: Annotated[str, _HTTPS] | Unset = UNSET
    additional_image_link: str | Unset = UNSET
    """Up to ten URLs separated by commas."""
    taxonomy_product_category: str | Unset = UNSET
    product_type: Levels | Unset = UNSET
    """Your own category, its levels separated by ` > `."""
    inventory: Annotated[int, Ge(0)] | Unset = UNSET
    sale_price: Price | Unset = UNSET
    sale_price_effective_date: str | Unset = UNSET
    """Two ISO 8601 times with offsets, separated by a slash."""
    item_group_id: Text | Unset = UNSET
    """An id that the variants of a product share."""
    gender: Gender | Unset = UNSET
    color: WordColor | Unset = UNSET
    size: str | Unset = UNSET
    age_group: AgeGroup | Unset = UNSET
    custom_label_0: str | Unset = UNSET
    custom_label_1: str | Unset = UNSET
    custom_label_2: str | Unset = UNSET
    custom_label_3: str | Unset = UNSET
    custom_label_4: str | Unset = UNSET
    product_key: str | Unset = UNSET
    item_group_key: str | Unset = UNSET

    @staticmethod
    def conditions(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
        """Yields the violations that involve several fields."""
        if "brand" not in data and "gtin" not in data and "mpn" not in data:
            yield BrokenRule(path="brand", reason="or gtin or mpn is required", code="MISSING_PARAMETER")
        if data["availability"] == "in stock" and data.get("inventory", 1) < 1:
            yield BrokenRule(path="inventory", reason="must be at least 1 when availability is in stock")
        if "sale_price" in data:
            yield from _sale_rules(data["price"], data["sale_price"])
        if "sale_price_effective_date" in data:
            times = list(map(parse_iso_8601, data["sale_price_effective_date"].split("/")))
            start, end = times if len(times) == 2 else (None, None)
            if start is None or end is None:
                reason = "must be two ISO 8601 times with their offsets and a slash between them"
                yield BrokenRule(path="sale_price_effective_date", reason=reason)
            elif end <= start:
                yield BrokenRule(path="sale_price_effective_date", reason="must end later than it begins")
        if "additional_image_link" in data:
            yield from _image_rules(data["additional_image_link"])


def _sale_rules(price: str, sale_price: str) -> Iterator[BrokenRule]:
    (amount, currency), (sale_amount, sale_currency) = price.split(" "), sale_price.split(" ")
    if currency != sale_currency:
        yield BrokenRule(path="sale_price", reason="must be in the currency of price")
    elif not Decimal(sale_amount):
        yield BrokenRule(path="sale_price", reason="must be above 0: omit it if there is no sale")
    elif Decimal(sale_amount) >= Decimal(amount):
        yield BrokenRule(path="sale_price", reason="must be lower than price")


def _image_rules(text: str) -> Iterator[BrokenRule]:
    urls = [url.strip() for url in text.split(",")]
    if len(urls) > MAX_ADDITIONAL_IMAGES:
        reason = f"must have at most {MAX_ADDITIONAL_IMAGES} URLs"
        yield BrokenRule(path="additional_image_link", reason=reason)
    if not all(re.fullmatch(_IMAGE_URL, url) for url in urls):
        yield BrokenRule(path="additional_image_link", reason="must be URLs of images, separated by commas")
    elif not all(re.fullmatch(_MAY_BE_IMAGE, url) for url in urls):
        yield BrokenRule(path="additional_image_link", reason=NOT_THIS_KIND)


@attrs.define(kw_only=True)
class StoredProduct(Model):
    """A product in the catalog. Missing fields are None."""

    id: str
    product_key: str | None = None
    title: str | None = None
    description: str | None = None
    availability: Availability | str | None = None
    condition: Condition | str | None = None
    price: str | None = None
    link: str | None = None
    image_link: str | None = None
    brand: str | None = None
    gtin: str | None = None
    mpn: str | None = None
    mobile_link: str | None = None
    additional_image_link: str | None = None
    taxonomy_product_category: str | None = None
    product_type: str | None = None
    inventory: int | None = None
    sale_price: str | None = None
    sale_price_effective_date: str | None = None
    item_group_id: str | None = None
    item_group_key: str | None = None
    gender: Gender | str | None = None
    color: str | None = None
    size: str | None = None
    age_group: AgeGroup | str | None = None
    custom_label_0: str | None = None
    custom_label_1: str | None = None
    custom_label_2: str | None = None
    custom_label_3: str | None = None
    custom_label_4: str | None = None


class ProductsQuery(CursorQuery, total=False):
    """Parameters that select products.

    Only the first submitted product of an item group is returned, unless the group is selected.
    """

    item_group_key: AnyId
    count: Annotated[int, Ge(1), Le(100)]
    """The page size, 1 to 100; 100 by default."""


@attrs.define(kw_only=True)
class ProductsBody(Record):
    """The body of a request to create or update products. Each product succeeds or fails independently."""

    # Each product is checked separately, even if it is not an object.
    products: Annotated[tuple[Any, ...], MinLen(1), MaxLen(MAX_PRODUCTS)]


@attrs.define(kw_only=True)
class ProductResult(Model):
    """The result for one product of a request. Errors and warnings are strings or objects: their
    format is not documented.
    """

    id: str | None = None
    product_key: str | None = None
    status: UpsertStatus | str | None = None
    warnings: tuple[Any, ...] = ()
    errors: tuple[Any, ...] = ()


@attrs.define(kw_only=True)
class ProductResults(Model):
    """The results for the products of a request. Products with a repeated id are missing."""

    products_response: tuple[ProductResult, ...] = ()


class ProductKeys(TypedDict):
    """The products to delete."""

    product_keys: Annotated[tuple[AnyId, ...], MinLen(1)]


@attrs.define(kw_only=True)
class ProductDeletion(Model):
    """The result of deleting one product: its key, or the key that failed and a message."""

    product_key: str | None = None
    failed_product_key: str | None = None
    message: str | None = None


@attrs.define(kw_only=True)
class ProductDeletions(Model):
    """The results of deleting the products of a request."""

    delete_products: tuple[ProductDeletion, ...] = ()
