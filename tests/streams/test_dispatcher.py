"""Handlers by kind of event, with bounded concurrency."""

import asyncio
import functools
from collections.abc import AsyncIterator, Iterable
from typing import Any

import attrs
import pytest

from socialapi.errors import ConfigurationError, InvalidInput
from socialapi.models.events import DEPRECATED_EVENT_TYPES, EVENT_TYPE_ALIASES
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
        ((["post.create", "post.delete"],), [CREATE, DELETE]),
        ((("post.create",), {"post.delete"}, MatchedPost), [CREATE, DELETE, POST]),
        (([Undecoded, "profile.*"],), [BIO, ODD]),
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


async def test_events_without_a_handler_are_counted_and_the_first_one_is_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    dispatcher = Dispatcher()
    dispatcher.on("spaces.*")(print)
    await dispatcher.run(source(EVENTS))
    await dispatcher.run(source([POST]))
    assert dispatcher.counters.unhandled == 6
    assert dispatcher.counters.handled == dispatcher.counters.failed == 0
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage() == "no handler is registered for post.create; such events are counted as unhandled"


@pytest.mark.parametrize(
    ("event", "name"),
    [(POST, "MatchedPost"), (ODD, "Undecoded"), (activity("a@b.example"), "(a name that is not shown)")],
)
async def test_an_event_without_a_type_is_warned_of_by_its_class(
    event: Any, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    dispatcher = Dispatcher()
    dispatcher.on("spaces.*")(print)
    await dispatcher.run(source([event]))
    assert f"no handler is registered for {name};" in caplog.text


def test_a_handler_stays_what_it_was() -> None:
    dispatcher = Dispatcher()

    @dispatcher.on("post.create")
    async def handler(event: ActivityEvent) -> None: ...

    assert handler.__name__ == "handler"


# What is refused


async def never(event: Any) -> None:
    raise AssertionError("it is refused")


@pytest.mark.parametrize(
    ("kinds", "says"),
    [
        ((), r"name the events to handle, or \* for all of them"),
        (([],), r"name the events to handle, or \* for all of them"),
        ((never,), r"name the events to handle in parentheses, as in @events\.on\('\*'\)"),
        (([never],), "in parentheses"),
        ((functools.partial(never),), "in parentheses"),
        ((None,), "must be strings or classes, not NoneType"),
        ((5,), "not int"),
        ((b"post.create",), "not bytes"),
        (({"post.create": never},), "not dict"),
        (("post.crate",), r"there is no event type 'post\.crate': did you mean 'post\.create'\?"),
        ((["post.create", "dm.recieved"],), r"did you mean 'dm\.received'"),
        (("Post.Create",), r"did you mean 'post\.create'"),
        (("post_create",), r"did you mean 'post\.create'"),
        ((" post.create",), r"did you mean 'post\.create'"),
        (("ProfileBioUpdte",), "did you mean 'ProfileBioUpdate'"),
        (("pots.*",), r"there are no event types 'pots\.\*': did you mean 'post\.\*'\?"),
        (("profile.updates.*",), r"did you mean 'profile\.update\.\*'"),
        (("profle.*",), r"did you mean 'profile\.\*'"),
        (("post*",), r"'post\*' matches no event type: a star must be alone or at the end"),
        (("*.create",), "matches no event type"),
        (("post.*.create",), "matches no event type"),
        (("*.*",), "matches no event type"),
        ((".*",), "matches no event type"),
        (("**",), "matches no event type"),
    ],
)
def test_kinds_that_can_match_nothing_are_refused(kinds: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        Dispatcher().on(*kinds)


async def test_without_handlers_nothing_is_taken() -> None:
    inbox = Inbox([CREATE])
    with pytest.raises(ConfigurationError, match="the dispatcher has no handlers, and would drop every event"):
        await Dispatcher().run(inbox)
    assert (inbox.taken, inbox.said) == (0, [])


@pytest.mark.parametrize("given", [None, [CREATE], source, "events"])
async def test_a_source_that_is_no_async_iterable_is_refused(given: Any) -> None:
    dispatcher = Dispatcher()
    dispatcher.on("*")(never)
    with pytest.raises(InvalidInput, match="source must be a stream, a receiver or another async iterable, not "):
        await dispatcher.run(given)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"max_concurrency": 0}, "max_concurrency must be at least 1"),
        ({"max_concurrency": -3}, "max_concurrency must be at least 1"),
        ({"max_concurrency": "5"}, "max_concurrency must be a whole number, not str"),
        ({"max_concurrency": 5.0}, "max_concurrency must be a whole number, not float"),
        ({"max_concurrency": True}, "max_concurrency must be a whole number, not bool"),
        ({"max_concurrency": None}, "max_concurrency must be a whole number, not NoneType"),
        ({"on_error": "log"}, "on_error must be a function, not str"),
        ({"on_error": ValueError}, "on_error must be a function, not the class ValueError"),
    ],
)
def test_options_of_other_types_are_refused_by_name(options: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        Dispatcher(**options)


async def async_generator(event: Any) -> AsyncIterator[Any]:
    yield event


def generator(event: Any) -> Iterable[Any]:
    yield event


@pytest.mark.parametrize("handler", [None, "print", MatchedPost, async_generator, generator])
def test_a_handler_that_could_not_be_called_is_refused_when_it_is_registered(handler: Any) -> None:
    with pytest.raises(InvalidInput, match="a handler must be a function"):
        Dispatcher().on("*")(handler)


# Which functions are handlers


@attrs.define
class Collector:
    """A handler in several ways. It cannot be hashed, and is equal to others like it."""

    found: list[Any] = attrs.field(factory=list)

    def __call__(self, event: Any) -> None:
        self.found.append(event)

    def plain(self, event: Any) -> int:
        self.found.append(event)
        return len(self.found)

    async def waiting(self, event: Any) -> str:
        await turns(2)
        self.found.append(event)
        return "what it returns does not matter"


class AsyncCollector(Collector):
    async def __call__(self, event: Any) -> None:  # type: ignore[override]  # this one is waited for
        await self.waiting(event)


@pytest.mark.parametrize(
    "handler_of",
    [
        lambda collector: lambda event: collector.plain(event) and None,
        lambda collector: collector.plain,
        lambda collector: collector.waiting,
        lambda collector: collector,
        lambda collector: AsyncCollector(collector.found),
        lambda collector: functools.partial(Collector.plain, collector),
        lambda collector: functools.partial(Collector.waiting, collector),
        lambda collector: collector.found.append,
    ],
    ids=["lambda", "method", "async method", "object", "async object", "partial", "partial of async", "builtin"],
)
async def test_functions_of_every_kind_are_handlers(handler_of: Any) -> None:
    errors: list[Any] = []
    dispatcher, collector = Dispatcher(on_error=lambda *told: errors.append(told)), Collector()
    handler = handler_of(collector)
    assert dispatcher.on("post.create", "post.*")(handler) is handler
    await dispatcher.run(source([CREATE, DELETE]))
    assert (collector.found, errors) == ([CREATE, DELETE], [])
    assert dispatcher.counters.handled == 2


async def test_a_method_that_is_registered_twice_gets_an_event_once_and_another_object_its_own() -> None:
    dispatcher, one, another = Dispatcher(), Collector(), Collector()
    for collector in (one, another):
        dispatcher.on("post.create")(collector.plain)
        dispatcher.on("*")(collector.plain)
    await dispatcher.run(source([CREATE]))
    assert (one.found, another.found) == ([CREATE], [CREATE])


async def test_what_a_plain_function_raises_is_given_to_on_error() -> None:
    told: list[tuple[Any, str]] = []
    dispatcher = Dispatcher(on_error=lambda event, error: told.append((event, type(error).__name__)))
    dispatcher.on("post.create")(lambda event: event / 0)
    await dispatcher.run(source([CREATE, DELETE]))
    assert told == [(CREATE, "TypeError")]
    assert (dispatcher.counters.failed, dispatcher.counters.unhandled) == (1, 1)


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


@pytest.mark.parametrize("which", ["a task of its own", "the task that runs it"])
async def test_a_handler_that_is_cancelled_from_within_has_failed(which: str) -> None:
    """An event whose handler cancelled its own task was neither handled nor failed, and nothing was said of it."""
    told: list[tuple[Any, BaseException]] = []
    dispatcher = Dispatcher(on_error=lambda event, error: told.append((event, error)))
    inbox = Inbox([CREATE, DELETE])

    @dispatcher.on("post.create")
    async def handler(event: Any) -> None:
        inner = asyncio.create_task(asyncio.Event().wait())
        (inner if which == "a task of its own" else asyncio.current_task() or inner).cancel()
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
        self.taken = 0
        self._events = list(events)
        self._breaks = breaks
        self._ends = ends

    def __aiter__(self) -> AsyncIterator[Any]:
        raise AssertionError("its events would count as finished when the next one is asked for")

    async def unfinished(self) -> AsyncIterator[Any]:
        for event in self._events:
            self.taken += 1
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
    dispatcher.on("*")(repr)
    with pytest.raises(OSError, match="the disk is full"):
        await asyncio.wait_for(dispatcher.run(inbox), 5.0)
    assert asyncio.all_tasks() == {asyncio.current_task()}
