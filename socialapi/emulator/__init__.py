"""An emulator of the service on localhost; see `Emulator`."""

from socialapi.internal.lazy import on_first_use

__getattr__, __dir__ = on_first_use(__name__)
