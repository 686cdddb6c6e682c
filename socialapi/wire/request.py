"""Builds requests from a route, its arguments and the configuration."""

import datetime
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import attrs

from socialapi.config import Config
from socialapi.errors import InvalidInput
from socialapi.models.validation import AnyId, Now, broken_rules, checker
from socialapi.problems import BrokenRule
from socialapi.routes.route import COUNTED_BY, RateLimit, Route, Target, encode_segment
from socialapi.wire.encode import json_bytes, query_string, shaped, shaped_query, unsendable, unsendable_parameters

R = TypeVar("R")

JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"

_ACCEPT: Final[Mapping[str, str]] = {"Accept": JSON}
_ACCEPT_JSON: Final[Mapping[str, str]] = {"Accept": JSON, "Content-Type": JSON}
_ACCEPT_FORM: Final[Mapping[str, str]] = {"Accept": JSON, "Content-Type": FORM}
EPOCH: Final = datetime.datetime.fromtimestamp(0, datetime.UTC)
"""Any fixed time. The rules about ids and missing arguments do not depend on the time."""

_UNFIT: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_NOT_FIT: Final = "must contain neither control characters nor unpaired surrogates"


# Not frozen, because each field of a frozen class costs a call when an instance is made.
@attrs.define(eq=False, repr=False)
class Request(Generic[R]):
    """A request without its authorization, which is created anew for every attempt.

    `origin` is the scheme, host and port of `url`. `body` is in parts, so that writing a large body
    does not block the event loop. `form` is the same body as a string if it is a form, the only
    kind of body that OAuth 1.0a signs.
    """

    target: Target[R]
    origin: str
    url: str = attrs.field(repr=False)  # for tools that print the fields of an object directly
    headers: Mapping[str, str]
    body: tuple[bytes, ...] = attrs.field(repr=False)
    form: str | None = attrs.field(repr=False)
    rate_limit: RateLimit | None
    limit_key: str

    @property
    def method(self) -> str:
        """The HTTP method."""
        return self.target.route.method

    @property
    def body_bytes(self) -> int:
        """The size of the body."""
        return sum(map(len, self.body))

    def with_parameter(self, name: str, value: str) -> "Request[R]":
        """Returns the request with an additional parameter at the end of its query."""
        url = f"{self.url}{'&' if '?' in self.url else '?'}{query_string({name: value})}"
        # By hand: `attrs.evolve` takes five times as long.
        return Request(
            self.target, self.origin, url, self.headers, self.body, self.form, self.rate_limit, self.limit_key
        )

    def __repr__(self) -> str:
        return f"Request({self.method} {self.target.route.shown}, {self.body_bytes} bytes)"


class Plan(Generic[R]):
    """The parts of a request that are the same for every call of a route, computed once.

    Raises ConfigurationError if the host is not configured.
    """

    def __init__(self, route: Route[R], config: Config) -> None:
        self.route = route
        self._address = config.host(route.family.host) + route.template(config.paths, config.ads_versions)
        self._origin = "/".join(self._address.split("/", 3)[:3])
        self._limit = route.limit({})
        counted_by = self._limit.per if self._limit is not None else COUNTED_BY
        has_key = not any(f"{{{name}}}" in route.path for name in counted_by)
        self._limit_key = Target(route, {}).limit_key(self._limit) if has_key and not route.label else None
        self._takes_nothing = not (route.path_rules or broken_rules(route.query or Any, {}, now=EPOCH))
        self._check_query = checker(route.query or Any)
        self._max_body_bytes = (config.max_batch_bytes or route.max_body_bytes) if route.max_body_bytes else None

    def request(
        self,
        target: Target[R],
        query: Mapping[str, Any] | None,
        body: Any,
        now: Now,
    ) -> Request[R]:
        """Returns a request with validated arguments. Raises InvalidInput with every broken rule."""
        if not query and body is None and self._takes_nothing and (query is None or query.__class__ is dict):
            return self.assemble(target, {}, ())
        route = self.route
        values, shape = shaped_arguments(route, query, body)
        if broken := self._broken(target, values, shape if body is not None else None, now):
            broken = [*broken, *odd_ids(target.path_parameters), *self._unsendable(values, shape, broken)]
            del values, shape  # because tools may record the locals of a traceback
            refuse(broken)
        if body is None:
            return self.assemble(target, values, ())
        if route.body_in == "query":
            return self.assemble(target, values | shape, ())
        if route.body_in == "form":
            form = query_string(shape)
            return self.assemble(target, values, (form.encode("ascii"),), form)
        return self.assemble(target, values, (json_bytes(shape),))

    def _broken(self, target: Target[R], query: Mapping[str, Any], shape: Any, now: Now) -> Sequence[BrokenRule]:
        """Returns every broken rule of the path, the query and the body."""
        route, broken = self.route, list[BrokenRule]()
        for name, declared in route.path_rules.items():
            broken += broken_rules(declared, shaped(AnyId, target.path_parameters[name]), now=now(), path=name)
        self._check_query(query, "", broken, now)
        if shape is not None:
            broken += broken_rules(route.body or Any, shape, now=now())
            if not broken and route.body_in == "json":
                broken += unsendable(shape)
        return broken

    def _unsendable(self, query: Mapping[str, Any], shape: Any, broken: Sequence[BrokenRule]) -> list[BrokenRule]:
        """Returns the errors of values that cannot be sent, unless another rule already reports them."""
        known = {_top(rule.path) for rule in broken}
        parameters = {**query, **shape} if isinstance(shape, dict) and self.route.body_in != "json" else query
        found = unsendable_parameters(parameters)
        if shape is not None and self.route.body_in == "json":
            found += unsendable(shape)
        return [rule for rule in found if _top(rule.path) not in known]

    def assemble(
        self, target: Target[R], query: Mapping[str, Any], body: tuple[bytes, ...], form: str | None = None
    ) -> Request[R]:
        """Returns a request from parts that are known to be valid, such as the batches of a job.

        Raises InvalidInput for a body larger than the route allows.
        """
        if self._max_body_bytes is not None and sum(map(len, body)) > self._max_body_bytes:
            most = f"{self._max_body_bytes:,} bytes"
            del body, form  # because tools may record the locals of a traceback
            raise InvalidInput(f"the request body is larger than {most}; send it in several requests")
        url = self._address
        if target.path_parameters:
            texts, encoded = _segments(target.path_parameters)
            url = url.format_map(encoded)
            if texts is not target.path_parameters:
                target = Target(self.route, texts)
        if query and (text := query_string(query)):
            url = f"{url}?{text}"
        headers = _ACCEPT if not body else _ACCEPT_JSON if form is None else _ACCEPT_FORM
        limit, key = self._limit, self._limit_key
        if query and self.route.family.total_counts is not None:
            limit = self.route.limit(query)
        if key is None or limit is not self._limit:
            key = target.limit_key(limit)
        return Request(target, self._origin, url, headers, body, form, limit, key)


