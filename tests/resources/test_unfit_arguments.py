"""Arguments that no area sends: times without a time zone, names with a slip in them, ids that are empty."""

import datetime
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from socialapi import Client, errors
from socialapi.emulator import Emulator
from socialapi.errors import InvalidInput
from socialapi.types import AudienceUser, Operation, SwipeableMedia

NAIVE = datetime.datetime(2027, 1, 1)  # noqa: DTZ001  # that is what it is about
AWARE = NAIVE.replace(tzinfo=datetime.UTC)
DRAFT: dict[str, Any] = {"text": "a"}

Call = Callable[[Client], Awaitable[Any]]


async def refused(call: Call, client: Client, service: Emulator) -> list[tuple[str, str]]:
    """The rules that a call breaks, each by its path and its reason; nothing has been sent."""
    with pytest.raises(InvalidInput) as caught:
        await call(client)
    assert not service.requests
    assert caught.value.__context__ is None
    return [(rule.path, rule.reason) for rule in caught.value.broken_rules]


def account(client: Client) -> Any:
    return client.ads.account("18ce54d4x5t")


@pytest.mark.parametrize(
    ("call", "path"),
    [
        (
            lambda c: account(c).history(entity_type="CAMPAIGN", entity_id="a", start_time=NAIVE, end_time=AWARE),
            "start_time",
        ),
        (lambda c: c.ads.keyword_insights(["a"], granularity="HOUR", start_time=NAIVE), "start_time"),
        (lambda c: account(c).line_items.update("a", end_time=NAIVE), "end_time"),
        (lambda c: account(c).line_items.update("a", {"start_time": NAIVE}), "start_time"),
        (lambda c: c.webhooks.replay(from_date=NAIVE), "from_date"),
        (
            lambda c: (
                account(c)
                .custom_audience("1")
                .send(Operation.update([AudienceUser(handle="ada")], effective_at=NAIVE, expires_at=AWARE))
            ),
            "[0].params.effective_at",
        ),
        (lambda c: account(c).custom_audience("1").upload([{"handle": "ada"}], effective_at=NAIVE), "effective_at"),
        (lambda c: account(c).custom_audience("1").upload([{"handle": "ada"}], expires_at=NAIVE), "expires_at"),
        (lambda c: c.activity.subscribe("post.create", user_id=1, since=NAIVE), "since"),
        (lambda c: c.connections.list(since=NAIVE), "since"),
        (lambda c: c.notes.submit(about={"when": [AWARE, NAIVE]}), "about.when[1]"),
        (lambda c: c.request("GET", "/2/any", params={"since": NAIVE}), "since"),
        (lambda c: c.request("GET", "/2/any", params={"times": [NAIVE]}), "times[0]"),
        (lambda c: c.request("POST", "/2/any", json={"a": {"b": (1, NAIVE)}}), "a.b[1]"),
    ],
)
async def test_a_time_without_a_zone_is_a_broken_rule_at_its_place(
    call: Call, path: str, client: Client, service: Emulator
) -> None:
    ((where, reason),) = await refused(call, client, service)
    assert where == path
    assert "has no time zone" in reason


class NoZone(datetime.tzinfo):
    def utcoffset(self, when: datetime.datetime | None) -> None:
        return None

    def dst(self, when: datetime.datetime | None) -> None:
        return None

    def tzname(self, when: datetime.datetime | None) -> None:
        return None


@pytest.mark.parametrize(
    ("time", "says"),
    [
        (NAIVE.replace(tzinfo=NoZone()), "has no time zone"),
        (datetime.datetime.max.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=-1))), "year must be from"),
        (datetime.datetime.min.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=1))), "year must be from"),
    ],
)
async def test_a_time_that_cannot_be_said_in_utc_is_one_too(
    time: Any, says: str, client: Client, service: Emulator
) -> None:
    ((where, reason),) = await refused(lambda c: account(c).line_items.update("a", end_time=time), client, service)
    assert where == "end_time"
    assert says in reason


@pytest.mark.parametrize(
    ("call", "path", "meant"),
    [
        (lambda c: c.posts.create(DRAFT | {"repply": {"in_reply_to_tweet_id": "1"}}), "repply", "reply"),
        (lambda c: c.posts.create({"Text": "a"}), "Text", "text"),
        (
            lambda c: c.posts.create(DRAFT | {"reply": {"in_reply_to_tweet_id": "1", "exclude_reply_user_id": "2"}}),
            "reply.exclude_reply_user_id",
            "exclude_reply_user_ids",
        ),
        (lambda c: account(c).line_items.update("a", {"frequency_capp": 2}), "frequency_capp", "frequency_cap"),
        (lambda c: account(c).line_items.update("a", start_tmie=AWARE), "start_tmie", "start_time"),
        (lambda c: c.filtered_stream.ensure_rules({"value": "cats", "tags": "c"}), "add[0].tags", "tag"),
        (lambda c: c.filtered_stream.add_rules({"value": "cats", "vlaue": "c"}), "add[0].vlaue", "value"),
    ],
)
async def test_a_key_that_is_nearly_that_of_a_field_is_a_broken_rule_that_says_which(
    call: Call, path: str, meant: str, client: Client, service: Emulator
) -> None:
    rules = dict(await refused(call, client, service))
    assert rules[path] == f"is not a field of this object: did you mean {meant!r}?"


async def test_what_is_asked_for_by_its_path_is_sent_as_it_is(client: Client, service: Emulator) -> None:
    with pytest.raises(errors.ApiError, match="repply: is not a field"):
        await client.request("POST", "/2/tweets", json=DRAFT | {"repply": {}}, auth="user")
    assert len(service.requests) == 1


