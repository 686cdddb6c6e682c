"""What the client of a soak does beside its jobs: walks, calls, posts, streams and a webhook
receiver.
"""

import asyncio
import contextlib
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import attrs

from socialapi.errors import ApiError, OutcomeUnknown, SocialApiError
from socialapi.models.events import ActivityEvent, MatchedPost
from socialapi.models.undecoded import Undecoded
from socialapi.streams import Gap
from socialapi.webhooks import Receiver
from socialapi.webhooks.serving import serving
from tests.soak.jobs import ATTEMPTS, Broken, Loads, Soak, Uploads, sync

URL: Final = "https://hooks.example.com/soak"
RULE: Final = "soak"
FIRST_PAGE: Final = 5

# Calls -----------------------------------------------------------------------------------------------------------------


@attrs.frozen
class Walks:
    """Walks through posts, which are left in the middle, and continued from where they were."""

    begin: str
    """The position of the second page. New posts push items off the first one, which then come twice."""
    expected: list[int]
    """What the emulator said that it holds from there on, before anybody asked the service."""

    @classmethod
    async def prepared(cls, soak: Soak) -> "Walks":
        """Asked before there are faults, and before anybody posts: the position is behind a known post."""
        pager = soak.client.posts.by_user(soak.seeded["user_ids"][0], max_results=FIRST_PAGE)
        await pager.first()
        return cls(pager.position, soak.timeline[FIRST_PAGE:][: soak.posts_in_a_walk])

    async def run(self, soak: Soak) -> None:
        rng = soak.rng("walks")
        while not soak.stopping.is_set():
            seen = await self.walk(soak, rng)
            if seen != self.expected:
                raise Broken(f"walks: a walk that was left and continued has {different(seen, self.expected)}")
            soak.done["posts read"] += len(seen)
            await soak.pause(rng)

    async def walk(self, soak: Soak, rng: random.Random) -> list[int]:
        """The ids of as many posts as are expected."""
        seen, position = list[int](), self.begin
        while len(seen) < len(self.expected):
            user_id, size = soak.seeded["user_ids"][0], rng.choice((20, 50, 100))
            pager = soak.client.posts.by_user(user_id, max_results=size, start=position)
            leaves_after = rng.randrange(10, 400)
            with soak.telling("walks, opened"):
                async for post in pager:
                    seen.append(int(post.id))
                    leaves_after -= 1
                    if not leaves_after:
                        break
            position = pager.position
        return seen[: len(self.expected)]


def different(seen: list[int], expected: list[int]) -> str:
    """What is wrong with posts that are not those that were expected."""
    missing, twice = set(expected) - set(seen), len(seen) - len(set(seen))
    return f"{len(missing)} posts too few, {twice} twice, and {len(set(seen) - set(expected))} that do not belong there"


async def calls(soak: Soak) -> None:
    """Single calls, eight at a time, with the credentials of the app and of both kinds of users."""
    rng, account = soak.rng("calls"), soak.client.ads.account(soak.seeded["account_ids"][0])
    turns = asyncio.Semaphore(8)
    post_ids, user_ids = soak.seeded["post_ids"], soak.seeded["user_ids"]

    async def call() -> None:
        async with turns:
            kind = rng.randrange(5)
            if kind == 0:
                with soak.telling("GET, as the app"):
                    wanted = rng.sample(post_ids, 10)
                    found = await soak.client.posts.lookup(wanted)
                    if [post.id for post in found.data] != wanted:
                        raise Broken("GET: a lookup has not the posts that were asked for")
            elif kind == 1:
                with soak.telling("GET, as an OAuth 2.0 user"):
                    await soak.client.notes.eligible_posts().first()
            elif kind == 2:
                path = f"/2/users/{rng.choice(user_ids[:3])}/tweets"
                with soak.telling("GET, as an OAuth 1.0a user"):
                    await soak.client.request("GET", path, params={"max_results": 5}, auth="user")
            elif kind == 3:
                with soak.telling("GET, a page"):
                    await account.line_item_curated_categories.list(count=50).first()
            else:
                with soak.telling("GET, a page"):
                    await soak.client.catalog(soak.seeded["product_catalog_ids"][0]).products.list(count=50).first()

    while not soak.stopping.is_set():
        await asyncio.gather(*(call() for _ in range(rng.randrange(4, 24))))
        await soak.pause(rng)
    with soak.telling("GET, as an OAuth 2.0 user"):
        await soak.client.notes.eligible_posts().first()
    with soak.telling("GET, as the app"):
        await soak.client.posts.lookup(post_ids[:5])


