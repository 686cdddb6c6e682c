"""What an object needs that takes the place of a journal file: the protocol `Journal`, and the
words in it.

report = await audience.upload("crm.csv", journal=MyJournal(…))
"""

from socialapi.internal.lazy import on_first_use

__getattr__, __dir__, __all__ = on_first_use(
    __name__,
    {
        "socialapi.bulk.journals.journal": "JobIdentity Journal Opened Outcome RecordedBatch Setting State",
    },
)
