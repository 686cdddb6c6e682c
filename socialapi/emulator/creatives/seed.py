"""Fills the first account with the creatives of the seed data, generated when they are
first read.
"""

from typing import Final

from socialapi.emulator.advertising.seed_accounts import FIRST
from socialapi.emulator.advertising.state import Advertising, Table
from socialapi.emulator.creatives import seed_cards, seed_media
from socialapi.emulator.creatives.state import ACCOUNT_MEDIA, CARDS, CONVERSATIONS, LIBRARY, POLLS

KINDS: Final = (
    *("video_media_keys", "uploaded_media_keys", "account_media_ids"),
    *("card_ids", "poll_card_ids", "video_conversation_card_ids"),
)


def plant_creatives(advertising: Advertising) -> dict[str, list[str]]:
    """Fills the library, the account media and the cards of the first account; the ids by kind."""
    advertising.uploads = Table(seed_media.uploads)
    advertising.plant(FIRST, LIBRARY, seed_media.library)
    advertising.plant(FIRST, ACCOUNT_MEDIA, seed_media.account_media)
    advertising.plant(FIRST, CARDS, seed_cards.cards)
    advertising.plant(FIRST, POLLS, seed_cards.poll_cards)
    advertising.plant(FIRST, CONVERSATIONS, seed_cards.conversation_cards)
    return {
        "video_media_keys": list(seed_media.VIDEOS),
        "uploaded_media_keys": list(seed_media.UPLOADED),
        "account_media_ids": seed_media.account_media_ids(),
        "card_ids": seed_cards.card_ids(),
        "poll_card_ids": seed_cards.poll_card_ids(),
        "video_conversation_card_ids": seed_cards.conversation_card_ids(),
    }
