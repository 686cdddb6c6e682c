"""JSON Schemas of the declared types: the models, and the rules of their fields."""

import datetime
import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final, Literal

import attrs
from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen

from socialapi.internal.unset import Unset
from socialapi.models.accounts import AnyFeatureKey, FeaturesAdded
from socialapi.models.content import ArticleDraft
from socialapi.models.events import DEPRECATED_EVENT_TYPES, EVENT_TYPE_ALIASES, EventType, SubscriptionDraft
from socialapi.models.oauth import AppOnlyTokenRequest, InvalidateTokenRequest, OAuth2TokenRequest
from socialapi.models.posts import PostDraft
from socialapi.models.products import MAX_PRODUCTS, Product, ProductsBody
from socialapi.models.validation import (
    Alternatives,
    IsId,
    Pattern,
    Tagged,
    WholeText,
    members_by_tag,
    required_fields,
    value_type,
    wire_name,
)

Schema = dict[str, Any]

_SCALARS: Final[Mapping[Any, Schema]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer", "format": "int64", "minimum": -(2**63), "maximum": 2**63 - 1},
    float: {"type": "number"},
    type(None): {"type": "null"},
    datetime.datetime: {
        "type": "string",
        "format": "date-time",
        "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T.*(Z|\+00:00)$",
    },
}

_ALSO_BLANK: Final = r"\u001c-\u001f\u0085"
"""Characters that are whitespace in Python's regular expressions, but not in those of JSON Schema."""
_NOT_BLANK: Final = rf"[^\s{_ALSO_BLANK}]"

_EVENT_TYPES: Final = (*typing.get_args(EventType), *DEPRECATED_EVENT_TYPES, *EVENT_TYPE_ALIASES)
_NARROWED: Final[Mapping[tuple[type, str], Any]] = {
    (ArticleDraft, "title"): Annotated[str, IsId()],
    (FeaturesAdded, "feature_keys"): Annotated[tuple[AnyFeatureKey, ...], MinLen(1)],
    (InvalidateTokenRequest, "access_token"): Annotated[str, MinLen(1)],
    (SubscriptionDraft, "event_type"): Literal[_EVENT_TYPES],
    (ProductsBody, "products"): Annotated[tuple[Product, ...], MinLen(1), MaxLen(MAX_PRODUCTS)],
}
"""The types of fields whose values the handlers check more strictly than the declarations do."""

MORE_RULES: Final = "Other rules span several fields. A refusal lists every broken rule."


class JsonSchemas:
    """The JSON Schemas of types. Each class is described once, as the component with its name."""

    def __init__(self) -> None:
        self.components: dict[str, Schema] = {}
        self._classes: dict[str, Any] = {}

    def of(self, declared: Any) -> Schema:
        """Returns the schema of a type, with its rules."""
        origin, arguments = typing.get_origin(declared), typing.get_args(declared)
        cls = origin or declared
        if origin is typing.Annotated:
            return self._annotated(*arguments)
        if origin in (typing.Union, types.UnionType):
            return self._union([member for member in arguments if member is not Unset])
        if origin in (tuple, list):
            return {"type": "array", "items": self.of(arguments[0])}
        if attrs.has(cls) or typing.is_typeddict(cls):
            return self._component(cls)
        return _simple(declared, origin, arguments)

    def properties(self, cls: Any) -> dict[str, Schema]:
        """Returns the schemas of the fields of a class, by wire name."""
        return {name: self.of(kind) for name, kind in fields_of(cls).items()}

    def _component(self, cls: Any) -> Schema:
        name = cls.__name__
        if name not in self._classes:
            self._classes[name] = cls
            self.components[name] = {}  # a class may contain itself
            self.components[name] = self._object(cls)
        if self._classes[name] is not cls:
            raise TypeError(f"there are two classes named {name}")
        return {"$ref": f"#/components/schemas/{name}"}

    def _object(self, cls: Any) -> Schema:
        described = " ".join(inspect.cleandoc(cls.__doc__ or "").split())
        if hasattr(cls, "conditions"):
            described += f" {MORE_RULES}"
        schema: Schema = {"type": "object", "description": described, "properties": self.properties(cls)}
        if required := required_of(cls):
            schema["required"] = required
        if not is_open(cls):
            schema["additionalProperties"] = False
        return schema | _given_alternatives(cls)

    def _annotated(self, base: Any, *rules: Any) -> Schema:
        if isinstance(rules[0], Tagged):
            field = rules[0].field
            members = {tag: self.of(member) for tag, member in members_by_tag(base, field).items()}
            for tag, reference in members.items():
                # The field has a default in Python, but is required on the wire to distinguish the classes.
                component = self.components[reference["$ref"].rpartition("/")[2]]
                component["required"] = list(dict.fromkeys((*component.get("required", ()), field)))
                component["properties"][field] = {"const": tag}
            mapping = {tag: reference["$ref"] for tag, reference in members.items()}
            return {"oneOf": list(members.values()), "discriminator": {"propertyName": field, "mapping": mapping}}
        schema = self.of(base)
        for rule in rules:
            schema = _constrained(schema, rule)
        return schema

    def _union(self, members: Sequence[Any]) -> Schema:
        known = [member for member in members if typing.get_origin(member) is Literal]
        if str in members and known:
            rest = self._union([member for member in members if member not in known])
            return rest | {"examples": [value for member in known for value in typing.get_args(member)]}
        schemas = [self.of(member) for member in members]
        return schemas[0] if len(schemas) == 1 else _either(schemas)


