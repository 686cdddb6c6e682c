"""Posts and rules of the filtered stream: what was written is there once, whatever happened on the
way.
"""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping
from typing import Any, ClassVar, Final

import attrs
from hypothesis import strategies as st

from socialapi.errors import ApiError, Forbidden, NotFound
from socialapi.problems import DuplicateRules, RuleCap
from tests.machines.machine import Machine, check, hold_floor, run_machine, step
from tests.machines.worlds import Worlds

MAX_RULES: Final = 6
EDIT_SECONDS: Final = 3_600
MAX_EDITS: Final = 5
"""How often the emulator lets a post be edited; the documentation has no number."""
VALUES: Final = tuple(f"word{number}" for number in range(9))
TAGS: Final = ("", "a", "b")

values = st.sampled_from(VALUES)
rules = st.tuples(values, st.sampled_from(TAGS))
several_rules = st.dictionaries(values, st.sampled_from(TAGS), min_size=1, max_size=5)
numbers = st.integers(0, 1_000)
page_sizes = st.sampled_from([5, 7, 100])


@attrs.define
class Held:
    """What the service holds."""

    posts: list[str] = attrs.field(factory=list)
    """The texts of the posts in the timeline, oldest first. No text is used twice."""
    rules: dict[str, str] = attrs.field(factory=dict)
    """The tags of the rules by their values, in the order in which they were added."""

    def add_rules(self, wanted: dict[str, str]) -> dict[str, str]:
        """Adds the rules whose value is new, up to the cap; returns them."""
        added: dict[str, str] = {}
        for value, tag in wanted.items():
            if value not in self.rules and len(self.rules) < MAX_RULES:
                added[value] = self.rules[value] = tag
        return added

    def keep_only(self, wanted: dict[str, str]) -> None:
        self.rules = {value: tag for value, tag in self.rules.items() if wanted.get(value) == tag}

    def ensure_rules(self, wanted: dict[str, str], *, remove_others: bool, changes: int = 3) -> bool:
        """Adds the missing rules, deletes the others if they are to be, and adds again. Returns
        whether all are there.
        """
        for change in range(changes):
            if change != 1:
                self.add_rules(wanted)
            elif remove_others:
                self.keep_only(wanted)
        return wanted.items() <= self.rules.items()


@attrs.frozen
class Bookmark:
    """Where a walk through the timeline stopped, and what was to come."""

    position: str
    rest: tuple[str, ...]
    """The texts of the posts that are older than the last one taken."""
    edits: int
    """How often posts had been edited by then."""


