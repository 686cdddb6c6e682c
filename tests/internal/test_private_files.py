"""Files of the user's own: how much is read of them, who may read them, and when a new one is on the disk."""

import asyncio
import os
import stat
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from unittest import mock

import pytest

from socialapi import Config
from socialapi.bulk.audiences.columns import IdentifierColumns
from socialapi.bulk.inputs.layouts import read_layout
from socialapi.bulk.journals.journal import JobIdentity
from socialapi.bulk.outcomes import OutcomesFile
from socialapi.bulk.output_file import OutputFile
from socialapi.bulk.rejects import RejectsFile
from socialapi.cli.credential_store import CredentialStore, Login
from socialapi.cli.jobs import CommandJournal
from socialapi.cli.output import replacing
from socialapi.errors import ConfigurationError, InvalidInput
from socialapi.internal.private_files import make_private_folder
from socialapi.models.audiences import IDENTIFIER_KINDS
from socialapi.session.network import Certificates
from socialapi.session.token_cache import FileTokenCache

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes and links are those of POSIX")

MB: Final = 1_000_000


def login_at(path: Path) -> None:
    CredentialStore(path).save(Login(host="https://a.example", kind="oauth1", secrets={"api_key": "k"}))


def tokens_at(path: Path) -> None:
    make_private_folder(path.parent)
    FileTokenCache(path)._replace("key", None, "token")


def job_at(path: Path) -> None:
    async def begin() -> None:
        journal = CommandJournal(path.parents[3] / "a.journal", ())
        await journal.open(JobIdentity(kind="upload", target={}, source={}, settings={}), datetime.now(UTC))
        await journal.aclose()

    with mock.patch.dict(os.environ, SOCIALAPI_STATE_DIR=str(path.parents[1])):
        asyncio.run(begin())


def text_at(path: Path) -> None:
    with replacing(path) as file:
        file.write(b"{}")


def outcomes_at(path: Path) -> None:
    file = OutcomesFile(path)
    file.begin(has_places=False)
    file.close()


def rejects_at(path: Path) -> None:
    file = RejectsFile(path)
    file.begin()
    file.close()


# Folders -----------------------------------------------------------------------------------------


@pytest.fixture(params=[0, 0o077, 0o377], ids=oct)
def _umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("_umask")
@pytest.mark.parametrize("write", [login_at, tokens_at, job_at])
def test_every_folder_that_is_made_is_for_its_owner_alone(tmp_path: Path, write: Callable[[Path], None]) -> None:
    home = tmp_path.stat().st_mode
    write(tmp_path / "state" / "socialapi" / "kept" / "a.json")
    made = [each for each in tmp_path.rglob("*") if each.is_dir()]
    assert len(made) == 3
    assert {stat.S_IMODE(each.stat().st_mode) for each in made} == {0o700}
    assert tmp_path.stat().st_mode == home


def test_a_folder_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir(mode=0o755)
    make_private_folder(tmp_path / "shared" / "own")
    make_private_folder(tmp_path / "shared" / "own")
    assert stat.S_IMODE((tmp_path / "shared").stat().st_mode) == 0o755
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="Not a directory"):
        make_private_folder(tmp_path / "file" / "own")


