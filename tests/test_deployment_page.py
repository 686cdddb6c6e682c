"""The page on deployment is run as it stands: its applications and jobs, and the commands of its units and manifests."""

import asyncio
import configparser
import functools
import json
import os
import re
import shutil
import signal
import sys
import tomllib
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest
import yaml  # type: ignore[import-untyped]

from socialapi import Client, Config
from socialapi.cli import output
from socialapi.emulator import Emulator
from tests.cli.terminal import IN_THE_BACKGROUND, answered, last_json, program, write_people
from tests.support.redis import own_redis
from tests.test_readme import Shell, Snippet, run_console, snippets_of
from tests.webhooks.test_fastapi import uvicorn

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "deployment.md"
SNIPPETS: Final = snippets_of(PAGE)
READ_POSTS: Final = "GET /2/users/{id}/tweets"
POSTS: Final = "/posts/2244994945"
STEPS: Final = ("ENTRYPOINT", r"^CMD", "HEALTHCHECK .*CMD")

pytestmark = [pytest.mark.timeout(180), pytest.mark.slow]


def the(language: str, about: str = "") -> Snippet:
    """The one block in a language that has these words."""
    (found,) = [each for each in SNIPPETS if each.language == language and about in each.text]
    return found


def test_every_block_of_the_page_is_held_here() -> None:
    assert [each.language for each in SNIPPETS] == [
        *("python", "python", "ini", "toml", "console", "python"),
        *("ini", "ini", "python", "python"),
        *("yaml", "yaml", "yaml", "yaml", "dockerfile"),
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
    for name in ("exports/part-0.csv", "exports/part-3.csv", "exports/members.csv", "srv/exports/members.csv"):
        write_people(folder / name, 3)
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


# Kubernetes


def manifests() -> dict[str, Any]:
    """The manifests of the page by their kind."""
    found = [each for block in SNIPPETS if block.language == "yaml" for each in yaml.safe_load_all(block.text)]
    assert all(each["metadata"]["name"] and each["apiVersion"] for each in found)
    return {each["kind"]: each for each in found}


def pod_of(kind: str) -> dict[str, Any]:
    spec = manifests()[kind]["spec"]
    found: dict[str, Any] = spec.get("jobTemplate", {"spec": spec})["spec"]["template"]["spec"]
    return found


def args_of(kind: str) -> list[str]:
    (container,) = pod_of(kind)["containers"]
    return list(container["args"])


@pytest.mark.parametrize("kind", ["CronJob", "Job", "StatefulSet", "Deployment"])
def test_a_pod_mounts_what_it_has_and_writes_to_nothing_else(kind: str) -> None:
    pod, spec = pod_of(kind), manifests()[kind]["spec"]
    (container,) = pod["containers"]
    claimed = [each["metadata"]["name"] for each in spec.get("volumeClaimTemplates", [])]
    mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    assert sorted(mounts) == sorted([*claimed, *(each["name"] for each in pod["volumes"])])
    written = re.findall(r"--(?:inbox|journal|snapshot)=(/\w+)/", " ".join(args_of(kind)))
    assert written == ["/state"] * (kind != "Deployment")
    assert mounts["state"] == "/state"
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    user = re.findall(r"^USER (\d+)$", the("dockerfile").text, re.MULTILINE)
    assert [str(pod["securityContext"]["runAsUser"])] == user
    assert str(pod["securityContext"].get("fsGroup", user[0])) == user[0]
    selector = spec.get("selector", {}).get("matchLabels", {})
    assert selector.items() <= spec.get("template", {}).get("metadata", {}).get("labels", {}).items()


@pytest.mark.parametrize("kind", ["CronJob", "Job"])
def test_a_job_is_not_tried_again_where_that_does_not_help(kind: str) -> None:
    spec = manifests()[kind]["spec"]
    job = spec.get("jobTemplate", {"spec": spec})["spec"]
    (rule,) = job["podFailurePolicy"]["rules"]
    assert rule["onExitCodes"] == {"operator": "In", "values": [output.SOME_REJECTED, output.USAGE]}
    assert rule["action"] == ("FailIndex" if "backoffLimitPerIndex" in job else "FailJob")
    assert pod_of(kind)["restartPolicy"] == "Never"


async def test_the_cron_job_syncs_into_a_snapshot_and_never_twice_at_once(
    socialapi_emulator: Emulator, tmp_path: Path
) -> None:
    assert manifests()["CronJob"]["spec"]["concurrencyPolicy"] == "Forbid"
    status, report = await run_command(args_of("CronJob"), socialapi_emulator, tmp_path)
    assert (status, report["accepted"]) == (0, 3)
    assert (tmp_path / "state" / "members.snapshot").exists()


async def test_each_index_of_the_job_uploads_its_part_into_a_journal_of_its_own(
    socialapi_emulator: Emulator, tmp_path: Path
) -> None:
    job = manifests()["Job"]["spec"]
    assert job["completionMode"] == "Indexed"
    for index in (0, job["completions"] - 1):
        words = [each.replace("$(JOB_COMPLETION_INDEX)", str(index)) for each in args_of("Job")]
        status, report = await run_command(words, socialapi_emulator, tmp_path / str(index))
        assert (status, report["accepted"]) == (0, 3)
        assert (tmp_path / str(index) / "state" / f"crm-0412-{index}.journal").exists()


async def test_the_pod_of_the_receiver_is_healthy_at_the_path_and_port_of_its_probes(
    socialapi_emulator: Emulator, tmp_path: Path
) -> None:
    (container,) = pod_of("StatefulSet")["containers"]
    options = dict(each.removeprefix("--").split("=", 1) for each in container["args"] if each.startswith("--"))
    probe = container["readinessProbe"]["httpGet"]
    ports = [probe["port"], container["livenessProbe"]["tcpSocket"]["port"], container["ports"][0]["containerPort"]]
    (service_port,) = manifests()["Service"]["spec"]["ports"]
    assert {int(options["port"])} == {*ports, service_port["port"]}
    assert options["host"] == "0.0.0.0"
    assert probe["path"] == options["health-path"]
    names = manifests()["StatefulSet"]["spec"]["serviceName"], manifests()["Service"]["metadata"]["name"]
    assert names[0] == names[1]
    words = [each.replace("/state", str(tmp_path)).replace("port=9000", "port=0") for each in container["args"]]
    async with program(*words, environment=socialapi_emulator.environment) as receiver:
        assert receiver.process.stderr is not None
        port = re.findall(rb"listening on http://0\.0\.0\.0:(\d+)", await receiver.process.stderr.readline())[
            0
        ].decode()
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{probe['path']}") as reply:
            assert reply.status == 200
    assert (tmp_path / "events.sqlite").exists()


async def test_the_reader_of_a_stream_is_one_and_connects(socialapi_emulator: Emulator) -> None:
    spec = manifests()["Deployment"]["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    async with program(*args_of("Deployment"), environment=socialapi_emulator.environment) as reader:
        assert reader.process.stderr is not None
        assert b"connected" in await reader.process.stderr.readline()


# Containers


def test_the_page_shows_the_dockerfile_which_is_made_of_what_the_project_has() -> None:
    text = (ROOT / "Dockerfile").read_text("utf-8")
    assert the("dockerfile").text == text
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (extras,) = re.findall(r"/source\[([a-z,]+)\]", text)
    assert set(extras.split(",")) <= project["optional-dependencies"].keys()
    assert re.findall(r"^FROM \S+(?: AS (\w+))?$", text, re.MULTILINE) == ["build", "base", "emulator", ""]
    assert text.index("USER ") < text.index("ENTRYPOINT") < text.index("HEALTHCHECK")


@pytest.mark.timeout(900)
async def test_the_steps_of_the_dockerfile_make_an_image_that_is_healthy(tmp_path: Path) -> None:
    """There may be no engine: the steps run one by one, in a folder that has what a build is sent, with paths below it."""
    sent = [line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")]
    ignored = shutil.ignore_patterns("__pycache__", "*.so")
    for name in sent:
        copy = functools.partial(shutil.copytree, ignore=ignored) if (ROOT / name).is_dir() else shutil.copy
        (tmp_path / "source").mkdir(exist_ok=True)
        copy(ROOT / name, tmp_path / "source" / name)
    venv.create(tmp_path / "image", with_pip=True, symlinks=True)
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("SOCIALAPI_", "PYTHON", "PIP_NO"))
    }
    environment = kept | {"PATH": f"{tmp_path}/image/bin:{os.environ['PATH']}", "HOME": f"{tmp_path}/state"}

    async def step(*command: str) -> tuple[int | None, str]:
        process = await asyncio.create_subprocess_exec(
            *command, cwd=tmp_path, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        said, _ = await process.communicate()
        return process.returncode, said.decode()

    text = (ROOT / "Dockerfile").read_text("utf-8")
    for command in re.findall(r"^RUN (?:--mount=\S+ )*(.+)$", text, re.MULTILINE):
        moved = re.sub(r"(?<![\w/])/(source|wheels|state)\b", rf"{tmp_path}/\1", command)
        if os.geteuid() != 0:
            moved = moved.replace("-o 10001 -g 10001 ", "")
        status, said = await step("/bin/sh", "-c", moved)
        assert status == 0, said
    entry, start, check = (json.loads(re.findall(rf"{what} (\[.+\])$", text, re.MULTILINE)[0]) for what in STEPS)
    status, said = await step(*entry, "--version")
    assert status == 0
    assert "with speedups" in said or shutil.which("cc") is None, said
    emulator = await asyncio.create_subprocess_exec(
        *(*entry, *start, "--port", "0"), cwd=tmp_path, env=environment, stdout=asyncio.subprocess.PIPE
    )
    assert emulator.stdout is not None
    port = re.findall(r"127\.0\.0\.1:(\d+)", (await emulator.stdout.readline()).decode())[0]
    environment["http_proxy"] = "http://127.0.0.1:9"  # as containers may have one
    status, said = await step(*(word.replace("8080", port) for word in check))
    emulator.terminate()
    await emulator.wait()
    assert status == 0, said
    assert (await step(*(word.replace("8080", port) for word in check)))[0] != 0


# What is named
