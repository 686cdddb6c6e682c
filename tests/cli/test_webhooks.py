"""Webhooks on the command line."""

from collections.abc import AsyncIterator

import pytest

from socialapi.emulator import Emulator
from tests.cli.running import Shell
from tests.emulator.platform.receiving import Owner, owner_of_webhook
from tests.support.server import Server, answer

URL = "https://app.example/hook"


@pytest.fixture
async def owner(emulator: Emulator) -> AsyncIterator[Owner]:
    async with owner_of_webhook(emulator.ready["api_key_secret"]) as owner:
        emulator.webhook_targets[URL] = owner.address
        yield owner


async def test_a_webhook_from_its_registration_to_its_end(ready: Shell, owner: Owner) -> None:
    assert (
        await ready.run("webhooks", "list")
    ).err == "socialapi: there are no webhooks; `socialapi webhooks create` adds one\n"
    made = await ready.run("webhooks", "create", URL)
    assert made.status == 0, made.err
    webhook_id, validity, *_, url = made.out.split()
    assert (validity, url) == ("valid", URL)
    listed = await ready.run("webhooks", "list")
    assert listed.rows == [["ID", "STATE", "CREATED", "URL"], made.out.removesuffix("\n").split("\t")]
    checked = await ready.run("webhooks", "validate", webhook_id)
    assert (checked.status, checked.out) == (0, f"webhook {webhook_id} is valid\n")
    gone = await ready.run("webhooks", "delete", webhook_id)
    assert (gone.status, gone.out) == (0, f"webhook {webhook_id} is removed\n")
    assert (await ready.run("webhooks", "list", "--json")).out == ""


@pytest.mark.parametrize(
    ("command", "status", "says"),
    [
        (("create", "http://app.example/hook"), 2, "must be a public https URL without a port number"),
        (("create", "https://app.example:8443/hook"), 2, "must be a public https URL without a port number"),
        (("create", URL), 3, "CrcValidationFailed"),
        (("create", "https://nowhere.example/"), 3, "CrcValidationFailed"),
        (("validate", "12345"), 3, "WebhookIdInvalid"),
        (("delete", "12345"), 3, "WebhookIdInvalid"),
        (("delete", "one"), 2, "WEBHOOK: must be 1 to 19 digits"),
        (("replay", "novalue"), 2, "a parameter must be KEY=TEXT or KEY:=JSON, not 'novalue'"),
        (("replay", "=x"), 2, "a parameter must be KEY=TEXT or KEY:=JSON"),
        (("replay", "key:={"), 2, "the value after key:= is not JSON"),
        (("create",), 2, "URL is missing"),
    ],
)
async def test_what_fails_is_said_with_its_reason(
    ready: Shell, owner: Owner, command: tuple[str, ...], status: int, says: str
) -> None:
    owner.secret = "another"
    done = await ready.run("webhooks", *command)
    assert (done.status, done.out) == (status, "")
    assert says in done.err


async def test_a_check_that_fails_on_request_ends_with_one(ready: Shell, owner: Owner) -> None:
    (made,) = (await ready.run("webhooks", "create", URL, "--json")).objects
    owner.secret = "another"
    checked = await ready.run("webhooks", "validate", made["id"])
    assert (checked.status, checked.out) == (1, "")
    assert "CrcValidationFailed" in checked.err
    assert (await ready.run("webhooks", "list")).rows[1][1] == "invalid"


async def test_parameters_of_a_replay_are_sent_as_they_are(shell: Shell) -> None:
    async with Server(then=answer({"data": {"job_id": "7"}})) as server:
        shell.put(BASE_URL=server.url, BEARER_TOKEN="b")
        done = await shell.run("webhooks", "replay", "webhook_id=12", "days:=3", "note=a=b")
        told = await shell.run("webhooks", "replay", "--json")
    assert (done.status, done.out) == (0, 'replay requested: {"job_id":"7"}\n')
    assert told.objects == [{"job_id": "7"}]
    assert [received.json for received in server.requests] == [{"webhook_id": "12", "days": 3, "note": "a=b"}, {}]


@pytest.mark.parametrize(
    ("command", "data", "out"),
    [
        ("validate", {"valid": False}, "webhook 1 is invalid\n"),
        ("validate", {}, "webhook 1 is checked\n"),
        ("delete", {"deleted": False}, "webhook 1 is not removed\n"),
    ],
)
async def test_a_success_that_changes_nothing_is_no_success(
    shell: Shell, command: str, data: dict[str, bool], out: str
) -> None:
    async with Server(then=answer({"data": data})) as server:
        shell.put(BASE_URL=server.url, BEARER_TOKEN="b")
        done = await shell.run("webhooks", command, "1")
    assert (done.status, done.out) == (0 if "checked" in out else 1, out)
