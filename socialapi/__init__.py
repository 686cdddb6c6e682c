"""An async-first SDK for a social platform's core, advertising and catalog APIs, and an
emulator.
"""

from socialapi import errors as errors
from socialapi.lazy import on_first_use
from socialapi.version import __version__ as __version__

__getattr__, __dir__ = on_first_use(__name__)
