"""Tables as HTML, which notebooks show in place of a repr."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Final

MAX_ROWS: Final = 20
MAX_COLUMNS: Final = 10
MAX_TEXT_LENGTH: Final = 80

_LEFT: Final = 'style="text-align: left"'  # and no colours, so that every theme has its own


def table(caption: str, names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Returns a table of the rows, which have a value for each name. Everything is escaped."""
    from html import escape  # for notebooks alone: every client imports this module

    head = "".join(f"<th {_LEFT}>{escape(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(f'<td {_LEFT}>{escape(_text(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><caption {_LEFT}>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def table_of_items(caption: str, items: Sequence[object], names: Mapping[str, str]) -> str:
    """Returns a table of the first items; `names` are the headings by attribute.

    It has the first columns in which there is anything.
    """
    shown = items[:MAX_ROWS]
    used = [name for name in names if any(getattr(each, name) not in _NOTHING for each in shown)]
    rows = [[getattr(each, name) for name in used[:MAX_COLUMNS]] for each in shown]
    hidden = [_counted(len(items) - len(shown), "item"), _counted(len(used[MAX_COLUMNS:]), "column")]
    left_out = " and ".join(filter(None, hidden))
    caption = f"{caption}; {left_out} not shown" if left_out else caption
    return table(caption, [names[name] for name in used[:MAX_COLUMNS]], rows)


_NOTHING: Final = (None, (), "")


def counts(**numbers: int) -> str:
    """Returns numbers of things that there are, for a caption: `2 errors, 1 undecoded`."""
    return ", ".join(filter(None, (_counted(number, name) for name, number in numbers.items())))


def _counted(number: int, name: str) -> str:
    plural = name if number == 1 or name.endswith("ed") else f"{name}s"
    return f"{number:,} {plural}" if number else ""


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
    text = " ".join(text[: 10 * MAX_TEXT_LENGTH].split())
    return text if len(text) <= MAX_TEXT_LENGTH else f"{text[: MAX_TEXT_LENGTH - 1]}…"
