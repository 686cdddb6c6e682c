"""Tests an upload against a separate emulator, which shows afterwards what arrived."""

import pytest
from newsletter import send_subscribers

from socialapi import Client
from socialapi.emulator import Emulator
from socialapi.errors import BulkError

ACCOUNT, AUDIENCE = "18ce54d4x5t", "1nmth"  # from the seed data, which is the same at every start
ADA = {"email": "ada@example.com", "agreed": True}
BOB = {"email": "bob@example.com", "agreed": False}
CHLOE = {"email": "chloe@example.com", "agreed": True}


async def test_those_who_agreed_are_in_the_audience(socialapi_client: Client, socialapi_emulator: Emulator) -> None:
    report = await send_subscribers(socialapi_client, ACCOUNT, AUDIENCE, [ADA, BOB, CHLOE])
    assert report.accepted == 2
    assert len(socialapi_emulator.members(ACCOUNT, AUDIENCE)) == 2


@pytest.mark.parametrize("fault", ["reset_before", "reset_after", "truncate", "count_mismatch"])
async def test_nobody_is_lost_when_a_request_goes_wrong(
    socialapi_client: Client, socialapi_emulator: Emulator, fault: str
) -> None:
    socialapi_emulator.faults.add(fault, path="/ads/12/accounts/*/custom_audiences/*/users")
    report = await send_subscribers(socialapi_client, ACCOUNT, AUDIENCE, [ADA, CHLOE])
    assert report.accepted == 2
    assert len(socialapi_emulator.members(ACCOUNT, AUDIENCE)) == 2
    assert [request.fault for request in socialapi_emulator.requests if request.users] == [fault, None]


async def test_an_audience_that_is_not_there_is_an_error(socialapi_client: Client) -> None:
    with pytest.raises(BulkError):
        await send_subscribers(socialapi_client, ACCOUNT, "nothing", [ADA])
