"""What the caller of any job can ask for, and what of a call's options holds for its requests."""

import inspect
import os
from collections.abc import Callable, Sequence
from typing import Final, Literal

import attrs

from socialapi.bulk.journals.journal import Journal
from socialapi.bulk.rejects import is_rejects_file, same_file
from socialapi.errors import InvalidInput
from socialapi.file_lock import SUFFIX
from socialapi.reports import Progress
from socialapi.session.session import CallOptions, Session
from socialapi.wire.retry import RetryPolicy

OnProgress = Callable[[Progress], None]

MIN_ATTEMPTS: Final = 12


@attrs.frozen(kw_only=True)
class JobOptions:
    """What the caller of any job can ask for; checked before the job opens anything."""

    concurrency: int | Literal["auto"] = "auto"
    journal: str | os.PathLike[str] | Journal | None = None
    rejects: str | os.PathLike[str] | None = None
    dry_run: bool = False
    on_progress: OnProgress | None = None
    max_reject_share: float | None = None
    """Largest share of the rows read that may be rejected."""
    allow_empty: bool = True
    """Whether an input without rows gives an empty report, rather than InvalidInput."""

    @property
    def why_not_empty(self) -> str | None:
        """Why the job never takes an input without rows, whatever is allowed; None if it may."""
        return None

    @property
    def journal_path(self) -> str | os.PathLike[str] | None:
        """The file of the journal, where it is one."""
        given = getattr(self.journal, "path", None) if isinstance(self.journal, Journal) else self.journal
        return given if isinstance(given, str | os.PathLike) else None

    @property
    def databases(self) -> Sequence[str | os.PathLike[str]]:
        """The SQLite files that such a job writes."""
        return [] if self.journal_path is None else [self.journal_path]

    @property
    def own_files(self) -> Sequence[str | os.PathLike[str]]:
        """The files that such a job writes: an export in the place of the rejects file is none of them."""
        found = [os.fsdecode(path) + ending for path in self.databases for ending in ("", "-wal", "-shm", SUFFIX)]
        if self.rejects is not None:
            found += [os.fsdecode(self.rejects)] * is_rejects_file(self.rejects) + [os.fsdecode(self.rejects) + SUFFIX]
        return found

    def check(self) -> None:
        """Raises InvalidInput for an option that makes no sense."""
        number = isinstance(self.concurrency, int) and not isinstance(self.concurrency, bool)
        if self.concurrency != "auto" and not (number and int(self.concurrency) >= 1):
            raise InvalidInput('concurrency must be "auto" or a number of at least 1')
        share = self.max_reject_share
        if share is not None and (isinstance(share, bool) or not 0 <= share <= 1):
            raise InvalidInput("max_reject_share must be a number from 0 to 1")
        if inspect.iscoroutinefunction(self.on_progress):
            raise InvalidInput("on_progress is called, not awaited: give a plain function")
        if not isinstance(self.journal, str | os.PathLike | Journal | None):
            raise InvalidInput("journal must be a path, or an object with the methods of Journal")
        self.refuse_as_journal(self.rejects, "the rejects file, too")

    def refuse_as_journal(self, path: object, what: str) -> None:
        """Raises InvalidInput when the journal would be written into another file of the job."""
        journal = self.journal_path
        if journal is not None and isinstance(path, str | os.PathLike) and same_file(journal, path):
            raise InvalidInput(f"the journal {os.fsdecode(journal)} is {what}; choose another path")


def bulk_options(session: Session, call: CallOptions) -> CallOptions:
    """A job waits and repeats by its own rules; of the call's options only the timeout of an attempt holds for it."""
    config = session.config
    policy = RetryPolicy(
        max_attempts=MIN_ATTEMPTS,
        max_wait_seconds=config.bulk_max_wait_seconds,
        max_elapsed_seconds=config.max_elapsed_seconds,
    )
    return CallOptions(timeout_seconds=call.timeout_seconds, policy=policy, bulk=True)