@pytest.mark.parametrize("further", [{"made_with_ai": True}, {"extra": {"texts": "b"}}, {"x": 1}])
async def test_other_keys_and_what_stands_in_extra_are_sent(further: Any) -> None:
    async with Emulator(lenient_fields=True) as service, Client(service.config, service.credentials) as client:
        await client.posts.create(DRAFT | further)
        assert len(service.requests) == 1


@pytest.mark.parametrize(
    ("call", "slip", "meant"),
    [
        (lambda c: c.filtered_stream.connect(backfil_minutes=2), "backfil_minutes", "backfill_minutes"),
        (lambda c: c.filtered_stream.connect(on_gpa=print), "on_gpa", "on_gap"),
        (lambda c: c.filtered_stream.connect(field=None), "field", "fields"),
        (lambda c: c.activity.stream(give_up_after_second=3), "give_up_after_second", "give_up_after_seconds"),
        (lambda c: c.activity.subscribe("post.create", userid="1"), "userid", "user_id"),
        (lambda c: c.articles.draft("a", {}, cover_medai={}), "cover_medai", "cover_media"),
        (lambda c: c.news.search("a", news_field=["id"]), "news_field", "news_fields"),
        (lambda c: c.news.get("1", newsfields=["id"]), "newsfields", "news_fields"),
        (lambda c: c.notes.eligible_posts(feilds=None), "feilds", "fields"),
        (lambda c: c.notes.written(strat="a"), "strat", "start"),
        (lambda c: c.powerstream.rules(starts="a"), "starts", "start"),
        (lambda c: c.connections.list(Start="a"), "Start", "start"),
    ],
)
async def test_a_further_keyword_that_is_nearly_a_declared_one_is_refused_at_once(
    call: Callable[[Client], Any], slip: str, meant: str, client: Client, service: Emulator
) -> None:
    with pytest.raises(InvalidInput, match=rf"{slip}:? is not a parameter: did you mean {meant}\?"):
        await call(client)  # a stream would be refused before anybody waits for it
    assert not service.requests


async def test_other_further_keywords_are_sent(client: Client) -> None:
    made = await client.activity.subscribe("post.create", user_id="1", label="huts")
    assert made.extra == {"label": "huts"}


@pytest.mark.parametrize("ids", ["", [""], ["1", ""], " ", ("1", "\t")])
@pytest.mark.parametrize(
    "call",
    [
        lambda c, ids: c.posts.lookup(ids),
        lambda c, ids: c.filtered_stream.rules(ids=ids),
        lambda c, ids: c.filtered_stream.delete_rules(ids),
        lambda c, ids: c.connections.end(ids),
        lambda c, ids: c.ads.accounts.list(account_ids=ids),
        lambda c, ids: account(c).tailored_audience("1").permissions.list(granted_account_ids=ids),
        lambda c, ids: account(c).media.list(account_media_ids=ids),
        lambda c, ids: account(c).poll_cards.list(card_ids=ids),
        lambda c, ids: c.catalog("1").products.delete(ids),
        lambda c, ids: c.catalog("1").product_sets.create("a", "MANUAL", product_keys=ids),
        lambda c, ids: c.posts.create({"text": "a", "media": {"media_ids": ids}}),
        lambda c, ids: account(c).posts.create(as_user_id="1", media_keys=ids),
    ],
)
async def test_an_empty_id_in_a_list_is_refused(
    call: Callable[[Client, Any], Any], ids: Any, client: Client, service: Emulator
) -> None:
    rules = await refused(lambda c: call(c, ids), client, service)
    at = "[1]" if len(ids) == 2 else "[0]"
    assert any(
        path.endswith(at) and "not be empty" in reason.replace("not empty", "not be empty") for path, reason in rules
    )


async def test_the_keys_of_media_to_swipe_are_not_empty(client: Client, service: Emulator) -> None:
    rules = await refused(
        lambda c: account(c).cards.create("n", components=[SwipeableMedia(["3_1", ""])]), client, service
    )
    assert [path for path, _ in rules] == ["components[0].media_keys[1]"]


@pytest.mark.parametrize("given", ["", " "])
@pytest.mark.parametrize(
    "call",
    [
        lambda c, given: c.posts.by_user(given),
        lambda c, given: c.ads.accounts.get(given),
        lambda c, given: c.ads.account(given).media.list(),
        lambda c, given: account(c).cards.get(given),
        lambda c, given: c.catalogs.delete(given),
        lambda c, given: c.catalog(given).products.list(),
        lambda c, given: c.webhooks.delete(given),
        lambda c, given: c.filtered_stream.link(given),
        lambda c, given: c.connections.end_endpoint(given),
        lambda c, given: c.articles.publish(given),
        lambda c, given: c.news.get(given),
    ],
)
async def test_an_empty_id_in_a_path_is_refused(
    call: Callable[[Client, Any], Any], given: str, client: Client, service: Emulator
) -> None:
    async def ask() -> None:
        await call(client, given)

    with pytest.raises(InvalidInput, match=r"must not be empty|must be 1 to 19 digits"):
        await ask()
    assert not service.requests


@pytest.mark.parametrize(
    ("given", "path", "says"),
    [
        (1.5, "ids", "must be an id or a list of ids"),
        (True, "ids", "must be an id or a list of ids"),
        (b"1", "ids", "must be an id or a list of ids"),
        ({"id": 1}, "ids", "must be an id or a list of ids"),
        ([1.5], "ids[0]", "must be an id: a string or a whole number"),
        (["1", True], "ids[1]", "must be an id: a string or a whole number"),
        ([b"1"], "ids[0]", "must be an id: a string or a whole number"),
    ],
)
async def test_what_is_no_id_is_told_what_ids_are(
    given: Any, path: str, says: str, client: Client, service: Emulator
) -> None:
    assert await refused(lambda c: c.posts.lookup(given), client, service) == [(path, says)]
