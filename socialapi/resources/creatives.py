"""Account media, the media library, cards and advertiser posts."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from socialapi.internal.unset import UNSET, Unset
from socialapi.models.cards import Button, Card, CardMedia, CardsQuery, Details, SwipeableMedia
from socialapi.models.creatives import (
    AccountMedia,
    AccountMediaFilter,
    AdvertiserPost,
    AdvertiserPostFields,
    LibraryMedia,
    LibraryMediaChanges,
    MediaLibraryQuery,
    PollCard,
    PollCardFields,
    PollCardsFilter,
    VideoConversationCard,
    VideoConversationCardChanges,
    VideoConversationCardFields,
    VideoConversationCardsFilter,
)
from socialapi.models.queries import RecordQuery
from socialapi.resources.resource import Resource, without_none
from socialapi.routes import creatives as routes
from socialapi.session.pager import Pager


class AccountMediaResource(Resource):
    """The account media of an account."""

    def list(self, *, start: str | None = None, **query: Unpack[AccountMediaFilter]) -> Pager[AccountMedia]:
        """Returns all account media, or the media with these ids or types (`GET accounts/:account_id/account_media`).

        `start` is a stored `Pager.position`.
        """
        return self._pages(routes.ACCOUNT_MEDIA, query=query, start=start)

    async def get(self, account_media_id: str | int, **query: Unpack[RecordQuery]) -> AccountMedia:
        """Returns one account media object (`GET accounts/:account_id/account_media/:account_media_id`).
        Raises NotFound if it does not exist.
        """
        return await self._call(routes.ACCOUNT_MEDIUM, query=query, account_media_id=account_media_id)

    async def delete(self, account_media_id: str | int) -> AccountMedia:
        """Deletes an account media object (`DELETE accounts/:account_id/account_media/:account_media_id`).
        Returns its record, with `deleted` true.
        """
        return await self._call(routes.ACCOUNT_MEDIUM_DELETE, account_media_id=account_media_id)


class MediaLibrary(Resource):
    """The media library of an account."""

    def list(self, *, start: str | None = None, **query: Unpack[MediaLibraryQuery]) -> Pager[LibraryMedia]:
        """Returns all media, media of a type, or media that contain a search term (`GET
        accounts/:account_id/media_library`).

        The search covers name, title, file name and description. `start` is a stored
        `Pager.position`.
        """
        return self._pages(routes.MEDIA_LIBRARY, query=query, start=start)

    async def get(self, media_key: str) -> LibraryMedia:
        """Returns one media object (`GET accounts/:account_id/media_library/:media_key`). Raises NotFound
        if it does not exist.
        """
        return await self._call(routes.LIBRARY_MEDIA, media_key=media_key)

    async def add(self, media_key: str, **about: Unpack[LibraryMediaChanges]) -> LibraryMedia:
        """Adds a media object that was uploaded with a media category
        (`POST accounts/:account_id/media_library`). Returns its record.

        An object of the category AMPLIFY_VIDEO then also appears among the account media, as
        PREROLL. Not retried if its outcome is unknown.
        """
        return await self._call(routes.LIBRARY_MEDIA_ADD, body={"media_key": media_key, **about})

    async def update(self, media_key: str, **changes: Unpack[LibraryMediaChanges]) -> LibraryMedia:
        """Changes the metadata of a media object (`PUT accounts/:account_id/media_library/:media_key`).
        Returns the new record.

        Title and description are shown under a video only if a post is created with `video_title`
        and `video_description`.
        """
        return await self._call(routes.LIBRARY_MEDIA_UPDATE, body=changes, media_key=media_key)

    async def delete(self, media_key: str) -> LibraryMedia:
        """Deletes a media object (`DELETE accounts/:account_id/media_library/:media_key`). Returns its
        record, with `deleted` true.
        """
        return await self._call(routes.LIBRARY_MEDIA_DELETE, media_key=media_key)


AnyComponent = CardMedia | SwipeableMedia | Details | Button | Mapping[str, Any]
"""A component, or a mapping with its fields, including `type`."""
Components = AnyComponent | Sequence[AnyComponent]


class Cards(Resource):
    """The cards of an account, composed of components."""

    def list(self, *, start: str | None = None, **query: Unpack[CardsQuery]) -> Pager[Card]:
        """Returns the cards that are composed of components (`GET accounts/:account_id/cards`).

        `include_legacy_cards` adds cards of older kinds. `start` is a stored `Pager.position`.
        """
        return self._pages(routes.CARDS, query=query, start=start)

    async def get(self, card_id: str | int, **query: Unpack[RecordQuery]) -> Card:
        """Returns one card (`GET accounts/:account_id/cards/:card_id`). Raises NotFound if it does not exist."""
        return await self._call(routes.CARD, query=query, card_id=card_id)

    async def create(
        self,
        name: str,
        *,
        components: Components | None = None,
        slides: Sequence[Components] | None = None,
    ) -> Card:
        """Creates a card from components, in the order in which they are shown (`POST accounts/:account_id/cards`).

            await cards.create("Boots", components=[CardMedia("3_17"), Details("All boots", Website("https://…"))])

        A carousel with different destinations has `slides`, each with its own components. A card has one component with
        media (`CardMedia`, `SwipeableMedia`) and one with a destination (`Details` for a website, `Button` for an app).
        Returns the card. Raises InvalidInput with all errors. Not retried if its outcome is unknown.
        """
        body = without_none(name=name, components=components, slides=slides)
        return await self._call(routes.CARD_CREATE, body=body)

    async def update(
        self,
        card_id: str | int,
        *,
        name: str | Unset = UNSET,
        components: Components | Unset = UNSET,
        slides: Sequence[Components] | Unset = UNSET,
    ) -> Card:
        """Replaces the given parts of a card completely (`PUT accounts/:account_id/cards/:card_id`).
        Returns the new record.
        """
        body = {"name": name, "components": components, "slides": slides}
        return await self._call(routes.CARD_UPDATE, body=body, card_id=card_id)

    async def delete_image_conversation(self, card_id: str | int) -> Card:
        """Deletes an image conversation card and returns its record
        (`DELETE accounts/:account_id/cards/image_conversation/:card_id`).

        Cards of other kinds cannot be deleted.
        """
        return await self._call(routes.IMAGE_CONVERSATION_CARD_DELETE, card_id=card_id)


class PollCards(Resource):
    """The poll cards of an account. They cannot be changed after creation."""

    def list(self, *, start: str | None = None, **query: Unpack[PollCardsFilter]) -> Pager[PollCard]:
        """Returns all poll cards, or those with the given ids or with names that begin with `q` (`GET
        accounts/:account_id/cards/poll`).

        `start` is a stored `Pager.position`.
        """
        return self._pages(routes.POLL_CARDS, query=query, start=start)

    async def get(self, card_id: str | int, **query: Unpack[RecordQuery]) -> PollCard:
        """Returns one poll card (`GET accounts/:account_id/cards/poll/:card_id`). Raises NotFound if it
        does not exist.
        """
        return await self._call(routes.POLL_CARD, query=query, card_id=card_id)

    async def create(self, **poll: Unpack[PollCardFields]) -> PollCard:
        """Creates a poll of two to four choices, open for `duration_in_minutes` from now
        (`POST accounts/:account_id/cards/poll`).

        Returns the card. Raises InvalidInput with all errors. Not retried if its outcome is
        unknown.
        """
        return await self._call(routes.POLL_CARD_CREATE, body=poll)


class VideoConversationCards(Resource):
    """The video conversation cards of an account: videos with calls to action."""

    def list(
        self, *, start: str | None = None, **query: Unpack[VideoConversationCardsFilter]
    ) -> Pager[VideoConversationCard]:
        """Returns all cards, or those with the given ids or with names that begin with `q` (`GET
        accounts/:account_id/cards/video_conversation`).

        `start` is a stored `Pager.position`.
        """
        return self._pages(routes.VIDEO_CONVERSATION_CARDS, query=query, start=start)

    async def get(self, card_id: str | int, **query: Unpack[RecordQuery]) -> VideoConversationCard:
        """Returns one card (`GET accounts/:account_id/cards/video_conversation/:card_id`). Raises NotFound
        if it does not exist.
        """
        return await self._call(routes.VIDEO_CONVERSATION_CARD, query=query, card_id=card_id)

    async def create(self, **card: Unpack[VideoConversationCardFields]) -> VideoConversationCard:
        """Creates a card with a title, a second call to action, or both
        (`POST accounts/:account_id/cards/video_conversation`).

        Every call to action except the first needs its text. Returns the card. Not retried if its outcome is unknown.
        """
        return await self._call(routes.VIDEO_CONVERSATION_CARD_CREATE, body=card)

    async def update(
        self, card_id: str | int, **changes: Unpack[VideoConversationCardChanges]
    ) -> VideoConversationCard:
        """Changes a card (`PUT accounts/:account_id/cards/video_conversation/:card_id`). Returns the new record."""
        return await self._call(routes.VIDEO_CONVERSATION_CARD_UPDATE, body=changes, card_id=card_id)


class AdvertiserPosts(Resource):
    """Posts that belong to an ad account."""

    async def create(self, **post: Unpack[AdvertiserPostFields]) -> AdvertiserPost:
        """Creates a post for an advertiser, by default an ad-only post (`POST accounts/:account_id/tweet`).

        `as_user_id` is a user who has granted the caller access to the account. The post has a
        text, media, or both: up to four images, one GIF, or one video. Returns the post. Not retried if its outcome is
        unknown.
        """
        return await self._call(routes.ADVERTISER_POST_CREATE, body=post)

    async def rename(self, tweet_id: str | int, name: str) -> AdvertiserPost:
        """Renames a post in the account; a name has up to 80 characters
        (`PUT accounts/:account_id/tweets/:tweet_id/name`). Returns the post.
        """
        return await self._call(routes.ADVERTISER_POST_RENAME, body={"name": name}, tweet_id=tweet_id)
