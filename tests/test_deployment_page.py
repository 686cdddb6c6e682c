"""The page on deployment is run as it stands: its applications and jobs, and the commands of its units and manifests."""

import asyncio
import configparser
import json
import os
import re
import runpy
import signal
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest
import yaml  # type: ignore[import-untyped]
from aiohttp import web

from socialapi import Client, Config
from socialapi.cli import output
from socialapi.emulator import Emulator
from tests.cli.terminal import IN_THE_BACKGROUND, answered, last_json, program, write_people
from tests.support.redis import own_redis
from tests.test_readme import Shell, Snippet, commands, run_console, snippets_of
from tests.webhooks.test_fastapi import uvicorn

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "deployment.md"
SNIPPETS: Final = snippets_of(PAGE)
READ_POSTS: Final = "GET /2/users/{id}/tweets"
POSTS: Final = "/posts/2244994945"

pytestmark = [pytest.mark.timeout(180), pytest.mark.slow]


def the(language: str, about: str = "") -> Snippet:
    """The one block in a language that has these words."""
    (found,) = [each for each in SNIPPETS if each.language == language and about in each.text]
    return found


def test_every_block_of_the_page_is_held_here() -> None:
    assert [each.language for each in SNIPPETS] == [
        *("python", "python", "ini", "toml", "console", "python"),
        *("ini", "ini", "yaml", "dockerfile"),
    ]


# Web applications


async def test_two_workers_of_the_application_share_a_limit_and_say_when_it_is_used_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "posts_app.py").write_text(the("python", "FastAPI").text)
    with own_redis() as server:
        async with Emulator(rate_limits={READ_POSTS: (3, 900.0)}) as emulator:
            for name, value in {**emulator.environment, "SOCIALAPI_REDIS_URL": server.url}.items():
                monkeypatch.setenv(name, value)
            secret = emulator.ready["api_key_secret"]
            async with uvicorn(secret, tmp_path, 2, "posts_app:app", tmp_path) as (_, address):
                replies = [await get(address.removesuffix("/hooks") + POSTS) for _ in range(5)]
            statuses = [request.status for request in emulator.requests]
    assert [status for status, _, _ in replies] == [200, 200, 200, 503, 503]
    assert all(0 < int(headers["Retry-After"]) <= 902 for status, headers, _ in replies if status == 503)
    assert replies[0][2]
    assert 429 not in statuses


async def get(url: str) -> tuple[int, Mapping[str, str], Any]:
    async with aiohttp.ClientSession() as session, session.get(url) as reply:
        return reply.status, reply.headers, await reply.json()


async def test_the_context_of_aiohttp_opens_one_client_and_closes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "app.py"
    script.write_text(the("python", "cleanup_ctx").text)
    async with Emulator() as emulator:
        for name, value in emulator.environment.items():
            monkeypatch.setenv(name, value)
        module = runpy.run_path(str(script))
        runner = web.AppRunner(module["app"])
        await runner.setup()
        client: Client = module["app"][module["CLIENT"]]
        assert (await client.posts.by_user("2244994945").first()).data
        await runner.cleanup()
        with pytest.raises(RuntimeError, match="closed"):
            await client.posts.by_user("2244994945").first()


def test_the_unit_of_a_service_starts_the_example_again_after_every_end() -> None:
    service = unit("WantedBy=multi-user.target")["Service"]
    _, program_path, port = service["ExecStart"].split()
    assert (ROOT / "examples" / Path(program_path).name).is_file()
    assert port.isdecimal()
    assert service["Restart"] == "always"
    state = f"/var/lib/{service['StateDirectory']}"
    assert (service["WorkingDirectory"], service["Environment"]) == (state, f"HOME={state}")


# Limits


async def test_the_share_of_a_worker_is_kept_to_though_the_service_reports_more(tmp_path: Path) -> None:
    file = tmp_path / "worker.toml"
    file.write_text(the("toml").text)
    config = Config.from_file(file)
    assert config.rate_limits == {"custom_audience_uploads": (375, 60.0)}
    async with Emulator() as emulator:
        share = Config(ads_url=emulator.config.ads_url, rate_limits=config.rate_limits)
        async with Client(share, emulator.credentials) as client:
            await client.ads.account("18ce54d4x5t").custom_audience("1nmth").upload([{"handle": "@ada"}])
            (status,) = client.limits.values()
    assert (status.limit, status.remaining) == (375, 374)


# Signals and statuses


async def test_the_console_shows_the_status_of_rejected_rows(
    tmp_path: Path, emulator_environment: dict[str, str]
) -> None:
    with Shell(tmp_path, emulator_environment) as shell:
        await asyncio.to_thread(run_console, the("console"), shell)


@pytest.fixture
def emulator_environment(socialapi_emulator: Emulator, tmp_path: Path) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return {**os.environ, **socialapi_emulator.environment, "PATH": path, "HOME": str(tmp_path)}


def test_the_page_says_what_each_status_of_the_command_line_is_for() -> None:
    rows = re.findall(r"^\| ([\d, ]+) \|", PAGE.read_text("utf-8"), re.MULTILINE)
    statuses = [int(each) for row in rows for each in row.split(",")]
    ours = [output.DONE, output.SOME_REJECTED, output.USAGE, output.SERVICE, output.INTERRUPTED, output.READER_LEFT]
    assert statuses == [*ours, 128 + signal.SIGKILL, 128 + signal.SIGTERM]


