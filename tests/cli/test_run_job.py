"""Progress: a bar on a terminal, now and then a line elsewhere, always on standard error."""

import io
import itertools
import logging

import attrs
import pytest

from socialapi.cli import output, run_job
from socialapi.cli.run_job import ProgressDisplay
from socialapi.reports import Progress, UploadReport

HALF = Progress(
    report=UploadReport(read=2_000, accepted=900, rejected=60, duplicate=40, pending=1_000, requests=3),
    fraction_read=0.5,
    note="repeating after: HTTP 503",
)
COUNTS = "2,000 read, 900 accepted, 60 rejected, 40 duplicate, 3 requests (repeating after: HTTP 503)"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_a_terminal_a_line_is_written_every_ten_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    seconds = itertools.count(0.0, 4.0)
    monkeypatch.setattr("time.monotonic", lambda: next(seconds))
    with ProgressDisplay("crm.csv") as display:
        for _ in range(5):
            display(HALF)
    printed = capsys.readouterr()
    assert printed.err == f"crm.csv: {COUNTS}\n"
    assert not printed.out
    assert display.last is HALF


def test_columns_that_are_called_otherwise_are_shown_once_and_not_with_q(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(report=attrs.evolve(HALF.report, columns={"Handy": "phone_number", "email": "email"}))
    with ProgressDisplay("crm.csv") as display:
        display(progress)
        display(progress)
    assert capsys.readouterr().err == "reading Handy as phone_number; email as email\n"
    with output.saying_logs(logging.ERROR), ProgressDisplay("crm.csv") as display:
        display(progress)
    assert not capsys.readouterr().err


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    with ProgressDisplay("crm.csv") as display:
        display(HALF)
        assert display._bar is not None
        (task,) = display._bar.tasks
        assert (task.completed, task.total) == (0.25, 1.0)
        display._bar.refresh()
    assert COUNTS in terminal.getvalue()
    assert "\x1b[" in terminal.getvalue()
    assert not capsys.readouterr().out


@pytest.mark.parametrize(
    ("fraction_read", "read", "pending", "done"),
    [(None, 10, 5, None), (0.5, 0, 0, None), (1.0, 10, 5, 0.5), (1.0, 10, 0, 1.0)],
)
def test_done_is_what_is_read_and_settled(
    fraction_read: float | None, read: int, pending: int, done: float | None
) -> None:
    report = UploadReport(read=read, accepted=read - pending, pending=pending)
    assert run_job._fraction_done(Progress(report=report, fraction_read=fraction_read)) == done
