"""Webhook configurations."""

import datetime
import re
from collections.abc import Sequence
from typing import Any, Final, get_args

import attrs

from socialapi.errors import (
    DecodeError,
    InvalidInput,
    OutcomeUnknown,
    ServerError,
    WebhookRejected,
    WebhookUrlRejected,
)
from socialapi.models.content import Replay
from socialapi.models.queries import names_of
from socialapi.models.webhooks import Deleted, WebhookConfig, WebhookConfigField, WebhookDraft, WebhookValidity
from socialapi.resources.arguments import check_further
from socialapi.resources.resource import Resource, unless_empty, without_none
from socialapi.routes import platform as routes
from socialapi.session.pager import Pager
from socialapi.wire.request import check

_MAY_EXIST: Final = frozenset({"DuplicateUrlFailed", "WebhookLimitExceeded"})
"""Reasons for a rejection that may mean that another process has just registered the URL."""


class Webhooks(Resource):
    """The app's webhook configurations. To receive events, see `socialapi.webhooks`."""

    async def create(self, url: str) -> WebhookConfig:
        """Registers a URL to receive events (`POST /2/webhooks`). The service challenges the URL immediately.

        Returns the webhook. Raises WebhookRejected with its `reason` if the challenge fails, the URL is already
        registered or the app has reached its maximum number of webhooks. Raises WebhookUrlRejected, which is also an
        InvalidInput, for a URL that is not https or has a port, whether the client or the service rejects it.
        """
        self._check_url(url)
        return await self._call(routes.WEBHOOK_CREATE, body={"url": url})

    async def ensure(self, url: str) -> WebhookConfig:
        """Returns a valid webhook for a URL (`GET /2/webhooks`, `POST /2/webhooks`, `PUT /2/webhooks/:webhook_id`).

        Uses an existing webhook, after a new challenge if it is invalid, or creates one. Call it at
        every start, once the server accepts requests, because the service sends a challenge.
        Several processes may call it concurrently. Schemes and hosts are compared in lower case.

        Raises the same errors as `create`, and WebhookRejected for a webhook that stays invalid.
        """
        url = _normal(url)
        self._check_url(url)
        known = await self._find(url) or await self._created(url)
        return known if known.valid else await self._validated(known)

    def _check_url(self, url: Any) -> None:
        """Raises WebhookUrlRejected for a value that cannot be the URL of a webhook."""
        try:
            check(WebhookDraft, {"url": url}, now=self._session.now())
        except InvalidInput as refused:
            error = WebhookUrlRejected(refused=refused)
        else:
            return
        raise error

    async def _created(self, url: str) -> WebhookConfig:
        """Returns a new webhook, or an existing one if creating it failed but may have succeeded."""
        try:
            return await self.create(url)
        except (OutcomeUnknown, ServerError, DecodeError, WebhookRejected) as problem:
            if isinstance(problem, DecodeError) and not problem.executed:
                raise
            if isinstance(problem, WebhookRejected) and problem.reason not in _MAY_EXIST:
                raise
            failure = problem
        found = await self._find(url)
        if found is None:
            raise failure
        return found

    async def _find(self, url: str) -> WebhookConfig | None:
        """Returns the webhook with this URL, preferably a valid one; None if there is none."""
        found = [each async for each in self.list() if each.url is not None and _is_same(each.url, url)]
        return next((each for each in found if each.valid), found[0] if found else None)

    async def _validated(self, webhook: WebhookConfig) -> WebhookConfig:
        """Returns the webhook after a new challenge. Raises WebhookRejected if it is still invalid."""
        is_valid: bool | None = None
        try:
            is_valid = (await self.validate(webhook.id)).valid
        except DecodeError as problem:
            if not problem.executed:
                raise
        if is_valid is not False:
            webhook = next((each for each in await self.list().collect() if each.id == webhook.id), None) or webhook
        # The response to the PUT decides; without a result in it, the list decides.
        if webhook.valid if is_valid is None else is_valid:
            return attrs.evolve(webhook, valid=True)
        refusal = WebhookRejected(200, summary=f"webhook {webhook.id} stays invalid: it did not pass the challenge")
        refusal.reason = "CrcValidationFailed"
        raise refusal

    def list(
        self, *, webhook_config_fields: WebhookConfigField | str | Sequence[WebhookConfigField | str] = ()
    ) -> Pager[WebhookConfig]:
        """Returns the app's webhooks, valid or not, with all or the named fields (`GET /2/webhooks`)."""
        names = names_of("webhook_config_fields", webhook_config_fields, get_args(WebhookConfigField))
        return self._pages(routes.WEBHOOKS, query={"webhook_config.fields": unless_empty(names)})

    async def validate(self, webhook_id: str | int) -> WebhookValidity:
        """Makes the service send a new challenge. If it passes, the webhook becomes valid again (`PUT
        /2/webhooks/:webhook_id`).

        Returns the result. Raises WebhookRejected with the reason CrcValidationFailed
        or WebhookIdInvalid.
        """
        return await self._call(routes.WEBHOOK_VALIDATE, webhook_id=webhook_id)

    async def delete(self, webhook_id: str | int) -> Deleted:
        """Deletes a webhook (`DELETE /2/webhooks/:webhook_id`). Raises WebhookRejected with the reason
        WebhookIdInvalid.
        """
        return await self._call(routes.WEBHOOK_DELETE, webhook_id=webhook_id)

    async def replay(
        self,
        *,
        webhook_id: str | int | None = None,
        from_date: datetime.datetime | str | None = None,
        to_date: datetime.datetime | str | None = None,
        **parameters: Any,
    ) -> Replay:
        """Starts a redelivery of past events (`POST /2/webhooks/replay`).

        Returns the job. The service publishes the parameters but does not document them. A datetime is sent as
        `YYYYMMDDHHMM` in UTC, without its seconds; other values are sent as given. Raises InvalidInput for a time
        without a time zone.
        """
        check_further(self.replay, parameters)
        named = without_none(webhook_id=webhook_id, from_date=_minute(from_date), to_date=_minute(to_date))
        body = {**parameters, **named}
        return await self._call(routes.WEBHOOK_REPLAY, body=body)


def _minute(date: Any) -> Any:
    """Returns a time in the service's format, and anything but an aware datetime unchanged."""
    if not isinstance(date, datetime.datetime) or date.utcoffset() is None:
        return date
    return date.astimezone(datetime.UTC).strftime("%Y%m%d%H%M")


def _normal(url: Any) -> Any:
    """Returns the URL with scheme and host in lower case; non-strings unchanged."""
    if not isinstance(url, str):
        return url
    scheme, separator, rest = url.partition("://")
    host = re.split("[/?#]", rest, maxsplit=1)[0]
    return f"{scheme.lower()}{separator}{host.lower()}{rest.removeprefix(host)}"


def _is_same(one: str, other: str) -> bool:
    """Returns whether two URLs are equal. An empty path equals /."""
    return _with_path(_normal(one)) == _with_path(_normal(other))


def _with_path(url: str) -> str:
    return re.sub(r"^([^/?#]*//[^/?#]*)(?=[?#]|$)", r"\1/", url)
