"""The advertising API: accounts and what belongs to one (advertising documentation)."""

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from socialapi.models.accounts import (
    Account,
    AccountApp,
    AccountChanges,
    AccountsFilter,
    FeatureKey,
    HistoryEntry,
    HistoryFilter,
)
from socialapi.models.insights import Granularity, KeywordInsights
from socialapi.models.line_items import BusinessCategory
from socialapi.models.queries import CollectionQuery, RecordQuery
from socialapi.resources.audiences import CustomAudience, DoNotReachListResource, TailoredAudience
from socialapi.resources.line_items import CuratedCategories, LineItemCuratedCategories, LineItems
from socialapi.resources.resource import Resource, unless_empty
from socialapi.routes import ads as routes
from socialapi.session.pager import Pager
from socialapi.unset import UNSET, Unset

if TYPE_CHECKING:
    from socialapi.resources.creatives import (
        AccountMediaResource,
        AdvertiserPosts,
        Cards,
        MediaLibrary,
        PollCards,
        VideoConversationCards,
    )


class Accounts(Resource):
    """The accounts of the user."""

    def list(self, *, start: str | None = None, **query: Unpack[AccountsFilter]) -> Pager[Account]:
        """The accounts that are associated with the user (section 4.2): all, those of `account_ids`, or those whose
        names begin with `q`.

        More than 200 `account_ids` are asked for in several requests, which go with neither `sort_by` nor
        `with_total_count`. `sort_by` is an attribute with its direction (`name-asc`), `with_deleted` includes deleted
        accounts, `with_total_count` has the first page count them, `count` is the size of a page (1 to 1,000), and
        `start` a stored position.
        """
        return self._pages(routes.ACCOUNTS, query=query, start=start)

    async def get(self, account_id: str | int, **query: Unpack[RecordQuery]) -> Account:
        """One account, with its `industry_type` (section 4.2). Raises NotFound for a deleted one, unless
        `with_deleted` is true.
        """
        return await self._call(routes.ACCOUNT, query=query, account_id=account_id)

    async def update(self, account_id: str | int, **changes: Unpack[AccountChanges]) -> Account:
        """Changes the `name` or the `industry_type` of an account and returns its new record (section 4.2)."""
        return await self._call(routes.ACCOUNT_UPDATE, body=changes, account_id=account_id)


class Sandbox(Resource):
    """Test accounts. They exist on the sandbox host alone (`Config.ads_sandbox_url`)."""

    async def create_account(self) -> Account:
        """Makes a test account (section 4.2). Not repeated when its outcome is unknown."""
        return await self._call(routes.SANDBOX_ACCOUNT_CREATE)

    async def delete_account(self, account_id: str | int) -> Account:
        """Deletes a test account and returns its record, with `deleted` true (section 4.2)."""
        return await self._call(routes.SANDBOX_ACCOUNT_DELETE, account_id=account_id)

    async def add_features(
        self, account_id: str | int, feature_keys: FeatureKey | str | Sequence[FeatureKey | str]
    ) -> tuple[str, ...]:
        """Gives a test account features, and returns those it has (section 4.2).

        The complete list of keys is not documented; others than the known ones are sent as they are.
        """
        return await self._call(routes.SANDBOX_FEATURES_ADD, body={"feature_keys": feature_keys}, account_id=account_id)


