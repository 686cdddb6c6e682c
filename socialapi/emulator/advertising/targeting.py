"""Which campaigns target an audience (section 4.8), and who may target it."""

from socialapi.emulator.advertising.endpoint import account_of, serves
from socialapi.emulator.advertising.paging import collection
from socialapi.emulator.advertising.parameters import missing_record
from socialapi.emulator.advertising.records import Record
from socialapi.emulator.arguments import Arguments
from socialapi.emulator.call import Call
from socialapi.emulator.clock import timestamp
from socialapi.emulator.envelopes import Answer, Refusal
from socialapi.emulator.state import State
from socialapi.routes import ads as routes


@serves(routes.TARGETED)
async def list_targeting_campaigns(call: Call, arguments: Arguments) -> Answer:
    """The account's own campaigns with those of their line items that target the audience."""
    account_id, audience_id = account_of(call), call.path_parameters["custom_audience_id"]
    targeting = _targeting(call.state, account_id, audience_id)
    if not (may_target(call.state, account_id, audience_id) or targeting):
        raise missing_record("custom_audience_id")
    advertising = call.state.advertising
    campaigns, line_items = advertising.table(account_id, "campaigns"), advertising.table(account_id, "line_items")
    only_servable = arguments.query.get("with_active", True)
    by_campaign: dict[str, list[Record]] = {}
    for each in targeting:
        line_item = line_items.get(each["line_item_id"])
        campaign = campaigns.get(line_item["campaign_id"]) if line_item else None
        if line_item is None or campaign is None:
            continue
        servable = is_servable(line_item, campaign)
        if servable or not only_servable:
            shown = {"id": line_item["id"], "name": line_item["name"], "servable": servable}
            by_campaign.setdefault(campaign["id"], []).append(shown)

    def show(campaign: Record) -> Record:
        return {
            "campaign_id": campaign["id"],
            "campaign_name": campaign["name"],
            "line_items": by_campaign[campaign["id"]],
        }

    return collection(call, arguments, campaigns, where=lambda campaign: campaign["id"] in by_campaign, show=show)


def is_servable(line_item: Record, campaign: Record) -> bool:
    """Whether posts of the line item can be served: neither it nor its campaign is paused or deleted."""
    return all(each["entity_status"] == "ACTIVE" and not each["deleted"] for each in (line_item, campaign))


def owner_of(state: State, audience_id: str) -> str | None:
    """The account that an audience belongs to."""
    return next((account_id for account_id, each in state.audiences if each == audience_id), None)


def permissions(state: State, audience_id: str) -> list[Record]:
    """The permissions to use an audience that hold."""
    owner = owner_of(state, audience_id)
    if owner is None:
        return []
    table = state.advertising.table(owner, "audience_permissions")
    return [each for each in table.live() if each["tailored_audience_id"] == audience_id]


def may_target(state: State, account_id: str, audience_id: str) -> bool:
    """Whether an account may target an audience in new campaigns: its own, or one that it was granted."""
    granted = {each["granted_account_id"] for each in permissions(state, audience_id)}
    return account_id in granted or owner_of(state, audience_id) == account_id


def target(state: State, account_id: str, line_item_id: str, audience_id: str) -> None:
    """Has a line item target an audience. Its endpoint is not documented: this is for tests.

    Raises Refusal if the account may not.
    """
    if not may_target(state, account_id, audience_id):
        raise Refusal(403, "FORBIDDEN", "the account may not target this audience", parameter="custom_audience_id")
    now = timestamp(state.clock.now())
    state.advertising.table(account_id, "targeting_criteria").add(
        {
            "id": state.advertising.new_id(),
            "line_item_id": line_item_id,
            "custom_audience_id": audience_id,
            "created_at": now,
            "updated_at": now,
            "deleted": False,
        }
    )


def _targeting(state: State, account_id: str, audience_id: str) -> list[Record]:
    criteria = state.advertising.table(account_id, "targeting_criteria").live()
    return [each for each in criteria if each["custom_audience_id"] == audience_id]
