"""Requests without a session: what a plan makes of a target."""

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar

from socialapi.config import Config
from socialapi.routes.route import Target
from socialapi.wire.request import Plan, Request

R = TypeVar("R")


def build_request(
    target: Target[R],
    config: Config,
    *,
    now: datetime.datetime,
    query: Mapping[str, Any] | None = None,
    body: Any = None,
) -> Request[R]:
    """Returns a request for `target` with validated arguments.

    Raises InvalidInput with every broken rule, ConfigurationError if the host is not configured.
    """
    return Plan(target.route, config).request(target, query, body, lambda: now)


def assemble(
    target: Target[R], config: Config, query: Mapping[str, Any], body: tuple[bytes, ...], form: str | None = None
) -> Request[R]:
    """Returns a request from parts that are known to be valid, such as the batches of a job."""
    return Plan(target.route, config).assemble(target, query, body, form)
