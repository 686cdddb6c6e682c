"""Type checks for arguments that are not sent, such as the options of jobs and streams.

Arguments that are sent are validated by the rules of the models.
"""

import ast
import datetime
import functools
import importlib
import inspect
import itertools
import os
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from socialapi.config import is_file_path
from socialapi.internal.records import accepted_type
from socialapi.internal.unset import UNSET
from socialapi.models.spelling import near_name
from socialapi.models.validation import Faults, invalid, printable_name

_SAYS: Final[Mapping[Any, str]] = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    type(None): "None",
    datetime.datetime: "a datetime",
    os.PathLike: "a path",
    Mapping: "a mapping",
    Sequence: "a list",
    Callable: "a function",
}


def right_arguments(declared: Any, given: Mapping[str, Any], faults: Faults) -> dict[str, Any]:
    """Returns the keywords that the TypedDict declares and whose values have the declared types. Reports the others as
    errors.
    """
    kinds, right = typing.get_type_hints(declared), dict[str, Any]()
    for name, value in given.items():
        with faults:
            if name not in kinds:
                meant = near_name(name, tuple(kinds))
                hint = f": did you mean {meant}?" if meant else f"; the options are {', '.join(kinds)}"
                raise invalid(printable_name(name), f"is not an option{hint}")
            check_argument(name, kinds[name], value)
            right[name] = value
    return right


def check_further(method: Callable[..., Any], further: Mapping[str, Any]) -> None:
    """Raises InvalidInput for an extra keyword that looks like a misspelled parameter."""
    if not further:
        return
    parameters = inspect.signature(method).parameters.values()
    declared = tuple(each.name for each in parameters if each.kind in _NAMED)
    misspelled = [(printable_name(name), meant) for name in further if (meant := near_name(name, declared)) is not None]
    Faults(invalid(name, f"is not a parameter: did you mean {meant}?") for name, meant in misspelled).refuse()


_NAMED: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def check_argument(name: str, kind: Any, value: object) -> None:
    """Raises InvalidInput for a value of the wrong type.

    The message contains the argument's name, not its value. A path must also be a valid file path.
    """
    members = _members(kind)
    if value.__class__ not in members and not any(_is_of(value, member) for member in members):
        says = " or ".join(dict.fromkeys(_SAYS.get(_base(member), _base(member).__name__) for member in members))
        raise invalid(name, f"must be {says}, not {type(value).__name__}")
    is_path = isinstance(value, str | os.PathLike) and os.PathLike in map(_base, members)
    if is_path and not is_file_path(value):
        raise invalid(name, "must be a path that is not empty and contains neither NUL nor an unpaired surrogate")