def _given_alternatives(cls: Any) -> Schema:
    """Returns the keywords for alternative fields: whether one is required, and whether more than one is allowed."""
    alternatives: Alternatives | None = getattr(cls, "alternatives", None)
    if alternatives is None:
        return {}
    each = [{"required": [name]} for name in alternatives.names]
    if not alternatives.exclusive:
        return {"anyOf": each}
    return {"oneOf": each if alternatives.required else [*each, {"not": {"anyOf": each}}]}


def _simple(declared: Any, origin: Any, arguments: Sequence[Any]) -> Schema:
    if origin is Literal:
        return {"type": "integer" if isinstance(arguments[0], int) else "string", "enum": list(arguments)}
    if declared in _SCALARS:
        return dict(_SCALARS[declared])
    return {"type": "object"} if isinstance(origin, type) and issubclass(origin, Mapping) else {}


def _either(schemas: Sequence[Schema]) -> Schema:
    null = _SCALARS[type(None)]
    first = schemas[0]
    if len(schemas) == 2 and schemas[1] == null and "type" in first:
        nullable = first | {"type": [first["type"], "null"]}
        return nullable | {"enum": [*first["enum"], None]} if "enum" in first else nullable
    return {"anyOf": list(schemas)}


def fields_of(cls: Any) -> dict[str, Any]:
    """Returns the types of the fields by wire name, as the emulator accepts them."""
    if typing.is_typeddict(cls):
        hints = typing.get_type_hints(cls, include_extras=True)
        declared = {name: value_type(kind) for name, kind in hints.items() if name != "extra"}
    else:
        attrs.resolve_types(cls, include_extras=True)
        fields = [field for field in attrs.fields(cls) if field.init and field.name != "extra"]
        declared = {wire_name(field): field.type for field in fields}
    return {name: _NARROWED.get((cls, name), kind) for name, kind in declared.items()}


def required_of(cls: Any) -> list[str]:
    """Returns the names of the required fields."""
    if typing.is_typeddict(cls):
        required: frozenset[str] = cls.__required_keys__
        return sorted(required - {"extra"})
    return list(required_fields(cls))


_OPEN_FORMS: Final = (AppOnlyTokenRequest, InvalidateTokenRequest, OAuth2TokenRequest)
"""The forms whose unknown parameters are ignored (RFC 6749, section 3.2)."""


def is_open(cls: Any) -> bool:
    """Returns whether objects may have undeclared fields."""
    if cls in _OPEN_FORMS:
        return True
    if cls is PostDraft:
        return False  # the handler refuses unknown fields
    if typing.is_typeddict(cls):
        return "extra" in cls.__annotations__
    return any(field.name == "extra" for field in attrs.fields(cls))


def _constrained(schema: Schema, rule: Any) -> Schema:
    for kind, keywords in _KEYWORDS.items():
        if isinstance(rule, kind):
            return _merged(schema, keywords(rule))
    if isinstance(rule, MinLen):
        return schema | {"minItems" if schema["type"] == "array" else "minLength": rule.min_length}
    if isinstance(rule, MaxLen):
        return schema | {"maxItems" if schema["type"] == "array" else "maxLength": rule.max_length}
    return schema | {"description": MORE_RULES} if "$ref" not in schema else schema


def _merged(schema: Schema, keywords: Schema) -> Schema:
    """Returns the schema with these keywords added. They override its own keywords. If both have a pattern, both
    patterns apply, unless the schema's own pattern belongs to a format or only requires a nonblank string.
    """
    if "pattern" in schema and "pattern" in keywords and "format" not in schema and schema["pattern"] != _NOT_BLANK:
        return schema | {"allOf": [*schema.get("allOf", ()), keywords]}
    return schema | keywords


_BLANKS_IN_PATTERN: Final = re.compile(r"\[(?:\\.|[^\]\\])*\]|\\[sS]")


def portable_pattern(expression: str) -> str:
    """Returns a regular expression for complete strings, in a form that every JSON Schema validator interprets the same
    way.
    """
    return f"^(?:{_BLANKS_IN_PATTERN.sub(_portable_blanks, expression)})$"


def _portable_blanks(found: re.Match[str]) -> str:
    text = found[0]
    if text == r"\S":
        return _NOT_BLANK
    if text == r"\s":
        return rf"[\s{_ALSO_BLANK}]"
    return text if r"\S" in text else text.replace(r"\s", rf"\s{_ALSO_BLANK}")


_KEYWORDS: Final[Mapping[type, Callable[[Any], Schema]]] = {
    Ge: lambda rule: {"minimum": rule.ge},
    Gt: lambda rule: {"exclusiveMinimum": rule.gt},
    Le: lambda rule: {"maximum": rule.le},
    Lt: lambda rule: {"exclusiveMaximum": rule.lt},
    IsId: lambda _: {"pattern": _NOT_BLANK},
    Pattern: lambda rule: {"pattern": portable_pattern(rule.expression), "description": rule.says},
    WholeText: lambda rule: {"pattern": f"^[0-9]{{1,{len(str(rule.most)) - 1}}}$"},
}
