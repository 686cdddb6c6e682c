"""The groups of methods of a client, for annotations: `client.posts` is `Posts`. A client makes
them.
"""

from socialapi.internal.lazy import on_first_use

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