@functools.cache
def _members(kind: Any) -> tuple[Any, ...]:
    """Returns the types that a value may have: the members of a union, or the types of a Literal's values."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return tuple(member for argument in arguments for member in _members(argument))
    if origin is typing.Literal:
        return tuple(dict.fromkeys(map(type, arguments)))
    return (kind,)


def _base(kind: Any) -> Any:
    return typing.get_origin(kind) or kind


def _is_of(value: object, kind: Any) -> bool:
    base, arguments = _base(kind), typing.get_args(kind)
    if base is Callable:
        return callable(value) and not inspect.isclass(value)
    if base in (int, float) and isinstance(value, bool):
        return False
    if base is float:
        return isinstance(value, int | float)
    if base is Mapping:
        return isinstance(value, Mapping) and all(_has_types(item, arguments) for item in value.items())
    if base is Sequence:
        return (
            isinstance(value, Sequence)
            and not isinstance(value, str | bytes | bytearray | memoryview)
            and all(_has_types((each,), arguments) for each in value)
        )
    return base is Any or isinstance(value, base)


def _has_types(values: Sequence[object], kinds: Sequence[Any]) -> bool:
    return not kinds or all(
        any(_is_of(value, member) for member in _members(kind)) for value, kind in zip(values, kinds, strict=True)
    )


# What `help()` shows ------------------------------------------------------------------------------

_DEFAULTS: Final[Mapping[str, tuple[str, ...]]] = {
    "UploadKeywords": ("socialapi.bulk.audiences.job:UploadOptions",),
    "AudienceUploadKeywords": ("socialapi.bulk.audiences.job:UploadOptions",),
    "SyncKeywords": ("socialapi.bulk.sync.reading:SyncOptions",),
    "LintKeywords": ("socialapi.bulk.audiences.job:UploadOptions", "socialapi.bulk.linting.linter:lint_records"),
    "UpsertKeywords": ("socialapi.bulk.products.job:UpsertOptions",),
    "ProductLintKeywords": ("socialapi.bulk.linting.product_linter:lint_products",),
}
"""For each TypedDict of options: the classes and functions that hold the default values."""


def show_options(function: Any) -> None:
    """Makes `help()`, IPython and editors show the keywords that a method accepts through a TypedDict.

    They are computed on access, because computing them takes longer than importing the method.
    """
    for kind in function.__annotations__.values():
        if typing.get_origin(kind) is typing.Unpack:
            (declared,) = typing.get_args(kind)
            function.__signature__ = _OptionsSignature(inspect.signature(function), declared)
            function.__doc__ = text = _OptionsText(function.__doc__ or "")
            text.declared = declared
            return


class _OptionsSignature(inspect.Signature):
    """A signature that lists the keywords of a TypedDict in place of `**`."""

    __slots__ = ("_declared", "_plain")

    def __init__(self, plain: inspect.Signature, declared: Any) -> None:
        self._plain, self._declared = plain, declared
        super().__init__(list(plain.parameters.values()), return_annotation=plain.return_annotation)

    @property
    def parameters(self) -> types.MappingProxyType[str, inspect.Parameter]:
        """The parameters by name."""
        defaults = dict.fromkeys(self._declared.__required_keys__, inspect.Parameter.empty)
        defaults |= _defaults_of(self._declared)
        plain = [each for each in self._plain.parameters.values() if each.kind is not each.VAR_KEYWORD]
        named = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=defaults.get(name, UNSET),
                annotation=accepted_type(kind),
            )
            for name, kind in typing.get_type_hints(self._declared, include_extras=True).items()
            if name.isidentifier() and name not in self._plain.parameters
        ]
        return inspect.Signature([*plain, *named]).parameters

    def replace(self, **changes: Any) -> inspect.Signature:  # type: ignore[override]
        """Returns a signature with different parameters, for example for a bound method."""
        return inspect.Signature(list(self.parameters.values()), return_annotation=self.return_annotation).replace(
            **changes
        )


class _OptionsText(str):
    """A docstring with a sentence about each keyword. The sentences are read from the source when the docstring is
    cleaned.
    """

    __slots__ = ("declared",)
    declared: Any

    def expandtabs(self, tabsize: typing.SupportsIndex = 8) -> str:
        """Returns the cleaned docstring, followed by the sentences. `inspect.getdoc` calls this first."""
        plain = inspect.cleandoc(str(self))
        said = [f"{name}: {' '.join(text.split())}" for name, text in _sentences(self.declared).items()]
        return "\n".join([plain, "", "Options:", "", *said]) if said else plain


def _defaults_of(declared: Any) -> Mapping[str, Any]:
    found: dict[str, Any] = {"progress": False}  # jobs take `on_progress` instead
    for path in _DEFAULTS.get(declared.__name__, ()):
        module, _, name = path.partition(":")
        parameters = inspect.signature(getattr(importlib.import_module(module), name)).parameters.values()
        found |= {each.name: each.default for each in parameters if isinstance(each.default, str | int | float | None)}
    return found


@functools.cache
def _sentences(declared: Any) -> Mapping[str, str]:
    """Returns the docstring below each key of a TypedDict and its bases, or nothing if the source is not available."""
    module = sys.modules[declared.__module__]
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, SyntaxError):
        return {}
    made = next((node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == declared.__name__), None)
    found = dict[str, str]()
    if made is not None:
        for base in made.bases:
            extended = getattr(module, base.id, None) if isinstance(base, ast.Name) else None
            found |= _sentences(extended) if typing.is_typeddict(extended) else {}
        for key, text in itertools.pairwise(made.body):
            if isinstance(key, ast.AnnAssign) and isinstance(key.target, ast.Name) and isinstance(text, ast.Expr):
                found[key.target.id] = ast.literal_eval(text.value)
    return found
