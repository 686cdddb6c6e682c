"""The errors of this package, grouped by what the caller does about them.

    SocialApiError
     ├── ConfigurationError      configure something: a host, a credential, an option
     ├── InvalidInput            correct the call; `broken_rules` lists all errors
     ├── RateLimitTooLong        call again at `resets_at`: the wait is longer than the call allows
     ├── NotReady                wait again: the service is still working
     ├── TransportError          try again: the service did not execute the request
     │    └── OutcomeUnknown     check first: the request may have been executed
     ├── ApiError                the service refused; `status`, `codes` and `problems` show why
     │    ├── Unauthorized  401      Forbidden   403      NotFound     404
     │    ├── Conflict      409      RateLimited 429      ServerError  5xx
     │    ├── WebhookRejected        `reason` is why the webhook is rejected
     │    │    ├── WebhookNotFound     no such webhook; also a NotFound
     │    │    └── WebhookUrlRejected  unusable address; also an InvalidInput
     │    └── StreamEnded            the service ended a stream for good; `problems` show what to fix
     ├── DecodeError             report it: this version cannot decode the response; `path` is the field
     └── BulkError               a job stopped; `report` shows what was done, `__cause__` why

All errors can be pickled. Their text, repr and pickle never contain secrets, response bodies or personal values.
"""

import datetime
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from socialapi.internal.lazy import own_classes
from socialapi.internal.statuses import RATE_LIMITED, executed_after

if TYPE_CHECKING:
    from socialapi.problems import BrokenRule, OperationError, Problem, ServiceError
    from socialapi.reports import UploadReport


MAX_QUOTED_CHARACTERS: Final = 300
"""The maximum number of characters that a message quotes from one of the service's texts. The attributes contain the
complete text.
"""


def printable(text: str) -> str:
    """Returns the text for a message, with a question mark for each unprintable character."""
    return text if text.isprintable() else "".join(letter if letter.isprintable() else "?" for letter in text)


def quoted(text: str) -> str:
    """Returns the beginning of a text from the service on one line."""
    line = printable(" ".join(text[: 4 * MAX_QUOTED_CHARACTERS].split()))
    return line if len(line) <= MAX_QUOTED_CHARACTERS else f"{line[:MAX_QUOTED_CHARACTERS]} …"


class SocialApiError(Exception):
    """The base class of all errors that this package raises deliberately.

    An error of a call contains its `method`, its `path` as sent (without the query), its `host` and the service's
    `request_id`, or None for an attribute that does not apply. The `path` of a `DecodeError` is the path of the field.

    An error raised by `Pager.collect` contains the items fetched so far in `collected`, and the position to continue
    from (`start=`) in `position`. Items and response bodies are never part of an error's text, repr or pickle.
    """

    collected: "tuple[Any, ...]" = ()
    position: str | None = None
    method: str | None = None
    path: str | None = None
    host: str | None = None
    request_id: str | None = None
    _call: str = ""

    def at(self, method: str, path: str, host: str) -> None:
        """Records which call failed, unless an inner call, such as a token request, has already been recorded."""
        if self.method is not None:
            return
        self.method, self.host, self._call = method, self.host or host, f"{method} {shown_path(path)}: "
        if not isinstance(self, DecodeError):  # its path is the path of the field
            self.path = path

    @property
    def is_lasting(self) -> bool:
        """Whether the same call would fail again later unless something is fixed first.

        False for temporary problems: a rate limit, or a failing service or network.
        """
        return True

    def __reduce__(self) -> tuple[Any, ...]:
        state = {name: value for name, value in self.__dict__.items() if name not in _KEPT_HERE}
        if self.method is not None and "path" in state:
            state["path"] = shown_path(state["path"])
        return _rebuild, (type(self), self.args, state)


_KEPT_HERE: Final = frozenset({"collected", "body", "last"})
"""Attributes that are omitted from pickles, because they may contain personal data."""


def shown_path(path: str) -> str:
    """Returns a path for messages, with `*` in place of a user's id, because the id identifies a person."""
    return _USER_IN_PATH.sub("*", path)


_USER_IN_PATH: Final = re.compile(r"(?<=/users/)(?!(?:by|me|search)(?:/|$))[^/]+|(?<=/users/by/username/)[^/]+")


