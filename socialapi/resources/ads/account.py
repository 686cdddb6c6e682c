"""What belongs to one advertising account (advertising documentation, sections 4.2 to 4.5)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from socialapi.models.accounts import AccountApp, FeatureKey, HistoryEntry, HistoryFilter
from socialapi.models.queries import CollectionQuery
from socialapi.resources.ads.account_scoped import AccountScoped
from socialapi.resources.ads.curated_categories import CuratedCategories, LineItemCuratedCategories
from socialapi.resources.ads.custom_audience import CustomAudience
from socialapi.resources.ads.do_not_reach_list import DoNotReachListResource
from socialapi.resources.ads.line_items import LineItems
from socialapi.resources.ads.tailored_audience import TailoredAudience
from socialapi.resources.resource import unless_empty
from socialapi.routes import ads as routes
from socialapi.session.pager import Pager

if TYPE_CHECKING:
    from socialapi.resources.ads.advertiser_posts import AdvertiserPosts
    from socialapi.resources.ads.cards import Cards, PollCards, VideoConversationCards
    from socialapi.resources.ads.media import AccountMediaResource, MediaLibrary


class AccountResource(AccountScoped):
    """One account, by id."""

    def apps(self, *, start: str | None = None, **query: Unpack[CollectionQuery]) -> Pager[AccountApp]:
        """The mobile apps of the account (section 4.2).

        `sort_by` is an attribute with its direction (`os_type-asc`), `with_deleted` includes deleted apps,
        `with_total_count` has the first page count them, `count` is the size of a page (1 to 1,000), and `start` a
        stored position.
        """
        target = routes.ACCOUNT_APPS.at(account_id=self._account_id)
        return self._session.pages(target, options=self._options, query=query, start=start)

    def history(self, *, start: str | None = None, **query: Unpack[HistoryFilter]) -> Pager[HistoryEntry]:
        """The changes of one entity between two whole hours, by whom and by what (section 4.2).

        `entity_type`, `entity_id`, `start_time` and `end_time` are required; the times are aware and have neither
        minutes nor seconds in UTC, or InvalidInput is raised. `user_id` leaves only the changes of that user, `count` is
        the size of a page (1 to 1,000). In beta: accounts have to be allowed to use it.

        Entries have no ids, so a stored position (`start`) in the middle of a page is the number of those before it.
        """
        target = routes.ACCOUNT_HISTORY.at(account_id=self._account_id)
        return self._session.pages(target, options=self._options, query=query, start=start)

    async def features(self, feature_keys: FeatureKey | Sequence[FeatureKey] = ()) -> tuple[str, ...]:
        """The features that the account has, all of them or which of those named (section 4.2)."""
        return await self._session.call(
            routes.FEATURES.at(account_id=self._account_id),
            options=self._options,
            query={"feature_keys": unless_empty(feature_keys)},
        )

    @property
    def curated_categories(self) -> CuratedCategories:
        """Groups of publishers to run beside."""
        return CuratedCategories(self._session, self._options, self._account_id)

    @property
    def line_items(self) -> LineItems:
        """The line items of the account."""
        return LineItems(self._session, self._options, self._account_id)

    @property
    def line_item_curated_categories(self) -> LineItemCuratedCategories:
        """Which line items run beside which curated categories."""
        return LineItemCuratedCategories(self._session, self._options, self._account_id)

    @property
    def media(self) -> "AccountMediaResource":
        """The media of the account."""
        from socialapi.resources.ads.media import AccountMediaResource

        return AccountMediaResource(self._session, self._options, self._account_id)

    @property
    def media_library(self) -> "MediaLibrary":
        """The media library of the account."""
        from socialapi.resources.ads.media import MediaLibrary

        return MediaLibrary(self._session, self._options, self._account_id)

    @property
    def cards(self) -> "Cards":
        """Media with a destination."""
        from socialapi.resources.ads.cards import Cards

        return Cards(self._session, self._options, self._account_id)

    @property
    def poll_cards(self) -> "PollCards":
        """Polls."""
        from socialapi.resources.ads.cards import PollCards

        return PollCards(self._session, self._options, self._account_id)

    @property
    def video_conversation_cards(self) -> "VideoConversationCards":
        """Videos with things to say about them."""
        from socialapi.resources.ads.cards import VideoConversationCards

        return VideoConversationCards(self._session, self._options, self._account_id)

    @property
    def posts(self) -> "AdvertiserPosts":
        """Posts of advertisers."""
        from socialapi.resources.ads.advertiser_posts import AdvertiserPosts

        return AdvertiserPosts(self._session, self._options, self._account_id)

    def tailored_audience(self, tailored_audience_id: str | int) -> TailoredAudience:
        """The tailored audience with this id; nothing is sent yet."""
        return TailoredAudience(self._session, self._options, self._account_id, tailored_audience_id)

    def custom_audience(self, custom_audience_id: str | int) -> CustomAudience:
        """The custom audience with this id; nothing is sent yet."""
        return CustomAudience(self._session, self._options, self._account_id, custom_audience_id)

    def do_not_reach_list(self, do_not_reach_list_id: str | int) -> DoNotReachListResource:
        """The do-not-reach list with this id; nothing is sent yet."""
        return DoNotReachListResource(self._session, self._options, self._account_id, do_not_reach_list_id)
