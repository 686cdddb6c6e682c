"""Webhook configurations (platform documentation, sections 3.1, 4.1 and 4.4)."""

import re
from typing import Any, Final

import attrs

from socialapi.errors import (
    DecodeError,
    InvalidInput,
    OutcomeUnknown,
    ServerError,
    WebhookRejected,
    WebhookUrlRejected,
)
from socialapi.models.content import Replay, ReplayRequest
from socialapi.models.webhooks import Deleted, WebhookConfig, WebhookDraft, WebhookValidity
from socialapi.resources.resource import Resource
from socialapi.routes import platform as routes
from socialapi.session.pager import Pager
from socialapi.wire.request import check

_MAY_EXIST: Final = frozenset({"DuplicateUrlFailed", "WebhookLimitExceeded"})
"""Why an address is not registered that another process may have registered meanwhile."""


class Webhooks(Resource):
    """Webhook configurations of the app. Receiving events is `socialapi.webhooks`."""

    async def create(self, url: str) -> WebhookConfig:
        """Registers an address for events; the service sends it a challenge at once (section 4.1).

        Raises WebhookRejected with its `reason` when the challenge fails, the address is registered already or the app
        has as many webhooks as it may; WebhookUrlRejected, which is an InvalidInput as well, for an address that is not
        https or has a port, whether that is found here or by the service.
        """
        self._check_url(url)
        return await self._call(routes.WEBHOOK_CREATE, body={"url": url})

    async def ensure(self, url: str) -> WebhookConfig:
        """The valid webhook for an address: the one there is, after a new challenge if it is invalid, or else a new one
        (sections 3.1 and 4.1).

        To be called at every start, once the address is served: the service sends a challenge. Several processes may
        call it at once. Schemes and hosts are compared in lower case.

        Raises as `create` does, and WebhookRejected also for a webhook that stays invalid.
        """
        url = _normal(url)
        self._check_url(url)
        known = await self._find(url) or await self._created(url)
        return known if known.valid else await self._validated(known)

    def _check_url(self, url: Any) -> None:
        """Raises WebhookUrlRejected for what cannot be the address of a webhook."""
        try:
            check(WebhookDraft, {"url": url}, now=self._session.now())
        except InvalidInput as refused:
            error = WebhookUrlRejected(refused=refused)
        else:
            return
        raise error

    async def _created(self, url: str) -> WebhookConfig:
        """A new webhook, or the one that is found where creating it failed and may have been done all the same."""
        try:
            return await self.create(url)
        except (OutcomeUnknown, ServerError) as problem:
            failure: Exception = problem
        except DecodeError as problem:
            if not problem.executed:
                raise
            failure = problem
        except WebhookRejected as problem:
            if problem.reason not in _MAY_EXIST:
                raise
            failure = problem
        found = await self._find(url)
        if found is None:
            raise failure
        return found

    async def _find(self, url: str) -> WebhookConfig | None:
        """The webhook with this address; a valid one if there are several."""
        found = [each async for each in self.list() if each.url is not None and _is_same(each.url, url)]
        return next((each for each in found if each.valid), found[0] if found else None)

    async def _validated(self, webhook: WebhookConfig) -> WebhookConfig:
        """The webhook after a new challenge. Raises WebhookRejected unless the service says that it is valid."""
        is_valid = await self._passes_challenge(webhook.id)
        if is_valid is not False:
            webhook = await self._listed(webhook.id) or webhook
        # The answer to the challenge counts; the list does where that answer does not say.
        if webhook.valid if is_valid is None else is_valid:
            return attrs.evolve(webhook, valid=True)
        refusal = WebhookRejected(200, summary=f"webhook {webhook.id} stays invalid: it did not pass the challenge")
        refusal.reason = "CrcValidationFailed"
        raise refusal

    async def _passes_challenge(self, webhook_id: str) -> bool | None:
        """Whether the webhook passes a new challenge; None where the answer does not say."""
        try:
            return (await self.validate(webhook_id)).valid
        except DecodeError as problem:
            if not problem.executed:
                raise
            return None

    async def _listed(self, webhook_id: str) -> WebhookConfig | None:
        return next((each for each in await self.list().collect() if each.id == webhook_id), None)

    def list(self) -> Pager[WebhookConfig]:
        """The app's webhooks, valid or not (section 4.1)."""
        return self._pages(routes.WEBHOOKS)

    async def validate(self, webhook_id: str | int) -> WebhookValidity:
        """Has the service send a new challenge, which makes the webhook valid again if it passes (section 4.1).

        Raises WebhookRejected with the reason CrcValidationFailed or WebhookIdInvalid.
        """
        return await self._call(routes.WEBHOOK_VALIDATE, webhook_id=webhook_id)

    async def delete(self, webhook_id: str | int) -> Deleted:
        """Removes a webhook (section 4.1). Raises WebhookRejected with the reason WebhookIdInvalid."""
        return await self._call(routes.WEBHOOK_DELETE, webhook_id=webhook_id)

    async def replay(self, **parameters: Any) -> Replay:
        """Has events delivered again (section 4.4). The parameters are not documented and are sent as they are."""
        return await self._call(routes.WEBHOOK_REPLAY, body=ReplayRequest(extra=parameters))


def _normal(url: Any) -> Any:
    """The address with scheme and host in lower case; anything but a text as it is."""
    if not isinstance(url, str):
        return url
    scheme, separator, rest = url.partition("://")
    host = re.split("[/?#]", rest, maxsplit=1)[0]
    return f"{scheme.lower()}{separator}{host.lower()}{rest.removeprefix(host)}"


def _is_same(one: str, other: str) -> bool:
    """Whether two addresses are the same one; no path is the path /."""
    return _with_path(_normal(one)) == _with_path(_normal(other))


def _with_path(url: str) -> str:
    return re.sub(r"^([^/?#]*//[^/?#]*)(?=[?#]|$)", r"\1/", url)
