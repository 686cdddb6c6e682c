"""Sharing audiences, and what targets them (sections 4.7 and 4.8)."""

import itertools
from typing import Any

import pytest

from socialapi.emulator.advertising.line_items import target
from socialapi.emulator.responses import Refusal
from tests.emulator.advertising.asking_ads import Ads, broken, missing
from tests.emulator.asking import Asker, Reply

AUDIENCE = "1nmth"
BOOKS = "18ce55a9q0m"


def permissions(ads: Ads, rest: str = "", audience: str = AUDIENCE) -> str:
    return ads.path(f"/tailored_audiences/{audience}/permissions{rest}", version="5")


async def grant(ads: Ads, account: str, level: str = "READ_ONLY", audience: str = AUDIENCE) -> Reply:
    query = {"granted_account_id": account, "permission_level": level}
    return await ads.send("POST", permissions(ads, audience=audience), query)


@pytest.fixture
def second(ask: Asker) -> Ads:
    return Ads(ask, account=ask.emulator.seed["account_ids"][1])


async def test_there_is_no_permission_at_first(ads: Ads) -> None:
    reply = await ads.send("GET", permissions(ads), {"with_total_count": "true"})
    assert (reply.data, reply.json["next_cursor"], reply.json["total_count"]) == ([], None, 0)


@pytest.mark.parametrize("level", ["READ_ONLY", "READ_WRITE"])
async def test_an_account_of_the_same_business_is_granted_the_audience_once(ads: Ads, second: Ads, level: str) -> None:
    reply = await grant(ads, second.account, level)
    assert reply.status == 200
    assert set(reply.data) == {
        *("id", "tailored_audience_id", "granted_account_id", "permission_level"),
        *("created_at", "updated_at", "deleted"),
    }
    assert (reply.data["tailored_audience_id"], reply.data["granted_account_id"]) == (AUDIENCE, second.account)
    assert reply.data["permission_level"] == level
    assert (await ads.send("GET", permissions(ads))).data == [reply.data]
    assert broken(await grant(ads, second.account)) == [("INVALID_PARAMETER", "granted_account_id")]


async def test_what_cannot_be_granted(ads: Ads, second: Ads) -> None:
    assert broken(await grant(ads, second.account, "WRITE")) == [("INVALID_PARAMETER", "permission_level")]
    assert broken(await ads.send("POST", permissions(ads))) == [
        ("MISSING_PARAMETER", "granted_account_id"),
        ("MISSING_PARAMETER", "permission_level"),
    ]
    assert broken(await grant(ads, ads.ask.account)) == [("INVALID_PARAMETER", "granted_account_id")]
    assert missing(await grant(ads, "nosuch")) == ["granted_account_id"]
    assert missing(await grant(ads, second.account, audience="nosuch")) == ["tailored_audience_id"]


async def test_only_the_owner_grants_and_revokes(ads: Ads, second: Ads) -> None:
    reply = await grant(second, BOOKS)
    assert (reply.status, reply.json["errors"][0]["parameter"]) == (403, "tailored_audience_id")
    made = (await grant(ads, second.account)).data["id"]
    assert (await second.send("DELETE", permissions(second, f"/{made}"))).status == 403
    assert (await ads.send("DELETE", permissions(ads, f"/{made}"))).status == 200


async def test_another_business_needs_the_feature_of_the_owner(ads: Ads) -> None:
    reply = await grant(ads, BOOKS)
    assert (reply.status, reply.json["errors"][0]["parameter"]) == (403, "granted_account_id")
    accounts = ads.ask.emulator.state.advertising.accounts
    owner, other = accounts.get(ads.ask.account), accounts.get(BOOKS)
    assert owner is not None
    assert other is not None
    accounts.change(other, features=["SHARE_AUDIENCE_OUTSIDE_BUSINESS"])
    assert (await grant(ads, BOOKS)).status == 403
    accounts.change(owner, features=["SHARE_AUDIENCE_OUTSIDE_BUSINESS"])
    assert (await grant(ads, BOOKS)).status == 200


async def test_the_control_plane_gives_an_ordinary_account_the_feature_to_share(ads: Ads) -> None:
    path = f"accounts/{ads.ask.account}/features"
    given = await ads.ask.control("POST", path, {"features": ["SHARE_AUDIENCE_OUTSIDE_BUSINESS"] * 2})
    assert given.json == {"features": ["SHARE_AUDIENCE_OUTSIDE_BUSINESS"]}
    assert (await grant(ads, BOOKS)).status == 200
    assert (await ads.ask.control("POST", path, {"features": ["no capitals"]})).status == 400
    assert (await ads.ask.control("POST", path, {})).status == 400
    assert (await ads.ask.control("POST", "accounts/none/features", {"features": []})).status == 404


async def test_a_permission_is_revoked_once_and_granted_anew(ads: Ads, second: Ads) -> None:
    made = (await grant(ads, second.account)).data["id"]
    reply = await ads.send("DELETE", permissions(ads, f"/{made}"))
    assert (reply.status, reply.data["id"], reply.data["deleted"]) == (200, made, True)
    assert missing(await ads.send("DELETE", permissions(ads, f"/{made}"))) == ["tailored_audience_permission_id"]
    assert (await ads.send("GET", permissions(ads))).data == []
    again = await grant(ads, second.account)
    assert (again.status, again.data["id"] != made) == (200, True)
    # Of another audience of the same account it is not found either.
    path = permissions(ads, f"/{again.data['id']}", "1nmti")
    assert missing(await ads.send("DELETE", path)) == ["tailored_audience_permission_id"]