async def posts(soak: Soak) -> None:
    """Creates posts in the name of a user, each with a text of its own."""
    rng, number = soak.rng("posts"), 0
    while not soak.stopping.is_set():
        for _ in range(rng.randrange(1, 5)):
            number += 1
            text, began = f"soak by the client, {number}", time.time()
            try:
                post = await soak.client.posts.create(text)
            except SocialApiError as error:
                soak.tell("posts", error)
                # A refusal that the service sends instead of working on it, too many times, says so.
                may_exist = isinstance(error, OutcomeUnknown) or not (
                    isinstance(error, ApiError) and error.status in {429, 503}
                )
                soak.note("unsure" if may_exist else "refused", text, began, time.time())
            else:
                soak.done["posts created"] += 1
                soak.note("created", post.id, text, began, time.time())
        await soak.pause(rng)


async def rules(soak: Soak) -> None:
    """Adds and deletes rules that match nothing, and permissions to use an audience."""
    rng, number = soak.rng("rules"), 0
    account_id, other_id = soak.seeded["account_ids"]
    account = soak.client.ads.account(account_id)
    permissions = account.tailored_audience(soak.seeded["tailored_audience_ids"][0]).permissions
    while not soak.stopping.is_set():
        number += 1
        value = f'"matches nothing {number}"'
        with soak.telling("rules ensured"):
            found = await soak.client.filtered_stream.ensure_rules([RULE, value])
            ids = [rule.id for rule in found if rule.value != RULE and rule.id]
            with soak.telling("rules deleted"):
                await soak.client.filtered_stream.delete_rules(ids)
        with soak.telling("permissions listed"):
            for each in await permissions.list().collect():
                with soak.telling("permissions deleted"):
                    await permissions.delete(each.id or "")
            with soak.telling("permissions created"):
                await permissions.create(other_id, "READ_ONLY")
        await soak.pause(rng)


# Streams ---------------------------------------------------------------------------------------------------------------


