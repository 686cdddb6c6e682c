"""The advertising API, from its accounts down."""

from socialapi.resources.ads.account import Account
from socialapi.session.session import CallOptions, Session


class Ads:
    """The advertising API."""

    def __init__(self, session: Session, options: CallOptions) -> None:
        self._session = session
        self._options = options

    def account(self, account_id: str) -> Account:
        """The account with this id; nothing is sent yet."""
        return Account(self._session, self._options, account_id)
