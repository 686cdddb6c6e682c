"""The advertising API, from its accounts down."""

from socialapi.resources.ads.account import Account
from socialapi.resources.resource import Resource


class Ads(Resource):
    """The advertising API."""

    def account(self, account_id: str) -> Account:
        """The account with this id; nothing is sent yet."""
        return Account(self._session, self._options, account_id)
