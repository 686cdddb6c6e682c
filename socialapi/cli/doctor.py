"""`socialapi doctor` and `socialapi limits`: check the setup and the rate limits with calls to the service."""

import math
import os
import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

import attrs
import orjson
from cyclopts import Parameter

from socialapi import _speedups
from socialapi.cli import output
from socialapi.cli.auth import NAMES
from socialapi.cli.credential_store import CredentialStore, open_client, with_logins
from socialapi.client import Client
from socialapi.config import HOSTS, Config
from socialapi.credentials import AppOnly, Bearer, Credentials, OAuth1, OAuth2User, credentials_from_env
from socialapi.errors import ApiError, ConfigurationError, NotFound, SocialApiError
from socialapi.routes.ads import ACCOUNTS
from socialapi.routes.platform import POSTS
from socialapi.session.hints import SKEW_SECONDS, clock_error
from socialapi.session.oauth2_user import TokenPair, pair_key
from socialapi.session.rate_limiter import LimitStatus
from socialapi.session.token_cache import FileTokenCache
from socialapi.version import __version__
from socialapi.wire.rate_limit_headers import service_time
from socialapi.wire.response import read_result

Json = Annotated[bool, Parameter(help="Print one JSON object.")]

TIMEOUT_SECONDS: Final = 10.0


@attrs.define
class Check:
    """A check of the setup: its name, its result, and its exit status."""

    name: str
    found: str
    status: int = output.DONE


@attrs.define
class Answers:
    """The results of the harmless calls."""

    checks: list[Check] = attrs.field(factory=list)
    limits: dict[str, LimitStatus] = attrs.field(factory=dict)
    skew_seconds: float | None = None


async def doctor(*, json: Json = False) -> int:
    """Checks the setup, and returns the exit status."""
    checks = [Check("version", f"{__version__}; {_speedups.description()}")]
    try:
        config = Config.from_env()
        store = CredentialStore.of(os.environ)
        credentials = credentials_from_env(with_logins(os.environ, store, config.base_url))
    except ConfigurationError as problem:
        return _print([*checks, Check("configuration", str(problem), output.USAGE)], {}, as_json=json)
    checks += [Check(name, getattr(config, name) or f"not set (SOCIALAPI_{name.upper()})") for name in HOSTS]
    if not config.base_url and not config.ads_url:
        checks.append(Check("hosts", "none is set: set SOCIALAPI_BASE_URL or SOCIALAPI_ADS_URL", output.USAGE))
    if not credentials:
        checks.append(Check("credentials", "there are none: set SOCIALAPI_* variables, or sign in", output.USAGE))
    answers = await _ask_all(config, store, credentials)
    checks += answers.checks
    checks += _files(store)
    return _print(checks, answers.limits, as_json=json)


async def limits(*, json: Json = False) -> int:
    """Shows the known state of each rate limit."""
    async with open_client() as client:
        found = dict(client.limits)
        if not found:
            store = CredentialStore.of(os.environ)
            credentials = credentials_from_env(with_logins(os.environ, store, client.config.base_url))
            for credential in credentials:
                if _asks_ads(credential, client.config):
                    await client.ads.accounts.list(count=1).first()
                else:
                    await _ask_platform(client, credential)
            found = dict(client.limits)
    if json:
        print(orjson.dumps({key: attrs.asdict(each) for key, each in found.items()}).decode())
        return output.DONE
    for key, each in sorted(found.items()):
        output.print_text(f"{key}: {_limit(each)}")
    return output.DONE


async def _ask_all(config: Config, store: CredentialStore, credentials: Sequence[Credentials]) -> Answers:
    answers = Answers()
    for credential in credentials:
        try:
            await _ask(config, store, credential, answers)
        except SocialApiError as problem:
            name = _blamed(problem) or NAMES[type(credential).__name__]
            answers.checks.append(Check(name, output.sentence(problem), output.status_of(problem)))
            if _blamed(problem):
                break  # without it, nothing is sent
    if answers.skew_seconds is not None:
        is_right = abs(answers.skew_seconds) < SKEW_SECONDS
        found = "right" if is_right else clock_error(answers.skew_seconds)
        answers.checks.insert(0, Check("this machine's clock", found, output.DONE if is_right else output.USAGE))
    return answers


