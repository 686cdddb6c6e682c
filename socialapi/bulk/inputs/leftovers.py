"""Removes the characters that spreadsheets and copying from web pages leave around a cell's value."""

import functools
import re
from collections.abc import Callable
from typing import Final

import attrs

from socialapi.reports import CLEANED

# The contents of character classes: zero-width characters, spaces, and quotation marks.
ZERO_WIDTH: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f\U000e0100-\U000e01ef"
)
BLANKS: Final = "\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
TYPOGRAPHIC_QUOTES: Final = "\u00ab\u00b4\u00bb\u2018-\u201f\u2039\u203a\u300c-\u300f\u301d-\u301f\uff02\uff07"

MAX_CHARACTERS: Final = 1_000
"""The length above which a string is returned unchanged, because no identifier is that long."""

# A pattern with large character classes takes a millisecond to compile, and is needed only for unusual cells. Each
# pattern is therefore compiled on first use.
compiled: Final = functools.cache(re.compile)


_ANY_ZERO_WIDTH: Final = f"[{ZERO_WIDTH}]"
# A joiner next to a letter of a non-Latin script may be part of a word.
_JOINER: Final = "(?<=[^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?=[^\x00-\x7f])"
ANY_QUOTE: Final = rf"""["'`\\{TYPOGRAPHIC_QUOTES}]"""
INVISIBLE_CHARACTERS: Final = "invisible characters"
MARKS: Final = "quotation marks"
FORMULA: Final = "a formula"
APOSTROPHE: Final = "an apostrophe"


@attrs.frozen(repr=False)
class Cleaned:
    """A cleaned value. `removed` describes the characters that were removed, if any."""

    text: str
    removed: tuple[str, ...] = ()


Layer = Callable[[str], tuple[str, str]]
"""A function that removes one kind of character. It returns the rest, and a noun for the removed characters."""


def in_words(removed: tuple[str, ...]) -> str:
    """Returns the warning that these characters were removed from a value, or an empty string if none were."""
    return f"{CLEANED}: {', '.join(removed)} removed" if removed else ""


def is_mojibake(text: str) -> bool:
    """Returns whether a string is UTF-8 that was wrongly decoded as Windows-1252."""
    try:
        return text.encode("cp1252").decode() != text
    except UnicodeError:
        return False


def is_wrapped(text: str) -> bool:
    """Returns whether a trimmed ID has a leading mark or invisible characters that may not belong to it."""
    return text[:1] == "=" or is_quote(text[:1]) or (not text.isascii() and without_zero_width(text)[0] != text)


def unwrapped(text: str) -> Cleaned:
    """Returns an ID without invisible characters, surrounding quotation marks, and the marks with which spreadsheets
    store a number as text (`="…"` or a leading apostrophe).
    """
    return peeled(text, _ID_LAYERS, lambda rest: not is_wrapped(rest), keep=True)


def peeled(text: str, layers: tuple[Layer, ...], is_clean: Callable[[str], bool], *, keep: bool = False) -> Cleaned:
    """Removes one layer after another until `is_clean` accepts the string. If that never happens, returns the original
    string or, with `keep`, the cleaned string.
    """
    if len(text) > MAX_CHARACTERS:
        return Cleaned(text)
    rest, removed = text, dict[str, None]()
    while not is_clean(rest):
        for layer in layers:
            less, what = layer(rest)
            if less != rest:
                break
        else:
            return Cleaned(rest, tuple(removed)) if keep else Cleaned(text)
        rest = less.strip()
        if what:
            removed[what] = None
    return Cleaned(rest, tuple(removed))


def without_zero_width(text: str) -> tuple[str, str]:
    """Removes all invisible characters, or none if one of them is a joiner that may be part of a word."""
    if compiled(_JOINER).search(text):
        return text, ""
    return compiled(_ANY_ZERO_WIDTH).sub("", text), INVISIBLE_CHARACTERS


def is_quote(text: str) -> bool:
    """Returns whether a character is a quotation mark of any kind, or a backslash, which may escape one."""
    return compiled(ANY_QUOTE).fullmatch(text) is not None


def without_formula(text: str) -> tuple[str, str]:
    """Removes the equals sign of a spreadsheet formula `="text"`. `without_two_marks` then removes the quotes."""
    return (text[1:], FORMULA) if text[:1] == "=" and is_quote(text[1:2]) else (text, "")


def without_two_marks(text: str) -> tuple[str, str]:
    """Removes quotation marks from both ends."""
    return (text[1:-1], MARKS) if len(text) > 1 and is_quote(text[0]) and is_quote(text[-1]) else (text, "")


def without_apostrophe(text: str) -> tuple[str, str]:
    """Removes an apostrophe from the beginning."""
    return (text[1:], APOSTROPHE) if text[:1] == "'" else (text, "")


_ID_LAYERS: Final[tuple[Layer, ...]] = (without_zero_width, without_formula, without_two_marks, without_apostrophe)
