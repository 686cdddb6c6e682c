"""Loads products into a catalog: the options, the validation of products, and the job."""

import datetime
import os
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Self

import attrs

from socialapi.bulk.inputs.columns import ColumnMapping
from socialapi.bulk.inputs.formats import Records, open_records
from socialapi.bulk.inputs.reader import Block, Reader
from socialapi.bulk.job import JobDescription, JobOptions, JobRun, bulk_options, prepare_input, run_job, same_files
from socialapi.bulk.journals.journal import Outcome, columns_setting
from socialapi.bulk.products.batcher import ProductBatcher, RepeatedIds, WaitingProducts
from socialapi.bulk.products.cells import product_rows, with_main_units
from socialapi.bulk.products.counters import ProductCounters, Refused
from socialapi.bulk.products.feed import Constants, ProductColumns, ProductLayout
from socialapi.bulk.products.merchant_values import NO_CURRENCY, SALE_PRICE
from socialapi.bulk.products.resume import DELETED, INVALID, KNOWN_BEFORE, SKIPPED, LoadJournal, recalled
from socialapi.bulk.products.rows import ProductBatch, ProductRow
from socialapi.bulk.products.sender import ProductSender
from socialapi.errors import InvalidInput, SocialApiError
from socialapi.internal.fairness import yield_if_due
from socialapi.models.products import Product
from socialapi.models.validation import Faults, broken_rules, invalid
from socialapi.problems import BrokenRule
from socialapi.reports import RowIssue, UpsertReport
from socialapi.routes import catalogs as routes
from socialapi.session.options import CallOptions
from socialapi.session.session import Session
from socialapi.wire.encode import json_bytes

if TYPE_CHECKING:
    from socialapi.bulk.products.snapshot import Digests
    from socialapi.bulk.products.vanished import VanishedProducts


def broken_fields(row: ProductRow, now: datetime.datetime) -> list[tuple[str, str]]:
    """Returns the invalid fields of a product, each with a reason that does not include the location."""
    found = list[tuple[str, str]]()
    if row.problem is not None:
        field, reason = row.problem
        found += [(field, reason.removeprefix(row.location)), *row.other_problems]
        if not field:  # the values may be in the wrong fields
            return found
    known = {field for field, _ in found}
    if ("price", NO_CURRENCY) in found:
        known.add(SALE_PRICE)  # it has none either
    return [*found, *((rule.path, rule.reason) for rule in _broken_rules(row, now) if rule.path not in known)]


def prepare_json(row: ProductRow, now: datetime.datetime) -> tuple[str, str] | None:
    """Returns the invalid fields and the reasons. For a valid product, sets its JSON and returns None."""
    if broken := broken_fields(row, now):
        fields = ", ".join(dict.fromkeys(field for field, _ in broken))
        reasons = [reason if len(broken) == 1 else f"{field}: {reason}" for field, reason in broken]
        return fields, (row.location if row.problem is not None else "") + "; ".join(reasons)
    row.json = json_bytes(row.shape)
    return None


def _broken_rules(row: ProductRow, now: datetime.datetime) -> Sequence[BrokenRule]:
    if row.keeps_field_rules:
        return tuple(Product.conditions(row.shape, now))
    return broken_rules(Product, row.shape, now=now)


DEFAULT_CONCURRENCY: Final = 8
ROWS_AT_ONCE: Final = 75
"""The number of products checked before other tasks can run. Reading a product cell by cell takes about 60
microseconds.
"""


@attrs.frozen(kw_only=True)
class UpsertOptions(JobOptions):
    """The options of `upsert`."""

    concurrency: int | Literal["auto"] = DEFAULT_CONCURRENCY
    columns: ColumnMapping | None = None
    constants: Constants | None = None
    digests: str | os.PathLike[str] | None = None
    delete_vanished: bool = False
    max_vanished_share: float = 0.1

    def with_columns(self) -> tuple[Self, ProductColumns]:
        """Returns the options completed from their layout file, and the columns to read. Raises InvalidInput if they
        are invalid.
        """
        options = self if self.layout is None else self.laid_out(ProductColumns.of(None))
        return options, ProductColumns.of(options.columns, options.form, options.constants, options.key)

    @property
    def databases(self) -> Mapping[str, str | os.PathLike[str]]:
        """The databases of the job, including the digest file."""
        return {**super().databases, **({} if self.digests is None else {"digests": self.digests})}

    @property
    def why_not_empty(self) -> str | None:
        """The reason why an empty feed is rejected, or None. With `delete_vanished`, an empty feed would delete all
        products.
        """
        return "an empty feed would delete every product" if self.delete_vanished else None

    @property
    def checks_whole_input(self) -> bool:
        """Whether the share of rejected products is checked before anything is sent."""
        return self.delete_vanished and self.max_reject_share is not None

    def problems(self) -> Iterator[InvalidInput]:
        """Yields an error for each invalid option."""
        if self.delete_vanished and self.digests is None:
            yield invalid("delete_vanished", "needs digests=…, which records the products of earlier loads")
        if not 0 < self.max_vanished_share <= 1:
            yield invalid("max_vanished_share", "must be a number above 0 and at most 1")
        if self.flush_after_seconds and self.checks_whole_input:
            yield invalid(
                "flush_after_seconds",
                "cannot be combined with delete_vanished and max_reject_share, which read all rows before sending any",
            )
        yield from super().problems()


