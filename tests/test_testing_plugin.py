"""The pytest plugin that comes with the package: run as another project runs it, in a pytest of its own."""

import ast
import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import threading
from importlib import metadata
from pathlib import Path
from typing import Final

import aiohttp
import aioresponses.core
import pytest
from aioresponses import aioresponses as AioResponses  # noqa: N812  # a class with the name of its module

from socialapi import Client, Config, testing
from socialapi.emulator import Emulator, EmulatorThread
from socialapi.errors import RateLimitTooLong
from socialapi.testing import FollowingClock
from tests.support.clients import BEARER
from tests.support.pytest_runs import run_pytest

USER: Final = "2244994945"
TIMELINE: Final = "GET /2/users/{id}/tweets"
SETTINGS: Final = ("-W", "error", "-o", "asyncio_default_fixture_loop_scope=function")
AT_THE_END: Final = """
import pathlib, threading

def pytest_unconfigure(config):
    left = [each.name for each in threading.enumerate() if each.name.startswith("socialapi")]
    pathlib.Path(f"threads-left-{getattr(config, 'workerinput', {}).get('workerid', 'main')}").write_text(str(left))
"""
NOTE: Final = """
import json, pathlib, uuid

def note(**facts):
    pathlib.Path(f"note-{uuid.uuid4()}.json").write_text(json.dumps(facts))
"""
UPLOAD: Final = """
import asyncio
from socialapi import Client

async def upload(email):
    async with Client.from_env() as client:
        return await client.ads.account("18ce54d4x5t").custom_audience("1nmth").upload([{"email": email}])
"""


