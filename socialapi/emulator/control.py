"""The control plane under `/_emulator`: its routes, handlers and validated bodies."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Annotated, Any, Final, TypedDict

import attrs
import orjson
from aiohttp import web
from annotated_types import Ge, Le

from socialapi.emulator import dashboard
from socialapi.emulator.arguments import typed
from socialapi.emulator.handlers import is_implemented
from socialapi.emulator.hosts import split_target
from socialapi.emulator.ledger import RequestRecord, ledger
from socialapi.emulator.platform.fan_out import SHUTDOWN
from socialapi.emulator.request import decode_json
from socialapi.emulator.request_cycle import base_headers, read_body
from socialapi.emulator.responses import NDJSON, Answer, Refusal, ads_not_found, answer, refused
from socialapi.emulator.routing import Dispatcher
from socialapi.emulator.service import Service
from socialapi.emulator.state import Access, App, OwnedId, Tier
from socialapi.emulator.stubs import Stub
from socialapi.errors import InvalidInput
from socialapi.models.accounts import AnyFeatureKey
from socialapi.models.validation import Pattern, broken_rules
from socialapi.models.webhooks import WebhookUrl

ROOT: Final = "/_emulator"
PREFIX: Final = f"{ROOT}/"

_FORM_TYPES: Final = ("text/plain", "multipart/form-data")
"""Media types that an HTML form can send without percent-encoding. `curl -d` sends JSON as
`application/x-www-form-urlencoded`, which is allowed, because a form would percent-encode the braces.
"""
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
"""Headers that keep responses out of caches and away from other sites."""


@attrs.frozen
class Lines:
    """A response with one JSON document per line. It is sent in slices, so that other requests are served in between."""

    slices: Iterable[Iterable[Any]]


@attrs.frozen
class ControlRequest:
    """A control request: its path and query parameters, and its decoded body, which is None if there is none."""

    service: Service
    parameters: dict[str, str]
    query: Mapping[str, str]
    body: Any


Serve = Callable[[ControlRequest], Awaitable[Answer | Lines]]


ROWS: Final[list[tuple[str, str, Serve]]] = []
"""Everything registered by `control`."""


def control(method: str, path: str) -> Callable[[Serve], Serve]:
    """Registers the decorated function for a path under `/_emulator/`."""

    def register(function: Serve) -> Serve:
        ROWS.append((method, PREFIX + path, function))
        return function

    return register


def json_object(body: Any) -> dict[str, Any]:
    """Returns the body, which must be an object."""
    if not isinstance(body, dict):
        raise InvalidInput("the body must be a JSON object")
    return body


def checked(declared: Any, request: ControlRequest) -> dict[str, Any]:
    """Returns the body, which must follow the declared rules. A missing body counts as an empty object."""
    body = json_object({} if request.body is None else request.body)
    if broken := broken_rules(declared, body, now=request.service.clock.datetime()):
        raise InvalidInput("the body is invalid", broken)
    return body


MAX_BODY_BYTES: Final = 16_777_216
"""The maximum size of a request. Requests to publish events are the largest."""

_LINES_AT_ONCE: Final = 1_000


@control("GET", "")
async def get_dashboard(request: ControlRequest) -> Answer:
    """Returns the dashboard."""
    return dashboard.page()


async def redirect_to_dashboard(request: ControlRequest) -> Answer:
    """Redirects to the address with a trailing slash, because the links of the page are relative."""
    return Answer(307, b"", {"Location": PREFIX})


ROWS.append(("GET", ROOT, redirect_to_dashboard))


@control("GET", "ledger")
async def get_ledger(request: ControlRequest) -> Answer:
    """Returns the service's stored data and the requests it received."""
    found: dict[str, Any] = {}
    for each in ledger(request.service.state, request.service.log, request.service.deliveries):
        found = each
        await asyncio.sleep(0)  # a large ledger takes seconds, so other requests run in between
    return answer(found)


@control("GET", "audiences/{account_id}/{audience_id}/members")
async def audience_members(request: ControlRequest) -> Lines:
    """Returns the identifiers that are currently in a custom audience."""
    return _members(request, request.service.state.audiences, "audience_id")


@control("GET", "do-not-reach/{account_id}/{list_id}/members")
async def do_not_reach_members(request: ControlRequest) -> Lines:
    """Returns the identifiers that are currently in a do-not-reach list."""
    return _members(request, request.service.state.do_not_reach_lists, "list_id")


