"""Reading problems and coded errors (platform section 7.1, advertising section 7)."""

from collections.abc import Mapping
from typing import Any, Final

from socialapi.errors import DecodeError
from socialapi.problems import PROBLEM_TYPES, Problem, ServiceError
from socialapi.wire.converter import structure

NO_OBJECT: Final = "an error that is no object"
MAX_CODE_DIGITS: Final = 10


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
        code=_code(code),
        message=_text(item.get("message") or item.get("detail") or item.get("reason")),
        parameter=_text(item.get("parameter")),
    )


def _code(given: Any) -> int | str | None:
    """A code; one that came as digits in a text is a number, as documented."""
    if isinstance(given, str):
        return int(given) if given.isascii() and given.isdecimal() and len(given) < MAX_CODE_DIGITS else given
    if isinstance(given, float) and given.is_integer():
        return int(given)
    return given if isinstance(given, int) and not isinstance(given, bool) else None


def read_errors(listed: Any) -> tuple[Problem | ServiceError, ...]:
    """The errors of an answer, none of which is dropped; null stands for none. Raises DecodeError for what is no array."""
    if listed is None:
        return ()
    if not isinstance(listed, list):
        raise DecodeError("errors", "expected an array")
    return tuple(read_partial_error(each) for each in listed)


def read_partial_error(data: Any) -> Problem | ServiceError:
    """An error beside data: a typed problem, a coded error, or the text or number that stands in the place of one."""
    if not isinstance(data, Mapping):
        is_code = isinstance(data, int) and not isinstance(data, bool)
        return ServiceError(code=data if is_code else None, message=_text(data) or (None if is_code else NO_OBJECT))
    return read_problem(data) if is_problem(data) else read_service_error(data)


def is_problem(data: Mapping[str, Any]) -> bool:
    """Whether an error is a typed problem rather than a coded error."""
    return "title" in data or "type" in data


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
