"""Articles, news, community notes and powerstream rules (platform section 4.4).

The documentation gives few details of these. Documented parameters are typed; any others go into
`extra`. Results keep every field, undocumented ones in `extra`.
"""

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from socialapi.internal.records import Record
from socialapi.internal.unset import UNSET, Unset
from socialapi.models.model import Model


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
    """The post as which an article was published."""

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


@attrs.define(kw_only=True)
class NoteDraft(Record):
    """A community note to evaluate or submit. None of its fields is documented."""

    extra: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.define(kw_only=True)
class Note(Model):
    """A community note, or the evaluation of one."""

    id: str | None = None
    extra: dict[str, Any] = attrs.field(factory=dict)


@attrs.define(kw_only=True)
class PowerstreamRule(Model):
    """A rule of a powerstream, a dedicated stream instance."""

    id: str | None = None
    value: str | None = None
    tag: str | None = None
    extra: dict[str, Any] = attrs.field(factory=dict)


@attrs.define(kw_only=True)
class ReplayRequest(Record):
    """A request to deliver events again. None of its fields is documented."""

    extra: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.define(kw_only=True)
class Replay(Model):
    """A replay job that was started."""

    extra: dict[str, Any] = attrs.field(factory=dict)
