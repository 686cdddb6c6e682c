"""The OpenAPI 3.1 document of the service, derived from its routes and models."""

import re
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, get_args

import attrs

from socialapi.emulator.arguments import sortable_fields, without_conditions
from socialapi.emulator.handlers import endpoints
from socialapi.emulator.json_schema import JsonSchemas, Schema, fields_of, portable_pattern, required_of
from socialapi.emulator.openapi_answers import HEADERS, JSON, error_schemas, responses_of, shared_refusals
from socialapi.emulator.platform.post_projection import EMAIL_SCOPE
from socialapi.emulator.platform.selection import KNOWN_NAMES
from socialapi.emulator.request import FORM
from socialapi.emulator.responses import style_of
from socialapi.emulator.routing import MOUNTS, mounted_path
from socialapi.models.events import EventType, scope_of_event
from socialapi.routes import ads, audiences, catalogs, creatives, line_items, oauth, platform
from socialapi.routes.route import OAUTH, CredentialKind, Route
from socialapi.version import __version__

_TAGS: Final = {
    "platform": (platform,),
    "advertising": (ads, line_items, audiences),
    "creatives": (creatives,),
    "catalogs": (catalogs,),
    "oauth": (oauth,),
}
_NAMES: Final[Mapping[Route[Any], tuple[str, str]]] = {
    route: (tag, name.lower())
    for tag, modules in _TAGS.items()
    for module in modules
    for name, route in vars(module).items()
    if isinstance(route, Route)
}
"""The tag and the operation id of each route, which are its area and the name of its constant."""


def openapi_document(base_url: str) -> dict[str, Any]:
    """Returns the OpenAPI 3.1 document of everything that the emulator serves at this address."""
    schemas = JsonSchemas()
    schemas.components.update(error_schemas(f"{base_url}/problems"))
    routes = sorted((endpoint.route for endpoint in endpoints()), key=mounted_path)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(mounted_path(route), {})[route.method.lower()] = _operation(route, routes, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Emulator of the platform, advertising and catalog APIs",
            "version": __version__,
            "description": f"Every path below {MOUNTS['ads_url']} is also served below {MOUNTS['ads_sandbox_url']}.",
        },
        "servers": [{"url": base_url}],
        "tags": [{"name": tag} for tag in _TAGS],
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "headers": HEADERS,
            "responses": shared_refusals(),
            "securitySchemes": _security_schemes(base_url, routes),
        },
    }


def _operation(route: Route[Any], routes: Sequence[Route[Any]], schemas: JsonSchemas) -> dict[str, Any]:
    tag, name = _named(route)
    operation = {
        "operationId": name,
        "tags": [tag],
        "summary": name.replace("_", " ").capitalize(),
        "parameters": [*_path_parameters(route, schemas), *_query_parameters(route, schemas)],
        "responses": responses_of(route, _links(route, routes, schemas), schemas),
        "security": _security(route),
    }
    body = _request_body(route, schemas)
    return operation if body is None else operation | {"requestBody": body}


def _named(route: Route[Any]) -> tuple[str, str]:
    """Returns the tag and the operation id of a route. The forms of pages are sent to the emulator's own routes, which
    have no named constant.
    """
    words = re.findall(r"\w+", route.path)
    return _NAMES.get(route) or ("oauth", "_".join((*words[-1:], "decision")) + ("2" if "oauth2" in words else ""))


# Requests

_UNDOCUMENTED_PAGE: Final = {"minimum": 1, "maximum": 1_000}
"""The allowed page sizes if the route declares no bounds."""


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
        cls = without_conditions(declared)
        # The parameters of the third OAuth 1.0a step may also be in the header.
        required = (
            () if route.family is OAUTH and route.body_in == "query" and route.query is None else required_of(cls)
        )
        for name, kind in fields_of(cls).items():
            parameter: dict[str, Any] = {"name": name, "in": "query", "schema": _in_text(name, kind, route, schemas)}
            if name in required:
                parameter["required"] = True
            if parameter["schema"].get("type") == "array":
                parameter |= {"style": "form", "explode": False}
            yield parameter


