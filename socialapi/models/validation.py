"""Validates requests with the rules declared on the models, and lists every broken rule.

A rule is `Annotated` metadata of a field: `Ge`, `Gt`, `Le`, `Lt`, `MinLen` and `MaxLen` of annotated-types, or
`Pattern`, `WholeText` and `IsId` of this module. The type is a rule too: a `Literal` is an enumeration, and a field
without a default is required. Rules about several fields are in the `alternatives` of a class, in its static method
`conditions(data, now)`, or in `Conditions` next to a TypedDict. The last two yield broken rules. The data is
JSON-shaped (`dict`, `list`, `str`, …), so the same declarations validate requests and responses.
"""

import collections
import contextlib
import datetime
import functools
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, TypeAlias, TypeVar

import annotated_types
import attrs

from socialapi.errors import InvalidInput
from socialapi.internal.unset import Unset
from socialapi.problems import BrokenRule

T = TypeVar("T")
Report = list[BrokenRule]
Path = str | tuple["Path", str | int]
"""The path of a value: a string, or a path and a further step. It is formatted only for a broken rule."""
Now = Callable[[], datetime.datetime]
"""Returns the current time, which few rules need."""
Check = Callable[[Any, Path, Report, Now], None]
Condition = Callable[[Any, datetime.datetime], Iterable[BrokenRule]]
"""Yields the violations that involve several fields of a record."""
Test = Callable[[Any], object]
"""Returns a truthy value if the value follows the rule."""


@attrs.frozen
class Conditions:
    """Rules about several parameters of a TypedDict, which cannot have a method `conditions`."""

    check: Condition


@attrs.frozen
class Alternatives:
    """Alternative fields of a class. At least one must be given if they are `required`, and at most one if they are
    `exclusive`.
    """

    names: tuple[str, ...]
    required: bool = True
    exclusive: bool = False

    def broken(self, data: Mapping[str, Any]) -> Iterator[BrokenRule]:
        """Yields a violation if too few or too many of the fields are in the data."""
        first, *others = self.names
        given = [name for name in self.names if name in data]
        if self.required and not given:
            yield BrokenRule(path=first, reason=f"or {' or '.join(others)} is required", code="MISSING_PARAMETER")
        if self.exclusive and len(given) > 1:
            yield BrokenRule(path=given[1], reason=f"cannot be combined with {given[0]}", code="EXCLUSIVE_PARAMETERS")


@attrs.frozen
class Tagged:
    """Marks a union of classes that a `Literal` in this field distinguishes."""

    field: str


@attrs.frozen
class Pattern:
    """The complete string must match the expression. `says` explains it, for example `must be 64 hex digits`."""

    expression: str
    says: str


@attrs.frozen
class IsId:
    """The string is an id, which must not be empty. The client also accepts an integer."""

    accepts: ClassVar[Any] = str | int


if TYPE_CHECKING:
    # The types that callers may pass. The client converts them before the rules apply.
    AnyId: TypeAlias = str | int
    ListOf: TypeAlias = Sequence[T] | T
    ObjectOf: TypeAlias = T | Mapping[str, Any]
else:
    AnyId = Annotated[str, IsId()]
    """An id, which must not be empty."""

    class ListOf:
        """`ListOf[T]` is an array of T on the wire. Callers may pass any sequence, or a single T."""

        def __class_getitem__(cls, item: Any) -> Any:
            return tuple[item, ...]

    class ObjectOf:
        """`ObjectOf[T]` is an object of the class T. Callers may pass a mapping with its fields."""

        def __class_getitem__(cls, item: Any) -> Any:
            return item


def invalid(name: str, reason: str) -> InvalidInput:
    """Returns the error about one argument."""
    return InvalidInput(f"{name} {reason}", [BrokenRule(path=name, reason=reason)])


