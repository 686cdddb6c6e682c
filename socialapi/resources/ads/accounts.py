"""Ad accounts as a whole, and test accounts on the sandbox host (advertising documentation, section 4.2)."""

from collections.abc import Sequence
from typing import Unpack

from socialapi.models.accounts import Account, AccountChanges, AccountsFilter, FeatureKey
from socialapi.models.queries import RecordQuery
from socialapi.resources.resource import Resource
from socialapi.routes import ads as routes
from socialapi.session.pager import Pager


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
        return self._session.pages(routes.ACCOUNTS.at(), options=self._options, query=query, start=start)

    async def get(self, account_id: str | int, **query: Unpack[RecordQuery]) -> Account:
        """One account, with its `industry_type` (section 4.2). Raises NotFound for a deleted one, unless
        `with_deleted` is true.
        """
        return await self._session.call(routes.ACCOUNT.at(account_id=account_id), options=self._options, query=query)

    async def update(self, account_id: str | int, **changes: Unpack[AccountChanges]) -> Account:
        """Changes the `name` or the `industry_type` of an account and returns its new record (section 4.2)."""
        return await self._session.call(
            routes.ACCOUNT_UPDATE.at(account_id=account_id), options=self._options, body=changes
        )


class Sandbox(Resource):
    """Test accounts. They exist on the sandbox host alone (`Config.ads_sandbox_url`)."""

    async def create_account(self) -> Account:
        """Makes a test account (section 4.2). Not repeated when its outcome is unknown."""
        return await self._session.call(routes.SANDBOX_ACCOUNT_CREATE.at(), options=self._options)

    async def delete_account(self, account_id: str | int) -> Account:
        """Deletes a test account and returns its record, with `deleted` true (section 4.2)."""
        return await self._session.call(routes.SANDBOX_ACCOUNT_DELETE.at(account_id=account_id), options=self._options)

    async def add_features(
        self, account_id: str | int, feature_keys: FeatureKey | str | Sequence[FeatureKey | str]
    ) -> tuple[str, ...]:
        """Gives a test account features, and returns those it has (section 4.2).

        The complete list of keys is not documented; others than the known ones are sent as they are.
        """
        return await self._session.call(
            routes.SANDBOX_FEATURES_ADD.at(account_id=account_id),
            options=self._options,
            body={"feature_keys": feature_keys},
        )