def _rebuild(cls: "type[SocialApiError]", args: tuple[Any, ...], state: dict[str, Any]) -> SocialApiError:
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class ConfigurationError(SocialApiError):
    """The configuration lacks something that the call needs. The message explains what to set."""


class InvalidInput(SocialApiError, ValueError):
    """The input breaks documented rules, and nothing was sent. `broken_rules` lists all errors."""

    def __init__(self, message: str, broken_rules: "Sequence[BrokenRule]" = ()) -> None:
        super().__init__(message, tuple(broken_rules))
        self.message: str = message
        self.broken_rules: tuple[BrokenRule, ...] = tuple(broken_rules)

    def __str__(self) -> str:
        if len(self.broken_rules) == 1 and self.broken_rules[0].reason in self.message:
            return self.message
        shown = [f"\n  - {rule}" for rule in self.broken_rules[:20]]
        hidden = len(self.broken_rules) - len(shown)
        return self.message + "".join(shown) + (f"\n  … and {hidden} more" if hidden else "")


class RateLimitTooLong(SocialApiError):
    """The wait for the rate limit would be longer than the call allows. The request was not sent.

    An earlier attempt of the same call may have been executed if its route allows retries after an unknown
    outcome; calling again is then safe.

    `wait_seconds` is the time until the reset, and `resets_at` the time of the reset (aware, UTC).
    """

    is_lasting = False

    def __init__(self, limit_key: str, wait_seconds: float, resets_at: datetime.datetime) -> None:
        super().__init__(limit_key, wait_seconds, resets_at)
        self.limit_key = limit_key
        self.wait_seconds = wait_seconds
        self.resets_at = resets_at

    def __str__(self) -> str:
        at = self.resets_at
        seconds = max(1, math.ceil(self.wait_seconds)) if math.isfinite(self.wait_seconds) else self.wait_seconds
        is_today = self.wait_seconds <= 3_600 * at.hour + 60 * at.minute + at.second
        return (
            f"{self._call}the rate limit of {self.limit_key} frees up in {seconds} s (at "
            f"{at:{'' if is_today else '%Y-%m-%d '}%H:%M:%S} UTC), longer than this call may wait; allow the wait with "
            "max_wait_seconds (bulk_max_wait_seconds for a job or a stream) or call again then"
        )


class NotReady(SocialApiError, TimeoutError):
    """The service was still working when the wait ended. Waiting again is safe.

    `last` is the service's last response, or None if the error was pickled.
    """

    is_lasting = False
    last: Any = None

    def __init__(self, message: str, last: Any = None) -> None:
        super().__init__(message)
        if last is not None:
            self.last = last


class TransportError(SocialApiError):
    """The service could not be reached. The request was not executed and may be sent again.

    This describes the last attempt. An earlier attempt of the same call may have been executed if its route allows
    retries after an unknown outcome; calling again is then safe.

    `is_lasting` is true if a retry would also fail, for example because a certificate is not trusted or a proxy rejects
    the password. Such requests are not retried.
    """

    may_be_executed = False
    is_lasting = False

    def __init__(self, reason: str, host: str = "", attempts: int = 1, port: int | None = None) -> None:
        super().__init__(reason, host, attempts, port)
        self.reason = reason
        self.host: str = host
        self.attempts = attempts
        self.port = port

    def __str__(self) -> str:
        tries = f" (after {self.attempts} attempts)" if self.attempts > 1 else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        where = f"{host}:{self.port}" if host and self.port is not None else host or "the service"
        return f"{self._call}{where}: {self.reason}{tries}"


class OutcomeUnknown(TransportError):
    """The connection was lost after the request was sent. The service may have executed it or not."""

    may_be_executed = True


