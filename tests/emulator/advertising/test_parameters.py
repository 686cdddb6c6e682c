"""What parameters may look like, wherever they travel, and what is said about those that are wrong."""

from typing import Any

import pytest
from oauthlib.oauth1 import Client

from tests.emulator.advertising.asking_ads import FORM, Ads, broken
from tests.emulator.asking import Asker

LINE_ITEM = "/line_items/8xdpe"
PAIRS = "/line_item_curated_categories"


async def test_the_echo_has_the_path_and_the_query_as_typed_values(ads: Ads) -> None:
    reply = await ads.send(
        "GET",
        "/ads/12/accounts",
        {
            "account_ids": f"{ads.ask.account},nosuch",
            "count": "7",
            "with_deleted": "TRUE",
            "q": "5",
            "sort_by": "id-asc",
        },
    )
    assert reply.json["request"] == {
        "params": {
            "account_ids": [ads.ask.account, "nosuch"],
            "count": 7,
            "with_deleted": True,
            "q": "5",
            "sort_by": "id-asc",
        }
    }
    assert set(reply.json) == {"request", "data", "next_cursor"}


async def test_an_empty_text_is_null_where_null_is_taken(ads: Ads) -> None:
    reply = await ads.put(LINE_ITEM, end_time="", total_budget_amount_local_micro="", categories="")
    assert (reply.status, reply.data["end_time"], reply.data["total_budget_amount_local_micro"]) == (200, None, None)
    assert reply.json["request"]["params"]["end_time"] is None
    assert broken(await ads.put(LINE_ITEM, start_time="", bid_strategy="")) == [
        ("INVALID_PARAMETER", "start_time"),
        ("INVALID_PARAMETER", "bid_strategy"),
    ]


async def test_a_form_is_as_good_as_the_query_and_both_go_together(ads: Ads) -> None:
    reply = await ads.form("PUT", ads.path(LINE_ITEM), {"name": "From a form", "bid_amount_local_micro": "5500000"})
    assert (reply.status, reply.data["name"], reply.data["bid_amount_local_micro"]) == (200, "From a form", 5_500_000)
    assert reply.json["request"]["params"]["name"] == "From a form"
    reply = await ads.form("PUT", ads.path(LINE_ITEM) + "?entity_status=PAUSED", {"name": "Both"})
    assert (reply.data["name"], reply.data["entity_status"]) == ("Both", "PAUSED")


async def test_a_parameter_given_twice_is_refused_wherever_it_stands(ads: Ads) -> None:
    twice = [("INVALID_PARAMETER", "name")]
    assert broken(await ads.send("PUT", ads.path(LINE_ITEM), [("name", "a"), ("name", "a")])) == twice
    assert broken(await ads.form("PUT", ads.path(LINE_ITEM) + "?name=a", {"name": "a"})) == twice
    assert broken(await ads.send("GET", ads.path(PAIRS), [("count", "1"), ("count", "1")]))[0][1] == "count"


async def test_other_bodies_are_refused_rather_than_not_read(ads: Ads) -> None:
    for method, path in (("PUT", ads.path(LINE_ITEM)), ("POST", "/ads-sandbox/12/accounts"), ("GET", ads.path(PAIRS))):
        reply = await ads.ask.signed(method, path, json={"name": "x"})  # type: ignore[arg-type]  # known methods
        assert (reply.status, reply.codes) == (415, ["UNSUPPORTED_MEDIA_TYPE"])


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("", {"with_total_count": "true"}),
        ("/features", {"count": "1"}),
        ("/curated_categories", {"with_total_count": "true"}),
        ("/curated_categories/cc0000", {"with_deleted": "true"}),
        ("/custom_audiences/1nmth/targeted", {"count": "10"}),
    ],
)
async def test_parameters_that_an_endpoint_does_not_take_are_refused(
    ads: Ads, path: str, query: dict[str, Any]
) -> None:
    assert broken(await ads.get(path, **query)) == [("INVALID_PARAMETER", next(iter(query)))]


async def test_only_users_may_ask_and_about_their_own_accounts(ads: Ads, ask: Asker) -> None:
    for path in ("/ads/12/accounts", "/ads/12/advertiser_business_categories", ads.path(""), ads.path("/features")):
        assert (await ask.bearer("GET", path)).status == 403
        assert (await ask.send("GET", path)).status == 401
    other = ask.emulator.seed["unassociated_account_ids"][0]
    for rest in ("", "/features", "/account_apps", PAIRS):
        reply = await Ads(ask, account=other).get(rest)
        assert (reply.status, reply.json["errors"][0]["parameter"]) == (403, "account_id")
        reply = await Ads(ask, account="nosuch").get(rest)
        assert (reply.status, reply.json["errors"][0]["parameter"]) == (404, "account_id")


async def test_a_token_for_reading_cannot_write(ads: Ads, ask: Asker) -> None:
    state = ask.emulator.state
    app = next(iter(state.apps.values()))
    token = state.new_access_token(app, state.users[ask.emulator.seed["user_ids"][0]], "read")
    reader = Ads(ask, Client(app.api_key, app.api_key_secret, token.token, token.secret))
    assert (await reader.get("")).status == 200
    assert (await reader.put("", name="x")).status == 403


async def test_a_path_parameter_cannot_be_given_in_the_query(ads: Ads) -> None:
    reply = await ads.get("/features", account_id="other")
    assert broken(reply) == [("INVALID_PARAMETER", "account_id")]
    assert reply.json["request"]["params"]["account_id"] == ads.ask.account


async def test_a_form_beyond_the_limit_of_bodies_is_refused(ads: Ads) -> None:
    reply = await ads.ask.signed(
        "PUT", ads.path(LINE_ITEM), headers={"Content-Type": FORM}, data=b"name=" + b"x" * 1_048_572
    )
    assert (reply.status, reply.codes) == (400, ["INVALID_PARAMETER"])
    assert "1,048,576 bytes" in reply.text
