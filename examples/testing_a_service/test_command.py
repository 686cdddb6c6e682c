"""Tests synchronous code, which reads the environment that the fixture `socialapi_env` sets, and starts its
own event loop.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from newsletter import latest_headlines, main

from socialapi.emulator import EmulatorThread

USER = "2244994945"

pytestmark = pytest.mark.usefixtures("socialapi_env")


def test_there_are_five_headlines() -> None:
    assert len(latest_headlines(USER)) == 5


def test_a_broken_connection_is_not_noticed(socialapi_emulator_sync: EmulatorThread) -> None:
    socialapi_emulator_sync.faults.add("reset_before", path="/2/users/*/tweets")
    assert len(latest_headlines(USER)) == 5
    asked = [request for request in socialapi_emulator_sync.requests if request.route == "/2/users/{id}/tweets"]
    assert [request.fault for request in asked] == ["reset_before", None]


def test_the_command_prints_headlines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([USER]) == 0
    assert len(capsys.readouterr().out.splitlines()) >= 5


def test_what_goes_wrong_is_said(socialapi_emulator_sync: EmulatorThread, capsys: pytest.CaptureFixture[str]) -> None:
    socialapi_emulator_sync.faults.add("status", problem="usage-capped", status=403, times=10)
    assert main([USER]) == 1
    assert capsys.readouterr().err.startswith("no headlines today: ")


def test_a_process_of_its_own_has_the_same_environment() -> None:
    program = Path(__file__).with_name("newsletter.py")
    done = subprocess.run([sys.executable, program, USER], capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) >= 5
