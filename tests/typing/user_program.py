"""A program as users write it, which `make lint` has both type checkers read: nothing of it is run.

It imports from the public modules alone, and says of every result which type it has.
"""

import contextlib
import datetime
import random
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, assert_type

from socialapi import (
    AppOnly,
    AudienceUser,
    Bearer,
    Client,
    Clock,
    Config,
    Credentials,
    Fields,
    Journal,
    LimitStatus,
    OAuth1,
    OAuth2User,
    Operation,
    Pacer,
    Page,
    Pager,
    Product,
    Progress,
    Reply,
    Slot,
    Stream,
    SyncReport,
    TokenCache,
    UploadReport,
    UpsertReport,
    errors,
)
from socialapi.emulator import Emulator, RequestRecord
from socialapi.journals import JobIdentity, Opened, Outcome, RecordedBatch, State
from socialapi.resources import CustomAudience, Posts
from socialapi.streams import ActivityEvent, Dispatcher, Gap, MatchedPost, StreamNotice, Undecoded
from socialapi.types import (
    Account,
    Api,
    BrokenRule,
    Card,
    CardMedia,
    Details,
    HistoryEntry,
    Includes,
    Items,
    KeywordInsights,
    LimitReading,
    LineItem,
    LineItemChanges,
    LintReport,
    NewsStory,
    Note,
    OperationType,
    Post,
    PostDraft,
    PostMedia,
    ProductCatalog,
    ProductDeletion,
    ProductResult,
    ProductSet,
    RateLimit,
    Records,
    RequestToken,
    RowIssue,
    StoredProduct,
    StreamLink,
    StreamRule,
    TargetingCampaign,
    UploadCounts,
    UploadKeywords,
    User,
    WebhookConfig,
    Website,
)
from socialapi.webhooks import Delivery, Receiver, WebhookReply, crc_response, read_event, verify_signature

# What an application may bring along, written against the protocols.


class OneSlot:
    """A right to send."""

    def replied(self, reading: LimitReading | None, *, refused_for_seconds: float | None = None) -> None:
        if reading is not None:
            assert_type(reading.remaining, int | None)

    def unsent(self) -> None: ...


class UnlimitedPacer:
    """Lets everything go at once."""

    async def acquire(self, key: str, documented: RateLimit | None, *, bulk: bool, max_wait_seconds: float) -> Slot:
        return OneSlot()

    def limits(self) -> Mapping[str, LimitStatus]:
        return {}

    def requests_per_second(self, key: str, documented: RateLimit | None) -> float | None:
        return documented.requests / documented.window_seconds if documented is not None else None


class FixedClock:
    """The first of May."""

    def time(self) -> float:
        return 1_777_593_600.0

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None: ...


class NoTokens:
    """Keeps nothing."""

    async def load(self, key: str) -> str | None:
        return None

    async def store(self, key: str, token: str) -> None: ...

    async def discard(self, key: str, token: str) -> None: ...

    @contextlib.asynccontextmanager
    async def lock(self, key: str) -> AsyncGenerator[None]:
        yield


class ForgetfulJournal:
    """Begins anew each time."""

    async def open(self, identity: JobIdentity, now: datetime.datetime) -> Opened:
        return Opened(job_id=identity.kind, started_at=now, is_new=True)

    async def recall(self, number: int) -> RecordedBatch | None:
        return None

    async def begin(self, batch: RecordedBatch) -> None: ...

    async def confirm(self, number: int, outcomes: Sequence[Outcome]) -> None: ...

    async def outcomes(self, first_row: int, last_row: int) -> Mapping[int, Outcome]:
        return {}

    async def note(self, outcomes: Sequence[Outcome]) -> None: ...

    async def keep(self, name: str, number: int) -> int:
        return number

    async def kept(self, name: str) -> int | None:
        return None

    async def last_row(self) -> int:
        return 0

    async def finish(self, state: State, counts: Mapping[str, int]) -> None: ...

    async def aclose(self) -> None: ...


