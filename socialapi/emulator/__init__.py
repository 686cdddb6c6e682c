"""The service itself, in a small form, on localhost: see `Emulator`."""

from socialapi.emulator.server import Emulator

__all__ = ["Emulator"]
