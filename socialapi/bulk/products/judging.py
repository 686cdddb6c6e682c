"""Whether a product may be sent: what is wrong with it by the rules, before anything of it leaves the process."""

import datetime

from socialapi.bulk.products.rows import ProductRow
from socialapi.errors import InvalidInput
from socialapi.models.products import Product
from socialapi.models.validation import broken_rules
from socialapi.wire.encode import json_bytes


def judge(row: ProductRow, now: datetime.datetime) -> tuple[str, str] | None:
    """The fields at fault and why; None for a product that keeps the rules, which is then encoded."""
    if row.problem is not None:
        return row.problem
    if broken := broken_rules(Product, row.shape, now=now):
        fields = ", ".join(dict.fromkeys(rule.path for rule in broken))
        reasons = [rule.reason if len(broken) == 1 else str(rule) for rule in broken]
        return fields, "; ".join(reasons)
    try:
        row.json = json_bytes(row.shape)
    except InvalidInput:
        return next(((name, says) for name, value in row.shape.items() if (says := _fault(value))), ("", _NO_JSON))
    return None


_NO_JSON = "cannot be written as JSON"


def _fault(value: object) -> str | None:
    try:
        json_bytes(value)
    except InvalidInput:
        return "is not valid Unicode text" if isinstance(value, str) else "is larger than 64 bits"
    return None
