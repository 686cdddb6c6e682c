"""The emulator and the client of a proof, each in a process of its own, so that neither is measured with the other."""

import contextlib
import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from socialapi.emulator.server import variables

ROOT: Final = Path(__file__).parents[2]
UPLOADS: Final = "/ads/12/accounts/*/custom_audiences/*/users"
EMULATOR: Final = """
import asyncio, json, sys
from socialapi.emulator.server import Emulator, serve
limits = {name: tuple(value) for name, value in json.loads(sys.argv[1]).items()}
asyncio.run(serve(Emulator(rate_limits=limits), until_stdin_closes=True))
"""

Member = tuple[str, str]


@attrs.frozen
class Service:
    """A running emulator, asked over its control plane."""

    ready: Mapping[str, str]
    pid: int

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a process that talks to it."""
        return variables(self.ready)

    def control(self, method: str, path: str, body: Any = None) -> Iterator[Any]:
        """The JSON documents of the answer, one for each line."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.ready['base_url']}/_emulator/{path}", data=data, method=method)
        with urllib.request.urlopen(request) as answer:
            for line in answer:
                yield json.loads(line)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        (answer,) = self.control(method, path, body)
        return answer

    def call(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> Any:
        """The answer of the service itself, asked without the SDK."""
        data = json.dumps(body).encode()
        request = urllib.request.Request(self.ready["base_url"] + path, data=data, method=method, headers=dict(headers))
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def fault(self, fault: str, **options: Any) -> None:
        self.ask("POST", "faults", {"fault": fault, "method": "POST", "path": UPLOADS, **options})

    def products(self, catalog: str) -> dict[str, dict[str, Any]]:
        """By id, with all fields, those that the service made among them."""
        return {each["id"]: each for each in self.control("GET", f"catalogs/{catalog}/products")}

    @property
    def audience(self) -> tuple[str, str]:
        seed = self.ask("GET", "seed")
        return seed["account_ids"][0], seed["custom_audience_ids"][0]

    def members(self) -> set[Member]:
        account, audience = self.audience
        return {
            (each["kind"], each["value"]) for each in self.control("GET", f"audiences/{account}/{audience}/members")
        }

    def requests(self) -> list[dict[str, Any]]:
        return list(self.control("GET", "requests"))


@contextlib.contextmanager
def service(rate_limits: Mapping[str, tuple[int, float]] | None = None) -> Iterator[Service]:
    with _started([sys.executable, "-c", EMULATOR, json.dumps(dict(rate_limits or {}))]) as running:
        yield running


@contextlib.contextmanager
def counting_service() -> Iterator[Service]:
    """A service that only counts: it has no control plane."""
    with _started([sys.executable, "-m", "tests.proofs.counting_service"]) as running:
        yield running


@contextlib.contextmanager
def _started(command: Sequence[str | Path]) -> Iterator[Service]:
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Service(json.loads(process.stdout.readline()), process.pid)
        finally:
            process.stdin.close()


def upload(service: Service, path: Path | str, **order: Any) -> dict[str, Any]:
    """What `upload_client.py` tells about an upload of the file, or of the database at this address."""
    account, audience = service.audience
    return run_client("upload_client.py", service, path, {**order, "account": account, "audience": audience})


def load(service: Service, path: Path, catalog: str, **order: Any) -> dict[str, Any]:
    """What `upload_client.py` tells about a load of the file."""
    return run_client("upload_client.py", service, path, {**order, "catalog": catalog})


def upload_until(service: Service, path: Path, accepted: int | None, **order: Any) -> dict[str, Any] | None:
    """Uploads, syncs or loads the file, and kills the client when so much is accepted; what it tells if it came to its end."""
    account, audience = service.audience
    told: dict[str, Any] = {}
    with telling("upload_client.py", service, path, {**order, "account": account, "audience": audience}) as process:
        for line in process.stdout or ():
            told = json.loads(line)
            if accepted is not None and told.get("accepted", 0) >= accepted:
                process.kill()
                return None
    assert process.returncode == 0
    return told


def sync_until(service: Service, path: Path, kill_at: tuple[str, int, str], **order: Any) -> bool:
    """Syncs the file with a client that is killed there, unless it ends before; whether it was killed."""
    account, audience = service.audience
    more = {"kill_at": kill_at, "method": "sync", "account": account, "audience": audience}
    with telling("upload_client.py", service, path, {**order, **more}) as process:
        assert process.stdout is not None
        process.stdout.read()
    assert process.returncode in {0, -signal.SIGKILL}
    return process.returncode != 0


def kill_load(service: Service, path: Path, catalog: str, *, after: int, **order: Any) -> None:
    """Loads the file, and kills the process after so many steps of its progress."""
    with telling("upload_client.py", service, path, {**order, "catalog": catalog}) as process:
        assert process.stdout is not None
        for _ in range(after):
            assert "accepted" in json.loads(process.stdout.readline())
        process.kill()


@contextlib.contextmanager
def telling(program: str, service: Service, path: Path, order: Mapping[str, Any]) -> Iterator["subprocess.Popen[str]"]:
    """A client in a process of its own that tells every step as it is done."""
    order = {**order, "ready": dict(service.ready), "path": str(path), "tells": True}
    with subprocess.Popen(
        command_of(program), cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(order))
        process.stdin.close()
        yield process


def command_of(program: str) -> list[str]:
    """Runs one of the programs of this folder as a module, so that it can import from others."""
    return [sys.executable, "-W", "error", "-m", f"tests.proofs.{program.removesuffix('.py')}"]


def run_client(program: str, service: Service, path: Path | str, order: Mapping[str, Any]) -> dict[str, Any]:
    """What a client in a process of its own tells."""
    order = {**order, "ready": dict(service.ready), "path": str(path)}
    done = subprocess.run(
        command_of(program),
        cwd=ROOT,
        input=json.dumps(order),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    told: dict[str, Any] = json.loads(done.stdout)
    return told
