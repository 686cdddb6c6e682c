"""An extension of Griffe, by which the API reference shows what a user passes.

A field of an attrs class becomes a parameter of the class, with its default. It is described by
itself only where it has a docstring. The keywords of a TypedDict take the place of `**options` in
the signature of a method, and their sentences follow its docstring. Types are those that callers
may pass: that of a converter in place of what it makes, and none of the rules of a request.
"""

import ast
import contextlib
from collections.abc import Mapping
from typing import Any, Final

import griffe

WHERE_KEPT: Final = frozenset({"class-attribute", "instance-attribute", "module-attribute"})
"""Labels of attributes that say nothing to those who use them."""
DECORATORS: Final = ("attrs.define", "attrs.frozen")
DEFAULTS: Final = "resources.arguments._DEFAULTS"
"""Where the package names the classes with the defaults of options."""


class AttrsFields(griffe.Extension):
    """Gives attrs classes the signature that attrs generates."""

    def on_attribute(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Takes labels away that say nothing to those who use an attribute."""
        attr.labels -= WHERE_KEPT

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Goes through a package that has been read."""
        classes = _classes_of(pkg)
        signatures = {each.path: _parameters(each) for each in classes if _decorator(each) is not None}
        for each in classes:
            if parameters := signatures.get(each.path):
                each.set_member("__init__", _constructor(each, parameters))
        for each in classes:
            for name in signatures.get(each.path, {}):
                if name in each.members and each.members[name].docstring is None:
                    each.del_member(name)
        known = {
            name: _defaults(pkg, paths, signatures)
            for name, paths in ast.literal_eval(str(pkg[DEFAULTS].value)).items()
        }
        members = [member for each in classes for member in each.members.values()]
        for member in members:
            if isinstance(member, griffe.Function):
                _show_options(member, known)
        for member in members:
            if isinstance(member, griffe.Attribute):
                member.annotation = _accepted(member.annotation)


def _defaults(
    pkg: griffe.Module, paths: tuple[str, ...], signatures: Mapping[str, Mapping[str, griffe.Parameter]]
) -> dict[str, griffe.Parameter]:
    """The parameters of classes and functions, by name."""
    found: dict[str, griffe.Parameter] = {}
    for path in (each.replace(":", ".") for each in paths):
        function = pkg.modules_collection[path]
        found |= signatures.get(path) or {each.name: each for each in function.parameters}
    return found


def _show_options(function: griffe.Function, defaults: Mapping[str, Mapping[str, griffe.Parameter]]) -> None:
    """Puts the keywords of a TypedDict in the place of `**`, and their sentences below the docstring."""
    shown, said = list[griffe.Parameter](), list[str]()
    for each in function.parameters:
        declared = _unpacked(each)
        if declared is None:
            each.annotation = _accepted(each.annotation)
            shown.append(each)
            continue
        options = _options(declared, defaults.get(declared.name, {}))
        shown += [parameter for parameter, _ in options if parameter.name not in function.parameters]
        said += [f"- `{parameter.name}`: {' '.join(text.split())}" for parameter, text in options if text]
    function.parameters = griffe.Parameters(*shown)
    if said and function.docstring is not None:
        function.docstring.value = "\n".join([function.docstring.value, "", "Options:", "", *said])


def _unpacked(parameter: griffe.Parameter) -> griffe.Class | None:
    """The TypedDict whose keywords a parameter takes."""
    annotation = parameter.annotation
    if isinstance(annotation, griffe.ExprSubscript) and str(annotation.left) == "Unpack":
        declared = _found(annotation.slice)
        return declared if isinstance(declared, griffe.Class) else None
    return None


def _options(declared: griffe.Class, known: Mapping[str, griffe.Parameter]) -> list[tuple[griffe.Parameter, str]]:
    """The keywords of a TypedDict as parameters, with their sentences."""
    found: dict[str, tuple[griffe.Parameter, str]] = {}
    for cls in [*reversed(declared.mro()), declared]:
        for key, member in cls.members.items():
            if isinstance(member, griffe.Attribute) and key.isidentifier():
                is_required = str(member.annotation).startswith("Required[")
                default = known[key].default if key in known else None if is_required else "UNSET"
                kind = griffe.ParameterKind.keyword_only
                parameter = griffe.Parameter(key, annotation=_accepted(member.annotation), kind=kind, default=default)
                found[key] = parameter, member.docstring.value if member.docstring else ""
    return list(found.values())


def _accepted(kind: Any) -> Any:
    """What callers may pass where a request has this type, as `socialapi.internal.records` says it."""
    if isinstance(kind, griffe.ExprBinOp):
        return griffe.ExprBinOp(_accepted(kind.left), kind.operator, _accepted(kind.right))
    if isinstance(kind, griffe.ExprName):
        alias = _found(kind)
        value = alias.value if isinstance(alias, griffe.Attribute) else None
        is_rule = str(value).startswith(("Annotated[", "ListOf[", "AnyId")) or kind.name == "AnyId"
        return _accepted(value) if is_rule else kind
    return _accepted_subscript(kind) if isinstance(kind, griffe.ExprSubscript) else kind


def _accepted_subscript(kind: griffe.ExprSubscript) -> Any:
    first, *rules = kind.slice.elements if isinstance(kind.slice, griffe.ExprTuple) else [kind.slice]
    if kind.canonical_name == "ListOf":
        item = _accepted(first)
        return griffe.ExprBinOp(item, "|", griffe.ExprSubscript("Sequence", item))
    if kind.canonical_name == "ObjectOf":
        members = griffe.ExprTuple(["str", "Any"], implicit=True)
        return griffe.ExprBinOp(_accepted(first), "|", griffe.ExprSubscript("Mapping", members))
    if kind.canonical_name in ("Annotated", "Required"):
        is_id = "IsId()" in map(str, rules)
        return griffe.ExprBinOp("str", "|", "int") if is_id else _accepted(first)
    return kind


def _found(name: Any) -> griffe.Object | None:
    """What a name of this package stands for."""
    if isinstance(name, griffe.ExprName) and name.canonical_path.startswith("socialapi."):
        with contextlib.suppress(KeyError, griffe.AliasResolutionError):
            found = name.parent.modules_collection[name.canonical_path]
            return found.final_target if found.is_alias else found
    return None


def _classes_of(within: griffe.Module | griffe.Class) -> list[griffe.Class]:
    own = [each for each in within.members.values() if not each.is_alias]
    found = [each for each in own if isinstance(each, griffe.Class)]
    inner = [each for each in own if isinstance(each, griffe.Class | griffe.Module)]
    return found + [deep for each in inner for deep in _classes_of(each)]


def _decorator(cls: griffe.Class) -> str | None:
    """The decorator of attrs that a class has, as it is written."""
    return next((text for each in cls.decorators if (text := str(each.value)).startswith(DECORATORS)), None)


def _parameters(cls: griffe.Class) -> dict[str, griffe.Parameter]:
    """What a class is made of, by name. Where all is given by name, the fields of the class itself
    come first.
    """
    inherited: dict[str, griffe.Parameter] = {}
    for base in reversed(cls.mro()):
        if _decorator(base) is not None:
            inherited |= _own_parameters(base)
    own = _own_parameters(cls)
    is_by_name = all(each.kind is griffe.ParameterKind.keyword_only for each in own.values())
    return own | inherited | own if is_by_name else inherited | own


def _own_parameters(cls: griffe.Class) -> dict[str, griffe.Parameter]:
    is_keyword_only = "kw_only=True" in (_decorator(cls) or "")
    found: dict[str, griffe.Parameter] = {}
    for member in cls.members.values():
        if not isinstance(member, griffe.Attribute) or member.annotation is None or "property" in member.labels:
            continue
        if member.name.startswith("_"):  # of ours, though attrs takes it
            continue
        is_given, default, is_keyword = _field(member)
        constant = _found(member.value)
        if isinstance(constant, griffe.Attribute) and default != "UNSET":
            default = str(constant.value)
        if is_given and not str(member.annotation).startswith("ClassVar"):
            kinds = griffe.ParameterKind
            kind = kinds.keyword_only if is_keyword_only or is_keyword else kinds.positional_or_keyword
            annotation = _accepted(_converted(member) or member.annotation)
            found[member.name] = griffe.Parameter(member.name, annotation=annotation, kind=kind, default=default)
    return found


def _field(member: griffe.Attribute) -> tuple[bool, str | None, bool]:
    """Whether a field is given when an object is made, its default as it is shown, and whether only
    by name.
    """
    value = None if member.value is None else ast.parse(str(member.value), mode="eval").body
    if not isinstance(value, ast.Call):
        return True, None if value is None else ast.unparse(value), False
    maker = ast.unparse(value.func)
    if maker.startswith("_"):  # a function that makes fields of one kind
        return True, "None" if "None" in str(member.annotation) else None, False
    if maker != "attrs.field":
        return True, ast.unparse(value), False
    options = {each.arg: ast.unparse(each.value) for each in value.keywords}
    default = options.get("default", f"{options['factory']}()" if "factory" in options else None)
    return options.get("init") != "False", default, options.get("kw_only") == "True"


def _converted(member: griffe.Attribute) -> Any:
    """What the converter of a field takes."""
    options = getattr(member.value, "arguments", [])
    converter = next((_found(each.value) for each in options if getattr(each, "name", "") == "converter"), None)
    return converter.parameters[0].annotation if isinstance(converter, griffe.Function) else None


def _constructor(cls: griffe.Class, parameters: dict[str, griffe.Parameter]) -> griffe.Function:
    required_first = sorted(parameters.values(), key=lambda each: each.kind is griffe.ParameterKind.keyword_only)
    this = griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)
    signature = griffe.Parameters(this, *required_first)
    return griffe.Function("__init__", lineno=cls.lineno, endlineno=cls.endlineno, parent=cls, parameters=signature)
