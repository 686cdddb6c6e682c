"""The pytest plugin that comes with the package."""

import subprocess
import sys
from importlib import metadata
from pathlib import Path

from socialapi import Client, testing
from socialapi.emulator import Emulator


def test_the_plugin_is_an_entry_point_of_the_distribution() -> None:
    (found,) = metadata.entry_points(group="pytest11", name="socialapi")
    assert found.load() is testing


async def test_the_fixtures_are_an_emulator_and_a_client_of_it(
    socialapi_emulator: Emulator, socialapi_client: Client
) -> None:
    account, audience = socialapi_emulator.seed["account_ids"][0], socialapi_emulator.seed["custom_audience_ids"][0]
    report = await socialapi_client.ads.account(account).custom_audience(audience).upload([{"email": "a@example.com"}])
    assert report.accepted == 1
    assert len(socialapi_emulator.members(account, audience)) == 1


def run(folder: Path, test: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(test)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, "test_it.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_another_project_needs_nothing_but_the_names_of_the_fixtures(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
import pytest

@pytest.mark.asyncio
async def test_one(socialapi_client, socialapi_emulator):
    token = await socialapi_client.oauth.app_only_token()
    assert token.access_token == socialapi_emulator.ready["bearer_token"]
    assert len(socialapi_emulator.requests) == 1

@pytest.mark.asyncio
async def test_each_test_has_its_own(socialapi_emulator):
    assert len(socialapi_emulator.requests) == 0
""",
        "-W",
        "error",
        "-o",
        "asyncio_mode=strict",
        "-o",
        "asyncio_default_fixture_loop_scope=function",
    )
    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_a_project_without_pytest_asyncio_is_not_disturbed(tmp_path: Path) -> None:
    """The plugin is loaded in every pytest of an environment that has the package."""
    (tmp_path / "conftest.py").write_text(
        "import sys, importlib.util, socialapi.testing\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *more: None if name == 'pytest_asyncio' else find(name, *more)\n"
        "importlib.reload(socialapi.testing)\n"
    )
    done = run(tmp_path, "def test_nothing():\n    assert True\n", "-p", "no:asyncio", "-W", "error")
    assert "1 passed" in done.stdout, done.stdout + done.stderr
