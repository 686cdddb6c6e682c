"""Every status with every broken shape of an answer, over a socket, and what comes of it."""

import gzip
import pickle
from collections.abc import Awaitable, Callable
from typing import Any, Final

import attrs
import pytest

from socialapi import Client, errors
from socialapi.problems import ResourceNotFound, ServiceError
from tests.support.clients import DIGEST, OPERATION, PRODUCT, client_of
from tests.support.clock import VirtualClock
from tests.support.server import Server, answer

SECRET: Final = "ada-lovelace-token"
ITEM: Final = {"id": "8u94t", "name": SECRET}
NOT_FOUND: Final = {"title": "Not Found", "type": "https://problems.example/resource-not-found", "parameter": "id"}

Call = Callable[[Client], Awaitable[Any]]
CALLS: Final[dict[str, Call]] = {
    "read": lambda client: client.ads.account("a").features(),
    "record": lambda client: client.ads.accounts.get("a"),
    "page": lambda client: client.ads.accounts.list().first(),
    "create": lambda client: client.ads.account("a").poll_cards.create(
        name="n", duration_in_minutes=5, first_choice="a", second_choice="b"
    ),
    "update": lambda client: client.ads.account("a").line_items.update("l", name="n"),
    "delete": lambda client: client.ads.account("a").line_items.delete("l"),
    "post": lambda client: client.posts.create(SECRET),
    "end": lambda client: client.connections.end_all(),
    "users": lambda client: client.ads.account("a").custom_audience("c").send([OPERATION]),
    "products": lambda client: client.catalog("1").products.put([PRODUCT]),
}
WRITES: Final = ("create", "update", "delete", "post", "end")
RESENT: Final = ("users", "products")


# What cannot be read as anything, whatever was asked for: no JSON, or JSON that is neither an object nor an array.
UNREADABLE: Final[dict[str, tuple[bytes, dict[str, str]]]] = {
    "nothing": (b"", {}),
    "blanks": (b" \r\n ", {}),
    "a page of HTML": (f"<html>{SECRET}</html>".encode(), {"content_type": "text/html"}),
    "half an object": (b'{"data": {"id": "1"', {}),
    "two objects": (b'{"data": {}} {"data": {}}', {}),
    "bytes": (b"\xff\xfe\x00", {}),
    "UTF-16": ('{"data": {"id": "1"}}'.encode("utf-16"), {}),
    "null": (b"null", {}),
    "a text": (f'"{SECRET}"'.encode(), {}),
    "a number": (b"7", {}),
    "true": (b"true", {}),
    "data that are a text": (f'{{"data": "{SECRET}x"}}'.encode(), {}),
    "data that are a number": (b'{"data": 5.5}', {}),
    "errors that are an object": (b'{"data": {"id": "1"}, "errors": {"code": 1}}', {}),
    "errors that are a text": (f'{{"data": {{"id": "1"}}, "errors": "{SECRET}"}}'.encode(), {}),
}


@pytest.mark.parametrize("status", [200, 201, 202, 206])
@pytest.mark.parametrize("shape", UNREADABLE)
@pytest.mark.parametrize("call", CALLS)
async def test_a_success_that_cannot_be_read_is_told_as_what_it_is(
    call: str, shape: str, status: int, clock: VirtualClock
) -> None:
    content, how = UNREADABLE[shape]
    page = answer(content, status=status, **how)
    async with Server(then=page) as server, client_of(server, clock, retries=2) as client:
        with pytest.raises((errors.DecodeError, errors.ApiError)) as caught:
            await CALLS[call](client)
    error = caught.value
    assert len(server.requests) == (3 if call in RESENT else 1), "others are not repeated: the object may exist"
    if call in RESENT:
        assert isinstance(error, errors.ApiError)
        assert error.status == status
        return
    assert isinstance(error, errors.DecodeError)
    assert (error.executed, error.status, error.body) == (call in WRITES, status, content)
    again = pickle.loads(pickle.dumps(error))
    assert (again.executed, again.status, again.body, str(again)) == (error.executed, status, None, str(error))
    for shown in (str(error), repr(error)):
        assert SECRET not in shown
    assert error.__context__ is None


# What is read, though it is not written as the documentation shows.
RECORDS: Final[dict[str, Any]] = {
    "an array of one": {"data": [ITEM]},
    "no envelope": ITEM,
    "a name of its own": {"data": {"account": ITEM}},
    "a name of its own, in an array": {"data": [{"account": [ITEM]}]},
    "an id that is a number": {"data": ITEM | {"id": 8}},
    "a null where a list was": {"data": ITEM | {"categories": None, "placements": None}},
    "empty texts": {"data": ITEM | {"created_at": "", "deleted": "", "total_budget_amount_local_micro": ""}},
    "numbers as texts": {"data": ITEM | {"deleted": "true", "bid_amount_local_micro": "5500000"}},
    "errors that are null": {"data": ITEM, "errors": None},
    "no errors": {"data": ITEM, "errors": []},
}


