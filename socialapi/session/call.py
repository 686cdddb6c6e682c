"""A call on its way through the session."""

from collections.abc import Callable
from typing import Generic, TypeVar
from urllib.parse import urlsplit

import attrs

from socialapi.errors import SocialApiError
from socialapi.session.auth import Authenticator, Authorization
from socialapi.session.options import CallOptions
from socialapi.wire.request import Request
from socialapi.wire.response import Reply
from socialapi.wire.retry import Failure, Observer

R = TypeVar("R")
E = TypeVar("E", bound=SocialApiError)


Accept = Callable[[Reply], Failure | None]


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