class Project:
    """A folder with tests of somebody else, and what a run of pytest there came to."""

    def __init__(self, folder: Path, **files: str) -> None:
        self.folder = folder
        for name, text in {"conftest": AT_THE_END, **files}.items():
            (folder / f"{name}.py").write_text(text)

    def run(self, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        return run_pytest(self.folder, "-q", *options, env=kept | variables)

    def passes(self, count: int, *options: str, **variables: str) -> None:
        done = self.run(*SETTINGS, *options, **variables)
        assert re.search(rf"(?m)^{count} passed in", done.stdout), done.stdout + done.stderr
        self.check_that_nothing_is_left()

    @property
    def notes(self) -> list[dict[str, str]]:
        return [json.loads(path.read_text()) for path in self.folder.glob("note-*.json")]

    def check_that_nothing_is_left(self) -> None:
        """Neither a thread at the end of any process, nor a socket of an emulator that was noted."""
        left = {path.name: ast.literal_eval(path.read_text()) for path in self.folder.glob("threads-left-*")}
        assert left
        assert not any(left.values()), left
        for note in self.notes:
            port = int(note["base_url"].rpartition(":")[2])
            with socket.socket() as asking:
                assert asking.connect_ex(("127.0.0.1", port)) != 0


def test_the_plugin_is_an_entry_point_of_the_distribution() -> None:
    (found,) = metadata.entry_points(group="pytest11", name="socialapi")
    assert found.load() is testing


def test_every_fixture_is_in_the_page_about_testing() -> None:
    source = Path(str(testing.__file__)).read_text("utf-8")
    fixtures = set(re.findall(r"^(?:async )?def (socialapi_\w+)", source, re.MULTILINE))
    assert len(fixtures) == 9
    page = (Path(__file__).parents[1] / "docs" / "testing.md").read_text("utf-8")
    assert fixtures == set(re.findall(r"^\| `(socialapi_\w+)` \|", page, re.MULTILINE))


@pytest.mark.slow
def test_loading_it_costs_other_tests_neither_aiohttp_nor_the_rest_of_the_package() -> None:
    script = "import sys, socialapi.testing\nprint({'aiohttp', 'attrs', 'pytest_asyncio', 'aioresponses'} & set(sys.modules))"
    without = "import importlib.util\nimportlib.util.find_spec = lambda *_: None\n"
    done = subprocess.run([sys.executable, "-c", without + script], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


# One emulator for each test, in its event loop


async def test_the_fixtures_are_an_emulator_and_a_client_of_it(
    socialapi_emulator: Emulator, socialapi_client: Client
) -> None:
    account, audience = socialapi_emulator.seed["account_ids"][0], socialapi_emulator.seed["custom_audience_ids"][0]
    report = await socialapi_client.ads.account(account).custom_audience(audience).upload([{"email": "a@example.com"}])
    assert report.accepted == 1
    assert len(socialapi_emulator.members(account, audience)) == 1


async def test_the_client_says_which_test_it_is_of(
    socialapi_emulator: Emulator, socialapi_client: Client, socialapi_scope: dict[str, str]
) -> None:
    assert list(socialapi_scope) == ["x-emulator-scope"]
    assert socialapi_scope["x-emulator-scope"].endswith("::test_the_client_says_which_test_it_is_of")
    socialapi_emulator.faults.add("status", status=500, path="/oauth2/token", headers=socialapi_scope)
    socialapi_emulator.faults.add("html", path="/oauth2/token", headers={"x-emulator-scope": "another"})
    await socialapi_client.oauth.app_only_token()
    assert [each.fault for each in socialapi_emulator.requests] == ["status", None]


def test_another_project_needs_nothing_but_the_names_of_the_fixtures(tmp_path: Path) -> None:
    tests = """
import pytest

@pytest.mark.asyncio
async def test_one(socialapi_client, socialapi_emulator):
    token = await socialapi_client.oauth.app_only_token()
    assert token.access_token == socialapi_emulator.ready["bearer_token"]
    assert len(socialapi_emulator.requests) == 1

@pytest.mark.asyncio
async def test_each_test_has_its_own(socialapi_emulator):
    assert len(socialapi_emulator.requests) == 0
"""
    Project(tmp_path, test_it=tests).passes(2, "-o", "asyncio_mode=strict")


IN_A_LOOP: Final = """
import asyncio
import pytest

LOOPS = []

{mark}
class TestWithLoopOf{loop}:
    async def test_one(self, socialapi_client):
        LOOPS.append(asyncio.get_running_loop())
        await socialapi_client.oauth.app_only_token()

    async def test_two(self, socialapi_emulator, socialapi_client):
        LOOPS.append(asyncio.get_running_loop())
        await socialapi_client.oauth.app_only_token()
        assert len(socialapi_emulator.requests) == 1
        assert (LOOPS[-2] is LOOPS[-1]) == ("{loop}" != "function")

@pytest.mark.asyncio
async def test_after_{loop}(socialapi_client):
    await socialapi_client.oauth.app_only_token()
"""
LOOPS: Final = ("function", "class", "module", "session")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["strict", "auto"])
def test_a_test_in_any_event_loop_has_the_fixtures_in_its_own(tmp_path: Path, mode: str) -> None:
    tests = [IN_A_LOOP.format(loop=loop, mark=f'@pytest.mark.asyncio(loop_scope="{loop}")') for loop in LOOPS]
    Project(tmp_path, test_it="".join(tests)).passes(12, "-o", f"asyncio_mode={mode}", "--timeout=60")


@pytest.mark.slow
@pytest.mark.parametrize("loop", ["class", "session"])
def test_the_event_loop_may_be_that_of_the_settings(tmp_path: Path, loop: str) -> None:
    tests = IN_A_LOOP.format(loop=loop, mark="")
    options = ("-o", "asyncio_mode=auto", "-o", f"asyncio_default_test_loop_scope={loop}", "--timeout=60")
    Project(tmp_path, test_it=tests).passes(3, *options)


@pytest.mark.slow
def test_a_fixture_of_the_project_keeps_its_own_event_loop(tmp_path: Path) -> None:
    tests = """
import pytest, pytest_asyncio

@pytest_asyncio.fixture
async def token(socialapi_client):
    return await socialapi_client.oauth.app_only_token()

@pytest.mark.asyncio(loop_scope="class")
class TestIt:
    async def test_one(self, token):
        assert token.access_token
"""
    Project(tmp_path, test_it=tests).passes(1, "-o", "asyncio_mode=strict", "--timeout=60")


# One emulator for many tests, on a thread of its own

SHARING: Final = (
    NOTE
    + """
def test_one(socialapi_emulator_sync, socialapi_emulator_session, socialapi_emulator_module):
    assert socialapi_emulator_sync is socialapi_emulator_session
    assert socialapi_emulator_sync is not socialapi_emulator_module
    for scope, emulator in (("session", socialapi_emulator_session), ("module", socialapi_emulator_module)):
        note(scope=scope, base_url=emulator.ready["base_url"])
        emulator.advance(60)
        emulator.faults.add("status")

def test_two(socialapi_emulator_sync, socialapi_emulator_module):
    assert socialapi_emulator_sync.advanced_seconds == 0
    assert socialapi_emulator_module.advanced_seconds == 60

def test_three(socialapi_emulator_session):
    assert socialapi_emulator_session.advanced_seconds == 0
    socialapi_emulator_session.advance(30)

def test_four(socialapi_emulator_session):
    assert socialapi_emulator_session.advanced_seconds == 30
"""
)


@pytest.mark.slow
def test_the_session_shares_one_emulator_and_each_module_has_another(tmp_path: Path) -> None:
    project = Project(tmp_path, test_a=SHARING, test_b=SHARING)
    project.passes(8)
    assert len({note["base_url"] for note in project.notes if note["scope"] == "session"}) == 1
    assert len({note["base_url"] for note in project.notes if note["scope"] == "module"}) == 2


@pytest.mark.slow
def test_every_worker_of_xdist_has_an_emulator_of_its_own(tmp_path: Path) -> None:
    project = Project(tmp_path, test_a=SHARING, test_b=SHARING)
    project.passes(8, "-n", "2", "--dist", "loadfile")
    assert len({note["base_url"] for note in project.notes if note["scope"] == "session"}) == 2
    assert len(list(tmp_path.glob("threads-left-gw*"))) == 2


@pytest.mark.slow
def test_the_settings_of_all_emulators_are_those_of_one_fixture(tmp_path: Path) -> None:
    settings = """
import pytest

@pytest.fixture(scope="session")
def socialapi_emulator_options():
    return {"empty": True}
"""
    tests = """
def test_one(socialapi_emulator_sync, socialapi_emulator_module):
    assert len(socialapi_emulator_sync.seed["account_ids"]) == 1
    assert len(socialapi_emulator_module.seed["account_ids"]) == 1

async def test_two(socialapi_emulator):
    assert len(socialapi_emulator.seed["account_ids"]) == 1
"""
    Project(tmp_path, conftest=AT_THE_END + settings, test_it=tests).passes(2, "-o", "asyncio_mode=auto")


@pytest.mark.slow
def test_a_project_can_have_its_asynchronous_tests_share_one_as_well(tmp_path: Path) -> None:
    sharing = """
import pytest

@pytest.fixture
def socialapi_emulator(socialapi_emulator_sync):
    return socialapi_emulator_sync
"""
    tests = """
BASES = set()

async def test_one(socialapi_client, socialapi_emulator):
    await socialapi_client.oauth.app_only_token()
    assert len(socialapi_emulator.requests) == 1
    BASES.add(socialapi_emulator.ready["base_url"])

async def test_two(socialapi_client, socialapi_emulator):
    assert not socialapi_emulator.requests
    BASES.add(socialapi_emulator.ready["base_url"])
    assert len(BASES) == 1
"""
    Project(tmp_path, conftest=AT_THE_END + sharing, test_it=tests).passes(2, "-o", "asyncio_mode=auto")


# Synchronous tests


@pytest.mark.slow
def test_code_that_reads_the_environment_is_a_client_of_the_emulator_until_the_test_ends(tmp_path: Path) -> None:
    tests = (
        UPLOAD
        + """
import os

def test_one(socialapi_env, socialapi_emulator_sync):
    assert socialapi_env["SOCIALAPI_BASE_URL"] == socialapi_emulator_sync.ready["base_url"]
    assert {name for name in os.environ if name.startswith("SOCIALAPI_")} == {*socialapi_env, "SOCIALAPI_NO_SPEEDUPS"}
    socialapi_emulator_sync.faults.add("reset_after")
    report = asyncio.run(upload("ada@example.com"))
    assert (report.accepted, report.retries) == (1, 1)
    assert len(socialapi_emulator_sync.members("18ce54d4x5t", "1nmth")) == 1

def test_two():
    assert os.environ["SOCIALAPI_BASE_URL"] == "https://production.example.com"
    assert os.environ["SOCIALAPI_OAUTH2_ACCESS_TOKEN"] == "of-the-developer"
"""
    )
    Project(tmp_path, test_it=tests).passes(
        2,
        SOCIALAPI_BASE_URL="https://production.example.com",
        SOCIALAPI_OAUTH2_ACCESS_TOKEN="of-the-developer",
        SOCIALAPI_REDIS_URL="redis://production.example.com",
        SOCIALAPI_NO_SPEEDUPS="1",
    )


WITHOUT_PYTEST_ASYNCIO: Final = """
import sys, importlib, importlib.util, socialapi.testing
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "pytest_asyncio" else find(name, *more)
importlib.reload(socialapi.testing)
"""


@pytest.mark.slow
def test_a_project_without_pytest_asyncio_has_the_fixtures_for_synchronous_tests(tmp_path: Path) -> None:
    """And is not disturbed by the others: the plugin is loaded in every pytest of an environment that has the package."""
    tests = (
        UPLOAD
        + """
def test_nothing():
    assert True

def test_it(socialapi_env, socialapi_emulator_module, socialapi_emulator_sync, socialapi_responses):
    socialapi_responses.stop()
    assert asyncio.run(upload("ada@example.com")).accepted == 1
    socialapi_responses.start()
"""
    )
    project = Project(tmp_path, conftest=WITHOUT_PYTEST_ASYNCIO + AT_THE_END, test_it=tests)
    done = project.run("-p", "no:asyncio", "-W", "error")
    assert "2 passed" in done.stdout, done.stdout + done.stderr
    project.check_that_nothing_is_left()


# However a run ends

ENDINGS: Final = {
    "assert False": (1, "2 failed"),
    "os.kill(os.getpid(), signal.SIGINT); time.sleep(30)": (2, "KeyboardInterrupt"),
    "pytest.exit('enough')": (2, "enough"),
}


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
def test_the_emulators_end_with_the_run_however_it_ends(tmp_path: Path, ending: str) -> None:
    tests = f"""{NOTE}
import os, signal, time, pytest

def test_one(socialapi_emulator_session, socialapi_emulator_module, socialapi_env):
    for emulator in (socialapi_emulator_session, socialapi_emulator_module):
        note(base_url=emulator.ready["base_url"])
    {ending}

async def test_two(socialapi_emulator, socialapi_client):
    note(base_url=socialapi_emulator.ready["base_url"])
    await socialapi_client.oauth.app_only_token()
    {ending}
"""
    project = Project(tmp_path, test_it=tests)
    done = project.run(*SETTINGS, "-o", "asyncio_mode=auto")
    status, said = ENDINGS[ending]
    assert (done.returncode, said in done.stdout + done.stderr) == (status, True), done.stdout + done.stderr
    assert len(project.notes) == (3 if status == 1 else 2)
    project.check_that_nothing_is_left()


@pytest.mark.slow
def test_an_interrupt_of_an_asynchronous_test_ends_its_emulator(tmp_path: Path) -> None:
    tests = f"""{NOTE}
import asyncio, os, signal

async def test_one(socialapi_emulator, socialapi_client):
    note(base_url=socialapi_emulator.ready["base_url"])
    await socialapi_client.oauth.app_only_token()
    os.kill(os.getpid(), signal.SIGINT)
    await asyncio.Event().wait()
"""
    project = Project(tmp_path, test_it=tests)
    done = project.run("-o", "asyncio_mode=auto", "-o", "asyncio_default_fixture_loop_scope=function")
    assert done.returncode == 2, done.stdout + done.stderr
    project.check_that_nothing_is_left()


# The clock of a client


async def one_page(client: Client) -> int:
    return len((await client.posts.by_user(USER, max_results=5).first()).data)


@pytest.mark.slow
async def test_a_client_waits_by_the_clock_of_the_emulator() -> None:
    async with (
        Emulator(rate_limits={TIMELINE: (1, 900.0)}) as emulator,
        Client(emulator.config, emulator.credentials, clock=FollowingClock(emulator)) as client,
    ):
        assert await one_page(client) == 5
        hasty = client.with_options(max_wait_seconds=1)
        with pytest.raises(RateLimitTooLong):
            await one_page(hasty)
        emulator.advance(900)
        assert await one_page(hasty) == 5
        waiting = asyncio.create_task(one_page(client))
        emulator.advance(900)
        assert await waiting == 5
        assert [request.status for request in emulator.requests if request.path.endswith("/tweets")] == [200] * 3


async def test_it_goes_on_when_the_emulator_is_reset_and_with_one_on_a_thread() -> None:
    with EmulatorThread() as emulator:
        clock = FollowingClock(emulator)
        begin = clock.monotonic()
        emulator.advance(900)
        assert 900 <= clock.monotonic() - begin < 960
        emulator.reset()
        assert 900 <= clock.monotonic() - begin < 960
        emulator.advance(100)
        assert 1_000 <= clock.monotonic() - begin < 1_060
        waiting = asyncio.create_task(clock.sleep(500))
        await asyncio.sleep(0)
        emulator.advance(500)
        await waiting


# Mocked answers


async def test_answers_are_mocked_by_the_fixture(socialapi_responses: AioResponses) -> None:
    payload = {"data": [{"id": "1", "text": "Hello", "edit_history_tweet_ids": ["1"]}]}
    socialapi_responses.get(re.compile(r"https://api\.example\.com/2/tweets.*"), payload=payload)
    async with Client(Config(base_url="https://api.example.com"), [BEARER]) as client:
        page = await client.posts.lookup(["1"])
    assert [post.text for post in page.data] == ["Hello"]
    assert len(socialapi_responses.requests) == 1


def test_afterwards_everything_is_as_it_was() -> None:
    before = aiohttp.ClientSession._request
    with testing.aioresponses():
        assert aiohttp.ClientSession._request is not before
    with pytest.raises(ZeroDivisionError), testing.aioresponses():
        raise ZeroDivisionError
    assert aiohttp.ClientSession._request is before
    assert vars(aioresponses.core)["ClientResponse"] is aiohttp.ClientResponse


async def test_what_it_leaves_out_is_left_out() -> None:
    """The page about testing says so."""
    traced: list[str] = []
    tracing = aiohttp.TraceConfig()
    tracing.on_request_start.append(lambda *_: _noted(traced))
    with testing.aioresponses() as mocked:
        mocked.get("https://a.example", body=b"\x1f\x8b", headers={"Content-Encoding": "gzip"})
        async with (
            aiohttp.ClientSession(trace_configs=[tracing]) as session,
            session.get("https://a.example", proxy="http://127.0.0.1:1") as response,
        ):
            assert await response.read() == b"\x1f\x8b", "not decompressed"
    assert traced == []


async def _noted(traced: list[str]) -> None:
    traced.append("a request")


def test_without_aioresponses_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aioresponses", None)
    with pytest.raises(ImportError, match=r"pip install 'aiosocialapi\[testing\]'"), testing.aioresponses():
        pass


def test_responses_of_an_aiohttp_that_asks_for_no_writer_are_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    class Older:
        def __init__(self, method: str, url: str, *, writer: object) -> None: ...

    monkeypatch.setattr("aiohttp.ClientResponse", Older)
    found: object = testing._response_class.__wrapped__()
    assert found is Older


def test_nothing_of_these_tests_is_left_running() -> None:
    names = {each.name for each in threading.enumerate()}
    assert names.isdisjoint({"socialapi-emulator"})
