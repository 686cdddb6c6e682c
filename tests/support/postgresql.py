"""A PostgreSQL for the tests: one that is named, or a private one of Debian's packages, which listens to nobody else."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import asyncpg
import pytest

USER: Final = "tester"
UNPRIVILEGED: Final = ("postgres", "nobody")
"""Who runs the server where the tests run as root, which PostgreSQL refuses."""
FOR_TESTS: Final = "fsync=off", "full_page_writes=off", "synchronous_commit=off", "max_connections=20"
_DEADLINE_SECONDS: Final = 60


def programs() -> Path:
    """The folder with the programs of a server; where there is none, the test is skipped, or fails if it must not be."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name), reverse=True)
    for folder in folders:
        if (folder / "initdb").exists() and (folder / "pg_ctl").exists():
            return folder
    reason = "needs a PostgreSQL server (Debian: apt-get install postgresql), or SOCIALAPI_TEST_POSTGRESQL_URL"
    if os.environ.get("SOCIALAPI_REQUIRE_POSTGRESQL"):
        pytest.fail(reason)
    pytest.skip(reason)


@contextlib.contextmanager
def postgresql_running() -> Iterator[str]:
    """The address of a server in which databases can be made."""
    if address := os.environ.get("SOCIALAPI_TEST_POSTGRESQL_URL"):
        yield address
        return
    folder_of_programs = programs()
    # A short path: that of a socket has at most 107 bytes. The folder is its owner's alone, and the server trusts who gets in.
    with tempfile.TemporaryDirectory(prefix="socialapi-pg-", dir="/tmp", ignore_cleanup_errors=True) as name:
        folder, user = Path(name), _user_of_server()
        if user is not None:
            os.chown(folder, user.pw_uid, user.pw_gid)

        def run(program: str, *arguments: str) -> None:
            _run(folder_of_programs / program, arguments, folder, user)

        run("initdb", "--auth=trust", f"--username={USER}", "--encoding=UTF8", "--locale=C", "--no-sync")
        options = " ".join(("-h ''", f"-k {folder}", *(f"-c {setting}" for setting in FOR_TESTS)))
        run("pg_ctl", "start", "--wait", f"--log={folder / 'log'}", f"--options={options}")
        try:
            yield f"postgresql://{USER}@/postgres?host={folder}"
        finally:
            run("pg_ctl", "stop", "--wait", "--mode=immediate")


def _user_of_server() -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    known = {each.pw_name: each for each in pwd.getpwall()}
    return next(known[name] for name in UNPRIVILEGED if name in known)


def _run(program: Path, arguments: tuple[str, ...], folder: Path, user: pwd.struct_passwd | None) -> None:
    own = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    as_user: dict[str, Any] = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    # To a file: the server would keep a pipe open, and whoever reads it would wait for the server to end.
    with (folder / "output").open("w+b") as output:
        done = subprocess.run(
            [program, *arguments],
            cwd=folder,
            env=own | {"PGDATA": str(folder / "data"), "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=_DEADLINE_SECONDS,
            check=False,
            **as_user,
        )
        output.seek(0)
        assert done.returncode == 0, f"{program.name} {arguments[:1]}:\n{output.read().decode(errors='replace')}"


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
