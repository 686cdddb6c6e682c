"""Media, and the objects whose fields are documented as names only (platform documentation, section 2.5)."""

from typing import Any, Literal

import attrs


@attrs.define(kw_only=True)
class MediaMetrics:
    """Public counts of a video."""

    view_count: int | None = None
    extra: dict[str, Any] = attrs.field(factory=dict, repr=False)


@attrs.define(kw_only=True)
class MediaVariant:
    """One encoding of a video."""

    url: str | None = None
    content_type: str | None = None
    bit_rate: int | None = None
    extra: dict[str, Any] = attrs.field(factory=dict, repr=False)


@attrs.define(kw_only=True)
class Media:
    """An image or video of a post; `duration_ms` is in milliseconds."""

    media_key: str = attrs.field(metadata={"key": True})
    type: Literal["photo", "video", "animated_gif"] | str | None = None
    duration_ms: int | None = None
    public_metrics: MediaMetrics | None = None
    variants: tuple[MediaVariant, ...] = ()
    extra: dict[str, Any] = attrs.field(factory=dict, repr=False)


@attrs.define(kw_only=True)
class Poll:
    """A poll; its fields are not documented and stand in `extra`."""

    id: str
    extra: dict[str, Any] = attrs.field(factory=dict, repr=False)


@attrs.define(kw_only=True)
class Place:
    """A place; its fields are not documented and stand in `extra`."""

    id: str
    extra: dict[str, Any] = attrs.field(factory=dict, repr=False)


@attrs.define(kw_only=True)
class Space:
    """An audio space; its fields are not documented and stand in `extra`."""

    id: str
    extra: dict[str, Any] = attrs.field(factory=dict, repr=False)


@attrs.define(kw_only=True)
class UserList:
    """A list of users; its fields are not documented and stand in `extra`."""

    id: str
    name: str | None = None
    extra: dict[str, Any] = attrs.field(factory=dict, repr=False)
