"""Handlers by kind of event, with bounded concurrency."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest

from socialapi.models.activity import DEPRECATED_EVENT_TYPES, EVENT_TYPE_ALIASES
from socialapi.models.posts import Post
from socialapi.streams import ActivityEvent, Dispatcher, MatchedPost, Undecoded, Unfinished
from tests.support.clock import turns

SECRET = "something personal"


async def source(events: Iterable[Any]) -> AsyncIterator[Any]:
    for event in events:
        yield event


def activity(name: str, event_id: str = "1") -> ActivityEvent:
    return ActivityEvent(event_type=name, event_id=event_id, payload={"text": SECRET})


POST = MatchedPost(data=Post(id="1", text=SECRET))
ODD = Undecoded(SECRET.encode(), reason="is not JSON")


async def handled(*kinds: str | type, events: Iterable[Any]) -> list[Any]:
    dispatcher, found = Dispatcher(), []

    @dispatcher.on(*kinds)
    async def handler(event: Any) -> None:
        found.append(event)

    await dispatcher.run(source(events))
    return found


# Kinds

EVENTS = [activity("post.create"), activity("post.delete"), activity("profile.update.bio"), POST, ODD]
CREATE, DELETE, BIO = EVENTS[:3]


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (("post.create",), [CREATE]),
        (("post.create", "post.delete"), [CREATE, DELETE]),
        (("post.*",), [CREATE, DELETE]),
        (("profile.update.*",), [BIO]),
        (("profile.*",), [BIO]),
        (("prof.*",), []),
        (("post",), []),
        (("ProfileBioUpdate",), [BIO]),
        (("*",), EVENTS),
        ((MatchedPost,), [POST]),
        ((Undecoded, ActivityEvent), [CREATE, DELETE, BIO, ODD]),
        (("post.sing",), []),
    ],
)
async def test_a_handler_gets_the_kinds_that_it_names(kinds: Any, expected: list[Any]) -> None:
    assert await handled(*kinds, events=EVENTS) == expected


@pytest.mark.parametrize(("spelling", "name"), [*DEPRECATED_EVENT_TYPES.items(), *EVENT_TYPE_ALIASES.items()])
async def test_every_spelling_of_a_kind_stands_for_the_present_name(spelling: str, name: str) -> None:
    event = activity(name)
    assert await handled(spelling, events=[*EVENTS[:2], event]) == [event]


async def test_a_handler_that_is_named_twice_by_an_event_gets_it_once() -> None:
    assert await handled("*", "post.*", "post.create", ActivityEvent, events=[CREATE]) == [CREATE]


async def test_the_handlers_of_an_event_run_one_after_another_in_the_order_of_their_registration() -> None:
    dispatcher, order = Dispatcher(), []

    @dispatcher.on("*")
    async def first(event: Any) -> None:
        await turns(3)
        order.append("first")

    @dispatcher.on("post.create")
    async def second(event: ActivityEvent) -> None:
        order.append("second")

    await dispatcher.run(source([CREATE]))
    assert order == ["first", "second"]
    assert (dispatcher.counters.handled, dispatcher.counters.unhandled) == (1, 0)


async def test_an_event_without_a_handler_is_counted() -> None:
    dispatcher = Dispatcher()
    await dispatcher.run(source(EVENTS))
    assert dispatcher.counters.unhandled == 5
    assert dispatcher.counters.handled == dispatcher.counters.failed == 0


def test_a_handler_stays_what_it_was_and_names_what_it_handles() -> None:
    dispatcher = Dispatcher()

    @dispatcher.on("post.create")
    async def handler(event: ActivityEvent) -> None: ...

    assert handler.__name__ == "handler"
    with pytest.raises(ValueError, match=r"name the events to handle, or \* for all of them"):
        dispatcher.on()
    with pytest.raises(ValueError, match="max_concurrency must be at least 1"):
        Dispatcher(max_concurrency=0)


# Concurrency


@pytest.mark.parametrize("most", [1, 3, 16])
async def test_never_more_events_are_handled_at_once_than_allowed(most: int) -> None:
    dispatcher = Dispatcher(max_concurrency=most)
    running = highest = taken = 0
    started: list[str | None] = []

    async def events() -> AsyncIterator[ActivityEvent]:
        nonlocal taken
        for number in range(100):
            taken += 1
            assert taken - dispatcher.counters.handled <= most, "none waits for its turn"
            yield activity("post.create", str(number))

    @dispatcher.on("*")
    async def handler(event: ActivityEvent) -> None:
        nonlocal running, highest
        running += 1
        highest = max(highest, running)
        started.append(event.event_id)
        await turns(20 + int(event.event_id or 0) % 7)
        running -= 1

    await dispatcher.run(events())
    assert highest == most
    assert started == [str(number) for number in range(100)]
    assert dispatcher.counters.handled == 100


async def test_with_one_at_a_time_the_order_is_kept() -> None:
    dispatcher, ended = Dispatcher(max_concurrency=1), []

    @dispatcher.on("*")
    async def handler(number: int) -> None:
        await turns(10 - number)
        ended.append(number)

    await dispatcher.run(source(range(10)))
    assert ended == list(range(10))


# Failures


async def failing(on_error: Any) -> Dispatcher:
    dispatcher = Dispatcher(on_error=on_error)

    @dispatcher.on("post.delete")
    async def handler(event: Any) -> None:
        raise KeyError("the application's own")

    @dispatcher.on("*")
    async def another(event: Any) -> None: ...

    await dispatcher.run(source(EVENTS))
    assert (dispatcher.counters.handled, dispatcher.counters.failed) == (4, 1)
    return dispatcher


async def test_what_a_handler_raises_is_given_to_on_error_and_the_others_go_on() -> None:
    told: list[tuple[Any, str]] = []

    async def on_error(event: Any, error: Exception) -> None:
        await turns(2)
        told.append((event, str(error)))

    await failing(on_error)
    await failing(lambda event, error: told.append((event, str(error))))
    assert told == [(DELETE, '"the application\'s own"')] * 2


async def test_what_a_handler_raises_is_logged_where_nobody_is_told(caplog: pytest.LogCaptureFixture) -> None:
    await failing(None)
    (record,) = caplog.records
    assert (record.levelname, record.getMessage()) == ("ERROR", "a handler of post.delete (1) failed")
    assert record.exc_info is not None
    assert SECRET not in caplog.text


async def test_what_on_error_raises_is_logged_too(caplog: pytest.LogCaptureFixture) -> None:
    def on_error(event: Any, error: Exception) -> None:
        raise ValueError("as bad")

    await failing(on_error)
    assert [record.getMessage() for record in caplog.records] == ["on_error for post.delete (1) failed"]
    assert SECRET not in caplog.text


async def test_what_the_source_raises_is_raised_once_the_running_handlers_have_ended() -> None:
    dispatcher, ended = Dispatcher(), []

    async def events() -> AsyncIterator[Any]:
        yield CREATE
        raise ConnectionError("gone")

    @dispatcher.on("*")
    async def handler(event: Any) -> None:
        await turns(20)
        ended.append(event)

    with pytest.raises(ConnectionError, match="gone"):
        await dispatcher.run(events())
    assert ended == [CREATE]


@pytest.mark.parametrize("turn", [0, 1, 2, 5, 20, 60])
async def test_cancelling_cancels_the_handlers_and_waits_for_them(turn: int) -> None:
    dispatcher = Dispatcher(max_concurrency=2)
    began = ended = 0

    @dispatcher.on("*")
    async def handler(event: Any) -> None:
        nonlocal began, ended
        began += 1
        try:
            await asyncio.Event().wait()
        finally:
            await turns(5)
            ended += 1

    running = asyncio.create_task(dispatcher.run(source(EVENTS)))
    await turns(turn)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert began == ended <= 2
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert dispatcher.counters.handled == 0


async def test_what_is_taken_from_the_source_is_handled_also_when_it_is_cancelled() -> None:
    """One more had been taken, waited for a place, and was lost."""
    dispatcher = Dispatcher(max_concurrency=1)
    taken: list[Any] = []
    begun: list[Any] = []

    async def events() -> AsyncIterator[Any]:
        for event in EVENTS:
            taken.append(event)
            yield event

    @dispatcher.on("*")
    async def handler(event: Any) -> None:
        begun.append(event)
        await asyncio.Event().wait()

    running = asyncio.create_task(dispatcher.run(events()))
    await turns(20)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert taken == begun == [CREATE]


async def test_a_handler_that_is_cancelled_from_within_has_failed() -> None:
    told: list[tuple[Any, BaseException]] = []
    dispatcher = Dispatcher(on_error=lambda event, error: told.append((event, error)))
    inbox = Inbox([CREATE, DELETE])

    @dispatcher.on("post.create")
    async def handler(event: Any) -> None:
        inner = asyncio.create_task(asyncio.Event().wait())
        inner.cancel()
        await inner

    await dispatcher.run(inbox)
    ((event, error),) = told
    assert event is CREATE
    assert (str(error), type(error.__cause__)) == ("the handler was cancelled from within", asyncio.CancelledError)
    assert (dispatcher.counters.failed, dispatcher.counters.unhandled) == (1, 1)
    assert inbox.said == [("finished", DELETE)]


# Finishing


class Inbox:
    """Events that have to be finished, with the order of what happens."""

    def __init__(self, events: Iterable[Any], *, breaks: bool = False, ends: bool = True) -> None:
        self.said: list[tuple[str, Any]] = []
        self._events = list(events)
        self._breaks = breaks
        self._ends = ends

    def __aiter__(self) -> AsyncIterator[Any]:
        raise AssertionError("its events would count as finished when the next one is asked for")

    async def unfinished(self) -> AsyncIterator[Any]:
        for event in self._events:
            yield event
        if not self._ends:
            await asyncio.Event().wait()

    async def finish(self, event: Any) -> None:
        if self._breaks:
            raise OSError("the disk is full")
        self.said.append(("finished", event))


async def test_an_event_is_finished_after_all_of_its_handlers_and_only_if_none_failed() -> None:
    dispatcher, inbox = Dispatcher(max_concurrency=1, on_error=lambda *_: None), Inbox([CREATE, DELETE, BIO])
    assert isinstance(inbox, Unfinished)

    @dispatcher.on("post.*")
    async def first(event: Any) -> None:
        if event is DELETE:
            raise KeyError

    @dispatcher.on("post.*")
    async def second(event: Any) -> None:
        await turns(3)
        inbox.said.append(("handled", event))

    await dispatcher.run(inbox)
    assert inbox.said == [
        ("handled", CREATE),
        ("finished", CREATE),
        ("handled", DELETE),
        ("finished", BIO),
    ], "nobody handles the last one, so it is done with"


async def test_an_event_whose_handler_is_cancelled_stays_unfinished() -> None:
    dispatcher, inbox = Dispatcher(), Inbox([CREATE])

    @dispatcher.on("*")
    async def handler(event: Any) -> None:
        await asyncio.Event().wait()

    running = asyncio.create_task(dispatcher.run(inbox))
    await turns(5)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert inbox.said == []


async def test_a_source_that_cannot_finish_an_event_ends_the_run() -> None:
    dispatcher, inbox = Dispatcher(max_concurrency=1), Inbox([CREATE, DELETE, BIO], breaks=True)
    began: list[Any] = []

    @dispatcher.on("*")
    async def handler(event: Any) -> None:
        began.append(event)

    with pytest.raises(OSError, match="the disk is full"):
        await dispatcher.run(inbox)
    assert began == [CREATE]


async def test_a_source_that_cannot_finish_an_event_ends_the_run_also_when_it_is_quiet() -> None:
    dispatcher, inbox = Dispatcher(), Inbox([CREATE], breaks=True, ends=False)
    with pytest.raises(OSError, match="the disk is full"):
        await asyncio.wait_for(dispatcher.run(inbox), 5.0)
    assert asyncio.all_tasks() == {asyncio.current_task()}
