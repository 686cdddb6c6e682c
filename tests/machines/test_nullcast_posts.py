"""Posts of every kind, those that are only shown as ads too: a write changes the posts that it
names, and no other.
"""

import contextlib
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import attrs
import pytest
from hypothesis import strategies as st

from socialapi.emulator.platform import state
from socialapi.errors import Forbidden
from socialapi.types import Fields
from tests.machines.machine import Machine, check, run_machine, step

KEPT: Final = 4
"""The number of posts of the control plane that the emulator keeps here."""

numbers = st.integers(0, 1_000)


@attrs.define
class Expected:
    """A post of the model, which a write changes in the ways that the specification names."""

    text: str
    nullcast: bool = False
    replaced: bool = False
    replies: int = 0
    quotes: int = 0
    history: list[str] = attrs.field(factory=list)


class NullcastPosts(Machine):
    """A user writes, edits, answers and quotes posts, and others are published and dropped."""

    max_steps: ClassVar[int] = 40
    emulator_options: ClassVar[Mapping[str, Any]] = {
        "rate_limits": {"GET /2/users/{id}/tweets": (100_000, 900.0), "POST /2/tweets": (100_000, 900.0)},
    }

    async def open(self) -> None:
        await super().open()
        self.user_id = self.emulator.seed["user_ids"][0]
        self.account_id = self.emulator.seed["account_ids"][0]
        self.posts: dict[str, Expected] = {}
        self.published: list[str] = []
        self.before = [str(post_id) for post_id in self.stored.timeline(self.user_id)]
        self.written = 0

    @property
    def stored(self) -> Any:
        return self.emulator.state.platform.posts

    def new_text(self) -> str:
        self.written += 1
        return f"post {self.written}"

    def add(self, post_id: str, **fields: Any) -> None:
        assert post_id not in self.posts
        self.posts[post_id] = Expected(**{"history": [post_id], **fields})

    def pick(self, number: int) -> str | None:
        return list(self.posts)[number % len(self.posts)] if self.posts else None

    @step(trouble=None, nullcast=st.booleans())
    async def advertise(self, *, nullcast: bool) -> None:
        text = self.new_text()
        account = self.client.ads.account(self.account_id)
        made = await account.posts.create(as_user_id=self.user_id, text=text, nullcast=nullcast)
        self.add(made.id, text=text, nullcast=nullcast)

    @step(trouble=None, answered=st.none() | numbers, quoted=st.none() | numbers, nullcast=st.booleans())
    async def write(self, answered: int | None, quoted: int | None, *, nullcast: bool) -> None:
        """A post may answer and quote others, or one and the same."""
        text = self.new_text()
        draft: dict[str, Any] = {"text": text, "nullcast": nullcast}
        if answered is not None and (target := self.pick(answered)):
            draft["reply"] = {"in_reply_to_tweet_id": target}
            self.posts[target].replies += 1
        if quoted is not None and (target := self.pick(quoted)):
            draft["quote_tweet_id"] = target
            self.posts[target].quotes += 1
        self.add((await self.client.posts.create(draft)).id, text=text, nullcast=nullcast)

    @step(trouble=None, number=numbers)
    async def edit(self, number: int) -> None:
        """An edit is shown where the version before it was shown."""
        if (post_id := self.pick(number)) is None:
            return
        before, text = self.posts[post_id], self.new_text()
        draft = {"text": text, "edit_options": {"previous_post_id": post_id}}
        with contextlib.suppress(Forbidden):
            made = (await self.client.posts.create(draft)).id
            assert not before.replaced
            before.replaced = True
            history = [*before.history, made]
            for each in before.history:
                if each in self.posts:
                    self.posts[each].history = history
            self.add(made, text=text, nullcast=before.nullcast, history=history)

    @step(trouble=None, count=st.integers(1, 3))
    async def publish(self, count: int) -> None:
        """The oldest of many that are published are dropped."""
        for _ in range(count):
            text = self.new_text()
            (made,) = (await self.emulator.publish({"text": text, "author_id": self.user_id}))["published"]
            self.add(made["post_id"], text=text)
            self.published.append(made["post_id"])
        for post_id in self.published[:-KEPT]:
            self.posts.pop(post_id, None)

    @step(trouble=None, number=numbers)
    async def publish_again(self, number: int) -> None:
        """A post that is published under the id of another takes its place, for good."""
        if (post_id := self.pick(number)) is not None:
            text = self.new_text()
            await self.emulator.publish({"id": post_id, "text": text, "author_id": self.user_id})
            self.posts[post_id] = Expected(text, history=[post_id])

    @check
    async def timeline_lists_the_latest_versions(self) -> None:
        listed = [post_id for post_id, post in self.posts.items() if not post.nullcast and not post.replaced]
        timeline = [str(post_id) for post_id in self.stored.timeline(self.user_id)]
        assert timeline == self.before + sorted(listed, key=int)
        page = await self.look(lambda: self.client.posts.by_user(self.user_id, max_results=20).first())
        assert [post.id for post in page.data] == timeline[:-21:-1]

    @check
    async def posts_are_those_of_the_model(self) -> None:
        if not self.posts:
            return
        wanted = list(self.posts)[-100:]
        fields = Fields(post=["public_metrics", "edit_history_tweet_ids"])
        found = (await self.look(lambda: self.client.posts.lookup(wanted, fields=fields))).data
        assert [post.id for post in found] == wanted
        for post in found:
            assert post.public_metrics is not None
            assert self.posts[post.id] == attrs.evolve(
                self.posts[post.id],
                text=post.text or "",
                replies=post.public_metrics.reply_count or 0,
                quotes=post.public_metrics.quote_count or 0,
                history=list(post.edit_history_tweet_ids or ()),
            )


def test_a_write_changes_the_posts_that_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "PUBLISHED_POSTS", KEPT)
    counts = run_machine(NullcastPosts)
    assert min(counts.steps[name] for name in ("advertise", "write", "edit", "publish", "publish_again")) > 20