@attrs.define
class Reading:
    """Reads a stream, closes it now and then, and opens another one."""

    name: str
    opened: Callable[..., Any]
    backfill_minutes: int | None = None
    session: int = 0
    arrived_at: float | None = None
    """When the last item of the last connection came; nobody knows what was sent after it. None at
    the start.
    """

    async def run(self, soak: Soak) -> None:
        rng = soak.rng(self.name)
        while not soak.ending.is_set():
            self.session += 1
            try:
                async with asyncio.TaskGroup() as tasks:
                    reading = tasks.create_task(self.read(soak))
                    await self.until_reopened(soak, reading, rng)
                    reading.cancel()
            except* SocialApiError as problems:
                for error in problems.exceptions:
                    soak.errors[f"stream: {type(error).__name__}"] += 1
                await asyncio.sleep(0.5)

    async def until_reopened(self, soak: Soak, reading: "asyncio.Task[None]", rng: random.Random) -> None:
        waiting = asyncio.create_task(soak.ending.wait())
        seconds = soak.reopen_seconds * rng.uniform(0.5, 1.5)
        # While everything is published for the last time, nothing is closed.
        await asyncio.wait({waiting, reading}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if soak.stopping.is_set() and not reading.done():
            await asyncio.wait({waiting, reading}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()

    async def read(self, soak: Soak) -> None:
        def missed(gap: Gap) -> None:
            soak.done["gaps"] += 1
            ended_at = time.time() if gap.ended_at is None else gap.ended_at.timestamp()
            soak.note("gap", self.name, gap.started_at.timestamp(), ended_at, gap.reason)

        stream = self.opened(backfill_minutes=self.backfill_minutes, on_gap=missed)
        try:
            async with stream:
                soak.done["streams opened"] += 1
                # What was sent while nobody read it, or was on its way to the stream before, is of this program's making.
                begins = 0.0 if self.arrived_at is None else self.arrived_at - soak.margin_seconds
                soak.note("gap", self.name, begins, time.time(), "the program had closed it")
                self.arrived_at = time.time()
                async for item in stream:
                    self.take(soak, item)
        finally:
            soak.done["connections of streams"] += stream.counters.connections
            soak.done["repeated items left out"] += stream.counters.repeated

    def take(self, soak: Soak, item: Any) -> None:
        soak.done[f"{self.name}: items"] += 1
        self.arrived_at = time.time()
        if isinstance(item, MatchedPost):
            soak.note("item", self.name, self.session, item.data.id, (item.data.text or "")[:60])
        elif isinstance(item, ActivityEvent):
            soak.note("item", self.name, self.session, item.event_id, "")
        elif isinstance(item, Undecoded):
            soak.done["lines that are no JSON"] += 1
        else:
            soak.done["notices"] += 1


# Webhooks --------------------------------------------------------------------------------------------------------------


async def webhooks(soak: Soak) -> None:
    """Receives events with an inbox; the receiver is closed and opened again now and then."""
    rng = soak.rng("webhooks")
    while not soak.ending.is_set():
        receiver = Receiver(soak.secret, inbox=soak.folder / "inbox.sqlite")
        async with serving(receiver, "127.0.0.1", soak.receiver_port), asyncio.TaskGroup() as tasks:
            handling = tasks.create_task(handle(soak, receiver))
            await _registered(soak)
            waiting = asyncio.create_task(soak.ending.wait())
            await asyncio.wait({waiting}, timeout=soak.reopen_seconds * rng.uniform(0.5, 1.5))
            if soak.stopping.is_set():
                await waiting
            waiting.cancel()
            receiver.stop()
            await handling
        soak.done["receivers opened"] += 1
        for name in ("accepted", "duplicates", "refused_signature", "refused_body", "refused_full"):
            soak.done[f"webhook deliveries: {name}"] += getattr(receiver.counters, name)


async def _registered(soak: Soak) -> None:
    for _ in range(ATTEMPTS):
        with contextlib.suppress(SocialApiError):
            webhook = await soak.client.webhooks.ensure(URL)
            await soak.client.filtered_stream.link(webhook.id or "")
            soak.registered.set()
            return
        await asyncio.sleep(0.2)
    raise Broken(f"webhooks: the webhook could not be registered in {ATTEMPTS} attempts")


async def handle(soak: Soak, receiver: Receiver) -> None:
    async for event in receiver:
        if isinstance(event, MatchedPost):
            soak.note("handled", event.data.id, (event.data.text or "")[:60])
        elif isinstance(event, ActivityEvent):
            is_forged = "tampered" in event.extra
            soak.note("forged" if is_forged else "handled", event.event_id, "")
        else:
            soak.note("broken", "webhooks", f"an event cannot be read: {type(event).__name__}")
        soak.done["events handled"] += 1


# All of them -----------------------------------------------------------------------------------------------------------


async def prepare(soak: Soak) -> list[tuple[str, Callable[[Soak], Awaitable[None]]]]:
    """Makes what the workers need, before there are faults; the workers of jobs and calls, by name."""
    account_id = soak.seeded["account_ids"][0]
    account = soak.client.ads.account(account_id)
    first, _, third = soak.seeded["custom_audience_ids"]
    do_not_reach = soak.seeded["do_not_reach_list_ids"][0]
    uploads = [
        Uploads("audience upload", f"audiences/{account_id}/{first}", account.custom_audience(first).upload, "single"),
        Uploads("packed upload", f"audiences/{account_id}/{third}", account.custom_audience(third).upload, "packed"),
        Uploads(
            "do-not-reach upload",
            f"do-not-reach/{account_id}/{do_not_reach}",
            account.do_not_reach_list(do_not_reach).upload,
            "single",
        ),
    ]
    load = Loads("catalog load", soak.seeded["product_catalog_ids"][0])
    await soak.client.filtered_stream.ensure_rules(RULE)
    walks = await Walks.prepared(soak)
    jobs: list[Uploads | Loads] = [*uploads, load]
    return [
        *((each.name, each.run) for each in jobs),
        ("walks", walks.run),
        *((each.__name__, each) for each in (sync, calls, posts, rules)),
    ]


def receivers(soak: Soak) -> list[tuple[str, Callable[[Soak], Awaitable[None]]]]:
    """The workers that go on until everything was published, by name."""
    readings = [
        Reading("posts", soak.client.filtered_stream.connect),
        Reading("posts with backfill", soak.client.filtered_stream.connect, 2),
        Reading("activity", soak.client.activity.stream),
    ]
    return [*((each.name, each.run) for each in readings), ("webhooks", webhooks)]
