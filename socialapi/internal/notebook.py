"""Helps at interactive prompts: shows tables as HTML instead of a repr, and explains how to iterate asynchronously."""

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

MAX_ROWS: Final = 20
MAX_COLUMNS: Final = 10
MAX_TEXT_LENGTH: Final = 80

_LEFT: Final = 'style="text-align: left"'  # no colors, because themes define them


def asynchronous(noun: str, advice: str) -> Callable[..., Any]:
    """Returns a method for iteration and indexing that raises TypeError with advice on what to write instead."""

    def refuse(self: object, *_: object) -> Any:
        raise TypeError(f"a socialapi {noun} is asynchronous: {advice}")

    return refuse


def table(caption: str, names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Returns an HTML table of rows with a value for each name. All values are escaped."""
    from html import escape  # only notebooks need it, and every client imports this module

    head = "".join(f"<th {_LEFT}>{escape(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(f'<td {_LEFT}>{escape(_text(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><caption {_LEFT}>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def table_of_rows(caption: str, rows: Sequence[Mapping[str, object]], names: Sequence[str], *, count: int) -> str:
    """Returns a table of the first of `count` rows.

    It has the first columns that are not empty. `names` are the possible columns in order; all of them are shown if
    there are no rows.
    """
    used = used_names(rows, names) if rows else [*names]
    shown = used[:MAX_COLUMNS]
    hidden = [_counted(count - len(rows), "item"), _counted(len(used) - len(shown), "column")]
    left_out = " and ".join(filter(None, hidden))
    caption = f"{caption}; {left_out} not shown" if left_out else caption
    return table(caption, shown, [[row.get(name) for name in shown] for row in rows])


def table_of_values(caption: str, values: Mapping[str, object]) -> str:
    """Returns a table of names and values, without empty values."""
    return table(caption, ["", "value"], [(name, value) for name, value in values.items() if value not in _NOTHING])


def used_names(rows: Sequence[Mapping[str, object]], names: Sequence[str]) -> list[str]:
    """Returns the names for which any row has a value, in the order of `names`. Nested fields have dotted names."""
    found = dict.fromkeys(name for row in rows for name, value in row.items() if value not in _NOTHING)
    return sorted(found, key=lambda name: names.index(name.partition(".")[0]))


_NOTHING: Final[tuple[object, ...]] = (None, (), "", {})


def counts(**numbers: int) -> str:
    """Returns the numbers above zero for a caption: `2 errors, 1 undecoded`."""
    return ", ".join(filter(None, (_counted(number, name) for name, number in numbers.items())))


def _counted(number: int, name: str) -> str:
    plural = name if number == 1 or name.endswith("ed") else f"{name}s"
    return f"{number:,} {plural}" if number else ""


_REORDERING: Final = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\N{REPLACEMENT CHARACTER}")
"""Characters that would change the order in which text is displayed."""


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime.datetime):
        text = value.isoformat(" ", "seconds")
    elif isinstance(value, float):
        text = f"{value:,.6g}"
    elif isinstance(value, tuple):
        text = ", ".join(map(_text, value[:MAX_ROWS]))
    elif isinstance(value, int) and not isinstance(value, bool):
        text = f"{value:,}"
    else:
        text = value if isinstance(value, str) else repr(value)
    text = " ".join(text[: 10 * MAX_TEXT_LENGTH].translate(_REORDERING).split())
    return text if len(text) <= MAX_TEXT_LENGTH else f"{text[: MAX_TEXT_LENGTH - 1]}…"
