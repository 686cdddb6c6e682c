"""`socialapi auth`: login, status and logout."""

import os
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import orjson
from cyclopts import App, Parameter, validators

from socialapi.cli import output
from socialapi.cli.credential_store import CredentialStore, Login, say_misspelled_variables, shared_tokens
from socialapi.cli.options import whole_number
from socialapi.cli.sign_in import Page, by_callback, by_oauth2, by_pin
from socialapi.client import Client
from socialapi.config import Config
from socialapi.credentials import OAuth1, OAuth2User, credentials_from_env
from socialapi.errors import ConfigurationError, InvalidInput, Unauthorized
from socialapi.session.auth import INVALID_TOKEN_CODE
from socialapi.session.oauth2_user import pair_key
from socialapi.session.token_cache import FileTokenCache, cache_key

app: Final = App(name="auth")

NAMES: Final[Mapping[str, str]] = {
    "AppOnly": "app (app-only token)",
    "Bearer": "app (existing bearer token)",
    "OAuth1": "user (OAuth 1.0a)",
    "OAuth2User": "user (OAuth 2.0)",
}
_KINDS: Final[Mapping[str, str]] = {"oauth1": "OAuth1", "oauth2": "OAuth2User"}


@app.command
async def login(
    *,
    callback_port: Annotated[
        int | None,
        whole_number(
            help="Redirect the browser to http://127.0.0.1:PORT/callback, which must be registered for the app; "
            "0 uses a free port. By default, you type the PIN that the page shows.",
            least=0,
            most=65_535,
        ),
    ] = None,
    oauth2: Annotated[bool, Parameter(help="Sign in with OAuth 2.0 and PKCE; needs --callback-port.")] = False,
    client_id: Annotated[
        str | None, Parameter(help="Id of the OAuth 2.0 client; by default SOCIALAPI_OAUTH2_CLIENT_ID.")
    ] = None,
    scope: Annotated[
        list[str] | None,
        Parameter(help="Scope to request; repeatable. By default tweet.read, tweet.write, users.read, offline.access."),
    ] = None,
    access_type: Annotated[
        Literal["read", "write"] | None, Parameter(help="Request less access than the app has (OAuth 1.0a).")
    ] = None,
    force_login: Annotated[bool, Parameter(help="Make the page ask for the password (OAuth 1.0a).")] = False,
    screen_name: Annotated[str | None, Parameter(help="User name to fill in on the page (OAuth 1.0a).")] = None,
    open_: Annotated[bool, Parameter(name="--open", help="Open the page in a browser.")] = False,
    timeout_seconds: Annotated[
        float, Parameter(help="Seconds to wait for the user.", validator=validators.Number(gt=0, lte=3_600))
    ] = 300,
) -> int:
    """Sign in as a user, and store the tokens for later commands.

    For example: `socialapi auth login`, or `socialapi auth login --callback-port 8765 --open`.
    Prints the address of a page on which the user allows the app to act for them. SOCIALAPI_BASE_URL
    is the address of the service. SOCIALAPI_API_KEY and SOCIALAPI_API_KEY_SECRET identify the app
    (with --oauth2, the client id does, with SOCIALAPI_OAUTH2_CLIENT_SECRET if the client has a
    secret). The tokens are stored in a file that only you can read; SOCIALAPI_CREDENTIALS_FILE sets
    its path. Exit status: 0 signed in, 2 wrong usage, 3 denied, timed out or refused by the service.
    """
    of_oauth1 = {"--access-type": access_type, "--force-login": force_login, "--screen-name": screen_name}
    of_oauth2 = {"--client-id": client_id, "--scope": scope}
    for name, value in (of_oauth1 if oauth2 else of_oauth2).items():
        if value:
            raise InvalidInput(f"{name} has no effect {'with' if oauth2 else 'without'} --oauth2")
    page = Page(
        access_type=access_type,
        force_login=force_login or None,
        screen_name=screen_name or None,
        open_browser=open_,
        timeout_seconds=timeout_seconds,
    )
    store = CredentialStore.of(os.environ)
    store.prepare()
    async with Client.from_env() as client:
        if oauth2:
            made = await _oauth2_login(client, page, callback_port, client_id, tuple(scope or ()))
        else:
            made = await _oauth1_login(client, page, callback_port)
    replaced = [each for each in store.logins() if (each.host, each.kind) == (made.host, made.kind)]
    store.save(made)
    for each in replaced:
        await _forget_fetched(each, store)
    print(f"Signed in{_as_whom(made)} at {made.host}; stored in {store.path}.")
    if unused := made.unused_because(os.environ, made.host):
        output.say(f"this login is not used while {unused}")
    return output.DONE


async def _oauth1_login(client: Client, page: Page, port: int | None) -> Login:
    token = await (by_pin(client, page) if port is None else by_callback(client, page, port))
    return Login(
        host=client.config.base_url,
        kind="oauth1",
        secrets={
            # The environment has both; otherwise there would be no token.
            "api_key": os.environ["SOCIALAPI_API_KEY"].strip(),
            "api_key_secret": os.environ["SOCIALAPI_API_KEY_SECRET"].strip(),
            "access_token": token.oauth_token,
            "access_token_secret": token.oauth_token_secret,
        },
        user_id=token.user_id,
        screen_name=token.screen_name,
    )


