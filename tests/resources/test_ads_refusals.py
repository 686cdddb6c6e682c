"""What the advertising API refuses: the same here and there (section 7)."""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlencode

import pytest

from socialapi import Client, errors
from socialapi.emulator import Emulator
from tests.emulator.asking import Asker

FIRST = "18ce54d4x5t"
ACCOUNT = f"/12/accounts/{FIRST}"
PERMISSIONS = f"/5/accounts/{FIRST}/tailored_audiences/1nmth/permissions"
HISTORY = {
    "entity_type": "CAMPAIGN",
    "entity_id": "8wku2",
    "start_time": "2025-01-06T00:00:00Z",
    "end_time": "2025-01-07T00:00:00Z",
}
INSIGHTS = {
    "granularity": "DAY",
    "keywords": ("ski",),
    "start_time": "2025-01-06T00:00:00Z",
    "end_time": "2025-01-07T00:00:00Z",
}

Call = Callable[[Client, dict[str, Any]], Awaitable[Any]]
CALLS: dict[str, tuple[str, str, dict[str, Any], Call]] = {
    "accounts": ("GET", "/12/accounts", {}, lambda c, q: c.ads.accounts.list(**q).first()),
    "account": ("PUT", ACCOUNT, {}, lambda c, q: c.ads.accounts.update(FIRST, **q)),
    "apps": ("GET", f"{ACCOUNT}/account_apps", {}, lambda c, q: c.ads.account(FIRST).apps(**q).first()),
    "history": (
        "GET",
        f"{ACCOUNT}/account_history",
        HISTORY,
        lambda c, q: c.ads.account(FIRST).history(**q).first(),
    ),
    "features": ("GET", f"{ACCOUNT}/features", {}, lambda c, q: c.ads.account(FIRST).features(**q)),
    "curated": (
        "GET",
        f"{ACCOUNT}/curated_categories",
        {},
        lambda c, q: c.ads.account(FIRST).curated_categories.list(**q).first(),
    ),
    "pairs": (
        "GET",
        f"{ACCOUNT}/line_item_curated_categories",
        {},
        lambda c, q: c.ads.account(FIRST).line_item_curated_categories.list(**q).first(),
    ),
    "line item": (
        "PUT",
        f"{ACCOUNT}/line_items/8xdpf",
        {},
        lambda c, q: c.ads.account(FIRST).line_items.update("8xdpf", **q),
    ),
    "insights": ("GET", "/12/insights/keywords/search", INSIGHTS, lambda c, q: c.ads.keyword_insights(**q)),
    "permissions": (
        "GET",
        PERMISSIONS,
        {},
        lambda c, q: c.ads.account(FIRST).tailored_audience("1nmth").permissions.list(**q).first(),
    ),
}
IDS = tuple(f"x{number}" for number in range(201))
LARGEST = 9_223_372_036_854_775_807
BID, TOTAL, DAILY = "bid_amount_local_micro", "total_budget_amount_local_micro", "daily_budget_amount_local_micro"

