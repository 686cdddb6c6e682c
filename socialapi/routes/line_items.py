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

# Categories (sections 4.3 and 4.5)
BUSINESS_CATEGORIES: Final = Route(
    "GET", ADS, "/12/advertiser_business_categories", Page[BusinessCategory], section="4.3"
)
CURATED_CATEGORIES: Final = Route(
    "GET",
    ADS,
    "/12/accounts/{account_id}/curated_categories",
    Page[CuratedCategory],
    query=CuratedCategoriesQuery,
    section="4.3",
)
CURATED_CATEGORY: Final = Route(
    "GET", ADS, "/12/accounts/{account_id}/curated_categories/{curated_category_id}", CuratedCategory, section="4.3"
)
LINE_ITEM_CURATED_CATEGORIES: Final = Route(
    "GET",
    ADS,
    "/12/accounts/{account_id}/line_item_curated_categories",
    Page[LineItemCuratedCategory],
    query=LineItemCuratedCategoriesQuery,
    section="4.5",
)
LINE_ITEM_CURATED_CATEGORY: Final = Route(
    "GET",
    ADS,
    "/12/accounts/{account_id}/line_item_curated_categories/{line_item_curated_category_id}",
    LineItemCuratedCategory,
    query=RecordQuery,
    section="4.5",
)
LINE_ITEM_CURATED_CATEGORY_CREATE: Final = Route(
    "POST",
    ADS,
    "/12/accounts/{account_id}/line_item_curated_categories",
    LineItemCuratedCategory,
    LineItemCuratedCategoryDraft,
    section="4.5",
)
LINE_ITEM_CURATED_CATEGORY_UPDATE: Final = Route(
    "PUT",
    ADS,
    "/12/accounts/{account_id}/line_item_curated_categories/{line_item_curated_category_id}",
    LineItemCuratedCategory,
    LineItemCuratedCategoryChanges,
    section="4.5",
)
LINE_ITEM_CURATED_CATEGORY_DELETE: Final = Route(
    "DELETE",
    ADS,
    "/12/accounts/{account_id}/line_item_curated_categories/{line_item_curated_category_id}",
    LineItemCuratedCategory,
    section="4.5",
)

# Line items (section 4.4)
LINE_ITEM_UPDATE: Final = Route(
    "PUT", ADS, "/12/accounts/{account_id}/line_items/{line_item_id}", LineItem, LineItemUpdate, section="4.4"
)
LINE_ITEM_DELETE: Final = Route(
    "DELETE", ADS, "/12/accounts/{account_id}/line_items/{line_item_id}", LineItem, section="4.4"
)

# Keyword insights (section 4.6)
KEYWORD_INSIGHTS: Final = Route(
    "GET", ADS, "/12/insights/keywords/search", KeywordInsights, query=KeywordInsightsQuery, section="4.6"
)
