"""The emulator describes itself as OpenAPI 3.1, and every answer is held against that."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema_rs
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from socialapi.emulator import Emulator
from socialapi.emulator.handlers import endpoints
from socialapi.emulator.json_schema import JsonSchemas
from socialapi.emulator.routing import mounted_path
from socialapi.models.audiences import Operations
from socialapi.models.cards import CardDraft
from socialapi.models.line_items import LineItem, LineItemChanges
from socialapi.models.streams import RulesChange
from socialapi.problems import PROBLEM_TYPES
from tests.emulator.asking import Asker
from tests.emulator.platform.reading import ACTIVITY, POSTS, add_rules, reading, subscribe
from tests.support.contract import document, resolved

ACCOUNT = "/ads/12/accounts/{account_id}"


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The method, the path and the description of each operation."""
    for path, of_path in document()["paths"].items():
        for method, operation in of_path.items():
            yield method.upper(), path, operation


def operation(method: str, path: str) -> dict[str, Any]:
    found: dict[str, Any] = document()["paths"][path][method.lower()]
    return found


def parameters(method: str, path: str) -> Mapping[str, dict[str, Any]]:
    return {each["name"]: each for each in operation(method, path)["parameters"]}


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = document()["components"]["schemas"][name]
    return found


def test_the_document_is_valid_openapi() -> None:
    assert list(OpenAPIV31SpecValidator(document()).iter_errors()) == []


def test_every_endpoint_is_described() -> None:
    described = {(method, path) for method, path, _ in operations()}
    assert described == {(each.route.method, mounted_path(each.route)) for each in endpoints()}


def test_every_endpoint_is_described_where_no_server_was_imported() -> None:
    script = "from socialapi.emulator.openapi import openapi_document as made; print(len(made('http://a')['paths']))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(done.stdout) == len(document()["paths"])


async def test_the_document_is_served_with_the_address_of_the_emulator(emulator: Emulator, ask: Asker) -> None:
    served = (await ask.control("GET", "openapi.json")).json
    assert served["servers"] == [{"url": emulator.ready["base_url"]}]
    assert served["paths"].keys() == document()["paths"].keys()
    types = served["components"]["schemas"]["Problem"]["discriminator"]["mapping"]
    assert f"{emulator.ready['problem_base_url']}/rule-cap" in types


def test_queries_have_the_declared_types_and_bounds() -> None:
    cards = parameters("GET", f"{ACCOUNT}/cards")
    assert (cards["count"]["schema"]["minimum"], cards["count"]["schema"]["maximum"]) == (1, 200)
    assert cards["card_types"]["schema"]["items"]["enum"][0] == "IMAGE_APP"
    assert (cards["card_types"]["style"], cards["card_types"]["explode"]) == ("form", False)
    assert "required" not in cards["count"]
    history = parameters("GET", f"{ACCOUNT}/account_history")
    assert history["entity_type"]["required"] is True
    assert "components-asc" not in cards["sort_by"]["schema"]["enum"]
    assert "created_at-desc" in cards["sort_by"]["schema"]["enum"]


def test_writes_of_the_advertising_api_have_their_fields_in_the_query() -> None:
    line_item = parameters("PUT", f"{ACCOUNT}/line_items/{{line_item_id}}")
    assert line_item.keys() == {"account_id", "line_item_id", *LineItemChanges.__annotations__}
    assert line_item["bid_amount_local_micro"]["schema"]["exclusiveMinimum"] == 0
    assert line_item["duration_in_days"]["schema"]["enum"] == [1, 7, 30]
    assert "requestBody" not in operation("PUT", f"{ACCOUNT}/line_items/{{line_item_id}}")


def test_all_types_of_problems_are_told_apart_by_their_type() -> None:
    problem = schema("Problem")
    assert len(problem["oneOf"]) == len(problem["discriminator"]["mapping"]) == len(PROBLEM_TYPES) + 1 == 18
    assert schema("StreamingConnection")["required"] == ["type", "title"]
    assert "registration_url" in schema("ClientForbidden")["properties"]


def test_forms_of_the_token_endpoints_may_have_more_in_them() -> None:
    assert "additionalProperties" not in schema("OAuth2TokenRequest")
    assert schema("RuleDraft")["additionalProperties"] is False


