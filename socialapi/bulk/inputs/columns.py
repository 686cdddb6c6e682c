"""Finds column names and formats them for messages."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from socialapi.errors import InvalidInput, printable

ColumnMapping = Mapping[str, str | int | Sequence[str | int]]
"""The column names that a caller gave for each field, or column numbers for a table without names."""
Override = Literal["operation_type", "effective_at", "expires_at"]

OVERRIDES: Final[tuple[Override, ...]] = ("operation_type", "effective_at", "expires_at")

MAX_NAMES_KEPT: Final = 1_000
"""The maximum number of column names stored for the report. Every JSON object may add new names."""
MAX_NAME_LENGTH: Final = 256
"""The length of the longest name that is searched for numbers and words. The search takes quadratic time."""
_LONGEST_SHOWN: Final = 60
_MAX_DIGITS: Final = 5
_DIGEST_LENGTH: Final = 64


MOJIBAKE_MARK: Final = "\u00ef\u00bb\u00bf"
"""The UTF-8 byte order mark, decoded as Windows-1252."""

_SEPARATORS: Final = re.compile(r"[\s_.\-\ufeff\u200b]+")


def folded_name(name: str) -> str:
    """Returns a name without separators and in one case, so that different spellings compare equal."""
    return _SEPARATORS.sub("", name).casefold()


def positions_of(wanted: Iterable[str], names: Sequence[str]) -> list[int]:
    """Returns the positions of the wanted names. Ignores case and separators only if a name has no exact match."""
    found: list[int] = []
    for each in wanted:
        exact = [position for position, name in enumerate(names) if name == each]
        found += exact or [position for position, name in enumerate(names) if folded_name(name) == folded_name(each)]
    return found


KEY: Final = "key"
"""The field name of the key column in reports."""


def key_position(key: str | int | None, names: Sequence[str], *, is_needed: bool = False) -> int | None:
    """Returns the key column's position, or None. Raises InvalidInput if several columns match, or if a required column
    is missing.
    """
    if key is None:
        return None
    found = positions_of((str(key),), names)
    if len(found) > 1:
        raise InvalidInput(
            f"{len(found)} columns are called {quoted(key)}, the name of the key column: rename all but one"
        )
    if not found and is_needed:
        raise InvalidInput(f"there is no column {quoted(key)} for the key; the columns are: {printable_names(names)}")
    return found[0] if found else None


def refuse_models(key: str | int | None) -> None:
    """Raises InvalidInput if the caller asked for a key column but the rows are models, which have no keys."""
    if key is not None:
        raise InvalidInput(
            "models have no key column: give mappings or rows with named fields to get keys in the outcomes file"
        )


def looks_personal(name: str) -> bool:
    """Returns whether a column name looks like personal data, which messages must not contain."""
    return len(name) > _LONGEST_SHOWN or (_may_hold_value(name) and _is_attribute(name) is None)


_is_attribute: Final = re.compile(r"[a-zA-Z_.:]*@(?:id|sku|currency|unit|lang|type|code|href|rel)").fullmatch
"""Matches the name of a common XML attribute."""


def _may_hold_value(name: str) -> bool:
    return "@" in name or sum(map(str.isdigit, name)) > _MAX_DIGITS


_is_value: Final = re.compile(
    r"""(?:mailto:)?[^\s@]+@[^\s@]+\.\w+  # an e-mail address
    |[+(]?[\d\s()./,+-]*\d[\d\s()./,+-]*  # a phone number or any other number
    |(?:\\x|0x)?[0-9a-f]{16,128}  # a digest or a device ID
    |[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}""",
    re.IGNORECASE | re.VERBOSE,
).fullmatch


def is_value(text: str) -> bool:
    """Returns whether a string is an e-mail address, a number or a digest, which a column name never is."""
    text = text.strip(" \t\r\n'\"<>=;,")
    return len(text) <= MAX_NAME_LENGTH and _is_value(text) is not None


def is_value_without_time(text: str) -> bool:
    """Returns whether a string is a value, but not a year, a date or a time."""
    return is_value(text) and _time.fullmatch(text.strip()) is None


def identifies_person(text: str) -> bool:
    """Returns whether a string is certainly an e-mail address, an international phone number or a SHA-256 digest."""
    text = text.strip(" \t\r\n'\"<>=;,")
    return is_value(text) and ("@" in text or text[:1] == "+" or len(text) >= _DIGEST_LENGTH)


def may_be_value(text: str) -> bool:
    """Returns whether a cell may be a value: it has an @, or more digits than a name has, not counting dates."""
    return is_value(text) or _may_hold_value(_date.sub("", text))


_date: Final = re.compile(r"\d{4}-\d\d-\d\d|\d\d\.\d\d\.\d{4}")
_time: Final = re.compile(r"(?:19|20)\d\d|\d{1,4}([-./])\d{1,2}\1\d{1,4}")


has_address: Final = re.compile(r"[^\s@]@[^\s@]+\.\w").search
"""Finds an e-mail address in a string."""


def holds_data(name: str) -> bool:
    """Returns whether a column name is personal data or contains an address. A layout must not contain such a name."""
    return looks_personal(name) and (is_value(name) or has_address(name) is not None)


def names_given(names: str | int | Sequence[str | int]) -> tuple[str, ...]:
    """Returns the column names or numbers that the caller passed for a field, as strings."""
    several = (names,) if isinstance(names, str | int) else names
    return tuple(str(each) for each in several if each != "")


def noted_as(name: str) -> str:
    """Returns a name to store for the report. A very long name is shortened, but remains too long to be shown."""
    return name if len(name) <= _LONGEST_SHOWN else name[: _LONGEST_SHOWN + 1]


def shown_name(name: str) -> str:
    """Returns a column name for a report, `<hidden>` if it may be data, or `<unnamed>` if it is blank."""
    return "<hidden>" if looks_personal(name) else printable(name) if name.strip() else "<unnamed>"


def with_article(noun: str) -> str:
    """Returns the noun with `a` or `an` before it."""
    return f"{'an' if noun[0] in 'aeiouAEIOU' else 'a'} {noun}"


def quoted(name: object) -> str:
    """Returns a column name in quotation marks for a message, or `<hidden>` if it may be data."""
    text = str(name)
    return "<hidden>" if looks_personal(text) else f'"{printable(text)}"'


def printable_names(names: Sequence[str]) -> str:
    """Returns a list of quoted column names for a message. A name that may be data is replaced by its position."""
    listed = [f"(column {at})" if looks_personal(n) or not n.strip() else quoted(n) for at, n in enumerate(names, 1)]
    more = len(listed) - 20
    return ", ".join(listed[:20]) + (f" and {more} more" if more > 0 else "") if listed else "none"
