"""Account media and the media library (creatives documentation, sections 4.1 and 4.3)."""

from typing import Unpack

from socialapi.models.creatives import (
    AccountMedia,
    AccountMediaFilter,
    LibraryMedia,
    LibraryMediaChanges,
    MediaLibraryQuery,
)
from socialapi.models.queries import RecordQuery
from socialapi.resources.ads.account_scoped import AccountScoped
from socialapi.routes import creatives as routes
from socialapi.session.pager import Pager


class AccountMediaResource(AccountScoped):
    """The media of an account."""

    def list(self, *, start: str | None = None, **query: Unpack[AccountMediaFilter]) -> Pager[AccountMedia]:
        """All of them, those with the ids, or those of the types (section 4.1)."""
        target = routes.ACCOUNT_MEDIA.at(account_id=self._account_id)
        return self._session.pages(target, options=self._options, query=query, start=start)

    async def get(self, account_media_id: str | int, **query: Unpack[RecordQuery]) -> AccountMedia:
        """One of them (section 4.1)."""
        target = routes.ACCOUNT_MEDIUM.at(account_id=self._account_id, account_media_id=account_media_id)
        return await self._session.call(target, options=self._options, query=query)

    async def delete(self, account_media_id: str | int) -> AccountMedia:
        """Deletes one and returns its record, with `deleted` true (section 4.1)."""
        target = routes.ACCOUNT_MEDIUM_DELETE.at(account_id=self._account_id, account_media_id=account_media_id)
        return await self._session.call(target, options=self._options)


class MediaLibrary(AccountScoped):
    """The media library of an account."""

    def list(self, *, start: str | None = None, **query: Unpack[MediaLibraryQuery]) -> Pager[LibraryMedia]:
        """All media, those of a type, or those with a term in name, title, file name or description (section 4.3)."""
        target = routes.MEDIA_LIBRARY.at(account_id=self._account_id)
        return self._session.pages(target, options=self._options, query=query, start=start)

    async def get(self, media_key: str) -> LibraryMedia:
        """One media object (section 4.3)."""
        target = routes.LIBRARY_MEDIA.at(account_id=self._account_id, media_key=media_key)
        return await self._session.call(target, options=self._options)

    async def add(self, media_key: str, **about: Unpack[LibraryMediaChanges]) -> LibraryMedia:
        """Adds an object that was uploaded with a media category (section 4.3).

        One of category AMPLIFY_VIDEO is also found among the account media from then on, as PREROLL. Not repeated
        when its outcome is unknown.
        """
        target = routes.LIBRARY_MEDIA_ADD.at(account_id=self._account_id)
        return await self._session.call(target, options=self._options, body={"media_key": media_key, **about})

    async def update(self, media_key: str, **changes: Unpack[LibraryMediaChanges]) -> LibraryMedia:
        """Changes what is said about an object, and returns its new record (section 4.3).

        Title and description are shown under a video only when a post is created with `video_title` and
        `video_description`.
        """
        target = routes.LIBRARY_MEDIA_UPDATE.at(account_id=self._account_id, media_key=media_key)
        return await self._session.call(target, options=self._options, body=changes)

    async def delete(self, media_key: str) -> LibraryMedia:
        """Deletes an object and returns its record, with `deleted` true (section 4.3)."""
        target = routes.LIBRARY_MEDIA_DELETE.at(account_id=self._account_id, media_key=media_key)
        return await self._session.call(target, options=self._options)
