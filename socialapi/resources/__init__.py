"""The groups of methods of a client, for annotations: `client.posts` is `Posts`. A client creates them."""

from typing import TYPE_CHECKING

from socialapi.internal.lazy import on_first_use

if TYPE_CHECKING:
    from socialapi.resources.ads import AccountResource as AccountResource
    from socialapi.resources.ads import Accounts as Accounts
    from socialapi.resources.ads import Ads as Ads
    from socialapi.resources.ads import Sandbox as Sandbox
    from socialapi.resources.audiences import AudiencePermissions as AudiencePermissions
    from socialapi.resources.audiences import CustomAudience as CustomAudience
    from socialapi.resources.audiences import DoNotReachListResource as DoNotReachListResource
    from socialapi.resources.audiences import TailoredAudience as TailoredAudience
    from socialapi.resources.catalogs import Catalog as Catalog
    from socialapi.resources.catalogs import Catalogs as Catalogs
    from socialapi.resources.catalogs import ProductSets as ProductSets
    from socialapi.resources.content import Articles as Articles
    from socialapi.resources.content import News as News
    from socialapi.resources.content import Notes as Notes
    from socialapi.resources.content import Powerstream as Powerstream
    from socialapi.resources.creatives import AccountMediaResource as AccountMediaResource
    from socialapi.resources.creatives import AdvertiserPosts as AdvertiserPosts
    from socialapi.resources.creatives import Cards as Cards
    from socialapi.resources.creatives import MediaLibrary as MediaLibrary
    from socialapi.resources.creatives import PollCards as PollCards
    from socialapi.resources.creatives import VideoConversationCards as VideoConversationCards
    from socialapi.resources.line_items import CuratedCategories as CuratedCategories
    from socialapi.resources.line_items import LineItemCuratedCategories as LineItemCuratedCategories
    from socialapi.resources.line_items import LineItems as LineItems
    from socialapi.resources.oauth import OAuth as OAuth
    from socialapi.resources.posts import Posts as Posts
    from socialapi.resources.products import Products as Products
    from socialapi.resources.streams import Activity as Activity
    from socialapi.resources.streams import Connections as Connections
    from socialapi.resources.streams import FilteredStream as FilteredStream
    from socialapi.resources.webhooks import Webhooks as Webhooks
else:
    __getattr__, __dir__, __all__ = on_first_use(
        __name__,
        {
            "socialapi.resources.ads": "AccountResource Accounts Ads Sandbox",
            "socialapi.resources.audiences": "AudiencePermissions CustomAudience DoNotReachListResource TailoredAudience",
            "socialapi.resources.catalogs": "Catalog Catalogs ProductSets",
            "socialapi.resources.content": "Articles News Notes Powerstream",
            "socialapi.resources.creatives": (
                "AccountMediaResource AdvertiserPosts Cards MediaLibrary PollCards VideoConversationCards"
            ),
            "socialapi.resources.line_items": "CuratedCategories LineItemCuratedCategories LineItems",
            "socialapi.resources.oauth": "OAuth",
            "socialapi.resources.posts": "Posts",
            "socialapi.resources.products": "Products",
            "socialapi.resources.streams": "Activity Connections FilteredStream",
            "socialapi.resources.webhooks": "Webhooks",
        },
    )
