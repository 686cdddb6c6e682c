"""What all contestants measure with."""

import os
import time
from pathlib import Path
from typing import Any


class Meter:
    """Counts from the moment it is made: seconds, and seconds of this process on a processor, all threads together."""

    def __init__(self) -> None:
        self._seconds = time.perf_counter()
        self._cpu_seconds = time.process_time()

    @property
    def seconds(self) -> float:
        """So far."""
        return time.perf_counter() - self._seconds

    def told(self, **further: Any) -> dict[str, Any]:
        """What it took, and what else there is to say."""
        cpu_seconds = time.process_time() - self._cpu_seconds
        return {"cpu_seconds": cpu_seconds, "seconds": self.seconds, **further}


class CollectionWatch:
    """One of `gc.callbacks`: how long the longest collection of garbage took."""

    def __init__(self) -> None:
        self.max_seconds = 0.0
        self._began = 0.0

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        """Called by Python before and after a collection."""
        if phase == "start":
            self._began = time.perf_counter()
        else:
            self.max_seconds = max(self.max_seconds, time.perf_counter() - self._began)


def resident_bytes() -> int:
    """What this process holds in memory now."""
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def peak_resident_bytes() -> int:
    """The most that it ever held; `getrusage` would also count the process that started this one."""
    status = Path("/proc/self/status").read_text("ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024
