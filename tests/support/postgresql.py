"""A PostgreSQL for the tests: one that is named, or a private one of Debian's packages."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final, NoReturn
from urllib.parse import urlsplit

import asyncpg
import attrs
import pytest

USER: Final = "tester"
UNPRIVILEGED: Final = ("postgres", "nobody")
"""Who runs the server where the tests run as root, which PostgreSQL refuses."""
FOR_TESTS: Final = "fsync=off", "full_page_writes=off", "synchronous_commit=off", "max_connections=20"
_DEADLINE_SECONDS: Final = 60


def skip(why: str) -> NoReturn:
    """Skips the test, or lets it fail if it must not be skipped."""
    reason = f"needs PostgreSQL, or SOCIALAPI_TEST_POSTGRESQL_URL: {why}"
    if os.environ.get("SOCIALAPI_REQUIRE_POSTGRESQL"):
        pytest.fail(reason)
    pytest.skip(reason)


def folder_of_programs() -> Path | None:
    """The folder with the programs of a server, the newest of Debian's."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    installed = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(installed, key=lambda path: float(path.parent.name), default=None)


@contextlib.contextmanager
def postgresql_running() -> Iterator[str]:
    """The address of a server in which databases can be made; without one, the test is skipped."""
    if address := os.environ.get("SOCIALAPI_TEST_POSTGRESQL_URL"):
        yield address
        return
    programs = folder_of_programs()
    if programs is None:
        skip("there are no programs of a server (Debian: apt-get install postgresql)")
    # In /tmp, for the path of a socket has at most 107 bytes. The folder is its owner's alone, so the
    # server may trust who gets in.
    with tempfile.TemporaryDirectory(prefix="socialapi-pg-", dir="/tmp", ignore_cleanup_errors=True) as name:
        server = Server(programs, Path(name))
        try:
            server.start()
        except CannotStart as fault:
            skip(str(fault))
        try:
            yield f"postgresql://{USER}@/postgres?host={name}"
        finally:
            server.run("pg_ctl", "stop", "--wait", "--mode=immediate")


class CannotStart(Exception):
    """A program of the server failed."""


@attrs.frozen
class Server:
    """A server whose files are all in one folder, its socket among them."""

    programs: Path
    folder: Path

    def start(self) -> None:
        if os.geteuid() == 0:
            user = user_of_server()
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        self.run("initdb", "--auth=trust", f"--username={USER}", "--encoding=UTF8", "--locale=C", "--no-sync")
        options = " ".join(("-h ''", f"-k {self.folder}", *(f"-c {setting}" for setting in FOR_TESTS)))
        self.run("pg_ctl", "start", "--wait", f"--log={self.folder / 'log'}", f"--options={options}")

    def run(self, program: str, *arguments: str) -> None:
        as_user: dict[str, Any] = {}
        if os.geteuid() == 0:
            user = user_of_server()
            as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        own = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        # To a file: the server would keep a pipe open for as long as it runs.
        with (self.folder / "output").open("w+b") as output:
            done = subprocess.run(
                [self.programs / program, *arguments],
                cwd=self.folder,
                env=own | {"PGDATA": str(self.folder / "data"), "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=_DEADLINE_SECONDS,
                check=False,
                **as_user,
            )
        if done.returncode != 0:
            said = (self.folder / "output").read_text("utf-8", "replace")
            raise CannotStart(f"{program} ended with status {done.returncode}:\n{said}")


def user_of_server() -> pwd.struct_passwd:
    """Who runs the server in place of root."""
    known = {each.pw_name: each for each in pwd.getpwall()}
    for name in UNPRIVILEGED:
        if name in known:
            return known[name]
    raise CannotStart(f"it does not run as root, and there is none of the users {', '.join(UNPRIVILEGED)}")


@contextlib.asynccontextmanager
async def new_database(server: str) -> AsyncIterator[str]:
    """The address of an empty database of the server, for as long as it is used."""
    name = f"test_{uuid.uuid4().hex}"
    connection = await asyncpg.connect(server)
    try:
        await connection.execute(f"create database {name}")
        yield urlsplit(server)._replace(path=f"/{name}").geturl()
        await connection.execute(f"drop database {name} with (force)")
    finally:
        await connection.close()
