"""A call in progress."""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar
from urllib.parse import urlsplit

import attrs

from socialapi.errors import SocialApiError, shown_path
from socialapi.session.auth import Authenticator, Authorization
from socialapi.session.options import CallOptions
from socialapi.wire.request import Request
from socialapi.wire.response import Reply
from socialapi.wire.retry import Failure, Observer

R = TypeVar("R")
E = TypeVar("E", bound=SocialApiError)


Accept = Callable[[Reply], Failure | None]


@attrs.frozen
class ReplyInfo:
    """The result of one attempt of a call, passed to `Client(on_reply=…)`.

    Without a response, `status` is None and `headers` is empty. `headers` has lower-case names, and
    is empty for token requests. `path` is the path as sent, without the query. `seconds` is the
    time from sending to the end of the response, and `attempt` counts from 1.
    """

    method: str
    path: str = attrs.field(repr=shown_path)
    status: int | None
    headers: Mapping[str, str] = attrs.field(repr=False)
    request_id: str | None
    seconds: float
    attempt: int


@attrs.define(eq=False)
class Call(Generic[R]):
    """One call with all its attempts: its request, its options and its state."""

    request: Request[R]
    options: CallOptions
    authenticator: Authenticator
    observer: Observer | None = None
    """Called after every attempt."""
    accept: Accept | None = None
    """Called with each reply whose status is a success. Returns a Failure if the call must be retried."""
    started: float = 0.0
    attempt: int = 0
    waited: float = 0.0
    """The seconds spent so far waiting for limits, tokens and the next attempt."""
    authorization: Authorization | None = None
    renewed: bool = False
    failure: Failure | None = None

    def located(self, error: E) -> E:
        """Returns the error with the name of this call added."""
        url = urlsplit(self.request.url)
        error.at(self.request.method, url.path, url.hostname or "")
        return error
