"""An async-first SDK for a social platform's core, advertising and catalog APIs, and an
emulator.
"""

from typing import TYPE_CHECKING

from socialapi import errors
from socialapi.lazy import on_first_use
from socialapi.version import __version__

if TYPE_CHECKING:
    from socialapi.client import Client
    from socialapi.config import Config
    from socialapi.credentials import AppOnly, Bearer, OAuth1, OAuth2User
    from socialapi.models.audiences import AudienceUser, Operation, OperationParams
    from socialapi.models.products import Product
    from socialapi.models.queries import Fields
    from socialapi.reports import Progress, SyncReport, UploadReport, UpsertReport
    from socialapi.session.token_cache import FileTokenCache, MemoryTokenCache
    from socialapi.unset import UNSET
else:
    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "socialapi.client": "Client",
            "socialapi.config": "Config",
            "socialapi.credentials": "AppOnly Bearer OAuth1 OAuth2User",
            "socialapi.models.audiences": "AudienceUser Operation OperationParams",
            "socialapi.models.products": "Product",
            "socialapi.models.queries": "Fields",
            "socialapi.reports": "Progress SyncReport UploadReport UpsertReport",
            "socialapi.session.token_cache": "FileTokenCache MemoryTokenCache",
            "socialapi.unset": "UNSET",
        },
    )

__all__ = [
    "UNSET",
    "AppOnly",
    "AudienceUser",
    "Bearer",
    "Client",
    "Config",
    "Fields",
    "FileTokenCache",
    "MemoryTokenCache",
    "OAuth1",
    "OAuth2User",
    "Operation",
    "OperationParams",
    "Product",
    "Progress",
    "SyncReport",
    "UploadReport",
    "UpsertReport",
    "__version__",
    "errors",
]
