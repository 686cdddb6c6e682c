"""What a call of a machine may meet: faults of the emulator, and cancellations."""

from typing import Any, Final

from hypothesis import strategies as st


def _status(status: int, retry_after_seconds: int | None = None) -> dict[str, Any]:
    return {"fault": "status", "status": status, "retry_after_seconds": retry_after_seconds}


FAULTS: Final[tuple[dict[str, Any], ...]] = (
    {"fault": "reset_before"},
    {"fault": "reset_after"},
    {"fault": "reset_after"},
    {"fault": "truncate"},
    {"fault": "truncate", "after_bytes": 0},
    {"fault": "stall", "delay_seconds": 0.001},
    {"fault": "slow", "delay_seconds": 0.001},
    {"fault": "html", "status": 200},
    {"fault": "html", "status": 429},
    {"fault": "html", "status": 502},
    _status(429),
    _status(429, 2),
    _status(429, 4_000),
    _status(500),
    _status(502),
    _status(503),
    _status(503, 2),
    _status(503, 4_000),
    _status(504),
)
"""Faults that any endpoint may meet, as `emulator.faults.script` takes them."""


def faults(*further: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Faults that hit the next one or two requests, or all, or those after them. `further` are
    faults of some endpoints.
    """
    times = st.sampled_from([1, 1, 2, 8])
    passing = st.sampled_from([0, 0, 1, 2])
    return st.builds(
        lambda fault, times, passing: fault | {"times": times, "after_requests": passing},
        st.sampled_from((*further, *FAULTS)),
        times,
        passing,
    )


def cancellations(turns: int) -> st.SearchStrategy[dict[str, Any]]:
    """A call is cancelled after at most so many turns of the event loop."""
    return st.fixed_dictionaries({"cancel_after": st.integers(0, turns)})


def trouble(*further: dict[str, Any]) -> st.SearchStrategy[dict[str, Any] | None]:
    """What the calls of a step meet: nothing, a fault (`further` are those of some endpoints), or a
    cancellation.
    """
    return st.integers(0, 9).flatmap(
        lambda kind: st.none() if kind < 4 else faults(*further) if kind < 9 else cancellations(60)
    )


TROUBLE: Final = trouble()
