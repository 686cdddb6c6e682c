"""Uploads with a journal as a program asks for them, against the emulator over a real socket."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from socialapi import Client, Progress
from socialapi.emulator import Emulator
from socialapi.reports import UploadReport

ROWS: Final = 60
EMAILS: Final = tuple(f"planted.{number}@example.com" for number in range(ROWS))
PHONES: Final = tuple(f"+1415555{number:04}" for number in range(ROWS))
KINDS: Final = ("custom_audience", "do_not_reach_list")


def write_people(path: Path) -> None:
    lines = ["email,phone_number", *(f"{email.upper()},{phone}" for email, phone in zip(EMAILS, PHONES, strict=True))]
    lines += [lines[1], "not an address,"]  # a duplicate and a reject
    path.write_text("\n".join((*lines, "")), "utf-8")


async def upload(emulator: Emulator, kind: str, path: Path | str, **options: Any) -> UploadReport:
    size: Any = {"max_batch_bytes": 1_000} if options.get("packing") == "packed" else {"max_operations": 5}
    config = attrs.evolve(emulator.config, **size)
    async with Client(config, emulator.credentials) as client:
        account = client.ads.account(emulator.seed["account_ids"][0])
        if kind == "custom_audience":
            return await account.custom_audience(emulator.seed["custom_audience_ids"][0]).upload(path, **options)
        return await account.do_not_reach_list(emulator.seed["do_not_reach_list_ids"][0]).upload(path, **options)


def members(emulator: Emulator, kind: str) -> set[tuple[str, str]]:
    account, seed = emulator.seed["account_ids"][0], emulator.seed
    if kind == "custom_audience":
        return emulator.members(account, seed["custom_audience_ids"][0])
    return emulator.do_not_reach_members(account, seed["do_not_reach_list_ids"][0])


def traces(texts: Sequence[str]) -> set[bytes]:
    """Everything by which somebody could be known: as it stands in the input, normalised, and hashed in three forms."""
    found = set()
    for text in texts:
        digest = hashlib.sha256(text.encode())
        found |= {text.encode(), text.upper().encode(), digest.hexdigest().encode(), digest.digest()}
        found.add(digest.hexdigest().upper().encode())
    return found


def contents(folder: Path, name: str) -> dict[str, bytes]:
    """What stands in the journal and beside it now."""
    return {each.name: each.read_bytes() for each in folder.glob(f"{name}*")}


@pytest.mark.parametrize("kind", KINDS)
async def test_nobody_is_known_by_what_is_in_the_journal(
    socialapi_emulator: Emulator, tmp_path: Path, kind: str
) -> None:
    path, journal = tmp_path / "people.csv", tmp_path / "job.journal"
    write_people(path)
    socialapi_emulator.faults.add("operation_error", index=2)
    seen: list[dict[str, bytes]] = []

    def look(progress: Progress) -> None:
        if progress.report.accepted:
            seen.append(contents(tmp_path, journal.name))

    report = await upload(socialapi_emulator, kind, path, journal=journal, concurrency=1, on_progress=look)
    seen.append(contents(tmp_path, journal.name))
    assert report.rejected == 2
    assert any(f"{journal.name}-wal" in each and len(each[f"{journal.name}-wal"]) > 1_000 for each in seen)
    assert set(seen[-1]) == {journal.name}
    assert b"audience upload" in seen[-1][journal.name] or b"do-not-reach" in seen[-1][journal.name]
    written = b"".join(content for each in seen for content in each.values())
    assert not [trace for trace in traces((*EMAILS, *PHONES)) if trace in written]
