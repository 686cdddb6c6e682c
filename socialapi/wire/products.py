"""Checking products before they are put (catalogs documentation, section 4.7)."""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from socialapi.models.products import Product
from socialapi.models.validation import broken_rules
from socialapi.problems import BrokenRule
from socialapi.wire.request import refuse


def check_products(shapes: Sequence[Any], *, now: datetime.datetime) -> None:
    """Raises InvalidInput with every rule that a product breaks, and for ids that stand there more than once."""
    refuse([*_broken(shapes, now), *_repeated(shapes)])


def _broken(shapes: Sequence[Any], now: datetime.datetime) -> Iterator[BrokenRule]:
    for index, shape in enumerate(shapes):
        name = shape.get("id") if isinstance(shape, Mapping) else None
        place = f"products[{index}]" + (f" ({name})" if isinstance(name, str) else "")
        for rule in broken_rules(Product, shape, now=now):
            yield attrs.evolve(rule, path=f"{place}.{rule.path}" if rule.path else place)


def _repeated(shapes: Sequence[Any]) -> Iterator[BrokenRule]:
    seen: set[Any] = set()
    for index, shape in enumerate(shapes):
        product_id = shape.get("id") if isinstance(shape, Mapping) else None
        if isinstance(product_id, str):
            if product_id in seen:
                reason = "stands in this request more than once, which makes the service ignore all of them"
                yield BrokenRule(path=f"products[{index}] ({product_id}).id", reason=reason)
            seen.add(product_id)
