"""A receiver whose process is killed."""

import asyncio
from pathlib import Path

from socialapi.webhooks import Receiver
from tests.webhooks.posting import SECRET, event, numbers, take
from tests.webhooks.serving import another_process


async def test_nothing_that_was_accepted_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    inbox = tmp_path / "inbox.sqlite"
    async with another_process(inbox) as (process, sender):
        answers = await asyncio.gather(*(sender.post(event(number)) for number in range(50)))
        assert {answer.status for answer in answers} == {200}
        assert process.stdout is not None
        assert (await process.stdout.readline()).startswith(b"handling ")
        process.kill()
        await process.wait()
    async with Receiver(SECRET, inbox=inbox) as receiver:
        assert sorted(numbers(await take(receiver, 50)), key=int) == [str(number) for number in range(50)]
        assert await receiver._store.add(None, event(50)) == "new"
        assert numbers(await take(receiver, 1)) == ["50"]
        assert receiver.counters.finished == 50
    async with Receiver(SECRET, inbox=inbox) as receiver:
        assert numbers(await take(receiver, 1)) == ["50"]  # whose handling was not followed by anything