# Replacing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", [login_at, tokens_at, text_at, outcomes_at, rejects_at])
def test_a_file_is_in_its_place_on_the_disk_together_with_its_name(
    tmp_path: Path, write: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[bool, bool]] = []
    path, fsync = tmp_path / "a.json" if write is not outcomes_at else tmp_path / "a.csv", os.fsync

    def note(descriptor: int) -> None:
        synced.append((stat.S_ISDIR(os.fstat(descriptor).st_mode), path.exists()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    write(path)
    assert synced == [(False, False), (True, True)]
    assert [each.name for each in tmp_path.iterdir() if each.suffix != ".lock"] == [path.name]


# Links -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["victim", "nothing", "loop"])
@pytest.mark.parametrize("kind", [RejectsFile, OutcomesFile])
def test_an_output_of_a_job_follows_no_link(tmp_path: Path, kind: type[OutputFile], name: str) -> None:
    path = tmp_path / "out.csv"
    path.symlink_to(tmp_path / name if name != "loop" else path)
    (tmp_path / "victim").write_text("precious")
    with pytest.raises(
        InvalidInput, match=rf"the {kind.noun} {path} cannot be written: it is a link, and links are not"
    ):
        kind(path)
    assert sorted(os.listdir(tmp_path)) == ["out.csv", "victim"]  # noqa: PTH208
    assert (tmp_path / "victim").read_text() == "precious"


@pytest.mark.parametrize("write", [outcomes_at, rejects_at, text_at])
def test_a_link_that_is_put_there_meanwhile_is_replaced_and_not_followed(
    tmp_path: Path, write: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, victim, fsync = tmp_path / "out.csv", tmp_path / "victim", os.fsync
    victim.write_text("precious")

    def plant(descriptor: int) -> None:
        fsync(descriptor)
        if not path.exists():
            path.symlink_to(victim)

    monkeypatch.setattr(os, "fsync", plant)
    write(path)
    assert (path.is_symlink(), victim.read_text()) == (False, "precious")


def test_an_output_of_a_command_follows_no_link(tmp_path: Path) -> None:
    for target in ("victim", "nothing", "/dev/full"):
        link = tmp_path / f"to {Path(target).name}"
        link.symlink_to(tmp_path / target)
        with pytest.raises(OSError, match="it is a link, and links are not followed") as caught:
            text_at(link)
        assert caught.value.filename == str(link)


@pytest.mark.parametrize("kind", [RejectsFile, OutcomesFile])
def test_what_leads_to_an_open_file_is_added_to(tmp_path: Path, kind: Any) -> None:
    with (tmp_path / "log").open("wb") as log:
        log.write(b"before\n")
        log.flush()
        file = kind(f"/dev/fd/{log.fileno()}")
        file.begin(**{"has_places": False} if kind is OutcomesFile else {})
        file.close()
    assert (tmp_path / "log").read_bytes().startswith(b"before\nrow,")
    assert os.listdir(tmp_path) == ["log"]  # noqa: PTH208


# Reading -----------------------------------------------------------------------------------------


def settings_in(path: Path) -> Any:
    return Config.from_file(path)


def layout_in(path: Path) -> Any:
    return read_layout(path, IdentifierColumns.of(None, IDENTIFIER_KINDS))


def authorities_in(path: Path) -> Any:
    return Certificates(authorities=("SSL_CERT_FILE", str(path))).context()


def key_in(path: Path) -> Any:
    return Certificates(client=("CERTIFICATE", __file__), key=("KEY", str(path))).context()


READERS: Final = {
    "settings": (settings_in, b"retries = 3\n", "cannot read the configuration file {}: it is larger than 1 MB"),
    "logins": (
        lambda path: CredentialStore(path).logins(),
        b'{"hosts": {}}\n',
        "the credentials file {} cannot be read: it is larger than 1 MB",
    ),
    "layout": (layout_in, b"version = 1\n", "the layout {} cannot be read: it is larger than 1 MB"),
    "authorities": (authorities_in, b"", "SSL_CERT_FILE: the file cannot be read (it is larger than 1 MB)"),
    "certificate": (
        lambda path: Certificates(client=("CERTIFICATE", str(path))).context(),
        b"",
        "CERTIFICATE: the file cannot be read (it is larger than 1 MB)",
    ),
    "key": (key_in, b"", "KEY: the file cannot be read (it is larger than 1 MB)"),
}


@pytest.mark.parametrize("name", READERS)
def test_of_a_small_file_no_more_than_a_megabyte_is_read(tmp_path: Path, name: str) -> None:
    read, content, says = READERS[name]
    path = tmp_path / "small.toml"
    blank = b" " if name == "logins" else b"\n"
    for size in (MB, MB + 1, 500 * MB):
        with path.open("wb") as file:
            file.write(content + blank * (min(size, MB + 1) - len(content)))
            file.truncate(size)
        found = ""
        try:
            read(path)
        except (ConfigurationError, InvalidInput) as problem:
            found = str(problem)
        assert (found == says.format(path)) is (size > MB), found


@pytest.mark.parametrize("name", READERS)
def test_a_device_that_never_ends_is_no_small_file(name: str) -> None:
    with pytest.raises((ConfigurationError, InvalidInput), match=r"larger than 1 MB|it is a device"):
        READERS[name][0](Path("/dev/zero"))
