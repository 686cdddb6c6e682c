"""Rate-limit windows: 1,500 uploads a minute for each account (advertising documentation, section 4.9)."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from socialapi.emulator import Emulator
from socialapi.emulator.clock import EmulatorClock
from socialapi.emulator.rate_limits import RateLimits, route_key
from socialapi.errors import ConfigurationError
from socialapi.routes import audiences, oauth
from socialapi.routes.route import OAUTH, RateLimit, Route
from tests.emulator.asking import Asker, operation, updates
from tests.support.routes import ROUTES


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    limits = {"custom_audience_uploads": (3, 60.0), "do_not_reach_uploads": (1, 10.5)}
    async with Emulator(rate_limits=limits) as emulator:
        yield emulator


def test_the_documented_window_has_1500_requests_and_lasts_60_seconds() -> None:
    clock = EmulatorClock(lambda: 1_000.5)
    limits = RateLimits(clock, {})

    def take(account: str) -> tuple[bool, int, float]:
        granted, window = limits.take(audiences.CUSTOM_AUDIENCE_UPLOADS, (account,))
        return granted, window.requests - window.used, window.ends_at

    expected = [(True, left, 1_060.5) for left in range(1_499, -1, -1)]
    assert [take("account") for _ in range(1_501)] == [*expected, (False, 0, 1_060.5)]
    clock.advance(59.9)
    assert not take("account")[0]
    assert take("other")[0]
    clock.advance(0.1)
    assert take("account")[1] == 1_499


async def test_every_counted_answer_says_how_much_of_the_window_is_left(ask: Asker) -> None:
    replies = [await ask.upload(updates(1)), await ask.upload(b"broken"), await ask.upload(updates(1))]
    assert [reply.status for reply in replies] == [200, 400, 200]
    for prefix in ("x-rate-limit-", "x-account-rate-limit-"):
        assert [reply.headers[prefix + "limit"] for reply in replies] == ["3"] * 3
        assert [reply.headers[prefix + "remaining"] for reply in replies] == ["2", "1", "0"]
        resets = {int(reply.headers[prefix + "reset"]) for reply in replies}
        assert len(resets) == 1
        assert 58 < resets.pop() - ask.emulator.state.clock.now() <= 61


async def test_a_request_beyond_the_window_is_refused_and_not_counted(ask: Asker) -> None:
    for _ in range(3):
        assert (await ask.upload(updates(1))).status == 200
    for _ in range(2):
        reply = await ask.upload([operation({"handle": ["0" * 64]})])
        assert (reply.status, reply.codes) == (429, ["TOO_MANY_REQUESTS"])
        assert reply.headers["x-rate-limit-remaining"] == "0"
        assert reply.json["request"]["params"]["account_id"] == ask.account
    assert ("handle", "0" * 64) not in ask.members()
    ask.emulator.advance(60)
    assert (await ask.upload(updates(1))).headers["x-rate-limit-remaining"] == "2"


async def test_accounts_and_limits_are_counted_apart_and_audiences_of_an_account_together(ask: Asker) -> None:
    accounts, audiences = ask.emulator.seed["account_ids"], ask.emulator.seed["custom_audience_ids"]
    remaining = [
        (await ask.upload([], path=f"/ads/12/accounts/{account}/custom_audiences/{audience}/users")).headers[
            "x-rate-limit-remaining"
        ]
        for account, audience in ((accounts[0], audiences[0]), (accounts[0], audiences[1]), (accounts[1], "1nmuk"))
    ]
    assert remaining == ["2", "1", "2"]
    assert (await ask.upload([], path=ask.list_users_path)).headers["x-rate-limit-remaining"] == "0"
    assert (await ask.upload([], path=ask.list_users_path)).status == 429
    ask.emulator.advance(10.5)
    assert (await ask.upload([], path=ask.list_users_path)).status == 200


async def test_requests_that_are_not_authenticated_are_not_counted(ask: Asker) -> None:
    for _ in range(5):
        reply = await ask.send("POST", ask.audience_path, json=[])
        assert reply.status == 401
        assert "x-rate-limit-limit" not in reply.headers
    assert (await ask.upload([])).headers["x-rate-limit-remaining"] == "2"


async def test_requests_without_a_documented_limit_carry_no_limit_headers(ask: Asker) -> None:
    assert "x-rate-limit-limit" not in (await ask.signed("DELETE", ask.list_path)).headers


async def test_the_date_of_an_answer_is_by_the_clock_that_the_reset_time_is_by(ask: Asker) -> None:
    ask.emulator.advance(86_400)
    reply = await ask.upload([])
    date = aiohttp.helpers.parse_http_date(reply.headers["Date"])
    assert date is not None
    assert 58 <= int(reply.headers["x-rate-limit-reset"]) - date.timestamp() <= 62


def test_an_unknown_limit_cannot_be_overridden() -> None:
    names = "app_only_tokens, custom_audience_uploads, do_not_reach_uploads, total_count_reads"
    with pytest.raises(ConfigurationError, match=f"no rate limit named uploads: the names are {names}, and routes"):
        Emulator(rate_limits={"uploads": (1, 1.0)})


@pytest.mark.parametrize("route", [row for row in ROUTES if row.family is OAUTH and row is not oauth.APP_ONLY_TOKEN])
async def test_every_endpoint_of_oauth_is_rate_limited(emulator: Emulator, route: Route[object]) -> None:
    """Platform section 8 says so without a number; that of app-only tokens has a code of its own."""
    assert emulator.state.limits.of_route(route) == RateLimit(route_key(route), 300, 900.0)