def _top(path: str) -> str:
    """Returns the request field at the start of a path."""
    return re.split(r"[.\[]", path, maxsplit=1)[0]


def _segments(path: Mapping[str, str | int]) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Returns the path parameters in two forms: as strings, and percent-encoded."""
    for value in path.values():
        if value.__class__ is not str or not (value.isalnum() and value.isascii()):
            texts = with_path_texts(path)
            return texts, {name: encode_segment(text) for name, text in texts.items()}
    return path, path  # type: ignore[return-value]  # they are all strings


def shaped_arguments(route: Route[Any], query: Mapping[str, Any] | None, body: Any) -> tuple[dict[str, Any], Any]:
    """Returns the query and the body in the types that the route declares. Raises InvalidInput if they do not fit."""
    # The test for the abstract class is slow.
    if query is not None and query.__class__ is not dict and not isinstance(query, Mapping):
        raise InvalidInput(f"params must be a mapping of names to values, not {type(query).__name__}")
    try:
        return shaped_query(route.query, query), shaped(route.body, body) if body is not None else None
    except RecursionError:
        pass  # its traceback would contain the arguments
    raise InvalidInput("the arguments are nested too deeply, or contain themselves")


def with_path_texts(path: Mapping[str, str | int]) -> Mapping[str, str]:
    """Returns the path parameters as strings. Raises InvalidInput for values that a path cannot contain."""
    for value in path.values():
        if value.__class__ is not str or not value.isalnum():
            break
    else:
        return path  # type: ignore[return-value]  # they are all strings
    _refuse_odd_ids(path)
    return {name: shaped(AnyId, value) for name, value in path.items()}


def path_id(name: str, value: object) -> str:
    """Returns an id as a string for use in a path. Raises InvalidInput, naming the argument, if a path cannot contain
    the id.
    """
    if value.__class__ is str and value.isalnum():
        return value
    _refuse_odd_ids({name: value})
    text: str = shaped(AnyId, value)
    return text


_IDS: Final = tuple[AnyId, ...]
_TEXT: Final = frozenset((str,))


def id_list(name: str, given: Any) -> list[str]:
    """Returns one or more ids as a list. Raises InvalidInput, which names the argument and lists every broken rule."""
    texts = (given,) if given.__class__ is str else given
    if texts.__class__ in (list, tuple) and _TEXT.issuperset(map(type, texts)) and all(map(str.isalnum, texts)):
        return list(texts)  # no rule rejects ids with only letters and digits
    ids: list[str] = check(_IDS, given, now=EPOCH, path=name)
    return ids


def odd_ids(given: Mapping[str, object]) -> list[BrokenRule]:
    """Returns the broken rules of values that cannot be a path segment, such as None."""
    texts = {name: shaped(AnyId, value) for name, value in given.items()}
    return [BrokenRule(path=name, reason=why) for name, text in texts.items() if (why := _why_odd(text)) is not None]


def _why_odd(value: object) -> str | None:
    if not isinstance(value, str):
        return "must be a string or a whole number"
    if value.strip(" ") in ("", ".", ".."):
        # Clients and proxies resolve these even when encoded, which would change the path.
        return "must not be empty, . or .."
    return _NOT_FIT if _UNFIT.search(value) else None


def _refuse_odd_ids(given: Mapping[str, object]) -> None:
    if broken := odd_ids(given):
        reason = broken[0].reason
        raise InvalidInput(f"{' and '.join(rule.path for rule in broken if rule.reason == reason)} {reason}")


def refuse_unfit(**texts: object) -> None:
    """Raises InvalidInput for strings with control characters or lone surrogates."""
    if unfit := [name for name, text in texts.items() if isinstance(text, str) and _UNFIT.search(text)]:
        texts.clear()  # some are secrets
        raise InvalidInput(f"{' and '.join(unfit)} {_NOT_FIT}")


def check(declared: Any, value: Any, *, now: datetime.datetime, path: str = "") -> Any:
    """Returns the value in the declared type. Raises InvalidInput with every broken rule."""
    shape = shaped(declared, value)
    if broken := broken_rules(declared, shape, now=now, path=path):
        del value, shape  # some are secrets
        refuse(broken)
    return shape


def refuse(broken: Sequence[BrokenRule]) -> None:
    """Raises InvalidInput with the broken rules, if there are any."""
    if broken:
        rules = "1 rule" if len(broken) == 1 else f"{len(broken)} rules"
        raise InvalidInput(f"the request breaks {rules} of the service; nothing was sent", broken)
