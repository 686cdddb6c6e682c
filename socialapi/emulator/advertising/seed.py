"""Fills the advertising API with the seed data. Records are generated when they are first read."""

from functools import partial
from typing import Final

from socialapi.emulator.advertising import seed_accounts, seed_campaigns, seed_many
from socialapi.emulator.advertising.seed_accounts import BOOKS, FIRST, SECOND
from socialapi.emulator.advertising.seed_campaigns import seeded
from socialapi.emulator.advertising.state import Advertising, Record, Table

KINDS: Final = (
    *("campaign_ids", "line_item_ids"),
    *("curated_category_ids", "line_item_curated_category_ids", "account_app_ids"),
)

TARGETED: Final = ("1nmth", "1nmti")
"""Audiences of the first account that line items target, the first by more than 200 campaigns."""

_PROMOTED: Final = ("8xdpe", "8xdpf", "8xdph", "8xdpi")


def plant_advertising(advertising: Advertising) -> dict[str, list[str]]:
    """Fills what belongs to accounts and what all have in common; the ids of the first account's things by kind."""
    advertising.history.seeded = seeded
    advertising.business_categories = Table(seed_accounts.business_categories)
    advertising.curated_categories = Table(seed_accounts.curated_categories)
    for account_id in (SECOND, BOOKS):
        advertising.plant(account_id, "campaigns", partial(seed_campaigns.campaigns, account_id))
        advertising.plant(account_id, "line_items", partial(seed_campaigns.line_items, account_id))
    advertising.plant(FIRST, "account_apps", seed_accounts.apps)
    advertising.plant(FIRST, "campaigns", _campaigns)
    advertising.plant(FIRST, "line_items", _line_items)
    advertising.plant(FIRST, "promoted_tweets", _promoted_posts)
    advertising.plant(FIRST, "targeting_criteria", partial(seed_many.targeting, TARGETED))
    advertising.plant(FIRST, "line_item_curated_categories", seed_many.line_item_curated_categories)
    many = range(seed_many.MANY_CAMPAIGNS)
    return {
        "campaign_ids": seed_campaigns.campaign_ids(FIRST) + list(map(seed_many.campaign_id, many)),
        "line_item_ids": seed_campaigns.line_item_ids(FIRST) + [each for each, _ in seed_many.line_item_places()],
        "curated_category_ids": list(map(seed_accounts.curated_category_id, range(seed_accounts.CURATED_CATEGORIES))),
        "line_item_curated_category_ids": seed_many.line_item_curated_category_ids(),
        "account_app_ids": [app["id"] for app in seed_accounts.apps() if not app["deleted"]],
    }


def _campaigns() -> list[Record]:
    return [*seed_campaigns.campaigns(FIRST), *seed_many.many_campaigns()]


def _line_items() -> list[Record]:
    return [*seed_campaigns.line_items(FIRST), *seed_many.many_line_items()]


def _promoted_posts() -> list[Record]:
    """Two for each of some line items. No endpoint shows them; the ledger counts them."""
    return [
        {
            "id": f"pt{number:03}",
            "line_item_id": line_item_id,
            "tweet_id": str(1_988_000_000_000_000_000 + number),
            "created_at": "2024-09-02T08:00:00Z",
            "updated_at": "2024-09-02T08:00:00Z",
            "deleted": False,
        }
        for number, line_item_id in enumerate(_PROMOTED * 2)
    ]
