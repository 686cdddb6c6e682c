"""An extension of Griffe, by which the API reference shows the fields of an attrs class as what it
is made of.

A field becomes a parameter of the class, with its default. It is described by itself only where it
has a docstring.
"""

import ast
from typing import Any, Final

import griffe

WHERE_KEPT: Final = frozenset({"class-attribute", "instance-attribute", "module-attribute"})
"""Labels of attributes that say nothing to those who use them."""
DECORATORS: Final = ("attrs.define", "attrs.frozen")


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
        if is_given and not str(member.annotation).startswith("ClassVar"):
            kinds = griffe.ParameterKind
            kind = kinds.keyword_only if is_keyword_only or is_keyword else kinds.positional_or_keyword
            found[member.name] = griffe.Parameter(member.name, annotation=member.annotation, kind=kind, default=default)
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


def _constructor(cls: griffe.Class, parameters: dict[str, griffe.Parameter]) -> griffe.Function:
    required_first = sorted(parameters.values(), key=lambda each: each.kind is griffe.ParameterKind.keyword_only)
    this = griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)
    signature = griffe.Parameters(this, *required_first)
    return griffe.Function("__init__", lineno=cls.lineno, endlineno=cls.endlineno, parent=cls, parameters=signature)
