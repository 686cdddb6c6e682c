"""Keyword insights."""

import datetime
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal, Required, TypedDict

import attrs
from annotated_types import MinLen

from socialapi.models.model import Model
from socialapi.models.validation import Conditions, ListOf, parse_timestamp
from socialapi.problems import BrokenRule

MAX_KEYWORDS: Final = 10
MAX_RANGE: Final = datetime.timedelta(days=7)

Granularity = Literal["DAY", "HOUR"]


@attrs.define(kw_only=True)
class KeywordInsights(Model):
    """The result of a query: related keywords, and the number of posts per unit of the time range."""

    related_keywords: tuple[str, ...] = ()
    tweet_volume: tuple[int, ...] = ()


class KeywordInsightsFilter(TypedDict, total=False):
    """Parameters of a keyword insights query."""

    granularity: Required[Granularity]
    """One number per day or per hour."""
    keywords: Required[Annotated[ListOf[str], MinLen(1)]]
    """Counts posts with any of these keywords."""
    start_time: Required[datetime.datetime]
    end_time: datetime.datetime
    """The end of the range, at most seven days after its start; the default is now, by the service's clock."""
    location: str
    """The targeting value of a country."""
    negative_keywords: ListOf[str]
    """Excludes posts with any of these keywords. There may be at most ten keywords of both kinds together."""


def _conditions(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
    count = len(data["keywords"]) + len(data.get("negative_keywords", ()))
    if count > MAX_KEYWORDS:
        yield BrokenRule(path="keywords", reason=f"must be at most {MAX_KEYWORDS} together with negative_keywords")
    for name in ("keywords", "negative_keywords"):
        if any("," in keyword or not keyword.strip() for keyword in data.get(name, ())):
            yield BrokenRule(path=name, reason="must have no empty keyword and no comma, which separates keywords")
    start, end = parse_timestamp(data["start_time"]), parse_timestamp(data.get("end_time", ""))
    if start is not None and end is not None and end <= start:
        yield BrokenRule(path="end_time", reason="must be later than start_time")
    elif start is not None and end is not None and end - start > MAX_RANGE:
        yield BrokenRule(path="end_time", reason=f"must be at most {MAX_RANGE.days} days after start_time")


def range_until_now(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
    """Yields the violations in a query without an end time. Only the service can check these rules exactly."""
    start = parse_timestamp(data["start_time"])
    if start is None or "end_time" in data:
        return
    if now <= start:
        yield BrokenRule(path="start_time", reason="must be earlier than now if no end_time is given")
    elif now - start > MAX_RANGE:
        reason = f"must be at most {MAX_RANGE.days} days ago if no end_time is given"
        yield BrokenRule(path="start_time", reason=reason)


KeywordInsightsQuery = Annotated[KeywordInsightsFilter, Conditions(_conditions)]