@pytest.mark.parametrize("shape", RECORDS)
@pytest.mark.parametrize("call", ["record", "create", "update", "delete", "post"])
async def test_a_record_is_read_in_every_form_that_leaves_no_doubt(call: str, shape: str) -> None:
    async with Server(then=answer(RECORDS[shape])) as server, client_of(server) as client:
        found = await CALLS[call](client)
    assert found.id == ("8" if shape == "an id that is a number" else "8u94t")
    assert found.partial_errors == ()


@pytest.mark.parametrize(
    "data",
    [
        [],
        [ITEM, ITEM],
        {"name": "without an id"},
        {"id": True},
        {"id": ["a", "b"]},
        {"id": 1.8e19},
        {"account": [ITEM, ITEM]},
    ],
)
@pytest.mark.parametrize("call", ["record", "create", "update", "delete", "post"])
async def test_a_record_whose_meaning_is_in_doubt_is_refused(call: str, data: Any) -> None:
    async with Server(then=answer({"data": data})) as server, client_of(server) as client:
        with pytest.raises(errors.DecodeError) as caught:
            await CALLS[call](client)
    assert caught.value.path.startswith("data")
    assert (caught.value.executed, len(server.requests)) == (call in WRITES, 1)


PARTLY: Final = [{"code": 17, "message": "partly"}, NOT_FOUND, "in words"]


@pytest.mark.parametrize("call", ["record", "create", "update", "delete", "post", "end", "page"])
@pytest.mark.parametrize("enveloped", [True, False])
async def test_errors_beside_a_result_are_kept_for_every_route(call: str, enveloped: bool) -> None:
    data = [ITEM] if call == "page" else ITEM | {"ended_count": 1}
    body = (
        {"data": data, "errors": PARTLY}
        if enveloped or call == "page"
        else {**ITEM, "ended_count": 1, "errors": PARTLY}
    )
    async with Server(then=answer(body)) as server, client_of(server) as client:
        found = await CALLS[call](client)
    coded, problem, words = found.errors if call == "page" else found.partial_errors
    assert coded == ServiceError(code=17, message="partly")
    assert isinstance(problem, ResourceNotFound)
    assert words == ServiceError(message="in words")


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, {"errors": [NOT_FOUND]}),
        (200, {"data": None, "errors": [NOT_FOUND, {"code": "CARD_NOT_FOUND", "message": "gone"}]}),
        (400, {"errors": [{"code": "NOT_FOUND"}]}),
        (404, "a page"),
    ],
)
async def test_what_is_not_there_is_one_error_everywhere(call: str, status: int, body: Any) -> None:
    async with Server(then=answer(body, status=status)) as server, client_of(server) as client:
        with pytest.raises(errors.NotFound) as caught:
            await CALLS[call](client)
    assert caught.value.status == status


async def test_an_answer_behind_a_byte_order_mark_or_packed_is_read() -> None:
    good = b'{"data": {"id": "8u94t"}}'
    packed = answer(gzip.compress(good), Content_Encoding="gzip")
    async with Server(answer(b"\xef\xbb\xbf" + good), packed) as server, client_of(server) as client:
        assert (await CALLS["record"](client)).id == (await CALLS["update"](client)).id == "8u94t"


# Walks


@pytest.mark.parametrize("odd", [None, 5, "x", [], {}, {"id": True}, {"id": "b", "created_at": "soon"}])
async def test_an_item_that_cannot_be_read_costs_no_other_and_the_walk_goes_on(
    odd: Any, caplog: pytest.LogCaptureFixture
) -> None:
    first = answer({"data": [{"id": "a"}, odd, {"id": "c"}], "next_cursor": "n"})
    async with Server(first, answer({"data": [{"id": "d"}]})) as server, client_of(server) as client:
        accounts = client.ads.accounts.list()
        positions = [(account.id, accounts.position) async for account in accounts]
        assert positions == [("a", "1@a:"), ("c", "0:n"), ("d", "1@d:n")]
        assert (accounts.undecoded, accounts.partial_errors) == (1, 0)
    (record,) = caplog.records
    assert "items that cannot be read: data[1]" in record.getMessage()


async def test_a_position_behind_an_item_that_cannot_be_read_goes_on_with_the_next() -> None:
    page = answer({"data": [{"id": "a"}, {}, {"id": "c"}, {"id": "d"}]})
    async with Server(then=page) as server, client_of(server) as client:
        accounts = client.ads.accounts.list()
        async for account in accounts:
            if account.id == "c":
                break
        assert accounts.position == "3@c,a:"
        assert [each.id async for each in client.ads.accounts.list(start=accounts.position)] == ["d"]
        assert [each.id async for each in client.ads.accounts.list(start="3:")] == ["d"], "by the number alone"
        assert [each.id async for each in client.ads.accounts.list(start="2:")] == ["c", "d"]


