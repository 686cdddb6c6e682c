"""An async-first SDK for a social platform's core, advertising and catalog APIs, with an emulator of the service."""

from socialapi import errors
from socialapi.client import Client
from socialapi.config import Config
from socialapi.credentials import AppOnly, Bearer, OAuth1, OAuth2User
from socialapi.models.audiences import AudienceUser, Operation, OperationParams
from socialapi.models.fields import Fields
from socialapi.models.products import Product
from socialapi.reports import Progress, SyncReport, UploadReport, UpsertReport
from socialapi.session.token_cache import FileTokenCache, MemoryTokenCache
from socialapi.unset import UNSET
from socialapi.version import __version__

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