class ApiError(SocialApiError):
    """The service answered with an error.

    `status` is the HTTP status, `headers` the response headers with lower-case names, `request_id` the service's id of
    the request (or None), `errors` the coded errors, `problems` the typed problems, and `operation_errors` the errors
    of individual operations in a batch. If the response contains no errors, `summary` is its text or describes the
    response. `attempts` is how many times the request was sent, and `hint` a possible cause, if there is one.
    """

    def __init__(
        self,
        status: int,
        *,
        headers: Mapping[str, str] | None = None,
        errors: "Sequence[ServiceError]" = (),
        problems: "Sequence[Problem]" = (),
        operation_errors: "Sequence[OperationError]" = (),
        request_id: str | None = None,
        summary: str = "",
        attempts: int = 1,
    ) -> None:
        super().__init__(status)
        self.status = status
        self.headers: dict[str, str] = dict(headers or {})
        self.errors: tuple[ServiceError, ...] = tuple(errors)
        self.problems: tuple[Problem, ...] = tuple(problems)
        self.operation_errors: tuple[OperationError, ...] = tuple(operation_errors)
        self.request_id = request_id
        self.summary = summary
        self.attempts = attempts
        self.hint: str | None = None

    @property
    def codes(self) -> tuple[int | str, ...]:
        """The codes of `errors` and `operation_errors`, in order."""
        codes = [e.code for e in self.errors] + [e.code for e in self.operation_errors]
        return tuple(code for code in codes if code is not None)

    @property
    def is_lasting(self) -> bool:
        """Whether the service would reject the same request again. False for rate limits and failures of the service."""
        return executed_after(self.status) == "yes" and _PASSING.isdisjoint(self.codes)

    def __str__(self) -> str:
        said = self._reasons()
        notes = [f"request {quoted(self.request_id)}"] if self.request_id else []
        notes += [f"after {self.attempts} attempts"] if self.attempts > 1 else []
        tail = (f" ({', '.join(notes)})" if notes else "") + (f"; {self.hint}" if self.hint else "")
        reason = "; ".join(said) or self.summary or "no reason given"
        if 200 <= self.status < 300:
            # The status would look like a success. A summary written by this package is a complete sentence.
            return f"{self._call}{reason if self.summary and not said else f'the service refused: {reason}'}{tail}"
        if not self._call:
            return f"HTTP {self.status}: {reason}{tail}"
        is_coded = bool(self.errors) and self.errors[0].code is not None
        return f"{self._call}{self.status}{' ' if is_coded else ': '}{reason}{tail}"

    def _reasons(self) -> list[str]:
        said = [quoted(_coded(each)) for each in self.errors[:3]] + [_said_by(each) for each in self.problems[:3]]
        more = len(self.errors[3:]) + len(self.problems[3:])
        if more:
            said.append(f"and {more} more")
        said += [
            f"operation {'?' if e.index is None else e.index}: {quoted(_coded(e))}" for e in self.operation_errors[:3]
        ]
        more = len(self.operation_errors) - 3
        if more > 0:
            said.append(f"and {more} more operations")
        return list(filter(None, said))


_PASSING: Final = frozenset({"temporarily_unavailable", "server_error"})
"""The codes in RFC 6749, section 4.1.2.1, for temporary problems."""


def _coded(error: "ServiceError | OperationError") -> str:
    return ": ".join(str(part) for part in (error.code, error.message or error.parameter) if part not in (None, ""))


def _said_by(problem: "Problem") -> str:
    """Returns the detail or title of a problem, its reason, and the messages of its nested errors."""
    head = problem.detail or problem.title or problem.type
    further: list[object] = [getattr(problem, "reason", None) or problem.extra.get("reason")]
    listed = getattr(problem, "errors", None) or problem.extra.get("errors")
    for each in listed if isinstance(listed, list | tuple) else ():
        told = each if isinstance(each, Mapping) else {name: getattr(each, name, None) for name in _TELLING}
        further.append(each if isinstance(each, str) else next(filter(None, map(told.get, _TELLING)), None))
    said = list(dict.fromkeys(part for part in further if isinstance(part, str) and part not in ("", head)))
    more = [f"and {len(said) - 3} more"] if len(said) > 3 else []
    rest = "; ".join([*map(quoted, said[:3]), *more])
    return f"{quoted(head.removesuffix('.'))}: {rest}" if rest else quoted(head)


_TELLING: Final = ("message", "detail", "reason", "title")


class Unauthorized(ApiError):
    """HTTP 401: the credentials are missing, wrong or no longer valid (code 89)."""


class Forbidden(ApiError):
    """HTTP 403: the credentials are not sufficient, or a token was requested too often (code 99)."""


class NotFound(ApiError):
    """The object does not exist or was deleted: HTTP 404, or a response in which every error reports this."""


class Conflict(ApiError):
    """HTTP 409: the request conflicts with the current state."""


class RateLimited(ApiError):
    """HTTP 429 or 420, after all the waits that the call allows.

    `resets_at` is the time at which the limit resets (aware, UTC), or None if the service does not report it.
    """

    resets_at: datetime.datetime | None = None


