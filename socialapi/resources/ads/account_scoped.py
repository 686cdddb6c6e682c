"""What every group of methods below an account holds beside the session."""

from socialapi.resources.resource import Resource
from socialapi.session.calls import CallOptions
from socialapi.session.session import Session
from socialapi.wire.request import path_id


class AccountScoped(Resource):
    """A group of methods of one account."""

    def __init__(self, session: Session, options: CallOptions, account_id: str | int) -> None:
        super().__init__(session, options)
        self._account_id = path_id("account_id", account_id)
