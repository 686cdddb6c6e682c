"""The OpenAPI 3.1 document of the service, derived from the routes and models of what is served."""

import re
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from socialapi.emulator.handlers import ENDPOINTS
from socialapi.emulator.json_schema import (
    JsonSchemas,
    Schema,
    fields_of,
    portable_pattern,
    problem_schemas,
    required_of,
)
from socialapi.emulator.request import FORM
from socialapi.emulator.responses import PROBLEM
from socialapi.emulator.routing import MOUNTS, mounted_path
from socialapi.models.content import NewsField
from socialapi.models.events import ActivityEvent, Streamed
from socialapi.models.pages import Includes, Page
from socialapi.models.queries import Expansion, MediaField, PostField, UserField
from socialapi.routes import ads, catalogs, creatives, oauth, platform
from socialapi.routes.route import ADS, ADS_SANDBOX, OAUTH, CredentialKind, Family, Route
from socialapi.version import __version__

JSON: Final = "application/json"
HTML: Final = "text/html"

_TAGS: Final = {
    "platform": platform,
    "advertising": ads,
    "creatives": creatives,
    "catalogs": catalogs,
    "oauth": oauth,
}
_NAMES: Final[Mapping[Route[Any], tuple[str, str]]] = {
    route: (tag, name.lower())
    for tag, module in _TAGS.items()
    for name, route in vars(module).items()
    if isinstance(route, Route)
}
"""The tag and the operation id of each route: its area, and the name of its constant."""


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def openapi_document(base_url: str) -> dict[str, Any]:
    """Returns the OpenAPI 3.1 document of everything that the emulator serves at this address."""
    schemas = JsonSchemas()
    schemas.components.update(problem_schemas(f"{base_url}/problems"), **_ERRORS)
    routes = [endpoint.route for endpoint in ENDPOINTS]
    return {
        "openapi": "3.1.0",
        "info": {"title": "Emulator of the platform, advertising and catalog APIs", "version": __version__},
        "servers": [{"url": base_url}],
        "tags": [{"name": tag} for tag in _TAGS],
        "paths": _paths(routes, schemas),
        "components": {
            "schemas": schemas.components,
            "headers": _HEADERS,
            "responses": _shared_refusals(),
            "securitySchemes": _security_schemes(base_url, routes),
        },
    }


def _paths(routes: Sequence[Route[Any]], schemas: JsonSchemas) -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for route in sorted(routes, key=mounted_path):
        paths.setdefault(mounted_path(route), {})[route.method.lower()] = _operation(route, routes, schemas)
    return paths


def _operation(route: Route[Any], routes: Sequence[Route[Any]], schemas: JsonSchemas) -> dict[str, Any]:
    tag, name = _named(route)
    operation = {
        "operationId": name,
        "tags": [tag],
        "summary": name.replace("_", " ").capitalize(),
        "parameters": [*_path_parameters(route, schemas), *_query_parameters(route, schemas)],
        "responses": _responses(route, routes, schemas),
        "security": _security(route),
    }
    body = _request_body(route, schemas)
    return operation if body is None else operation | {"requestBody": body}


def _named(route: Route[Any]) -> tuple[str, str]:
    """A form of a page is sent to a route of the emulator's own, which has no constant."""
    words = re.findall(r"\w+", route.path)
    return _NAMES.get(route) or ("oauth", "_".join((*words[-1:], "decision")) + ("2" if "oauth2" in words else ""))


# Requests

_LISTED: Final[Mapping[str, tuple[str, ...]]] = {
    "tweet.fields": typing.get_args(PostField),
    "user.fields": typing.get_args(UserField),
    "media.fields": typing.get_args(MediaField),
    "expansions": typing.get_args(Expansion),
    "news.fields": ("id", *typing.get_args(NewsField)),
}
"""The names that can be selected. Those of polls and places are not documented: all are taken."""

_UNDOCUMENTED_PAGE: Final = {"minimum": 1, "maximum": 1_000}
"""The sizes of pages whose bounds are not declared."""


def _path_parameters(route: Route[Any], schemas: JsonSchemas) -> Iterator[dict[str, Any]]:
    for name in _parameters_in(route.path):
        rule = route.path_rules.get(name)
        schema = schemas.of(rule) if rule is not None else {"type": "string"}
        yield {"name": name, "in": "path", "required": True, "schema": {"minLength": 1} | schema}


def _parameters_in(path: str) -> list[str]:
    return re.findall(r"\{(\w+)\}", path)


def _query_parameters(route: Route[Any], schemas: JsonSchemas) -> Iterator[dict[str, Any]]:
    for declared in (route.query, route.body if route.body_in == "query" else None):
        if declared is None:
            continue
        cls = _bare(declared)
        # What the third step of OAuth 1.0a needs may be in the header, too.
        required = (
            () if route.family is OAUTH and route.body_in == "query" and route.query is None else required_of(cls)
        )
        for name, kind in fields_of(cls).items():
            yield _query_parameter(name, _in_text(name, kind, route, schemas), required=name in required)