def _in_text(name: str, kind: Any, route: Route[Any], schemas: JsonSchemas) -> Schema:
    """Returns the schema of a parameter as a string. In a query, an empty value is null, and commas separate items."""
    members = typing.get_args(kind)
    is_nullable = type(None) in members
    if is_nullable:
        kind = typing.Union[tuple(each for each in members if each is not type(None))]  # noqa: UP007  # computed
    schema = schemas.of(kind)
    if name == "max_results" and kind is int:
        schema |= _UNDOCUMENTED_PAGE
    if name == "sort_by":
        orders = [f"{field}-{direction}" for field in sortable_fields(route) for direction in ("asc", "desc")]
        schema = {"type": "string", "enum": orders}
    if schema.get("type") == "array":
        schema["items"] = _item_in_text(name, schema["items"])
    return schema | {"description": "An empty value clears the field."} if is_nullable else schema


def _item_in_text(name: str, schema: Schema) -> Schema:
    if (known := KNOWN_NAMES.get(name)) is not None:
        return {"type": "string", "enum": [*known]}
    return {"pattern": portable_pattern(r"[^,\s]+")} | schema if "enum" not in schema else schema


def _request_body(route: Route[Any], schemas: JsonSchemas) -> dict[str, Any] | None:
    if route.method == "POST" and route.result is object:
        return {"content": {FORM: {"schema": {"type": "object", "additionalProperties": {"type": "string"}}}}}
    if route.body is None or route.body_in == "query":
        return None
    media_type = JSON if route.body_in == "json" else FORM
    return {"required": True, "content": {media_type: {"schema": schemas.of(route.body)}}}


# Links

_ALSO_LINKED: Final[Mapping[Route[Any], tuple[str, Sequence[Route[Any]]]]] = {
    platform.WEBHOOK_CREATE: ("webhook_id", (platform.STREAM_LINK,)),
    platform.ARTICLE_DRAFT: ("article_id", (platform.ARTICLE_PUBLISH,)),
}
"""For each route that creates something: the name of its id, and further routes that accept this id."""


def _links(route: Route[Any], routes: Sequence[Route[Any]], schemas: JsonSchemas) -> dict[str, Any]:
    """Returns, by name, the operations that accept the id of the resource that this route creates."""
    if route.method != "POST" or typing.get_origin(route.result) is not None or not attrs.has(route.result):
        return {}
    fields = schemas.properties(route.result)
    key = next((name for name in ("id", "media_key") if name in fields), None)
    if key is None:
        return {}
    links: dict[str, Any] = {}
    for other, name in _followers(route, routes):
        parameters = {each: f"$request.path.{each}" for each in _parameters_in(other.path)}
        parameters[name] = f"$response.body#/data/{key}"
        links[_named(other)[1]] = {"operationId": _named(other)[1], "parameters": parameters}
    return links


def _followers(route: Route[Any], routes: Iterable[Route[Any]]) -> Iterator[tuple[Route[Any], str]]:
    own = _parameters_in(route.path)
    for other in routes:
        names = [name for name in _parameters_in(other.path) if name not in own]
        if len(names) == 1 and other.path.startswith(f"{route.path}/{{{names[0]}}}"):
            yield other, names[0]
    name, others = _ALSO_LINKED.get(route, ("", ()))
    yield from ((other, name) for other in others)


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
    """Returns the alternative credentials. The advertising API acts for a user, so it does not accept app-only tokens."""
    if route.family is OAUTH:
        return _OF_OAUTH.get(route, [])
    schemes = dict.fromkeys(_SCHEMES[kind] for kind in route.family.credentials)
    if style_of(route.family) == "ads":
        schemes.pop("appOnly", None)
    return [{scheme: [*route.scopes] if scheme == "oauth2User" else []} for scheme in schemes]


def _security_schemes(base_url: str, routes: Iterable[Route[Any]]) -> dict[str, Any]:
    declared = {scope for route in routes for scope in route.scopes}
    scopes = sorted({"offline.access", EMAIL_SCOPE, *declared, *filter(None, map(scope_of_event, get_args(EventType)))})
    flow = {
        "authorizationUrl": base_url + MOUNTS["base_url"] + oauth.OAUTH2_AUTHORIZE.path,
        "tokenUrl": base_url + MOUNTS["base_url"] + oauth.OAUTH2_TOKEN.path,
        "scopes": {scope: f"The scope {scope}" for scope in scopes},
    }
    return {
        "appOnly": {"type": "http", "scheme": "bearer", "description": "The app-only token of an app."},
        "oauth2User": {
            "type": "oauth2",
            "description": "A user's access token, obtained by the authorization code flow with PKCE.",
            "flows": {"authorizationCode": flow},
        },
        "oauth1": {"type": "http", "scheme": "OAuth", "description": "An OAuth 1.0a signature with HMAC-SHA1."},
        "appKey": {"type": "http", "scheme": "basic", "description": "The key and secret of an app."},
    }
