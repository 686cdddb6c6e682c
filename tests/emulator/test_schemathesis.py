"""Requests that schemathesis makes from the OpenAPI document: valid, invalid, and along its links.

They are the same in every run. Whatever is asked, the document has the answer, and it is no 5xx.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import attrs
import oauthlib.oauth1
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from requests.auth import AuthBase, HTTPBasicAuth
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core.failures import FailureGroup

from socialapi.emulator import Emulator
from tests.emulator.asking import Asker
from tests.emulator.platform.receiving import URL, owner_of_webhook

pytestmark = pytest.mark.slow

load_all_checks()

HOLD: Final = [
    CHECKS.get_one(name)
    for name in (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
    )
]
NEVER_ASKED: Final = (
    *("/2/tweets/search/stream", "/2/activity/stream"),  # their answers have no end
    *("/1.1/oauth/invalidate_token", "/oauth2/invalidate_token"),  # they would end the tests' own tokens
)
EXAMPLES: Final = 5
SLOW: Final = ("/users", "account_history")
"""What schemathesis needs seconds for, to make a valid request: it is made once."""
LONGEST_ADDRESS: Final = 60_000

# What the rules of single values say. Others are about several fields, or about what is stored. The
# `value` of a product filter is a string or an integer, which is also what JSON Schema calls 15.0.
SHAPE: Final = re.compile(
    r"(?<!\.value )must be (a string|true or false|a whole number|a number|null|an ISO 8601|one of|an array|an object)|"
    r"is not a field|is given more than once|must have at (least|most) |must not be empty"
)

SEEDED: Final[Mapping[str, str]] = {
    "account_id": "account_ids",
    "custom_audience_id": "custom_audience_ids",
    "tailored_audience_id": "tailored_audience_ids",
    "do_not_reach_list_id": "do_not_reach_list_ids",
    "line_item_id": "line_item_ids",
    "curated_category_id": "curated_category_ids",
    "line_item_curated_category_id": "line_item_curated_category_ids",
    "account_media_id": "account_media_ids",
    "media_key": "media_keys",
    "product_catalog_id": "product_catalog_ids",
    "product_set_id": "product_set_ids",
    "tweet_id": "post_ids",
}


class Signed(AuthBase):
    """The user's signature."""

    def __init__(self, ready: Mapping[str, str]) -> None:
        names = ("api_key", "api_key_secret", "access_token", "access_token_secret")
        self._signer = oauthlib.oauth1.Client(*(ready[name] for name in names))

    def __call__(self, request: Any) -> Any:
        _, headers, _ = self._signer.sign(request.url, request.method)
        request.headers["Authorization"] = headers["Authorization"]
        return request


class Bearer(AuthBase):
    """The app-only token."""

    def __init__(self, ready: Mapping[str, str]) -> None:
        self._token = ready["bearer_token"]

    def __call__(self, request: Any) -> Any:
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request


