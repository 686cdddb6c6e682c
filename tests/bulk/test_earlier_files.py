"""Files of an earlier layout are refused with what to do, and left as they are."""

import contextlib
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from socialapi.errors import ConfigurationError
from tests.bulk.model_service import ModelService, job_of, people, synced
from tests.bulk.products.model_catalog import ModelCatalog, numbered
from tests.bulk.products.model_catalog import job_of as load_of
from tests.support.files import content_of


async def upload(service: ModelService, path: Path) -> Any:
    return await job_of(service, people("a", "b"), journal=path).run()


async def sync(service: ModelService, path: Path) -> Any:
    return await synced(service, [{"handle": "a"}], path)


async def load(service: ModelCatalog, path: Path) -> Any:
    return await load_of(service, numbered(3), digests=path).run()


async def load_with_journal(service: ModelCatalog, path: Path) -> Any:
    return await load_of(service, numbered(3), journal=path).run()


def set_version(path: Path, version: int) -> bytes:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    return content_of(path)


@pytest.mark.parametrize("earlier", [1, 2])
@pytest.mark.parametrize(
    ("run", "new", "version", "remedy"),
    [
        (upload, ModelService, 2, "delete the journal with `socialapi jobs forget` and start again"),
        (load_with_journal, ModelCatalog, 2, "delete the journal with `socialapi jobs forget` and start again"),
        (
            sync,
            ModelService,
            3,
            "sync with that version, or delete the snapshot and sync again: everyone is then added again",
        ),
        (
            load,
            ModelCatalog,
            2,
            "load with that version, or delete the file and load again: all products are then sent again",
        ),
    ],
    ids=["upload", "load with a journal", "sync", "load with digests"],
)
async def test_a_file_of_an_earlier_layout_is_refused_and_never_read_as_empty(
    tmp_path: Path,
    run: Callable[[Any, Path], Awaitable[Any]],
    new: Callable[[], Any],
    remedy: str,
    version: int,
    earlier: int,
) -> None:
    service, path = new(), tmp_path / "file"
    await run(service, path)
    before = set_version(path, version - earlier)
    service.requests.clear()
    with pytest.raises(ConfigurationError) as caught:
        await run(service, path)
    formats = f"(its format is {version - earlier}, this version uses {version})"
    assert f"{path} was written by another version of this package {formats}" in str(caught.value)
    assert remedy in str(caught.value)
    assert service.requests == []
    assert content_of(path) == before
