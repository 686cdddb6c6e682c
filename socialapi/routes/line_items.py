"""Routes of the advertising API: line items, categories and keyword insights."""

from typing import Final

from socialapi.models.insights import KeywordInsights, KeywordInsightsQuery
from socialapi.models.line_items import (
    BusinessCategory,
    CuratedCategoriesQuery,
    CuratedCategory,
    LineItem,
    LineItemCuratedCategoriesQuery,
    LineItemCuratedCategory,
    LineItemCuratedCategoryChanges,
    LineItemCuratedCategoryDraft,
    LineItemUpdate,
)
from socialapi.models.pages import Page
from socialapi.models.queries import RecordQuery
from socialapi.routes.route import ADS, Route

# Categories
BUSINESS_CATEGORIES: Final = Route("GET", ADS, "/12/advertiser_business_categories", Page[BusinessCategory])
CURATED_CATEGORIES: Final = Route(
    "GET", ADS, "/12/accounts/{account_id}/curated_categories", Page[CuratedCategory], query=CuratedCategoriesQuery
)
CURATED_CATEGORY: Final = Route(
    "GET", ADS, "/12/accounts/{account_id}/curated_categories/{curated_category_id}", CuratedCategory
)
LINE_ITEM_CURATED_CATEGORIES: Final = Route(
    "GET",
    ADS,
    "/12/accounts/{account_id}/line_item_curated_categories",
    Page[LineItemCuratedCategory],
    query=LineItemCuratedCategoriesQuery,
)
LINE_ITEM_CURATED_CATEGORY: Final = Route(
    "GET",
    ADS,
    "/12/accounts/{account_id}/line_item_curated_categories/{line_item_curated_category_id}",
    LineItemCuratedCategory,
    query=RecordQuery,
)
LINE_ITEM_CURATED_CATEGORY_CREATE: Final = Route(
    "POST",
    ADS,
    "/12/accounts/{account_id}/line_item_curated_categories",
    LineItemCuratedCategory,
    LineItemCuratedCategoryDraft,
)
LINE_ITEM_CURATED_CATEGORY_UPDATE: Final = Route(
    "PUT",
    ADS,
    "/12/accounts/{account_id}/line_item_curated_categories/{line_item_curated_category_id}",
    LineItemCuratedCategory,
    LineItemCuratedCategoryChanges,
)
LINE_ITEM_CURATED_CATEGORY_DELETE: Final = Route(
    "DELETE",
    ADS,
    "/12/accounts/{account_id}/line_item_curated_categories/{line_item_curated_category_id}",
    LineItemCuratedCategory,
)

# Line items
LINE_ITEM_UPDATE: Final = Route(
    "PUT", ADS, "/12/accounts/{account_id}/line_items/{line_item_id}", LineItem, LineItemUpdate
)
LINE_ITEM_DELETE: Final = Route("DELETE", ADS, "/12/accounts/{account_id}/line_items/{line_item_id}", LineItem)

# Keyword insights
KEYWORD_INSIGHTS: Final = Route("GET", ADS, "/12/insights/keywords/search", KeywordInsights, query=KeywordInsightsQuery)