class ServerError(ApiError):
    """HTTP 5xx: the service failed.

    The request was not executed if `status` is 501, 503, 505, 521, 523, 525, 526 or 527. After any other status it may
    have been executed: check before you repeat a write.
    """


class WebhookRejected(ApiError):
    """A webhook cannot be registered, validated or deleted.

    `reason` is a documented value, such as `CrcValidationFailed`, or a value unknown to this version.
    """

    reason: str = ""

    def __str__(self) -> str:
        said = ApiError.__str__(self)
        if self.reason != "CrcValidationFailed":
            return said
        return f"{said}; is the receiver already running at this address, with this app's API key secret?"


class WebhookNotFound(NotFound, WebhookRejected):
    """The app has no webhook with this id. `reason` is `WebhookIdInvalid`."""


class WebhookUrlRejected(WebhookRejected, InvalidInput):
    """The address cannot be used for a webhook. `reason` is `UrlValidationFailed`.

    If the error was found before anything was sent, `status` is 0 and `broken_rules` lists the errors.
    """

    reason = "UrlValidationFailed"

    def __init__(self, status: int = 0, *, refused: InvalidInput | None = None, **said: Any) -> None:
        WebhookRejected.__init__(self, status, **said)
        self.message: str = refused.message if refused is not None else self.reason
        self.broken_rules: tuple[BrokenRule, ...] = refused.broken_rules if refused is not None else ()

    def __str__(self) -> str:
        return WebhookRejected.__str__(self) if self.status else InvalidInput.__str__(self)


class StreamEnded(ApiError):
    """The service closed a stream for a reason that reconnecting does not resolve.

    `summary` is the reason, and `problems` contains the details.
    """

    def __str__(self) -> str:
        details = quoted("; ".join(problem.detail for problem in self.problems if problem.detail))
        summary = quoted(self.summary)
        return f"{summary} ({details})" if summary and details else summary or super().__str__()


STATUS_ERRORS: Mapping[int, type[ApiError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    **dict.fromkeys(RATE_LIMITED, RateLimited),
}


def error_class(status: int) -> type[ApiError]:
    """Returns the error class for an HTTP status."""
    return ServerError if status >= 500 else STATUS_ERRORS.get(status, ApiError)


class DecodeError(SocialApiError):
    """The response does not have the documented format.

    `path` is the field and `reason` the error; neither contains a value. `status` is the HTTP status and `body` the
    response (None if it was not kept, as for responses with tokens). `executed` is true if the request was a write,
    which was executed and must not be sent again.
    """

    path: str  # not the path of the call, and always a string
    executed: bool = False
    status: int | None = None
    body: bytes | None = None

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    @property
    def fault(self) -> str:
        """The field that cannot be decoded, and the reason."""
        return f"cannot read the answer at {quoted(self.path) or 'its top'}: {self.reason}"

    def __str__(self) -> str:
        note = f" (request {quoted(self.request_id)})" if self.request_id else ""
        return f"{self._call}{self.fault}{'; the request was executed' if self.executed else ''}{note}"


class BulkError(SocialApiError):
    """A job that stopped before it finished.

    `report` contains the counts so far. Rows without an outcome are counted as `pending`.
    """

    _was_lasting = True

    def __init__(self, message: str, report: "UploadReport") -> None:
        super().__init__(message, report)
        self.message = message
        self.report = report

    @property
    def is_lasting(self) -> bool:
        """Whether the same job would stop again, according to its `__cause__`.

        False if the cause is not an error of this package, for example if your own generator raised it. Such an error
        may be temporary, and running a job again is safe.
        """
        if self.__cause__ is None:
            return self._was_lasting
        return isinstance(self.__cause__, SocialApiError) and self.__cause__.is_lasting

    def __reduce__(self) -> tuple[Any, ...]:
        rebuild, (kind, args, state) = super().__reduce__()
        # A pickle has no cause.
        return rebuild, (kind, args, state if self.is_lasting else state | {"_was_lasting": False})

    def __str__(self) -> str:
        r = self.report
        return (
            f"{self.message} (of {r.read:,} rows read: {r.accepted:,} accepted, {r.rejected:,} rejected, "
            f"{r.duplicate:,} duplicate, {r.pending:,} pending)"
        )


__dir__ = own_classes(__name__)
