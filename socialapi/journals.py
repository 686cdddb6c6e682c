"""The protocol `Journal`, for objects that replace a journal file, and the types it uses.

report = await audience.upload("crm.csv", journal=MyJournal(…))
"""

from typing import TYPE_CHECKING

from socialapi.internal.lazy import on_first_use

if TYPE_CHECKING:
    from socialapi.bulk.journals.journal import JobIdentity as JobIdentity
    from socialapi.bulk.journals.journal import Journal as Journal
    from socialapi.bulk.journals.journal import Opened as Opened
    from socialapi.bulk.journals.journal import Outcome as Outcome
    from socialapi.bulk.journals.journal import RecordedBatch as RecordedBatch
    from socialapi.bulk.journals.journal import Setting as Setting
    from socialapi.bulk.journals.journal import State as State
else:
    __getattr__, __dir__, __all__ = on_first_use(
        __name__,
        {
            "socialapi.bulk.journals.journal": "JobIdentity Journal Opened Outcome RecordedBatch Setting State",
        },
    )
