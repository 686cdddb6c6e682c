"""An async-first SDK for a social platform's core, advertising and catalog APIs, and an
emulator.
"""

from socialapi import errors as errors
from socialapi.internal.lazy import on_first_use
from socialapi.version import __version__ as __version__

__getattr__, __dir__, __all__ = on_first_use(
    __name__,
    {
        "socialapi": "errors",
        "socialapi.bulk.journals.journal": "Journal",
        "socialapi.client": "Client",
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
        "socialapi.streams.stream": "Stream",
        "socialapi.version": "__version__",
        "socialapi.wire.response": "Reply",
    },
)