class Faults(list[InvalidInput]):
    """Collects the broken rules of all steps of a call, so that one error lists them.

    with faults: …
    faults.refuse()
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, problem: BaseException | None, traceback: object) -> bool:
        if not isinstance(problem, InvalidInput):
            return False
        self.append(problem.with_traceback(None))  # because its frames may contain secrets
        return True

    @property
    def names(self) -> set[str]:
        """The arguments with known errors."""
        return {rule.path for problem in self for rule in problem.broken_rules}

    def refuse(self) -> None:
        """Raises InvalidInput with all collected errors."""
        broken: dict[BrokenRule, None] = {}
        for problem in self:
            broken |= dict.fromkeys(problem.broken_rules or [BrokenRule(path="", reason=problem.message)])
        if len(self) == 1 or len(broken) == 1:
            raise self[0]
        if broken:
            raise InvalidInput(f"the call breaks {len(broken)} rules; nothing was sent", tuple(broken))


def is_several(value: object) -> bool:
    """Returns whether a value is a list of values: any iterable except strings, bytes, mappings and attrs objects."""
    if isinstance(value, str | bytes | bytearray | memoryview | Mapping) or attrs.has(type(value)):
        return False
    return isinstance(value, Iterable)


class Unshapeable:
    """Replaces an argument that cannot be converted, and contains the reason. Only the client creates it."""

    __slots__ = ("says",)

    def __init__(self, says: str) -> None:
        self.says: str = says


@attrs.frozen
class WholeText:
    """The string is an integer of at most `most`, in decimal digits."""

    most: int


def broken_rules(declared: Any, data: Any, *, now: datetime.datetime, path: str = "") -> Report:
    """Returns every rule of `declared` that `data` breaks, in the order of the data.

    `declared` is an attrs class or any annotated type. `now` is the reference time for rules about the future. The
    result never quotes a value.
    """
    report: Report = []
    if not _is_unfit(data, path, report):
        checker(declared)(data, path, report, lambda: now)
    return report


def _is_unfit(value: Any, path: Path, report: Report) -> bool:
    if value.__class__ is not Unshapeable:
        return False
    report.append(BrokenRule(path=_text(path), reason=value.says))
    return True


_HOUR: Final = "(?:[01][0-9]|2[0-3])"
_SECONDS: Final = "[0-5][0-9](?:[.,][0-9]+)?"
_is_iso_8601: Final = re.compile(
    # The extended format with its hyphens and colons, or the basic one without any of them.
    rf"(?:[0-9]{{4}}-(?:[0-9]{{2}}-[0-9]{{2}}|W[0-9]{{2}}-[0-9])T{_HOUR}(?::[0-5][0-9](?::{_SECONDS})?)?(?:Z|[+-]{_HOUR}(?::[0-5][0-9])?)"
    rf"|[0-9]{{4}}(?:[0-9]{{4}}|W[0-9]{{3}})T{_HOUR}(?:[0-5][0-9](?:{_SECONDS})?)?(?:Z|[+-]{_HOUR}(?:[0-5][0-9])?))"
).fullmatch


def parse_iso_8601(text: str) -> datetime.datetime | None:
    """Returns the aware time of an ISO 8601 string with an offset, or None if it is not one.

    Python's parser accepts more forms, depending on its version: a space before the offset, a point without a fraction,
    hyphens in the date and no colons in the time.
    """
    if _is_iso_8601(text) is None:
        return None
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:  # there is no such day
        return None


@functools.lru_cache(maxsize=1024)
def parse_timestamp(text: str) -> datetime.datetime | None:
    """Returns the aware time of an ISO 8601 UTC string, or None if it is not one.

    Cached, because batches repeat a few values.
    """
    value = parse_iso_8601(text)
    return value if value is not None and value.utcoffset() == datetime.timedelta(0) else None


def moment_in_utc(value: datetime.datetime | str, subject: str = "") -> datetime.datetime:
    """Returns a caller's time in UTC, from any form that Python reads.

    Raises InvalidInput, with a message that starts with `subject`, for a string that is not a time, for a time without
    a zone, and for a time whose year in UTC is not from 1 to 9999.
    """
    why = NO_TIME
    with contextlib.suppress(ValueError, OverflowError):
        moment = datetime.datetime.fromisoformat(value) if isinstance(value, str) else value
        why = NO_TIME_ZONE
        if moment.utcoffset() is not None:
            why = "is out of range in UTC: its year must be from 1 to 9999"
            return moment.astimezone(datetime.UTC)
    raise InvalidInput(f"{subject}{why}")


def format_timestamp(value: datetime.datetime) -> str:
    """Returns an aware time as an ISO 8601 UTC string, for example `2026-01-31T09:00:00Z`.

    Fractions are included only if there are any. Raises InvalidInput as `moment_in_utc` does.
    """
    return moment_in_utc(value, "a time ").isoformat().replace("+00:00", "Z")


NO_TIME: Final = "is not an ISO 8601 time, for example 2026-01-31T09:00:00Z"
NO_TIME_ZONE: Final = "has no time zone, for example Z as in 2026-01-31T09:00:00Z"


@functools.cache
def checker(declared: Any) -> Check:
    """Returns the check of a type, compiled once because a batch has thousands of values of the same type."""
    if typing.get_origin(declared) is typing.Annotated:
        return _annotated(*typing.get_args(declared))
    if attrs.has(typing.get_origin(declared) or declared):
        return _object(declared)
    origin, arguments = typing.get_origin(declared), typing.get_args(declared)
    if origin is typing.Literal:
        values = frozenset(arguments)
        says = f"must be {'one of ' if len(arguments) > 1 else ''}{', '.join(map(str, arguments))}"
        # Not `in` alone, because True equals 1. A tuple of types: a union would be created on every call.
        return _Scalar(says, lambda v: isinstance(v, (str, int)) and not isinstance(v, bool) and v in values)
    if origin in (typing.Union, types.UnionType):
        # One member must pass. Otherwise, the rules of the first one are reported.
        checks = tuple(checker(member) for member in tuple(a for a in arguments if a is not Unset))

        def check(value: Any, path: Path, report: Report, now: Now) -> None:
            first: Report | None = None
            for each in checks:
                found: Report = []
                each(value, path, found, now)
                if not found:
                    return
                first = found if first is None else first
            report.extend(first or ())

        return check if len(checks) > 1 else checks[0]
    if origin in (tuple, list):
        return _array(checker(arguments[0]))
    return _parameters(declared) if typing.is_typeddict(declared) else _simple(declared, origin)


def _simple(declared: Any, origin: Any) -> Check:
    if origin in (dict, Mapping):
        return _open_object
    return _anything if declared is Any else _SCALARS[declared]


def _annotated(base: Any, *metadata: Any) -> Check:
    if isinstance(metadata[0], Tagged):
        return _tagged(members_by_tag(base, metadata[0].field), metadata[0].field)
    says_more = any(isinstance(item, Pattern) for item in metadata)  # about the same text
    rules = (item for item in metadata if not (says_more and isinstance(item, IsId)))
    return _all_of(checker(base), *(_CONSTRAINTS[type(rule)](rule) for rule in rules))


def _all_of(first: Check, *rest: Check) -> Check:
    """Returns a check of the type followed by the constraints, which need a value of that type."""
    scalars = [each for each in rest if isinstance(each, _Scalar)]
    if isinstance(first, _Scalar) and len(scalars) == len(rest):
        return _Constrained(first, *scalars)
    constraints = tuple((each.accepts if isinstance(each, _Scalar) else None, each) for each in rest)

    def check(value: Any, path: Path, report: Report, now: Now) -> None:
        before = len(report)
        first(value, path, report, now)
        if len(report) == before:
            for accepts, constraint in constraints:
                if accepts is None or not accepts(value):
                    constraint(value, path, report, now)

    return check


def _open_object(value: Any, path: Path, report: Report, now: Now) -> None:
    """Accepts an object with any names and values."""
    if isinstance(value, Mapping):
        _anything(value, path, report, now)
    else:
        report.append(BrokenRule(path=_text(path), reason="must be an object"))


def _anything(value: Any, path: Path, report: Report, now: Now) -> None:
    """Accepts everything but `Unshapeable`, at any depth."""
    waiting: collections.deque[tuple[Any, Path]] = collections.deque([(value, path)])
    while waiting:
        each, at = waiting.popleft()
        if each.__class__ is dict:
            waiting.extend((one, (at, printable_name(name))) for name, one in each.items())
        elif each.__class__ is list:
            waiting.extend((one, (at, index)) for index, one in enumerate(each))
        else:
            _is_unfit(each, at, report)


class _Scalar:
    """A rule about a single value, decided by one function."""

    __slots__ = ("accepts", "says")

    def __init__(self, says: str, accepts: Test) -> None:
        self.says = says
        self.accepts = accepts

    def __call__(self, value: Any, path: Path, report: Report, now: Now) -> None:
        if not self.accepts(value):
            report.append(BrokenRule(path=_text(path), reason=self.says))


class _Sized(_Scalar):
    """A bound on the number of characters of a string, or of items of an array."""

    __slots__ = ()

    def __call__(self, value: Any, path: Path, report: Report, now: Now) -> None:
        if not self.accepts(value):
            noun = "character" if isinstance(value, str) else "item"
            reason = f"{self.says} {noun}{'' if self.says.endswith(' 1') else 's'}"
            report.append(BrokenRule(path=_text(path), reason=reason))


class _Constrained:
    """A type with constraints on a single value. The most common case, one constraint, is faster, because a batch
    checks a hundred thousand hashes.
    """

    __slots__ = ("accepts", "constraints", "kind")

    def __init__(self, kind: _Scalar, *constraints: _Scalar) -> None:
        self.kind = kind
        self.constraints = constraints
        of_kind, within = kind.accepts, constraints[0].accepts
        self.accepts: Test = lambda value: of_kind(value) and within(value)
        if len(constraints) > 1:
            tests = [rule.accepts for rule in (kind, *constraints)]

            def accepts(value: Any) -> bool:
                for test in tests:  # noqa: SIM110  # a generator would cost as much as two tests
                    if not test(value):
                        return False
                return True

            self.accepts = accepts
        elif kind is _SCALARS[str]:
            self.accepts = lambda value: isinstance(value, str) and within(value)

    def __call__(self, value: Any, path: Path, report: Report, now: Now) -> None:
        if self.accepts(value):
            return
        if not self.kind.accepts(value):
            self.kind(value, path, report, now)
            return
        for constraint in self.constraints:
            constraint(value, path, report, now)


def text_tests(declared: Any) -> tuple[Test, ...]:
    """Returns the functions that check whether a string follows the rules of a type, for callers with many strings.

    Raises TypeError for a type that is not a string type.
    """
    check = checker(declared)
    if isinstance(check, _Constrained) and check.kind is _SCALARS[str]:
        return tuple(constraint.accepts for constraint in check.constraints)
    if check is _SCALARS[str]:
        return ()
    if isinstance(check, _Scalar) and check not in _SCALARS.values():  # an enumeration
        return (check.accepts,)
    raise TypeError(f"{declared!r} is not a string type")


_SCALARS: Final[Mapping[Any, Check]] = {
    str: _Scalar("must be a string", lambda v: isinstance(v, str)),
    bool: _Scalar("must be true or false", lambda v: isinstance(v, bool)),
    int: _Scalar("must be a whole number", lambda v: isinstance(v, int) and not isinstance(v, bool)),
    float: _Scalar("must be a number", lambda v: isinstance(v, int | float) and not isinstance(v, bool)),
    type(None): _Scalar("must be null", lambda v: v is None),
    datetime.datetime: _Scalar(
        "must be an ISO 8601 time in UTC, for example 2026-01-31T09:00:00Z",
        lambda v: isinstance(v, str) and parse_timestamp(v) is not None,
    ),
}


def members_by_tag(union: Any, field: str) -> Mapping[str, Any]:
    """Returns the classes of a union by their tags."""
    members = {}
    for member in typing.get_args(union):
        attrs.resolve_types(member, include_extras=True)
        (tag,) = typing.get_args(attrs.fields_dict(member)[field].type)
        members[tag] = member
    return members


def _tagged(members: Mapping[str, Any], field: str) -> Check:
    checks: dict[str, Check] = {}  # compiled on first use, because a class may contain itself
    says = f"must be one of {', '.join(members)}"

    def check(value: Any, path: Path, report: Report, now: Now) -> None:
        if not isinstance(value, Mapping):
            report.append(BrokenRule(path=_text(path), reason="must be an object"))
            return
        tag = value.get(field)
        if not isinstance(tag, str) or tag not in members:
            missing = field not in value
            reason, code = ("is required", "MISSING_PARAMETER") if missing else (says, "INVALID_PARAMETER")
            report.append(BrokenRule(path=_text((path, field)), reason=reason, code=code))  # type: ignore[arg-type]  # one of two
            return
        if tag not in checks:
            checks[tag] = checker(members[tag])
        checks[tag](value, path, report, now)

    return check


def _array(item: Check) -> Check:
    accepts = item.accepts if isinstance(item, _Scalar | _Constrained) else None

    def check(value: Any, path: Path, report: Report, now: Now) -> None:
        # A tuple of types: a union would be created on every call.
        if not isinstance(value, (list, tuple)):
            report.append(BrokenRule(path=_text(path), reason="must be an array"))
            return
        if accepts is not None and all(map(accepts, value)):
            return
        for index, each in enumerate(value):
            if not _is_unfit(each, (path, index), report):
                item(each, (path, index), report, now)

    return check


def _pattern(rule: Pattern) -> Check:
    # JSON Schema uses the same expressions and has no other notation for "any character". In Python, the replacement is
    # equivalent and skips a long string in one step.
    expression = rule.expression.replace(r"[\s\S]", "(?s:.)")
    return _Scalar(rule.says, re.compile(expression).fullmatch)


def _whole_text(rule: WholeText) -> Check:
    digits = len(str(rule.most))

    def accepts(value: str) -> bool:
        # Long strings are not converted, because that takes quadratic time.
        is_whole = value.isascii() and value.isdecimal() and len(value.lstrip("0")) <= digits
        return is_whole and int(value.lstrip("0") or "0") <= rule.most

    return _Scalar(f"must be a whole number of at most {rule.most}", accepts)


def _conditions(rule: Conditions) -> Check:
    def check(value: Any, path: Path, report: Report, now: Now) -> None:
        report.extend(attrs.evolve(each, path=_text((path, each.path))) for each in rule.check(value, now()))

    return check


_CONSTRAINTS: Final[Mapping[type, Callable[[Any], Check]]] = {
    Conditions: _conditions,
    IsId: lambda _: _Scalar("must not be empty", lambda v: not v.isspace() and v != ""),
    Pattern: _pattern,
    WholeText: _whole_text,
    annotated_types.Ge: lambda r: _Scalar(f"must be at least {r.ge}", lambda v: v >= r.ge),
    annotated_types.Gt: lambda r: _Scalar(f"must be greater than {r.gt}", lambda v: v > r.gt),
    annotated_types.Le: lambda r: _Scalar(f"must be at most {r.le}", lambda v: v <= r.le),
    annotated_types.Lt: lambda r: _Scalar(f"must be less than {r.lt}", lambda v: v < r.lt),
    annotated_types.MinLen: lambda r: _Sized(f"must have at least {r.min_length:,}", lambda v: len(v) >= r.min_length),
    annotated_types.MaxLen: lambda r: _Sized(f"must have at most {r.max_length:,}", lambda v: len(v) <= r.max_length),
}


def _object(declared: Any) -> Check:
    cls = typing.get_origin(declared) or declared
    attrs.resolve_types(cls, include_extras=True)
    fields = attrs.fields(cls)
    is_open = any(field.name == "extra" for field in fields)
    checks = {wire_name(field): checker(field.type) for field in fields if field.name != "extra"}
    conditions: list[Condition] = []
    if (alternatives := getattr(cls, "alternatives", None)) is not None:
        conditions.append(lambda data, _: alternatives.broken(data))
    if hasattr(cls, "conditions"):
        conditions.append(cls.conditions)
    return _record(checks, required_fields(cls), is_open=is_open, conditions=conditions)


def required_fields(cls: Any) -> tuple[str, ...]:
    """Returns the names of a class's fields that a request must have: fields without a default, and fields that the
    client fills in, which are `required` in their metadata.
    """
    fields = attrs.fields(cls)
    return tuple(wire_name(each) for each in fields if each.default is attrs.NOTHING or each.metadata.get("required"))


def _parameters(declared: Any) -> Check:
    """Returns the check of a TypedDict. Other parameters are allowed if it has a key `extra`."""
    hints = typing.get_type_hints(declared, include_extras=True)
    is_open = hints.pop("extra", None) is not None
    required = tuple(sorted(declared.__required_keys__ - {"extra"}))
    return _record({name: checker(value_type(kind)) for name, kind in hints.items()}, required, is_open=is_open)


def value_type(kind: Any) -> Any:
    """Returns T for `Required[T]` and `NotRequired[T]`. The class records separately which keys are required."""
    return typing.get_args(kind)[0] if typing.get_origin(kind) in (typing.Required, typing.NotRequired) else kind


UNKNOWN_FIELD: Final = "is not a field of this object"


def _record(
    checks: Mapping[str, Check],
    required: tuple[str, ...],
    *,
    is_open: bool,
    conditions: Sequence[Condition] = (),
) -> Check:
    def check(value: Any, path: Path, report: Report, now: Now) -> None:
        # The test for the abstract class is slow.
        if type(value) is not dict and not isinstance(value, Mapping):
            report.append(BrokenRule(path=_text(path), reason="must be an object"))
            return
        before = len(report)
        for name in required:
            if name not in value:
                report.append(BrokenRule(path=_text((path, name)), reason="is required", code="MISSING_PARAMETER"))
        for name, each in value.items():
            if each.__class__ is Unshapeable:
                _is_unfit(each, (path, printable_name(name)), report)
            elif (field_check := checks.get(name)) is not None:
                field_check(each, (path, name), report, now)
            elif is_open:
                _anything(each, (path, printable_name(name)), report, now)
            else:
                report.append(BrokenRule(path=_text((path, printable_name(name))), reason=UNKNOWN_FIELD))
        if conditions and len(report) == before:
            report.extend(
                attrs.evolve(rule, path=_text((path, rule.path) if rule.path else path))
                for condition in conditions
                for rule in condition(value, now())
            )

    return check


def printable_name(name: object) -> str:
    """Returns a name for a message, or a replacement if the name looks like personal data, such as an e-mail address."""
    return name if isinstance(name, str) and _NAME.fullmatch(name) else NOT_SHOWN


NOT_SHOWN: Final = "(a name that is not shown)"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")


def wire_name(field: "attrs.Attribute[Any]") -> str:
    """Returns the JSON name of a field: its own name, or the name in its metadata."""
    name: str = field.metadata.get("name", field.name)
    return name


def _text(path: Path) -> str:
    """Returns the path as a string, for example `[3].params.users[0].email[1]`."""
    if isinstance(path, str):
        return path
    before, step = _text(path[0]), path[1]
    if isinstance(step, int):
        return f"{before}[{step}]"
    return f"{before}.{step}" if before else step