def _blamed(problem: SocialApiError) -> str | None:
    """Returns the part of the setup that caused a call to fail, or None if the credential caused it."""
    if not os.environ.get("SOCIALAPI_REDIS_URL"):
        return None
    from socialapi.integrations.redis_server import RedisLost

    return "shared limits (SOCIALAPI_REDIS_URL)" if isinstance(problem, RedisLost) else None


async def _ask(config: Config, store: CredentialStore, credential: Credentials, answers: Answers) -> None:
    """Makes one harmless call with a credential, without renewing its token."""
    name = NAMES[type(credential).__name__]
    settings: dict[str, Any] = {"timeout_seconds": TIMEOUT_SECONDS, "retries": 0, "max_wait_seconds": TIMEOUT_SECONDS}
    tokens = FileTokenCache(store.token_cache_path)
    if isinstance(credential, AppOnly):
        async with Client.from_env(
            config=attrs.evolve(config, **settings), credentials=[credential], token_cache=tokens
        ) as client:
            credential = Bearer((await client.oauth.app_only_token()).access_token)
    if isinstance(credential, OAuth2User) and credential.refresh_token is not None:
        pair = TokenPair.from_text(await tokens.load(pair_key(config.base_url, credential)))
        credential = OAuth2User(pair.access_token if pair is not None else credential.access_token)
    async with Client.from_env(config=attrs.evolve(config, **settings), credentials=[credential]) as client:
        headers: Mapping[str, str] = {}
        try:
            if _asks_ads(credential, config):
                reply = await client.request("GET", "/12/accounts", params={"count": 1}, api="ads")
                headers = reply.headers
                read_result(ACCOUNTS, reply)
            else:
                headers = await _ask_platform(client, credential)
            answers.checks.append(Check(name, "accepted"))
        except ApiError as refusal:
            headers = refusal.headers
            raise
        finally:
            if "date" in headers:
                now = time.time()
                answers.skew_seconds = now - service_time(headers, now)
            answers.limits |= client.limits


def _asks_ads(credential: Credentials, config: Config) -> bool:
    return isinstance(credential, OAuth1) and bool(config.ads_url)


async def _ask_platform(client: Client, credential: Credentials) -> Mapping[str, str]:
    """Requests a post that does not exist, and returns the headers of the response."""
    auth: Literal["app", "user"] = "app" if isinstance(credential, AppOnly | Bearer) else "user"
    try:
        reply = await client.request("GET", "/2/tweets", params={"ids": "1"}, auth=auth)
        read_result(POSTS, reply)
    except NotFound as refusal:
        return refusal.headers
    return reply.headers


def _files(store: CredentialStore) -> list[Check]:
    """Returns the files that contain state, and whether other users can read them."""
    checks = []
    for name, path in (("logins", store.path), ("renewed tokens", store.token_cache_path)):
        if not path.exists():
            checks.append(Check(name, f"{path}: none yet"))
            continue
        is_private = not path.stat().st_mode & 0o077
        found = f"{path}" if is_private else f"{path} can be read by others: chmod 600 it"
        checks.append(Check(name, found, output.DONE if is_private else output.USAGE))
    return checks


def _limit(status: LimitStatus) -> str:
    known = status.limit is not None
    left = f"{'?' if status.remaining is None else f'{status.remaining:,}'} of {status.limit:,} left" if known else ""
    resets = f"resets in {math.ceil(status.resets_in_seconds)} s" if status.resets_in_seconds else ""
    return ", ".join(filter(None, (left, resets))) or "unknown until the service reports the limit"


def _print(checks: Sequence[Check], limits: Mapping[str, LimitStatus], *, as_json: bool) -> int:
    """Prints the findings, and returns the exit status of the most serious one."""
    status = max(each.status for each in checks)
    if as_json:
        found = {
            "status": status,
            "checks": [{"name": each.name, "found": each.found, "ok": each.status == output.DONE} for each in checks],
            "limits": {key: attrs.asdict(each) for key, each in limits.items()},
        }
        print(orjson.dumps(found).decode())
        return status
    for each in checks:
        mark = "ok  " if each.status == output.DONE else "FAIL"
        output.print_text(f"{mark}  {each.name}: {each.found}")
    for key, limit in sorted(limits.items()):
        output.print_text(f"      limit {key}: {_limit(limit)}")
    return status
