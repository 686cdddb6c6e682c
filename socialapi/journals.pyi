# The public names of `socialapi.journals`, and the only list of them: Python reads it as well, see `socialapi/internal/lazy.py`.

from socialapi.bulk.journals.journal import JobIdentity as JobIdentity
from socialapi.bulk.journals.journal import Journal as Journal
from socialapi.bulk.journals.journal import Opened as Opened
from socialapi.bulk.journals.journal import Outcome as Outcome
from socialapi.bulk.journals.journal import RecordedBatch as RecordedBatch
from socialapi.bulk.journals.journal import Setting as Setting
from socialapi.bulk.journals.journal import State as State
