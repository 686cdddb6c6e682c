"""Routes of product catalogs, products and product sets."""

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

# Catalogs
CATALOGS: Final = Route("GET", ADS, "/12/product_catalogs", Page[ProductCatalog], query=CatalogsQuery)
CATALOG_CREATE: Final = Route("POST", ADS, "/12/product_catalogs", ProductCatalog, CatalogFields)
CATALOG_RENAME: Final = Route("PUT", ADS, "/12/product_catalogs/{product_catalog_id}", ProductCatalog, CatalogName)
CATALOG_DELETE: Final = Route("DELETE", ADS, "/12/product_catalogs/{product_catalog_id}", ProductCatalog)

# Products
PRODUCTS: Final = Route(
    "GET", ADS, "/12/product_catalogs/{product_catalog_id}/products", Page[StoredProduct], query=ProductsQuery
)
PRODUCTS_PUT: Final = Route(
    "PUT",
    ADS,
    "/12/product_catalogs/{product_catalog_id}/products",
    ProductResults,
    ProductsBody,
    "json",
    retry_undecodable=True,
)
PRODUCTS_DELETE: Final = Route(
    "DELETE", ADS, "/12/product_catalogs/{product_catalog_id}/products", ProductDeletions, ProductKeys, "json"
)

# Product sets
PRODUCT_SET: Final = Route(
    "GET", ADS, "/12/product_catalogs/{product_catalog_id}/product_sets/{product_set_id}", ProductSet
)
PRODUCT_SET_CREATE: Final = Route(
    "POST", ADS, "/12/product_catalogs/{product_catalog_id}/product_sets", ProductSet, ProductSetDraft, "json"
)
