"""What an upload is asked: where users go, what is done with them, and how a journal knows the same call again."""

import datetime
import os
from collections.abc import Mapping, Sequence

import attrs
import orjson

from socialapi.bulk.audiences.batches import PACKINGS, Packing
from socialapi.bulk.audiences.normalizing import NORMALIZER_VERSION
from socialapi.bulk.job_options import JobOptions
from socialapi.bulk.journals.journal import Setting, impersonal
from socialapi.config import Config
from socialapi.errors import InvalidInput
from socialapi.models.audiences import IdentifierKind, OperationType, UploadCounts, months_later
from socialapi.models.validation import format_timestamp
from socialapi.routes.route import Target


@attrs.frozen(kw_only=True)
class Destination:
    """Where the users go, and what the service takes there."""

    kind: str
    """What an upload there is called in a journal."""
    target: Target[UploadCounts]
    kinds: tuple[IdentifierKind, ...]
    takes_effective_at: bool
    default_expiry_months: int | None = None
    """Months from the start of the job that are sent as expiry when nothing else is said; None leaves it out."""


@attrs.frozen(kw_only=True)
class UploadOptions(JobOptions):
    """What the caller of `upload` asked for."""

    operation: OperationType = "Update"
    packing: Packing = "single"
    columns: Mapping[str, str | Sequence[str]] | None = None
    default_region: str | None = None
    effective_at: datetime.datetime | str | None = None
    expires_at: datetime.datetime | str | None = None
    snapshot: str | os.PathLike[str] | None = None
    """The snapshot of the sync that this is a part of."""

    @property
    def databases(self) -> Sequence[str | os.PathLike[str]]:
        """As of any job, and the snapshot."""
        return [*super().databases, *([] if self.snapshot is None else [self.snapshot])]

    @property
    def why_not_empty(self) -> str | None:
        """A sync of nothing would remove everybody."""
        return None if self.snapshot is None else "an empty list would remove every member, which a sync refuses"

    def check(self) -> None:
        """Raises InvalidInput for an option that makes no sense."""
        if self.packing not in PACKINGS:
            raise InvalidInput(f"packing must be one of {', '.join(PACKINGS)}")
        super().check()


def default_expiry(destination: Destination, now: datetime.datetime) -> str | None:
    """The expiry, as it is sent, of what starts now and says none itself; None where the service's default holds."""
    if destination.default_expiry_months is None:
        return None
    return format_timestamp(months_later(now, destination.default_expiry_months).replace(microsecond=0))


def settings_of(options: UploadOptions, config: Config) -> Mapping[str, Setting]:
    """For a journal, everything that changes what is sent; no personal value."""
    return {
        "normalizer": NORMALIZER_VERSION,
        "operation": str(options.operation),
        "packing": options.packing,
        "columns": _named(options.columns) if options.columns else None,
        "default_region": options.default_region,
        "effective_at": _written(options.effective_at),
        "expires_at": _written(options.expires_at),
        "max_operations": config.max_operations,
        "max_batch_bytes": config.max_batch_bytes,
    }


def _named(columns: Mapping[str, str | Sequence[str]]) -> str:
    """The columns for the journal: where somebody gave a value for a name, its digest is all that gets there."""
    said = {
        kind: impersonal(names) if isinstance(names, str) else [impersonal(str(name)) for name in names]
        for kind, names in columns.items()
    }
    return orjson.dumps(said).decode()


def _written(time: datetime.datetime | str | None) -> str | None:
    return time.isoformat() if isinstance(time, datetime.datetime) else time
