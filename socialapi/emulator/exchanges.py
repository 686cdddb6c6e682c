"""The latest requests with their bodies and responses, and curl commands that send them again."""

import re
import secrets
import shlex
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from socialapi.emulator.ledger import RequestRecord
from socialapi.emulator.request import Received
from socialapi.emulator.responses import Refusal
from socialapi.emulator.state import Caller, State

KEPT: Final = 200
"""The number of requests that are kept with their bodies."""
BYTES_KEPT: Final = 32_768
"""The number of bytes that are kept of each request or response body."""

STARS: Final = "***"
_SECRET_HEADERS: Final = ("authorization", "proxy-authorization", "cookie", "set-cookie")
_SECRETS: Final = (
    r"(?:(?:access|bearer|oauth|refresh)_token(?:_secret)?|client_secret|api_key_secret|code_verifier|password|token"
    r"|oauth_(?:verifier|signature))"
)
_in_json: Final = re.compile(rf'("{_SECRETS}"\s*:\s*")[^"]+')
_in_form: Final = re.compile(rf"((?:^|[?&])(?:{_SECRETS}|code)=)[^&\s]+", re.MULTILINE)

Headers = tuple[tuple[str, str], ...]


@attrs.frozen
class Message:
    """The headers and the beginning of the body of a request or response."""

    headers: Headers
    body: bytes
    size: int

    @classmethod
    def of(cls, headers: Mapping[str, str], body: bytes) -> "Message":
        """Returns a message that keeps only the beginning of the body."""
        return cls(tuple(headers.items()), body[:BYTES_KEPT], len(body))

    @property
    def text(self) -> str | None:
        """The body, or None if it was truncated or is not text."""
        try:
            return None if len(self.body) < self.size else self.body.decode()
        except UnicodeDecodeError:
            return None

    def to_wire(self) -> dict[str, Any]:
        """Returns the message with its secrets masked."""
        return {
            "headers": [[name, _masked(name, value)] for name, value in self.headers],
            "body": _without_secrets(self.body.decode("utf-8", "replace")),
            "body_bytes": self.size,
            "cut": len(self.body) < self.size,
        }


@attrs.define(eq=False, kw_only=True)
class Exchange:
    """A request, and its response if there was one. A stream has a response without a body."""

    record: RequestRecord
    query: str
    request: Message
    caller: Caller | None = None
    answer: Message | None = None

    def to_wire(self) -> dict[str, Any]:
        """Returns the request and the response with their secrets masked."""
        return {
            **self.record.to_dict(),
            "query": _without_secrets(self.query),
            "request": self.request.to_wire(),
            "answer": None if self.answer is None else self.answer.to_wire(),
        }

    def curl(self, base_url: str, state: State) -> dict[str, str]:
        """Returns the command that sends the request to this emulator again, and a note if the command needs anything
        else.

        A signature can be used only once, so a signed request is sent again with a bearer token of the same user and
        app. Raises Refusal if the endpoint accepts only signatures.
        """
        url = base_url + self.record.path + (f"?{self.query}" if self.query else "")
        words = ["curl", "-X", self.record.method, url]
        for name, value in (*self._authorization(state), *self.request.headers):
            if name.lower() not in _OF_THE_CONNECTION or value.startswith(_KEPT_AUTHORIZATIONS):
                words += ["-H", f"{name}: {value}"]
        note = ""
        if self.request.size:
            text = self.request.text
            # Not --data-binary, which sends the content of a file if the text starts with @ and the file's name.
            words += ["--data-binary", "@body"] if text is None else ["--data-raw", text]
            missing = "the body was not kept (too long, or not text): save it in a file named body"
            note = missing if text is None else ""
        return {"curl": shlex.join(words), "note": note}

    def _authorization(self, state: State) -> Iterator[tuple[str, str]]:
        signed = any(
            name.lower() == "authorization" and value.startswith("OAuth ") for name, value in self.request.headers
        )
        if not signed or self.caller is None:
            return
        if self.caller.user is None:
            raise Refusal(400, "INVALID_PARAMETER", "this endpoint accepts only signatures, which work only once")
        caller = self.caller
        token = next((token for token, each in state.bearers.items() if each is caller), None)
        if token is None:
            token = secrets.token_urlsafe(24)
            state.bearers[token] = caller
        yield "Authorization", f"Bearer {token}"


_OF_THE_CONNECTION: Final = frozenset(
    (
        *("authorization", "host", "content-length", "connection", "accept-encoding", "user-agent"),
        *("transfer-encoding", "expect", "cookie"),
    )
)
"""Headers that curl sets itself, or that cannot be reused."""
_KEPT_AUTHORIZATIONS: Final = ("Bearer ", "Basic ")


class Exchanges:
    """The latest requests with their bodies, oldest first."""

    def __init__(self) -> None:
        self._kept: deque[Exchange] = deque(maxlen=KEPT)

    def open(self, record: RequestRecord, received: Received) -> Exchange:
        """Records a received request."""
        request = Message.of(received.headers, received.body)
        exchange = Exchange(record=record, query=received.query, request=request)
        self._kept.append(exchange)
        return exchange

    def get(self, number: str) -> Exchange:
        """Returns the request with this number. Raises Refusal if it is not kept."""
        for each in self._kept:
            if str(each.record.number) == number:
                return each
        message = f"there is no request {number} among the latest {KEPT}, and only those are kept with their bodies"
        raise Refusal(404, "NOT_FOUND", message, parameter="number")

    def clear(self) -> None:
        """Removes all requests."""
        self._kept.clear()


def _masked(name: str, value: str) -> str:
    if name.lower() not in _SECRET_HEADERS:
        return _without_secrets(value)
    scheme, blank, _ = value.partition(" ")
    return f"{scheme} {STARS}" if blank and name.lower().endswith("authorization") else STARS


def _without_secrets(text: str) -> str:
    return _in_form.sub(rf"\1{STARS}", _in_json.sub(rf"\1{STARS}", text))
