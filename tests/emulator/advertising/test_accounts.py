"""Accounts, apps and features, and what only the sandbox can (section 4.2)."""

from typing import Any

from socialapi.emulator.clock import timestamp
from tests.emulator.advertising.asking_ads import Ads, broken, missing
from tests.emulator.asking import Asker, Reply

ACCOUNTS = "/ads/12/accounts"
SANDBOX = "/ads-sandbox/12/accounts"
LISTED = {
    *("id", "name", "business_name", "business_id", "timezone", "timezone_switch_at", "approval_status"),
    *("created_at", "updated_at", "deleted"),
}


async def accounts(ads: Ads, **query: str) -> list[str]:
    reply = await ads.send("GET", ACCOUNTS, query)
    assert reply.status == 200
    return [each["id"] for each in reply.data]


async def created(ads: Ads) -> Ads:
    """A client of a new test account."""
    reply = await ads.send("POST", SANDBOX)
    assert reply.status == 200
    return Ads(ads.ask, account=reply.data["id"])


async def sandbox(ads: Ads, method: Any, rest: str = "", **query: str) -> Reply:
    return await ads.send(method, ads.path(rest, host="ads-sandbox"), query)


async def test_the_accounts_of_the_user_are_listed_without_their_industry(ads: Ads, ask: Asker) -> None:
    reply = await ads.send("GET", ACCOUNTS)
    assert [each["id"] for each in reply.data] == list(ask.emulator.seed["account_ids"])
    assert all(set(each) == LISTED for each in reply.data)
    assert {each["approval_status"] for each in reply.data} == {"ACCEPTED"}


async def test_of_the_ids_asked_for_the_users_own_are_listed(ads: Ads, ask: Asker) -> None:
    first, second = ask.emulator.seed["account_ids"]
    other = ask.emulator.seed["unassociated_account_ids"][0]
    assert await accounts(ads, account_ids=f"nosuch,{other},{second}") == [second]
    assert await accounts(ads, account_ids=f"{second},{first}") == [first, second]
    assert await accounts(ads, account_ids=other) == []
    assert await accounts(ads, account_ids=",".join([first] * 200)) == [first]
    reply = await ads.send("GET", ACCOUNTS, {"account_ids": ",".join([first] * 201)})
    assert broken(reply) == [("INVALID_PARAMETER", "account_ids")]
    assert broken(await ads.send("GET", ACCOUNTS, {"account_ids": ""})) == [("INVALID_PARAMETER", "account_ids")]


async def test_q_is_the_beginning_of_the_name_in_any_case(ads: Ads, ask: Asker) -> None:
    first, second = ask.emulator.seed["account_ids"]
    assert await accounts(ads, q="nOrThWiNd") == [first, second]
    assert await accounts(ads, q="northwind h") == [second]
    assert await accounts(ads, q="Home") == []


async def test_a_single_account_has_its_industry(ads: Ads) -> None:
    reply = await ads.get("")
    assert set(reply.data) == LISTED | {"industry_type"}
    assert reply.json["request"]["params"] == {"account_id": ads.ask.account}
    assert "next_cursor" not in reply.json


async def test_an_account_is_given_another_name_and_industry(ads: Ads) -> None:
    ads.ask.emulator.advance(3_600)
    reply = await ads.put("", name="Northwind Trails", industry_type="TRAVEL")
    assert (reply.data["name"], reply.data["industry_type"]) == ("Northwind Trails", "TRAVEL")
    assert reply.data["updated_at"] == timestamp(ads.ask.emulator.state.clock.now())
    assert (await ads.get("")).data == reply.data
    assert broken(await ads.put("", industry_type="SPACE", timezone="UTC")) == [
        ("INVALID_PARAMETER", "industry_type"),
        ("INVALID_PARAMETER", "timezone"),
    ]


async def test_what_the_sandbox_does_is_not_there_on_the_normal_host(ads: Ads) -> None:
    for method, path, allowed in (
        ("POST", ACCOUNTS, "GET"),
        ("DELETE", ads.path(""), "GET, PUT"),
        ("POST", ads.path("/features"), "GET"),
    ):
        reply = await ads.send(method, path)  # type: ignore[arg-type]  # known methods
        assert (reply.status, sorted(reply.headers["Allow"].split(", "))) == (405, allowed.split(", "))


def missing_account(reply: Reply) -> bool:
    return missing(reply) == ["account_id"]


async def test_a_real_account_cannot_be_touched_in_the_sandbox(ads: Ads) -> None:
    assert missing_account(await sandbox(ads, "DELETE"))
    assert missing_account(await sandbox(ads, "POST", "/features", feature_keys="REACH_FREQUENCY_CAP"))
    other = Ads(ads.ask, account=ads.ask.emulator.seed["unassociated_account_ids"][0])
    assert (await sandbox(other, "DELETE")).status == 403
    assert (await ads.get("")).data["deleted"] is False


async def test_only_the_features_of_the_account_are_listed(ads: Ads) -> None:
    reply = await ads.get("/features")
    assert reply.data == ["REACH_AND_FREQUENCY_ANALYTICS", "REACH_FREQUENCY_CAP", "PROMOTED_MEDIA_POLLS"]
    assert "next_cursor" not in reply.json
    reply = await ads.get("/features", feature_keys="REACH_FREQUENCY_CAP,WEBSITE_CLICKS_CPM_BILLING")
    assert reply.data == ["REACH_FREQUENCY_CAP"]
    assert reply.json["request"]["params"]["feature_keys"] == ["REACH_FREQUENCY_CAP", "WEBSITE_CLICKS_CPM_BILLING"]
    assert broken(await ads.get("/features", feature_keys="NO_SUCH")) == [("INVALID_PARAMETER", "feature_keys")]


async def test_features_are_added_to_a_test_account(ads: Ads) -> None:
    made = await created(ads)
    assert (await made.get("/features")).data == []
    assert broken(await sandbox(made, "POST", "/features")) == [("MISSING_PARAMETER", "feature_keys")]
    assert broken(await sandbox(made, "POST", "/features", feature_keys="")) == [("INVALID_PARAMETER", "feature_keys")]
    assert broken(await sandbox(made, "POST", "/features", feature_keys="OK,,x")) == [
        ("INVALID_PARAMETER", "feature_keys")
    ]
    reply = await sandbox(made, "POST", "/features", feature_keys="REACH_FREQUENCY_CAP,PROMOTED_MEDIA_POLLS")
    assert reply.data == ["REACH_FREQUENCY_CAP", "PROMOTED_MEDIA_POLLS"]
    reply = await made.ask.signed(
        "POST", made.path("/features", host="ads-sandbox") + "?feature_keys=REACH_FREQUENCY_CAP"
    )
    assert reply.data == ["REACH_FREQUENCY_CAP", "PROMOTED_MEDIA_POLLS"]
    assert (await made.get("/features")).data == reply.data
