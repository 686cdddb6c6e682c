"""The advertising API: accounts, features, keyword insights and the resources of one account."""

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
from socialapi.models.queries import CollectionQuery, RecordQuery
from socialapi.resources.resource import Resource, unless_empty
from socialapi.routes import ads as routes
from socialapi.session.pager import Pager

if TYPE_CHECKING:
    from socialapi.models.insights import Granularity, KeywordInsights
    from socialapi.models.line_items import BusinessCategory
    from socialapi.resources.audiences import CustomAudience, DoNotReachListResource, TailoredAudience
    from socialapi.resources.creatives import (
        AccountMediaResource,
        AdvertiserPosts,
        Cards,
        MediaLibrary,
        PollCards,
        VideoConversationCards,
    )
    from socialapi.resources.line_items import CuratedCategories, LineItemCuratedCategories, LineItems


class Accounts(Resource):
    """The ad accounts that the user can access."""

    def list(self, *, start: str | None = None, **query: Unpack[AccountsFilter]) -> Pager[Account]:
        """Returns the accounts associated with the user (`GET accounts`).

        `account_ids` selects accounts by id and `q` by the beginning of the name. `sort_by` is an attribute with a
        direction (`name-asc`), `with_deleted` includes deleted accounts, `with_total_count` adds the total to the first
        page, `count` is the page size (1 to 1,000), and `start` is a stored `Pager.position`. More than 200
        `account_ids` are split into several requests, and then `sort_by` and `with_total_count` are not allowed. Raises
        InvalidInput for invalid arguments.
        """
        return self._pages(routes.ACCOUNTS, query=query, start=start)

    async def get(self, account_id: str | int, **query: Unpack[RecordQuery]) -> Account:
        """Returns one account, with its `industry_type` (`GET accounts/:account_id`).

        Raises NotFound for a deleted account, unless `with_deleted` is true.
        """
        return await self._call(routes.ACCOUNT, query=query, account_id=account_id)

    async def update(self, account_id: str | int, **changes: Unpack[AccountChanges]) -> Account:
        """Changes the `name` or the `industry_type` of an account (`PUT accounts/:account_id`). Returns the
        new record.
        """
        return await self._call(routes.ACCOUNT_UPDATE, body=changes, account_id=account_id)


class Sandbox(Resource):
    """Test accounts, which exist only on the sandbox host (`Config.ads_sandbox_url`)."""

    async def create_account(self) -> Account:
        """Creates a test account and returns its record (`POST accounts`). Not retried if its outcome is unknown."""
        return await self._call(routes.SANDBOX_ACCOUNT_CREATE)

    async def delete_account(self, account_id: str | int) -> Account:
        """Deletes a test account and returns its record, with `deleted` true (`DELETE accounts/:account_id`)."""
        return await self._call(routes.SANDBOX_ACCOUNT_DELETE, account_id=account_id)

    async def add_features(
        self, account_id: str | int, feature_keys: FeatureKey | str | Sequence[FeatureKey | str]
    ) -> tuple[str, ...]:
        """Adds features to a test account (`POST accounts/:account_id/features`). Returns all of its features.

        The complete list of keys is not documented, so unknown keys are sent as given.
        """
        return await self._call(routes.SANDBOX_FEATURES_ADD, body={"feature_keys": feature_keys}, account_id=account_id)


