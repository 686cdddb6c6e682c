"""A tolerant JSON decoder for input written by others."""

import json
from typing import Any

import orjson


def decode_json(content: bytes) -> Any:
    """Returns JSON bytes as Python data. A byte order mark and lone surrogates are accepted.

    Raises orjson.JSONDecodeError for invalid JSON, invalid UTF-8 and too deep nesting. The error
    quotes nothing of the content.
    """
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as problem:
        message, position = problem.msg, problem.pos
    # The standard library is much slower but accepts lone surrogates, which some write as \ud83d.
    try:
        return json.loads(content.decode("utf-8", "surrogatepass").removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        error = orjson.JSONDecodeError(message, "", position)
    raise error  # outside the handler, so that the content is not in its context
