"""Building requests: a route, its arguments and the configuration make the bytes that are sent."""

import datetime
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import attrs

from socialapi.config import Config
from socialapi.errors import InvalidInput
from socialapi.models.validation import AnyId, broken_rules
from socialapi.problems import BrokenRule
from socialapi.routes.route import RateLimit, Route, Target
from socialapi.wire.encode import json_bytes, query_string, shaped, shaped_query, unsendable

R = TypeVar("R")

JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"

_UNFIT: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


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
    target, route = _with_texts(target), target.route
    values, shape = shaped_arguments(route, query, body)
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


def shaped_arguments(route: Route[Any], query: Mapping[str, Any] | None, body: Any) -> tuple[dict[str, Any], Any]:
    """Query and body as the route declares them. Raises InvalidInput for what has no shape at all."""
    if query is not None and not isinstance(query, Mapping):
        raise InvalidInput(f"params must be a mapping of names to values, not {type(query).__name__}")
    try:
        return shaped_query(route.query, query), shaped(route.body, body) if body is not None else None
    except RecursionError:
        pass  # its traceback would hold the arguments
    raise InvalidInput("the arguments are nested too deeply, or hold themselves")


def _broken(target: Target[Any], query: Mapping[str, Any], shape: Any, now: datetime.datetime) -> Sequence[BrokenRule]:
    """Every rule that the path, the query and the body break together."""
    route = target.route
    broken: list[BrokenRule] = []
    for name, declared in route.path_rules.items():
        broken += broken_rules(declared, target.path_parameters[name], now=now, path=name)
    broken += broken_rules(route.query or Any, query, now=now)
    if shape is not None:
        broken += broken_rules(route.body or Any, shape, now=now)
    if not broken and route.body_in == "json":
        broken += unsendable(shape)
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
    target = with_path_texts(target)
    url = config.host(route.family.host) + target.path(config.paths, config.ads_versions)
    text = query_string(query)
    headers = {"Accept": JSON}
    if body:
        headers["Content-Type"] = FORM if form is not None else JSON
    return Request(target, f"{url}?{text}" if text else url, headers, body, form, route.limit(query))


def with_path_texts(target: Target[R]) -> Target[R]:
    """The target with the texts of its path parameters. Raises InvalidInput for those that cannot stand in a path."""
    target = _with_texts(target)
    refuse_odd_ids(target.path_parameters)
    return target


def _with_texts(target: Target[R]) -> Target[R]:
    if all(value.__class__ is str for value in target.path_parameters.values()):
        return target
    given = {name: shaped(AnyId, value) for name, value in target.path_parameters.items()}
    return Target(target.route, given)


def path_id(name: str, value: object) -> str:
    """An id for a path as text. Raises InvalidInput, which names the argument, for one that cannot stand in a path."""
    text: str = shaped(AnyId, value)
    refuse_odd_ids({name: text})
    return text


def refuse_odd_ids(given: Mapping[str, object]) -> None:
    """Raises InvalidInput for what cannot be a segment of a path, such as None for an id."""
    given = {name: value for name, value in given.items() if not (isinstance(value, str) and value.isalnum())}
    if not given:
        return
    if odd := [name for name, value in given.items() if not isinstance(value, str)]:
        raise InvalidInput(f"{' and '.join(odd)} must be a text or a whole number")
    if lost := [
        name for name, value in given.items() if isinstance(value, str) and value.strip(" ") in ("", ".", "..")
    ]:
        # Clients and proxies resolve these, however encoded: the path would become that of something else.
        raise InvalidInput(f"{' and '.join(lost)} must not be empty, . or ..")
    refuse_unfit(**given)


def refuse_unfit(**texts: object) -> None:
    """Raises InvalidInput for texts that cannot go out as they are, though nothing else is required of them."""
    if unfit := [name for name, text in texts.items() if isinstance(text, str) and _UNFIT.search(text)]:
        raise InvalidInput(f"{' and '.join(unfit)} must have neither control characters nor half of a surrogate pair")


def check(declared: Any, value: Any, *, now: datetime.datetime, path: str = "") -> Any:
    """The value in the shape of the declaration. Raises InvalidInput with every rule of it that is broken."""
    shape = shaped(declared, value)
    refuse(broken_rules(declared, shape, now=now, path=path))
    return shape


def refuse(broken: Sequence[BrokenRule]) -> None:
    """Raises InvalidInput with the broken rules, if there are any."""
    if broken:
        rules = "1 rule" if len(broken) == 1 else f"{len(broken)} rules"
        raise InvalidInput(f"the request breaks {rules} of the service; nothing was sent", broken)
