"""Do-not-reach lists (advertising documentation, section 4.10)."""

from tests.emulator.asking import Asker, digest, operation, updates

ANN, BOB = digest("ann@example.com"), digest("+442079460000")


async def test_an_upload_answers_one_pair_of_counts_for_each_operation(ask: Asker) -> None:
    batch = [operation({"email": [ANN]}, {"phone_number": [BOB]}), operation(), operation({"email": [BOB]})]
    reply = await ask.upload(batch, path=ask.list_users_path)
    assert reply.json == {
        "data": [
            {"success_count": 2, "total_count": 2},
            {"success_count": 0, "total_count": 0},
            {"success_count": 1, "total_count": 1},
        ],
        "request": {"params": {"account_id": ask.account, "do_not_reach_list_id": ask.do_not_reach_list}},
    }
    assert ask.listed() == {("email", ANN), ("phone_number", BOB), ("email", BOB)}
    await ask.upload([operation({"email": [ANN, BOB]}, operation_type="Delete")], path=ask.list_users_path)
    assert ask.listed() == {("phone_number", BOB)}


async def test_an_empty_batch_answers_no_counts(ask: Asker) -> None:
    assert (await ask.upload([], path=ask.list_users_path)).json["data"] == []


async def test_a_list_that_the_account_does_not_have_is_not_found(ask: Asker) -> None:
    path = f"/ads/12/batch/accounts/{ask.account}/do_not_reach_lists/7b2g1/users"
    reply = await ask.upload(updates(1), path=path)
    assert reply.status == 404
    assert reply.json["errors"][0]["parameter"] == "do_not_reach_list_id"


async def test_a_list_is_deleted_once_and_takes_no_more_uploads(ask: Asker) -> None:
    await ask.upload(updates(3), path=ask.list_users_path)
    reply = await ask.signed("DELETE", ask.list_path)
    assert reply.status == 200
    record = reply.json["data"]
    assert record["id"] == ask.do_not_reach_list
    assert record["deleted"] is True
    assert record["targetable"] is False
    assert record["list_size"] == 3
    assert record["reasons_not_targetable"] == ["TOO_SMALL"]
    assert record["created_at"].endswith("Z")
    assert (await ask.signed("DELETE", ask.list_path)).status == 404
    assert (await ask.upload(updates(1), path=ask.list_users_path)).status == 404
    assert ask.emulator.ledger()["do_not_reach_lists"][ask.account][ask.do_not_reach_list]["deleted"] is True


async def test_a_list_of_100_members_is_not_too_small(ask: Asker) -> None:
    await ask.upload(updates(100), path=ask.list_users_path)
    assert (await ask.signed("DELETE", ask.list_path)).json["data"]["reasons_not_targetable"] == []