async def _oauth2_login(
    client: Client, page: Page, port: int | None, client_id: str | None, scopes: tuple[str, ...]
) -> Login:
    from socialapi.resources.oauth import DOCUMENTED_SCOPES

    client_id = client_id or os.environ.get("SOCIALAPI_OAUTH2_CLIENT_ID")
    if not client_id:
        raise ConfigurationError("--oauth2 needs --client-id, or SOCIALAPI_OAUTH2_CLIENT_ID")
    if port is None:
        raise InvalidInput(
            "--oauth2 needs --callback-port: the page redirects to an address that is registered for the app"
        )
    secret = os.environ.get("SOCIALAPI_OAUTH2_CLIENT_SECRET") or None
    scopes = scopes or (*DOCUMENTED_SCOPES, "offline.access")  # without it there is no refresh token
    token = await by_oauth2(client, page, port, client_id=client_id, client_secret=secret, scopes=scopes)
    secrets = {
        "oauth2_access_token": token.access_token,
        "oauth2_refresh_token": token.refresh_token,
        "oauth2_client_id": client_id,
        "oauth2_client_secret": secret,
    }
    return Login(
        host=client.config.base_url,
        kind="oauth2",
        secrets={name: value for name, value in secrets.items() if value},
        scope=token.scope or " ".join(scopes),
    )


def _as_whom(made: Login) -> str:
    name = f"@{output.printable(made.screen_name)}" if made.screen_name else ""
    number = f"user {output.printable(made.user_id)}" if made.user_id else ""
    return f" as {name} ({number})" if name and number else f" as {name or number}" if name or number else ""


@app.command
def status(*, json: Annotated[bool, Parameter(help="Print one JSON object.")] = False) -> int:
    """Show the credentials with their source, host and user. Never shows a secret, and sends nothing.

    For example: `socialapi auth status`.
    """
    say_misspelled_variables(os.environ)
    store = CredentialStore.of(os.environ)
    base_url = Config.from_env().base_url
    rows: list[dict[str, Any]] = [
        {"kind": type(each).__name__, "source": "environment", "host": base_url or None, "used": True}
        for each in credentials_from_env()
    ]
    rows += [_from_file(login, base_url) for login in store.logins()]
    if json:
        print(orjson.dumps({"host": base_url or None, "file": str(store.path), "credentials": rows}).decode())
        return output.DONE
    print(f"host: {base_url or 'none; set SOCIALAPI_BASE_URL'}")
    for row in rows:
        source = "environment" if row["source"] == "environment" else str(store.path)
        name = f"@{row['screen_name']}" if "screen_name" in row else ""
        number = f"user {row['user_id']}" if "user_id" in row else ""
        scope = f"scopes {row['scope']}" if "scope" in row else ""
        facts = [each for each in (name, number, scope, f"for {row['host'] or 'any host'}", f"from {source}") if each]
        unused = f" (not used: {row['unused_because']})" if "unused_because" in row else ""
        print(output.printable(f"{NAMES[row['kind']]}: {', '.join(facts)}{unused}"))
    if not rows:
        print("no credentials: set SOCIALAPI_* variables, or sign in with `socialapi auth login`")
    return output.DONE


def _from_file(login: Login, base_url: str) -> dict[str, Any]:
    reason = login.unused_because(os.environ, base_url)
    facts = {"kind": _KINDS[login.kind], "source": "file", "host": login.host, "used": reason is None}
    about = {"user_id": login.user_id, "screen_name": login.screen_name, "scope": login.scope, "unused_because": reason}
    return facts | {name: value for name, value in about.items() if value}


@app.command
async def logout(
    *,
    revoke: Annotated[bool, Parameter(help="Also invalidate the token at the service (OAuth 1.0a).")] = False,
    every_host: Annotated[
        bool, Parameter(help="Delete the logins for all hosts, not only for the configured one.")
    ] = False,
) -> int:
    """Delete the logins that `socialapi auth login` has stored for the configured host.

    For example: `socialapi auth logout --revoke`. If the service does not revoke the token, --revoke keeps it, so that
    you can try again. A token that the service no longer knows is deleted. OAuth 2.0 tokens expire on their own: the
    service documents no way to revoke them.
    """
    if revoke and every_host:
        raise InvalidInput("--revoke works for one host at a time: omit --every-host")
    store = CredentialStore.of(os.environ)
    config = Config.from_env()
    host = "" if every_host else config.host("base_url")
    logins = [login for login in store.logins() if every_host or login.host == host]
    for login in logins:
        if revoke:
            await _revoke(login, config)
        await _forget_fetched(login, store)
        store.remove(login)
        print(f"Forgot {NAMES[_KINDS[login.kind]]}{_as_whom(login)} at {login.host}.")
    if not logins:
        print(f"Nothing is stored{f' for {host}' if host else ''}.")
    return output.DONE


async def _revoke(login: Login, config: Config) -> None:
    if login.kind != "oauth1":
        output.say("the OAuth 2.0 token was deleted here but not revoked; it expires on its own")
        return
    async with Client.from_env(config=config, credentials=[OAuth1(**login.secrets)]) as client:
        try:
            await client.oauth.invalidate_token()
        except Unauthorized as refusal:
            if INVALID_TOKEN_CODE not in refusal.codes:
                raise


async def _forget_fetched(login: Login, store: CredentialStore) -> None:
    """Deletes the tokens that commands have fetched with the login, which are stored separately."""
    if ("api_key" if login.kind == "oauth1" else "oauth2_access_token") not in login.secrets:
        return  # an incomplete entry was never used
    if login.kind == "oauth1":
        key = cache_key(login.host, login.secrets["api_key"])
    else:
        key = pair_key(login.host, OAuth2User(**{n.removeprefix("oauth2_"): v for n, v in login.secrets.items()}))
    async with shared_tokens(os.environ, FileTokenCache(store.token_cache_path)) as cache:
        if cache is not None and (fetched := await cache.load(key)):
            await cache.discard(key, fetched)
