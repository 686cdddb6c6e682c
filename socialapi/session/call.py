"""A call on its way through the session."""

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
    """What came back from one attempt of a call: what `Client(on_reply=…)` is called with.

    `status` is None, and `headers` are empty, if there was no answer. `headers` have lower-case names;
    those of token requests are left out. `path` is the path as sent, without the query. `seconds` is
    the time from sending to the end of the answer, and `attempt` counts from 1.
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
    """One call across its attempts: its request, how it is sent, and how far it got."""

    request: Request[R]
    options: CallOptions
    authenticator: Authenticator
    observer: Observer | None = None
    """Called after every attempt."""
    accept: Accept | None = None
    """Called with each reply whose status is a success. Returns a Failure to have it retried."""
    started: float = 0.0
    attempt: int = 0
    waited: float = 0.0
    """The seconds spent so far on waiting for limits, tokens and the next attempt."""
    authorization: Authorization | None = None
    renewed: bool = False
    failure: Failure | None = None

    def located(self, error: E) -> E:
        """Returns the error, which says from now on which call has failed."""
        url = urlsplit(self.request.url)
        error.at(self.request.method, url.path, url.hostname or "")
        return error