async def test_permissions_are_filtered_sorted_and_paged(ads: Ads) -> None:
    made = []
    for _ in range(3):
        account = (await ads.send("POST", "/ads-sandbox/12/accounts")).data["id"]
        made.append(account)
    owner = ads.ask.emulator.state.advertising.accounts.get(ads.ask.account)
    assert owner is not None
    ads.ask.emulator.state.advertising.accounts.change(owner, features=["SHARE_AUDIENCE_OUTSIDE_BUSINESS"])
    ids = [
        (await grant(ads, account, level)).data["id"]
        for account, level in zip(made, ["READ_WRITE", "READ_ONLY", "READ_ONLY"], strict=True)
    ]

    async def listed(**query: Any) -> list[str]:
        reply = await ads.send("GET", permissions(ads), query)
        assert reply.status == 200, reply.text
        return [each["id"] for each in reply.data]

    assert await listed() == ids
    assert await listed(granted_account_ids=f"{made[2]},{made[0]},nosuch") == [ids[0], ids[2]]
    assert await listed(tailored_audience_permission_ids=ids[1]) == [ids[1]]
    assert await listed(granted_account_ids=made[0], tailored_audience_permission_ids=ids[1]) == []
    assert await listed(sort_by="permission_level-asc") == [ids[1], ids[2], ids[0]]
    reply = await ads.send("GET", permissions(ads), {"count": "2", "with_total_count": "true"})
    assert reply.json["total_count"] == 3
    assert await listed(count=2, cursor=reply.json["next_cursor"]) == ids[2:]
    for name in ("granted_account_ids", "tailored_audience_permission_ids"):
        assert await listed(**{name: ",".join(["x"] * 200)}) == []
        reply = await ads.send("GET", permissions(ads), {name: ",".join(["x"] * 201)})
        assert broken(reply) == [("INVALID_PARAMETER", name)]
    reply = await ads.send("GET", permissions(ads), {"with_deleted": "true"})
    assert broken(reply) == [("INVALID_PARAMETER", "with_deleted")]


async def test_the_granted_account_sees_its_own_permission_while_it_has_one(ads: Ads, second: Ads) -> None:
    assert missing(await second.send("GET", permissions(second))) == ["tailored_audience_id"]
    made = (await grant(ads, second.account)).data
    assert (await second.send("GET", permissions(second))).data == [made]
    await ads.send("DELETE", permissions(ads, f"/{made['id']}"))
    assert missing(await second.send("GET", permissions(second))) == ["tailored_audience_id"]


def targeted(audience: str = AUDIENCE) -> str:
    return f"/custom_audiences/{audience}/targeted"


async def all_targeted(ads: Ads, **query: str) -> list[list[Any]]:
    pages: list[list[Any]] = []
    while True:
        reply = await ads.get(targeted(), **query)
        pages.append(reply.data)
        if reply.json["next_cursor"] is None:
            return pages
        query["cursor"] = reply.json["next_cursor"]


async def test_campaigns_that_target_an_audience_come_200_a_page(ads: Ads) -> None:
    pages = await all_targeted(ads)
    assert list(map(len, pages)) == [200, 7]
    listed = list(itertools.chain(*pages))
    assert len({each["campaign_id"] for each in listed}) == 207
    assert all(set(each) == {"campaign_id", "campaign_name", "line_items"} for each in listed)
    line_items = list(itertools.chain(*(each["line_items"] for each in listed)))
    assert all(set(each) == {"id", "name", "servable"} and each["servable"] is True for each in line_items)
    assert [len(each["line_items"]) for each in listed[:4]] == [2, 1, 1, 2]


async def test_what_cannot_be_served_is_listed_when_asked_for(ads: Ads) -> None:
    assert list(map(len, await all_targeted(ads, with_active="false"))) == [200, 30]
    reply = await ads.get(targeted("1nmti"))
    assert [(each["campaign_id"], [item["id"] for item in each["line_items"]]) for each in reply.data] == [
        ("8wku2", ["8xdpe"]),
        ("8wkud", ["8xdpp"]),
    ]
    reply = await ads.get(targeted("1nmti"), with_active="false")
    assert [(item["id"], item["servable"]) for each in reply.data for item in each["line_items"]] == [
        ("8xdpe", True),
        ("8xdpp", True),
        ("8xdpq", False),
    ]
    assert reply.json["request"]["params"]["with_active"] is False
    assert (await ads.get(targeted("1nmtj"))).data == []


async def test_pausing_and_deleting_line_items_shows(ads: Ads) -> None:
    await ads.put("/line_items/8xdpp", entity_status="PAUSED")
    await ads.delete("/line_items/8xdpe")
    assert (await ads.get(targeted("1nmti"))).data == []
    reply = await ads.get(targeted("1nmti"), with_active="false")
    assert [item["id"] for each in reply.data for item in each["line_items"]] == ["8xdpp", "8xdpq"]


async def test_an_audience_of_others_is_not_found(ads: Ads, second: Ads) -> None:
    assert missing(await second.get(targeted())) == ["custom_audience_id"]
    assert missing(await ads.get(targeted("nosuch"))) == ["custom_audience_id"]


async def test_campaigns_that_run_go_on_after_a_permission_is_revoked(ads: Ads, second: Ads) -> None:
    state = ads.ask.emulator.state
    with pytest.raises(Refusal):
        target(state, second.account, "8xg1a", AUDIENCE)
    made = (await grant(ads, second.account)).data["id"]
    assert (await second.get(targeted())).data == []
    target(state, second.account, "8xg1a", AUDIENCE)
    running = (await second.get(targeted())).data
    assert [each["campaign_id"] for each in running] == ["8x0a1"]
    await ads.send("DELETE", permissions(ads, f"/{made}"))
    assert (await second.get(targeted())).data == running
    with pytest.raises(Refusal):
        target(state, second.account, "8xg1c", AUDIENCE)
