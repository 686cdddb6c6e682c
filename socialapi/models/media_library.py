"""The media library of an account (creatives documentation, sections 2 and 4.3)."""

import datetime
from typing import Annotated, Final, Literal, Required, TypedDict

import attrs
from annotated_types import Ge, Le, MaxLen, MinLen

from socialapi.models.collections import CursorQuery
from socialapi.models.model import Model

MediaType = Literal["GIF", "IMAGE", "VIDEO"]
MediaCategory = Literal["TWEET_IMAGE", "TWEET_VIDEO", "TWEET_GIF", "AMPLIFY_VIDEO"]

VIDEO_FIELDS: Final = ("description", "title", "poster_media_key")
"""What only videos have."""


@attrs.define(kw_only=True)
class LibraryMedia(Model):
    """A media object of the library; `duration` is in milliseconds."""

    media_key: str
    media_type: MediaType | str | None = None
    media_category: MediaCategory | str | None = None
    media_url: str | None = None
    media_status: Literal["TRANSCODE_COMPLETED"] | str | None = None
    name: str | None = None
    file_name: str | None = None
    title: str | None = None
    description: str | None = None
    duration: int | None = None
    aspect_ratio: str | None = None
    poster_media_key: str | None = None
    poster_media_url: str | None = None
    tweeted: bool | None = None
    created_at: datetime.datetime | None = None
    updated_at: datetime.datetime | None = None
    deleted: bool | None = None


class MediaLibraryQuery(CursorQuery, total=False):
    """Which media."""

    count: Annotated[int, Ge(1), Le(50)]
    """Objects of a page: 1 to 50, by default 20."""
    media_type: MediaType
    q: Annotated[str, MinLen(1), MaxLen(255)]
    """A term in the name, title, file name or description."""


class LibraryMediaChanges(TypedDict, total=False):
    """What is said about a media object; title, description and poster are for videos."""

    description: Annotated[str, MaxLen(200)] | None
    file_name: Annotated[str, MaxLen(255)] | None
    name: Annotated[str, MaxLen(100)] | None
    poster_media_key: str | None
    """The image that stands for a video; its first frame unless given."""
    title: Annotated[str, MaxLen(70)] | None


class LibraryMediaDraft(LibraryMediaChanges, total=False):
    """A media object to add, which was uploaded with a media category."""

    media_key: Required[Annotated[str, MinLen(1)]]
