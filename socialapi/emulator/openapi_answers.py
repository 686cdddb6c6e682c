"""The responses of the operations in the OpenAPI document: results, pages, streams and errors."""

import inspect
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Final

from socialapi.emulator.arguments import item_of
from socialapi.emulator.json_schema import JsonSchemas, Schema
from socialapi.emulator.request import FORM
from socialapi.emulator.responses import PROBLEM, ApiStyle, style_of
from socialapi.models.events import ActivityEvent, Streamed
from socialapi.models.includes import Includes
from socialapi.problems import PROBLEM_TYPES, Problem
from socialapi.routes import audiences, oauth, platform
from socialapi.routes.route import Route

JSON: Final = "application/json"
HTML: Final = "text/html"


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


_MAY_CREATE: Final = (platform.STREAM_RULES_CHANGE,)
"""The routes that return 201 only if they created something."""

_IN_LISTS: Final = (audiences.DO_NOT_REACH_USERS,)
"""The routes whose response counts users separately for each operation, not for the complete request."""

_AS_PAIRS: Final = (oauth.REQUEST_TOKEN, oauth.ACCESS_TOKEN)
"""The routes that respond with a query string."""


def responses_of(route: Route[Any], links: Mapping[str, Any], schemas: JsonSchemas) -> dict[str, Any]:
    """Returns the responses of a route by status. `links` belong to the successful responses."""
    if route.result is object:
        page = {HTML: {"type": "string"}}
        moved = {"description": "Back to the app", "headers": {"Location": {"schema": {"type": "string"}}}}
        shown = {"200": "The page", "400": "A page that explains the error", "403": "A page that explains the refusal"}
        return {status: _response(text, page) for status, text in shown.items()} | {"302": moved}
    media_type = FORM if route in _AS_PAIRS else JSON
    done = _response("The result", {media_type: _answer(route, schemas)})
    if links:
        done["links"] = links
    successes = ("200", "201") if route in _MAY_CREATE else ("201",) if route.created else ("200",)
    kind = "OAuth2" if route is oauth.OAUTH2_TOKEN else _KINDS[style_of(route.family)]
    refusals = {status: {"$ref": f"#/components/responses/{kind}{status}"} for status in _REFUSED}
    return dict.fromkeys(successes, done) | refusals


def _response(description: str, schemas: Mapping[str, Schema]) -> dict[str, Any]:
    content = {media_type: {"schema": schema} for media_type, schema in schemas.items()}
    return {"description": description, "headers": _COMMON_HEADERS, "content": content}


def _answer(route: Route[Any], schemas: JsonSchemas) -> Schema:
    if typing.get_origin(route.result) is Streamed:
        item = typing.get_args(route.result)[0]
        each = _ACTIVITY_EVENT if item is ActivityEvent else schemas.of(item)
        text = "An endless sequence of lines, each a JSON document or empty"
        # OpenAPI 3.1 cannot describe a sequence of documents, so their schema is in an extension.
        return {"type": "string", "description": text, "x-item-schema": each}
    if not route.family.envelope:
        return schemas.of(route.result)
    is_page = route.is_paged
    item = schemas.of(item_of(route))
    data = {"type": "array", "items": item} if is_page or route in _IN_LISTS else item
    if style_of(route.family) != "ads":
        return _platform_answer(data, schemas, is_page=is_page)
    properties: Schema = {"request": _ref("RequestEcho"), "data": data}
    if is_page:
        properties |= {"next_cursor": {"type": ["string", "null"]}, "total_count": {"type": "integer", "minimum": 0}}
    return {"type": "object", "properties": properties, "required": ["data", "request"]}


def _platform_answer(data: Schema, schemas: JsonSchemas, *, is_page: bool) -> Schema:
    """Returns the schema of a result. If every requested item failed, the result has `errors` and no data."""
    errors = {"type": "array", "minItems": 1, "items": _ref("Problem")}
    properties: Schema = {"data": data, "errors": errors}
    if is_page:
        properties |= {"includes": schemas.of(Includes), "meta": _ref("PageMeta")}
    either = [{"required": ["data"]}, {"required": ["errors"]}]
    return {"type": "object", "properties": properties, "anyOf": either}


_ACTIVITY_EVENT: Final[Schema] = {
    "type": "object",
    "required": ["data"],
    "properties": {
        "data": {
            "type": "object",
            "required": ["event_id", "event_type", "filter", "payload"],
            "properties": {
                "event_id": {"type": "string"},
                "event_type": {"type": "string"},
                "created_at": {"type": "string"},
                "filter": {"type": "object"},
                "tag": {"type": "string"},
                "payload": {"type": "object"},
            },
        }
    },
}

_TOKEN_ERROR: Final[Schema] = {
    "type": "object",
    "required": ["code", "message"],
    "properties": {"code": {"type": "integer"}, "message": {"type": "string"}, "parameter": {"type": "string"}},
}
_ADS_ERROR: Final[Schema] = {
    "type": "object",
    "required": ["code", "message"],
    "properties": {
        "code": {"type": ["string", "integer"]},
        "message": {"type": "string"},
        "parameter": {"type": "string"},
    },
}
_ERRORS: Final[Mapping[str, Schema]] = {
    "PageMeta": {
        "type": "object",
        "description": "The position of a page in its collection.",
        "properties": {
            "result_count": {"type": "integer", "minimum": 0},
            "next_token": {"type": "string"},
            "previous_token": {"type": "string"},
        },
    },
    "RequestEcho": {
        "type": "object",
        "description": "The request, as the service understood it.",
        "required": ["params"],
        "properties": {"params": {"type": "object"}},
    },
    "TokenErrors": {
        "type": "object",
        "description": "Why a token or a signature was refused.",
        "required": ["errors"],
        "properties": {"errors": {"type": "array", "minItems": 1, "items": _TOKEN_ERROR}},
    },
    "AdsErrors": {
        "type": "object",
        "description": "The errors of a refused request or of its operations.",
        "required": ["request"],
        "anyOf": [{"required": ["errors"]}, {"required": ["operation_errors"]}],
        "properties": {
            "request": _ref("RequestEcho"),
            "errors": {"type": "array", "minItems": 1, "items": _ADS_ERROR},
            "operation_errors": {
                "type": "array",
                "items": {
                    **_ADS_ERROR,
                    "required": ["index", "code", "message"],
                    "properties": {**_ADS_ERROR["properties"], "index": {"type": "integer", "minimum": 0}},
                },
            },
        },
    },
    "OAuth2Error": {
        "type": "object",
        "description": "An error as defined in RFC 6749, section 5.2.",
        "required": ["error"],
        "properties": {"error": {"type": "string"}, "error_description": {"type": "string"}},
    },
}

