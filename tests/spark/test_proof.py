"""A million rows in sixteen partitions, of which every third is attempted twice, arrive exactly and keep to the quota."""

import collections
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from tests.proofs.processes import ROOT, service
from tests.spark.conftest import environment_of
from tests.spark.test_writes import usable

ROWS: Final = 1_000_000
PARTITIONS: Final = 16
LIMIT: Final = "custom_audience_uploads"


@attrs.define
class Sent:
    """When the requests of an attempt began and ended."""

    task: int
    begins: list[float] = attrs.field(factory=list)
    ends: list[float] = attrs.field(factory=list)


def requests_of_attempts(folder: Path) -> dict[int, list[Sent]]:
    """What each attempt that sent anything has sent, by partition, the attempts in their order."""
    found: dict[int, list[Sent]] = collections.defaultdict(list)
    for note in (folder / "requests").iterdir():
        partition, task = map(int, note.stem.split("-"))
        sent = Sent(task)
        for line in note.read_text().splitlines():
            what, at = line.split()
            (sent.begins if what == "begin" else sent.ends).append(float(at))
        found[partition].append(sent)
    return {partition: sorted(each, key=lambda sent: sent.task) for partition, each in found.items()}


def ends(folder: Path) -> collections.Counter[str]:
    """How the attempts have ended."""
    found = [json.loads(path.read_text()) for path in folder.glob("part-*.json")]
    return collections.Counter((each["why"] or each["state"]).partition(": ")[2] or each["state"] for each in found)


def run(order: dict[str, Any], variables: dict[str, str]) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.spark.writing_client"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **variables},
        input=json.dumps(order),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


@pytest.mark.timeout(1_200)
def test_a_million_rows_arrive_exactly_though_every_third_task_fails_once(
    redis_url: str, tmp_path: Path, proof_scale: float, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, folder = int(ROWS * proof_scale), tmp_path / "report"
    # So small that it binds: the tasks together have to wait for it. At a part of the size the batches are smaller, too.
    requests, seconds, operations = (60, 10.0, 2_500) if proof_scale == 1 else (24, 3.0, 500)
    config = tmp_path / "config.toml"
    config.write_text(f"max_operations = {operations}\n[rate_limits]\n{LIMIT} = [{requests}, {seconds}]\n")
    with service({LIMIT: (requests, seconds)}) as emulator:
        account, audience = emulator.audience
        variables = environment_of(emulator) | {
            "SOCIALAPI_CONFIG_FILE": str(config),
            "SOCIALAPI_REDIS_URL": redis_url,
            "SOCIALAPI_REDIS_NAMESPACE": "proof",
        }
        options = {"account": account, "audience": audience, "report": str(folder), "rejects": str(folder / "rejects")}
        told = run({"rows": rows, "partitions": PARTITIONS, "options": options}, variables)
        records, members = emulator.requests(), emulator.members()
    summary = told["summary"]
    statuses = collections.Counter(record["status"] for record in records)
    repeated = {part["partition"] for part in summary["partitions"] if part["attempt"] > 0}
    sent = requests_of_attempts(folder)
    failed = sum(len(each.begins) for attempts in sent.values() for each in attempts[:-1])
    with capsys.disabled():
        print(
            f"\n{rows:,} rows in {PARTITIONS} partitions in {told['seconds']:.0f} s: {len(records)} requests "
            f"({summary['requests']} of them by the attempts that count), statuses {dict(statuses)}; repeated partitions "
            f"{sorted(repeated)}; attempts {dict(ends(folder))}; requests of attempts that failed {failed}; read {summary['read']:,}, rejected {summary['rejected']:,}"
        )
    assert members == usable(rows)
    assert (summary["read"], summary["rejected"]) == (rows, rows // 100)
    assert summary["accepted"] + summary["rejected"] == rows
    assert repeated == set(range(0, PARTITIONS, 3))
    assert 429 not in statuses
    assert failed
    for attempts in sent.values():
        for earlier, later in itertools.pairwise(attempts):
            assert max(earlier.begins + earlier.ends, default=0) <= min(later.begins)
