"""The user object of a request, as JSON in ASCII: so that its length in letters is its length in bytes."""

import functools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from socialapi.models.audiences import IDENTIFIER_KINDS, IdentifierKind

_as_json: Final = json.JSONEncoder(ensure_ascii=True).encode


def user_json(values: Mapping[IdentifierKind, Sequence[str]]) -> str:
    """The user object with these values, of which every kind has at least one, in the order of the kinds."""
    members = [f'"{kind}":[{",".join(_quoted(kind, values[kind]))}]' for kind in IDENTIFIER_KINDS if kind in values]
    return f"{{{','.join(members)}}}"


def write_users(columns: Sequence[tuple[IdentifierKind, Sequence[str | None]]]) -> list[str]:
    """The user objects of rows that have one value of each of these kinds; those of other rows make no sense."""
    ordered = sorted(columns, key=lambda column: IDENTIFIER_KINDS.index(column[0]))
    texts = [map(_as_json, values) if kind == "partner_user_id" else values for kind, values in ordered]
    return _writer(tuple(kind for kind, _ in ordered))(*texts)


def _quoted(kind: IdentifierKind, values: Sequence[str]) -> Iterable[str]:
    return map(_as_json, values) if kind == "partner_user_id" else [f'"{value}"' for value in values]


@functools.cache
def _writer(kinds: tuple[IdentifierKind, ...]) -> Callable[..., list[str]]:
    """A function written for these kinds: to fill in a template of any number of them takes three times as long."""
    names = [f"v{place}" for place in range(len(kinds))]
    members = []
    for kind, name in zip(kinds, names, strict=True):
        value = f"{{{name}}}" if kind == "partner_user_id" else f'"{{{name}}}"'  # a digest needs no escaping
        members.append(f'"{kind}":[{value}]')
    columns = ", ".join(f"column_{name}" for name in names)
    rows = f"for {', '.join(names)}, in zip({columns}, strict=True)"
    text = f"lambda {columns}: [f'{{{{{','.join(members)}}}}}' {rows}]"
    writer: Callable[..., list[str]] = eval(text)  # noqa: S307  # made of the names of our own kinds
    return writer
