"""Collections of the advertising API: 10,000 records in pages, long filters, total counts (sections 4.1, 4.11 and 8)."""

from collections import Counter
from collections.abc import AsyncIterator

import pytest

from socialapi import Client, errors
from socialapi.emulator import Emulator
from tests.support.clients import client_of
from tests.support.clock import START, VirtualClock
from tests.support.server import Received, Server, answer

FIRST, SECOND = "18ce54d4x5t", "18ce54u7r2k"
PAIRS = "GET /12/accounts/{account_id}/line_item_curated_categories"


@pytest.fixture
async def slow(clock: VirtualClock) -> AsyncIterator[Emulator]:
    """A service with virtual time that takes 20 reads of pairs a minute."""
    async with Emulator(clock=clock.time, rate_limits={PAIRS: (20, 60.0)}) as emulator:
        yield emulator


def statuses(service: Emulator, path: str = "") -> Counter[int | None]:
    return Counter(record.status for record in service.requests if path in record.path)


async def test_a_total_count_is_asked_for_on_the_first_page_only(client: Client, service: Emulator) -> None:
    pairs = client.ads.account(FIRST).line_item_curated_categories
    totals = []
    async for page in pairs.list(count=1_000, with_total_count=True).pages():
        totals.append(page.total_count)
        assert page.params.get("with_total_count", False) is (len(totals) == 1)
    assert totals == [10_000] + [None] * 9
    assert statuses(service) == {200: 10}


async def test_a_total_count_with_a_start_is_refused_before_it_is_sent(client: Client, service: Emulator) -> None:
    pairs = client.ads.account(FIRST).line_item_curated_categories
    for listed in (client.ads.accounts.list, pairs.list, client.ads.account(FIRST).apps):
        with pytest.raises(errors.InvalidInput) as caught:
            listed(with_total_count=True, start="0:")
        assert [(rule.path, rule.code) for rule in caught.value.broken_rules] == [
            ("with_total_count", "EXCLUSIVE_PARAMETERS")
        ]
    assert list(service.requests) == []
    assert await pairs.list(with_total_count=False, start="0:", count=1).collect(limit=1)


async def test_campaigns_are_told_apart_by_their_own_ids(client: Client) -> None:
    targeted = client.ads.account(FIRST).custom_audience("1nmth").targeted
    pager = targeted()
    begin = await pager.collect(limit=2)
    assert pager.position == f"2@{begin[1].campaign_id},{begin[0].campaign_id}:"
    rest = await targeted(start=pager.position).collect()
    assert [each.campaign_id for each in begin + rest] == [each.campaign_id for each in await targeted().collect()]


# Total counts


async def test_who_does_not_want_to_wait_for_a_total_is_told_when_there_is_one(
    slow: Emulator, clock: VirtualClock
) -> None:
    async with Client(slow.config, slow.credentials, clock=clock) as client:
        clock.busy = lambda: any(status.in_flight for status in client.limits.values())
        for _ in range(200):
            await client.ads.accounts.list(with_total_count=True)
        with pytest.raises(errors.RateLimitTooLong) as caught:
            await client.ads.account(FIRST).apps(with_total_count=True)
        assert len(await client.ads.account(FIRST).apps().collect()) == 4
    assert caught.value.limit_key == "total_count_reads"
    assert caught.value.resets_at.timestamp() == pytest.approx(START + 900, abs=2)
    assert statuses(slow)[429] == 0


async def test_the_limit_of_total_counts_can_be_another_one(clock: VirtualClock) -> None:
    limits = {"total_count_reads": (2, 60.0)}
    empty = answer({"data": [], "next_cursor": None})
    async with Server(then=empty) as server, client_of(server, clock, rate_limits=limits) as client:
        clock.busy = lambda: any(status.in_flight for status in client.limits.values())
        for _ in range(3):
            await client.ads.accounts.list(with_total_count=True)
    assert clock.monotonic() >= 60.0


# Filters of many ids


class Accounts:
    """Serves any account that is asked for, in pages of 150, as a service that takes 200 ids at once."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, str]] = []

    async def __call__(self, received: Received) -> bytes:
        query = dict(pair.split("=") for pair in received.path.partition("?")[2].split("&"))
        ids = query["account_ids"].split("%2C")
        cursor = query.get("cursor", "")
        self.asked.append((len(ids), cursor))
        if len(ids) > 200:
            return answer({"errors": [{"code": "INVALID_PARAMETER"}]}, status=400)
        begin = int(cursor or 0)
        following = str(begin + 150) if begin + 150 < len(ids) else None
        data = [{"id": each} for each in ids[begin : begin + 150]]
        return answer({"data": data, "next_cursor": following, "request": {"params": {}}})


@pytest.mark.parametrize(
    ("count", "asked"),
    [
        (200, [(200, ""), (200, "150")]),
        (201, [(200, ""), (200, "150"), (1, "")]),
        (450, [(200, ""), (200, "150"), (200, ""), (200, "150"), (50, "")]),
    ],
)
async def test_more_than_200_ids_are_asked_for_in_parts_and_come_as_one_collection(
    count: int, asked: list[tuple[int, str]]
) -> None:
    accounts = Accounts()
    ids = tuple(f"a{number}" for number in range(count))
    async with Server(then=accounts) as server, client_of(server) as client:
        found = await client.ads.accounts.list(account_ids=ids).collect()
    assert tuple(account.id for account in found) == ids
    assert accounts.asked == asked
