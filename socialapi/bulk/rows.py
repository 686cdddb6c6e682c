"""The two shapes a row has on its way: as it was read, and ready to be sent."""

import datetime
from typing import Final

import attrs

from socialapi.models.audiences import IdentifierKind, OperationType

ROWS_PER_CHUNK: Final = 1_250
"""Rows read, or encoded, in one go: few enough that the event loop is not held for more than about 10 ms."""


@attrs.define(eq=False, repr=False, weakref_slot=False)
class RawRow:
    """A row of the input before anything is judged.

    `number` counts data rows from 1. `identifiers` are (field, kind, raw text) triples: `field` is what the input
    calls it (a column header), for messages. The three overrides are None when the row does not have them. `problem`
    is a (field, reason) pair when the row could not even be read; `unusable` are such pairs for values that are no text,
    beside identifiers that are.
    """

    number: int
    identifiers: list[tuple[str, IdentifierKind, str]]
    operation_type: str | None = None
    effective_at: str | datetime.datetime | None = None
    expires_at: str | datetime.datetime | None = None
    problem: tuple[str, str] | None = None
    unusable: tuple[tuple[str, str], ...] = ()


@attrs.frozen
class Action:
    """What is done with a row's identifiers, as it stands in the request; times are ISO 8601 UTC texts or None."""

    operation_type: OperationType
    effective_at: str | None = None
    expires_at: str | None = None


@attrs.define(eq=False, repr=False, weakref_slot=False)
class Row:
    """A row ready to be sent.

    `keys` identify its identifiers (kind and normalised value in one text) for order and duplicates; `user_json` is
    its user object, encoded.
    """

    number: int
    action: Action
    keys: tuple[str, ...]
    user_json: bytes