SINCE = datetime.datetime(2026, 5, 1, tzinfo=datetime.UTC)
UNTIL = datetime.datetime(2026, 5, 2, tzinfo=datetime.UTC)

PACER: Pacer = UnlimitedPacer()
CLOCK: Clock = FixedClock()
TOKENS: TokenCache = NoTokens()
JOURNAL: Journal = ForgetfulJournal()


def a_client(user: OAuth2User | None = None) -> Client:
    credentials: list[Credentials] = [AppOnly("key", "secret"), OAuth1("key", "secret", "token", "token-secret")]
    if user is not None:
        credentials.append(user)
    config = Config(base_url="https://api.example.com", timeout_seconds=10, retries=1)
    return Client(config, credentials, pacer=PACER, clock=CLOCK, token_cache=TOKENS, rng=random.Random(1))


async def any_endpoint(client: Client, api: Api) -> Any:
    reply = await client.request("GET", "/2/anything", params={"page": 1}, api=api, auth="app")
    assert_type(reply, Reply)
    assert_type(reply.status, int)
    assert_type(client.with_options(retries=0, timeout_seconds=3.5), Client)
    assert_type(client.limits, Mapping[str, LimitStatus])
    return reply.body


async def posts(posts: Posts) -> list[Post]:
    pager = posts.by_user("2244994945", max_results=100, fields=Fields(post=["author_id"]), start=None)
    assert_type(pager, Pager[Post])
    async for post in pager:
        assert_type(post, Post)
    async for page in pager.pages():
        assert_type(page, Page[Post])
        assert_type(page.includes, Includes)
        assert_type(page.includes.users, tuple[User, ...])
    assert_type(await pager, Page[Post])
    assert_type(await pager.first(), Page[Post])
    assert_type(await pager.to_arrow(limit=5), Any)
    assert_type((await pager).to_dict(), dict[str, Any])
    assert_type(Page.from_dict({}, Post), Page[Post])
    assert_type(Post.from_dict({}), Post)
    assert_type(Post(id="1").to_json(), str)
    assert_type(pager.position, str)
    assert_type(await posts.lookup([1, "2"]), Page[Post])
    assert_type(
        await posts.create(PostDraft(text="Snow?", poll={"options": ["yes", "no"], "duration_minutes": 5})), Post
    )
    assert_type(await posts.create(PostDraft(text="Snow?", media=PostMedia(media_ids=[3, "5"]))), Post)
    return await pager.collect(limit=10)


async def advertising(client: Client) -> LineItem:
    accounts = client.ads.accounts.list(count=200, sort_by="created_at-desc", account_ids=["18ce5"])
    assert_type(accounts, Pager[Account])
    account = client.ads.account("18ce5")
    assert_type(await client.ads.accounts.update("18ce5", name="Boots"), Account)
    async for entry in account.history(
        entity_type="CAMPAIGN", start_time=SINCE, end_time=UNTIL, entity_id="8u94t", count=50
    ):
        assert_type(entry, HistoryEntry)
    insights = await client.ads.keyword_insights(["snow"], granularity="DAY", start_time=SINCE, end_time=None)
    assert_type(insights, KeywordInsights)
    changes: LineItemChanges = {"bid_strategy": "MAX", "total_budget_amount_local_micro": None}
    assert_type(await account.line_items.update("1", changes), LineItem)
    return await account.line_items.update("1", name="Boots in May", entity_status="PAUSED")


async def cards(client: Client) -> None:
    made = client.ads.account("18ce5").cards
    assert_type(made.list(count=10), Pager[Card])
    assert_type(
        await made.create("Boots", components=[CardMedia("3_1"), Details("Boots", Website("https://a.example"))]), Card
    )


def shown(progress: Progress) -> None:
    assert_type(progress.report.read, int)