def _bare(declared: Any) -> Any:
    """The class of a declaration that may have rules beside it."""
    return typing.get_args(declared)[0] if typing.get_origin(declared) is typing.Annotated else declared


def _query_parameter(name: str, schema: Schema, *, required: bool) -> dict[str, Any]:
    parameter: dict[str, Any] = {"name": name, "in": "query", "schema": schema}
    if required:
        parameter["required"] = True
    if schema.get("type") == "array":
        parameter |= {"style": "form", "explode": False}
    return parameter


def _in_text(name: str, kind: Any, route: Route[Any], schemas: JsonSchemas) -> Schema:
    """The schema of a parameter. In a query null is an empty value, and a comma separates the items of a list."""
    is_nullable = type(None) in typing.get_args(kind)
    schema = schemas.of(_without_null(kind))
    if name == "max_results" and kind is int:
        schema |= _UNDOCUMENTED_PAGE
    if name == "sort_by":
        schema = {"type": "string", "enum": [*_orders(route, schemas)]}
    if schema.get("type") == "array":
        schema["items"] = _item_in_text(name, schema["items"])
    return schema | {"description": "An empty value clears the field."} if is_nullable else schema


def _without_null(kind: Any) -> Any:
    members = [member for member in typing.get_args(kind) if member is not type(None)]
    is_nullable = len(members) < len(typing.get_args(kind))
    return typing.Union[tuple(members)] if is_nullable else kind  # noqa: UP007  # its members are computed


def _item_in_text(name: str, schema: Schema) -> Schema:
    if name in _LISTED:
        return {"type": "string", "enum": [*_LISTED[name]]}
    return {"pattern": portable_pattern(r"[^,\s]+")} | schema if "enum" not in schema else schema


def _orders(route: Route[Any], schemas: JsonSchemas) -> Iterator[str]:
    """A collection can be sorted by the fields with a single value."""
    (item,) = typing.get_args(route.result)
    for name, schema in schemas.properties(item).items():
        if not {"object", "array"} & _kinds(schemas.resolved(schema)):
            yield from (f"{name}-asc", f"{name}-desc")


def _kinds(schema: Schema) -> set[str]:
    kind = schema.get("type", "object")
    return {kind} if isinstance(kind, str) else set(kind)


def _request_body(route: Route[Any], schemas: JsonSchemas) -> dict[str, Any] | None:
    if route.method == "POST" and route.result is object:
        return {"content": {FORM: {"schema": {"type": "object", "additionalProperties": {"type": "string"}}}}}
    if route.body is None or route.body_in == "query":
        return None
    media_type = JSON if route.body_in == "json" else FORM
    return {"required": True, "content": {media_type: {"schema": schemas.of(route.body)}}}


# Answers

_CREATED: Final[Mapping[Route[Any], tuple[str, ...]]] = {
    platform.POST_CREATE: ("201",),
    platform.ARTICLE_DRAFT: ("201",),
    platform.NOTE_SUBMIT: ("201",),
    platform.SUBSCRIPTION_CREATE: ("201",),
    platform.STREAM_RULES_CHANGE: ("200", "201"),
}
"""The statuses of what is done, where it is not 200 alone."""

_IN_LISTS: Final = (ads.DO_NOT_REACH_USERS,)
"""The routes with counts for each operation instead of those of the request."""

_AS_PAIRS: Final = (oauth.REQUEST_TOKEN, oauth.ACCESS_TOKEN)
"""The routes that answer in the form of a query string."""


def _responses(route: Route[Any], routes: Sequence[Route[Any]], schemas: JsonSchemas) -> dict[str, Any]:
    if route.result is object:
        return _page_responses()
    media_type = FORM if route in _AS_PAIRS else JSON
    done = _response("What was asked for", {media_type: _answer(route, schemas)})
    if links := _links(route, routes, schemas):
        done["links"] = links
    return dict.fromkeys(_CREATED.get(route, ("200",)), done) | _refusals(route)


def _response(description: str, schemas: Mapping[str, Schema]) -> dict[str, Any]:
    content = {media_type: {"schema": schema} for media_type, schema in schemas.items()}
    return {"description": description, "headers": _COMMON_HEADERS, "content": content}


def _page_responses() -> dict[str, Any]:
    page = {HTML: {"type": "string"}}
    moved = {"description": "Back to the app", "headers": {"Location": {"schema": {"type": "string"}}}}
    shown = {"200": "The page", "400": "A page that says what is wrong", "403": "A page that says why not"}
    return {status: _response(text, page) for status, text in shown.items()} | {"302": moved}