class ProductStage:
    """Checks products, sends them in batches, and deletes vanished products."""

    def __init__(self, sender: ProductSender, catalog_id: str, options: UpsertOptions, session: Session) -> None:
        self._sender = sender
        self._catalog_id = catalog_id
        self._counters = sender.counters
        self._digests = sender.digests
        self._options = options
        self._session = session
        self._batcher = ProductBatcher(self._submit, self._is_stopped)
        # If the share of rejects is checked before anything is sent, valid products wait in a file,
        # because the input may not be readable twice.
        self._waiting = WaitingProducts() if options.checks_whole_input else None
        self._repeated_ids = RepeatedIds()
        self._load_journal: LoadJournal | None = None

    async def open(self, run: JobRun[Block[ProductLayout], ProductBatch, UpsertReport]) -> None:
        """Resumes from the journal, and opens the digest file."""
        self._run, self._dispatcher = run, run.dispatcher
        self._sender.observe = run.observe
        if run.journal is not None and run.opened is not None:
            self._load_journal = self._sender.journal = LoadJournal(run.journal, run.opened.last_batch)
        if self._digests is not None:
            await self._digests.open()
            if run.journal is not None:
                # The share that may be deleted refers to the products known before the first run of this job, without
                # products that an earlier run has added.
                self._digests.known_before = await run.journal.keep(KNOWN_BEFORE, self._digests.known_before)

    def _is_stopped(self) -> bool:
        return self._dispatcher.failure is not None

    async def take(self, block: Block[ProductLayout]) -> None:
        """Puts the valid products of a block into batches, or into a file if all rows must be read first."""
        first, known = block.first_number, dict[int, Outcome]()
        block = with_main_units(block)
        if self._load_journal is not None:
            known.update(await self._load_journal.journal.outcomes(first, first + len(block) - 1))
        for start in range(0, len(block), ROWS_AT_ONCE):
            good = await self._valid(product_rows(block.part(start, start + ROWS_AT_ONCE)), known)
            if self._waiting is not None:
                await self._waiting.add(good)
            else:
                await self._batcher.add(await self._changed(good))
            await yield_if_due()

    @property
    def first_waiting(self) -> int | None:
        """The number of the first product that is not in a submitted batch yet, or None."""
        return self._batcher.first_waiting

    async def flush(self) -> None:
        """Submits the products that wait for a full batch."""
        if not self._run.is_reading and (warning := self._repeated_ids.warning()) is not None:
            self._counters.warn([warning])
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            try:
                self._run.check_reject_share(at_end=True)
                while not self._is_stopped() and (rows := await waiting.take()):
                    await self._batcher.add(await self._changed(rows))
                    await yield_if_due()
            finally:
                await waiting.aclose()
        await self._batcher.flush()

    async def settle(self, batch: ProductBatch) -> None:
        """Sends the batch until every product has its outcome. Products that depend on this batch may then be sent."""
        try:
            await self._sender.settle(batch)
        finally:
            self._batcher.settled(batch)

    async def finish(self) -> None:
        """Counts the products that are no longer in the feed, and deletes them if `delete_vanished` is set."""
        if self._load_journal is not None:
            # If the input were cut off, products that an earlier run of this job loaded would seem to have vanished.
            await self._load_journal.check_end(self._counters.read)
        if self._digests is None:
            return
        from socialapi.bulk.products.vanished import VanishedProducts

        try:
            vanished = VanishedProducts(
                self._sender.session,
                self._catalog_id,
                self._sender.options,
                self._digests,
                self._counters,
                self._run.observe,
                self._is_stopped,
                self._run.show,
            )
            gone, new = await vanished.count()
            if self._options.delete_vanished:
                await self._delete(vanished, gone, new)
        except SocialApiError as problem:
            self._dispatcher.stop(problem)

    async def aclose(self) -> None:
        """Closes the digest file, and releases the waiting products."""
        if self._waiting is not None:
            await self._waiting.aclose()
        if self._digests is not None:
            await self._digests.aclose()

    def report(self, elapsed_seconds: float) -> UpsertReport:
        """Returns the report with the current counts."""
        return self._counters.report(elapsed_seconds, dry_run=self._options.dry_run)

    async def _valid(self, rows: Sequence[ProductRow], known: Mapping[int, Outcome]) -> list[ProductRow]:
        """Returns the products that may be sent and have no outcome yet, and counts the others."""
        opened = self._run.opened
        # Dates are compared with the start of the first run, so that a later run finds the same problems.
        now, good = self._session.now() if opened is None else opened.started_at, list[ProductRow]()
        refused: list[Refused] = []
        resumed: list[tuple[ProductRow, Outcome]] = []
        for row in rows:
            problem = prepare_json(row, now)
            outcome = recalled(row, known, is_good=problem is None) if known else None
            if problem is not None:
                refused.append((row, *problem))
                continue
            self._repeated_ids.note(row)
            if row.warnings:
                self._counters.warn([RowIssue(row.number, *each, row.known_id) for each in row.warnings])
            if outcome is None:
                good.append(row)
            else:
                resumed.append((row, outcome))
        if self._load_journal is not None:
            invalid = [row for row, _, _ in refused if row.number not in known]
            await self._load_journal.set_aside(invalid, INVALID)
        self._counters.refuse(refused)
        for row, outcome in resumed:
            self._counters.resume(row, outcome)
        if self._digests is not None:
            there = [row.known_id for row, _, _ in refused] + [row.known_id for row, _ in resumed]
            await self._digests.seen([each for each in there if each is not None])
        return good

    async def _changed(self, rows: Sequence[ProductRow]) -> Sequence[ProductRow]:
        """Returns the products that have changed since the last load, and counts the others as skipped."""
        if self._digests is None:
            self._counters.foreseen_new += len(rows)
            return rows
        changed = await self._digests.changed(rows)
        self._counters.foreseen_new, self._counters.foreseen_changed = self._digests.new, self._digests.renewed
        sent = {row.number for row in changed}
        skipped = [row for row in rows if row.number not in sent]
        if self._load_journal is not None:
            # A later run must not send a skipped product, because it would replace a later product with the same id.
            await self._load_journal.set_aside(skipped, SKIPPED)
        self._counters.count(SKIPPED, skipped)
        return changed

    async def _submit(self, batch: ProductBatch) -> None:
        if not self._options.dry_run:
            await self._dispatcher.submit(batch)
            return
        self._counters.planned(batch.size_bytes)
        self._batcher.settled(batch)
        batch.release()

    async def _delete(self, vanished: "VanishedProducts", gone: int, new: int) -> None:
        """Deletes vanished products. Runs only once per job: between two runs, other loads may have added products."""
        journal = self._run.journal
        if journal is not None and await journal.kept(DELETED) is not None:
            return
        if gone:
            vanished.check(new, self._options.max_vanished_share)
        if self._options.dry_run:
            return
        await vanished.delete()
        if journal is not None and not self._is_stopped():
            await journal.keep(DELETED, self._counters.deleted)


