"""Conducts a soak: starts the emulator and the client, plays faults at random, publishes, and
collects what is judged.
"""

import base64
import contextlib
import json
import math
import queue
import random
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import attrs

from tests.proofs.processes import ROOT, Service
from tests.proofs.upload_client import resident_bytes
from tests.soak.judge import Outcome, Published
from tests.soak.workers import RULE, URL
from tests.support.server import free_port

STREAMS: Final = 3
LONGEST: Final = 15
QUICK_FAULT_KINDS: Final = 7
ASKED_SECONDS: Final = 90.0
"""How long an answer of the emulator, or of the client at its end, may take."""
REPEATED_SECONDS: Final = 20.0
"""How long a call may be repeated: a token that ends twice in one call is not renewed for a minute afterwards."""


# Plans -----------------------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class Plan:
    """How long a soak lasts, how often things happen in it (in seconds), and how large jobs are."""

    seconds: float
    seed: int
    until: Sequence[str] = ()
    """Operations that have to be done before it ends, for up to `LONGEST` times as many seconds."""
    until_events: Sequence[str] = ()
    """What has to have happened to the emulator before it ends, likewise."""
    fault_kinds: int = 0
    """How many kinds of faults have to be played before it ends, likewise."""
    likelier: float = 1.0
    """What the probabilities of faults are multiplied with."""
    samples: float = 1.0
    publishes: float = 0.25
    published_at_once: int = 3
    faults: float = 4.0
    stream_ends: float = 20.0
    invalidations: float = 25.0
    clock_moves: float = 40.0
    clock_moves_by: float = 12.0
    progress: float = 30.0
    token_seconds: int = 20
    stall_seconds: float = 12.0
    margin_seconds: float = 2.0
    """How long an item of a stream may be in transit, on a machine that does more than this."""
    backoff: Mapping[str, float] = attrs.field(factory=dict)
    """Constants of the backoff of streams that are shortened."""
    people: int = 1_200
    products: int = 200
    posts_in_a_walk: int = 600
    pause_seconds: float = 1.0
    reopen_seconds: float = 60.0


def quick_plan(seconds: float, seed: int, until: Sequence[str] = (), until_events: Sequence[str] = ()) -> Plan:
    """Everything of a long soak, in seconds: smaller jobs, and streams that wait less for another
    connection.
    """
    return Plan(
        seconds=seconds,
        seed=seed,
        until=until,
        until_events=until_events,
        fault_kinds=QUICK_FAULT_KINDS if until else 0,
        likelier=2.0,
        samples=0.1,
        publishes=0.1,
        published_at_once=1,
        faults=0.7,
        stream_ends=3.5,
        invalidations=2.0,
        clock_moves=1.9,
        clock_moves_by=1.0,
        token_seconds=2,
        stall_seconds=3.0,
        margin_seconds=1.0,
        backoff={"NETWORK_STEP_SECONDS": 0.02, "HTTP_START_SECONDS": 0.1, "RATE_LIMIT_START_SECONDS": 0.2},
        people=60,
        products=30,
        posts_in_a_walk=120,
        pause_seconds=0.2,
        reopen_seconds=6.0,
    )


# Faults ----------------------------------------------------------------------------------------------------------------

Script = Mapping[str, Any]

