"""The advertising API, from its accounts down (advertising documentation, sections 4.2 to 4.6)."""

import datetime
from collections.abc import Sequence

from socialapi.models.insights import Granularity, KeywordInsights
from socialapi.models.line_items import BusinessCategory
from socialapi.resources.ads.account import AccountResource
from socialapi.resources.ads.accounts import Accounts, Sandbox
from socialapi.resources.resource import Resource, unless_empty
from socialapi.routes import ads as routes
from socialapi.session.pager import Pager
from socialapi.unset import UNSET, Unset


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
        return AccountResource(self._session, self._options, account_id)

    def business_categories(self) -> Pager[BusinessCategory]:
        """What advertisers do (section 4.3).

        One or two of them have to be chosen for line items with the objective PREROLL_VIEWS, by giving their
        `iab_categories` to `categories` of the line item.
        """
        return self._session.pages(routes.BUSINESS_CATEGORIES.at(), options=self._options)

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
        return await self._session.call(routes.KEYWORD_INSIGHTS.at(), options=self._options, query=query)
