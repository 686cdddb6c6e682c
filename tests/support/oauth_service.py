"""The token endpoints of a service, made of other libraries than the SDK: oauthlib's server side, authlib's PKCE."""

import itertools
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from authlib.oauth2.rfc7636 import create_s256_code_challenge
from oauthlib.oauth1 import AccessTokenEndpoint, RequestTokenEndpoint, RequestValidator, ResourceEndpoint

from tests.support.server import Received, Server, Step, answer

API_KEY: Final = "app-key-0123456789"
API_KEY_SECRET: Final = "app-secret-&%=of+the/app"
CLIENT_ID: Final = "client-of-oauth2"
INVALID_TOKEN_CODE: Final = answer({"errors": [{"code": 89, "message": "Invalid or expired token."}]}, status=401)
PAIRS: Final = "text/html; charset=utf-8"


class Validator(RequestValidator):
    """What oauthlib asks of a service; everything is kept in dictionaries."""

    enforce_ssl = False
    timestamp_lifetime = 10**10  # the client's clock is a virtual one
    nonce_length = (16, 64)
    dummy_client = "no-such-client"
    dummy_request_token = "no-such-request-token"
    dummy_access_token = "no-such-access-token"

    def __init__(self) -> None:
        super().__init__()
        self.request_secrets: dict[str, str] = {}
        self.verifiers: dict[str, str] = {}
        self.access_secrets: dict[str, str] = {}
        self.callbacks: list[str] = []
        self.nonces: set[str] = set()

    def check_client_key(self, client_key: str) -> bool:
        return True

    def check_request_token(self, request_token: str) -> bool:
        return True

    def check_access_token(self, request_token: str) -> bool:
        return True

    def check_verifier(self, verifier: str) -> bool:
        return True

    def validate_timestamp_and_nonce(
        self, client_key: Any, timestamp: Any, nonce: str, *rest: Any, **more: Any
    ) -> bool:
        is_new = nonce.isascii() and nonce not in self.nonces
        self.nonces.add(nonce)
        return is_new

    def validate_client_key(self, client_key: str, request: Any) -> bool:
        return client_key == API_KEY

    def validate_request_token(self, client_key: str, token: str, request: Any) -> bool:
        return token in self.request_secrets

    def validate_access_token(self, client_key: str, token: str, request: Any) -> bool:
        return token in self.access_secrets

    def validate_verifier(self, client_key: str, token: str, verifier: str, request: Any) -> bool:
        return self.verifiers.get(token) == verifier

    def validate_redirect_uri(self, client_key: str, redirect_uri: str, request: Any) -> bool:
        self.callbacks.append(redirect_uri)
        return redirect_uri != "https://unregistered.example/"

    def validate_requested_realms(self, *arguments: Any, **options: Any) -> bool:
        return True

    validate_realms = validate_requested_realms

    def get_default_realms(self, client_key: str, request: Any) -> list[str]:
        return []

    def get_realms(self, token: str, request: Any) -> list[str]:
        return []

    def get_client_secret(self, client_key: str, request: Any) -> str:
        return API_KEY_SECRET

    def get_request_token_secret(self, client_key: str, token: str, request: Any) -> str:
        return self.request_secrets.get(token, "")

    def get_access_token_secret(self, client_key: str, token: str, request: Any) -> str:
        return self.access_secrets.get(token, "")

    def save_request_token(self, token: Any, request: Any) -> None:
        self.request_secrets[token["oauth_token"]] = token["oauth_token_secret"]
        self.verifiers[token["oauth_token"]] = "7240810"

    def save_access_token(self, token: Any, request: Any) -> None:
        self.access_secrets[token["oauth_token"]] = token["oauth_token_secret"]

    def invalidate_request_token(self, client_key: str, token: str, request: Any) -> None:
        del self.request_secrets[token]


