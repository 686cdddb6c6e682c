"""Reading JSON that others have written, with all that the standard leaves open."""

import json
from typing import Any

import orjson


def decode_json(content: bytes) -> Any:
    """JSON bytes as Python data, also where they begin with a byte order mark or hold halves of surrogate pairs.

    Raises orjson.JSONDecodeError, which quotes nothing of the content, for what is no JSON, is nested too deeply or is
    not UTF-8.
    """
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as problem:
        message, position = problem.msg, problem.pos
    # The standard library is slower by far, and takes the halves that others write as \ud83d.
    try:
        return json.loads(content.decode("utf-8", "surrogatepass").removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        error = orjson.JSONDecodeError(message, "", position)
    raise error  # out here, so that what cannot be read is not its context
