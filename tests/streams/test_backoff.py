"""When a stream connects again: schedules and what the service says, as pure decisions."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.errors import error_class
from socialapi.problems import (
    ClientDisconnected,
    OperationalDisconnect,
    Problem,
    ServiceError,
    StreamingConnection,
    UsageCapped,
)
from socialapi.streams.backoff import (
    Disconnect,
    DisconnectKind,
    Schedule,
    disconnect_of_problems,
    disconnect_of_refusal,
)

KINDS: list[DisconnectKind] = ["network", "http", "rate_limit"]
TOO_MANY = StreamingConnection(connection_issue="TooManyConnections")


def waits(kind: DisconnectKind, count: int, *, told: float | None = None, jitter: float = 0.0) -> list[float]:
    schedule = Schedule()
    return [
        schedule.wait_seconds(Disconnect(kind=kind, reason="", retry_after_seconds=told), jitter) for _ in range(count)
    ]


def test_the_schedule_of_each_kind() -> None:
    assert waits("network", 5) == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert waits("network", 67)[-3:] == [16.0, 16.0, 16.0]
    assert waits("http", 9) == [5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 320.0, 320.0]
    assert waits("rate_limit", 7) == [60.0, 120.0, 240.0, 480.0, 960.0, 960.0, 960.0]


@given(st.sampled_from(KINDS), st.floats(0.0, 1.0), st.integers(1, 5_000))
def test_a_schedule_never_falls_and_never_leaves_its_bounds(kind: DisconnectKind, jitter: float, count: int) -> None:
    ceiling = {"network": 16.0, "http": 320.0, "rate_limit": 960.0, "final": 0.0}[kind]
    found = waits(kind, count, jitter=jitter)
    assert found == sorted(found)
    assert found[-1] <= ceiling * 1.1


@given(st.sampled_from(KINDS), st.floats(0.0, 5_000.0), st.floats(0.0, 1.0))
def test_a_told_wait_is_never_undercut_and_never_shortens_the_own_one(
    kind: DisconnectKind, told: float, jitter: float
) -> None:
    own, both = waits(kind, 3), waits(kind, 3, told=told, jitter=jitter)
    assert all(max(mine, told) <= wait <= max(mine, told) * 1.1 for mine, wait in zip(own, both, strict=True))


@pytest.mark.parametrize(
    ("lived", "network"), [(0.0, 0.25), (19.9, 0.25), (20.0, 0.0)]
)  # fmt: skip
def test_data_forgives_refusals_and_only_with_time_lost_connections(lived: float, network: float) -> None:
    schedule = Schedule()
    disconnects = {kind: Disconnect(kind=kind, reason="") for kind in KINDS}
    for disconnect in disconnects.values():
        schedule.wait_seconds(disconnect, 0.0)
    schedule.served(lived)
    assert [schedule.wait_seconds(disconnect, 0.0) for disconnect in disconnects.values()] == [network, 5.0, 60.0]


@pytest.mark.parametrize(
    ("problem", "kind", "reason"),
    [
        (
            OperationalDisconnect(disconnect_type="SlowReader"),
            "network",
            "the service closed the connection: SlowReader",
        ),
        (OperationalDisconnect(), "network", "the service closed the connection: OperationalDisconnect"),
        (StreamingConnection(), "http", "the service refused the connection: streaming-connection"),
        (TOO_MANY, "final", "the service refused the connection: TooManyConnections"),
        (UsageCapped(), "final", "a usage cap is reached"),
        (ClientDisconnected(), "network", "the service reports that the client disconnected"),
    ],
)
def test_a_problem_that_announces_an_end(problem: Problem, kind: str, reason: str) -> None:
    found = disconnect_of_problems([Problem(title="another"), ServiceError(code=1), problem])
    assert found == Disconnect(kind=kind, reason=reason, problem=problem)  # type: ignore[arg-type]  # a kind each


def test_other_problems_announce_no_end() -> None:
    assert disconnect_of_problems([]) is None
    assert disconnect_of_problems([Problem(title="x"), ServiceError(code=88)]) is None


@pytest.mark.parametrize(
    ("status", "problems", "left_behind", "kind"),
    [
        (429, (), False, "rate_limit"),
        (500, (), False, "http"),
        (503, (), False, "http"),
        (400, (), False, "final"),
        (401, (), False, "final"),
        (429, (TOO_MANY,), False, "final"),
        (429, (TOO_MANY,), True, "http"),
        (403, (UsageCapped(),), True, "final"),
        (503, (OperationalDisconnect(),), False, "http"),
        (429, (OperationalDisconnect(),), False, "rate_limit"),
        (403, (OperationalDisconnect(disconnect_type="InvalidRules"),), False, "final"),
        (503, (ClientDisconnected(),), False, "http"),
    ],
)
def test_what_a_refusal_means(status: int, problems: Any, left_behind: bool, kind: str) -> None:
    refusal = error_class(status)(status, problems=problems)
    disconnect = disconnect_of_refusal(refusal, 7.0, left_behind=left_behind)
    assert (disconnect.kind, disconnect.retry_after_seconds, disconnect.error) == (kind, 7.0, refusal)


@given(st.integers(400, 599), st.sampled_from([OperationalDisconnect(), ClientDisconnected(), StreamingConnection()]))
def test_no_refusal_is_followed_at_once(status: int, problem: Problem) -> None:
    disconnect = disconnect_of_refusal(error_class(status)(status, problems=[problem]), None, left_behind=True)
    assert disconnect.kind in ("http", "rate_limit", "final")
