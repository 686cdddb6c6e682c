"""An async-first SDK for a social platform's core, advertising and catalog APIs, and an emulator."""

from typing import TYPE_CHECKING

from socialapi import errors as errors
from socialapi.internal.lazy import on_first_use
from socialapi.version import __version__ as __version__

if TYPE_CHECKING:
    from socialapi.bulk.journals.journal import Journal as Journal
    from socialapi.client import Client as Client
    from socialapi.config import Config as Config
    from socialapi.credentials import AppOnly as AppOnly
    from socialapi.credentials import Bearer as Bearer
    from socialapi.credentials import Credentials as Credentials
    from socialapi.credentials import OAuth1 as OAuth1
    from socialapi.credentials import OAuth2User as OAuth2User
    from socialapi.internal.unset import UNSET as UNSET
    from socialapi.models.audiences import AudienceUser as AudienceUser
    from socialapi.models.audiences import Operation as Operation
    from socialapi.models.audiences import OperationParams as OperationParams
    from socialapi.models.pages import Page as Page
    from socialapi.models.products import Product as Product
    from socialapi.models.queries import Fields as Fields
    from socialapi.reports import Progress as Progress
    from socialapi.reports import SyncReport as SyncReport
    from socialapi.reports import UploadReport as UploadReport
    from socialapi.reports import UpsertReport as UpsertReport
    from socialapi.session.clock import Clock as Clock
    from socialapi.session.pager import Pager as Pager
    from socialapi.session.rate_limiter import LimitStatus as LimitStatus
    from socialapi.session.rate_limiter import Pacer as Pacer
    from socialapi.session.rate_limiter import SlidingWindowPacer as SlidingWindowPacer
    from socialapi.session.rate_limiter import Slot as Slot
    from socialapi.session.token_cache import FileTokenCache as FileTokenCache
    from socialapi.session.token_cache import MemoryTokenCache as MemoryTokenCache
    from socialapi.session.token_cache import TokenCache as TokenCache
    from socialapi.session.usage import Usage as Usage
    from socialapi.streams.stream import Stream as Stream
    from socialapi.wire.response import Reply as Reply
else:
    __getattr__, __dir__, __all__ = on_first_use(
        __name__,
        {
            "socialapi": "errors",
            "socialapi.bulk.journals.journal": "Journal",
            # Imports aiohttp as well, so that the first call does not block the event loop while importing it.
            "aiohttp socialapi.client": "Client",
            "socialapi.config": "Config",
            "socialapi.credentials": "AppOnly Bearer Credentials OAuth1 OAuth2User",
            "socialapi.internal.unset": "UNSET",
            "socialapi.models.audiences": "AudienceUser Operation OperationParams",
            "socialapi.models.pages": "Page",
            "socialapi.models.products": "Product",
            "socialapi.models.queries": "Fields",
            "socialapi.reports": "Progress SyncReport UploadReport UpsertReport",
            "socialapi.session.clock": "Clock",
            "socialapi.session.pager": "Pager",
            "socialapi.session.rate_limiter": "LimitStatus Pacer SlidingWindowPacer Slot",
            "socialapi.session.token_cache": "FileTokenCache MemoryTokenCache TokenCache",
            "socialapi.session.usage": "Usage",
            "socialapi.streams.stream": "Stream",
            "socialapi.version": "__version__",
            "socialapi.wire.response": "Reply",
        },
    )
