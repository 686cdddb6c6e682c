"""`socialapi demo` and the emulator it starts."""

import asyncio
import re
import signal
import sys
from pathlib import Path

import attrs
import pytest

from socialapi.cli import app, demo, emulator
from socialapi.cli.demo_data import ExpectedCatalog, ExpectedOutcome, write_crm_export, write_product_feed
from socialapi.errors import ConfigurationError


def test_the_demo_proves_its_outcome(capfd: pytest.CaptureFixture[str]) -> None:
    assert app.run(["demo", "--rows", "2000", "--products", "600"]) == 0
    printed = capfd.readouterr()
    assert "Killed the upload (kill -9); requests answered by then: 1\n" in printed.out
    # The answer to the first request may not be in the journal yet when the kill comes.
    assert re.search(r"^  of them before the kill +(0|1,000)$", printed.out, re.MULTILINE)
    assert "2,000 read = 1,850 accepted + 70 rejected + 80 duplicate: yes" in printed.out
    assert "emulator holds exactly the expected members: yes" in printed.out
    costs = [line.split() for line in printed.out.splitlines() if line.startswith("re")][:2]
    assert costs in ([["requests", "4"], ["retries", "3"]], [["requests", "5"], ["retries", "3"]])
    rejected = re.findall(r"^  row \d+: (?:[\w, -]+: )?(.+)$", printed.out, re.MULTILINE)
    assert "3 of the 70 rejected rows, each with its reason:" in printed.out
    assert len(set(rejected)) == 3
    *_, upload, _ = printed.out.splitlines()
    assert upload.startswith("  socialapi audience upload YOUR.csv --account 18ce54d4x5t --audience 1nmth ")
    assert "600 read = 588 accepted + 12 rejected: yes" in printed.out
    assert "emulator holds exactly the expected products: yes" in printed.out
    assert [line.split()[1] for line in printed.out.splitlines() if line.startswith("retries")] == ["3", "3"]
    assert "\x1b" not in printed.out + printed.err
    assert printed.err == "reading E-Mail as email; Mobile phone as phone_number; country as region\n"


def test_what_is_not_proven_ends_with_another_status(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def write_less(path: Path, rows: int) -> ExpectedOutcome:
        truth = write_crm_export(path, rows)
        return attrs.evolve(truth, members=truth.members | {("email", "0" * 64), ("email", "1" * 64)})

    def write_more(path: Path, rows: int) -> ExpectedCatalog:
        truth = write_product_feed(path, rows)
        return attrs.evolve(truth, products={**truth.products, "NW-1001": {"id": "NW-1001"}})

    monkeypatch.setattr(demo, "write_crm_export", write_less)
    monkeypatch.setattr(demo, "write_product_feed", write_more)
    monkeypatch.setattr(demo, "FAULTS", ())
    monkeypatch.setattr(demo, "CATALOG_FAULTS", ())
    assert app.run(["demo", "--rows", "100", "--products", "50"]) == 3
    out = capfd.readouterr().out
    assert "emulator holds exactly the expected members: no" in out
    assert "NOT PROVEN: 2 members missing, 0 unexpected" in out
    assert "emulator holds exactly the expected products: no" in out
    assert "NOT PROVEN: 1 products are wrong or missing" in out


async def test_the_private_emulator_ends_with_its_block() -> None:
    async with emulator.private_emulator() as ready:
        host, port = ready["base_url"].removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        writer.close()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(host, int(port))


async def test_an_emulator_that_does_not_start_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/true")
    with pytest.raises(ConfigurationError, match="the emulator did not start"):
        async with emulator.private_emulator():
            pass


async def test_an_emulator_that_says_nothing_or_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[asyncio.subprocess.Process] = []

    async def start(*command: str, **options: int) -> asyncio.subprocess.Process:
        deaf = "import signal, time; signal.pause()"
        process = await create(sys.executable, "-c", deaf, **options)  # type: ignore[arg-type]
        started.append(process)
        return process

    create = asyncio.create_subprocess_exec
    monkeypatch.setattr(asyncio, "create_subprocess_exec", start)
    monkeypatch.setattr(emulator, "READY_TIMEOUT_SECONDS", 0.01)
    monkeypatch.setattr(emulator, "END_TIMEOUT_SECONDS", 0.01)
    with pytest.raises(ConfigurationError, match="the emulator did not start"):
        async with emulator.private_emulator():
            pass
    assert started[0].returncode == -signal.SIGKILL
