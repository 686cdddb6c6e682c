"""Targets: files that the package wrote, with some bytes changed by whatever changes bytes."""

import asyncio
import contextlib
import datetime
import functools
import shutil
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final

from socialapi import _speedups
from socialapi.bulk.journals.journal import JobIdentity, Outcome, RecordedBatch
from socialapi.bulk.journals.journal_view import is_journal, look
from socialapi.bulk.journals.sqlite_journal import SqliteJournal
from socialapi.bulk.products.rows import ProductRow
from socialapi.bulk.products.snapshot import Digests
from socialapi.bulk.rejects import RejectsFile
from socialapi.bulk.rows import Action, RowBlock
from socialapi.bulk.sync.snapshot import Snapshot
from socialapi.cli.credential_store import CredentialStore, Login
from socialapi.cli.emulator import _Background, _check_env_file
from socialapi.errors import ConfigurationError
from socialapi.internal.file_lock import FileLock, _is_alive, _noted, _read, is_lock_file, lock_path
from socialapi.internal.sqlite_file import application_id_of
from socialapi.session.token_cache import FileTokenCache
from socialapi.webhooks.inbox import Inbox
from tests.fuzz.target import Pieces, completed, scratch_folder, target

NOW: Final = datetime.datetime(2027, 1, 15, 8, tzinfo=datetime.UTC)
PATIENCE_SECONDS: Final = 1.0
IDENTITY: Final = JobIdentity(
    kind="audience upload", target={"host": "https://ads.example"}, source={"size": 7}, settings={"region": None}
)
Use = Callable[[Path], Coroutine[Any, Any, Any]]


async def _use_journal(path: Path) -> Any:
    journal = SqliteJournal(path)
    try:
        opened = await journal.open(IDENTITY, NOW)
        known = [await journal.recall(number) for number in (1, 2, 3)], await journal.outcomes(1, 40)
        return known, opened.is_new, opened.last_batch, await journal.kept("limit"), await journal.last_row()
    finally:
        await journal.aclose()


async def _fill_journal(path: Path) -> None:
    journal = SqliteJournal(path)
    await journal.open(IDENTITY, NOW)
    for number in (1, 2):
        await journal.begin(RecordedBatch(number, 10 * number, 10 * number + 9, 10, bytes([number]) * 16))
    await journal.confirm(1, [Outcome(12, "rejected", "email", "is odd", 7, (("title", "is long"),))])
    await journal.keep("limit", 1_000)
    await journal.finish("stopped", {"accepted": 9})
    await journal.aclose()


def _row(number: int) -> Any:
    column = _speedups.Digests([bytes([number]).hex() * 32])
    return RowBlock(Action("Update"), [number], (("email", column),)), 2_000_000_000


async def _use_snapshot(path: Path) -> Any:
    snapshot = Snapshot(path, "account", "audience")
    try:
        await snapshot.open()
        await snapshot.stage([_row(2), _row(7)])
        return await snapshot.compare(now=1_000, soon=2_000), await snapshot.count()
    finally:
        await snapshot.aclose()


async def _fill_snapshot(path: Path) -> None:
    snapshot = Snapshot(path, "account", "audience")
    await snapshot.open()
    await snapshot.stage([_row(number) for number in range(1, 6)])
    await snapshot.compare(now=1_000, soon=2_000)
    await snapshot.announce(now=1_000)
    while await snapshot.additions():
        pass
    await snapshot.accept("Update", [range(1, 6)])
    await snapshot.confirm_additions(refused=False, repeated=False)
    await snapshot.finish()
    await snapshot.aclose()


def _products() -> list[ProductRow]:
    return [ProductRow(number, {"id": str(number), "title": "x"}) for number in (1, 2, 3)]


async def _use_digests(path: Path) -> Any:
    digests = Digests(path, "catalog")
    try:
        await digests.open()
        changed = [row.id for row in await digests.changed(_products())]
        await digests.seen(["1"])
        return changed, await digests.count_vanished(), await digests.vanished(), digests.known_before
    finally:
        await digests.aclose()


async def _fill_digests(path: Path) -> None:
    digests = Digests(path, "catalog")
    await digests.open()
    await digests.changed(_products())
    await digests.loaded([(row, None) for row in _products()])
    await digests.aclose()


async def _use_inbox(path: Path) -> Any:
    inbox = Inbox(path, dedup_window=10, max_waiting=10)
    try:
        await inbox.open()
        taken = list[bytes]()
        with contextlib.suppress(TimeoutError):  # a count that was changed promises more events than there are
            async with asyncio.timeout(PATIENCE_SECONDS):
                while len(taken) < min(2, inbox.waiting):
                    taken.append(bytes((await inbox.take()).content))  # type: ignore[union-attr]
        return inbox.waiting, taken
    finally:
        await inbox.aclose()


async def _fill_inbox(path: Path) -> None:
    inbox = Inbox(path, dedup_window=10, max_waiting=10)
    await inbox.open()
    for number in (b"1", b"2"):
        await inbox.add(number * 16, b'{"event_id":"' + number + b'"}')
    await inbox.aclose()


FILES: Final[dict[str, tuple[Use, Use]]] = {
    "journal": (_fill_journal, _use_journal),
    "snapshot": (_fill_snapshot, _use_snapshot),
    "digests": (_fill_digests, _use_digests),
    "inbox": (_fill_inbox, _use_inbox),
}