async def audience(audience: CustomAudience, records: Records) -> int:
    report = await audience.upload(
        records,
        operation="update",
        packing="packed",
        columns={"email": "Mail"},
        concurrency="auto",
        journal=JOURNAL,
        on_progress=shown,
        max_reject_share=0.1,
    )
    assert_type(report, UploadReport)
    assert_type(report.rejects, tuple[RowIssue, ...])
    options: UploadKeywords = {"packing": "single", "dry_run": True}
    assert_type(await audience.upload(["crm.csv"], **options), UploadReport)
    assert_type(await audience.send(Operation.update([AudienceUser(email="ada@example.com")])), UploadCounts)
    assert_type(await audience.sync("crm.csv", snapshot="held.sqlite", max_removal_share=0.2), SyncReport)
    assert_type(await audience.lint("crm.csv", sample=100), LintReport)
    assert_type(audience.targeted(with_active=True), Pager[TargetingCampaign])
    return report.accepted


async def catalog(client: Client) -> UpsertReport:
    assert_type(client.catalogs.list(), Pager[ProductCatalog])
    products = client.catalog("7pc01").products
    assert_type(products.list(count=100), Pager[StoredProduct])
    boots = Product(
        id="1",
        title="Boots",
        description="Brown",
        availability="in stock",
        condition="new",
        price="9.99 USD",
        link="https://shop.example/1",
        image_link="https://shop.example/1.png",
    )
    assert_type(await products.put([boots]), Items[ProductResult])
    assert_type(await products.delete(["1"]), Items[ProductDeletion])
    assert_type(await client.catalog("7pc01").product_sets.create("All", "MANUAL", product_keys=["1"]), ProductSet)
    return await products.upsert("feed.xml", journal="load.sqlite", digests="digests.sqlite", delete_vanished=True)


async def streams(client: Client) -> None:
    def told(gap: Gap) -> None:
        assert_type(gap.started_at, datetime.datetime)

    rules = await client.filtered_stream.ensure_rules(["snow -is:retweet"], remove_others=True)
    assert_type(rules, tuple[StreamRule, ...])
    stream = client.filtered_stream.connect(Fields(post=["author_id"]), on_gap=told, backfill_minutes=2)
    async with stream:
        async for item in stream:
            assert_type(item, MatchedPost | StreamNotice | Undecoded)
    assert_type(client.activity.stream(), Stream[ActivityEvent])
    assert_type(await client.filtered_stream.link("1"), StreamLink)

    events = Dispatcher(max_concurrency=4)

    @events.on("profile.update.*", MatchedPost)
    async def handle(event: ActivityEvent | MatchedPost) -> None: ...

    await events.run(stream)


async def content(client: Client) -> None:
    assert_type(client.news.search("snow", news_fields=["summary"]), Pager[NewsStory])
    assert_type(await client.notes.submit(post_id="1"), Note)
    assert_type(await client.oauth.request_token("oob", access_type="read"), RequestToken)


async def webhooks(client: Client, body: bytes, header: str) -> WebhookReply:
    assert_type(await client.webhooks.ensure("https://app.example/hooks"), WebhookConfig)
    assert_type(crc_response("token", "secret"), dict[str, str])
    assert_type(verify_signature(body, header, "secret"), bool)
    assert_type(read_event(body), Delivery)
    receiver = Receiver("secret", inbox="events.sqlite")
    async with receiver:
        async for event in receiver:
            assert_type(event, Delivery)
    return await receiver.handle("POST", "", {"content-type": "application/json"}, body)


async def testing() -> None:
    async with Emulator(port=0) as emulator, Client(emulator.config, emulator.credentials) as client:
        emulator.faults.add("status", status=503, times=2)
        assert_type(client, Client)
        assert_type(emulator.requests, Sequence[RequestRecord])
        assert_type(emulator.ledger(), dict[str, Any])


async def refused(client: Client) -> tuple[BrokenRule, ...]:
    try:
        await client.posts.create(PostDraft(text="Snow"))
    except errors.RateLimited as refusal:
        assert_type(refusal.headers, dict[str, str])
    except errors.InvalidInput as refusal:
        return refusal.broken_rules
    return ()


def remove_all(
    users: Sequence[AudienceUser], kind: OperationType = "Delete"
) -> tuple[OperationType, Operation, Bearer]:
    return kind, Operation.delete(users), Bearer("token")
