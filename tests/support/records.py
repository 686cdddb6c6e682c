"""What the package logs, record by record."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest


class Records(logging.Handler):
    """Keeps every record of every logger."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.kept: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.kept.append(record)

    def facts(self) -> list[dict[str, Any]]:
        """What the records say of themselves, by the names of this package."""
        of_package = [vars(record) for record in self.kept if record.name == "socialapi"]
        return [{name: value for name, value in each.items() if name.startswith("socialapi_")} for each in of_package]


class LogLines(logging.Handler):
    """Keeps every record as text: its line, its traceback and all of its fields."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []
        self.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{self.format(record)} {record.__dict__}")


@pytest.fixture
def records() -> Iterator[Records]:
    """Everything is logged at DEBUG."""
    handler, root = Records(), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield handler
    root.setLevel(level)
    root.removeHandler(handler)