async def test_pages_have_what_could_not_be_read_as_it_came() -> None:
    page = answer({"data": [{"id": "a"}, {"name": SECRET}], "errors": [{"code": 1}]})
    async with Server(then=page) as server, client_of(server) as client:
        accounts = client.ads.accounts.list()
        found = await accounts.first()
        (odd,) = found.undecoded
        assert (odd.raw, odd.path, odd.reason) == ({"name": SECRET}, "data[1].id", "is missing")
        assert SECRET not in repr(found)
        assert (accounts.undecoded, accounts.partial_errors, found.next_cursor) == (1, 1, None)


@pytest.mark.parametrize(
    "second",
    [
        answer({"errors": [{"code": 1, "message": "no more"}]}),
        answer(b"<html>"),
        answer(status=404),
        answer({"data": [], "errors": "many"}),
        answer({"data": [], "next_cursor": "n"}),
    ],
)
async def test_what_was_collected_before_an_error_is_on_the_error(second: bytes) -> None:
    first = answer({"data": [{"id": "a"}, {"id": SECRET}], "next_cursor": "n"})
    async with Server(first, second, answer({"data": [{"id": "z"}]})) as server, client_of(server) as client:
        with pytest.raises(errors.SocialApiError) as caught:
            await client.ads.accounts.list().collect()
        error = caught.value
        assert [account.id for account in error.collected] == ["a", SECRET]
        assert SECRET not in f"{error}{error!r}"
        assert pickle.loads(pickle.dumps(error)).collected == ()
        assert error.position is not None
        rest = await client.ads.accounts.list(start=error.position).collect()
        assert [account.id for account in rest] == ["z"]


# Named endpoints, whose answers the documentation does not show


@pytest.mark.parametrize(
    "body",
    [
        {"data": {"successful_kills": 2, "failed_kills": 1, "results": [{"uuid": "u-1", "success": True}, {"uuid": "u-2", "success": "true"}, {"uuid": "u-3", "success": False, "error_message": "gone"}]}},
        {"data": [{"ended_count": "2", "uuids": ["u-1", "u-2"]}]},
        {"data": {"connections": {"successful_kills": 2.0, "uuids": ["u-1", "u-2"]}}},
        {"ended_count": 2, "uuids": ["u-1", "u-2"]},
    ],
)  # fmt: skip
async def test_ended_connections_are_counted_in_every_published_shape(body: Any) -> None:
    async with Server(then=answer(body)) as server, client_of(server) as client:
        for ended in (
            await client.connections.end_all(),
            await client.connections.end("u-1"),
            await client.connections.end_endpoint("e"),
        ):
            assert (ended.ended_count, ended.uuids) == (2, ("u-1", "u-2"))
    failed = [each for each in ended.results if not each.success]
    assert [(each.uuid, each.error_message) for each in failed] == ([("u-3", "gone")] if ended.failed_kills else [])


NAMED_ONLY: Final[dict[str, Call]] = {
    "draft": lambda client: client.articles.draft("Huts", {"blocks": []}),
    "news story": lambda client: client.news.get("17"),
    "ended by UUID": lambda client: client.connections.end("u-1"),
    "ended by endpoint": lambda client: client.connections.end_endpoint("e"),
    "ended all": lambda client: client.connections.end_all(),
    "subscription": lambda client: client.activity.subscribe("post.create", user_id="17"),
}


@pytest.mark.parametrize("call", NAMED_ONLY)
@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ({"data": {"anything": 1}}, {"anything": 1}),
        ({"data": {"id": {"of": "no text"}, "results": 5, "filter": [1, 2], "ended_count": "many"}}, None),
        ({"data": {}}, {}),
        ({"data": [{"a": 1}, {"b": 2}]}, {"data": [{"a": 1}, {"b": 2}]}),
        ({"data": []}, {"data": []}),
        ({"anything": 1}, {"anything": 1}),
    ],
)
async def test_an_answer_that_is_not_documented_is_an_open_object(call: str, body: Any, kept: Any) -> None:
    async with Server(then=answer(body)) as server, client_of(server) as client:
        found = await NAMED_ONLY[call](client)
    if kept is None:
        (kept,) = body.values()
        assert kept.keys() <= found.extra.keys() | found.to_dict().keys()
    else:
        assert found.extra == kept
    assert len(server.requests) == 1


SUBSCRIPTION: Final = {"subscription_id": "1976", "event_type": "profile.update.bio", "filter": {"user_id": "7"}}


