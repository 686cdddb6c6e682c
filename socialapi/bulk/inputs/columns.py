"""Names of columns: mappings of them, finding given ones, and showing them in messages."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from socialapi.errors import InvalidInput, printable

ColumnMapping = Mapping[str, str | int | Sequence[str | int]]
"""The names of columns, or the numbers of those that have none, by what they hold."""
Override = Literal["operation_type", "effective_at", "expires_at"]

OVERRIDES: Final[tuple[Override, ...]] = ("operation_type", "effective_at", "expires_at")

MAX_NAMES_KEPT: Final = 1_000
"""The most names of columns that are noted: objects may keep bringing new ones."""
MAX_NAME_LENGTH: Final = 256
"""The longest name that is searched for numbers and words, which takes the square of its length."""
_LONGEST_SHOWN: Final = 60


_SEPARATORS: Final = re.compile(r"[\s_.\-\ufeff\u200b]+")


def folded_name(name: str) -> str:
    """Returns the name without the differences of case and punctuation in which names are the same."""
    return _SEPARATORS.sub("", name).casefold()


def positions_of(wanted: Iterable[str], names: Sequence[str]) -> list[int]:
    """Returns the positions of the wanted names. An exact match is preferred to a folded one."""
    found: list[int] = []
    for each in wanted:
        exact = [position for position, name in enumerate(names) if name == each]
        found += exact or [position for position, name in enumerate(names) if folded_name(name) == folded_name(each)]
    return found


KEY: Final = "key"
"""What reports say of the column of keys."""


def key_position(key: str | int | None, names: Sequence[str], *, is_needed: bool = False) -> int | None:
    """Returns where the column of keys is; None if there is none.

    Raises InvalidInput for several, and if it `is_needed` for none.
    """
    if key is None:
        return None
    found = positions_of((str(key),), names)
    if len(found) > 1:
        raise InvalidInput(
            f"{len(found)} columns are called {quoted(key)}, and the key is in one of them: rename the others"
        )
    if not found and is_needed:
        raise InvalidInput(f"there is no column {quoted(key)} for the key; there are: {printable_names(names)}")
    return found[0] if found else None


def refuse_models(key: str | int | None) -> None:
    """Raises InvalidInput if keys are asked for of models, which have none."""
    if key is not None:
        raise InvalidInput(
            "models have no key: give mappings, or rows that have names, to have one in the outcomes file"
        )


def looks_personal(name: str) -> bool:
    """Returns whether a name may be a value, which must not get into a message."""
    return len(name) > _LONGEST_SHOWN or "@" in name or sum(map(str.isdigit, name)) > 5


_is_value: Final = re.compile(
    r"""(?:mailto:)?[^\s@]+@[^\s@]+\.\w+  # an address
    |[+(]?[\d\s()./,+-]*\d[\d\s()./,+-]*  # a number, of a telephone or any other
    |(?:\\x|0x)?[0-9a-f]{16,128}  # a digest, or the id of a device
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
    """Returns what is stored of a name. A name too long to be shown is cut, but stays too long."""
    return name if len(name) <= _LONGEST_SHOWN else name[: _LONGEST_SHOWN + 1]


def read_names(noted: Mapping[str, str]) -> Mapping[str, str]:
    """Returns what each name that is read is read as, for a report."""
    return {shown_name(name): taken_for for name, taken_for in noted.items() if taken_for}


def ignored_names(noted: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the names of columns that are not read, for a report."""
    return tuple(dict.fromkeys(shown_name(name) for name, taken_for in noted.items() if not taken_for))


def shown_name(name: str) -> str:
    """Returns a name for a report, without what may be data."""
    return "<hidden>" if looks_personal(name) else printable(name)


def with_article(noun: str) -> str:
    """Returns the noun with `a` or `an` before it."""
    return f"{'an' if noun[0] in 'aeiouAEIOU' else 'a'} {noun}"


def quoted(name: object) -> str:
    """Returns a name for a message, without what may be data."""
    text = str(name)
    return "<hidden>" if looks_personal(text) else f'"{printable(text)}"'


def printable_names(names: Sequence[str]) -> str:
    """Returns the quoted names for a message. A name that may be data is shown as its position."""
    listed = [f"(column {at})" if looks_personal(n) or not n.strip() else quoted(n) for at, n in enumerate(names, 1)]
    more = len(listed) - 20
    return ", ".join(listed[:20]) + (f" and {more} more" if more > 0 else "") if listed else "none"