@control("GET", "catalogs/{catalog_id}/products")
async def catalog_products(request: ControlRequest) -> Lines:
    """Returns the stored products of a catalog, in the order of submission."""
    catalog = request.service.state.catalogs.get(request.parameters["catalog_id"])
    if catalog is None:
        raise ads_not_found(catalog_id=request.parameters["catalog_id"])
    stock = catalog.stock
    return Lines(map(stock.fields, items) for items in stock.slices())


@control("GET", "posts/{post_id}")
async def get_post(request: ControlRequest) -> Answer:
    """Returns a post with all of its fields, including fields that the API does not show."""
    post_id = request.parameters["post_id"]
    post = request.service.state.platform.posts.get(post_id)
    if post is None:
        raise Refusal(404, "NOT_FOUND", f"there is no post {post_id}", parameter="post_id")
    hidden = {
        "nullcast": post.nullcast,
        "replaced": post.replaced,
        "share_with_followers": post.shared_with_followers,
    }
    return answer(post.fields | hidden)


@control("GET", "seed")
async def seed(request: ControlRequest) -> Answer:
    """Returns the ids of the seed data by kind, and the names of the audiences and lists of every account by id."""
    state = request.service.state
    named = {"audiences": _names(state.audiences), "do_not_reach_lists": _names(state.do_not_reach_lists)}
    return answer({**request.service.seed, **named})


def _names(held: Mapping[OwnedId, Any]) -> dict[str, dict[str, str]]:
    by_account: dict[str, dict[str, str]] = {}
    for (account_id, own_id), record in held.items():
        by_account.setdefault(account_id, {})[own_id] = record.name
    return by_account


@control("GET", "openapi.json")
async def openapi(request: ControlRequest) -> Answer:
    """Returns the OpenAPI 3.1 document of the service."""
    # Imported here, because nothing else needs it and it would slow down every start.
    from socialapi.emulator.openapi import openapi_document

    return answer(openapi_document(request.service.base_url))


class Excerpt(TypedDict, total=False):
    """A selection of at most `limit` requests: the first ones after the request number `after`, or the newest ones
    without it.
    """

    after: Annotated[int, Ge(0)]
    limit: Annotated[int, Ge(1)]


@control("GET", "requests")
async def requests(request: ControlRequest) -> Lines:
    """Returns the received requests, oldest first."""
    log, wanted = request.service.log, typed(Excerpt, request.query)
    if broken := broken_rules(Excerpt, wanted, now=request.service.clock.datetime()):
        raise InvalidInput("the query is invalid", broken)
    limit = wanted.get("limit", len(log.records))
    records = log.after(wanted["after"], limit) if "after" in wanted else log.newest(limit)
    starts = range(0, len(records), _LINES_AT_ONCE)
    return Lines(map(RequestRecord.to_dict, records[start : start + _LINES_AT_ONCE]) for start in starts)


@control("GET", "requests/{number}")
async def get_request(request: ControlRequest) -> Answer:
    """Returns a request with its headers, body and response, with secrets masked."""
    return answer(request.service.exchanges.get(request.parameters["number"]).to_wire())


@control("POST", "requests/{number}/curl")
async def as_curl(request: ControlRequest) -> Answer:
    """Returns the command that sends a request to this emulator again, with credentials that work."""
    found = request.service.exchanges.get(request.parameters["number"])
    return answer(found.curl(request.service.base_url, request.service.state))


@control("GET", "overview")
async def get_overview(request: ControlRequest) -> Answer:
    """Returns counts of the service's stored data and received requests."""
    return answer(dashboard.overview(request.service))


@control("GET", "limits")
async def get_limits(request: ControlRequest) -> Answer:
    """Returns the windows of rate limits that are in use."""
    return answer(dashboard.limits(request.service.state.limits))


@control("GET", "streams")
async def get_streams(request: ControlRequest) -> Answer:
    """Returns the open streams."""
    return answer({"streams": [stream.to_wire() for stream in request.service.streams.streams]})


@control("GET", "webhooks")
async def get_webhooks(request: ControlRequest) -> Answer:
    """Returns the webhooks and their deliveries."""
    return answer(dashboard.webhooks(request.service))


@control("GET", "faults")
async def get_faults(request: ControlRequest) -> Answer:
    """Returns the active faults in the order they were added, and the most recent spent ones."""
    return answer(request.service.faults.to_wire())


