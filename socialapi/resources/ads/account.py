"""What belongs to one advertising account."""

from socialapi.resources.ads.custom_audience import CustomAudience
from socialapi.resources.ads.do_not_reach_list import DoNotReachListResource
from socialapi.resources.resource import Resource
from socialapi.session.calls import CallOptions
from socialapi.session.session import Session


class Account(Resource):
    """One account, by id."""

    def __init__(self, session: Session, options: CallOptions, account_id: str) -> None:
        super().__init__(session, options)
        self._account_id = account_id

    def custom_audience(self, custom_audience_id: str) -> CustomAudience:
        """The custom audience with this id; nothing is sent yet."""
        return CustomAudience(self._session, self._options, self._account_id, custom_audience_id)

    def do_not_reach_list(self, do_not_reach_list_id: str) -> DoNotReachListResource:
        """The do-not-reach list with this id; nothing is sent yet."""
        return DoNotReachListResource(self._session, self._options, self._account_id, do_not_reach_list_id)