class AccountResource(Resource):
    """One account, by id."""

    def apps(self, *, start: str | None = None, **query: Unpack[CollectionQuery]) -> Pager[AccountApp]:
        """The mobile apps of the account (section 4.2).

        `sort_by` is an attribute with its direction (`os_type-asc`), `with_deleted` includes deleted apps,
        `with_total_count` has the first page count them, `count` is the size of a page (1 to 1,000), and `start` a
        stored position.
        """
        return self._pages(routes.ACCOUNT_APPS, query=query, start=start)

    def history(self, *, start: str | None = None, **query: Unpack[HistoryFilter]) -> Pager[HistoryEntry]:
        """The changes of one entity between two whole hours, by whom and by what (section 4.2).

        `entity_type`, `entity_id`, `start_time` and `end_time` are required; the times are aware and have neither
        minutes nor seconds in UTC, or InvalidInput is raised. `user_id` leaves only the changes of that user, `count` is
        the size of a page (1 to 1,000). In beta: accounts have to be allowed to use it.

        Entries have no ids, so a stored position (`start`) in the middle of a page is the number of those before it.
        """
        return self._pages(routes.ACCOUNT_HISTORY, query=query, start=start)

    async def features(self, feature_keys: FeatureKey | Sequence[FeatureKey] = ()) -> tuple[str, ...]:
        """The features that the account has, all of them or which of those named (section 4.2)."""
        return await self._call(routes.FEATURES, query={"feature_keys": unless_empty(feature_keys)})

    @property
    def curated_categories(self) -> CuratedCategories:
        """Groups of publishers to run beside."""
        return CuratedCategories(self._session, self._options, **self._path)

    @property
    def line_items(self) -> LineItems:
        """The line items of the account."""
        return LineItems(self._session, self._options, **self._path)

    @property
    def line_item_curated_categories(self) -> LineItemCuratedCategories:
        """Which line items run beside which curated categories."""
        return LineItemCuratedCategories(self._session, self._options, **self._path)

    @property
    def media(self) -> "AccountMediaResource":
        """The media of the account."""
        from socialapi.resources.creatives import AccountMediaResource

        return AccountMediaResource(self._session, self._options, **self._path)

    @property
    def media_library(self) -> "MediaLibrary":
        """The media library of the account."""
        from socialapi.resources.creatives import MediaLibrary

        return MediaLibrary(self._session, self._options, **self._path)

    @property
    def cards(self) -> "Cards":
        """Media with a destination."""
        from socialapi.resources.creatives import Cards

        return Cards(self._session, self._options, **self._path)

    @property
    def poll_cards(self) -> "PollCards":
        """Polls."""
        from socialapi.resources.creatives import PollCards

        return PollCards(self._session, self._options, **self._path)

    @property
    def video_conversation_cards(self) -> "VideoConversationCards":
        """Videos with things to say about them."""
        from socialapi.resources.creatives import VideoConversationCards

        return VideoConversationCards(self._session, self._options, **self._path)

    @property
    def posts(self) -> "AdvertiserPosts":
        """Posts of advertisers."""
        from socialapi.resources.creatives import AdvertiserPosts

        return AdvertiserPosts(self._session, self._options, **self._path)

    def tailored_audience(self, tailored_audience_id: str | int) -> TailoredAudience:
        """The tailored audience with this id; nothing is sent yet."""
        return TailoredAudience(self._session, self._options, **self._path, tailored_audience_id=tailored_audience_id)

    def custom_audience(self, custom_audience_id: str | int) -> CustomAudience:
        """The custom audience with this id; nothing is sent yet."""
        return CustomAudience(self._session, self._options, **self._path, custom_audience_id=custom_audience_id)

    def do_not_reach_list(self, do_not_reach_list_id: str | int) -> DoNotReachListResource:
        """The do-not-reach list with this id; nothing is sent yet."""
        return DoNotReachListResource(
            self._session, self._options, **self._path, do_not_reach_list_id=do_not_reach_list_id
        )


class Ads(Resource):
    """The advertising API."""

    @property
    def accounts(self) -> Accounts:
        """The accounts of the user."""
        return Accounts(self._session, self._options)

    @property
    def sandbox(self) -> Sandbox:
        """Test accounts, on the sandbox host."""
        return Sandbox(self._session, self._options)

    def account(self, account_id: str | int) -> AccountResource:
        """The account with this id; nothing is sent yet."""
        return AccountResource(self._session, self._options, account_id=account_id)

    def business_categories(self) -> Pager[BusinessCategory]:
        """What advertisers do (section 4.3).

        One or two of them have to be chosen for line items with the objective PREROLL_VIEWS, by giving their
        `iab_categories` to `categories` of the line item.
        """
        return self._pages(routes.BUSINESS_CATEGORIES)

    async def keyword_insights(
        self,
        keywords: str | Sequence[str],
        *,
        granularity: Granularity,
        start_time: datetime.datetime,
        end_time: datetime.datetime | Unset = UNSET,
        location: str | Unset = UNSET,
        negative_keywords: str | Sequence[str] = (),
    ) -> KeywordInsights:
        """How many posts had any of the keywords in each DAY or HOUR, and which keywords go with them (section 4.6).

        The range ends now unless `end_time` is given, and spans at most seven days. `location` is the targeting value
        of one country. At most ten keywords, those whose posts do not count (`negative_keywords`) included. Raises
        InvalidInput with every broken rule before anything is sent.
        """
        query = {
            "granularity": granularity,
            "keywords": keywords,
            "start_time": start_time,
            "end_time": end_time,
            "location": location,
            "negative_keywords": unless_empty(negative_keywords),
        }
        return await self._call(routes.KEYWORD_INSIGHTS, query=query)
