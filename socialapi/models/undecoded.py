"""Data that could not be decoded."""

import base64
import json
from collections.abc import Callable
from typing import Any

import attrs
import orjson

from socialapi.errors import DecodeError
from socialapi.internal.records import FrozenRecord


@attrs.frozen
class Undecoded(FrozenRecord):
    """Data of the service that this version could not decode.

    The client never drops data. `raw` is the bytes of a line or body, or the decoded JSON of an
    item. `path` is the invalid field, if known, and `reason` describes the problem.
    """

    raw: Any = attrs.field(repr=False, hash=False)
    path: str = ""
    reason: str = ""

    @classmethod
    def _from_wire(cls, data: Any, read: Callable[..., Any]) -> "Undecoded":
        """Reads the result of `to_dict`, which has bytes as `raw_base64` because JSON cannot represent them."""
        if not isinstance(data, dict) or "raw_base64" not in data:
            undecoded: Undecoded = read(data, cls)
            return undecoded
        try:
            raw = base64.b64decode(data["raw_base64"], validate=True)
        except (TypeError, ValueError):
            raw = None
        if raw is None:
            raise DecodeError("raw_base64", "expected Base64")
        return cls(raw, read(data.get("path", ""), str, "path"), read(data.get("reason", ""), str, "reason"))

    @property
    def content(self) -> bytes:
        """The data as bytes. An item of a page is serialized to JSON again."""
        if isinstance(self.raw, bytes):
            return self.raw
        try:
            return orjson.dumps(self.raw)
        except TypeError:  # lone surrogates, or integers of more than 64 bits
            return json.dumps(self.raw, default=lambda _: None).encode()
