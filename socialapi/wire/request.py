"""Building requests: a route, its arguments and the configuration make the bytes that are sent."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import attrs

from socialapi.config import Config
from socialapi.errors import InvalidInput
from socialapi.models.rules import broken_rules
from socialapi.problems import BrokenRule
from socialapi.routes.route import RateLimit, Target
from socialapi.wire.encoding import json_bytes, json_shape, query_string

R = TypeVar("R")

JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"


@attrs.frozen(eq=False, repr=False)
class Request(Generic[R]):
    """What is sent, but for the authorisation: that is made anew for every attempt.

    `body` is in parts, so that a large one can be written without holding the event loop. `form` is the body once
    more as text when it is a form, the only kind of body that OAuth 1.0a signs.
    """

    target: Target[R]
    url: str
    headers: Mapping[str, str]
    body: tuple[bytes, ...] = ()
    form: str | None = None
    rate_limit: RateLimit | None = None

    @property
    def limit_key(self) -> str:
        """What requests that share a rate limit have in common."""
        return self.target.limit_key(self.rate_limit)

    @property
    def method(self) -> str:
        """The HTTP method."""
        return self.target.route.method

    @property
    def body_bytes(self) -> int:
        """The size of the body."""
        return sum(map(len, self.body))

    def __repr__(self) -> str:
        return f"Request({self.method} {self.target.route.shown}, {self.body_bytes} bytes)"


def build_request(
    target: Target[R],
    config: Config,
    *,
    now: datetime.datetime,
    query: Mapping[str, Any] | None = None,
    body: Any = None,
) -> Request[R]:
    """A request for `target`, with its arguments checked.

    Raises InvalidInput with every broken rule, ConfigurationError when the host is not set.
    """
    route = target.route
    shape = json_shape(body)
    values = json_shape(query or {})
    refuse(_broken(target, values, shape if body is not None else None, now))
    content: tuple[bytes, ...] = ()
    form: str | None = None
    if body is not None and route.body_in == "query":
        values.update(shape)
    elif body is not None and route.body_in == "form":
        form = query_string(shape)
        content = (form.encode("ascii"),)
    elif body is not None:
        content = (json_bytes(shape),)
    return assemble(target, config, values, content, form)


def _broken(target: Target[Any], query: Mapping[str, Any], shape: Any, now: datetime.datetime) -> Sequence[BrokenRule]:
    """Every rule that the path, the query and the body break together."""
    route = target.route
    broken: list[BrokenRule] = []
    for name, declared in route.path_rules.items():
        broken += broken_rules(declared, target.path_parameters[name], now=now, path=name)
    if route.query is not None:
        broken += broken_rules(route.query, query, now=now)
    if route.body is not None and shape is not None:
        broken += broken_rules(route.body, shape, now=now)
    return broken


def assemble(
    target: Target[R],
    config: Config,
    query: Mapping[str, Any],
    body: tuple[bytes, ...],
    form: str | None = None,
) -> Request[R]:
    """A request from parts that are known to be right, such as the batches of a job."""
    route = target.route
    limit = config.max_batch_bytes or route.max_body_bytes if route.max_body_bytes else None
    if limit is not None and sum(map(len, body)) > limit:
        raise InvalidInput(f"the request body is larger than {limit:,} bytes; send it in several requests")
    check_path(target)
    url = config.host(route.family.host) + target.path(config.paths, config.ads_versions)
    text = query_string(query)
    headers = {"Accept": JSON}
    if body:
        headers["Content-Type"] = FORM if form is not None else JSON
    return Request(target, f"{url}?{text}" if text else url, headers, body, form, route.limit(query))


def check_path(target: Target[Any]) -> None:
    """Raises InvalidInput for path parameters that cannot stand in a path, such as None for an id."""
    given: Mapping[str, Any] = target.path_parameters
    if not given:
        return
    if odd := [name for name, value in given.items() if not isinstance(value, str | int) or isinstance(value, bool)]:
        raise InvalidInput(f"{' and '.join(odd)} must be a text or a whole number")
    if lost := [name for name, value in given.items() if str(value) in ("", ".", "..")]:
        # Clients and proxies resolve these, however encoded: the path would become that of something else.
        raise InvalidInput(f"{' and '.join(lost)} must not be empty, . or ..")


def check(declared: Any, shape: Any, *, now: datetime.datetime) -> None:
    """Raises InvalidInput with every rule of the declaration that the JSON-shaped data break."""
    refuse(broken_rules(declared, shape, now=now))


def refuse(broken: Sequence[BrokenRule]) -> None:
    """Raises InvalidInput with the broken rules, if there are any."""
    if broken:
        rules = "1 rule" if len(broken) == 1 else f"{len(broken)} rules"
        raise InvalidInput(f"the request breaks {rules} of the service; nothing was sent", broken)