class OAuthService:
    """OAuth 1.0a in three steps, OAuth 2.0 with PKCE and rotation, and an API that takes the tokens of both.

    `tokens[n]` is the n-th pair of OAuth 2.0 that was made; only the last one is good. `overrides` answers a path
    otherwise, once.
    """

    def __init__(self, *, expires_in: int | None = 7200, rotates: bool = True) -> None:
        self.validator = Validator()
        self.server = Server(then=self._answer)
        self.overrides: dict[str, list[Step]] = {}
        self.forms: list[dict[str, str]] = []
        self.challenges: dict[str, str] = {}
        self.expires_in = expires_in
        self.rotates = rotates
        self.alive = {"access-0"}
        self.refresh_token = "refresh-0"
        self._numbers = itertools.count(1)

    @property
    def url(self) -> str:
        return self.server.url

    def requests(self, path: str) -> list[Received]:
        """Those to a path, whatever their query."""
        return [each for each in self.server.requests if each.path.partition("?")[0] == path]

    def grant(self, challenge: str, code: str = "the-code") -> str:
        """The code that the page gives when the user says yes."""
        self.challenges[code] = challenge
        return code

    async def _answer(self, received: Received) -> Any:
        path = received.path.partition("?")[0]
        if scripted := self.overrides.get(path):
            step = scripted.pop(0)
            return await step(received) if callable(step) else step
        return await self._handlers.get(path, OAuthService._api)(self, received)

    def _oauth1(self, endpoint: Any, received: Received) -> tuple[str, int]:
        headers = {name.title(): value for name, value in received.headers.items()}
        create = next(name for name in dir(endpoint) if name.startswith("create_") and name.endswith("_response"))
        _, body, status = getattr(endpoint, create)(
            self.url + received.path, received.method, received.body.decode(), headers
        )
        return body or "", status

    async def _request_token(self, received: Received) -> bytes:
        body, status = self._oauth1(RequestTokenEndpoint(self.validator), received)
        return answer(body.encode(), status=status, content_type=PAIRS)

    async def _access_token(self, received: Received) -> bytes:
        body, status = self._oauth1(AccessTokenEndpoint(self.validator), received)
        who = urlencode({"user_id": "42", "screen_name": "ada"}) if status == 200 else ""
        return answer("&".join(filter(None, (body, who))).encode(), status=status, content_type=PAIRS)

    async def _invalidate(self, received: Received) -> bytes:
        token = self._signed_by(received)
        if token is None:
            return INVALID_TOKEN_CODE
        del self.validator.access_secrets[token]
        return answer({"access_token": token})

    def _signed_by(self, received: Received) -> str | None:
        headers = {name.title(): value for name, value in received.headers.items()}
        is_valid, request = ResourceEndpoint(self.validator).validate_protected_resource_request(
            self.url + received.path, received.method, received.body.decode(), headers
        )
        return request.resource_owner_key if is_valid and request else None

    async def _token(self, received: Received) -> bytes:
        form = dict(parse_qsl(received.body.decode()))
        self.forms.append(form)
        if form["grant_type"] == "authorization_code":
            challenge = self.challenges.pop(form["code"], None)
            is_good = challenge == create_s256_code_challenge(form["code_verifier"])
        else:
            is_good = form["refresh_token"] == self.refresh_token
        if not is_good:
            return answer({"error": "invalid_grant", "error_description": "it has ended"}, status=400)
        number = next(self._numbers)
        self.alive = {f"access-{number}"}
        body: dict[str, Any] = {"access_token": f"access-{number}", "token_type": "bearer", "scope": "users.read"}
        if self.rotates or form["grant_type"] == "authorization_code":
            self.refresh_token = body["refresh_token"] = f"refresh-{number}"
        return answer(body | ({"expires_in": self.expires_in} if self.expires_in is not None else {}))

    async def _api(self, received: Received) -> bytes:
        scheme, _, token = received.headers.get("authorization", "").partition(" ")
        if scheme == "Bearer" and token in self.alive:
            return answer({"data": {"as": token}})
        if scheme == "OAuth" and (signer := self._signed_by(received)):
            return answer({"data": {"as": signer}})
        return INVALID_TOKEN_CODE

    _handlers: Final[dict[str, Callable[["OAuthService", Received], Awaitable[bytes]]]] = {
        "/oauth/request_token": _request_token,
        "/oauth/access_token": _access_token,
        "/1.1/oauth/invalidate_token": _invalidate,
        "/2/oauth2/token": _token,
    }
