# The public names of `socialapi.emulator` for type checkers and editors: those of `__init__.py`, which Python reads.

from socialapi.emulator.faults import Fault as Fault
from socialapi.emulator.faults import FaultKind as FaultKind
from socialapi.emulator.faults import Faults as Faults
from socialapi.emulator.faults import Picked as Picked
from socialapi.emulator.ledger import RequestRecord as RequestRecord
from socialapi.emulator.server import Emulator as Emulator
from socialapi.emulator.state import State as State
from socialapi.emulator.thread import EmulatorThread as EmulatorThread
from socialapi.emulator.thread import ThreadFaults as ThreadFaults
