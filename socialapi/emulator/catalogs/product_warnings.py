"""What the service finds strange about products that it takes. Which warnings there are is not documented."""

from collections.abc import Mapping
from typing import Any, Final

_CATEGORIES: Final = ("taxonomy_product_category", "product_type")
_VARIES: Final = ("size", "color", "age_group", "gender")


def warnings_about(product: Mapping[str, Any]) -> list[dict[str, str]]:
    """The warnings about a product that keeps every rule."""
    found = []
    if product["title"].isupper():
        found.append(_warning("TITLE_IN_CAPITALS", "is in capitals only", "title"))
    if not any(name in product for name in _CATEGORIES):
        found.append(_warning("RECOMMENDED_FIELD", "or taxonomy_product_category is recommended", "product_type"))
    if "item_group_id" in product and not any(name in product for name in _VARIES):
        found.append(_warning("RECOMMENDED_FIELD", f"stands without any of {', '.join(_VARIES)}", "item_group_id"))
    return found


def _warning(code: str, says: str, field: str) -> dict[str, str]:
    return {"code": code, "message": f"{field} {says}", "field": field}