class UpsertJob:
    """A product load that can be run once."""

    def __init__(
        self, session: Session, catalog_id: str, products: Records, options: UpsertOptions, call: CallOptions
    ) -> None:
        self._session = session
        target = routes.PRODUCTS_PUT.at(product_catalog_id=catalog_id)
        faults = Faults([*options.problems(), *same_files("digests", options.digests, {"the input itself": products})])
        with faults:
            options, selection = options.with_columns()
        faults.refuse()
        self._options = options
        self.reader: Reader[Block[ProductLayout]] = open_records(products, selection, session.network)
        self.counters: ProductCounters = ProductCounters(
            None,
            ignored_columns=selection.ignored_columns,
            read_columns=selection.read_columns,
            notes=selection.notes,
            selection=selection,
            compares=options.digests is not None,
        )
        # Columns are included only if given, because earlier versions did not record them.
        digests = None if options.digests is None else str(Path(options.digests).absolute())
        columns = {"columns": columns_setting(options.columns)} if options.columns else {}
        constants = (
            {"constants": json_bytes(dict(sorted(options.constants.items()))).decode()} if options.constants else {}
        )
        self._description = JobDescription(
            noun="load",
            kind="catalog load",
            telemetry_kind="upsert",
            target=target,
            source=products,
            # The options for deletion are not included. They apply only after the load, so they may
            # change when a stopped job is resumed.
            settings={"digests": digests, **columns, **constants, **options.form_settings},
            checks_whole_input=options.checks_whole_input,
        )
        prepare_input(session, self.reader, self._description, options)
        sender = ProductSender(
            session, target, bulk_options(session.config, call), self.counters, _digests(options, catalog_id)
        )
        self.stage: ProductStage = ProductStage(sender, catalog_id, options, session)

    def run(self) -> Coroutine[Any, Any, UpsertReport]:
        """Returns a coroutine that runs the load and returns its report, as `run_job` does."""
        return run_job(self.reader, self.stage, self.counters, self._description, self._options, self._session)


def _digests(options: UpsertOptions, catalog_id: str) -> "Digests | None":
    """Returns the digest file, or None if the load uses none. A dry run does not create one."""
    if options.digests is None or (options.dry_run and not Path(options.digests).exists()):
        return None
    from socialapi.bulk.products.snapshot import Digests

    return Digests(options.digests, catalog_id, keep=options.dry_run)
