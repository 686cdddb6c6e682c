"""Routes of media, cards and advertiser posts (creatives documentation, sections 4.1 to 4.5)."""

from typing import Final

from socialapi.models.cards import Card, CardChanges, CardDraft, CardsQuery
from socialapi.models.creatives import (
    AccountMedia,
    AccountMediaQuery,
    AdvertiserPost,
    AdvertiserPostDraft,
    AdvertiserPostName,
    LibraryMedia,
    LibraryMediaChanges,
    LibraryMediaDraft,
    MediaLibraryQuery,
    PollCard,
    PollCardDraft,
    PollCardsQuery,
    VideoConversationCard,
    VideoConversationCardChanges,
    VideoConversationCardDraft,
    VideoConversationCardsQuery,
)
from socialapi.models.pages import Page
from socialapi.models.queries import RecordQuery
from socialapi.routes.route import ADS, Route

# Account media (section 4.1)
ACCOUNT_MEDIA: Final = Route(
    "GET", ADS, "/12/accounts/{account_id}/account_media", Page[AccountMedia], query=AccountMediaQuery, section="4.1"
)
ACCOUNT_MEDIUM: Final = Route(
    "GET",
    ADS,
    "/12/accounts/{account_id}/account_media/{account_media_id}",
    AccountMedia,
    query=RecordQuery,
    section="4.1",
)
ACCOUNT_MEDIUM_DELETE: Final = Route(
    "DELETE", ADS, "/12/accounts/{account_id}/account_media/{account_media_id}", AccountMedia, section="4.1"
)

# Cards (section 4.2)
CARDS: Final = Route("GET", ADS, "/12/accounts/{account_id}/cards", Page[Card], query=CardsQuery, section="4.2")
CARD: Final = Route("GET", ADS, "/12/accounts/{account_id}/cards/{card_id}", Card, query=RecordQuery, section="4.2")
CARD_CREATE: Final = Route("POST", ADS, "/12/accounts/{account_id}/cards", Card, CardDraft, "json", section="4.2")
CARD_UPDATE: Final = Route(
    "PUT", ADS, "/12/accounts/{account_id}/cards/{card_id}", Card, CardChanges, "json", section="4.2"
)
IMAGE_CONVERSATION_CARD_DELETE: Final = Route(
    "DELETE", ADS, "/12/accounts/{account_id}/cards/image_conversation/{card_id}", Card, section="4.2"
)

# Media library (section 4.3)
MEDIA_LIBRARY: Final = Route(
    "GET", ADS, "/12/accounts/{account_id}/media_library", Page[LibraryMedia], query=MediaLibraryQuery, section="4.3"
)
LIBRARY_MEDIA: Final = Route(
    "GET", ADS, "/12/accounts/{account_id}/media_library/{media_key}", LibraryMedia, section="4.3"
)
LIBRARY_MEDIA_ADD: Final = Route(
    "POST", ADS, "/12/accounts/{account_id}/media_library", LibraryMedia, LibraryMediaDraft, section="4.3"
)
LIBRARY_MEDIA_UPDATE: Final = Route(
    "PUT", ADS, "/12/accounts/{account_id}/media_library/{media_key}", LibraryMedia, LibraryMediaChanges, section="4.3"
)
LIBRARY_MEDIA_DELETE: Final = Route(
    "DELETE", ADS, "/12/accounts/{account_id}/media_library/{media_key}", LibraryMedia, section="4.3"
)

# Poll cards (section 4.4)
POLL_CARDS: Final = Route(
    "GET", ADS, "/12/accounts/{account_id}/cards/poll", Page[PollCard], query=PollCardsQuery, section="4.4"
)
POLL_CARD: Final = Route(
    "GET", ADS, "/12/accounts/{account_id}/cards/poll/{card_id}", PollCard, query=RecordQuery, section="4.4"
)
POLL_CARD_CREATE: Final = Route(
    "POST", ADS, "/12/accounts/{account_id}/cards/poll", PollCard, PollCardDraft, section="4.4"
)

# Posts of advertisers and video conversation cards (section 4.5)
ADVERTISER_POST_CREATE: Final = Route(
    "POST", ADS, "/12/accounts/{account_id}/tweet", AdvertiserPost, AdvertiserPostDraft, section="4.5"
)
ADVERTISER_POST_RENAME: Final = Route(
    "PUT", ADS, "/12/accounts/{account_id}/tweets/{tweet_id}/name", AdvertiserPost, AdvertiserPostName, section="4.5"
)
VIDEO_CONVERSATION_CARDS: Final = Route(
    "GET",
    ADS,
    "/12/accounts/{account_id}/cards/video_conversation",
    Page[VideoConversationCard],
    query=VideoConversationCardsQuery,
    section="4.5",
)
VIDEO_CONVERSATION_CARD: Final = Route(
    "GET",
    ADS,
    "/12/accounts/{account_id}/cards/video_conversation/{card_id}",
    VideoConversationCard,
    query=RecordQuery,
    section="4.5",
)
VIDEO_CONVERSATION_CARD_CREATE: Final = Route(
    "POST",
    ADS,
    "/12/accounts/{account_id}/cards/video_conversation",
    VideoConversationCard,
    VideoConversationCardDraft,
    section="4.5",
)
VIDEO_CONVERSATION_CARD_UPDATE: Final = Route(
    "PUT",
    ADS,
    "/12/accounts/{account_id}/cards/video_conversation/{card_id}",
    VideoConversationCard,
    VideoConversationCardChanges,
    section="4.5",
)
