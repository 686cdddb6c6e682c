"""Articles, news, community notes and powerstream rules.

The documentation gives few details about these. Documented parameters are typed; any others go into `extra`. Results
keep every field, undocumented ones in `extra`.
"""

import datetime
from collections.abc import Mapping
from typing import Any, Literal

import attrs

from socialapi.internal.records import Record
from socialapi.internal.unset import UNSET, Unset
from socialapi.models.model import Model
from socialapi.models.validation import AnyId, ListOf


@attrs.define(kw_only=True)
class ArticleDraft(Record):
    """An article draft to create: a title, a rich-text content state and optional cover media."""

    title: str
    content_state: Mapping[str, Any]
    cover_media: Mapping[str, Any] | Unset = UNSET
    extra: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.define(kw_only=True)
class Article(Model):
    """An article draft."""

    id: str | None = None
    title: str | None = None
    extra: dict[str, Any] = attrs.field(factory=dict)


@attrs.define(kw_only=True)
class PublishedArticle(Model):
    """The post that was created by publishing an article."""

    post_id: str | None = None
    extra: dict[str, Any] = attrs.field(factory=dict)


NewsField = Literal["name", "summary", "contexts", "cluster_posts_results", "last_updated_at_ms"]


@attrs.define(kw_only=True)
class NewsStory(Model):
    """A trending news story. `last_updated_at_ms` is in epoch milliseconds."""

    id: str | None = None
    name: str | None = None
    summary: str | None = None
    contexts: Any = None
    cluster_posts_results: Any = None
    last_updated_at_ms: Any = None
    extra: dict[str, Any] = attrs.field(factory=dict)


NoteClassification = Literal["misinformed_or_potentially_misleading", "not_misleading"]
MisleadingTag = Literal[
    "disputed_claim_as_fact",
    "factual_error",
    "manipulated_media",
    "misinterpreted_satire",
    "missing_important_context",
    "other",
    "outdated_information",
]


@attrs.define(kw_only=True)
class NoteInfo(Record):
    """The content of a community note. The fields are published but not documented."""

    text: str | Unset = UNSET
    classification: NoteClassification | str | Unset = UNSET
    misleading_tags: ListOf[MisleadingTag | str] | Unset = UNSET
    trustworthy_sources: bool | Unset = UNSET
    extra: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.define(kw_only=True)
class NoteDraft(Record):
    """A community note to submit (`info`) or to evaluate (`note_text`). The fields are published but not documented, so
    none is required.
    """

    post_id: AnyId | Unset = UNSET
    info: NoteInfo | Unset = UNSET
    note_text: str | Unset = UNSET
    test_mode: bool | Unset = UNSET
    extra: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.define(kw_only=True)
class Note(Model):
    """A community note, or the evaluation of one."""

    id: str | None = None
    extra: dict[str, Any] = attrs.field(factory=dict)

    @property
    def claim_opinion_score(self) -> float | None:
        """The published result of an evaluation."""
        score: float | None = self.extra.get("claim_opinion_score")
        return score


@attrs.define(kw_only=True)
class PowerstreamRule(Model):
    """A rule of a powerstream, a dedicated stream instance."""

    id: str | None = None
    value: str | None = None
    tag: str | None = None
    extra: dict[str, Any] = attrs.field(factory=dict)


@attrs.define(kw_only=True)
class ReplayRequest(Record):
    """A request to redeliver the events from `from_date` to `to_date` (`YYYYMMDDHHMM` in UTC). The fields are published
    but not documented, so none is required.
    """

    webhook_id: AnyId | Unset = UNSET
    from_date: str | Unset = UNSET
    to_date: str | Unset = UNSET
    extra: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.define(kw_only=True)
class Replay(Model):
    """A replay job that was started."""

    job_id: str | None = None
    created_at: datetime.datetime | None = None
    extra: dict[str, Any] = attrs.field(factory=dict)
