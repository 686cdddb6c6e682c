"""Routes of media, cards and advertiser posts."""

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

# Account media
ACCOUNT_MEDIA: Final = Route(
    "GET", ADS, "/12/accounts/{account_id}/account_media", Page[AccountMedia], query=AccountMediaQuery
)
ACCOUNT_MEDIUM: Final = Route(
    "GET", ADS, "/12/accounts/{account_id}/account_media/{account_media_id}", AccountMedia, query=RecordQuery
)
ACCOUNT_MEDIUM_DELETE: Final = Route(
    "DELETE", ADS, "/12/accounts/{account_id}/account_media/{account_media_id}", AccountMedia
)

# Cards
CARDS: Final = Route("GET", ADS, "/12/accounts/{account_id}/cards", Page[Card], query=CardsQuery)
CARD: Final = Route("GET", ADS, "/12/accounts/{account_id}/cards/{card_id}", Card, query=RecordQuery)
CARD_CREATE: Final = Route("POST", ADS, "/12/accounts/{account_id}/cards", Card, CardDraft, "json")
CARD_UPDATE: Final = Route("PUT", ADS, "/12/accounts/{account_id}/cards/{card_id}", Card, CardChanges, "json")
IMAGE_CONVERSATION_CARD_DELETE: Final = Route(
    "DELETE", ADS, "/12/accounts/{account_id}/cards/image_conversation/{card_id}", Card
)

# Media library
MEDIA_LIBRARY: Final = Route(
    "GET", ADS, "/12/accounts/{account_id}/media_library", Page[LibraryMedia], query=MediaLibraryQuery
)
LIBRARY_MEDIA: Final = Route("GET", ADS, "/12/accounts/{account_id}/media_library/{media_key}", LibraryMedia)
LIBRARY_MEDIA_ADD: Final = Route(
    "POST", ADS, "/12/accounts/{account_id}/media_library", LibraryMedia, LibraryMediaDraft
)
LIBRARY_MEDIA_UPDATE: Final = Route(
    "PUT", ADS, "/12/accounts/{account_id}/media_library/{media_key}", LibraryMedia, LibraryMediaChanges
)
LIBRARY_MEDIA_DELETE: Final = Route("DELETE", ADS, "/12/accounts/{account_id}/media_library/{media_key}", LibraryMedia)

# Poll cards
POLL_CARDS: Final = Route("GET", ADS, "/12/accounts/{account_id}/cards/poll", Page[PollCard], query=PollCardsQuery)
POLL_CARD: Final = Route("GET", ADS, "/12/accounts/{account_id}/cards/poll/{card_id}", PollCard, query=RecordQuery)
POLL_CARD_CREATE: Final = Route("POST", ADS, "/12/accounts/{account_id}/cards/poll", PollCard, PollCardDraft)

# Posts of advertisers and video conversation cards
ADVERTISER_POST_CREATE: Final = Route(
    "POST", ADS, "/12/accounts/{account_id}/tweet", AdvertiserPost, AdvertiserPostDraft
)
ADVERTISER_POST_RENAME: Final = Route(
    "PUT", ADS, "/12/accounts/{account_id}/tweets/{tweet_id}/name", AdvertiserPost, AdvertiserPostName
)
VIDEO_CONVERSATION_CARDS: Final = Route(
    "GET",
    ADS,
    "/12/accounts/{account_id}/cards/video_conversation",
    Page[VideoConversationCard],
    query=VideoConversationCardsQuery,
)
VIDEO_CONVERSATION_CARD: Final = Route(
    "GET", ADS, "/12/accounts/{account_id}/cards/video_conversation/{card_id}", VideoConversationCard, query=RecordQuery
)
VIDEO_CONVERSATION_CARD_CREATE: Final = Route(
    "POST", ADS, "/12/accounts/{account_id}/cards/video_conversation", VideoConversationCard, VideoConversationCardDraft
)
VIDEO_CONVERSATION_CARD_UPDATE: Final = Route(
    "PUT",
    ADS,
    "/12/accounts/{account_id}/cards/video_conversation/{card_id}",
    VideoConversationCard,
    VideoConversationCardChanges,
)
