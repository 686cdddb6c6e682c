"""The table of all endpoints. Importing a module of handlers registers them."""

from typing import Final

from socialapi.emulator import auth as tokens
from socialapi.emulator.advertising import accounts, audiences, categories, line_items
from socialapi.emulator.advertising import accounts as account_history
from socialapi.emulator.advertising import audiences as audience_permissions
from socialapi.emulator.advertising import insights as keyword_insights
from socialapi.emulator.advertising import line_items as targeting
from socialapi.emulator.catalogs import catalogs, products
from socialapi.emulator.catalogs import catalogs as product_sets
from socialapi.emulator.creatives import advertiser_posts, cards, conversation_cards, poll_cards
from socialapi.emulator.creatives import media as account_media
from socialapi.emulator.creatives import media as media_library
from socialapi.emulator.handlers import ENDPOINTS, Endpoint
from socialapi.emulator.oauth import authorize, three_legged
from socialapi.emulator.oauth import pkce as pkce_authorize
from socialapi.emulator.oauth import pkce as pkce_tokens
from socialapi.emulator.platform import activity, posts, stream_rules, streams, webhooks
from socialapi.emulator.platform import content as articles
from socialapi.emulator.platform import content as news
from socialapi.emulator.platform import content as notes
from socialapi.emulator.platform import posts as post_creation
from socialapi.emulator.platform import streams as connections
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
