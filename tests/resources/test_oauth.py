"""The token endpoints, against the emulator."""

import pytest

from socialapi import Client
from socialapi.emulator import Emulator
from socialapi.errors import Forbidden


def asked(emulator: Emulator) -> list[str]:
    return [record.path for record in emulator.requests]


async def test_an_invalidated_token_is_followed_by_a_different_one(
    socialapi_emulator: Emulator, socialapi_client: Client
) -> None:
    first = await socialapi_client.oauth.app_only_token()
    ended = await socialapi_client.oauth.invalidate_app_only_token()
    assert ended.access_token == first.access_token
    assert ended.access_token not in repr(ended)
    second = await socialapi_client.oauth.app_only_token()
    assert second.access_token != first.access_token
    assert asked(socialapi_emulator) == ["/oauth2/token", "/oauth2/invalidate_token", "/oauth2/token"]


async def test_a_token_that_is_not_known_yet_is_had_before_it_is_ended(
    socialapi_emulator: Emulator, socialapi_client: Client
) -> None:
    outstanding = socialapi_emulator.ready["bearer_token"]
    assert (await socialapi_client.oauth.invalidate_app_only_token()).access_token == outstanding
    assert asked(socialapi_emulator) == ["/oauth2/token", "/oauth2/invalidate_token"]


async def test_a_token_that_somebody_else_has_ended_cannot_be_ended_again(
    socialapi_emulator: Emulator, socialapi_client: Client
) -> None:
    await socialapi_client.oauth.app_only_token()
    async with Client(socialapi_emulator.config, socialapi_emulator.credentials) as other:
        await other.oauth.invalidate_app_only_token()
    with pytest.raises(Forbidden):
        await socialapi_client.oauth.invalidate_app_only_token()
