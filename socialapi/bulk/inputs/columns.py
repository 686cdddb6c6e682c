"""Detects identifier columns of a table, or keys of an object, by their names.

Names are compared without case, blanks, `_`, `-` and `.`. A name stands for an identifier kind if
it is the specification's name or a listed synonym. It may have a number (`email2`, `Phone 2`), a
plural (`emails`), a word for hashing (`email_sha256`, `hashed_phone`) and, for e-mail addresses and
phone numbers, a word that says which one it is (`work email`). Other names are ignored. Names that
identify a customer elsewhere (`customer_id`, `customer`, `id`, `user_id`) are never identifiers.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from socialapi.models.audiences import IdentifierKind

ColumnMapping = Mapping[str, str | int | Sequence[str | int]]
"""The names of columns, or the numbers of those that have none, by what they hold."""
Override = Literal["operation_type", "effective_at", "expires_at"]

OVERRIDES: Final[tuple[Override, ...]] = ("operation_type", "effective_at", "expires_at")

WHICH_ONE: Final = (
    *("primary", "secondary", "main", "default", "alternate", "alternative", "other"),
    *("work", "business", "office", "company", "home", "personal", "private", "billing", "shipping"),
    *("contact", "customer", "client", "user", "member", "subscriber", "lead", "buyer", "my"),
)
"""Words that may stand before a name of an e-mail address or a phone number."""

SYNONYMS: Final[Mapping["IdentifierKind", tuple[str, ...]]] = {
    "email": ("email", "mail", "emailaddress", "mailaddress", "emailaddr", "emailid", "useremail"),
    "device_id": (
        *("deviceid", "deviceidentifier", "mobiledeviceid", "idfa", "gaid", "aaid", "adid", "ifa", "rdid"),
        *("maid", "madid", "mobileadid", "mobileadvertisingid", "advertisingid", "advertisingidentifier"),
        *("appleadvertisingid", "googleadvertisingid", "androidadvertisingid", "androidid"),
    ),
    "handle": (
        *("handle", "userhandle", "socialhandle", "username", "screenname", "userscreenname"),
        *("twitter", "twitterhandle", "twitterusername", "twitterscreenname", "xhandle", "xusername"),
    ),
    "service_id": (
        *("serviceid", "serviceuserid", "userserviceid", "platformuserid", "useridonplatform"),
        *("useridonservice", "twitterid", "twitteruserid", "xuserid"),
    ),
    "phone_number": (
        *("phonenumber", "phone", "phoneno", "phonenum", "telephone", "telephonenumber", "tel", "telno", "telnumber"),
        *("mobile", "mobilenumber", "mobileno", "mobilephone", "mobilephonenumber", "msisdn", "e164", "smsnumber"),
        *("cell", "cellnumber", "cellphone", "cellphonenumber", "cellular"),
    ),
    "partner_user_id": (
        *("partneruserid", "partnerid", "partneruser", "partneruid"),
        *("externalpartnerid", "externalpartneruserid"),
    ),
}
"""The names of each kind, in lower case and without blanks, `_`, `-` and `.`."""


MAX_NAMES_KEPT: Final = 1_000
"""How many names of columns are noted: objects may have ever new ones."""
MAX_NAME_LENGTH: Final = 256
"""Of a name that is looked at: the search for numbers and words in it takes the square of its
length.
"""
_LONGEST_SHOWN: Final = 60


_SEPARATORS: Final = re.compile(r"[\s_.\-\ufeff\u200b]+")
_FORM_BEFORE: Final = re.compile("^(?:sha256|hashed|hash)(?:of)?")
# `value` is how address books name the column beside a type: `E-mail 1 - Value`.
_FORM_AFTER: Final = re.compile("[0-9]*(?:sha256|hashed|hash|e164|value)+[0-9]*$")
_NUMBER_AFTER: Final = re.compile("[0-9]+$")

_BY_NAME: Final[Mapping[str, "IdentifierKind"]] = {
    **{word + name: kind for kind in ("email", "phone_number") for word in WHICH_ONE for name in SYNONYMS[kind]},
    **{name: kind for kind, names in SYNONYMS.items() for name in names},
}
_OVERRIDE_NAMES: Final[Mapping[str, Override]] = {name.replace("_", ""): name for name in OVERRIDES}


def detected_as(name: str) -> str:
    """What a column of this name holds, as far as the name says: a kind, an override or, for
    neither, an empty text.
    """
    if len(name) > MAX_NAME_LENGTH:
        return ""
    text = _squeezed(name)
    if text in _OVERRIDE_NAMES:
        return _OVERRIDE_NAMES[text]
    bare = _FORM_AFTER.sub("", _FORM_BEFORE.sub("", text))
    for stem in (text, bare, _NUMBER_AFTER.sub("", bare)):
        for form in (stem, stem.removesuffix("s"), stem.removesuffix("es")):
            if (kind := _BY_NAME.get(form)) is not None:
                return kind
    return ""


def _squeezed(name: str) -> str:
    return _SEPARATORS.sub("", name).casefold()


def positions_of(wanted: Iterable[str], names: Sequence[str]) -> list[int]:
    """Where the wanted names stand; a name written exactly so is preferred to one that only
    compares equal.
    """
    found: list[int] = []
    for each in wanted:
        exact = [position for position, name in enumerate(names) if name == each]
        found += exact or [position for position, name in enumerate(names) if _squeezed(name) == _squeezed(each)]
    return found


def looks_personal(name: str) -> bool:
    """Whether it may be a value rather than a name: then it must not get into a message."""
    return len(name) > _LONGEST_SHOWN or "@" in name or sum(map(str.isdigit, name)) > 5


_is_value: Final = re.compile(
    r"""(?:mailto:)?[^\s@]+@[^\s@]+\.\w+  # an address
    |[+(]?[\d\s()./,+-]*\d[\d\s()./,+-]*  # a number, of a telephone or any other
    |(?:\\x|0x)?[0-9a-f]{32,128}  # a digest
    |[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}""",
    re.IGNORECASE | re.VERBOSE,
).fullmatch


def is_value(text: str) -> bool:
    """Returns whether a text is an address, a number or a digest, and so no name of a column."""
    text = text.strip(" \t\r\n'\"<>=;,")
    return len(text) <= MAX_NAME_LENGTH and _is_value(text) is not None


def paths_of(given: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Returns the given names that may be paths into objects."""
    return tuple(name for names in given.values() for name in names if "." in name)


def names_given(names: str | int | Sequence[str | int]) -> tuple[str, ...]:
    """Returns the names of columns, or their numbers, as they were given for one kind or field."""
    several = (names,) if isinstance(names, str | int) else names
    return tuple(str(each) for each in several if each != "")


def noted_as(name: str) -> str:
    """What is kept of a name that was met: of one that no report shows, no more than tells that it
    does not.
    """
    return name if len(name) <= _LONGEST_SHOWN else name[: _LONGEST_SHOWN + 1]


def read_names(noted: Mapping[str, str]) -> Mapping[str, str]:
    """Returns what each name was taken for that was taken for something, for a report."""
    return {shown_name(name): taken_for for name, taken_for in noted.items() if taken_for}


def ignored_names(noted: Mapping[str, str]) -> tuple[str, ...]:
    """The names that were taken for nothing, for a report."""
    return tuple(dict.fromkeys(shown_name(name) for name, taken_for in noted.items() if not taken_for))


def shown_name(name: str) -> str:
    """A name for a report; what may be data is not shown."""
    return "<hidden>" if looks_personal(name) else printable(name)


def with_article(noun: str) -> str:
    """The noun for a message, behind `a` or `an`."""
    return f"{'an' if noun[0] in 'aeiouAEIOU' else 'a'} {noun}"


def quoted(name: object) -> str:
    """A name for a message; what may be data is not shown."""
    text = str(name)
    return "<hidden>" if looks_personal(text) else f'"{printable(text)}"'


def printable(text: str) -> str:
    """The text for a message, with a question mark for each letter that cannot be shown."""
    return text if text.isprintable() else "".join(letter if letter.isprintable() else "?" for letter in text)


def printable_names(names: Sequence[str]) -> str:
    """The names for a message, in quotes; what may be data is shown as a position."""
    listed = [f"(column {at})" if looks_personal(n) or not n.strip() else quoted(n) for at, n in enumerate(names, 1)]
    more = len(listed) - 20
    return ", ".join(listed[:20]) + (f" and {more} more" if more > 0 else "") if listed else "none"
