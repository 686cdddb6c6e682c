"""Media, and the objects whose fields are documented as names only (platform documentation, section 2.5)."""

from typing import Literal

import attrs

from socialapi.models.model import Model


@attrs.define(kw_only=True)
class MediaMetrics(Model):
    """Public counts of a video."""

    view_count: int | None = None


@attrs.define(kw_only=True)
class MediaVariant(Model):
    """One encoding of a video."""

    url: str | None = None
    content_type: str | None = None
    bit_rate: int | None = None


@attrs.define(kw_only=True)
class Media(Model):
    """An image or video of a post; `duration_ms` is in milliseconds."""

    media_key: str = attrs.field(metadata={"key": True})
    type: Literal["photo", "video", "animated_gif"] | str | None = None
    duration_ms: int | None = None
    public_metrics: MediaMetrics | None = None
    variants: tuple[MediaVariant, ...] = ()


@attrs.define(kw_only=True)
class Poll(Model):
    """A poll; its fields are not documented and stand in `extra`."""

    id: str


@attrs.define(kw_only=True)
class Place(Model):
    """A place; its fields are not documented and stand in `extra`."""

    id: str


@attrs.define(kw_only=True)
class Space(Model):
    """An audio space; its fields are not documented and stand in `extra`."""

    id: str


@attrs.define(kw_only=True)
class UserList(Model):
    """A list of users; its fields are not documented and stand in `extra`."""

    id: str
    name: str | None = None