class AccountResource(Resource):
    """One account, by id."""

    def apps(self, *, start: str | None = None, **query: Unpack[CollectionQuery]) -> Pager[AccountApp]:
        """Returns the mobile apps of the account (`GET accounts/:account_id/account_apps`).

        `sort_by` is an attribute with a direction (`os_type-asc`), `with_deleted` includes deleted
        apps, `with_total_count` adds the total to the first page, `count` is the page size (1 to
        1,000), and `start` is a stored `Pager.position`.
        """
        return self._pages(routes.ACCOUNT_APPS, query=query, start=start)

    def history(self, *, start: str | None = None, **query: Unpack[HistoryFilter]) -> Pager[HistoryEntry]:
        """Returns the changes to one entity in a time range (`GET accounts/:account_id/account_history`): what changed
        and who changed it.

        `entity_type`, `entity_id`, `start_time` and `end_time` are required. The times are aware datetimes on a whole
        hour in UTC; InvalidInput is raised otherwise. `user_id` selects the changes made by one user, and `count` is
        the page size (1 to 1,000). The endpoint is in beta and must be enabled for the account.

        Entries have no ids, so a stored position (`start`) in the middle of a page is the number of entries before it.
        """
        return self._pages(routes.ACCOUNT_HISTORY, query=query, start=start)

    async def features(self, feature_keys: FeatureKey | Sequence[FeatureKey] = ()) -> tuple[str, ...]:
        """Returns the account's features, limited to `feature_keys` if given (`GET accounts/:account_id/features`)."""
        return await self._call(routes.FEATURES, query={"feature_keys": unless_empty(feature_keys)})

    @property
    def curated_categories(self) -> "CuratedCategories":
        """Curated categories: groups of publishers on whose content ads can run."""
        from socialapi.resources.line_items import CuratedCategories

        return CuratedCategories(self._session, self._options, **self._path)

    @property
    def line_items(self) -> "LineItems":
        """The line items of the account."""
        from socialapi.resources.line_items import LineItems

        return LineItems(self._session, self._options, **self._path)

    @property
    def line_item_curated_categories(self) -> "LineItemCuratedCategories":
        """The pairs of line items and curated categories."""
        from socialapi.resources.line_items import LineItemCuratedCategories

        return LineItemCuratedCategories(self._session, self._options, **self._path)

    @property
    def media(self) -> "AccountMediaResource":
        """The account media."""
        from socialapi.resources.creatives import AccountMediaResource

        return AccountMediaResource(self._session, self._options, **self._path)

    @property
    def media_library(self) -> "MediaLibrary":
        """The media library of the account."""
        from socialapi.resources.creatives import MediaLibrary

        return MediaLibrary(self._session, self._options, **self._path)

    @property
    def cards(self) -> "Cards":
        """The cards of the account: media with a destination."""
        from socialapi.resources.creatives import Cards

        return Cards(self._session, self._options, **self._path)

    @property
    def poll_cards(self) -> "PollCards":
        """The poll cards of the account."""
        from socialapi.resources.creatives import PollCards

        return PollCards(self._session, self._options, **self._path)

    @property
    def video_conversation_cards(self) -> "VideoConversationCards":
        """The video conversation cards of the account."""
        from socialapi.resources.creatives import VideoConversationCards

        return VideoConversationCards(self._session, self._options, **self._path)

    @property
    def posts(self) -> "AdvertiserPosts":
        """The posts that belong to the account."""
        from socialapi.resources.creatives import AdvertiserPosts

        return AdvertiserPosts(self._session, self._options, **self._path)

    def tailored_audience(self, tailored_audience_id: str | int) -> "TailoredAudience":
        """Returns the resource of a tailored audience. Sends nothing."""
        from socialapi.resources.audiences import TailoredAudience

        return TailoredAudience(self._session, self._options, **self._path, tailored_audience_id=tailored_audience_id)

    def custom_audience(self, custom_audience_id: str | int) -> "CustomAudience":
        """Returns the resource of a custom audience. Sends nothing."""
        from socialapi.resources.audiences import CustomAudience

        return CustomAudience(self._session, self._options, **self._path, custom_audience_id=custom_audience_id)

    def do_not_reach_list(self, do_not_reach_list_id: str | int) -> "DoNotReachListResource":
        """Returns the resource of a do-not-reach list. Sends nothing."""
        from socialapi.resources.audiences import DoNotReachListResource

        return DoNotReachListResource(
            self._session, self._options, **self._path, do_not_reach_list_id=do_not_reach_list_id
        )


class Ads(Resource):
    """The advertising API."""

    @property
    def accounts(self) -> Accounts:
        """The ad accounts that the user can access."""
        return Accounts(self._session, self._options)

    @property
    def sandbox(self) -> Sandbox:
        """Test accounts, on the sandbox host."""
        return Sandbox(self._session, self._options)

    def account(self, account_id: str | int) -> AccountResource:
        """Returns the resource of an account. Sends nothing."""
        return AccountResource(self._session, self._options, account_id=account_id)

    def business_categories(self) -> "Pager[BusinessCategory]":
        """Returns the business categories of advertisers (`GET advertiser_business_categories`).

        A line item with the objective PREROLL_VIEWS needs one or two of them: pass their
        `iab_categories` as its `categories`.
        """
        from socialapi.routes import line_items

        return self._pages(line_items.BUSINESS_CATEGORIES)

    async def keyword_insights(
        self,
        keywords: str | Sequence[str],
        *,
        granularity: "Granularity",
        start_time: datetime.datetime,
        end_time: datetime.datetime | None = None,
        location: str | None = None,
        negative_keywords: str | Sequence[str] = (),
    ) -> "KeywordInsights":
        """Returns how many posts contained any of the keywords per DAY or HOUR, and related keywords
        (`GET insights/keywords/search`).

        The range spans at most seven days and ends now unless `end_time` is given. `location` is the targeting value of
        one country. Posts with any of the `negative_keywords` are not counted. `keywords` and `negative_keywords` may
        have at most ten entries in total. Raises InvalidInput with all errors before anything is sent.
        """
        from socialapi.routes import line_items

        query = {
            "granularity": granularity,
            "keywords": keywords,
            "start_time": start_time,
            "end_time": end_time,
            "location": location,
            "negative_keywords": unless_empty(negative_keywords),
        }
        return await self._call(line_items.KEYWORD_INSIGHTS, query=query)