@functools.cache
def _whole(kind: str) -> tuple[bytes, str]:
    """A file as it is written, and what it says."""
    fill, use = FILES[kind]
    path = scratch_folder() / f"{kind}.whole"

    async def made() -> tuple[bytes, str]:
        await fill(path)
        content = path.read_bytes()
        return content, repr(await use(path))

    return completed(made())


def _changed(kind: str, data: bytes) -> Path:
    """The file with the bytes changed that the input names: two of position, one of value, and so
    on.
    """
    content = bytearray(_whole(kind)[0])
    pieces = Pieces(data)
    cut = pieces.number(65_536)
    while pieces:
        content[pieces.number(65_536) % len(content)] = pieces.number(256)
    folder = scratch_folder() / kind
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    path = folder / "file"
    path.write_bytes(content[: cut % len(content)] if cut else content)
    return path


def _judge(kind: str, data: bytes) -> tuple[str, bool]:
    """What a changed file says, and whether it was changed. It is refused by a sentence, and never
    removed.
    """
    path = _changed(kind, data)
    is_changed = path.read_bytes() != _whole(kind)[0]
    said = ""
    application_id_of(path)
    try:
        said = repr(completed(FILES[kind][1](path)))
    except ConfigurationError as error:
        assert str(path) in str(error)  # noqa: PT017  # any of several sentences
        assert is_changed
    assert path.exists()
    assert is_changed or said == _whole(kind)[1]
    return said, is_changed


@target("journal", "bulk.journals.sqlite_journal:SqliteJournal", "bulk.journals.journal_view:_view")
def _journal(data: bytes) -> None:
    """A journal says what was written, or that it is damaged."""
    path = _changed("journal", data)
    is_journal(path)
    with contextlib.suppress(ConfigurationError):
        look(path)
    said, _ = _judge("journal", data)
    assert said in ("", _whole("journal")[1]) or _is_new(said)


def _is_new(said: str) -> bool:
    """Whether the file was taken for one without records, as one of no bytes is."""
    return said.startswith("(([None, None, None], {}), True,")


@target(
    "snapshot",
    "bulk.sync.snapshot:Snapshot",
    "internal.sqlite_file:SqliteFile",
    "internal.sqlite_file:application_id_of",
)
def _snapshot(data: bytes) -> None:
    """A snapshot that was changed can be read, or is refused by a sentence."""
    _judge("snapshot", data)


@target("digest-file", "bulk.products.snapshot:Digests")
def _digest_file(data: bytes) -> None:
    """As a snapshot."""
    _judge("digests", data)


@target("inbox", "webhooks.inbox:Inbox")
def _inbox(data: bytes) -> None:
    """As a snapshot."""
    _judge("inbox", data)


def _written(name: str, content: bytes) -> Path:
    path = scratch_folder() / name
    path.write_bytes(content)
    return path


@target("token-cache", "session.token_cache:FileTokenCache._read", refusals=(ConfigurationError,))
def _token_cache(data: bytes) -> None:
    """A file of tokens has some, or none. What is stored in it is there."""
    cache = FileTokenCache(_written("tokens.json", data))
    found = cache._read()
    assert all(isinstance(text, str) for text in (*found, *found.values()))
    cache._replace("key", None, "token")
    assert cache._read() == {**found, "key": "token"}


@target("credential-store", "cli.credential_store:CredentialStore._read", refusals=(ConfigurationError,))
def _credential_store(data: bytes) -> None:
    """A file of logins has some, to which one can be added, or is refused and stays."""
    path = _written("credentials.json", data)
    store = CredentialStore(path)
    try:
        store.logins()
    except ConfigurationError:
        assert path.read_bytes() == data
        raise
    login = Login(host="https://api.example", kind="oauth1", secrets={"api_key": "key"})
    store.save(login)
    assert login in store.logins()
    store.remove(login)


@target(
    "notes", "internal.file_lock:_noted", "cli.emulator:_Background.note", "cli.emulator:_check_env_file", hides=False
)
def _notes(data: bytes) -> None:
    """Notes beside files: of a lock, of an emulator in the background, and the heads of files of
    our own.
    """
    path = _written("file", data)
    for look_at in (RejectsFile.is_like, RejectsFile.begins_in, is_lock_file):
        assert look_at(path) in (True, False)
    note = _Background(1, path).note()
    assert all(isinstance(text, str) for text in note.values())
    log = _Background(1, path)._earlier_log()
    assert log is None or log.parent == path.parent
    _check_lock(data)
    _check_env_file(path)


def _check_lock(data: bytes) -> None:
    """A lock file of anybody is never overwritten, and one of ours says who holds it."""
    noted = scratch_folder() / "noted"
    noted.write_bytes(data)
    holder = _noted(_read(noted, start=1))
    assert holder is None or (str(holder) and _is_alive(holder) in (True, False))
    path = scratch_folder() / "locked"
    lock_file = lock_path(path)
    lock_file.write_bytes(data)
    lock = FileLock(path)
    try:
        lock.take()
    except OSError:
        assert lock_file.read_bytes() == data
    finally:
        lock.release()
