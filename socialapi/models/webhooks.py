"""Webhook configurations and stream links."""

import datetime
from typing import Annotated, Final, Literal, TypedDict, get_args

import attrs

from socialapi.internal.records import Record
from socialapi.models.model import Model
from socialapi.models.validation import IsId, Pattern
from socialapi.problems import Problem, ServiceError

WebhookId = Annotated[str, IsId(), Pattern("[0-9]{1,19}", "must be 1 to 19 digits")]
WebhookUrl = Annotated[
    str,
    Pattern(
        r"[Hh][Tt][Tt][Pp][Ss]://(?:[^\s/:@?#\\\[\]]+|\[[0-9A-Fa-f:.]+\])(?:[/?][^\s#]*)?",
        "must be a public https URL without a port number",
    ),
]


@attrs.define(kw_only=True)
class WebhookDraft(Record):
    """A webhook to register. The service immediately sends a challenge to its URL."""

    url: WebhookUrl


@attrs.define(kw_only=True)
class WebhookConfig(Model):
    """A registered webhook. Events are delivered while it is `valid`."""

    id: str
    url: str | None = None
    valid: bool | None = None
    created_at: datetime.datetime | None = None


@attrs.define(kw_only=True)
class WebhookValidity(Model):
    """Whether the webhook passed a new challenge."""

    valid: bool | None = None


@attrs.define(kw_only=True)
class Deleted(Model):
    """Whether the webhook was deleted."""

    deleted: bool | None = None


@attrs.define(kw_only=True)
class StreamLink(Model):
    """The link between the app's filtered stream and a webhook."""

    provisioned: bool | None = None

    @property
    def errors(self) -> tuple[Problem | ServiceError, ...]:
        """The problems in the response; the same as `partial_errors`."""
        return self.partial_errors


WebhookConfigField = Literal["created_at", "id", "url", "valid"]

WebhooksQuery = TypedDict("WebhooksQuery", {"webhook_config.fields": tuple[str, ...]}, total=False)
"""Parameters for listing webhooks: the fields to return. Only published fields are listed."""

WebhookFailure = Literal[
    "CrcValidationFailed", "UrlValidationFailed", "DuplicateUrlFailed", "WebhookLimitExceeded", "WebhookIdInvalid"
]
"""Why a webhook operation failed."""

WEBHOOK_FAILURES: Final[tuple[WebhookFailure, ...]] = get_args(WebhookFailure)
