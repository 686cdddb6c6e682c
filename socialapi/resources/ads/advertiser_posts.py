"""Posts of advertisers (creatives documentation, section 4.5)."""

from typing import Unpack

from socialapi.models.creatives import AdvertiserPost, AdvertiserPostFields
from socialapi.resources.ads.account_scoped import AccountScoped
from socialapi.routes import creatives as routes


class AdvertiserPosts(AccountScoped):
    """Posts that belong to an ad account."""

    async def create(self, **post: Unpack[AdvertiserPostFields]) -> AdvertiserPost:
        """Creates a post in the name of an advertiser, by default one that is shown as an ad only (section 4.5).

        `as_user_id` has granted the caller access to the account. A text, or media, or both; up to four images, or one
        GIF, or one video. Not repeated when its outcome is unknown.
        """
        target = routes.ADVERTISER_POST_CREATE.at(account_id=self._account_id)
        return await self._session.call(target, options=self._options, body=post)

    async def rename(self, tweet_id: str | int, name: str) -> AdvertiserPost:
        """Gives a post another name in the account, of up to 80 characters, and returns it (section 4.5)."""
        target = routes.ADVERTISER_POST_RENAME.at(account_id=self._account_id, tweet_id=tweet_id)
        return await self._session.call(target, options=self._options, body={"name": name})