UNEXECUTED: Final[Sequence[Script]] = (
    {"fault": "status", "status": 503},
    {"fault": "status", "status": 429, "retry_after_seconds": 1},
    {"fault": "html", "status": 503},
    {"fault": "reset_before"},
    {"fault": "stall", "delay_seconds": 1.5},
    {"fault": "latency", "delay_seconds": 0.3},
    {"fault": "slow", "delay_seconds": 0.4},
    {"fault": "joined_headers"},
    {"fault": "decimal_headers", "status": 429, "retry_after_seconds": 1},
)
"""After these nobody is in doubt for long: either nothing was done, or the answer comes."""
COMMON: Final[Sequence[Script]] = (
    *UNEXECUTED,
    {"fault": "status", "status": 500},
    {"fault": "status", "status": 502},
    {"fault": "status", "problem": "resource-unavailable"},
    {"fault": "reset_after"},
    {"fault": "truncate"},
)
BATCHES: Final[Sequence[Script]] = (*COMMON, {"fault": "count_mismatch"}, {"fault": "operation_error"})
PRODUCTS: Final[Sequence[Script]] = (*COMMON, {"fault": "product_missing"}, {"fault": "product_error"})
LINKS: Final[Sequence[Script]] = (*COMMON, {"fault": "link_error"})
ODD_TOKEN: Final[Script] = {"fault": "odd_token"}
OF_STREAMS: Final[Sequence[Script]] = (
    {"fault": "stream_close"},
    {"fault": "stream_drop"},
    {"fault": "stream_silence"},
    {"fault": "stream_long_line"},
    {"fault": "stream_garbage"},
    {"fault": "stream_drip", "delay_seconds": 0.02},
    {"fault": "stream_disconnect"},
    {"fault": "stream_disconnect", "connection_issue": "ProvisioningSubscription"},
    {"fault": "status", "status": 503},
    {"fault": "html", "status": 502},
    {"fault": "reset_before"},
    {"fault": "latency", "delay_seconds": 0.3},
)
OF_DELIVERIES: Final[Sequence[Script]] = tuple(
    {"fault": f"delivery_{kind}"} for kind in ("duplicate", "tampered", "forged", "unsigned")
)
CATALOG: Final = "/ads/12/product_catalogs/*/products"
TARGETS: Final[Sequence[tuple[str, str, Sequence[Script], float]]] = (
    ("POST", "/ads/12/accounts/*/custom_audiences/*/users", BATCHES, 0.2),
    ("POST", "/ads/12/batch/accounts/*/do_not_reach_lists/*/users", BATCHES, 0.2),
    ("PUT", CATALOG, PRODUCTS, 0.2),
    ("DELETE", CATALOG, COMMON, 0.2),
    ("GET", CATALOG, COMMON, 0.2),
    ("GET", "/ads/12/accounts/*/*", COMMON, 0.2),
    ("GET", "/2/users/*/tweets", COMMON, 0.2),
    ("GET", "/2/tweets", COMMON, 0.2),
    ("GET", "/2/notes/search/*", COMMON, 0.2),
    ("POST", "/2/tweets", COMMON, 0.2),
    ("GET", "/ads/5/accounts/*/tailored_audiences/*/permissions", COMMON, 0.2),
    ("POST", "/ads/5/accounts/*/tailored_audiences/*/permissions", COMMON, 0.2),
    ("DELETE", "/ads/5/accounts/*/tailored_audiences/*/permissions/*", COMMON, 0.2),
    ("GET", "/2/tweets/search/stream/rules", COMMON, 0.2),
    ("POST", "/2/tweets/search/stream/rules", COMMON, 0.2),
    ("POST", "/2/webhooks", COMMON, 0.2),
    ("POST", "/2/tweets/search/webhooks/*", LINKS, 0.2),
    ("GET", "/2/tweets/search/stream", OF_STREAMS, 0.4),
    ("GET", "/2/activity/stream", OF_STREAMS, 0.4),
    ("POST", "/oauth2/token", (*COMMON, ODD_TOKEN), 0.2),
    # An answer with a refresh token that is lost cannot be had again: the user would have to sign in anew.
    ("POST", "/2/oauth2/token", (*UNEXECUTED, ODD_TOKEN), 0.3),
)
STREAM_ENDS: Final[Sequence[Script]] = (
    {"disconnect_type": "OperationalDisconnect"},
    {"disconnect_type": "UpstreamOperationalDisconnect"},
    {"disconnect_type": "SlowReader"},
    {"disconnect_type": "ForceDisconnect"},
    {"abruptly": True},
)