def test_credentials_follow_from_the_family_of_the_route() -> None:
    scopes = ["tweet.read", "tweet.write", "users.read"]
    assert operation("GET", "/2/tweets")["security"] == [{"appOnly": []}, {"oauth2User": []}, {"oauth1": []}]
    assert operation("POST", "/2/tweets")["security"] == [{"oauth1": []}, {"oauth2User": scopes}]
    assert operation("POST", "/2/webhooks")["security"] == [{"appOnly": []}]
    assert operation("GET", "/ads/12/accounts")["security"] == [{"oauth1": []}, {"oauth2User": []}]
    assert operation("POST", "/oauth2/token")["security"] == [{"appKey": []}]
    flow = document()["components"]["securitySchemes"]["oauth2User"]["flows"]["authorizationCode"]
    assert {*scopes, "offline.access"} <= flow["scopes"].keys()


async def test_lines_of_streams_are_what_is_described(ask: Asker) -> None:
    await add_rules(ask, "snow", tag="weather")
    await subscribe(ask, "profile.update.bio", user_id="783214001")
    async with reading(ask, expansions="author_id") as posts, reading(ask, ACTIVITY) as events:
        event = {"event_type": "profile.update.bio", "user_id": "783214001"}
        await ask.emulator.publish({"events": [{"post": {"text": "snow"}}, event]})
        for path, stream in ((POSTS, posts), (ACTIVITY, events)):
            content = operation("GET", path)["responses"]["200"]["content"]["application/json"]["schema"]
            of_line = {**content["x-item-schema"], "components": document()["components"]}
            line = await stream.line()
            jsonschema_rs.Draft202012Validator(of_line, validate_formats=True).validate(line)
            if path == ACTIVITY:
                assert line["data"].keys() <= of_line["properties"]["data"]["properties"].keys()


def test_what_was_made_is_linked_to_what_takes_its_id() -> None:
    made = resolved(operation("POST", f"{ACCOUNT}/cards")["responses"]["200"])
    assert made["links"].keys() == {"card", "card_update"}
    assert made["links"]["card"]["parameters"] == {
        "account_id": "$request.path.account_id",
        "card_id": "$response.body#/data/id",
    }
    webhook = resolved(operation("POST", "/2/webhooks")["responses"]["200"])
    assert webhook["links"].keys() == {"webhook_validate", "webhook_delete", "stream_link"}


DIGEST = "49e0be2aeccfb51a8dee4c945c8a70a9ac500cf6f5cb08112575f74db9b1470d"
UPDATE = {"operation_type": "Update", "params": {"users": [{"email": [DIGEST]}]}}
DETAILS = {"type": "DETAILS", "title": "Huts", "destination": {"type": "WEBSITE", "url": "https://huts.example"}}
MEDIA = {"type": "MEDIA", "media_key": "3_1"}


@pytest.mark.parametrize(
    ("declared", "value", "is_valid"),
    [
        (Operations, [UPDATE], True),
        (Operations, [{**UPDATE, "operation_type": "Add"}], False),
        (Operations, [{**UPDATE, "more": 1}], False),
        (Operations, [UPDATE] * 2_501, False),
        (Operations, [{"operation_type": "Update", "params": {"users": [{"email": [DIGEST.upper()]}]}}], False),
        (CardDraft, {"name": "Huts", "components": [MEDIA, DETAILS]}, True),
        (CardDraft, {"name": "Huts", "components": [MEDIA, {**DETAILS, "type": "LINK"}]}, False),
        (CardDraft, {"name": "Huts", "components": [{"media_key": "3_1"}]}, False),
        (CardDraft, {"name": "Huts"}, False),
        (CardDraft, {"name": "h" * 81, "components": [MEDIA, DETAILS]}, False),
        (RulesChange, {"add": [{"value": "cats", "tag": "cats"}]}, True),
        (RulesChange, {"add": [{"value": "cats"}], "delete": {"ids": ["1"]}}, False),
        (RulesChange, {"add": []}, False),
        (LineItem, {"id": "7", "name": None, "start_time": "2026-01-31T09:00:00Z", "later": 1}, True),
        (LineItem, {"id": "7", "start_time": "2026-01-31"}, False),
        (LineItem, {"name": "without an id"}, False),
    ],
)
def test_schemas_keep_the_rules_of_the_models(declared: Any, value: Any, is_valid: bool) -> None:
    schemas = JsonSchemas()
    described = {**schemas.of(declared), "components": {"schemas": schemas.components}}
    checker = jsonschema_rs.Draft202012Validator(described, validate_formats=True)
    assert checker.is_valid(value) is is_valid
