"""An emulator of the service on localhost; see `Emulator`."""

from typing import TYPE_CHECKING

from socialapi.internal.lazy import on_first_use

if TYPE_CHECKING:
    from socialapi.emulator.faults import Fault as Fault
    from socialapi.emulator.faults import FaultKind as FaultKind
    from socialapi.emulator.faults import Faults as Faults
    from socialapi.emulator.faults import Picked as Picked
    from socialapi.emulator.ledger import RequestRecord as RequestRecord
    from socialapi.emulator.server import Emulator as Emulator
    from socialapi.emulator.state import State as State
    from socialapi.emulator.thread import EmulatorThread as EmulatorThread
    from socialapi.emulator.thread import ThreadFaults as ThreadFaults
else:
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
