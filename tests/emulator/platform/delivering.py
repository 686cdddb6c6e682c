"""What tests of deliveries have in common: events, a webhook, and what was counted."""

from typing import Any

from tests.emulator.asking import Asker
from tests.emulator.platform.receiving import Owner, create_webhook

EVENT = {"event_type": "profile.update.bio", "user_id": "783214001"}


def events(count: int) -> dict[str, Any]:
    return {"events": [{**EVENT, "event_id": str(number)} for number in range(count)]}


def ids(owner: Owner) -> list[str]:
    return [event["data"]["event_id"] for event in owner.events]


async def webhook(ask: Asker, *, link: str | None = None) -> str:
    """The id of a new webhook; linked to the filtered stream with a query, if one is given."""
    reply = await create_webhook(ask)
    assert reply.status == 200, reply.text
    webhook_id: str = reply.data["id"]
    if link is not None:
        assert (await ask.bearer("POST", f"/2/tweets/search/webhooks/{webhook_id}{link}")).status == 200
    return webhook_id


def outcomes(ask: Asker) -> list[tuple[int, int, dict[str, int]]]:
    return [
        (each["delivered"], each["failed"], each["statuses"]) for each in ask.emulator.ledger()["deliveries"].values()
    ]
