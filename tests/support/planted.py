"""Secrets and people whose values are searched for in what is told of calls, and the calls that have them."""

import pickle
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from socialapi import AppOnly, AudienceUser, Bearer, Client, Config, OAuth1, OAuth2User, Operation
from socialapi.credentials import Credentials
from socialapi.errors import SocialApiError
from tests.support.clients import HighestJitter
from tests.support.clock import VirtualClock
from tests.support.server import Cut, Fault, Server, Step, answer

SECRETS: Final = {
    "api_key": "PlantedKey4711",
    "api_key_secret": "PlantedKeySecret4712",
    "access_token": "PlantedToken4713",
    "access_token_secret": "PlantedTokenSecret4714",
    "bearer": "PlantedBearer4715",
    "app_only_token": "PlantedAppOnly4716",
    "oauth2": "PlantedOAuth24717",
}
PEOPLE: Final = {
    "email": "planted.anna@example.com",
    "phone_number": "+15550147180",
    "partner_user_id": "PlantedPartner4719",
    "handle": "planted_ann4720",
    "device_id": "d4721d47-21de-4c0e-a472-d14721d47210",
    "bad_email": "planted.bad.4722",
    "bad_phone": "0555014723x",
}
PLANTED: Final = (*SECRETS.values(), *PEOPLE.values(), "15550147180", "5550147180")

APP = AppOnly(SECRETS["api_key"], SECRETS["api_key_secret"])
USER = OAuth1(SECRETS["api_key"], SECRETS["api_key_secret"], SECRETS["access_token"], SECRETS["access_token_secret"])
CREDENTIALS = (USER, APP, Bearer(SECRETS["bearer"]), OAuth2User(SECRETS["oauth2"]))

ANNA = AudienceUser(
    email=PEOPLE["email"],
    phone_number=PEOPLE["phone_number"],
    partner_user_id=PEOPLE["partner_user_id"],
    handle=PEOPLE["handle"],
    device_id=PEOPLE["device_id"],
)
ROWS = [
    {"email": PEOPLE["email"], "phone_number": PEOPLE["phone_number"], "partner_user_id": PEOPLE["partner_user_id"]},
    {"email": PEOPLE["bad_email"], "handle": PEOPLE["handle"]},
    {"email": PEOPLE["bad_email"], "phone_number": PEOPLE["bad_phone"]},
]
BAD = AudienceUser(email=PEOPLE["bad_email"], phone_number=PEOPLE["bad_phone"])


def leaks(text: str) -> list[str]:
    return [value for value in PLANTED if value.lower() in text.lower()]


def told_by(error: BaseException) -> Iterator[str]:
    """Everything that somebody who logs, prints, pickles or reports the error would see."""
    seen: set[int] = set()
    queue: list[BaseException] = [error]
    while queue:
        each = queue.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        # What was answered and collected is there for whoever asks for it by name, and nowhere else.
        shown = {name: value for name, value in vars(each).items() if name not in ("body", "collected")}
        yield from (str(each), repr(each), repr(each.args), repr(shown))
        yield "".join(traceback.format_exception_only(each))
        if isinstance(each, SocialApiError):
            yield pickle.dumps(each, 0).decode("latin-1")
        queue += [linked for linked in (each.__cause__, each.__context__) if linked is not None]


def client_for(
    server: Server,
    clock: VirtualClock,
    *,
    credentials: Sequence[Credentials] = CREDENTIALS,
    settings: Mapping[str, Any] = MappingProxyType({}),
    **options: Any,
) -> Client:
    """A client of a server that plays every API. The settings are those of its `Config` beside the addresses."""
    addresses = {"ads_url": f"{server.url}/ads", "ads_sandbox_url": f"{server.url}/ads-sandbox"}
    return Client(
        Config(base_url=server.url, **{**addresses, "retries": 1, "max_elapsed_seconds": 1.0, **settings}),
        credentials,
        clock=clock,
        rng=HighestJitter(),
        **options,
    )


async def token(client: Client) -> Any:
    return await client.oauth.app_only_token()


async def end_token(client: Client) -> Any:
    return await client.oauth.invalidate_app_only_token()


async def ask(client: Client) -> Any:
    return await client.request("GET", "/2/tweets", params={"q": PEOPLE["email"]})


async def ask_for_something_odd(client: Client) -> Any:
    return await client.request("POST", "/2/tweets", json={"text": PEOPLE["email"], "odd": {PEOPLE["handle"]}})


async def ask_at_an_odd_path(client: Client) -> Any:
    return await client.request("GET", f"/2/{PEOPLE['email']} x")


async def send(client: Client) -> Any:
    return await client.ads.account("18ce5").custom_audience("4f2a").send([Operation.update([ANNA])])


async def send_bad(client: Client) -> Any:
    return await client.ads.account("18ce5").custom_audience("4f2a").send([Operation.update([BAD, ANNA])])


async def upload(client: Client) -> Any:
    return await client.ads.account("18ce5").custom_audience("4f2a").upload(ROWS)


async def upload_objects(client: Client) -> Any:
    return await client.ads.account("18ce5").do_not_reach_list("7b2f").upload([ANNA, BAD])


CALLS: list[Callable[[Client], Awaitable[Any]]] = [
    token,
    end_token,
    ask,
    ask_for_something_odd,
    ask_at_an_odd_path,
    send,
    send_bad,
    upload,
    upload_objects,
]
FAILURES: dict[str, Step] = {
    "refused": answer({"errors": [{"code": 1, "message": "no"}]}, status=400),
    "dead token": answer({"errors": [{"code": 89, "message": "Invalid or expired token."}]}, status=401),
    "asked too often": answer({"errors": [{"code": 99, "message": "too often"}]}, status=403),
    "problem": answer({"type": "about:blank", "title": "Forbidden"}, status=403),
    "limited": answer(status=429, Retry_After="3"),
    "unavailable": answer(status=503, Retry_After="3"),
    "page": answer(b"<html></html>", status=500, content_type="text/html"),
    "closed": Fault.CLOSE,
    "reset": Fault.RESET,
    "cut": Cut(answer({"access_token": SECRETS["app_only_token"]})[:-3]),
    "no http": b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
    "broken json": answer(b'{"access_token": "' + SECRETS["app_only_token"].encode() + b'" oops'),
    "another shape": answer({"access_token": [SECRETS["app_only_token"]], "data": [SECRETS["app_only_token"]]}),
    "redirect": answer(status=302, Location="https://example.com/"),
    "other counts": answer({"data": {"success_count": 0, "total_count": 9}}),
    "operation errors": answer({"operation_errors": [{"index": 0, "code": "NO", "message": "bad"}]}, status=400),
}


async def outcome(call: Callable[[Client], Awaitable[Any]], client: Client) -> tuple[Any, BaseException | None]:
    try:
        return await call(client), None
    except (SocialApiError, RuntimeError) as error:
        return None, error
