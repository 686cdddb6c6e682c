"""100,000 events to a receiver that is killed in the middle, with duplicates and forgeries among them: none is lost."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest

from tests.proofs.processes import ROOT, Service, service
from tests.support.server import free_port

pytestmark = [pytest.mark.timeout(900), pytest.mark.xdist_group("webhooks")]

EVENTS: Final = 100_000
AT_ONCE: Final = 500
LIKELY: Final = 0.01
URL: Final = "https://hooks.example.com/events"
HOOKS: Final = "/2/webhooks"
FORGERIES: Final = ("delivery_tampered", "delivery_forged")


class Receiver:
    """The process that receives, started as often as it takes."""

    def __init__(self, emulator: Service, folder: Path, inbox: Path | None = None) -> None:
        self.port = free_port()
        self.notes = folder / "handled.txt"
        inbox = inbox or folder / "inbox"
        self._arguments = [str(self.port), emulator.ready["api_key_secret"], str(inbox), str(self.notes)]

    def start(self) -> None:
        command = [sys.executable, "-W", "error", "-m", "tests.proofs.webhook_client", *self._arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def stop(self, number: signal.Signals) -> None:
        assert self.process.stdout is not None
        self.process.send_signal(number)
        self.process.stdout.close()
        self.process.wait(30)

    def handled(self) -> list[list[Any]]:
        """What was handled in each run, as far as it is noted whole."""
        runs: list[list[Any]] = []
        for line in self.notes.read_bytes().rpartition(b"\n")[0].splitlines():
            noted = json.loads(line)
            if noted == "run":
                runs.append([])
            else:
                runs[-1].append(tuple(noted))
        return runs


def publish(emulator: Service, numbers: range) -> None:
    events = [
        {
            "event_type": "post.create",
            "user_id": "17",
            "event_id": str(1_000_000 + number),
            "payload": {"number": number},
        }
        for number in numbers
    ]
    emulator.ask("POST", "events", {"events": events})


def replay(emulator: Service) -> int:
    """Has everything delivered once more, as the owner of a webhook that was down would; how many events that were."""
    headers = {"Authorization": f"Bearer {emulator.ready['bearer_token']}", "Content-Type": "application/json"}
    count: int = emulator.call("POST", f"{HOOKS}/replay", {}, headers)["data"]["events"]
    return count


def settle(emulator: Service) -> None:
    emulator.ask("POST", "clock", {"advance": 0})


def register(emulator: Service, receiver: Receiver) -> None:
    emulator.ask("POST", "webhook-targets", {"url": URL, "target": f"http://127.0.0.1:{receiver.port}/"})
    headers = {"Authorization": f"Bearer {emulator.ready['bearer_token']}", "Content-Type": "application/json"}
    assert emulator.call("POST", HOOKS, {"url": URL}, headers)["data"]["valid"]


def test_no_event_is_lost_or_handled_twice_in_a_run_and_no_forged_one_ever(tmp_path: Path, proof_scale: float) -> None:
    count = int(EVENTS * proof_scale)
    with service() as emulator:
        receiver = Receiver(emulator, tmp_path)
        receiver.start()
        register(emulator, receiver)
        for number, fault in enumerate(("delivery_duplicate", *FORGERIES)):
            likely = LIKELY / 2 if fault in FORGERIES else LIKELY
            emulator.ask("POST", "faults", {"fault": fault, "probability": likely, "seed": number})
        started = time.monotonic()
        for first in range(0, count, AT_ONCE):
            if first == count // 2:
                receiver.stop(signal.SIGKILL)
                publish(emulator, range(first, min(first + AT_ONCE, count)))
                receiver.start()
            else:
                publish(emulator, range(first, min(first + AT_ONCE, count)))
        settle(emulator)
        seconds = time.monotonic() - started
        again = replay(emulator)
        settle(emulator)
        deliveries = emulator.ask("GET", "ledger")["deliveries"]
        receiver.stop(signal.SIGINT)
    runs = receiver.handled()
    noted = Counter(event for run in runs for event in run)
    print(
        f"\n{count:,} events in {seconds:.1f} s ({count / seconds:,.0f}/s), then {again:,} replayed; handled "
        f"{sum(noted.values()):,} times in {len(runs)} runs; deliveries: {json.dumps(deliveries)}"
    )
    (outcome,) = deliveries.values()
    assert outcome["forgeries"]["sent"] > 0
    assert outcome["forgeries"]["accepted"] == 0
    assert len(runs) == 2
    assert set(noted) == {(str(1_000_000 + number), number) for number in range(count)}
    for run in runs:
        assert len(run) == len(set(run))
