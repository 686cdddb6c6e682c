"""The notebook runs from its first cell to its last, in a kernel of its own."""

import asyncio
import os
import re
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

from socialapi.emulator import Emulator
from tests.support.examples import EXAMPLES, ROOT, successes
from tests.support.waiting import until

NOTEBOOK = EXAMPLES / "timeline_notebook.ipynb"


@pytest.fixture
def notebook() -> Any:
    return nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]  # it ships half of its types


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


async def shown_by(notebook: Any, folder: Path, environment: dict[str, str]) -> list[str]:
    """Executes the notebook. Returns what its cells show, as plain text."""
    client = nbclient.NotebookClient(notebook, timeout=60, resources={"metadata": {"path": folder}})
    await client.async_execute(env=os.environ | {"PYTHONPATH": str(ROOT)} | environment)
    outputs = [output for cell in code_cells(notebook) for output in cell.outputs]
    return [each.text if each.output_type == "stream" else each.data["text/plain"] for each in outputs]


def as_html(notebook: Any) -> list[str]:
    """What the cells show, as HTML."""
    outputs = [output for cell in code_cells(notebook) for output in cell.outputs]
    return [each.data["text/html"] for each in outputs if "text/html" in each.get("data", {})]


def posts_by_month(table: str) -> int:
    """The sum of the first column of a table."""
    return sum(int(line.split()[1]) for line in table.splitlines()[2:])


async def test_the_notebook_shows_the_timeline_in_tables(
    notebook: Any, socialapi_emulator: Emulator, tmp_path: Path
) -> None:
    page, head, by_month, accounts = await shown_by(notebook, tmp_path, socialapi_emulator.environment)
    assert successes(socialapi_emulator, "/2/users/{id}/tweets") in (6, 7)  # it reads one page ahead
    assert page.startswith("Page(data=(Post(id=")
    assert any("5 items of Post; another page follows</caption>" in html for html in as_html(notebook))
    assert "created_at lang  public_metrics.like_count" in head
    assert len(head.splitlines()) == 1 + 1 + 5 + 1 + 1 + 1 + 5
    assert posts_by_month(by_month) == 500
    assert "Northwind Home" in accounts


async def test_the_notebook_goes_on_with_what_had_arrived(
    notebook: Any, socialapi_emulator: Emulator, tmp_path: Path
) -> None:
    socialapi_emulator.faults.add("latency", delay_seconds=0.2, path="/2/users/*/tweets")
    executing = asyncio.create_task(shown_by(notebook, tmp_path, socialapi_emulator.environment))
    await until(lambda: successes(socialapi_emulator, "/2/users/{id}/tweets") >= 3 or executing.done())
    socialapi_emulator.faults.add("status", status=400, path="/2/users/*/tweets")
    _, said, _, by_month, _ = await executing
    found = re.fullmatch(r"GET /2/users/\*/tweets: 400: .*; these are the first (\d+) posts\n", said)
    assert found is not None
    assert 200 <= int(found[1]) < 500
    assert posts_by_month(by_month) == int(found[1])


def test_the_notebook_is_committed_without_outputs(notebook: Any) -> None:
    assert [cell.outputs for cell in code_cells(notebook)] == [[]] * len(code_cells(notebook))
    assert [cell.execution_count for cell in code_cells(notebook)] == [None] * len(code_cells(notebook))
    assert notebook.metadata.keys() == {"kernelspec", "language_info"}