@pytest.mark.parametrize(
    "body",
    [
        {"data": SUBSCRIPTION},
        {"data": [SUBSCRIPTION], "meta": {"total_subscriptions": 1}},
        {"data": {"subscription": SUBSCRIPTION}},
        {"data": {"subscription": [SUBSCRIPTION | {"subscription_id": 1976}], "total": 1}},
        SUBSCRIPTION,
    ],
)
async def test_a_subscription_is_found_in_every_published_shape(body: Any) -> None:
    async with Server(then=answer(body)) as server, client_of(server) as client:
        made = await client.activity.subscribe("profile.update.bio", user_id="7")
    assert (made.subscription_id, made.event_type, made.filter) == ("1976", "profile.update.bio", {"user_id": "7"})
    if "meta" in body:
        assert made.extra == {"meta": {"total_subscriptions": 1}}, "nothing that arrived is lost"


async def test_rules_of_a_stream_may_stand_below_their_own_name() -> None:
    body = {"rules": [{"id": 1, "value": "cats", "tag": "c"}], "sent": "2026-01-31T09:00:00Z"}
    async with Server(then=answer(body)) as server, client_of(server) as client:
        (rule,) = await client.powerstream.rules().collect()
    assert (rule.id, rule.value, rule.tag) == ("1", "cats", "c")


# Reasons of webhooks


@pytest.mark.parametrize(
    "body",
    [
        {"title": "CrcValidationFailed"},
        {"title": "Bad Request", "detail": "The check failed (CrcValidationFailed)."},
        {"type": "https://problems.example/CrcValidationFailed", "title": "x"},
        {"code": 214, "message": "CrcValidationFailed: non-200 response"},
        {"errors": [{"code": "CrcValidationFailed"}]},
        {"errors": [{"message": "no"}, {"message": "CrcValidationFailed"}]},
        {"title": "Invalid Request", "errors": [{"message": "CrcValidationFailed", "parameters": {}}]},
        {"reason": "CrcValidationFailed"},
        {"errors": {"reason": "CrcValidationFailed"}},
        {"error": {"message": "CrcValidationFailed"}},
    ],
)
@pytest.mark.parametrize("status", [200, 400, 403, 422])
async def test_the_reason_of_a_webhook_is_found_wherever_an_answer_has_it(body: Any, status: int) -> None:
    if status == 200:
        body = {"errors": [body]}
    async with Server(then=answer(body, status=status)) as server, client_of(server) as client:
        with pytest.raises(errors.WebhookRejected) as caught:
            await client.webhooks.create("https://hooks.example/a")
    assert (caught.value.reason, caught.value.status) == ("CrcValidationFailed", status)


async def test_an_unknown_webhook_is_not_found_and_rejected_at_once() -> None:
    body = {"title": "WebhookIdInvalid", "detail": "The id is not known."}
    async with Server(then=answer(body, status=404)) as server, client_of(server) as client:
        with pytest.raises(errors.NotFound) as caught:
            await client.webhooks.delete("17")
    assert isinstance(caught.value, errors.WebhookRejected)
    assert caught.value.reason == "WebhookIdInvalid"
    assert type(pickle.loads(pickle.dumps(caught.value))) is errors.WebhookNotFound


@pytest.mark.parametrize(
    "url", ["http://hooks.example/a", "https://hooks.example:8443/a", "ftp://x", "hooks.example", ""]
)
async def test_an_address_that_is_refused_is_one_error_wherever_that_is_found(url: str) -> None:
    refused = answer({"title": "UrlValidationFailed", "detail": "not public"}, status=400)
    async with Server(then=refused) as server, client_of(server) as client:
        with pytest.raises(errors.WebhookUrlRejected) as here:
            await client.webhooks.create(url)
        assert server.requests == []
        with pytest.raises(errors.WebhookUrlRejected) as there:
            await client.webhooks.create("https://hooks.example/a")
    for error in (here.value, there.value):
        assert isinstance(error, errors.InvalidInput)
        assert isinstance(error, errors.WebhookRejected)
        assert error.reason == "UrlValidationFailed"
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), again.reason) == (type(error), str(error), error.reason)
    assert (here.value.status, there.value.status) == (0, 400)
    assert "url: must be" in str(here.value)


async def test_a_model_keeps_errors_beside_it_through_pickling_and_not_in_comparisons() -> None:
    async with Server(then=answer({"data": ITEM, "errors": PARTLY})) as server, client_of(server) as client:
        found = await client.ads.accounts.get("a")
    again = pickle.loads(pickle.dumps(found))
    assert again.partial_errors == found.partial_errors
    assert found == attrs.evolve(found)
    assert DIGEST not in repr(found)