@attrs.define
class Asking:
    """Asks one emulator, and collects what is wrong about its answers."""

    emulator: Emulator
    wrong: list[str] = attrs.field(factory=list)
    statuses: Counter[int] = attrs.field(factory=Counter)
    made: set[str] = attrs.field(factory=set)
    """The ids of what was made while links were followed."""
    linked: Counter[str] = attrs.field(factory=Counter)
    """What was done with them."""

    def document(self) -> dict[str, Any]:
        """What the emulator says of itself, but for what cannot be asked."""
        found: dict[str, Any] = self._control("GET", "openapi.json").json()
        found["paths"] = {path: each for path, each in found["paths"].items() if path not in NEVER_ASKED}
        return found

    def _control(self, method: str, path: str) -> requests.Response:
        with requests.Session() as session:
            return session.request(method, f"{self.emulator.ready['base_url']}/_emulator/{path}", timeout=10)

    def sweep(self, tag: str, mode: schemathesis.GenerationMode) -> None:
        """Asks each operation of an area for some things."""
        with requests.Session() as session:
            found: Iterable[Any] = schemathesis.openapi.from_dict(self.document()).get_all_operations()
            for operation in (each.ok() for each in found):
                if tag in operation.definition.raw["tags"] and _can_be_asked(operation, mode):
                    self._control("POST", "reset")
                    self._ask(operation, mode, session)

    def _ask(self, operation: Any, mode: schemathesis.GenerationMode, session: requests.Session) -> None:
        @settings(
            max_examples=1 if any(each in operation.path for each in SLOW) else EXAMPLES,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @seed(14)
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case: Any) -> None:
            if len(case.as_curl_command()) < LONGEST_ADDRESS:
                self.seed(case)
                self._send(case, session, mode)

        ask()

    def seed(self, case: Any) -> None:
        """Puts the ids of what is there into the path, since no generator knows them."""
        for name in case.path_parameters or {}:
            if name in SEEDED:
                case.path_parameters[name] = self.emulator.seed[SEEDED[name]][0]

    def _send(self, case: Any, session: requests.Session, mode: schemathesis.GenerationMode) -> None:
        options = {"session": session, "timeout": 10, "allow_redirects": False, "auth": self.credentials(case)}
        answer = case.call(base_url=self.emulator.ready["base_url"], **options)
        self.statuses[answer.status_code] += 1
        is_refused = mode is schemathesis.GenerationMode.POSITIVE and answer.status_code in (400, 415)
        if is_refused and SHAPE.search(_said(answer)):
            self.wrong.append(f"{case.as_curl_command()}\n{answer.text}")
        self.check(case, answer)

    def check(self, case: Any, answer: Any) -> None:
        """Holds an answer against the document."""
        try:
            case.validate_response(answer, checks=HOLD)
        except FailureGroup as problem:
            self.wrong.append(f"{case.as_curl_command()}\n{problem}")

    def credentials(self, case: Any) -> AuthBase | None:
        """Those that the operation prefers."""
        ready = self.emulator.ready
        accepted = [name for each in case.operation.definition.raw["security"] for name in each]
        if "appKey" in accepted:
            return HTTPBasicAuth(ready["api_key"], ready["api_key_secret"])
        if "appOnly" in accepted:
            return Bearer(ready)
        return Signed(ready) if "oauth1" in accepted else None

    def follow_links(self) -> None:
        """Asks for things, and with their ids for what can be done with them."""
        document = _linked(self.document())
        document["components"]["schemas"]["WebhookDraft"]["properties"]["url"] = {"const": URL}
        schema = schemathesis.openapi.from_dict(document)
        schema.config.update(base_url=self.emulator.ready["base_url"])
        chosen = settings(
            max_examples=12,
            stateful_step_count=8,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        run_state_machine_as_test(_workflow(schema.as_state_machine(), self), settings=chosen)


def _said(answer: requests.Response) -> str:
    """Returns what the emulator says in a refusal, without the values that it repeats."""
    if "json" not in answer.headers["content-type"]:  # the authorize page
        return answer.text
    refusal = answer.json()
    messages = [each.get("message", "") for each in refusal.get("errors", ())]
    return "\n".join((refusal.get("detail", ""), *messages))


def _can_be_asked(operation: Any, mode: schemathesis.GenerationMode) -> bool:
    """Returns whether there is anything that can be wrong: any text will do in a path."""
    raw = operation.definition.raw
    has_query = any(each["in"] == "query" for each in raw["parameters"])
    return mode is schemathesis.GenerationMode.POSITIVE or has_query or "requestBody" in raw


def _linked(document: dict[str, Any]) -> dict[str, Any]:
    """Returns the document with the operations that make something or take what was made."""
    operations = [each for of_path in document["paths"].values() for each in of_path.values()]
    links = {each["operationId"]: _links(each) for each in operations}
    kept = {name for name, targets in links.items() if targets} | {name for each in links.values() for name in each}
    paths = {
        path: {method: each for method, each in of_path.items() if each["operationId"] in kept}
        for path, of_path in document["paths"].items()
    }
    return {**document, "paths": {path: of_path for path, of_path in paths.items() if of_path}}


def _links(operation: Mapping[str, Any]) -> set[str]:
    return {name for response in operation["responses"].values() for name in response.get("links", ())}


def _workflow(base: Any, asking: Asking) -> Any:
    class Workflow(base):  # type: ignore[misc]  # it is made from the document
        def get_call_kwargs(self, case: Any) -> dict[str, Any]:
            return {"auth": asking.credentials(case), "timeout": 10, "allow_redirects": False}

        def before_call(self, case: Any) -> None:
            if not asking.made & set((case.path_parameters or {}).values()):
                asking.seed(case)

        def validate_response(self, response: Any, case: Any, **options: Any) -> None:
            asking.check(case, response)
            if response.status_code < 300 and asking.made & set((case.path_parameters or {}).values()):
                asking.linked[case.operation.label] += 1
            if response.status_code < 300 and case.method == "POST":
                data = response.json()["data"]
                asking.made |= {data[name] for name in ("id", "media_key") if name in data}

    return Workflow


@pytest.fixture
def asking(emulator: Emulator) -> Iterator[Asking]:
    asking = Asking(emulator)
    yield asking
    assert not asking.wrong, "\n\n".join(asking.wrong)


AREAS: Final = ("platform", "advertising", "creatives", "catalogs", "oauth")


@pytest.mark.parametrize("area", AREAS)
async def test_valid_requests_are_not_refused_for_their_shape(asking: Asking, area: str) -> None:
    await _in_thread(lambda: asking.sweep(area, schemathesis.GenerationMode.POSITIVE))
    assert asking.statuses.total() > EXAMPLES


@pytest.mark.parametrize("area", AREAS)
async def test_invalid_requests_are_answered_as_described(asking: Asking, area: str) -> None:
    await _in_thread(lambda: asking.sweep(area, schemathesis.GenerationMode.NEGATIVE))
    assert asking.statuses[400] > 0


async def test_what_was_made_can_be_asked_for(asking: Asking) -> None:
    async with owner_of_webhook(asking.emulator.ready["api_key_secret"]) as owner:
        asking.emulator.webhook_targets[URL] = owner.address
        await _in_thread(asking.follow_links)
    assert asking.linked.total() > 0


async def _in_thread(run: Callable[[], None]) -> None:
    await asyncio.to_thread(run)


async def test_a_webhook_url_with_a_bracket_is_refused(ask: Asker) -> None:
    reply = await ask.bearer("POST", "/2/webhooks", json={"url": "https://a[b"})
    assert (reply.status, reply.json["title"]) == (400, "UrlValidationFailed")


async def test_a_cover_that_is_no_object_is_refused(ask: Asker) -> None:
    draft = {"title": "Huts", "content_state": {}, "cover_media": True}
    assert (await ask.signed("POST", "/2/articles/draft", json=draft)).at_fault == ["cover_media"]


async def test_a_year_below_1000_is_answered_as_it_was_given(ask: Asker) -> None:
    path = f"/ads/12/accounts/{ask.account}/line_items/{ask.emulator.seed['line_item_ids'][0]}"
    reply = await ask.signed("PUT", f"{path}?end_time=0491-04-14T18%3A53%3A28Z")
    assert reply.data["end_time"] == "0491-04-14T18:53:28Z"


async def test_a_request_line_that_is_too_long_is_refused_in_json(ask: Asker) -> None:
    reply = await ask.signed("GET", f"/ads/12/accounts?q={'a' * 9_000}")
    assert reply.status in (200, 400, 414)
    assert reply.headers["Content-Type"].startswith("application/json")
