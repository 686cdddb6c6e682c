"""Account media, the media library, cards, and posts of advertisers (creatives documentation)."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from socialapi.models.cards import Button, Card, CardMedia, CardsQuery, Details, SwipeableMedia
from socialapi.models.creatives import (
    AccountMedia,
    AccountMediaFilter,
    AdvertiserPost,
    AdvertiserPostFields,
    CreativeCardsFilter,
    LibraryMedia,
    LibraryMediaChanges,
    MediaLibraryQuery,
    PollCard,
    PollCardFields,
    VideoConversationCard,
    VideoConversationCardChanges,
    VideoConversationCardFields,
)
from socialapi.models.queries import RecordQuery
from socialapi.resources.resource import Resource
from socialapi.routes import creatives as routes
from socialapi.session.pager import Pager
from socialapi.unset import UNSET, Unset


class AccountMediaResource(Resource):
    """The media of an account."""

    def list(self, *, start: str | None = None, **query: Unpack[AccountMediaFilter]) -> Pager[AccountMedia]:
        """All of them, those with the ids, or those of the types (section 4.1)."""
        return self._pages(routes.ACCOUNT_MEDIA, query=query, start=start)

    async def get(self, account_media_id: str | int, **query: Unpack[RecordQuery]) -> AccountMedia:
        """One of them (section 4.1)."""
        return await self._call(routes.ACCOUNT_MEDIUM, query=query, account_media_id=account_media_id)

    async def delete(self, account_media_id: str | int) -> AccountMedia:
        """Deletes one and returns its record, with `deleted` true (section 4.1)."""
        return await self._call(routes.ACCOUNT_MEDIUM_DELETE, account_media_id=account_media_id)


class MediaLibrary(Resource):
    """The media library of an account."""

    def list(self, *, start: str | None = None, **query: Unpack[MediaLibraryQuery]) -> Pager[LibraryMedia]:
        """All media, those of a type, or those with a term in name, title, file name or description (section 4.3)."""
        return self._pages(routes.MEDIA_LIBRARY, query=query, start=start)

    async def get(self, media_key: str) -> LibraryMedia:
        """One media object (section 4.3)."""
        return await self._call(routes.LIBRARY_MEDIA, media_key=media_key)

    async def add(self, media_key: str, **about: Unpack[LibraryMediaChanges]) -> LibraryMedia:
        """Adds an object that was uploaded with a media category (section 4.3).

        One of category AMPLIFY_VIDEO is also found among the account media from then on, as PREROLL. Not repeated
        when its outcome is unknown.
        """
        return await self._call(routes.LIBRARY_MEDIA_ADD, body={"media_key": media_key, **about})

    async def update(self, media_key: str, **changes: Unpack[LibraryMediaChanges]) -> LibraryMedia:
        """Changes what is said about an object, and returns its new record (section 4.3).

        Title and description are shown under a video only when a post is created with `video_title` and
        `video_description`.
        """
        return await self._call(routes.LIBRARY_MEDIA_UPDATE, body=changes, media_key=media_key)

    async def delete(self, media_key: str) -> LibraryMedia:
        """Deletes an object and returns its record, with `deleted` true (section 4.3)."""
        return await self._call(routes.LIBRARY_MEDIA_DELETE, media_key=media_key)


AnyComponent = CardMedia | SwipeableMedia | Details | Button | Mapping[str, Any]
"""A component, or a mapping with its fields, `type` among them."""
Components = AnyComponent | Sequence[AnyComponent]


class Cards(Resource):
    """Cards of an account, put together from components."""

    def list(self, *, start: str | None = None, **query: Unpack[CardsQuery]) -> Pager[Card]:
        """The cards made by `create`; those of older kinds as well with `include_legacy_cards` (section 4.2)."""
        return self._pages(routes.CARDS, query=query, start=start)

    async def get(self, card_id: str | int, **query: Unpack[RecordQuery]) -> Card:
        """One card (section 4.2)."""
        return await self._call(routes.CARD, query=query, card_id=card_id)

    async def create(
        self,
        name: str,
        *,
        components: Components | Unset = UNSET,
        slides: Sequence[Components] | Unset = UNSET,
    ) -> Card:
        """Creates a card (section 4.2), from components in the order in which they are shown.

            await cards.create("Boots", components=[CardMedia("3_17"), Details("All boots", Website("https://…"))])

        A carousel whose slides lead to different places is made from the components of each slide. There is one
        component with media (`CardMedia`, `SwipeableMedia`) and one that leads somewhere (`Details` to a website, `Button`
        to an app). Raises InvalidInput with every broken rule. Not repeated when its outcome is unknown.
        """
        body = {"name": name, "components": components, "slides": slides}
        return await self._call(routes.CARD_CREATE, body=body)

    async def update(
        self,
        card_id: str | int,
        *,
        name: str | Unset = UNSET,
        components: Components | Unset = UNSET,
        slides: Sequence[Components] | Unset = UNSET,
    ) -> Card:
        """Replaces what is given of a card, each of it as a whole, and returns the new record (section 4.2)."""
        body = {"name": name, "components": components, "slides": slides}
        return await self._call(routes.CARD_UPDATE, body=body, card_id=card_id)

    async def delete_image_conversation(self, card_id: str | int) -> Card:
        """Deletes an image conversation card, the only kind that can be, and returns its record (section 4.2)."""
        return await self._call(routes.IMAGE_CONVERSATION_CARD_DELETE, card_id=card_id)


class PollCards(Resource):
    """Polls of an account, which cannot be changed once they are made."""

    def list(self, *, start: str | None = None, **query: Unpack[CreativeCardsFilter]) -> Pager[PollCard]:
        """All polls, those with the ids, or those whose names begin with `q` (section 4.4)."""
        return self._pages(routes.POLL_CARDS, query=query, start=start)

    async def get(self, card_id: str | int, **query: Unpack[RecordQuery]) -> PollCard:
        """One poll (section 4.4)."""
        return await self._call(routes.POLL_CARD, query=query, card_id=card_id)

    async def create(self, **poll: Unpack[PollCardFields]) -> PollCard:
        """Creates a poll of two to four choices, which is open for `duration_in_minutes` from now on (section 4.4).

        Not repeated when its outcome is unknown.
        """
        return await self._call(routes.POLL_CARD_CREATE, body=poll)


class VideoConversationCards(Resource):
    """Videos with things to say about them."""

    def list(self, *, start: str | None = None, **query: Unpack[CreativeCardsFilter]) -> Pager[VideoConversationCard]:
        """All cards, those with the ids, or those whose names begin with `q` (section 4.5)."""
        return self._pages(routes.VIDEO_CONVERSATION_CARDS, query=query, start=start)

    async def get(self, card_id: str | int, **query: Unpack[RecordQuery]) -> VideoConversationCard:
        """One card (section 4.5)."""
        return await self._call(routes.VIDEO_CONVERSATION_CARD, query=query, card_id=card_id)

    async def create(self, **card: Unpack[VideoConversationCardFields]) -> VideoConversationCard:
        """Creates a card with a title, a second call to action, or both (section 4.5).

        Every call to action but the first needs its text. Not repeated when its outcome is unknown.
        """
        return await self._call(routes.VIDEO_CONVERSATION_CARD_CREATE, body=card)

    async def update(
        self, card_id: str | int, **changes: Unpack[VideoConversationCardChanges]
    ) -> VideoConversationCard:
        """Changes a card and returns its new record (section 4.5)."""
        return await self._call(routes.VIDEO_CONVERSATION_CARD_UPDATE, body=changes, card_id=card_id)


class AdvertiserPosts(Resource):
    """Posts that belong to an ad account."""

    async def create(self, **post: Unpack[AdvertiserPostFields]) -> AdvertiserPost:
        """Creates a post in the name of an advertiser, by default one that is shown as an ad only (section 4.5).

        `as_user_id` has granted the caller access to the account. A text, or media, or both; up to four images, or one
        GIF, or one video. Not repeated when its outcome is unknown.
        """
        return await self._call(routes.ADVERTISER_POST_CREATE, body=post)

    async def rename(self, tweet_id: str | int, name: str) -> AdvertiserPost:
        """Gives a post another name in the account, of up to 80 characters, and returns it (section 4.5)."""
        return await self._call(routes.ADVERTISER_POST_RENAME, body={"name": name}, tweet_id=tweet_id)
