"""Product catalogs: one a user, nobody else's (section 4.6)."""

import pytest

from tests.emulator.advertising.asking_ads import Ads, broken, missing
from tests.emulator.asking import Asker
from tests.emulator.catalogs.asking_catalogs import CATALOGS, Catalogs, product


async def test_a_user_has_the_catalog_of_the_seed_data(catalogs: Catalogs) -> None:
    reply = await catalogs.send("GET", CATALOGS)
    assert reply.json == {
        "request": {"params": {}},
        "data": [{"id": catalogs.id, "name": "Northwind Outdoor shop"}],
        "next_cursor": None,
    }
    user_id = catalogs.ask.emulator.seed["user_ids"][0]
    for same in (user_id, f"00{user_id}"):
        assert (await catalogs.send("GET", CATALOGS, user_id=same)).data == reply.data


async def test_catalogs_of_other_users_are_not_shown(catalogs: Catalogs) -> None:
    for user_id in (catalogs.ask.emulator.seed["user_ids"][1], "99"):
        reply = await catalogs.send("GET", CATALOGS, user_id=user_id)
        assert (reply.status, reply.codes) == (403, ["FORBIDDEN"])
        assert (await catalogs.send("POST", CATALOGS, name="Mine", user_id=user_id)).status == 403
    for wrong in ("x", "", "-1", "1" * 20):
        assert broken(await catalogs.send("GET", CATALOGS, user_id=wrong)) == [("INVALID_PARAMETER", "user_id")]
    assert broken(await catalogs.send("GET", CATALOGS, cursor="x")) == [("INVALID_PARAMETER", "cursor")]
    assert broken(await catalogs.send("GET", CATALOGS, count="5")) == [("INVALID_PARAMETER", "count")]


async def test_a_user_makes_one_catalog(ask: Asker) -> None:
    user_id = ask.emulator.seed["user_ids"][1]
    other = Catalogs(ask, await ask.as_user(user_id))
    assert (await other.send("GET", CATALOGS)).data == []
    assert broken(await other.send("POST", CATALOGS)) == [("MISSING_PARAMETER", "name")]
    assert broken(await other.send("POST", CATALOGS, name="")) == [("INVALID_PARAMETER", "name")]
    made = await other.send("POST", CATALOGS, name="Books", user_id=user_id)
    assert (made.status, set(made.data), made.data["name"]) == (200, {"id", "name"}, "Books")
    assert (await other.send("GET", CATALOGS)).data == [made.data]
    again = await other.send("POST", CATALOGS, name="More books")
    assert broken(again) == [("INVALID_PARAMETER", "name")]
    again = await other.send("POST", CATALOGS, name="More books", user_id=user_id)
    assert broken(again) == [("INVALID_PARAMETER", "user_id")]


async def test_a_catalog_is_renamed(catalogs: Catalogs) -> None:
    path = f"{CATALOGS}/{catalogs.id}"
    reply = await catalogs.send("PUT", path, name="Everything")
    assert reply.data == {"id": catalogs.id, "name": "Everything"}
    assert (await catalogs.send("GET", CATALOGS)).data == [reply.data]
    reply = await Ads(catalogs.ask).form("PUT", path, {"name": "In a form"})
    assert reply.data["name"] == "In a form"
    assert broken(await catalogs.send("PUT", path)) == [("MISSING_PARAMETER", "name")]


async def test_a_deleted_catalog_is_gone_with_all_that_was_in_it(catalogs: Catalogs) -> None:
    gone = catalogs.id
    set_id = catalogs.ask.emulator.seed["product_set_ids"][0]
    path = f"{CATALOGS}/{gone}"
    reply = await catalogs.send("DELETE", path)
    assert reply.data == {"id": gone, "name": "Northwind Outdoor shop", "deleted": True}
    assert (await catalogs.send("GET", CATALOGS)).data == []
    for method, rest in (("DELETE", ""), ("PUT", "?name=x"), ("GET", "/products"), ("GET", f"/product_sets/{set_id}")):
        reply = await catalogs.ask.signed(method, path + rest)  # type: ignore[arg-type]  # one of those
        assert missing(reply) == ["product_catalog_id"]
    assert catalogs.ask.emulator.ledger()["products"] == {}
    assert (await catalogs.ask.control("GET", f"catalogs/{gone}/products")).status == 404
    with pytest.raises(KeyError):
        catalogs.ask.emulator.products(gone)
    made = await catalogs.send("POST", CATALOGS, name="Anew")
    assert made.data["id"] != gone
    assert (await Catalogs(catalogs.ask, catalog=made.data["id"]).pages()) == [[]]


async def test_what_is_in_a_catalog_is_its_users_alone(own: Catalogs) -> None:
    intruder = Catalogs(own.ask, catalog=own.id)
    replies = [
        await intruder.send("PUT", f"{CATALOGS}/{own.id}", name="Mine"),
        await intruder.send("DELETE", f"{CATALOGS}/{own.id}"),
        await intruder.send("GET", intruder.products),
        await intruder.json("PUT", intruder.products, {"products": [product()]}),
        await intruder.json("DELETE", intruder.products, {"product_keys": ["x"]}),
        await intruder.send("GET", f"{intruder.sets}/x"),
        await intruder.make_set(type="MANUAL", product_keys=["x"]),
    ]
    assert [(reply.status, reply.codes) for reply in replies] == [(403, ["FORBIDDEN"])] * 7
    assert own.stored() == {}


async def test_catalogs_are_for_users(ask: Asker) -> None:
    assert (await ask.bearer("GET", CATALOGS)).status == 403
    assert (await ask.send("GET", CATALOGS)).status == 401
