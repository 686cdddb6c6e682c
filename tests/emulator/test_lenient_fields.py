"""An emulator for programs that were written for the public API: what the documentation does not know is passed over."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from socialapi.emulator import Emulator
from tests.emulator.asking import Asker

PRODUCT = {
    "id": "hut-1",
    "title": "Hut",
    "description": "A hut.",
    "availability": "in stock",
    "condition": "new",
    "price": "10.00 EUR",
    "link": "https://northwind.example/hut",
    "image_link": "https://northwind.example/hut.jpg",
    "brand": "Northwind",
}


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with Emulator(lenient_fields=True) as emulator:
        yield emulator


@pytest.fixture
def lenient(emulator: Emulator, session: aiohttp.ClientSession) -> Asker:
    return Asker(emulator, session)


async def test_unknown_fields_and_expansions_are_dropped_and_known_ones_answered(lenient: Asker) -> None:
    query = {"tweet_fields": "author_id,note_tweet,source", "expansions": "author_id,article.media", "user_fields": "x"}
    reply = await lenient.get("/2/tweets", ids=lenient.emulator.seed["post_ids"][0], **query)
    assert (reply.status, set(reply.data[0])) == (200, {"id", "text", "author_id"})
    assert set(reply.json["includes"]["users"][0]) == {"id", "name", "username"}


async def test_unknown_parameters_are_passed_over(lenient: Asker) -> None:
    user = lenient.emulator.seed["user_ids"][0]
    reply = await lenient.get(f"/2/users/{user}/tweets", max_results=5, colour="red", trim_user="true")
    assert (reply.status, len(reply.data)) == (200, 5)
    page = await lenient.get(
        f"/2/users/{user}/tweets", max_results=5, pagination_token=reply.json["meta"]["next_token"]
    )
    assert page.status == 200, "a page token does not know them either"


async def test_unknown_fields_of_a_body_and_of_a_form_are_passed_over(lenient: Asker) -> None:
    posted = await lenient.signed("POST", "/2/webhooks/replay", json={"webhook_id": "1", "unheard_of": [1]})
    assert posted.status == 200
    path = f"/ads/12/accounts/{lenient.account}/line_items/{lenient.emulator.seed['line_item_ids'][0]}"
    changed = await lenient.signed("PUT", f"{path}?name=Huts&currency=USD&objective=REACH&id=7")
    assert (changed.status, changed.data["name"], changed.data["currency"]) == (200, "Huts", "EUR")
    rules = {"add": [{"value": "cats", "colour": "black"}], "verbose": True}
    made = await lenient.bearer("POST", "/2/tweets/search/stream/rules", json=rules)
    assert (made.status, made.data[0]["value"]) == (201, "cats")


async def test_what_is_known_and_wrong_is_refused_as_ever(lenient: Asker) -> None:
    assert (await lenient.get("/2/connections", max_results="many", colour="red")).at_fault == ["max_results"]
    assert (await lenient.get("/2/tweets")).at_fault == ["ids"]
    rules = {"add": [{"tag": "no value", "colour": "black"}]}
    assert (await lenient.bearer("POST", "/2/tweets/search/stream/rules", json=rules)).at_fault == ["add[0].value"]


async def test_a_body_of_unknown_fields_alone_is_one_without_any(lenient: Asker) -> None:
    reply = await lenient.bearer(
        "POST", "/2/tweets/search/stream/rules", json={"text": "x", "a b": 1, "a.b": [], "": {}}
    )
    assert (reply.status, reply.slug) == (400, "invalid-request")


async def test_unknown_fields_of_uploads_and_products_are_passed_over(lenient: Asker) -> None:
    users = [
        {"email": ["a" * 64], "twitter_id": 5, "x.email": 1, "e-mail address": []},
        {"partner_user_id": ["7"], "zip": [1]},
    ]
    told = {"operation_type": "Update", "source": "x", "params": {"users": users, "effective_for": "ever"}}
    reply = await lenient.upload([told])
    assert (reply.status, reply.json["data"]["success_count"]) == (200, 2)
    assert lenient.members() == {("email", "a" * 64), ("partner_user_id", "7")}
    catalog = lenient.emulator.seed["product_catalog_ids"][0]
    product = {**PRODUCT, "shipping": "DE::Standard:4.90 EUR"}
    reply = await lenient.signed("PUT", f"/ads/12/product_catalogs/{catalog}/products", json={"products": [product]})
    assert [each["status"] for each in reply.data["products_response"]] == ["CREATE_SUCCESS"]