EDGES: list[tuple[str, str, list[Any], list[Any]]] = [
    ("accounts", "count", [1, 1_000], [0, 1_001]),
    ("accounts", "account_ids", [IDS[:1], IDS[:200]], [("",)]),
    ("accounts", "sort_by", ["created_at-asc", "created_at-desc"], ["created_at", "created_at-up"]),
    ("account", "industry_type", ["AGENCY", "OTHER"], ["SPACE"]),
    ("apps", "count", [1, 1_000], [0, 1_001]),
    ("history", "count", [1, 1_000], [0, 1_001]),
    ("history", "entity_type", ["CAMPAIGN"], ["AD"]),
    ("history", "start_time", ["2025-01-06T23:00:00Z"], ["2025-01-06T22:59:59Z", "2025-01-07T00:00:00Z"]),
    ("history", "end_time", ["2025-01-06T01:00:00Z"], ["2025-01-06T01:00:01Z", "2025-01-06T00:00:00Z"]),
    ("history", "user_id", ["1", str(LARGEST)], [str(LARGEST + 1), "-1"]),
    ("features", "feature_keys", [("REACH_FREQUENCY_CAP",)], [("MAGIC",)]),
    ("curated", "count", [1, 1_000], [0, 1_001]),
    ("curated", "country_codes", [("US",)], [("USA",)]),
    ("pairs", "count", [1, 1_000], [0, 1_001]),
    ("line item", BID, [1, LARGEST], [0, -1, LARGEST + 1]),
    ("line item", TOTAL, [25_000_000, LARGEST], [-1, LARGEST + 1]),
    ("line item", DAILY, [5_000_000_000, 0], [-1, LARGEST + 1]),
    ("line item", "frequency_cap", [1], [0, -1]),
    ("line item", "name", ["n"], [""]),
    ("account", "name", ["n"], [""]),
    ("line item", "categories", [("IAB1", "IAB2")], [("IAB1", ""), ("IAB 1",)]),
    ("line item", "duration_in_days", [1, 7, 30], [0, 2, 31]),
    ("line item", "entity_status", ["ACTIVE", "PAUSED"], ["DELETED"]),
    ("line item", "audience_expansion", ["BROAD", "DEFINED", "EXPANDED"], ["WIDE"]),
    ("line item", "goal", ["APP_CLICKS", "WEBSITE_CONVERSIONS"], ["PEACE"]),
    ("line item", "advertiser_domain", ["example.com"], ["https://example.com", "bücher.example"]),
    ("insights", "granularity", ["DAY", "HOUR"], ["WEEK"]),
    ("insights", "keywords", [("k",), IDS[:10]], [IDS[:11], ("",)]),
    ("insights", "negative_keywords", [IDS[:9]], [IDS[:10]]),
    ("insights", "end_time", ["2025-01-13T00:00:00Z"], ["2025-01-13T00:00:01Z", "2025-01-06T00:00:00Z"]),
    ("permissions", "count", [1, 1_000], [0, 1_001]),
    ("permissions", "granted_account_ids", [IDS[:1], IDS[:200]], []),
    ("permissions", "tailored_audience_permission_ids", [IDS[:1], IDS[:200]], []),
]


def texts(query: dict[str, Any]) -> str:
    return urlencode({name: ",".join(value) if isinstance(value, tuple) else value for name, value in query.items()})


@pytest.mark.parametrize(("name", "parameter", "within", "beyond"), EDGES)
async def test_every_bound_holds_on_both_sides(
    client: Client, service: Emulator, raw: Asker, name: str, parameter: str, within: list[Any], beyond: list[Any]
) -> None:
    method, path, given, call = CALLS[name]
    for value in within:
        query = given | {parameter: value}
        await call(client, query)
        reply = await raw.signed(method, f"/ads{path}?{texts(query)}")  # type: ignore[arg-type]  # known methods
        assert reply.status == 200, reply.text
    asked = len(service.requests)
    for value in beyond:
        with pytest.raises(errors.InvalidInput):
            await call(client, given | {parameter: value})
    assert len(service.requests) == asked, "nothing is sent"
    for value in beyond:
        reply = await raw.signed(method, f"/ads{path}?{texts(given | {parameter: value})}")  # type: ignore[arg-type]  # as above
        assert reply.status == 400, reply.text
        # Too many negative keywords are said of the keywords: it is about both.
        assert {each["parameter"] for each in reply.json["errors"]} <= {parameter, "keywords", "end_time"}


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("accounts", "account_ids"),
        ("permissions", "granted_account_ids"),
        ("permissions", "tailored_audience_permission_ids"),
    ],
)
async def test_201_ids_are_too_many_for_the_service_and_not_for_the_sdk(
    client: Client, raw: Asker, name: str, parameter: str
) -> None:
    method, path, _, call = CALLS[name]
    reply = await raw.signed(method, f"/ads{path}?{texts({parameter: IDS})}")  # type: ignore[arg-type]  # as above
    assert (reply.status, reply.codes) == (400, ["INVALID_PARAMETER"])
    await call(client, {parameter: IDS})


# The forms of errors


async def test_an_error_names_the_parameter_and_all_of_them_are_there(client: Client) -> None:
    reply = client.request("GET", f"{ACCOUNT}/account_apps", params={"count": 0, "nonsense": 1}, api="ads")
    with pytest.raises(errors.ApiError) as caught:
        await reply
    assert caught.value.status == 400
    assert [(each.code, each.parameter) for each in caught.value.errors] == [
        ("INVALID_PARAMETER", "count"),
        ("INVALID_PARAMETER", "nonsense"),
    ]
