"""Tailored audiences and who else may use them (advertising documentation, section 4.7)."""

from typing import Unpack

from socialapi.models.audiences import AudiencePermission, AudiencePermissionsFilter, PermissionLevel
from socialapi.resources.ads.account_scoped import AccountScoped
from socialapi.resources.resource import Resource
from socialapi.routes import ads as routes
from socialapi.session.calls import CallOptions
from socialapi.session.pager import Pager
from socialapi.session.session import Session
from socialapi.wire.request import path_id


class TailoredAudience(AccountScoped):
    """One tailored audience, by id."""

    def __init__(
        self, session: Session, options: CallOptions, account_id: str | int, tailored_audience_id: str | int
    ) -> None:
        super().__init__(session, options, account_id)
        self._tailored_audience_id = path_id("tailored_audience_id", tailored_audience_id)

    @property
    def permissions(self) -> "AudiencePermissions":
        """Who else may use it."""
        path = {"account_id": self._account_id, "tailored_audience_id": self._tailored_audience_id}
        return AudiencePermissions(self._session, self._options, path)


class AudiencePermissions(Resource):
    """The permissions of one tailored audience; they are those of version 5 of the API."""

    def __init__(self, session: Session, options: CallOptions, path: dict[str, str]) -> None:
        super().__init__(session, options)
        self._path = path

    def list(
        self, *, start: str | None = None, **query: Unpack[AudiencePermissionsFilter]
    ) -> Pager[AudiencePermission]:
        """Who may use the audience (section 4.7): all, or those of `granted_account_ids` or of
        `tailored_audience_permission_ids`.

        More than 200 ids of one filter are asked for in several requests, which go with neither `sort_by` nor
        `with_total_count`. `sort_by` is an attribute with its direction (`created_at-desc`), `with_total_count` has the
        first page count them, `count` is the size of a page (1 to 1,000), and `start` a stored position.
        """
        target = routes.AUDIENCE_PERMISSIONS.at(**self._path)
        return self._session.pages(target, options=self._options, query=query, start=start)

    async def create(self, granted_account_id: str | int, permission_level: PermissionLevel) -> AudiencePermission:
        """Lets another account use the audience, READ_ONLY or READ_WRITE (section 4.7).

        The account must own the audience; sharing works within one business, or with the feature
        SHARE_AUDIENCE_OUTSIDE_BUSINESS. Not repeated when its outcome is unknown.
        """
        target = routes.AUDIENCE_PERMISSION_CREATE.at(**self._path)
        body = {"granted_account_id": granted_account_id, "permission_level": permission_level}
        return await self._session.call(target, options=self._options, body=body)

    async def delete(self, tailored_audience_permission_id: str | int) -> AudiencePermission:
        """Takes a permission back, and returns its record with `deleted` true (section 4.7).

        The other account cannot target the audience in new campaigns any more; running ones go on and keep it, and
        cannot be copied.
        """
        target = routes.AUDIENCE_PERMISSION_DELETE.at(
            **self._path, tailored_audience_permission_id=tailored_audience_permission_id
        )
        return await self._session.call(target, options=self._options)
