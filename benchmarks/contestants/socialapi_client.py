"""Ours: this package, through its public API alone."""

import asyncio
import gc
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.contestants.by_hand import people_of
from benchmarks.contestants.measuring import CollectionWatch, Meter, peak_resident_bytes, resident_bytes
from benchmarks.harness import canned
from benchmarks.harness.files import write_csv
from socialapi import Bearer, Client, Config, OAuth1, Progress, errors
from socialapi.streams import MatchedPost

if TYPE_CHECKING:
    from socialapi.resources.audiences import CustomAudience

LIMIT: Final = "custom_audience_uploads"
UNLIMITED: Final = {LIMIT: (1_000_000_000, 60.0)}
SAMPLE_SECONDS: Final = 0.25
USER: Final = OAuth1("key", "key-secret", "token", "token-secret")


def _core(order: dict[str, Any]) -> Client:
    return Client(Config(base_url=order["url"]), [Bearer("token")])


def _ads(order: dict[str, Any], **settings: Any) -> Client:
    config = Config(ads_url=f"{order['url']}/ads", **{"rate_limits": UNLIMITED, **settings})
    return Client(config, [USER])


def _audience(client: Client, name: str = "c") -> "CustomAudience":
    return client.ads.account("a").custom_audience(name)


def paging(order: dict[str, Any]) -> dict[str, Any]:
    """Walks a timeline post by post."""

    async def walk(client: Client, pages: int) -> tuple[int, int]:
        items = total = 0
        async for post in client.posts.by_user(str(pages), max_results=100):
            text, metrics = post.text, post.public_metrics
            assert text is not None
            assert metrics is not None
            items += 1
            total += len(text) + (metrics.like_count or 0)
        return items, total

    async def main() -> dict[str, Any]:
        async with _core(order) as client:
            await walk(client, order["warm_pages"])
            meter = Meter()
            items, total = await walk(client, order["pages"])
            return meter.told(items=items, checksum=total)

    return asyncio.run(main())


def stream(order: dict[str, Any]) -> dict[str, Any]:
    """Reads the filtered stream."""

    async def main() -> dict[str, Any]:
        seen = total = 0
        meter = Meter()
        async with _core(order) as client, client.filtered_stream.connect() as events:
            async for event in events:
                assert isinstance(event, MatchedPost)
                post = event.data
                seen += 1
                if seen > order["warm_posts"]:
                    assert post.text is not None
                    assert post.public_metrics is not None
                    total += len(post.text) + (post.public_metrics.like_count or 0)
                    if seen == order["warm_posts"] + order["posts"]:
                        break
                elif seen == order["warm_posts"]:
                    meter = Meter()
            return meter.told(items=order["posts"], checksum=total)

    return asyncio.run(main())


def small_signed(order: dict[str, Any]) -> dict[str, Any]:
    """Asks for one post again and again in the name of a user, with OAuth 1.0a."""
    return _small(order, Client(Config(base_url=order["url"]), [USER]))


def small(order: dict[str, Any]) -> dict[str, Any]:
    """Asks for one post again and again."""
    return _small(order, _core(order))


def _small(order: dict[str, Any], opened: Client) -> dict[str, Any]:
    async def ask(client: Client, times: int) -> int:
        total = 0
        for _ in range(times):
            page = await client.posts.lookup(["1"])
            total += len(page.data[0].text or "")
        return total

    async def main() -> dict[str, Any]:
        async with opened as client:
            await ask(client, order["warm_requests"])
            meter = Meter()
            total = await ask(client, order["requests"])
            return meter.told(items=order["requests"], checksum=total)

    return asyncio.run(main())


def audience(order: dict[str, Any]) -> dict[str, Any]:
    """Uploads a list of mappings."""
    return asyncio.run(_upload(order, *people_of(order)))


