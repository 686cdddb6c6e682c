"""What the objects of a job show of themselves: nothing of what they hold about people."""

import re
from typing import Any, Final

import pytest

from socialapi.bulk.audiences.batches import Batch, Carriers
from socialapi.bulk.audiences.cells import UserBlock
from socialapi.bulk.rows import RowBlock
from tests.bulk.input_files import open_users
from tests.bulk.model_service import BAD, ModelService, job_of

PLANTED: Final = f"planted-{BAD}"


def everything(root: object) -> list[Any]:
    """The object and all of this package that it leads to."""
    found: dict[int, Any] = {}
    waiting = [root]
    while waiting:
        each = waiting.pop()
        if id(each) in found:
            continue
        if isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list | tuple | set | frozenset):
            waiting += each
        elif type(each).__module__.startswith("socialapi.bulk"):
            found[id(each)] = each
            names = [
                *getattr(each, "__dict__", {}),
                *(n for c in type(each).__mro__ for n in getattr(c, "__slots__", ())),
            ]
            waiting += [getattr(each, name, None) for name in names if not name.startswith("__")]
    return list(found.values())


@pytest.mark.parametrize("packing", ["single", "packed"])
async def test_no_object_of_a_job_shows_an_identifier(packing: str) -> None:
    job = job_of(ModelService(), [{"partner_user_id": PLANTED}] * 2, packing=packing)
    held: list[Any] = []
    stage = job.stage
    settle, place, take = stage.settle, stage._place, stage.take

    async def look_after_settling(batch: Batch) -> None:
        held.extend(everything(batch))
        await settle(batch)
        held.extend(everything((batch, stage._recent)))

    async def look_at_the_row(run: RowBlock, index: int) -> Carriers | None:
        row = run.row(index)
        held.extend(everything((row, run, stage._recent.conflicts(row), stage._duplicates)))
        return await place(run, index)

    async def look_at_the_block(block: UserBlock) -> None:
        prepared = list(stage._prepare_at(stage._sender.session.now())(block))
        held.extend(everything((block, prepared, [list(rows) for each in prepared for rows in each.blocks])))
        await take(block)

    changed: Any = stage
    changed.settle = look_after_settling
    changed._place, changed.take = look_at_the_row, look_at_the_block
    report = await job.run()
    held += everything(job)
    names = {type(each).__name__ for each in held}
    assert names >= {
        "Block",
        "IdentifierLayout",
        "Row",
        "RowBlock",
        "Batch",
        "_Placement",
        "WaitingDuplicates",
        "PreparedBlock",
        "UploadJob",
    }
    assert names >= {"RowCounters", "Action"}
    batches = [each for each in held if isinstance(each, Batch)]
    assert any(PLANTED in value for batch in batches for _, value in batch.refused)
    assert report.rejected == 2
    for each in held:
        assert PLANTED not in repr(each)
        assert PLANTED not in str(each)


@pytest.mark.parametrize("records", [[{"email": PLANTED}], "email\n" + PLANTED])
def test_no_reader_shows_what_it_reads(records: Any) -> None:
    reader = open_users(records)
    assert not re.search(PLANTED, repr(reader))
