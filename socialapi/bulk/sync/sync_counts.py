"""The counts of a sync while it runs, put together from those of its parts."""

from collections.abc import Sequence

import attrs

from socialapi.bulk.sync.sync_snapshot import Difference
from socialapi.bulk.tally import Tally
from socialapi.reports import MAX_ISSUES_KEPT, Forecast, RowIssue, SyncReport, UploadReport
from socialapi.routes.route import RateLimit
from socialapi.session.session import Session


class SyncCounts:
    """What is known of a sync so far. Rows of the desired state are pending until they are unchanged, added or rejected."""

    def __init__(self, session: Session, limit: RateLimit | None, *, dry_run: bool) -> None:
        self._clock = session.clock
        self._rate = limit.configured(session.config.rate_limits) if limit else None
        self._dry_run = dry_run
        self._started = session.clock.monotonic()
        self.reading = UploadReport()
        """The rows that are staged are its accepted ones."""
        self.unchanged = 0
        self.before = 0
        self.after = 0
        self.held_back = 0
        self._planned = {"additions": 0, "removals": 0}
        self._parts = {"additions": UploadReport(), "removals": UploadReport()}
        self._refused: dict[str, list[RowIssue]] = {"additions": [], "removals": []}
        """The first rows that the service refused, by their numbers in the input."""

    def compared(self, found: Difference) -> None:
        """What is to be done is known."""
        self.unchanged = self.reading.accepted - found.additions
        self.before = self.after = found.known
        self._planned = {"additions": found.additions, "removals": found.removals}

    def hold_back(self) -> None:
        """Nothing is removed in this sync."""
        self.held_back, self._planned["removals"] = self._planned["removals"], 0

    def take(self, phase: str, report: UploadReport) -> None:
        """How far a part of the sync is."""
        if phase == "reading":
            self.reading = report
        else:
            self._parts[phase] = report

    def refuse(self, phase: str, issues: Sequence[RowIssue]) -> None:
        """The service refused rows of a part."""
        refused = self._refused[phase]
        refused += issues[: MAX_ISSUES_KEPT - len(refused)]

    def _part(self, phase: str) -> UploadReport:
        """The counts of a part; what was not read for it so far is pending as well."""
        part, planned = self._parts[phase], self._planned[phase]
        pending = planned - part.accepted - part.rejected - part.duplicate
        return attrs.evolve(part, read=planned, pending=pending, rejects=tuple(self._refused[phase]))

    def report(self) -> SyncReport:
        """The counts as they stand."""
        reading, additions, removals = self.reading, self._part("additions"), self._part("removals")
        settled = self.unchanged + additions.accepted + additions.rejected + additions.duplicate
        requests = additions.requests + removals.requests
        tally = Tally(
            self._rate,
            read=reading.read,
            accepted=self.unchanged + additions.accepted,
            rejected=reading.rejected + additions.rejected,
            duplicate=additions.duplicate,
            pending=reading.pending + reading.accepted - settled,
            warnings=reading.warnings,
            attempts=requests,
            sent_first=requests - additions.retries - removals.retries,
            bytes_sent=additions.bytes_sent + removals.bytes_sent,
            rejects=[*reading.rejects, *additions.rejects][:MAX_ISSUES_KEPT],
            warning_details=list(reading.warning_details),
        )
        counted = tally.report(self._clock.monotonic() - self._started, dry_run=False)
        found = {field.name: getattr(counted, field.name) for field in attrs.fields(UploadReport)}
        return SyncReport(
            **found | {"rejects_path": reading.rejects_path, "forecast": self._forecast() if self._dry_run else None},
            unchanged=self.unchanged,
            additions=additions,
            removals=removals,
            held_back=self.held_back,
            identifiers_before=self.before,
            identifiers_after=self.after,
        )

    def _forecast(self) -> Forecast:
        """Of both parts: they are sent one after the other, within one limit."""
        parts = [each.forecast for each in self._parts.values() if each.forecast is not None]
        return Forecast(
            requests=sum(each.requests for each in parts),
            bytes=sum(each.bytes for each in parts),
            quota_minutes=sum(each.quota_minutes for each in parts),
        )
