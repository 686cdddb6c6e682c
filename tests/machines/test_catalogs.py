"""Catalogs: single requests, and loads that are ended and resumed, beside what each product may be."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

import attrs
from hypothesis import strategies as st

from socialapi.errors import BulkError, InvalidInput
from socialapi.reports import UpsertReport
from tests.machines.advertising import ANSWERED_WELL, End, JobMachine, Run, runs
from tests.machines.faults import trouble
from tests.machines.machine import Asked, check, run_machine, step
from tests.machines.worlds import Executed

Content = frozenset[tuple[str, str]]
"""The fields of a product that the client sends."""

# What is put (creatives and catalogs, section 4.7) ---------------------------------------------------------------------

Fault = Literal["", "price", "id"]


MUG: Final = {
    "description": "Enamel.",
    "availability": "in stock",
    "condition": "new",
    "brand": "Hut",
    "product_type": "Cups",
    "color": "blue",
    "link": "https://shop.example/mug",
    "image_link": "https://shop.example/mug.jpg",
}


@attrs.frozen
class Row:
    """A version of a product."""

    number: int
    version: int = 0
    group: str = ""
    fault: Fault = ""

    @property
    def id(self) -> str:
        return f"machine-{self.number:02}"

    def to_product(self) -> dict[str, str]:
        product = MUG | {"id": self.id, "title": f"Mug {self.number}", "price": f"{self.version + 1}.00 EUR"}
        if self.group:
            product["item_group_id"] = self.group
        if self.fault == "price":
            product["price"] = "free"
        if self.fault == "id":
            del product["id"]
        return product

    @property
    def content(self) -> Content:
        return frozenset(self.to_product().items())


def rows(numbers: st.SearchStrategy[int], *faults: Fault) -> st.SearchStrategy[Row]:
    groups = st.sampled_from(["", "", "", "g", "h"])
    return st.builds(Row, numbers, st.integers(0, 2), groups, st.sampled_from(faults))


@attrs.frozen
class Feed:
    """Products one after another, in one version, and rows that stand among them."""

    first: int
    count: int
    version: int
    among: Sequence[tuple[int, Row]]

    def rows(self) -> list[Row]:
        found = [
            Row(number, self.version, self._group(number)) for number in range(self.first, self.first + self.count)
        ]
        for position, row in self.among:
            found.insert(position, row)
        return found

    def _group(self, number: int) -> str:
        return f"variants {number // 3}" if number % 9 < 3 else ""


# What is there --------------------------------------------------------------------------------------------------------

Absent = None
Stored = Content | None
Loaded = Content | Literal["unknown"] | None
"""What a digest file has of a product: nothing, its id alone, or what was loaded."""


@attrs.define
class Stock:
    """What each product may be, and what the digest file may have of it."""

    products: dict[str, frozenset[Stored]] = attrs.field(factory=dict)
    loaded: dict[str, frozenset[Loaded]] = attrs.field(factory=dict)

    def of(self, product_id: str) -> frozenset[Stored]:
        return self.products.get(product_id, frozenset({Absent}))

    def loaded_of(self, product_id: str) -> frozenset[Loaded]:
        return self.loaded.get(product_id, frozenset({Absent}))

    def put(self, product_id: str, content: Stored, executed: Executed) -> None:
        if executed != "no":
            before = self.of(product_id) if executed == "unknown" else frozenset()
            self.products[product_id] = before | {content}

    def copy(self) -> "Stock":
        return Stock(dict(self.products), dict(self.loaded))

    def see(self, products: Mapping[str, Content]) -> None:
        assert products.keys() <= self.products.keys(), "products that nobody has put"
        for product_id, contents in self.products.items():
            assert products.get(product_id) in contents, (product_id, products.get(product_id), contents)
            self.products[product_id] = frozenset({products.get(product_id)})


@attrs.define
class Load:
    """A load, which may be run several times with its journal."""

    rows: Sequence[Row]
    options: dict[str, Any]
    before: Stock
    """What was there before the first run."""
    is_alone: bool = True
    """Whether nobody else has changed the catalog or used the digest file since."""
    is_clean: bool = True
    """Whether nothing has happened to it so far."""
    was_cancelled: bool = False
    refusals: int = 0
    """How many products the service was told to refuse."""
    put: int = 0
    """How many products were in requests that were answered well."""
    report: UpsertReport | None = None

    @property
    def has_digests(self) -> bool:
        return self.options["digests"] is not None

    @property
    def deletes(self) -> bool:
        deletes: bool = self.options["delete_vanished"]
        return deletes

    @property
    def valid(self) -> list[tuple[int, Row]]:
        return [(number, row) for number, row in enumerate(self.rows, 1) if not row.fault]

    @property
    def ids(self) -> set[str]:
        return {row.id for row in self.rows if row.fault != "id"}

    def outcomes(self) -> tuple[int, int, int, int] | None:
        """How many products are created, updated, unchanged and skipped; None if that cannot be
        known.
        """
        held, loaded, sent = {}, {}, set()
        for _, row in self.valid:
            held[row.id], loaded[row.id] = self.before.of(row.id), self.before.loaded_of(row.id)
        if any(len(each) > 1 for each in (*held.values(), *(loaded.values() if self.has_digests else ()))):
            return None
        counts = [0, 0, 0, 0]
        for _, row in self.valid:
            content = frozenset({row.content})
            if self.has_digests and row.id not in sent and loaded[row.id] == content:
                counts[3] += 1
                continue
            counts[0 if held[row.id] == {Absent} else 2 if held[row.id] == content else 1] += 1
            held[row.id] = content
            sent.add(row.id)
        return counts[0], counts[1], counts[2], counts[3]


COUNTS: Final = ("read", "accepted", "created", "updated", "unchanged", "skipped", "rejected", "duplicate", "pending")
TROUBLE: Final = trouble(
    *({"fault": fault, "index": index} for fault in ("product_missing", "product_error") for index in (0, 1, 20)),
    *({"fault": "status", "status": status} for status in (403, 403, 401)),
)
FEEDS: Final = st.builds(
    Feed,
    st.sampled_from([0, 0, 9]),
    st.sampled_from([0, 5, 30, 40, 60]),
    st.integers(0, 1),
    st.lists(st.tuples(st.integers(0, 60), rows(st.integers(0, 69), "", "", "", "price", "id")), max_size=8),
)
PRODUCTS: Final = st.lists(rows(st.integers(60, 79), *("",) * 9, "price"), min_size=1, max_size=6)


class Catalogs(JobMachine):
    max_examples = 12
    max_steps = 40

    async def open(self) -> None:
        self.catalog_id = self.emulator.seed["product_catalog_ids"][0]
        self.stock = Stock()
        self.seeded = self._stored()
        self.keys: dict[str, str] = {}
        self.loads: list[Load] = []
        self.finished: list[Load] = []
        self.foreign: set[str] = set()
        """Products that were changed without the digest file, after which it may be wrong about
        them.
        """
        await super().open()
        self.digests = self.new_file("digests")
        self.names = {await self._name()}

    @property
    def products(self) -> Any:
        return self.client.catalog(self.catalog_id).products

    def _stored(self) -> dict[str, Content]:
        found = self.emulator.products(self.catalog_id)
        made = ("product_key", "item_group_key")
        return {name: frozenset((f, v) for f, v in each.items() if f not in made) for name, each in found.items()}

    # The catalog itself -----------------------------------------------------------------------------------------------

    async def _name(self) -> str:
        (catalog,) = await self.look(lambda: self.client.catalogs.list().collect())
        assert catalog.id == self.catalog_id
        return str(catalog.name)

    @step(name=st.sampled_from(["Spring", "Summer", "Größe & Maß", " a ", "x=1&y=2"]))
    async def rename(self, name: str) -> None:
        asked = await self.ask(self.client.catalogs.rename(self.catalog_id, name), repeatable=True)
        if asked.is_done:
            assert (asked.value.id, asked.value.name) == (self.catalog_id, name)
        if asked.executed == "yes":
            self.names = {name}
        elif asked.executed == "unknown":
            self.names |= {name}
        found = await self._name()
        assert found in self.names
        self.names = {found}

    # Single requests --------------------------------------------------------------------------------------------------

    @step(trouble=TROUBLE, rows=PRODUCTS)
    async def put(self, rows: list[Row]) -> None:
        asked = await self.ask(self.products.put([row.to_product() for row in rows]), repeatable=True)
        if any(row.fault for row in rows) or len({row.id for row in rows}) < len(rows):
            assert isinstance(asked.error, InvalidInput | asyncio.CancelledError)
            assert not asked.requests
            return
        assert not isinstance(asked.error, InvalidInput)
        self._disturb({row.id for row in rows})
        results = {result.id: result for result in asked.value} if asked.is_done else {}
        assert results.keys() <= {row.id for row in rows}
        for row in rows:
            self._note_result(row, asked, results.get(row.id))
        missing = [row for row in rows if row.id not in results]
        assert not asked.is_done or len(missing) <= sum(each.fault == "product_missing" for each in asked.requests)

    def _note_result(self, row: Row, asked: Asked[Any], result: Any) -> None:
        is_first = len(asked.requests) == 1
        if result is None:
            # A product that the answer leaves out has no outcome.
            self.stock.put(row.id, row.content, "unknown" if asked.is_done else asked.executed)
        elif result.status == "ERROR":
            assert any(each.fault == "product_error" for each in asked.requests)
            assert result.errors
            self.stock.put(row.id, row.content, "no" if is_first else "unknown")
        else:
            before = self.stock.of(row.id)
            known = (
                "NO_CHANGE" if before == {row.content} else "CREATE_SUCCESS" if before == {Absent} else "UPDATE_SUCCESS"
            )
            assert result.status == known or (not is_first and result.status == "NO_CHANGE")
            assert result.product_key == self.emulator.products(self.catalog_id)[row.id]["product_key"]
            self.stock.put(row.id, row.content, "yes")

    @step(
        trouble=TROUBLE,
        numbers=st.lists(st.integers(0, 79), min_size=1, max_size=6, unique=True),
        with_unknown=st.booleans(),
    )
    async def delete(self, numbers: list[int], *, with_unknown: bool) -> None:
        held = self.emulator.products(self.catalog_id)
        ids = {held[row.id]["product_key"]: row.id for row in map(Row, numbers) if row.id in held}
        keys = [*ids, *(["no-such-key"] if with_unknown else [])]
        if not keys:
            return
        asked = await self.ask(self.products.delete(keys))
        if asked.executed != "no":
            self._disturb(set(ids.values()))
        for product_id in ids.values():
            self.stock.put(product_id, Absent, asked.executed)
        if asked.is_done:
            assert [each.product_key for each in asked.value if each.product_key] == list(ids)
            failed = [each.failed_product_key for each in asked.value if each.failed_product_key]
            assert failed == ["no-such-key"] * with_unknown

    @step(count=st.sampled_from([7, 40, 100]))
    async def read(self, count: int) -> None:
        asked = await self.ask(self.products.list(count=count).collect(), repeatable=True)
        if asked.is_done:
            assert [each.id for each in asked.value] == self._listed()
            held = self.emulator.products(self.catalog_id)
            for each in asked.value:
                assert {name: value for name, value in each.to_dict().items() if value is not None} == held[each.id]

    @step(group=st.sampled_from(["g", "h", "variants 0", "variants 3"]))
    async def read_group(self, group: str) -> None:
        held = {
            name: each
            for name, each in self.emulator.products(self.catalog_id).items()
            if each.get("item_group_id") == group
        }
        if held:
            (key,) = {each["item_group_key"] for each in held.values()}
            asked = await self.ask(self.products.list(item_group_key=key, count=2).collect(), repeatable=True)
            if asked.is_done:
                assert [each.id for each in asked.value] == list(held)

    def _listed(self) -> list[str]:
        """The products without a group, and of each group the one that was submitted first."""
        groups: set[str] = set()
        found = []
        for product_id, product in self.emulator.products(self.catalog_id).items():
            group = product.get("item_group_id")
            if group is None or group not in groups:
                found.append(product_id)
            groups |= set() if group is None else {group}
        return found

    # Loads ------------------------------------------------------------------------------------------------------------

    @step(
        trouble=TROUBLE,
        feed=FEEDS,
        concurrency=st.integers(1, 4),
        has_journal=st.sampled_from([True, True, False]),
        has_digests=st.sampled_from([True, True, False]),
        deletes=st.booleans(),
        share=st.sampled_from([1.0, 1.0, 0.1]),
        runs=runs(TROUBLE),
    )
    async def load(
        self,
        feed: Feed,
        concurrency: int,
        *,
        has_journal: bool,
        has_digests: bool,
        deletes: bool,
        share: float,
        runs: list[Run],
    ) -> None:
        options = {
            "concurrency": concurrency,
            "journal": self.new_file("journal") if has_journal else None,
            "digests": self.digests if has_digests else None,
            "delete_vanished": deletes and has_digests,
            "max_vanished_share": share,
        }
        rows = feed.rows()
        if deletes and has_digests:
            rows = [row for row in rows if row.fault != "id"]
        await self._run_often(Load(rows, options, self.stock.copy()), runs)

    @step(trouble=TROUBLE, index=st.integers(0, 2), runs=runs(TROUBLE))
    async def resume(self, index: int, runs: list[Run]) -> None:
        if self.loads:
            load = self.loads.pop(index % len(self.loads))
            load.options["max_vanished_share"] = 1.0
            await self._run_often(load, runs)

    @step(index=st.integers(0, 2))
    async def resume_a_finished_load(self, index: int) -> None:
        if not self.finished:
            return
        load = self.finished[index % len(self.finished)]
        asked = await self.ask(self._upsert(load))
        assert not asked.requests
        if asked.is_done:
            assert [getattr(asked.value, name) for name in COUNTS] == [getattr(load.report, name) for name in COUNTS]

    # Hypothesis chooses each name as often as any other.
    load_twice_as_often = load
    resume_twice_as_often = resume

    async def _run_often(self, load: Load, runs: list[Run]) -> None:
        """Runs the load until it is done, but not more often than that."""
        for run in self.runs_of(runs):
            if load in self.loads:
                self.loads.remove(load)
                if run.has_new_client:
                    await self.restart()
            await self._run(load, run.end)
            if load not in self.loads:
                return

    async def _upsert(self, load: Load) -> UpsertReport:
        report: UpsertReport = await self.products.upsert([row.to_product() for row in load.rows], **load.options)
        return report

    async def _run(self, load: Load, end: End | None) -> None:
        asked = await self.ask_until(end, lambda: self._upsert(load))
        if not load.rows and load.deletes:
            assert isinstance(asked.error, InvalidInput | asyncio.CancelledError)
            assert not asked.requests
            return
        load.was_cancelled |= isinstance(asked.error, asyncio.CancelledError)
        load.is_clean &= asked.is_done and all(each.fault in ANSWERED_WELL for each in asked.requests)
        load.refusals += sum(each.fault == "product_error" for each in asked.requests)
        puts = [
            each
            for each in asked.requests
            if each.method == "PUT" and each.status == 200 and each.fault in ANSWERED_WELL
        ]
        load.put += sum(each.operations or 0 for each in puts)
        if asked.error is None:
            self._finish(load, asked.value)
        else:
            assert isinstance(asked.error, BulkError | asyncio.CancelledError), repr(asked.error)
            self._stop(load, asked.error)

    def _stop(self, load: Load, error: BaseException) -> None:
        """Any of the products may have been put, and any that vanished may be deleted."""
        if isinstance(error, BulkError):
            assert error.report.adds_up
        self._disturb(load.ids, by=load)
        for _, row in load.valid:
            self.stock.put(row.id, row.content, "unknown")
            if load.has_digests:
                self.stock.loaded[row.id] = self.stock.loaded_of(row.id) | {row.content, "unknown"}
        for product_id in self._may_have_vanished(load) if load.deletes else ():
            self.stock.put(product_id, Absent, "unknown")
            self.stock.loaded[product_id] = self.stock.loaded_of(product_id) | {Absent, "unknown"}
        if load.options["journal"] is not None:
            self.loads.append(load)

    def _may_have_vanished(self, load: Load) -> set[str]:
        return {name for name, each in self.stock.loaded.items() if each != {Absent}} - load.ids

    def _finish(self, load: Load, report: UpsertReport) -> None:
        named = {issue.row for issue in report.rejects}
        invalid = {number for number, row in enumerate(load.rows, 1) if row.fault}
        assert report.adds_up
        assert (report.read, report.rejected, report.pending) == (len(load.rows), len(named), 0)
        assert invalid <= named
        assert len(named - invalid) <= load.refusals
        self._check_counts(load, report)
        self._check_groups(load, named)
        if load.has_digests:
            self._note_vanished(load, report)
        self._disturb(load.ids, by=load)
        for product_id in load.ids:
            self._note_product(load, product_id, named)
        load.report = report
        self.harness.counts.outcomes[f"finished {'alone' if load.is_alone else 'disturbed'} load"] += 1
        if load.options["journal"] is not None:
            self.finished.append(load)

    def _check_counts(self, load: Load, report: UpsertReport) -> None:
        sent = report.created + report.updated + report.unchanged
        if not load.was_cancelled:
            assert load.put <= sent, "products that were taken are put once"
        expected = load.outcomes()
        if load.is_clean and load.is_alone and expected is not None:
            assert (report.created, report.updated, report.unchanged, report.skipped) == expected
            assert load.put == sent

    def _check_groups(self, load: Load, named: set[int]) -> None:
        """New variants stand in the order of the feed, unless an answer has left one out."""
        if not (load.is_alone and load.is_clean):
            return
        order = list(self.emulator.products(self.catalog_id))
        groups: dict[str, dict[str, None]] = {}
        for number, row in load.valid:
            is_new = load.before.of(row.id) == {Absent}
            if (
                row.group
                and number not in named
                and is_new
                and len({r.group for _, r in load.valid if r.id == row.id}) == 1
            ):
                groups.setdefault(row.group, {})[row.id] = None
        for ids in groups.values():
            # Of those that others have deleted, the digest file may not know.
            there = [each for each in ids if each in order]
            assert there == sorted(there, key=order.index)

    def _note_product(self, load: Load, product_id: str, named: set[int]) -> None:
        """What was taken last is there, and in the digest file."""
        versions = [(number in named, row) for number, row in load.valid if row.id == product_id]
        if not versions:
            return
        before = load.before if load.is_alone else self.stock
        held, loaded = before.of(product_id), before.loaded_of(product_id)
        for is_refused, row in versions:
            sure = load.is_alone and not is_refused and not (load.has_digests and product_id in self.foreign)
            held = frozenset({row.content}) if sure else held | {row.content}
            loaded = frozenset({row.content}) if sure else loaded | {row.content, "unknown"}
        self.stock.products[product_id] = held
        if load.has_digests:
            self.stock.loaded[product_id] = loaded

    def _note_vanished(self, load: Load, report: UpsertReport) -> None:
        may_be = self._may_have_vanished(load)
        must_be = {each for each in may_be if Absent not in self.stock.loaded_of(each)}
        named = set(report.vanished_ids)
        assert must_be <= named <= may_be
        assert report.vanished == len(named)
        unconfirmed = {issue.product_id for issue in report.warning_details if issue.row == 0}
        if not load.deletes:
            assert (report.deleted, report.unconfirmed) == (0, 0)
            return
        assert (report.deleted, report.unconfirmed) == (len(named - unconfirmed), len(unconfirmed))
        if load.is_clean:
            assert unconfirmed <= self.foreign
        for product_id in named:
            sure = product_id not in unconfirmed and product_id not in self.foreign
            self.stock.put(product_id, Absent, "yes" if sure else "unknown")
            gone: frozenset[Loaded] = frozenset({"unknown"}) if product_id in unconfirmed else frozenset({Absent})
            self.stock.loaded[product_id] = gone

    def _disturb(self, ids: Iterable[str], *, by: Load | None = None) -> None:
        """The catalog is changed, as loads that are not finished do not know."""
        if by is None or not by.has_digests or not by.is_alone:
            self.foreign |= set(ids)
        for load in self.loads:
            if load is not by:
                load.is_alone = False

    # What must hold ---------------------------------------------------------------------------------------------------

    @check
    def the_products_are_those_of_the_model(self) -> None:
        stored = self._stored()
        assert {name: each for name, each in stored.items() if name in self.seeded} == self.seeded
        self.stock.see({name: each for name, each in stored.items() if name not in self.seeded})

    @check
    def keys_stay_as_long_as_their_products(self) -> None:
        keys = {name: each["product_key"] for name, each in self.emulator.products(self.catalog_id).items()}
        assert len(set(keys.values())) == len(keys)
        assert all(self.keys.get(name, key) == key for name, key in keys.items())
        self.keys = keys


def test_catalogs_have_the_products_of_the_model() -> None:
    run_machine(Catalogs)