_REFUSED: Final[Mapping[str, str]] = {
    "400": "The request is invalid",
    "401": "The credentials are missing, wrong or expired",
    "403": "The caller may not do this",
    "404": "The resource does not exist",
    "409": "The request conflicts with what is stored",
    "415": "The body has the wrong media type",
    "429": "The rate limit is used up",
}


_KINDS: Final[Mapping[ApiStyle, str]] = {"ads": "Advertising", "oauth": "OAuth", "platform": "Platform"}
"""The names of the styles, as used in component names."""


def shared_refusals() -> dict[str, Any]:
    """Returns the error responses of each API, which are components because every operation uses them."""
    return {
        f"{kind}{status}": _response(text, content) | ({"headers": _LIMIT_HEADERS} if status == "429" else {})
        for kind, content in _REFUSAL_CONTENT.items()
        for status, text in _REFUSED.items()
    }


HEADERS: Final[Mapping[str, Any]] = {
    name: {"description": text, "schema": {"type": kind}}
    for name, kind, text in (
        ("x-transaction-id", "string", "The id of this request in the log."),
        ("x-rate-limit-limit", "integer", "The number of requests allowed per window."),
        ("x-rate-limit-remaining", "integer", "The number of requests left in the window."),
        ("x-rate-limit-reset", "integer", "When the window ends, in epoch seconds."),
        ("x-account-rate-limit-limit", "integer", "The number of requests allowed per window for the account."),
        ("x-account-rate-limit-remaining", "integer", "The number of requests left in the window of the account."),
        ("x-account-rate-limit-reset", "integer", "When the window of the account ends, in epoch seconds."),
    )
}


def _header(name: str) -> Schema:
    return {"$ref": f"#/components/headers/{name}"}


_COMMON_HEADERS: Final = {"x-transaction-id": _header("x-transaction-id")}
_LIMIT_HEADERS: Final = {name: _header(name) for name in HEADERS}

# A token error looks the same in every API, except for the echo in the advertising API.
_REFUSAL_CONTENT: Final[Mapping[str, Mapping[str, Schema]]] = {
    "Platform": {PROBLEM: _ref("Problem"), JSON: _ref("TokenErrors")},
    "Advertising": {JSON: _ref("AdsErrors")},
    "OAuth": {JSON: _ref("TokenErrors")},
    "OAuth2": {JSON: {"anyOf": [_ref("OAuth2Error"), _ref("TokenErrors")]}},
}


# Problems

_REQUIRED_BY_SLUG: Final[Mapping[str, Sequence[str]]] = {
    "disallowed-resource": ("resource_id", "resource_type", "section"),
    "invalid-request": ("errors",),
    "not-authorized-for-field": ("field", "resource_type", "section"),
    "not-authorized-for-resource": ("value", "resource_id", "resource_type", "section", "parameter"),
    "resource-not-found": ("parameter", "value", "resource_id", "resource_type"),
    "resource-unavailable": ("parameter", "resource_id", "resource_type"),
}
"""The fields that a problem of a type must have."""

_GENERIC: Final = "about:blank"


def error_schemas(problem_base_url: str) -> dict[str, Schema]:
    """Returns the schemas without a model: parts of envelopes, errors, and all problems. `Problem` is the union of the
    problems, discriminated by `type`.
    """
    schemas = JsonSchemas()
    by_type = {_GENERIC: _problem(schemas, Problem, _GENERIC, ())}
    for slug, cls in PROBLEM_TYPES.items():
        url = f"{problem_base_url}/{slug}"
        by_type[url] = _problem(schemas, cls, url, _REQUIRED_BY_SLUG.get(slug, ()))
    names = {url: "GenericProblem" if url == _GENERIC else schema["title"] for url, schema in by_type.items()}
    references = {url: f"#/components/schemas/{name}" for url, name in names.items()}
    union = {
        "oneOf": [{"$ref": reference} for reference in references.values()],
        "discriminator": {"propertyName": "type", "mapping": references},
    }
    problems = {names[url]: schema for url, schema in by_type.items()} | {"Problem": union}
    return {**_ERRORS, **schemas.components, **problems}


def _problem(schemas: JsonSchemas, cls: type[Problem], url: str, required: Sequence[str]) -> Schema:
    properties = schemas.properties(cls)
    for name, each in properties.items():
        # The emulator sends only documented values, although the models accept any value.
        if values := each.get("examples"):
            properties[name] = {"type": "string", "enum": values}
    return {
        "type": "object",
        "title": cls.__name__,
        "description": " ".join(inspect.cleandoc(cls.__doc__ or "").split()),
        "required": ["type", "title", *required],
        "properties": properties | {"type": {"const": url}},
    }