@pytest.mark.parametrize("before", [(), IN_THE_BACKGROUND])
async def test_the_program_ends_on_sigterm_with_130_and_goes_on_the_next_time(
    tmp_path: Path, before: Sequence[str]
) -> None:
    write_people(tmp_path / "crm.csv", 500)
    script = tmp_path / "upload.py"
    script.write_text(the("python", "SIGTERM").text)
    async with Emulator() as emulator:
        emulator.faults.add("latency", delay_seconds=0.05, times=1_000)
        environment = {**os.environ, **emulator.environment, "SOCIALAPI_MAX_OPERATIONS": "10"}

        async def start() -> asyncio.subprocess.Process:
            return await asyncio.create_subprocess_exec(
                *(*before, sys.executable, "-W", "error", str(script)),
                cwd=tmp_path,
                env=environment,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )

        first = await start()
        await answered(emulator, 200, 20)
        first.terminate()
        assert await first.communicate() == (b"", b"")
        assert first.returncode == 130
        emulator.faults.clear()
        sent = len(emulator.requests)
        second = await start()
        out, _ = await second.communicate()
        assert (second.returncode, out) == (0, b"500 accepted, 0 rejected\n")
        assert len(emulator.requests) - sent < 40, "what was confirmed is not sent again"


# Schedulers


def unit(about: str) -> configparser.ConfigParser:
    found = configparser.ConfigParser(interpolation=None)
    found.optionxform = str  # type: ignore[assignment,method-assign]
    found.read_string(the("ini", about).text)
    return found


async def run_command(words: Sequence[str], emulator: Emulator, folder: Path) -> tuple[int, Mapping[str, Any]]:
    """Runs a command of the page, with its folders below one of ours."""
    for place in ("exports", "srv/exports", "state", "var/lib/socialapi"):
        (folder / place).mkdir(parents=True)
    write_people(folder / "exports" / "crm.csv", 3)
    write_people(folder / "srv" / "exports" / "members.csv", 3)
    moved = [re.sub(r"(/srv/exports|/exports|/var/lib/socialapi|/state)/", rf"{folder}\1/", each) for each in words]
    environment = emulator.environment | {"HOME": str(folder / "state")}
    async with program(*moved, environment=environment) as job:
        status, out, err = await job.ended()
    assert err == ""
    return status, last_json(out)


async def test_the_unit_of_systemd_syncs_and_is_not_repeated_where_that_does_not_help(
    socialapi_emulator: Emulator, tmp_path: Path
) -> None:
    service = unit("members.csv")["Service"]
    executable, *words = service["ExecStart"].split()
    assert Path(executable).name == "socialapi"
    status, report = await run_command(words, socialapi_emulator, tmp_path)
    assert (status, report["accepted"]) == (0, 3)
    assert (service["Restart"], service["RestartPreventExitStatus"].split()) == ("on-failure", ["1", "2"])
    assert service["Environment"] == f"HOME=/var/lib/{service['StateDirectory']}"
    assert unit("OnCalendar").sections() == ["Timer", "Install"]


async def test_the_manifest_of_kubernetes_uploads_into_a_journal_that_a_second_pod_finds(
    socialapi_emulator: Emulator, tmp_path: Path
) -> None:
    manifest = yaml.safe_load(the("yaml").text)
    assert (manifest["apiVersion"], manifest["kind"]) == ("batch/v1", "CronJob")
    job = manifest["spec"]["jobTemplate"]["spec"]
    (rule,) = job["podFailurePolicy"]["rules"]
    assert rule["onExitCodes"]["values"] == [output.SOME_REJECTED, output.USAGE]
    pod = job["template"]["spec"]
    (container,) = pod["containers"]
    assert {each["name"] for each in container["volumeMounts"]} == {each["name"] for each in pod["volumes"]}
    assert [each["name"] for each in container["env"]] == ["JOB_NAME"]
    words = [each.replace("$(JOB_NAME)", "crm-upload-29") for each in container["args"]]
    assert (await run_command(words, socialapi_emulator, tmp_path))[0] == 0
    assert (tmp_path / "state" / "crm-upload-29.journal").exists()
    mounts = {each["mountPath"] for each in container["volumeMounts"]}
    assert {"/state", "/exports", "/tmp"} == mounts  # a path of the container


# Containers


def test_the_image_is_made_of_what_the_project_has() -> None:
    text = the("dockerfile").text.replace("\\\n", "")
    steps = [line.split(maxsplit=1) for line in text.splitlines() if line]
    assert [step for step, _ in steps] == [
        *("FROM", "COPY", "RUN"),
        *("FROM", "RUN", "RUN", "ENV", "USER", "WORKDIR", "VOLUME", "ENTRYPOINT"),
    ]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (program_name,) = json.loads(dict(steps)["ENTRYPOINT"])
    assert program_name in project["scripts"]
    (extras,) = re.findall(r"/source\[([a-z,]+)\]", text)
    assert set(extras.split(",")) <= project["optional-dependencies"].keys()
    user = yaml.safe_load(the("yaml").text)["spec"]["jobTemplate"]["spec"]["template"]["spec"]["securityContext"]
    assert dict(steps)["USER"] == str(user["runAsUser"]) == str(user["fsGroup"])


# What is named


def test_what_the_page_quotes_of_the_code_is_there() -> None:
    page = PAGE.read_text("utf-8")
    code = "".join(path.read_text("utf-8") for path in (ROOT / "socialapi").rglob("*.py"))
    settings = {f"SOCIALAPI_{name.upper()}" for name in Config.__annotations__}
    named = set(re.findall(r"`(SOCIALAPI_[A-Z_]+)`", page))
    assert named
    assert all(f'"{name}"' in code or name in settings for name in named)
    assert all(said in code for said in ("Redis does not answer", "Redis has lost the state of a rate limit"))
    assert commands(the("console"))
