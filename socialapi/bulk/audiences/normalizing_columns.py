"""Normalising many identifiers of a kind at once, as long as nothing is odd about them.

A column normaliser takes the cells of a column and returns for each what `normalizing` would make of it: the text to
send, an empty text for an empty cell, or None for a cell that has to be looked at by itself, since it is unusable or has
something around the value. Cells are judged all at
once, by one regular expression over all of them, and one by one only if that fails.
"""

import functools
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from socialapi.bulk.audiences import phone_numbers
from socialapi.bulk.audiences.debris import ASCII_EMAIL, EMAIL, is_digest
from socialapi.bulk.audiences.normalizing import Normalizer, Unusable, normalizers
from socialapi.models.audiences import IdentifierKind

ColumnNormalizer = Callable[[Sequence[str]], list[str | None]]

_sha256: Final = hashlib.sha256
_are_ascii_emails: Final = re.compile(rf"(?:(?:{ASCII_EMAIL})?+\n)*+").fullmatch
_are_emails: Final = re.compile(rf"(?:(?:{EMAIL})?+\n)*+").fullmatch
_are_digests: Final = re.compile(r"(?:(?:[0-9a-fA-F]{64})?+\n)*+").fullmatch


def column_normalizers(
    kinds: Iterable[IdentifierKind], default_region: str | None
) -> Mapping[IdentifierKind, ColumnNormalizer]:
    """A column normaliser for each kind. Raises InvalidInput for an unknown `default_region`."""
    taken = frozenset(kinds)
    fast: Mapping[IdentifierKind, Callable[[str], str | None]] = {"email": _emails, "phone_number": _phone_numbers}
    return {
        kind: functools.partial(
            _column,
            normalize,
            fast.get(kind, _nothing) if kind in taken else _nothing,
            kind in taken and kind != "partner_user_id",
        )
        for kind, normalize in normalizers(taken, default_region).items()
    }


def _emails(lines: str) -> str | None:
    """What is hashed of the lines, if all of them are e-mail addresses without anything around them."""
    lines = lines.lower()
    are_emails = _are_ascii_emails if lines.isascii() and '"' not in lines else _are_emails
    return lines if are_emails(lines) else None


def _phone_numbers(lines: str) -> str | None:
    return lines if phone_numbers.are_e164(lines) else None


def _nothing(lines: str) -> None:
    return None


def _column(
    normalize: Normalizer, together: Callable[[str], str | None], hashed: bool, cells: Sequence[str]
) -> list[str | None]:
    lines = "\n".join(cells) + "\n"
    if lines.count("\n") == len(cells):  # else a cell has a line end in it
        if hashed and cells and is_digest(cells[0]) and _are_digests(lines):
            return list(lines.lower()[:-1].split("\n"))
        if (found := together(lines)) is not None:
            texts = found[:-1].encode().split(b"\n")
            if found[0] == "\n" or "\n\n" in found:
                return [_sha256(each).hexdigest() if each else "" for each in texts]
            return [_sha256(each).hexdigest() for each in texts]
    return [_usable(normalize, cell) for cell in cells]


def _usable(normalize: Normalizer, cell: str) -> str | None:
    if not cell:
        return ""
    try:
        value, removed = normalize(cell)
    except Unusable:
        return None
    return None if removed else value or None  # a cell of blanks is no identifier, which takes another look
