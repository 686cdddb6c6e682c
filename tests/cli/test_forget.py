"""`socialapi jobs forget`: afterwards nothing of what was planted in the input stands in any byte of the folder."""

import hashlib
import os
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest

from socialapi.cli import app
from socialapi.cli.jobs import KILLED_WITHIN_SECONDS, file_of
from socialapi.emulator import Emulator
from socialapi.internal.file_lock import FileLock
from tests.bulk.products.model_catalog import csv_file, line
from tests.cli.terminal import Printed, answered, program

ACCOUNT: Final = "18ce54d4x5t"
AUDIENCE: Final = "1nmth"
CATALOG: Final = "7pc01"
PRODUCTS: Final = "/ads/12/product_catalogs/*/products"
PLANTED_ID: Final = "planted-id-4711"
PLANTED_TITLE: Final = "Planted title 4712"
PLANTED_MAILS: Final = ("planted.anna.4713@example.com", "planted.bert.4714@example.com", "planted.nobody.4715")


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """The folder of the inputs, which are the user's and stay."""
    (tmp_path / "inputs").mkdir()
    return tmp_path / "inputs"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which jobs leave their files, the list of jobs among them."""
    (tmp_path / "kept").mkdir()
    monkeypatch.chdir(tmp_path / "kept")
    monkeypatch.setenv("SOCIALAPI_STATE_DIR", str(tmp_path / "kept" / "state"))
    return tmp_path / "kept"


@pytest.fixture
def service(service: Emulator, kept: Path) -> Emulator:
    """As everywhere, for commands in the folder `kept`."""
    return service


def digests(values: Iterable[str]) -> list[bytes]:
    """The digests of identifiers, as bytes and as digits."""
    found = [hashlib.sha256(value.encode()).digest() for value in values]
    return [*found, *(each.hex().encode() for each in found)]


def planted(*, in_folder: Path) -> set[bytes]:
    """Which planted values, or digests of people, stand somewhere in the names and bytes of a folder."""
    values = [value.encode() for value in (PLANTED_ID, PLANTED_TITLE, *PLANTED_MAILS)] + digests(PLANTED_MAILS)
    content = b"\n".join(
        str(path).encode() + b"\n" + (path.read_bytes() if path.is_file() else b"") for path in in_folder.rglob("*")
    )
    return {value for value in values if value in content}


def files_in(folder: Path) -> list[str]:
    """The files of a folder and those below, by their names, and links."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())


def feed_in(folder: Path, rows: int = 60) -> Path:
    """A feed with two planted products, of which one is rejected for its price."""
    good, bad = line(PLANTED_ID, title=PLANTED_TITLE), line(f"{PLANTED_ID}-2", title=PLANTED_TITLE, price="cheap")
    return csv_file(folder / "feed.csv", good, bad, *(line(f"p{n}") for n in range(rows)))


def people_in(folder: Path, *mails: str) -> Path:
    path = folder / "people.csv"
    path.write_text("email\n" + "".join(f"{mail}\n" for mail in mails), "utf-8")
    return path


def upsert(feed: Path, *options: str, journal: str = "load.journal") -> int:
    return app.run(["catalog", "upsert", str(feed), "--catalog", CATALOG, "--journal", journal, *options])


def sync(people: Path, *options: str) -> int:
    target = ["--account", ACCOUNT, "--audience", AUDIENCE, "--snapshot", "audience.snapshot"]
    return app.run(["audience", "sync", str(people), *target, *options])


def forget(*arguments: str | Path) -> int:
    return app.run(["jobs", "forget", *map(str, arguments)])


# What a job with a journal leaves


def test_nothing_of_a_load_is_left(service: Emulator, inputs: Path, kept: Path, printed: Printed) -> None:
    assert upsert(feed_in(inputs), "--rejects", "rejects.csv") == 1
    assert planted(in_folder=kept) >= {PLANTED_ID.encode(), PLANTED_TITLE.encode()}
    (link,) = (kept / "state" / "jobs").iterdir()
    assert forget(link.name) == 0
    assert files_in(kept) == []
    assert planted(in_folder=kept) == set()
    assert printed.readouterr().err == (
        f"socialapi: deleted the rejects file {kept / 'rejects.csv'}\n"
        f"socialapi: deleted the journal {kept / 'load.journal'}\n"
    )


def test_nothing_of_an_upload_is_left(service: Emulator, inputs: Path, kept: Path) -> None:
    people = people_in(inputs, *PLANTED_MAILS)
    target = ["--account", ACCOUNT, "--audience", AUDIENCE, "--journal", "up.journal", "--rejects", "rejects.csv"]
    assert app.run(["audience", "upload", str(people), *target]) == 1
    assert planted(in_folder=kept) == set()  # neither a journal nor the rejects of people hold a value or its digest
    assert forget("up.journal") == 0
    assert files_in(kept) == []


