"""Reading problems and coded errors (platform section 7.1, advertising section 7)."""

from collections.abc import Mapping
from typing import Any

from socialapi.errors import DecodeError
from socialapi.problems import PROBLEM_TYPES, Problem, ServiceError
from socialapi.wire.converter import structure


def read_problem(data: Mapping[str, Any]) -> Problem:
    """The problem as its documented type, chosen by the last segment of `type`; an odd one as the base class."""
    slug = str(data.get("type", "")).rstrip("/").rpartition("/")[2]
    for cls in (PROBLEM_TYPES.get(slug, Problem), Problem):
        try:
            problem: Problem = structure(data, cls)
        except DecodeError:
            continue
        return problem
    texts = {name: data[name] for name in ("type", "title", "detail") if isinstance(data.get(name), str)}
    return Problem(**texts, extra={name: value for name, value in data.items() if name not in texts})


def read_service_error(item: Mapping[str, Any]) -> ServiceError:
    """A coded error of either API."""
    code = item.get("code")
    return ServiceError(
        code=code if isinstance(code, int | str) else None,
        message=_text(item.get("message") or item.get("detail")),
        parameter=_text(item.get("parameter")),
    )


def read_partial_error(data: Mapping[str, Any]) -> Problem | ServiceError:
    """An error beside data: a typed problem, or a coded error."""
    return read_problem(data) if "title" in data or "type" in data else read_service_error(data)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