def _answer(route: Route[Any], schemas: JsonSchemas) -> Schema:
    if typing.get_origin(route.result) is Streamed:
        return _streamed(typing.get_args(route.result)[0], schemas)
    if not route.family.envelope:
        return schemas.of(route.result)
    is_page = typing.get_origin(route.result) is Page
    item = schemas.of(typing.get_args(route.result)[0] if is_page else route.result)
    data = {"type": "array", "items": item} if is_page or route in _IN_LISTS else item
    if route.family in _ADVERTISING:
        return _ads_answer(data, is_page=is_page)
    return _platform_answer(data, schemas, is_page=is_page)


def _platform_answer(data: Schema, schemas: JsonSchemas, *, is_page: bool) -> Schema:
    """Where everything that was asked for failed, there are `errors` and no data."""
    errors = {"type": "array", "minItems": 1, "items": _ref("Problem")}
    properties: Schema = {"data": data, "errors": errors}
    if is_page:
        properties |= {"includes": schemas.of(Includes), "meta": _ref("PageMeta")}
    either = [{"required": ["data"]}, {"required": ["errors"]}]
    return {"type": "object", "properties": properties, "anyOf": either}


def _ads_answer(data: Schema, *, is_page: bool) -> Schema:
    properties: Schema = {"request": _ref("RequestEcho"), "data": data}
    if is_page:
        properties |= {"next_cursor": {"type": ["string", "null"]}, "total_count": {"type": "integer", "minimum": 0}}
    return {"type": "object", "properties": properties, "required": ["data", "request"]}


def _streamed(item: Any, schemas: JsonSchemas) -> Schema:
    """OpenAPI 3.1 has no words for a sequence of documents: the schema of each is an extension."""
    each = _ACTIVITY_EVENT if item is ActivityEvent else schemas.of(item)
    text = "One JSON document per line, or an empty line, and no end"
    return {"type": "string", "description": text, "x-item-schema": each}


