"""JSON that is kept: in queues, histories and stores, of which there may be hundreds of thousands."""

from typing import Any

import orjson


def packed_json(value: Any, *, sort_keys: bool = False) -> bytes:
    """The value as JSON. Copied, because what orjson returns holds kilobytes that it did not need."""
    return memoryview(orjson.dumps(value, option=orjson.OPT_SORT_KEYS if sort_keys else None)).tobytes()
