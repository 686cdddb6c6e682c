"""A request as it arrived, before it is validated."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

import attrs
import orjson

from socialapi.routes.route import Route

FORM: Final = "application/x-www-form-urlencoded"
DEFAULT_BODY_LIMIT: Final = 1_048_576
_UNREAD: Final = object()


def body_limit(route: Route[Any] | None) -> int:
    """Returns the maximum number of bytes of a body."""
    return DEFAULT_BODY_LIMIT if route is None or route.max_body_bytes is None else route.max_body_bytes


@attrs.define(eq=False)
class Received:
    """A request. `complete` is False if the body exceeded the limit, in which case none of it is kept."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes = attrs.field(default=b"", repr=False)
    complete: bool = True
    _json: Any = attrs.field(default=_UNREAD, init=False, repr=False)

    @property
    def content_type(self) -> str:
        """The media type, without parameters."""
        return self.headers.get("Content-Type", "").partition(";")[0].strip().lower()

    def form(self) -> list[tuple[str, str]]:
        """Returns the parameters of a form in order, including repeated ones. Other bodies have none."""
        is_form = self.content_type == FORM
        return parse_qsl(self.body.decode("utf-8", "replace"), keep_blank_values=True) if is_form else []

    def pairs(self) -> list[tuple[str, str]]:
        """Returns the query parameters, then the form parameters."""
        return parse_qsl(self.query, keep_blank_values=True) + self.form()

    def parameters(self) -> dict[str, str]:
        """Returns the query and form parameters. If a name is repeated, the last value counts."""
        return dict(self.pairs())

    def json(self) -> Any:
        """Returns the decoded body; raises ValueError. The body is decoded only once."""
        if self._json is _UNREAD:
            self._json = decode_json(self.body)
        return self._json


def decode_json(content: bytes) -> Any:
    """Returns the value of a JSON text. Raises ValueError if the text is not JSON, or is nested too deeply to be echoed
    in a response: orjson reads 1,024 levels and writes 254.
    """
    value = orjson.loads(content)
    wrapped = value
    for _ in range(_LEVELS_AROUND):
        wrapped = [wrapped]
    try:
        orjson.dumps(wrapped)
    except TypeError:
        raise ValueError("is nested too deeply") from None
    return value


_LEVELS_AROUND: Final = 16
"""The number of levels that a response or the emulator's storage may add around a value."""


def split(text: str) -> tuple[str, ...]:
    """Returns the items of a comma-separated list."""
    return tuple(each.strip() for each in text.split(",")) if text else ()
