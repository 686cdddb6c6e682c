"""An emulator of the service on localhost; see `Emulator`."""

from socialapi.emulator.server import Emulator

__all__ = ["Emulator"]