@control("POST", "faults")
async def add_fault(request: ControlRequest) -> Answer:
    """Adds a fault, and returns it with its defaults."""
    return answer(attrs.asdict(request.service.faults.script(json_object(request.body))), 201)


@control("DELETE", "faults")
async def clear_faults(request: ControlRequest) -> Answer:
    """Removes all faults."""
    request.service.faults.clear()
    return answer({})


@control("GET", "stubs")
async def get_stubs(request: ControlRequest) -> Answer:
    """Returns the active stubs, oldest first."""
    return answer({"stubs": request.service.stubs.to_wire()})


@control("POST", "stubs")
async def add_stub(request: ControlRequest) -> Answer:
    """Adds a response for a path that is not implemented, and returns it with its defaults."""
    stub = Stub(**checked(Stub, request))
    problem = stub.problem()
    if problem is None and await is_implemented(stub.method, stub.path):
        problem = "the emulator implements this endpoint: add a fault to change its response"
    if problem is not None:
        raise Refusal(400, "INVALID_PARAMETER", problem, parameter="path")
    request.service.stubs.add(stub)
    return answer(attrs.asdict(stub), 201)


@control("DELETE", "stubs")
async def clear_stubs(request: ControlRequest) -> Answer:
    """Removes all stubs."""
    request.service.stubs.clear()
    return answer({})


@attrs.define
class Advance:
    """The number of seconds by which to advance the clock, which cannot go back."""

    advance: Annotated[float, Ge(0.0), Le(1e9)]


@control("POST", "clock")
async def advance_clock(request: ControlRequest) -> Answer:
    """Advances the emulator's clock, and responds when all due work is done."""
    body = checked(Advance, request)
    request.service.advance(body["advance"])
    await request.service.settle()
    return answer(dashboard.clock(request.service))


@control("GET", "clock")
async def get_clock(request: ControlRequest) -> Answer:
    """Returns the time."""
    return answer(dashboard.clock(request.service))


@attrs.define
class AppSettings:
    """The settings of an app, as `App` describes them."""

    tier: Tier = "self-serve"
    stream_webhooks: bool = False
    signs_in: bool = True
    access: Access = "write"
    names_advertisers: bool = True


@attrs.define
class NewApp(AppSettings):
    """The settings of a new app, and the user of its access token (by default the first one)."""

    user_id: str | None = None


@control("POST", "apps")
async def new_app(request: ControlRequest) -> Answer:
    """Creates another app, and returns its credentials."""
    body = checked(NewApp, request)
    users = request.service.state.users
    user = users.get(body.get("user_id") or request.service.seed["user_ids"][0])
    if user is None:
        raise ads_not_found(user_id=body["user_id"])
    made = request.service.state.new_app(user)
    _configure(made.caller.app, body)
    return answer(request.service.credentials(made), 201)


@control("POST", "apps/{api_key}")
async def configure_app(request: ControlRequest) -> Answer:
    """Changes settings of an app, and returns all of them."""
    app = request.service.state.apps.get(request.parameters["api_key"])
    if app is None:
        raise ads_not_found(api_key=request.parameters["api_key"])
    return answer(_configure(app, checked(AppSettings, request)))


_SETTINGS: Final = tuple(field.name for field in attrs.fields(AppSettings))


def _configure(app: App, chosen: Mapping[str, Any]) -> dict[str, Any]:
    for name in chosen.keys() & set(_SETTINGS):
        setattr(app, name, chosen[name])
    return {name: getattr(app, name) for name in _SETTINGS}


@attrs.define
class AccountFeatures:
    """The features to set for an ad account."""

    features: tuple[AnyFeatureKey, ...]


@control("POST", "accounts/{account_id}/features")
async def set_features(request: ControlRequest) -> Answer:
    """Replaces the features of an ad account, and returns them."""
    accounts = request.service.state.advertising.accounts
    account = accounts.get(request.parameters["account_id"])
    if account is None:
        raise ads_not_found(account_id=request.parameters["account_id"])
    accounts.change(account, features=list(dict.fromkeys(checked(AccountFeatures, request)["features"])))
    return answer({"features": account["features"]})


@attrs.define
class WebhookTarget:
    """The address to which the requests for a webhook's URL are sent; null removes it."""

    url: WebhookUrl
    target: Annotated[str, Pattern(r"https?://\S+", "must be an http address")] | None


