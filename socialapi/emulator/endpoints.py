"""All endpoints of the service. Importing a module of handlers registers them; the table is built once."""

from typing import Final

from socialapi.emulator import audiences, tokens
from socialapi.emulator.advertising import (
    account_history,
    accounts,
    audience_permissions,
    categories,
    keyword_insights,
    line_items,
    targeting,
)
from socialapi.emulator.call import ENDPOINTS, Endpoint
from socialapi.emulator.catalogs import catalogs, product_sets, products
from socialapi.emulator.creatives import (
    account_media,
    advertiser_posts,
    cards,
    conversation_cards,
    media_library,
    poll_cards,
)
from socialapi.emulator.oauth import authorize, pkce_authorize, pkce_tokens, three_legged
from socialapi.emulator.platform import (
    activity,
    articles,
    connections,
    news,
    notes,
    post_creation,
    posts,
    stream_rules,
    streams,
    webhooks,
)
from socialapi.emulator.routing import PathTable, mounted_path

AREAS: Final = (
    *(audiences, tokens),
    *(accounts, account_history, categories, line_items, keyword_insights, audience_permissions, targeting),
    *(account_media, cards, media_library, poll_cards, conversation_cards, advertiser_posts),
    *(catalogs, products, product_sets),
    *(three_legged, authorize, pkce_authorize, pkce_tokens),
    *(posts, post_creation, webhooks, stream_rules, streams, connections, articles, news, notes, activity),
)
"""The modules whose handlers are served."""

ENDPOINT_TABLE: Final[PathTable[Endpoint]] = PathTable(
    (endpoint.route.method, mounted_path(endpoint.route), endpoint) for endpoint in ENDPOINTS
)
