"""What the emulator answers, held against the OpenAPI document that it gives of itself."""

import functools
from collections.abc import Mapping
from typing import Any

import jsonschema_rs
import orjson

from socialapi.emulator import Emulator
from socialapi.emulator.openapi import openapi_document

ANY_URL = "http://emulator.example"


@functools.cache
def document() -> dict[str, Any]:
    """The document of an emulator at `ANY_URL`."""
    return openapi_document(ANY_URL)


def assert_in_contract(emulator: Emulator, headers: Mapping[str, str], status: int, body: bytes) -> None:
    """Asserts that the document has the answer, unless a fault was scripted or nothing is there."""
    wanted = headers.get("x-transaction-id")
    record = next((each for each in reversed(emulator.requests) if each.transaction_id == wanted), None)
    if record is None or record.route is None or record.fault is not None:
        return
    # The sandbox serves the advertising API as well, which the document says once.
    paths, route = document()["paths"], record.route
    if record.method.lower() not in paths.get(route, {}):
        route = route.replace("/ads-sandbox/", "/ads/", 1)
    described = paths[route][record.method.lower()]["responses"]
    assert str(status) in described, f"{record.method} {route} answered {status}: {body[:300]!r}"
    media_type = headers.get("Content-Type", "").partition(";")[0]
    if media_type in ("application/json", "application/problem+json"):
        text = body.replace(emulator.ready["base_url"].encode(), ANY_URL.encode())
        check = validator(route, record.method.lower(), str(status), media_type)
        check.validate(orjson.loads(text))
    else:
        assert media_type in resolved(described[str(status)])["content"], media_type


@functools.cache
def validator(route: str, method: str, status: str, media_type: str) -> Any:
    """The validator of a documented answer."""
    response = resolved(document()["paths"][route][method]["responses"][status])
    schema = response["content"][media_type]["schema"]
    return jsonschema_rs.Draft202012Validator({**schema, "components": document()["components"]}, validate_formats=True)


def resolved(response: dict[str, Any]) -> dict[str, Any]:
    """The response that a reference names, or the response itself."""
    name = response.get("$ref", "").rpartition("/")[2]
    found: dict[str, Any] = document()["components"]["responses"][name] if name else response
    return found