@control("POST", "webhook-targets")
async def map_webhook(request: ControlRequest) -> Answer:
    """Sets or removes the target of a webhook URL, and returns all targets."""
    body = checked(WebhookTarget, request)
    url, target, outgoing = body["url"], body["target"], request.service.outgoing
    if target is None:
        outgoing.targets.pop(url, None)
    elif problem := outgoing.rule.problem(target):
        raise Refusal(400, "INVALID_PARAMETER", problem, parameter="target")
    else:
        outgoing.targets[url] = target
    return answer(outgoing.targets)


@control("POST", "events")
async def publish_events(request: ControlRequest) -> Answer:
    """Publishes one or more activity events or posts. Returns when everything is queued."""
    return answer(await request.service.publishing.publish(request.body))


@attrs.define
class EndStreams:
    """How to end the open streams: with a problem of this type, or in the middle of a line."""

    disconnect_type: Annotated[str, Pattern("[A-Za-z]+", "must contain only letters")] | None = None
    abruptly: bool = False


@control("POST", "streams/end")
async def end_streams(request: ControlRequest) -> Answer:
    """Ends every open stream."""
    body = checked(EndStreams, request)
    kind = body.get("disconnect_type") or SHUTDOWN
    return answer({"ended": request.service.streams.end_all(kind, abruptly=body.get("abruptly", False))})


@control("POST", "reset")
async def reset(request: ControlRequest) -> Answer:
    """Restores the seed data. Also clears the faults, stubs and log, resets the clock, and removes the webhook targets
    that were added after the start.
    """
    request.service.reset()
    return answer({})


CONTROLS: Final = Dispatcher(ROWS)


def is_control(request: web.BaseRequest) -> bool:
    """Returns whether a request is for the control plane, even if its target is an absolute URL."""
    _, path = split_target(request.raw_path)
    return path == ROOT or path.startswith(PREFIX)


async def serve_control(service: Service, request: web.BaseRequest) -> web.StreamResponse:
    """Answers a control request. Errors have the format of the advertising API."""
    try:
        response = await _respond(service, request)
    except Refusal as refusal:
        response = refused(refusal, "control", {}, "")
    headers = base_headers(service) | _HEADERS
    if isinstance(response, Answer):
        headers |= {"Content-Type": response.content_type} | dict(response.headers)
        return web.Response(status=response.status, body=response.body, headers=headers)
    stream = web.StreamResponse(headers=headers | {"Content-Type": NDJSON})
    await stream.prepare(request)
    for each in response.slices:
        await stream.write(b"".join(orjson.dumps(value) + b"\n" for value in each))
        await asyncio.sleep(0)  # writing to a fast reader never waits, so other requests would starve
    return stream


async def _respond(service: Service, request: web.BaseRequest) -> Answer | Lines:
    service.control_access.check(request.raw_path, request.headers)
    match = await CONTROLS.find(request)
    if match.entry is None:
        raise match.refusal()
    raw = await read_body(request, MAX_BODY_BYTES)
    if raw is None:
        raise Refusal(400, "INVALID_PARAMETER", f"the body has more than {MAX_BODY_BYTES:,} bytes")
    if raw and request.content_type in _FORM_TYPES:
        message = f"the control plane does not accept {request.content_type}: send the body as application/json"
        raise Refusal(415, "UNSUPPORTED_MEDIA_TYPE", message)
    try:
        body = decode_json(raw or b"null")
        return await match.entry(ControlRequest(service, dict(match.parameters), request.query, body))
    except InvalidInput as problem:
        raise Refusal(400, "INVALID_PARAMETER", str(problem)) from None
    except ValueError:
        raise Refusal(400, "INVALID_PARAMETER", "the body is not valid JSON, or is nested too deeply") from None


def _members(request: ControlRequest, held: Mapping[OwnedId, Any], parameter: str) -> Lines:
    account_id, own_id = request.parameters["account_id"], request.parameters[parameter]
    found = held.get((account_id, own_id))
    if found is None:
        kind = parameter.removesuffix("_id")
        message = f"the account {account_id} has no {kind} {own_id}: GET {PREFIX}seed lists the ids of every account"
        raise Refusal(404, "NOT_FOUND", message, parameter=parameter)
    slices = found.members.slices(request.service.clock.now())
    return Lines(({"kind": kind, "value": value} for kind, value in pairs) for pairs in slices)
