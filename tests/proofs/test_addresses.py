"""Files of a web server, read by the command line: jobs that are killed, files that change or end early, and no query."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from socialapi.cli.demo_data import write_product_feed
from tests.bulk.inputs.test_remote import Website
from tests.proofs.processes import Service, service
from tests.proofs.test_catalogs import plain, seed_catalog
from tests.proofs.test_files_of_jobs import Ended, audience_arguments, ended, kill_after, reset, run, started
from tests.proofs.test_sync import write as write_people
from tests.support.server import Cut, Server, answer
from tests.support.tls import Authority

pytestmark = [pytest.mark.timeout(1_800), pytest.mark.xdist_group("uploads")]

PRODUCTS: Final = 20_000
PEOPLE: Final = 100_000
KILLS: Final = 20
QUERY: Final = "token=planted-4711"
VERSIONS: Final = {"an ETag": {"ETag": '"one"'}, "a time": {"Last-Modified": "Sun, 01 Nov 2026 10:00:00 GMT"}}
CHANGED: Final = {"ETag": '"two"', "Last-Modified": "Mon, 02 Nov 2026 10:00:00 GMT"}


@pytest.fixture(scope="module")
def emulator() -> Iterator[Service]:
    with service() as running:
        yield running


@pytest.fixture
async def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Server]:
    authority = Authority(tmp_path / "authority")
    monkeypatch.setenv("SOCIALAPI_CA_FILE", str(authority.file))
    async with Server(tls=authority.server("127.0.0.1")) as running:
        yield running


async def killed(emulator: Service, arguments: list[str], folder: Path, requests: int) -> Ended:
    def work() -> Ended:
        with started(emulator, arguments, folder) as process:
            kill_after(emulator, requests, process)
            return ended(process)

    return await asyncio.to_thread(work)


def check_nothing_shows_the_query(folder: Path, ends: list[Ended]) -> None:
    told = {str(number): f"{end.report}{end.err}".encode() for number, end in enumerate(ends)}
    files = {str(path): path.read_bytes() for path in folder.parent.rglob("*") if path.is_file()}
    assert any("journal" in name for name in files)
    assert not [name for name, content in (told | files).items() if b"planted" in content]


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_feed_at_an_address_is_killed_and_resumed_and_refused_once_it_has_changed(
    emulator: Service, server: Server, tmp_path: Path, proof_scale: float, version: str
) -> None:
    rng, ends = random.Random(version), list[Ended]()
    source, folder = tmp_path / "source.csv", tmp_path / "job"
    folder.mkdir()
    expected = write_product_feed(source, int(PRODUCTS * proof_scale))
    site = Website(source.read_bytes(), dict(VERSIONS[version]))
    source.unlink()
    server.then = site.serve
    reset(emulator)
    arguments = ["catalog", "upsert", f"{server.url}/feed.csv?{QUERY}", "--catalog", seed_catalog(emulator), "--json"]
    for name in ("journal", "digests", "outcomes", "rejects"):
        arguments += [f"--{name}", str(folder / f"{name}.csv")]
    for _ in range(max(2, int(KILLS * proof_scale))):
        ends.append(await killed(emulator, [*arguments, "--concurrency", "2"], folder, rng.randint(3, 15)))
    site.headers = {name: CHANGED[name] for name in site.headers}
    sent = len(emulator.requests())
    ends.append(await asyncio.to_thread(run, emulator, arguments, folder))
    assert ends[-1].status == 2
    assert "belongs to another input: version" in ends[-1].err
    assert len(emulator.requests()) == sent
    site.headers = dict(VERSIONS[version])
    ends.append(await asyncio.to_thread(run, emulator, [*arguments, "-vv"], folder))
    assert ends[-1].status in {0, 1}, ends[-1].err
    assert ends[-1].report["pending"] == 0
    assert plain(emulator.products(seed_catalog(emulator))).items() >= expected.products.items()
    ends.append(await asyncio.to_thread(run, emulator, ["jobs", "show", str(folder / "journal.csv"), "--json"], folder))
    ends.append(await asyncio.to_thread(run, emulator, ["jobs", "list", "--json"], folder))
    check_nothing_shows_the_query(folder, ends)


def ends_early(content: bytes, headers: dict[str, Any]) -> Any:
    whole = answer(content, **{name.replace("-", "_"): value for name, value in headers.items()})
    return Cut(whole[: -len(content) // 3])


def has_changed(content: bytes, headers: dict[str, Any]) -> Any:
    return answer(content[: len(content) // 2], ETag='"two"', Last_Modified=CHANGED["Last-Modified"])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("fault", [ends_early, has_changed])
async def test_a_file_that_ends_early_or_changes_removes_nobody(
    emulator: Service, server: Server, tmp_path: Path, proof_scale: float, version: str, fault: Callable[..., Any]
) -> None:
    source, folder, ends = tmp_path / "source.csv", tmp_path / "job", list[Ended]()
    folder.mkdir()
    members = write_people(source, range(int(PEOPLE * proof_scale)))
    site = Website(source.read_bytes(), dict(VERSIONS[version]))
    server.then = site.serve
    reset(emulator)
    arguments = [
        "sync",
        f"{server.url}/crm.csv?{QUERY}",
        "--snapshot",
        str(folder / "journal"),
        "--max-removal-share",
        "1",
    ]
    arguments = audience_arguments(emulator, *arguments)
    ends.append(await killed(emulator, arguments, folder, 2))
    ends.append(await asyncio.to_thread(run, emulator, arguments, folder))
    assert (ends[-1].status, emulator.members()) == (0, members)
    sent = len(emulator.requests())
    site.whole = lambda content: fault(content, site.headers)
    ends.append(await asyncio.to_thread(run, emulator, [*arguments, "-vv"], folder))
    assert ends[-1].status == 2
    assert len(emulator.requests()) == sent
    assert emulator.members() == members
    check_nothing_shows_the_query(folder, ends)
