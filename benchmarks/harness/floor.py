"""The floor of a machine: what hashlib takes for the two digests of a record, now and in the run of
reference.
"""

import datetime
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import attrs

from benchmarks.harness.machine import machine
from benchmarks.harness.processes import StubProcess, run
from benchmarks.harness.work import Contestant, Spread

RECORDED: Final = Path(__file__).parents[1] / "floor.toml"
RECORDS: Final = 300_000
TOLERANCE: Final = 1.15
FLOOR: Final = Contestant(name="floor", module="by_hand", job="floor")


def measure_floor(service: StubProcess) -> float:
    """Microseconds of CPU a record, once."""
    told = run(FLOOR, {"url": service.url, "records": RECORDS})
    return float(told["cpu_seconds"] / RECORDS * 1e6)


@attrs.frozen
class Floor:
    """Microseconds of CPU a record: `recorded` in the run of reference, on `recorded_on`, and in
    this run so far.
    """

    recorded: float
    recorded_on: str
    measured: Sequence[float]

    def slowness(self, floor: float | None) -> float:
        """How many times as slow as in the run of reference the machine is with this floor: 1 where
        that is not worth mentioning.
        """
        times = 1.0 if floor is None else floor / self.recorded
        return times if times > TOLERANCE else 1.0

    @property
    def is_high(self) -> bool:
        """Whether this machine is slower now than the times on the page are compared with."""
        return Spread.of(self.measured).median > TOLERANCE * self.recorded

    def says(self) -> str:
        """A sentence for the page and the terminal."""
        now = Spread.of(self.measured)
        text = (
            f"The floor, hashlib's own time for the two digests of a record, is {now.median:.2f} µs in this run "
            f"({now.lower:.2f} – {now.upper:.2f}), and was {self.recorded:.2f} in the run of reference ({self.recorded_on})."
        )
        if not self.is_high:
            return text
        more = 100 * (now.median / self.recorded - 1)
        return (
            f"{text} **It is {more:.0f} % higher: times are too, and a target in µs is harder to meet; ratios hold.**"
        )


def read_floor(measured: Sequence[float], path: Path = RECORDED) -> Floor:
    """What was measured, beside what is recorded in the file."""
    recorded = tomllib.loads(path.read_text("utf-8"))
    return Floor(recorded["us_a_record"], recorded["machine"], measured)


def record_floor(measured: Sequence[float], day: datetime.date, path: Path = RECORDED) -> None:
    """Makes this run the one of reference."""
    median = Spread.of(measured).median
    path.write_text(
        f"""# The floor of the run of reference: `python -m benchmarks.run --record-floor` writes it.
us_a_record = {median:.3f}
machine = "{machine()}, {day:%d %B %Y}"
""",
        "utf-8",
    )