def faults_at_random(rng: random.Random, likelier: float = 1.0) -> Iterator[dict[str, Any]]:
    """Some faults for most endpoints, and one of deliveries."""
    for method, path, scripts, likely in TARGETS:
        for script in rng.sample(scripts, rng.randrange(3)):
            place = {"method": method, "path": path, "probability": likelier * rng.uniform(0.02, likely)}
            lines = {"after_lines": rng.randrange(30)} if script["fault"].startswith("stream") else {}
            yield {**script, **place, **lines, "seed": rng.randrange(1_000_000)}
    yield {
        **rng.choice(OF_DELIVERIES),
        "probability": likelier * rng.uniform(0.01, 0.1),
        "seed": rng.randrange(1_000_000),
    }


# Processes -------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def answers_bounded() -> Iterator[None]:
    """No answer of the emulator is waited for without end."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(ASKED_SECONDS)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


@contextlib.contextmanager
def emulator_running(plan: Plan) -> Iterator[Service]:
    limits = {"GET /2/tweets": (40, 2.0), "GET /2/users/{id}/tweets": (80, 4.0)}
    order = {"token_seconds": plan.token_seconds, "rate_limits": limits}
    with started("tests.soak.emulator_process", order) as process:
        assert process.stdout is not None
        yield Service(json.loads(process.stdout.readline()), process.pid)
        assert process.stdin is not None
        process.stdin.close()
        process.wait(ASKED_SECONDS)


@contextlib.contextmanager
def started(module: str, order: Mapping[str, Any]) -> Iterator["subprocess.Popen[str]"]:
    """A program with its order on standard input; killed if it is still there at the end."""
    command = [sys.executable, "-W", "error", "-m", module]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
        try:
            yield process
        finally:
            if process.poll() is None and not process.stdin.closed:
                process.kill()


class ClientProcess:
    """The process of the client, and what it tells."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.done: Mapping[str, int] = {}
        """Operations by kind, as far as it has told."""
        threading.Thread(target=self._listen, name="soak-client", daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._messages.put(json.loads(line))
        self._messages.put(None)

    def command(self, text: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended, which is noticed when its next step is waited for
            self._process.stdin.write(text + "\n")
            self._process.stdin.flush()

    def wait_for(self, step: str) -> dict[str, Any] | None:
        """What it tells with this step; None if it has ended, or tells nothing for too long."""
        with contextlib.suppress(queue.Empty):
            while (message := self._messages.get(timeout=ASKED_SECONDS)) is not None:
                if message["step"] == step:
                    return message
                self._progressed(message)
        return None

    def is_running(self) -> bool:
        while not self._messages.empty():
            self._progressed(self._messages.get())
        return self._process.poll() is None

    def _progressed(self, message: dict[str, Any] | None) -> None:
        self.done = (message or {}).get("done", self.done)


# The run ---------------------------------------------------------------------------------------------------------------


class Conductor:
    """What happens to the emulator while the client works."""

    def __init__(
        self, plan: Plan, emulator: Service, client: ClientProcess, played: IO[str], say: Callable[[str], None]
    ) -> None:
        self._plan = plan
        self._emulator = emulator
        self._client = client
        self._played = played
        self._say = say
        self._started_at = time.monotonic()
        self._rng = random.Random(plan.seed)
        self._author = emulator.ask("GET", "seed")["user_ids"][1]
        self.published: list[Published] = []
        self.faults: Counter[str] = Counter()
        self.events: Counter[str] = Counter()
        self._last_request = 0
        self._invalidated_at = -math.inf

    def run(self) -> None:
        """Until the time is over, or the client has ended."""
        plan, started_at = self._plan, time.monotonic()
        self._started_at = started_at
        self._played.write("seconds,faults\n")
        turns: list[tuple[float, Callable[[], None]]] = [
            (plan.publishes, self.publish),
            (plan.faults, self.change_faults),
            (plan.faults / 2, self.count_faults),
            (plan.stream_ends, self.end_streams),
            (plan.invalidations, self.invalidate_app_token),
            (plan.clock_moves, self.move_clock),
            (plan.progress, self.tell),
        ]
        due = [started_at + every for every, _ in turns]
        due[1] = started_at
        while self._client.is_running() and not self._is_over(time.monotonic() - started_at):
            number = min(range(len(due)), key=due.__getitem__)
            time.sleep(max(0.0, due[number] - time.monotonic()))
            turns[number][1]()
            due[number] = time.monotonic() + turns[number][0]  # what came late is not made up for
        self._emulator.ask("DELETE", "faults")

    def _is_over(self, seconds: float) -> bool:
        plan = self._plan
        has_all = len(self.faults) >= plan.fault_kinds and all(self._client.done.get(name) for name in plan.until)
        has_all = has_all and all(self.events[name] for name in plan.until_events)
        return seconds >= plan.seconds * (1 if has_all else LONGEST)

    def publish(self) -> None:
        """Posts that match the rule, and events of activity."""
        first = len(self.published)
        posts = [
            {"post": {"text": f"{RULE} {first + number}", "author_id": self._author}}
            for number in range(self._rng.randrange(1, self._plan.published_at_once + 1))
        ]
        events = [
            {"event_type": "profile.update.bio", "user_id": self._author, "payload": {"number": first + number}}
            for number in range(self._rng.randrange(1, self._plan.published_at_once + 1))
        ]
        began = time.time()
        answer = self._emulator.ask("POST", "events", {"events": [*posts, *events]})
        ended = time.time()
        for each in answer["published"]:
            kind = "post" if "post_id" in each else "event"
            self.published.append(Published(kind, each[f"{kind}_id"], began, ended))

    def change_faults(self) -> None:
        self._emulator.ask("DELETE", "faults")
        for fault in faults_at_random(self._rng, self._plan.likelier):
            self._emulator.ask("POST", "faults", fault)
            self.events["faults scripted"] += 1

    def count_faults(self) -> None:
        for each in self._emulator.control("GET", f"requests?after={self._last_request}"):
            self._last_request = each["number"]
            if each["fault"] is not None:
                self.faults[each["fault"]] += 1
            if each["status"] == 429:
                self.events["answers 429"] += 1
        self._played.write(f"{time.monotonic() - self._started_at:.1f},{sum(self.faults.values())}\n")

    def end_streams(self) -> None:
        self.events["streams ended"] += self._emulator.ask("POST", "streams/end", self._rng.choice(STREAM_ENDS))[
            "ended"
        ]

    def invalidate_app_token(self) -> None:
        """As another machine of the app would, of which the client knows nothing."""
        if time.monotonic() < self._invalidated_at + REPEATED_SECONDS:
            return
        with contextlib.suppress(
            OSError, HTTPException, ValueError, KeyError
        ):  # what a fault hits here may as well stay
            token = self._as_app("/oauth2/token", {"grant_type": "client_credentials"})["access_token"]
            self._as_app("/oauth2/invalidate_token", {"access_token": token})
            self._invalidated_at = time.monotonic()
            self.events["app-only tokens invalidated"] += 1

    def move_clock(self) -> None:
        """Ends users' tokens earlier than they said."""
        self._emulator.ask("POST", "clock", {"advance": self._plan.clock_moves_by})
        self.events["moves of the clock"] += 1

    def settle(self) -> None:
        """Publishes for the last time, has everything delivered once more, and waits until all of
        it has arrived.
        """
        self.count_faults()
        if self.faults["stream_silence"]:
            # A connection that fell silent last is taken for one until this is over, and only then for a gap.
            time.sleep(self._plan.stall_seconds + self._plan.margin_seconds)
        self.wait_until(lambda: len(self._emulator.ask("GET", "streams")["streams"]) >= STREAMS)
        self.publish()
        self._emulator.ask("POST", "clock", {"advance": 0})
        token = self._as_app("/oauth2/token", {"grant_type": "client_credentials"})["access_token"]
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self.events["events replayed"] = self._emulator.call("POST", "/2/webhooks/replay", {}, headers)["data"][
            "events"
        ]
        self._emulator.ask("POST", "clock", {"advance": 0})

    def wait_until(self, holds: Callable[[], bool]) -> None:
        """Returns when it holds, or after a while all the same: the judge finds what is missing."""
        ends_at = time.monotonic() + ASKED_SECONDS
        while not holds() and time.monotonic() < ends_at and self._client.is_running():
            time.sleep(0.1)

    def _as_app(self, path: str, form: Mapping[str, str]) -> Any:
        ready = self._emulator.ready
        pair = base64.b64encode(f"{ready['api_key']}:{ready['api_key_secret']}".encode()).decode()
        headers = {"Authorization": f"Basic {pair}", "Content-Type": "application/x-www-form-urlencoded"}
        request = Request(ready["base_url"] + path, urlencode(form).encode(), headers, method="POST")
        with urlopen(request) as answer:
            return json.load(answer)

    def _operations(self) -> int:
        return sum(
            count for name, count in self._client.done.items() if not name.endswith(("compared", "rows", "read"))
        )

    def tell(self) -> None:
        overview = self._emulator.ask("GET", "overview")["requests"]["received"]
        self._say(
            f"{time.monotonic() - self._started_at:5.0f} s: {self._operations():,} operations, {overview:,} requests, "
            f"{sum(self.faults.values()):,} faults, {len(self.published):,} published, "
            f"emulator {resident_bytes(self._emulator.pid) / 1e6:.0f} MB"
        )


def order_of(plan: Plan, emulator: Service, folder: Path) -> dict[str, Any]:
    sizes = ("seed", "people", "products", "posts_in_a_walk", "pause_seconds", "reopen_seconds", "margin_seconds")
    return {
        "ready": dict(emulator.ready),
        "emulator_pid": emulator.pid,
        "folder": str(folder),
        "sample_seconds": plan.samples,
        "backoff": dict(plan.backoff),
        "config": {
            "timeout_seconds": 10.0,
            "stall_seconds": plan.stall_seconds,
            "gap_margin_seconds": plan.margin_seconds,
            "max_operations": max(10, plan.people // 6),
            "retries": 6,
        },
        "sizes": {
            **{name: getattr(plan, name) for name in sizes},
            "receiver_port": free_port(),
            "seeded": emulator.ask("GET", "seed"),
            "timeline": emulator.ready["timeline"],
        },
    }


def soak(plan: Plan, folder: Path, say: Callable[[str], None]) -> Outcome:
    """Runs a soak in the folder, which is made anew, and returns what there is to judge."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with answers_bounded(), emulator_running(plan) as emulator:
        order = order_of(plan, emulator, folder)
        target = f"http://127.0.0.1:{order['sizes']['receiver_port']}/"
        emulator.ask("POST", "webhook-targets", {"url": URL, "target": target})
        with (folder / "faults.csv").open("w") as played, started("tests.soak.client_process", order) as process:
            client = ClientProcess(process)
            conductor = Conductor(plan, emulator, client, played, say)
            ended = conduct(conductor, client)
            if ended is not None:
                process.wait(ASKED_SECONDS)
            conductor.count_faults()
        ledger = emulator.ask("GET", "ledger")
    lines = "".join(json.dumps(attrs.astuple(each)) + "\n" for each in conductor.published)
    (folder / "published.jsonl").write_text(lines, "utf-8")  # for whoever looks for what was lost
    return Outcome.collected(
        folder,
        seed=plan.seed,
        published=conductor.published,
        faults=conductor.faults,
        events=conductor.events,
        ledger=ledger,
        ended=ended,
    )


def conduct(conductor: Conductor, client: ClientProcess) -> dict[str, Any] | None:
    """What the client tells at its end; None if it does not get there."""
    if client.wait_for("working") is None:
        return None
    conductor.run()
    client.command("finish")
    if client.wait_for("finished") is None:
        return None
    conductor.settle()
    client.command("end")
    return client.wait_for("ended")