def audience_csv(order: dict[str, Any]) -> dict[str, Any]:
    """Uploads a CSV file."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("warm.csv", "people.csv")]
        for path, people in zip(paths, people_of(order), strict=True):
            write_csv(path, ((each["email"], each["phone_number"]) for each in people))
        return asyncio.run(_upload(order, *paths))


def audience_arrow(order: dict[str, Any]) -> dict[str, Any]:
    """Uploads an Arrow table, where this version takes one."""
    import pyarrow as pa

    try:
        return asyncio.run(_upload(order, *(pa.Table.from_pylist(people) for people in people_of(order))))
    except errors.InvalidInput as refusal:
        return _refused(order, refusal)


def _refused(order: dict[str, Any], refusal: errors.InvalidInput) -> dict[str, Any]:
    """What an earlier version tells that does not take this input. Raises the refusal of the present
    one.
    """
    if "version" not in order:
        raise refusal
    return {"absent": f"this version of the package says: {refusal}"}


def audience_export(order: dict[str, Any]) -> dict[str, Any]:
    """Uploads an ordinary export, as a file or as mappings."""
    warm = [dict(zip(canned.COLUMNS_OF_EXPORTS, each.cells, strict=False)) for each in _exported(order, "warm_records")]
    records: Any = Path(order["folder"], f"{order['kind']}.{order['format']}")
    if order["format"] == "mappings":
        names = canned.COLUMNS_OF_EXPORTS
        records = [dict(zip(names, each.cells, strict=False)) for each in _exported(order, "records")]
    elif not records.exists():
        return {"absent": f"{records.name} could not be written without pyarrow"}
    return asyncio.run(_upload(order, warm, records, default_region=order["default_region"]))


def _exported(order: dict[str, Any], count: str) -> Iterable[canned.ExportedPerson]:
    return canned.exported_people("clean" if count == "warm_records" else order["kind"], range(order[count]))


def looked_at(order: dict[str, Any]) -> dict[str, Any]:
    """Lints a file, or uploads it without sending."""

    async def main() -> dict[str, Any]:
        records = Path(order["folder"], order["file"])
        async with _ads(order) as client:
            target = _audience(client)
            for warm in ([{"email": "ada@example.com", "phone_number": "+14155550000"}], records):
                meter = Meter()
                if order["lints"]:
                    told = meter.told(items=(await target.lint(warm, default_region="US")).rows)
                else:
                    told = meter.told(items=(await target.upload(warm, dry_run=True, default_region="US")).read)
            return told

    return asyncio.run(main())


async def _upload(order: dict[str, Any], warm: Any, records: Any, **options: Any) -> dict[str, Any]:
    async with _ads(order) as client:
        await _audience(client).upload(warm, **options)
        meter = Meter()
        report = await _audience(client).upload(records, **options)
        return meter.told(items=report.accepted, rejected=report.rejected, duplicate=report.duplicate)


def products(order: dict[str, Any]) -> dict[str, Any]:
    """Loads products from mappings."""

    async def main() -> dict[str, Any]:
        shapes = [canned.product(number) for number in range(order["products"])]
        async with _ads(order) as client:
            await client.catalog("c").products.upsert(shapes[:25])
            meter = Meter()
            report = await client.catalog("c").products.upsert(shapes, concurrency=order["at_once"])
            return meter.told(items=report.accepted)

    return asyncio.run(main())


def quota(order: dict[str, Any]) -> dict[str, Any]:
    """Uploads so many rows, one to a request, as fast as the limit lets it."""

    async def main() -> dict[str, Any]:
        meter = Meter()
        rows = [{"email": f"person{number}@example.com"} for number in range(order["rows"])]
        limits = {LIMIT: (order["quota_requests"], order["quota_seconds"])}
        async with _ads(order, rate_limits=limits, max_operations=1) as client:
            report = await _audience(client).upload(rows)
        return meter.told(items=report.accepted)

    return asyncio.run(main())


def command_line(order: dict[str, Any]) -> dict[str, Any]:
    """Uploads a file with the command line, whose whole process is measured from its start to its
    end.
    """
    file = Path(order["folder"], order["file"])
    if not file.exists():
        return {"absent": f"{file.name} could not be written without pyarrow"}
    credentials = ("API_KEY", "API_KEY_SECRET", "ACCESS_TOKEN", "ACCESS_TOKEN_SECRET")
    environment = {**os.environ, **{f"SOCIALAPI_{name}": "secret" for name in credentials}}
    environment["SOCIALAPI_ADS_URL"] = f"{order['url']}/ads"
    options = ["--account=a", "--audience=c", "--json"]
    command = [sys.executable, "-m", "socialapi", "audience", "upload", str(file), *options]
    began = time.perf_counter()
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False)
    seconds, used = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    report = json.loads(done.stdout)
    counts = {name: report[name] for name in ("rejected", "duplicate")}
    return {"cpu_seconds": used.ru_utime + used.ru_stime, "seconds": seconds, "items": report["accepted"], **counts}


def sync(order: dict[str, Any]) -> dict[str, Any]:
    """Syncs a file with an audience that has nobody yet, or those of the file that is `known`."""
    folder = Path(order["folder"])
    snapshot = folder / f"{os.getpid()}.snapshot"
    is_made_now = False
    if order["known"]:
        made = folder / f"{order['records']}-{order.get('version', 'ours')}.snapshot"
        if is_made_now := not made.exists():
            _sync_in_child({**order, "file": order["known"], "known": None, "keeps": str(made)})
        shutil.copy(made, snapshot)

    async def main() -> dict[str, Any]:
        async with _ads(order) as client:
            # What is imported on first use belongs to no row.
            await _audience(client).sync(
                people_of({**order, "records": 0})[0], snapshot=folder / f"{snapshot.stem}.warm"
            )
            meter = Meter()
            report = await _audience(client).sync(folder / order["file"], snapshot=snapshot, dry_run=order["dry_run"])
            return meter.told(
                items=report.read,
                added=report.additions.accepted,
                removed=report.removals.accepted,
                unchanged=report.unchanged,
                is_made_now=is_made_now,
                identifiers=report.identifiers_after,
                snapshot_bytes=0 if order["dry_run"] else snapshot.stat().st_size,
                peak=peak_resident_bytes(),
            )

    told = asyncio.run(main())
    if order.get("keeps"):
        snapshot.rename(order["keeps"])
    snapshot.unlink(missing_ok=True)
    return told


def _sync_in_child(order: dict[str, Any]) -> None:
    """Makes the snapshot that `keeps` names in a process of its own, whose memory does not count."""
    command = [sys.executable, "-m", "benchmarks.contestant", "socialapi_client", "sync"]
    subprocess.run(command, input=json.dumps(order), stdout=subprocess.DEVNULL, text=True, check=True)


def upload_file(order: dict[str, Any]) -> dict[str, Any]:
    """Uploads a file, or refuses to, and tells what was held in memory on the way."""
    samples: list[tuple[float, int, int]] = []

    def sample(seconds: float) -> None:
        samples.append((seconds, resident_bytes(), peak_resident_bytes()))

    async def main() -> dict[str, Any]:
        sample(0.0)
        meter = Meter()

        def look(progress: Progress) -> None:
            if meter.seconds - samples[-1][0] >= SAMPLE_SECONDS:
                sample(meter.seconds)

        async with _ads(order) as client:
            try:
                report = await _audience(client).upload(Path(order["folder"], order["file"]), on_progress=look)
            except errors.InvalidInput as refusal:
                return _refused(order, refusal)
        sample(meter.seconds)
        return meter.told(items=report.accepted, requests=report.requests, samples=samples, peak=peak_resident_bytes())

    return asyncio.run(main())


def many_jobs(order: dict[str, Any]) -> dict[str, Any]:
    """Uploads to many audiences at once with one client, and watches how long the event loop is
    held.
    """

    async def watch(lags: list[float]) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + 0.005
            await asyncio.sleep(0.005)
            lags.append(loop.time() - due)

    def rows(job: int) -> Iterable[dict[str, str]]:
        first = job * order["records"]
        for number in range(first, first + order["records"]):
            email, phone = canned.person(number)
            yield {"email": email, "phone_number": phone}

    async def main() -> dict[str, Any]:
        lags, collections = [0.0], CollectionWatch()
        async with _ads(order) as client:
            # What is imported on first use would be the longest hold of all.
            await _audience(client).upload(people_of({**order, "records": 0})[0])
            if order.get("sets_collector"):  # as docs/performance.md says
                gc.collect()
                gc.freeze()
                gc.set_threshold(50_000, 20, 100)
            meter = Meter()
            gc.callbacks.append(collections)
            watching = asyncio.create_task(watch(lags))
            jobs = (_audience(client, f"c{job}").upload(rows(job)) for job in range(order["jobs"]))
            reports = await asyncio.gather(*jobs)
            watching.cancel()
        accepted = sum(report.accepted for report in reports)
        return meter.told(
            items=accepted,
            peak=peak_resident_bytes(),
            max_lag_seconds=max(lags),
            max_collection_seconds=collections.max_seconds,
        )

    return asyncio.run(main())
