"""Webhook configurations (platform documentation, sections 3.1, 4.1 and 4.4)."""

from typing import Any

from socialapi.errors import InvalidInput, WebhookUrlRejected
from socialapi.models.content import Replay, ReplayRequest
from socialapi.models.webhooks import Deleted, WebhookConfig, WebhookValidity
from socialapi.resources.resource import Resource
from socialapi.routes import platform as routes
from socialapi.session.pager import Pager


class Webhooks(Resource):
    """Webhook configurations of the app. Receiving events is `socialapi.webhooks`."""

    async def create(self, url: str) -> WebhookConfig:
        """Registers an address for events; the service sends it a challenge at once (section 4.1).

        Raises WebhookRejected with its `reason` when the challenge fails, the address is registered already or the app
        has as many webhooks as it may; WebhookUrlRejected, which is an InvalidInput as well, for an address that is not
        https or has a port, whether that is found here or by the service.
        """
        try:
            return await self._session.call(routes.WEBHOOK_CREATE.at(), options=self._options, body={"url": url})
        except WebhookUrlRejected:
            raise
        except InvalidInput as refused:
            error = WebhookUrlRejected(refused=refused)
        raise error

    def list(self) -> Pager[WebhookConfig]:
        """The app's webhooks, valid or not (section 4.1)."""
        return self._session.pages(routes.WEBHOOKS.at(), options=self._options)

    async def validate(self, webhook_id: str | int) -> WebhookValidity:
        """Has the service send a new challenge, which makes the webhook valid again if it passes (section 4.1).

        Raises WebhookRejected with the reason CrcValidationFailed or WebhookIdInvalid.
        """
        return await self._session.call(routes.WEBHOOK_VALIDATE.at(webhook_id=webhook_id), options=self._options)

    async def delete(self, webhook_id: str | int) -> Deleted:
        """Removes a webhook (section 4.1). Raises WebhookRejected with the reason WebhookIdInvalid."""
        return await self._session.call(routes.WEBHOOK_DELETE.at(webhook_id=webhook_id), options=self._options)

    async def replay(self, **parameters: Any) -> Replay:
        """Has events delivered again (section 4.4). The parameters are not documented and are sent as they are."""
        return await self._session.call(
            routes.WEBHOOK_REPLAY.at(), options=self._options, body=ReplayRequest(extra=parameters)
        )
