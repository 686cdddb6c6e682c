"""Exports in a bucket of S3, which moto serves: patterns, versions and credentials."""

import gzip
import hashlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from socialapi import Client
from socialapi.emulator import Emulator
from socialapi.errors import BulkError, InvalidInput
from socialapi.resources.audiences import CustomAudience
from tests.bulk.input_files import read_until_error
from tests.proofs.processes import service
from tests.proofs.test_files_of_jobs import audience_arguments, kill_after, run, started

PATTERN: Final = "s3://crm/part-*.csv.gz"


def part(*numbers: int) -> bytes:
    return gzip.compress(b"email\n" + b"".join(b"%d@example.com\n" % number for number in numbers), mtime=0)


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A bucket with three parts of an export."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    client = boto3.client("s3")
    client.create_bucket(Bucket="crm")
    for number in range(3):
        client.put_object(
            Bucket="crm", Key=f"part-{number}.csv.gz", Body=part(*range(number * 100, number * 100 + 100))
        )
    client.put_object(Bucket="crm", Key="other.csv", Body=b"email\nother@example.com\n")
    yield client
    server.stop()


@pytest.fixture
async def audience() -> AsyncIterator[CustomAudience]:
    async with Emulator() as emulator, Client(emulator.config, emulator.credentials) as client:
        yield client.ads.account("18ce54d4x5t").custom_audience("1nmth")


@pytest.mark.slow
async def test_a_sync_reads_all_parts_and_one_that_changes_on_the_way_removes_nobody(
    bucket: Any, audience: CustomAudience, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = await audience.sync(PATTERN, snapshot=tmp_path / "snapshot")
    assert (report.read, report.accepted, report.identifiers_after) == (300, 300, 300)

    from socialapi.bulk.inputs.remote import _Bucket

    asked = _Bucket.get

    def changed_first(self: Any, *given: Any) -> Any:
        if self.address.endswith("part-2.csv.gz"):
            bucket.put_object(Bucket="crm", Key="part-2.csv.gz", Body=part(200))
        return asked(self, *given)

    monkeypatch.setattr(_Bucket, "get", changed_first)
    with pytest.raises(BulkError, match=r"s3://crm/part-2\.csv\.gz: it has changed since the job opened it") as stop:
        await audience.sync(PATTERN, snapshot=tmp_path / "snapshot", max_removal_share=1.0)
    assert stop.value.report.requests == 0
    monkeypatch.undo()


@pytest.mark.slow
async def test_a_journal_knows_a_changed_object_and_a_missing_one_or_missing_credentials_are_told(
    bucket: Any, audience: CustomAudience, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, journal = "s3://crm/part-0.csv.gz", tmp_path / "journal"
    assert (await audience.upload(path, journal=journal)).accepted == 100
    assert (await audience.upload(path, journal=journal)).resumed == 100
    bucket.put_object(Bucket="crm", Key="part-0.csv.gz", Body=part(*range(1, 101)))
    with pytest.raises(InvalidInput, match=r"belongs to another input: .*version"):
        await audience.upload(path, journal=journal)
    _, error = await read_until_error("s3://crm/none.csv", InvalidInput)
    assert str(error) == "s3://crm/none.csv: there is no such file"
    _, error = await read_until_error("s3://crm/none-*.csv", InvalidInput)
    assert str(error) == "s3://crm/none-*.csv: no file matches it as a pattern"
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    _, error = await read_until_error(path, InvalidInput)
    assert "no credentials for the object store were found" in str(error)


@pytest.mark.slow
@pytest.mark.parametrize(("job", "option"), [("upload", "journal"), ("sync", "snapshot")])
def test_a_job_that_is_killed_is_resumed_by_the_command_line_and_knows_a_part_that_has_changed(
    bucket: Any, tmp_path: Path, job: str, option: str
) -> None:
    def put(part_number: int, *numbers: int) -> None:
        bucket.put_object(Bucket="crm", Key=f"part-{part_number}.csv.gz", Body=part(*numbers))

    for number in range(3):
        put(number, *range(number * 1_500, number * 1_500 + 1_500))
    (tmp_path / "job").mkdir()
    file = str(tmp_path / "job" / option)
    with service() as emulator:
        command = audience_arguments(emulator, job, PATTERN, f"--{option}", file, "--concurrency", "2")
        again = ["jobs", "resume", file] if job == "upload" else command
        for arguments in (command, again):
            with started(emulator, arguments, tmp_path / "job") as process:
                kill_after(emulator, 3, process)
        if job == "upload":
            put(2, *range(1_500))
            refused = run(emulator, again, tmp_path / "job")
            assert (refused.status, "version of file 3" in refused.err) == (2, True), refused.err
            put(2, *range(3_000, 4_500))
        end = run(emulator, again, tmp_path / "job")
        assert (end.status, end.report["read"], end.report["pending"]) == (0, 4_500, 0), end.err
        assert emulator.members() == {
            ("email", hashlib.sha256(b"%d@example.com" % number).hexdigest()) for number in range(4_500)
        }