def test_what_links_lead_to_is_deleted_and_not_the_links_alone(
    service: Emulator, inputs: Path, kept: Path, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    (kept / "load.journal").symlink_to(disk / "load.journal")
    assert upsert(feed_in(inputs), "--rejects", "rejects.csv") == 1
    assert files_in(disk) == ["load.journal"]
    assert forget("load.journal") == 0
    assert (files_in(disk), files_in(kept)) == ([], [])


def test_what_stood_beside_a_journal_that_is_gone_is_deleted(service: Emulator, inputs: Path, kept: Path) -> None:
    assert upsert(feed_in(inputs), "--rejects", "rejects.csv") == 1
    (kept / "load.journal").rename(kept / "load.journal-wal")
    assert forget(kept / "load.journal") == 0
    assert files_in(kept) == ["rejects.csv"]  # which job it is of, the journal knew


# What stays, and is said to


def test_a_rejects_file_that_is_to_be_kept_is_and_outcomes_always_are(
    service: Emulator, inputs: Path, kept: Path
) -> None:
    assert upsert(feed_in(inputs), "--rejects", "rejects.csv", "--outcomes", "outcomes.csv") == 1
    assert forget("load.journal", "--keep-rejects") == 0
    assert files_in(kept) == ["outcomes.csv", "rejects.csv"]


def test_a_rejects_file_that_a_later_job_has_written_is_left_to_it(
    service: Emulator, inputs: Path, kept: Path, printed: Printed
) -> None:
    feed = feed_in(inputs)
    for journal in ("first.journal", "second.journal"):
        assert upsert(feed, "--rejects", "rejects.csv", journal=journal) == 1
    links = (kept / "state" / "jobs").iterdir()
    (later,) = (link.name for link in links if link.readlink() == kept / "second.journal")
    printed.readouterr()
    assert forget("first.journal") == 0
    assert printed.readouterr().err == (
        f"socialapi: the rejects file {kept / 'rejects.csv'} now belongs to the job {later}, and is kept\n"
        f"socialapi: deleted the journal {kept / 'first.journal'}\n"
    )
    assert forget("second.journal") == 0
    assert files_in(kept) == []


def test_a_rejects_file_that_a_job_without_a_journal_has_written_since_stays_with_status_1(
    service: Emulator, inputs: Path, kept: Path, printed: Printed
) -> None:
    rejects = kept / "rejects.csv"
    assert upsert(feed_in(inputs), "--rejects", "rejects.csv") == 1
    other = csv_file(inputs / "other.csv", line("other-1", price="dear"))
    assert app.run(["catalog", "upsert", str(other), "--catalog", CATALOG, "--rejects", "rejects.csv"]) == 1
    content = rejects.read_bytes()
    assert b"other-1" in content
    printed.readouterr()
    assert forget("load.journal") == 1
    assert printed.readouterr().err == (
        f"socialapi: the rejects file {rejects} was changed after the job, so it is kept; "
        f"`socialapi jobs forget {rejects}` deletes it\n"
        f"socialapi: deleted the journal {kept / 'load.journal'}\n"
    )
    assert rejects.read_bytes() == content
    assert forget(rejects, "--yes") == 0
    assert files_in(kept) == []


@pytest.mark.slow
async def test_a_rejects_file_that_was_written_long_after_a_killed_job_stays(inputs: Path, kept: Path) -> None:
    feed, rejects = feed_in(inputs, 2_000), kept / "rejects.csv"
    options = ("--catalog", CATALOG, "--journal", kept / "load.journal", "--rejects", rejects)
    async with Emulator() as emulator:
        emulator.faults.add("stall", method="PUT", path=PRODUCTS, after_requests=5, times=100)
        environment = emulator.environment | {"SOCIALAPI_STATE_DIR": str(kept / "state")}
        async with program("catalog", "upsert", feed, *options, environment=environment) as job:
            await answered(emulator, 200, 5)
            job.interrupt(signal.SIGKILL)
            await job.ended()
        rejects.write_text("row,field,reason\n", "utf-8")
        later = rejects.stat().st_mtime + 2 * KILLED_WITHIN_SECONDS
        os.utime(rejects, (later, later))
        async with program("jobs", "forget", kept / "load.journal", "--yes", environment=environment) as command:
            status, _, says = await command.ended()
    assert (status, "was changed after the job, so it is kept" in says) == (1, True)
    assert "rejects.csv" in files_in(kept)


def test_a_rejects_file_that_a_job_uses_or_somebody_has_replaced_stays_with_status_1(
    service: Emulator, inputs: Path, kept: Path, printed: Printed
) -> None:
    rejects = kept / "rejects.csv"
    assert upsert(feed_in(inputs), "--rejects", "rejects.csv") == 1
    lock = FileLock(rejects)
    assert lock.take() is None
    printed.readouterr()
    assert forget("load.journal") == 1
    deleted = f"socialapi: deleted the journal {kept / 'load.journal'}\n"
    assert printed.readouterr().err == (
        f"socialapi: the rejects file {rejects} is in use by another job, and is kept\n{deleted}"
    )
    lock.release()
    assert upsert(inputs / "feed.csv", "--rejects", "rejects.csv") == 1
    rejects.write_text("a letter", "utf-8")
    printed.readouterr()
    assert forget("load.journal") == 1
    assert printed.readouterr().err == f"socialapi: {rejects} is no longer a rejects file, and is kept\n{deleted}"
    assert files_in(kept) == ["rejects.csv"]


def test_a_digest_file_stays_until_it_is_named(service: Emulator, inputs: Path, kept: Path, printed: Printed) -> None:
    assert upsert(feed_in(inputs), "--digests", "shop.digests") == 1
    printed.readouterr()
    assert forget("load.journal") == 0
    path = kept / "shop.digests"
    assert printed.readouterr().err == (
        f"socialapi: deleted the journal {kept / 'load.journal'}\n"
        f"socialapi: the digest file {path} is kept, because later loads need it; `socialapi jobs forget {path}` deletes it\n"
    )
    assert planted(in_folder=kept) == {PLANTED_ID.encode()}
    assert forget(path) == 2
    assert "every product again" in printed.readouterr().err
    assert forget(path, "--yes") == 0
    assert files_in(kept) == []


# Files of jobs without a journal


def test_who_is_left_out_of_a_sync_is_gone_from_its_snapshot(service: Emulator, inputs: Path, kept: Path) -> None:
    anna, bert, _ = PLANTED_MAILS
    assert sync(people_in(inputs, anna, bert)) == 0
    assert planted(in_folder=kept) == set(digests([anna, bert])[:2])
    assert sync(people_in(inputs, anna), "--max-removal-share", "1") == 0
    assert planted(in_folder=kept) == set(digests([anna])[:1])
    assert len(service.members(ACCOUNT, AUDIENCE)) == 1


def test_nothing_of_a_sync_is_left_but_only_on_purpose(
    service: Emulator, inputs: Path, kept: Path, printed: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sync(people_in(inputs, *PLANTED_MAILS[:2])) == 0
    printed.readouterr()
    assert forget("audience.snapshot") == 2
    assert printed.readouterr().err == (
        "socialapi: the snapshot audience.snapshot is deleted only with --yes: without the file, the next sync adds "
        "everyone again, and people who left since the last sync are not removed\n"
    )
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda _: "n")
    assert forget("audience.snapshot") == 2
    monkeypatch.setattr("builtins.input", lambda _: "y")
    assert forget("audience.snapshot") == 0
    assert files_in(kept) == []


def test_a_rejects_file_is_deleted_by_its_path(service: Emulator, inputs: Path, kept: Path, printed: Printed) -> None:
    assert app.run(["catalog", "upsert", str(feed_in(inputs)), "--catalog", CATALOG, "--rejects", "rejects.csv"]) == 1
    printed.readouterr()
    assert forget("rejects.csv") == 2
    assert "is deleted only with --yes: the rejected rows are listed nowhere else" in printed.readouterr().err
    assert forget("rejects.csv", "--yes") == 0
    assert files_in(kept) == []


def test_a_file_that_a_job_uses_is_left_alone(service: Emulator, inputs: Path, kept: Path, printed: Printed) -> None:
    assert sync(people_in(inputs, *PLANTED_MAILS[:2])) == 0
    lock = FileLock(kept / "audience.snapshot")
    assert lock.take() is None
    printed.readouterr()
    assert forget("audience.snapshot", "--yes") == 2
    assert printed.readouterr().err == ("socialapi: the snapshot audience.snapshot is in use by a job: end it first\n")
    lock.release()
    assert files_in(kept) == ["audience.snapshot"]


def test_a_job_knows_the_files_that_its_command_names() -> None:
    command = ("catalog", "upsert", "/data/--rejects=x", "--rejects=/data/100%% r.csv", "--journal=/data/j")
    assert file_of(command, "rejects") == Path("/data/100% r.csv")
    assert file_of(command, "digests") is None