_ACTIVITY_EVENT: Final[Schema] = {
    "type": "object",
    "required": ["data"],
    "properties": {
        "data": {
            "type": "object",
            "required": ["event_type", "filter", "payload"],
            "properties": {
                "event_uuid": {"type": "string"},
                "event_type": {"type": "string"},
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
        "description": "Where a page is in its collection.",
        "properties": {
            "result_count": {"type": "integer", "minimum": 0},
            "next_token": {"type": "string"},
            "previous_token": {"type": "string"},
        },
    },
    "RequestEcho": {
        "type": "object",
        "description": "What was asked, as the service understood it.",
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
        "description": "Why a request was refused: as a whole, or because of some operations of a batch.",
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
        "description": "An error of RFC 6749, section 5.2.",
        "required": ["error"],
        "properties": {"error": {"type": "string"}, "error_description": {"type": "string"}},
    },
}

_REFUSED: Final[Mapping[str, str]] = {
    "400": "The request breaks rules",
    "401": "The credentials are missing, wrong or expired",
    "403": "The caller may not do this",
    "404": "There is nothing like it",
    "409": "It is in conflict with what is there",
    "415": "The body is of another media type",
    "429": "The rate limit is used up",
}


_ADVERTISING: Final = (ADS, ADS_SANDBOX)


def _refusals(route: Route[Any]) -> dict[str, Any]:
    kind = "OAuth2" if route is oauth.OAUTH2_TOKEN else _kind(route.family)
    return {status: {"$ref": f"#/components/responses/{kind}{status}"} for status in _REFUSED}


def _kind(family: Family) -> str:
    """How an API words its refusals."""
    return "OAuth" if family is OAUTH else "Advertising" if family in _ADVERTISING else "Platform"


def _shared_refusals() -> dict[str, Any]:
    return {
        f"{kind}{status}": _response(text, content) | ({"headers": _LIMIT_HEADERS} if status == "429" else {})
        for kind, content in _REFUSAL_CONTENT.items()
        for status, text in _REFUSED.items()
    }


_HEADERS: Final[Mapping[str, Any]] = {
    name: {"description": text, "schema": {"type": kind}}
    for name, kind, text in (
        ("x-transaction-id", "string", "The id of this request in the log."),
        ("x-rate-limit-limit", "integer", "The requests of a window."),
        ("x-rate-limit-remaining", "integer", "The requests that are left in the window."),
        ("x-rate-limit-reset", "integer", "When the window ends, in epoch seconds."),
        ("x-account-rate-limit-limit", "integer", "The requests of a window of the account."),
        ("x-account-rate-limit-remaining", "integer", "The requests that are left to the account."),
        ("x-account-rate-limit-reset", "integer", "When the window of the account ends, in epoch seconds."),
    )
}


def _header(name: str) -> Schema:
    return {"$ref": f"#/components/headers/{name}"}


_COMMON_HEADERS: Final = {"x-transaction-id": _header("x-transaction-id")}
_LIMIT_HEADERS: Final = {name: _header(name) for name in _HEADERS}

# A token error looks the same in every API, but for the echo in the advertising API.
_REFUSAL_CONTENT: Final[Mapping[str, Mapping[str, Schema]]] = {
    "Platform": {PROBLEM: _ref("Problem"), JSON: _ref("TokenErrors")},
    "Advertising": {JSON: _ref("AdsErrors")},
    "OAuth": {JSON: _ref("TokenErrors")},
    "OAuth2": {JSON: {"anyOf": [_ref("OAuth2Error"), _ref("TokenErrors")]}},
}


# Links

_ALSO_LINKED: Final[Mapping[Route[Any], tuple[str, Sequence[Route[Any]]]]] = {
    platform.WEBHOOK_CREATE: ("webhook_id", (platform.STREAM_LINK,)),
    platform.ARTICLE_DRAFT: ("article_id", (platform.ARTICLE_PUBLISH,)),
}
"""The routes that take the id of something made elsewhere."""


def _links(route: Route[Any], routes: Sequence[Route[Any]], schemas: JsonSchemas) -> dict[str, Any]:
    """The operations that take what this one has made, by the name of the path parameter that its id is."""
    if route.method != "POST" or typing.get_origin(route.result) is not None or not attrs.has(route.result):
        return {}
    fields = schemas.properties(route.result)
    key = next((name for name in ("id", "media_key") if name in fields), None)
    if key is None:
        return {}
    return {_named(other)[1]: _link(route, other, name, key) for other, name in _followers(route, routes)}


def _followers(route: Route[Any], routes: Iterable[Route[Any]]) -> Iterator[tuple[Route[Any], str]]:
    own = _parameters_in(route.path)
    for other in routes:
        names = [name for name in _parameters_in(other.path) if name not in own]
        if len(names) == 1 and other.path.startswith(f"{route.path}/{{{names[0]}}}"):
            yield other, names[0]
    name, others = _ALSO_LINKED.get(route, ("", ()))
    yield from ((other, name) for other in others)


def _link(route: Route[Any], other: Route[Any], made: str, key: str) -> dict[str, Any]:
    parameters = {name: f"$request.path.{name}" for name in _parameters_in(other.path)}
    return {"operationId": _named(other)[1], "parameters": {**parameters, made: f"$response.body#/data/{key}"}}


# Security

_SCHEMES: Final[Mapping[CredentialKind, str]] = {
    "AppOnly": "appOnly",
    "Bearer": "appOnly",
    "OAuth1": "oauth1",
    "OAuth2User": "oauth2User",
}
_OF_OAUTH: Final[Mapping[Route[Any], list[dict[str, list[str]]]]] = {
    oauth.APP_ONLY_TOKEN: [{"appKey": []}],
    oauth.INVALIDATE_APP_ONLY_TOKEN: [{"appKey": []}],
    oauth.REQUEST_TOKEN: [{"oauth1": []}],
    oauth.ACCESS_TOKEN: [{"oauth1": []}],
    oauth.INVALIDATE_TOKEN: [{"oauth1": []}],
    oauth.OAUTH2_TOKEN: [{"appKey": []}, {}],
}


def _security(route: Route[Any]) -> list[dict[str, list[str]]]:
    """Any one of these. The advertising API acts for a user, whom an app-only token does not name."""
    if route.family is OAUTH:
        return _OF_OAUTH.get(route, [])
    schemes = dict.fromkeys(_SCHEMES[kind] for kind in route.family.credentials)
    if route.family in _ADVERTISING:
        schemes.pop("appOnly", None)
    return [{scheme: [*route.scopes] if scheme == "oauth2User" else []} for scheme in schemes]


def _security_schemes(base_url: str, routes: Iterable[Route[Any]]) -> dict[str, Any]:
    scopes = sorted({"offline.access", *(scope for route in routes for scope in route.scopes)})
    flow = {
        "authorizationUrl": base_url + MOUNTS["base_url"] + oauth.OAUTH2_AUTHORIZE.path,
        "tokenUrl": base_url + MOUNTS["base_url"] + oauth.OAUTH2_TOKEN.path,
        "scopes": {scope: f"The scope {scope}" for scope in scopes},
    }
    return {
        "appOnly": {"type": "http", "scheme": "bearer", "description": "The app-only token of an app."},
        "oauth2User": {
            "type": "oauth2",
            "description": "A user's access token, by the authorization code flow with PKCE.",
            "flows": {"authorizationCode": flow},
        },
        "oauth1": {"type": "http", "scheme": "OAuth", "description": "A signature by OAuth 1.0a, with HMAC-SHA1."},
        "appKey": {"type": "http", "scheme": "basic", "description": "The key and the secret of an app."},
    }
