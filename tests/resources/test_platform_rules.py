"""Every rule of the platform broken once: the SDK says what and where before sending; sent raw, it is refused."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import attrs
import pytest

from socialapi import Client, errors
from socialapi.emulator import Emulator
from socialapi.types import EditOptions, PostDraft, PostMedia, PostReply
from tests.emulator.asking import Asker, Reply

LONG_RULE = "x" * 2_049
LONG_POST = "x" * 25_001
RULES = "/2/tweets/search/stream/rules"


@attrs.frozen
class Broken:
    """A rule, a call of the SDK that breaks it, where it does, and the same request without the SDK."""

    name: str
    sdk: Callable[[Client], Awaitable[Any]]
    paths: Sequence[str]
    raw: Callable[[Asker], Awaitable[Reply]]
    reason: str = ""
    """The failure of section 7.2, for webhooks."""


def posted(body: Any) -> Callable[[Asker], Awaitable[Reply]]:
    return lambda raw: raw.signed("POST", "/2/tweets", json=body)


def changed(body: Any) -> Callable[[Asker], Awaitable[Reply]]:
    return lambda raw: raw.bearer("POST", RULES, json=body)


def subscribed(event_type: Any, **wanted: Any) -> Callable[[Asker], Awaitable[Reply]]:
    body = {"event_type": event_type, "filter": wanted}
    return lambda raw: raw.bearer("POST", "/2/activity/subscriptions", json=body)


def hook(url: str) -> Callable[[Asker], Awaitable[Reply]]:
    return lambda raw: raw.bearer("POST", "/2/webhooks", json={"url": url})


def wrong(value: Any) -> Any:
    """A value that the type checker would not let through."""
    return value


ALL = [
    Broken("no ids", lambda c: c.posts.lookup([]), ["ids"], lambda r: r.bearer("GET", "/2/tweets?ids=")),
    Broken(
        "a page too small",
        lambda c: c.posts.by_user("17", max_results=4).first(),
        ["max_results"],
        lambda r: r.get("/2/users/17/tweets", max_results=4),
    ),
    Broken(
        "a page too large",
        lambda c: c.posts.by_user("17", max_results=101).first(),
        ["max_results"],
        lambda r: r.get("/2/users/17/tweets", max_results=101),
    ),
    Broken("a long post", lambda c: c.posts.create(PostDraft(text=LONG_POST)), ["text"], posted({"text": LONG_POST})),
    Broken(
        "several at once",
        lambda c: c.posts.create(
            PostDraft(
                text=LONG_POST,
                paid_partnership=wrong("yes"),
                community_id=wrong(1.5),
                share_with_followers=wrong(1),
                reply=PostReply(in_reply_to_tweet_id=wrong(True)),
                media=PostMedia(media_ids=wrong(("1", None))),
                edit_options=EditOptions(previous_post_id=wrong(None)),
            )
        ),
        [
            "text",
            "community_id",
            "share_with_followers",
            "paid_partnership",
            "reply.in_reply_to_tweet_id",
            "media.media_ids[1]",
            "edit_options.previous_post_id",
        ],
        posted(
            {
                "text": LONG_POST,
                "community_id": 17,
                "share_with_followers": 1,
                "paid_partnership": "yes",
                "reply": {"in_reply_to_tweet_id": 5},
                "media": {"media_ids": ["1", 2]},
                "edit_options": {"previous_post_id": None},
            }
        ),
    ),
    Broken(
        "a webhook without https",
        lambda c: c.webhooks.create("http://example.com/"),
        ["url"],
        hook("http://example.com/"),
        "UrlValidationFailed",
    ),
    Broken(
        "a webhook with a port",
        lambda c: c.webhooks.create("https://example.com:8443/"),
        ["url"],
        hook("https://example.com:8443/"),
        "UrlValidationFailed",
    ),
    Broken(
        "an id to validate",
        lambda c: c.webhooks.validate("x"),
        ["webhook_id"],
        lambda r: r.bearer("PUT", "/2/webhooks/x"),
        "WebhookIdInvalid",
    ),
    Broken(
        "an id to delete",
        lambda c: c.webhooks.delete("1" * 20),
        ["webhook_id"],
        lambda r: r.bearer("DELETE", "/2/webhooks/" + "1" * 20),
        "WebhookIdInvalid",
    ),
    Broken(
        "an id to link",
        lambda c: c.filtered_stream.link("x"),
        ["webhook_id"],
        lambda r: r.bearer("POST", "/2/tweets/search/webhooks/x"),
    ),
    Broken("no rules", lambda c: c.filtered_stream.add_rules(), ["add"], changed({"add": []})),
    Broken(
        "an empty rule", lambda c: c.filtered_stream.add_rules(""), ["add[0].value"], changed({"add": [{"value": ""}]})
    ),
    Broken(
        "a long rule",
        lambda c: c.filtered_stream.add_rules("x", LONG_RULE),
        ["add[1].value"],
        changed({"add": [{"value": "x"}, {"value": LONG_RULE}]}),
    ),
    Broken(
        "no rules to delete",
        lambda c: c.filtered_stream.delete_rules(),
        ["delete.ids"],
        changed({"delete": {"ids": []}}),
    ),
    Broken(
        "no connections",
        lambda c: c.connections.end(),
        ["uuids"],
        lambda r: r.bearer("DELETE", "/2/connections", json={"uuids": []}),
    ),
    Broken(
        "a title that is no text",
        lambda c: c.articles.draft(wrong(5), {}),
        ["title"],
        lambda r: r.signed("POST", "/2/articles/draft", json={"title": 5, "content_state": {}}),
    ),
    Broken(
        "a page of undocumented size",
        lambda c: c.connections.list(max_results="ten").first(),
        ["max_results"],
        lambda r: r.get("/2/connections", max_results="ten"),
    ),
    Broken(
        "a direction of a post",
        lambda c: c.activity.subscribe("post.create", user_id="17", direction="sent"),
        ["filter.direction"],
        subscribed("post.create", user_id="17", direction="sent"),
    ),
    Broken(
        "a direction that does not exist",
        lambda c: c.activity.subscribe("dm.sent", user_id="17", direction=wrong("up")),
        ["filter.direction"],
        subscribed("dm.sent", user_id="17", direction="up"),
    ),
    Broken(
        "a user who is no text",
        lambda c: c.activity.subscribe("dm.sent", user_id=wrong(17.5), keyword=wrong(5)),
        ["filter.user_id", "filter.keyword"],
        subscribed("dm.sent", user_id=17, keyword=5),
    ),
]


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.name)
async def test_a_broken_rule_is_named_before_anything_is_sent_and_refused_by_the_service(
    client: Client, service: Emulator, raw: Asker, rule: Broken
) -> None:
    with pytest.raises(errors.InvalidInput) as refused:
        await rule.sdk(client)
    assert [each.path for each in refused.value.broken_rules] == list(rule.paths)
    assert all(path in str(refused.value) for path in rule.paths)
    assert "x" * 100 not in str(refused.value)
    assert not service.requests
    reply = await rule.raw(raw)
    if rule.reason:
        assert (reply.status, reply.json["title"]) == (400, rule.reason)
        assert reply.json["detail"].startswith(rule.reason)
    else:
        assert sorted(reply.at_fault) == sorted(rule.paths)


async def test_101_ids_are_refused_raw_and_split_here(client: Client, raw: Asker) -> None:
    ids = raw.emulator.seed["post_ids"][:101]
    assert (await raw.get("/2/tweets", ids=",".join(ids))).at_fault == ["ids"]
    assert len((await client.posts.lookup(ids)).data) == 101


async def test_add_and_delete_cannot_go_together(raw: Asker) -> None:
    """The SDK has a method for each, so that only others can."""
    assert (await changed({})(raw)).at_fault == ["add"]
    both = {"add": [{"value": "x"}], "delete": {"ids": ["1"]}}
    assert (await changed(both)(raw)).at_fault == ["delete"]
