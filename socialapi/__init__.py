"""An async-first SDK for a social platform's core, advertising and catalog APIs, and an
emulator.
"""

from socialapi import errors as errors
from socialapi.internal.lazy import on_first_use, provide
from socialapi.version import __version__ as __version__

__getattr__, __dir__ = on_first_use(__name__)


def _export() -> object:
    from socialapi.wire import export

    return export


def _tables() -> object:
    from socialapi.integrations import arrow

    return arrow


provide("export", _export)
provide("tables", _tables)
