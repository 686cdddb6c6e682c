"""What an object needs that takes the place of a journal file: the protocol `Journal`, and the
words in it.

report = await audience.upload("crm.csv", journal=MyJournal(…))
"""

from socialapi.internal.lazy import on_first_use

__getattr__, __dir__ = on_first_use(__name__)
