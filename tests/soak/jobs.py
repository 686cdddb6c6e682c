"""The jobs of the client of a soak, and what all of its workers share.

Every job keeps what it expects of the service, which is bounded, and compares it with what the
service holds after each round. What is delivered is noted in a file, so that the process itself
holds nothing that grows.
"""

import asyncio
import contextlib
import csv
import hashlib
import json
import random
import shutil
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final

import aiohttp
import attrs

from socialapi import Client
from socialapi.errors import BulkError, SocialApiError, Unauthorized
from socialapi.reports import Progress, SyncReport, UploadReport, UpsertReport
from socialapi.session.oauth2_user import ENDED_GRANTS

LATE_SECONDS: Final = 1.0
"""How long a request that was given up may still be on its way in the emulator: more than any delay
of a fault.
"""
ATTEMPTS: Final = 30
"""How often a job is continued after an error before that counts as a broken rule."""
KINDS: Final = ("email", "phone_number")

Member = tuple[str, str]


class Broken(Exception):
    """A rule that does not hold; the text says which."""


@attrs.define(kw_only=True)
class Soak:
    """What the workers share."""

    client: Client
    control: aiohttp.ClientSession
    """Asks the control plane, without the SDK."""
    control_url: str
    secret: str = attrs.field(repr=False)
    folder: Path
    notes: IO[str]
    seed: int
    people: int
    products: int
    posts_in_a_walk: int
    pause_seconds: float
    reopen_seconds: float
    margin_seconds: float
    receiver_port: int
    seeded: Mapping[str, list[str]]
    timeline: list[int]
    """The newest posts of the first user, the newest first, as the emulator held them at its start."""
    registered: asyncio.Event = attrs.field(factory=asyncio.Event)
    """Set when the webhook is there: what is published from then on has to be handled."""
    stopping: asyncio.Event = attrs.field(factory=asyncio.Event)
    """Set when faults are over: every job makes a last round, and ends."""
    ending: asyncio.Event = attrs.field(factory=asyncio.Event)
    """Set when everything was published: streams and the receiver end."""
    done: Counter[str] = attrs.field(factory=Counter)
    """Operations by kind."""
    errors: Counter[str] = attrs.field(factory=Counter)
    """Errors that callers were told of, by their class."""

    def note(self, *values: Any) -> None:
        self.notes.write(json.dumps(values) + "\n")

    def rng(self, name: str) -> random.Random:
        return random.Random(f"{self.seed} {name}")

    async def pause(self, rng: random.Random) -> None:
        """Waits a while, or until the last round."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.stopping.wait(), self.pause_seconds * rng.uniform(0.2, 1.8))

    async def lines(self, path: str) -> list[Any]:
        """The JSON documents that the control plane answers with."""
        async with self.control.get(f"{self.control_url}/{path}") as answer:
            answer.raise_for_status()
            return [json.loads(line) for line in (await answer.read()).splitlines()]

    async def members(self, path: str) -> set[Member]:
        return {(each["kind"], each["value"]) for each in await self.lines(f"{path}/members")}

    @contextlib.contextmanager
    def telling(self, kind: str) -> Iterator[None]:
        """Counts a call, or the error that its caller was told of."""
        try:
            yield
        except SocialApiError as error:
            self.tell(kind, error)
        else:
            self.done[kind] += 1

    def tell(self, kind: str, error: SocialApiError) -> None:
        """Counts an error. A token may end twice while one call is repeated; a lost sign-in is more
        than that.
        """
        is_for_good = isinstance(error, Unauthorized) and (
            self.stopping.is_set() or not ENDED_GRANTS.isdisjoint(map(str, error.codes))
        )
        if is_for_good:
            raise Broken(f"{kind}: the client lost its credentials: {error}")
        self.errors[type(error).__name__] += 1


async def guarded(soak: Soak, worker: Callable[[Soak], Awaitable[None]], name: str) -> None:
    """Runs a worker to its end; whatever it raises is noted, and the others go on."""
    try:
        await worker(soak)
    except Exception as problem:  # noqa: BLE001  # the judge tells it
        where = "" if isinstance(problem, Broken) else "".join(traceback.format_exception(problem)[-3:])
        soak.note("broken", name, f"{type(problem).__name__}: {problem} {where}".strip())


# People ----------------------------------------------------------------------------------------------------------------


def person(number: int) -> tuple[str, str]:
    """E-mail address and phone number, as they are hashed."""
    return f"person.{number}@example.com", f"+1415{2_000_000 + number:07}"


def identifiers(number: int) -> set[Member]:
    return {(kind, hashlib.sha256(text.encode()).hexdigest()) for kind, text in zip(KINDS, person(number), strict=True)}


def everybody(numbers: Iterable[int]) -> set[Member]:
    return {each for number in numbers for each in identifiers(number)}


@attrs.define
class Row:
    """A row of an upload; no person stands for one without a usable identifier."""

    person: int | None
    operation: str = "Update"


def write_people(path: Path, rows: Iterable[Row], *, with_operations: bool = True) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow([*KINDS, "operation_type"] if with_operations else KINDS)
        for row in rows:
            cells = ("nobody at all", "-") if row.person is None else person(row.person)
            table.writerow([*cells, row.operation] if with_operations else cells)


def rejected_rows(path: Path) -> set[int]:
    """The numbers of the rows in a rejects file."""
    if not path.exists():
        return set()
    with path.open(encoding="utf-8", newline="") as file:
        return {int(row["row"]) for row in csv.DictReader(file)}


# Jobs ------------------------------------------------------------------------------------------------------------------

Start = Callable[[Callable[[Progress], None] | None], Awaitable[UploadReport]]


async def finished(soak: Soak, kind: str, start: Start, rng: random.Random) -> UploadReport:
    """The report of a job that is cancelled in the middle at times, and is continued after every
    error.
    """
    for _ in range(ATTEMPTS):
        is_cancelled = rng.random() < 0.35 and not soak.stopping.is_set()
        try:
            report = await (_cancelled(soak, kind, start, rng) if is_cancelled else start(None))
        except BulkError as error:
            soak.errors["BulkError"] += 1
            if not error.report.adds_up:
                raise Broken(f"{kind}: the report of a stopped job does not add up: {error.report}") from None
            report = None
        if report is not None:
            soak.done[kind] += 1
            soak.done["rows"] += report.read
            if not report.adds_up or report.pending:
                raise Broken(f"{kind}: the report does not add up, or rows are pending: {report}")
            return report
        # What was on its way when the job ended may still be executed, and must not come after the next request.
        await asyncio.sleep(LATE_SECONDS)
    raise Broken(f"{kind}: a job did not come to its end in {ATTEMPTS} runs")


async def _cancelled(soak: Soak, kind: str, start: Start, rng: random.Random) -> UploadReport | None:
    """Cancels the job as it makes progress; the report if it was faster."""
    steps = rng.randrange(1, 8)

    def step(_: Progress) -> None:
        nonlocal steps
        steps -= 1
        if steps == 0:
            running.cancel()

    running = asyncio.ensure_future(start(step))
    try:
        return await running
    except asyncio.CancelledError:
        if (task := asyncio.current_task()) is not None and task.cancelling():
            raise
        soak.done[f"{kind}, cancelled"] += 1
        return None


@attrs.define
class Uploads:
    """Uploads of additions and removals to one audience or list, each with a journal."""

    name: str
    path: str
    """Of its members, below the control plane."""
    upload: Callable[..., Awaitable[UploadReport]]
    packing: str
    present: set[int] = attrs.field(factory=set)
    doubtful: set[int] = attrs.field(factory=set)
    """Those whose last row the service refused, perhaps after an answer that was lost."""

    async def run(self, soak: Soak) -> None:
        rng = soak.rng(self.name)
        while not soak.stopping.is_set():
            await self.round(soak, rng, list(self.rows(soak, rng)))
            await soak.pause(rng)
        await self.round(soak, rng, [Row(number) for number in range(soak.people)])
        await self.round(soak, rng, [Row(number, "Delete") for number in range(0, soak.people, 3)])
        if self.doubtful:
            raise Broken(f"{self.name}: rows were refused without a fault")

    def rows(self, soak: Soak, rng: random.Random) -> Iterable[Row]:
        for number in rng.sample(range(soak.people), rng.randrange(soak.people // 4, soak.people)):
            yield Row(number, rng.choice(("Update", "Delete")))
            if rng.random() < 0.05:
                yield Row(number, rng.choice(("Update", "Delete")))
            if rng.random() < 0.02:
                yield Row(None)

    async def round(self, soak: Soak, rng: random.Random, rows: list[Row]) -> None:
        folder = soak.folder / self.name
        folder.mkdir()
        source, rejects = folder / "people.csv", folder / "rejects.csv"
        write_people(source, rows)

        def start(on_progress: Callable[[Progress], None] | None) -> Awaitable[UploadReport]:
            return self.upload(
                source, journal=folder / "journal", rejects=rejects, packing=self.packing, on_progress=on_progress
            )

        report = await finished(soak, self.name, start, rng)
        refused = rejected_rows(rejects)
        self.expect(rows, refused)
        if (report.read, report.rejected) != (len(rows), len(refused)):
            raise Broken(f"{self.name}: {len(rows)} rows, {len(refused)} in the rejects file, but {report}")
        await self.compare(soak)
        shutil.rmtree(folder)

    def expect(self, rows: list[Row], refused: set[int]) -> None:
        unsure = {row.person for number, row in enumerate(rows, 1) if number in refused and row.person is not None}
        for row in rows:
            if row.person is None:
                continue
            if row.operation == "Update":
                self.present.add(row.person)
            else:
                self.present.discard(row.person)
            self.doubtful.discard(row.person)
        self.doubtful |= unsure

    async def compare(self, soak: Soak) -> None:
        held, doubtful = await soak.members(self.path), everybody(self.doubtful)
        difference = (held ^ everybody(self.present)) - doubtful
        if difference:
            raise Broken(f"{self.name}: {len(difference)} identifiers of {len(held)} are not as they should be")
        soak.done["identifiers compared"] += len(held)


async def sync(soak: Soak) -> None:
    """Syncs of an audience whose members change in each round, with one snapshot."""
    rng, account = soak.rng("sync"), soak.seeded["account_ids"][0]
    audience_id = soak.seeded["custom_audience_ids"][1]
    audience = soak.client.ads.account(account).custom_audience(audience_id)
    source, snapshot = soak.folder / "desired.csv", soak.folder / "members.snapshot"
    wanted = set(rng.sample(range(soak.people), soak.people // 2))
    is_last = False
    while True:
        write_people(source, [Row(number) for number in sorted(wanted)], with_operations=False)

        def start(on_progress: Callable[[Progress], None] | None) -> Awaitable[UploadReport]:
            return audience.sync(source, snapshot=snapshot, max_removal_share=1.0, on_progress=on_progress)

        report = await finished(soak, "audience sync", start, rng)
        assert isinstance(report, SyncReport)
        held = await soak.members(f"audiences/{account}/{audience_id}")
        refused = report.additions.rejected + report.removals.rejected + report.removals.pending + report.held_back
        wrong = len(held ^ everybody(wanted))
        if wrong > len(KINDS) * refused:
            raise Broken(f"audience sync: {wrong} identifiers are wrong, and {refused} were refused: {report}")
        soak.done["identifiers compared"] += len(held)
        if is_last:
            if refused:
                raise Broken(f"audience sync: {refused} were refused without a fault")
            return
        wanted ^= set(rng.sample(range(soak.people), soak.people // 8))
        await soak.pause(rng)
        is_last = soak.stopping.is_set()


# Catalogs --------------------------------------------------------------------------------------------------------------

FIELDS: Final = (
    *("id", "title", "description", "availability", "condition", "price", "link", "image_link", "brand"),
    "product_type",
)


OWN: Final = "SOAK-"
"""The start of the ids of our products, in a catalog that has others."""


def product(number: int, version: int) -> dict[str, str]:
    link = f"https://shop.example/{number}"
    values = (
        *(f"{OWN}{number}", f"Mug {number}, version {version}", "Enamel.", "in stock", "new", f"{9 + version}.50 EUR"),
        *(link, f"{link}.jpg", "Hut", "Shoes > Boots"),
    )
    return dict(zip(FIELDS, values, strict=True))


def write_feed(path: Path, products: Iterable[Mapping[str, str]]) -> None:
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, FIELDS)
            table.writeheader()
            table.writerows(products)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(each) + "\n" for each in products), "utf-8")
    else:
        tags = (
            "".join(f"<g:{name}>{value.replace('>', '&gt;')}</g:{name}>" for name, value in each.items())
            for each in products
        )
        items = "".join(f"<item>{each}</item>" for each in tags)
        start = '<rss xmlns:g="http://base.google.com/ns/1.0" version="2.0"><channel>'
        path.write_text(f"{start}{items}</channel></rss>", "utf-8")


@attrs.define
class Loads:
    """Loads of one catalog with a digest file: products change, come and vanish in each round."""

    name: str
    catalog_id: str
    versions: dict[int, int] = attrs.field(factory=dict)
    doubtful: set[str] = attrs.field(factory=set)
    """Ids of products that the service refused, perhaps after an answer that was lost."""

    async def run(self, soak: Soak) -> None:
        rng = soak.rng(self.name)
        while not soak.stopping.is_set():
            for number in rng.sample(range(soak.products), soak.products // 5):
                self.versions[number] = rng.randrange(100)
            for number in rng.sample(range(soak.products), soak.products // 10):
                self.versions.pop(number, None)
            await self.round(soak, rng)
            await soak.pause(rng)
        gone = dict.fromkeys(range(0, soak.products, 4))
        self.versions |= dict.fromkeys(range(soak.products), 100)
        await self.round(soak, rng)
        for number in gone:
            del self.versions[number]
        await self.round(soak, rng)
        if self.doubtful:
            raise Broken(f"{self.name}: products were refused without a fault")

    async def round(self, soak: Soak, rng: random.Random) -> None:
        folder = soak.folder / self.name
        folder.mkdir()
        feed = folder / f"feed{rng.choice(('.csv', '.jsonl', '.xml'))}"
        wanted = {each["id"]: each for each in (product(*each) for each in sorted(self.versions.items()))}
        write_feed(feed, wanted.values())
        products = soak.client.catalog(self.catalog_id).products

        def start(on_progress: Callable[[Progress], None] | None) -> Awaitable[UploadReport]:
            return products.upsert(
                feed,
                journal=folder / "journal",
                digests=soak.folder / f"{self.name}.digests",
                rejects=folder / "rejects.csv",
                delete_vanished=True,
                max_vanished_share=1.0,
                on_progress=on_progress,
            )

        report = await finished(soak, self.name, start, rng)
        assert isinstance(report, UpsertReport)
        await self.compare(soak, wanted, report, folder / "rejects.csv")
        shutil.rmtree(folder)

    async def compare(
        self, soak: Soak, wanted: Mapping[str, Mapping[str, str]], report: UpsertReport, rejects: Path
    ) -> None:
        stored = await soak.lines(f"catalogs/{self.catalog_id}/products")
        held = {each["id"]: each for each in stored if each["id"].startswith(OWN)}
        ids = list(wanted)
        refused = {ids[number - 1] for number in rejected_rows(rejects) if number}
        settled = self.doubtful & wanted.keys() - refused
        self.doubtful = (self.doubtful - settled) | refused
        different = [
            each
            for each in wanted.keys() | held.keys()
            if {name: held.get(each, {}).get(name) for name in FIELDS} != wanted.get(each, dict.fromkeys(FIELDS))
        ]
        wrong = [each for each in different if each not in self.doubtful]
        if len(wrong) > report.unconfirmed or any(each in wanted for each in wrong):
            raise Broken(f"{self.name}: {len(wrong)} products are not as in the feed, such as {wrong[:3]}: {report}")
        soak.done["products compared"] += len(held)