class PostsAndRules(Machine):
    """A user writes and edits posts, reads them in pages, and keeps the rules of a stream."""

    emulator_options: ClassVar[Mapping[str, Any]] = {
        "empty": True,
        "max_rules": MAX_RULES,
        "rate_limits": {
            "GET /2/users/{id}/tweets": (100_000, 900.0),
            "GET /2/tweets/search/stream/rules": (100_000, 900.0),
            "POST /2/tweets": (20, 900.0),
        },
    }

    async def open(self) -> None:
        await super().open()
        self.user_id = self.emulator.seed["user_ids"][0]
        self.worlds: Worlds[Held] = Worlds(Held())
        self.written = 0
        self.edits = 0
        self.ids: dict[str, str] = {}
        self.rule_ids: dict[str, str] = {}
        self.begun: dict[str, tuple[float, float]] = {}
        """When the first version of a post was made, by the text of each version: not before, and
        not after.
        """
        self.versions: dict[str, int] = {}
        self.bookmarks: list[Bookmark] = []

    @property
    def held(self) -> Held:
        return self.worlds.only

    def new_text(self) -> str:
        self.written += 1
        return f"post {self.written}"

    # Posts ------------------------------------------------------------------------------------------------------------

    @step()
    async def write(self) -> None:
        text, begun = self.new_text(), self.clock.time()
        asked = await self.ask(self.client.posts.create(text))
        self.worlds.change(asked.executed, lambda held: held.posts.append(text))
        self.begun[text], self.versions[text] = (begun, self.clock.time()), 0
        if asked.is_done:
            assert asked.value.text == text

    @step(number=numbers)
    async def edit(self, number: int) -> None:
        """An edit takes the place of the post, as the newest one. It is allowed for an hour after
        the first version.
        """
        if not self.held.posts:
            return
        index = number % len(self.held.posts)
        before, text = self.held.posts[index], self.new_text()
        begun, earliest = self.clock.time(), self.begun[before]
        draft = {"text": text, "edit_options": {"previous_post_id": self.ids[before]}}
        asked = await self.ask(self.client.posts.create(draft))

        def replace(held: Held) -> None:
            held.posts.remove(before)
            held.posts.append(text)

        self.worlds.change(asked.executed, replace)
        self.begun[text], self.versions[text] = self.begun[before], self.versions[before] + 1
        self.edits += 1
        if asked.is_undisturbed and self.versions[text] < MAX_EDITS:
            surely_late, surely_in_time = (
                begun - earliest[1] > EDIT_SECONDS,
                self.clock.time() - earliest[0] < EDIT_SECONDS,
            )
            assert not (asked.is_done and surely_late)
            assert not (isinstance(asked.error, Forbidden) and surely_in_time)

    @step(wanted=st.lists(numbers, min_size=1, max_size=4))
    async def look_up(self, wanted: list[int]) -> None:
        """Known posts come in the order of their ids; ids of none are told as errors."""
        if not self.held.posts:
            return
        texts = list(dict.fromkeys(self.held.posts[number % len(self.held.posts)] for number in wanted))
        ids = [*(self.ids[text] for text in texts), "1"]
        asked = await self.ask(self.client.posts.lookup(ids), repeatable=True)
        if asked.is_done:
            assert [post.text for post in asked.value.data] == texts
            assert len(asked.value.errors) == 1

    @step(size=page_sizes)
    async def read_on_after_errors(self, size: int) -> None:
        """What an error brought and what comes from its position on is everything, once."""
        texts = self.held.posts[::-1]
        asked = await self.ask(self.client.posts.by_user(self.user_id, max_results=size).collect(), repeatable=True)
        found = list(asked.value) if asked.is_done else list(getattr(asked.error, "collected", ()))
        if not asked.is_done:
            assert [post.text for post in found] == texts[: len(found)]
            start = getattr(asked.error, "position", None)
            found += await self.look(
                lambda: self.client.posts.by_user(self.user_id, max_results=size, start=start).collect()
            )
        assert [post.text for post in found] == texts

    @step(size=page_sizes, count=numbers)
    async def stop_in_the_middle(self, size: int, count: int) -> None:
        if not self.held.posts:
            return
        taken = count % len(self.held.posts) + 1
        pager = self.client.posts.by_user(self.user_id, max_results=size)
        found = [post.text async for post in take(pager, taken)]
        assert found == self.held.posts[::-1][:taken]
        if pager.position is not None:
            self.bookmarks.append(Bookmark(pager.position, tuple(self.held.posts[::-1][taken:]), self.edits))

    @step(number=numbers, size=page_sizes)
    async def read_on(self, number: int, size: int) -> None:
        """From a position on everything comes that was to come, and nothing twice unless posts were
        edited.
        """
        if not self.bookmarks:
            return
        bookmark = self.bookmarks[number % len(self.bookmarks)]
        rest = [text for text in bookmark.rest if text in self.held.posts]
        pager = self.client.posts.by_user(self.user_id, max_results=size, start=bookmark.position)
        asked = await self.ask(pager.collect(), repeatable=True)
        if asked.is_done:
            found = [post.text for post in asked.value]
            assert found[len(found) - len(rest) :] == rest
            assert found == rest or bookmark.edits != self.edits

    # Rules ------------------------------------------------------------------------------------------------------------

    @step(wanted=several_rules, dry_run=st.booleans())
    async def add_rules(self, wanted: dict[str, str], dry_run: bool) -> None:
        would_be = attrs.evolve(self.held, rules=dict(self.held.rules))
        added = would_be.add_rules(wanted)
        work = self.client.filtered_stream.add_rules(drafts_of(wanted), dry_run=dry_run)
        asked = await self.ask(work)
        if not dry_run:
            self.worlds.change(asked.executed, lambda held: held.add_rules(wanted))
        if asked.is_done:
            assert {rule.value: rule.tag or "" for rule in asked.value.data} == added
            assert len(asked.value.errors) == len(wanted) - len(added)
        elif asked.is_undisturbed:
            assert isinstance(asked.error, ApiError)
            assert not added
            assert {type(each) for each in asked.error.problems} <= {DuplicateRules, RuleCap}
            assert len(asked.error.problems) == len(wanted)

    @step(chosen=st.sets(values, min_size=1, max_size=4), dry_run=st.booleans())
    async def delete_rules(self, chosen: set[str], dry_run: bool) -> None:
        present = sorted(chosen & self.held.rules.keys())
        ids = [self.rule_ids[value] for value in present] or ["1"]
        asked = await self.ask(self.client.filtered_stream.delete_rules(ids, dry_run=dry_run))

        def delete(held: Held) -> None:
            for value in present:
                del held.rules[value]

        if not dry_run:
            self.worlds.change(asked.executed, delete)
        if asked.is_done:
            assert asked.value.meta["summary"]["deleted"] == len(present)
        elif asked.is_undisturbed:
            assert isinstance(asked.error, NotFound)
            assert not present

    @step(wanted=several_rules, remove_others=st.booleans())
    async def ensure_rules(self, wanted: dict[str, str], remove_others: bool) -> None:
        """All rules are there afterwards, or the error says which were refused; in between, each
        change may be made.
        """
        would_be = attrs.evolve(self.held, rules=dict(self.held.rules))
        is_possible = would_be.ensure_rules(wanted, remove_others=remove_others)
        work = self.client.filtered_stream.ensure_rules(drafts_of(wanted), remove_others=remove_others)
        asked = await self.ask(work)
        if asked.is_done:
            assert is_possible
            assert {rule.value: rule.tag or "" for rule in asked.value} == would_be.rules
        elif asked.is_undisturbed:
            assert isinstance(asked.error, ApiError)
            assert not is_possible
            assert {type(each) for each in asked.error.problems} <= {DuplicateRules, RuleCap}

        def ensured(changes: int) -> Callable[[Held], object]:
            return lambda held: held.ensure_rules(wanted, remove_others=remove_others, changes=changes)

        self.worlds.split(*(ensured(changes) for changes in ((3,) if asked.is_done else range(4))))

    @step(one=several_rules, other=several_rules)
    async def ensure_rules_twice_at_once(self, one: dict[str, str], other: dict[str, str]) -> None:
        """Two processes that start at once and want the same do not get in each other's way."""
        both = {**one, **other}
        wanted = [{value: both[value] for value in each} for each in (one, other)]
        if len(self.held.rules.keys() | both.keys()) > MAX_RULES or any(
            self.held.rules.get(value, tag) != tag for value, tag in both.items()
        ):
            return
        async with self.new_client() as client:
            await asyncio.gather(
                self.look(lambda: self.client.filtered_stream.ensure_rules(drafts_of(wanted[0]))),
                self.look(lambda: client.filtered_stream.ensure_rules(drafts_of(wanted[1]))),
            )
        self.worlds.change("yes", lambda held: held.add_rules(both))

    # What is seen -----------------------------------------------------------------------------------------------------

    @check
    async def posts_are_those_written(self) -> None:
        found = await self.look(lambda: self.client.posts.by_user(self.user_id, max_results=100).collect())
        self.ids |= {post.text or "": post.id for post in found}
        assert len({post.id for post in found}) == len(found)
        self.worlds.see(lambda held: held.posts, [post.text or "" for post in reversed(found)])

    @check
    async def rules_are_those_added(self) -> None:
        found = await self.look(lambda: self.client.filtered_stream.rules().collect())
        self.rule_ids = {rule.value: rule.id or "" for rule in found}
        assert len(self.rule_ids) == len(found)
        self.worlds.see(lambda held: held.rules, {rule.value: rule.tag or "" for rule in found})
        assert len(self.worlds.states) == 1


def drafts_of(wanted: dict[str, str]) -> list[dict[str, str]]:
    return [{"value": value, "tag": tag} if tag else {"value": value} for value, tag in wanted.items()]


async def take(pager: AsyncIterable[Any], count: int) -> AsyncIterator[Any]:
    """The first items of a pager, which is not asked for more."""
    items = aiter(pager)
    for _ in range(count):
        yield await anext(items)


def test_posts_and_rules_are_those_that_were_written() -> None:
    counts = run_machine(PostsAndRules)
    hold_floor(counts.faults.total(), 40, "faults")
