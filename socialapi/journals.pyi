# The public names of `socialapi.journals` for type checkers and editors: those of `journals.py`, which Python reads.

from socialapi.bulk.journals.journal import JobIdentity as JobIdentity
from socialapi.bulk.journals.journal import Journal as Journal
from socialapi.bulk.journals.journal import Opened as Opened
from socialapi.bulk.journals.journal import Outcome as Outcome
from socialapi.bulk.journals.journal import RecordedBatch as RecordedBatch
from socialapi.bulk.journals.journal import Setting as Setting
from socialapi.bulk.journals.journal import State as State
