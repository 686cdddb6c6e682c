"""An emulator of the service on localhost; see `Emulator`."""

from socialapi.internal.lazy import on_first_use

__getattr__, __dir__, __all__ = on_first_use(
    __name__,
    {
        "socialapi.emulator.faults": "Fault FaultKind Faults Picked",
        "socialapi.emulator.ledger": "RequestRecord",
        "socialapi.emulator.server": "Emulator",
        "socialapi.emulator.state": "State",
        "socialapi.emulator.thread": "EmulatorThread ThreadFaults",
    },
)
