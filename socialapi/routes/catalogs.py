"""Routes of product catalogs, products and product sets (catalogs documentation, sections 4.6 to 4.8)."""

from typing import Final

from socialapi.models.catalogs import (
    CatalogFields,
    CatalogName,
    CatalogsQuery,
    ProductCatalog,
    ProductSet,
    ProductSetDraft,
)
from socialapi.models.pages import Page
from socialapi.models.products import (
    ProductDeletions,
    ProductKeys,
    ProductResults,
    ProductsBody,
    ProductsQuery,
    StoredProduct,
)
from socialapi.routes.route import ADS, Route

# Catalogs (section 4.6)
CATALOGS: Final = Route("GET", ADS, "/12/product_catalogs", Page[ProductCatalog], query=CatalogsQuery, section="4.6")
CATALOG_CREATE: Final = Route("POST", ADS, "/12/product_catalogs", ProductCatalog, CatalogFields, section="4.6")
CATALOG_RENAME: Final = Route(
    "PUT", ADS, "/12/product_catalogs/{product_catalog_id}", ProductCatalog, CatalogName, section="4.6"
)
CATALOG_DELETE: Final = Route("DELETE", ADS, "/12/product_catalogs/{product_catalog_id}", ProductCatalog, section="4.6")

# Products (section 4.7)
PRODUCTS: Final = Route(
    "GET",
    ADS,
    "/12/product_catalogs/{product_catalog_id}/products",
    Page[StoredProduct],
    query=ProductsQuery,
    section="4.7",
)
PRODUCTS_PUT: Final = Route(
    "PUT",
    ADS,
    "/12/product_catalogs/{product_catalog_id}/products",
    ProductResults,
    ProductsBody,
    "json",
    retry_undecodable=True,
    section="4.7",
)
PRODUCTS_DELETE: Final = Route(
    "DELETE",
    ADS,
    "/12/product_catalogs/{product_catalog_id}/products",
    ProductDeletions,
    ProductKeys,
    "json",
    section="4.7",
)

# Product sets (section 4.8)
PRODUCT_SET: Final = Route(
    "GET", ADS, "/12/product_catalogs/{product_catalog_id}/product_sets/{product_set_id}", ProductSet, section="4.8"
)
PRODUCT_SET_CREATE: Final = Route(
    "POST",
    ADS,
    "/12/product_catalogs/{product_catalog_id}/product_sets",
    ProductSet,
    ProductSetDraft,
    "json",
    section="4.8",
)
