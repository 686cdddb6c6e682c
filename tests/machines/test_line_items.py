"""Line items and what belongs to them, beside a model that has the rules of the documentation's
tables.
"""

import datetime
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import attrs
from hypothesis import strategies as st

from socialapi import errors
from socialapi.types import LineItem
from tests.machines.advertising import LOST_ANSWERS, PatientMachine, check_refused_here, visible
from tests.machines.machine import Asked, check, run_machine, step
from tests.machines.worlds import Worlds

Record = dict[str, Any]
Changes = Mapping[str, Any]

# The rules (advertising, sections 4.3 and 4.4) ------------------------------------------------------------------------

CAPPED: Final = {"REACH", "ENGAGEMENTS", "VIDEO_VIEWS", "PREROLL_VIEWS"}
APPS: Final = {"APP_INSTALLS", "APP_ENGAGEMENTS"}
OF_CAMPAIGN: Final = "8xdpn"
"""The line item whose campaign has the budget_optimization CAMPAIGN."""
PAYMENT: Final = ("goal", "pay_by", "bid_strategy")
NO_PAYMENT: Final = ["LINK_CLICKS", "IMPRESSION", "TARGET"]
NOBODY: Final = "987654321"


@attrs.frozen
class Value:
    """A value of a field, and whether it may stand there at all."""

    sent: Any
    is_good: bool = True


def _values(*good: Any, bad: tuple[Any, ...] = ()) -> list[Value]:
    return [*map(Value, good), *(Value(each, is_good=False) for each in bad)]


TIMES: Final = [datetime.datetime(2027, month, 1, 12, tzinfo=datetime.UTC) for month in (3, 6)]
VALUES: Final = {
    "advertiser_domain": _values("shop.example", None, bad=("https://shop.example",)),
    "advertiser_user_id": _values("2244994945", NOBODY, None),
    "android_app_store_identifier": _values("com.shop", None),
    "ios_app_store_identifier": _values("123456", None),
    "audience_expansion": _values("BROAD", "EXPANDED", None, bad=("WIDE",)),
    "bid_amount_local_micro": _values(1_250_000, 2_000_001, 2**62, None, bad=(0, -1, 2**63)),
    "bid_strategy": _values("AUTO", "MAX", "TARGET", bad=("FAST",)),
    "categories": _values(["IAB17", "IAB20"], ["IAB1"], ["IAB1", "IAB2", "IAB3"], ["news"], None),
    "duration_in_days": _values(1, 7, 30, None, bad=(8,)),
    "entity_status": _values("ACTIVE", "ACTIVE", "PAUSED", "PAUSED", bad=("DELETED",)),
    "start_time": _values(*TIMES),
    "end_time": _values(*TIMES, None),
    "frequency_cap": _values(1, 3, None, bad=(0,)),
    "goal": _values("LINK_CLICKS", "MAX_REACH", "VIEW_15S", "WEBSITE_CONVERSIONS", bad=("FAME",)),
    "name": _values("Boots", "Größe & Maß=1+1", bad=("",)),
    "pay_by": _values("APP_CLICK", "IMPRESSION", "LINK_CLICK", bad=("LUCK",)),
    "total_budget_amount_local_micro": _values(10_000_000, 6_000_000_000, None, bad=(-1,)),
    "daily_budget_amount_local_micro": _values(20_000_000, 9_000_000_000, 0, None, bad=(-1,)),
}


RELATED: Final = (
    ("bid_strategy", "bid_amount_local_micro"),
    ("bid_strategy", "goal", "pay_by"),
    ("total_budget_amount_local_micro", "daily_budget_amount_local_micro"),
    ("advertiser_domain", "categories"),
    ("android_app_store_identifier", "ios_app_store_identifier"),
    ("frequency_cap", "duration_in_days"),
    ("name", "entity_status", "start_time", "end_time", "audience_expansion"),
    ("advertiser_user_id", "categories", "frequency_cap"),
)
"""Fields that rules are about together."""
KNOWN: Final = ("nothing", "record", "campaign", "both")


@attrs.frozen
class Change:
    """A change of a line item, and what the SDK is told of it besides."""

    number: int
    given: Mapping[str, Value]
    knows: str


@st.composite
def changes(draw: Callable[[Any], Any]) -> Change:
    names = [*draw(st.sampled_from(RELATED))]
    more = draw(st.sampled_from([None, None, None, *VALUES]))
    given = {name: draw(st.sampled_from(VALUES[name])) for name in names if draw(st.integers(0, 3))}
    if more is not None:
        given[more] = draw(st.sampled_from(VALUES[more]))
    return Change(draw(st.integers(0, 12)), given, draw(st.sampled_from(KNOWN)))


def on_the_wire(name: str, value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return value.isoformat().replace("+00:00", "Z")
    return list(value or ()) if name == "categories" else value


def changed(record: Record, given: Changes) -> Record:
    """The record after the change. A bid is ignored with the strategy AUTO, and an expansion is not
    shown.
    """
    taken = not_ignored(record, given)
    return record | {name: on_the_wire(name, value) for name, value in taken.items() if name != "audience_expansion"}


def not_ignored(record: Record, given: Changes) -> Changes:
    """What the service takes of a change. Where nothing is left, the line item is not touched."""
    is_automatic = {**record, **given}["bid_strategy"] == "AUTO"
    return {name: value for name, value in given.items() if name != "bid_amount_local_micro" or not is_automatic}


@attrs.frozen
class Rules:
    """The rules that a change has to keep; they say which fields break one."""

    business_of: Mapping[str, str]
    """The business category of each IAB category."""

    def broken(self, record: Record, given: Changes) -> set[str]:
        return {*self._by_itself(record, given), *self._with_money(record, given), *self._with_service(record, given)}

    def _by_itself(self, record: Record, given: Changes) -> Iterator[str]:
        """Those that can be told from the record."""
        after, objective = {**record, **given}, record["objective"]
        needs_bid = after["bid_strategy"] in ("MAX", "TARGET") and after["bid_amount_local_micro"] is None
        if needs_bid and given.keys() & {"bid_strategy", "bid_amount_local_micro"}:
            yield "bid_amount_local_micro"
        if given.get("bid_strategy") == "MAX" and objective in ("REACH", "FOLLOWERS"):
            yield "bid_strategy"
        if given.get("bid_strategy") == "TARGET" and objective not in ("REACH", "WEBSITE_CLICKS"):
            yield "bid_strategy"
        if given.get("frequency_cap") is not None and objective not in CAPPED:
            yield "frequency_cap"
        if "PUBLISHER_NETWORK" in record["placements"]:
            yield from (name for name in ("advertiser_domain", "categories") if name in given and not given[name])
        stores = ("android_app_store_identifier", "ios_app_store_identifier")
        if objective in APPS and given.keys() & set(stores) and not any(after[name] for name in stores):
            yield "ios_app_store_identifier"
        if given.get("advertiser_user_id") is not None and objective != "PREROLL_VIEWS":
            yield "advertiser_user_id"
        yield from self._payment(record, given)

    def _payment(self, record: Record, given: Changes) -> Iterator[str]:
        after = {**record, **given}
        if (after["pay_by"] != record["pay_by"] and record["objective"] != "APP_INSTALLS") or (
            given.keys() & {"goal", "pay_by", "bid_strategy"} and [after[name] for name in PAYMENT] == NO_PAYMENT
        ):
            yield "pay_by"

    def _with_money(self, record: Record, given: Changes) -> Iterator[str]:
        daily, total = "daily_budget_amount_local_micro", "total_budget_amount_local_micro"
        after = {**record, **given}
        if given.keys() & {daily, total} and None not in (after[daily], after[total]) and after[daily] > after[total]:
            yield daily
        if given.get(daily) is not None and record["id"] == OF_CAMPAIGN:
            yield daily

    def _with_service(self, record: Record, given: Changes) -> Iterator[str]:
        """Those that the service alone can tell."""
        if given.get("advertiser_user_id") == NOBODY:
            yield "advertiser_user_id"
        if record["objective"] == "PREROLL_VIEWS" and "categories" in given:
            of = {self.business_of.get(each) for each in given["categories"] or ()}
            if None in of or not 1 <= len(of) <= 2:
                yield "categories"

    def seen_by_client(self, record: Record, given: Changes) -> set[str]:
        return {*self._by_itself(record, given), *self._with_money(record, given)}


# The machine ----------------------------------------------------------------------------------------------------------

CAMPAIGNS: Final = {"8xdpe": "8wku2", "8xdpp": "8wkud", "8xdpq": "8wkud"}
"""The campaigns of the line items that target an audience of the seed data."""
TARGETED: Final = "1nmti"


class LineItems(PatientMachine):
    max_examples = 15
    max_steps = 40

    async def open(self) -> None:
        await super().open()
        seed = self.emulator.seed
        self.account_id = seed["account_ids"][0]
        self.ids = seed["line_item_ids"][:13]
        self.began = self.clock.time()
        self.items: dict[str, Worlds[Record]] = {}
        self.sure_changes: dict[str, int] = dict.fromkeys(self.ids, 0)
        self.possible_changes: dict[str, int] = dict.fromkeys(self.ids, 0)
        categories = await self.look(lambda: self.client.ads.business_categories().collect())
        self.table = Rules({iab: each.id for each in categories for iab in each.iab_categories})

    @property
    def account(self) -> Any:
        return self.client.ads.account(self.account_id)

    # Line items -------------------------------------------------------------------------------------------------------

    async def item(self, line_item_id: str) -> Record:
        """The line item as it is; `deleted` alone tells of one that is gone."""
        try:
            found = await self.look(lambda: self.account.line_items.update(line_item_id))
            record = found.to_dict()
        except errors.NotFound:
            record = None
        worlds = self.items.get(line_item_id)
        if worlds is None:
            assert record is not None
            worlds = self.items[line_item_id] = Worlds(record)
        worlds.see(visible, visible(record))
        if record is not None:
            worlds.states = [record]
        return worlds.only

    @step(changes=st.lists(changes(), min_size=1, max_size=5))
    async def change(self, changes: list[Change]) -> None:
        for each in changes:
            await self._change(self.ids[each.number], each.given, each.knows)

    async def _change(self, line_item_id: str, given: Mapping[str, Value], knows: str) -> None:
        record = await self.item(line_item_id)
        sent = {name: value.sent for name, value in given.items()}
        about: dict[str, Any] = {}
        if knows in ("record", "both") and not record["deleted"]:
            about["current"] = LineItem.from_dict(record)
        if knows in ("campaign", "both"):
            about["budget_optimization"] = "CAMPAIGN" if line_item_id == OF_CAMPAIGN else "LINE_ITEM"
        asked = await self.ask(self.account.line_items.update(line_item_id, **sent, **about), repeatable=True)
        bad = {name for name, value in given.items() if not value.is_good}
        if bad:
            # Good values may break rules between fields as well.
            check_refused_here(asked)
            assert not isinstance(asked.error, errors.InvalidInput) or bad <= {
                rule.path.partition("[")[0] for rule in asked.error.broken_rules
            }
        elif record["deleted"]:
            assert not asked.is_done
        elif broken := self.table.broken(record, sent):
            _refused(asked, broken)
            if len(about) == 2 and self.table.seen_by_client(record, sent):
                check_refused_here(asked, broken)
        else:
            assert not isinstance(asked.error, errors.InvalidInput)
            is_change = bool(not_ignored(record, sent))
            self._note_change(line_item_id, asked, lambda state: state.update(changed(state, sent)), is_change)

    # Hypothesis chooses each name as often as any other.
    change_twice_as_often = change

    def _note_change(
        self, line_item_id: str, asked: Asked[Any], change: Callable[[Record], object], is_change: bool
    ) -> None:
        now, before = _time(self.clock.time()), dict(self.items[line_item_id].only)
        self.items[line_item_id].change(asked.executed, change)
        self.possible_changes[line_item_id] += is_change * sum(each.status != 429 for each in asked.requests)
        # Whether there is an entry for a change to what was there before is not specified.
        self.sure_changes[line_item_id] += before not in self.items[line_item_id].states
        if asked.is_done:
            answer = asked.value.to_dict()
            self.items[line_item_id].see(visible, visible(answer))
            if is_change:
                assert _time(self.began) <= answer["updated_at"] <= now
            else:
                assert [state["updated_at"] for state in self.items[line_item_id].states] == [answer["updated_at"]]

    @step(number=st.integers(0, 12), status=st.sampled_from(["ACTIVE", "PAUSED"]))
    async def pause_or_start(self, number: int, status: str) -> None:
        line_item_id = self.ids[number]
        record = await self.item(line_item_id)
        asked = await self.ask(self.account.line_items.update(line_item_id, entity_status=status), repeatable=True)
        assert not (asked.is_done and record["deleted"])
        if not record["deleted"]:
            self._note_change(line_item_id, asked, lambda state: state.update(entity_status=status), True)

    @step(trouble=LOST_ANSWERS, number=st.integers(0, 12))
    async def delete(self, number: int) -> None:
        line_item_id = self.ids[number]
        record = await self.item(line_item_id)
        asked = await self.ask(self.account.line_items.delete(line_item_id))
        if record["deleted"]:
            assert not asked.is_done
        else:
            assert not isinstance(asked.error, errors.NotFound)
            self._note_change(line_item_id, asked, lambda state: state.update(deleted=True), True)
        await self.item(line_item_id)

    @step(with_active=st.booleans())
    async def read_targeting(self, *, with_active: bool) -> None:
        """What is paused cannot be served, and what is deleted targets nothing."""
        records = {each: await self.item(each) for each in CAMPAIGNS}
        audience = self.account.custom_audience(TARGETED)
        asked = await self.ask(audience.targeted(with_active=with_active).collect(), repeatable=True)
        if not asked.is_done:
            return
        found = {
            item.id: (each.campaign_id, item.name, item.servable) for each in asked.value for item in each.line_items
        }
        expected = {
            each: (CAMPAIGNS[each], record["name"], record["entity_status"] == "ACTIVE")
            for each, record in records.items()
            if not record["deleted"] and (record["entity_status"] == "ACTIVE" or not with_active)
        }
        assert found == expected

    @step(number=st.integers(0, 12), count=st.sampled_from([1, 3, 1_000]))
    async def read_history(self, number: int, count: int) -> None:
        """The last entry has the line item as it is, and each change has one."""
        line_item_id = self.ids[number]
        record = await self.item(line_item_id)
        start, end = (
            datetime.datetime.fromtimestamp(hours * 3_600, datetime.UTC)
            for hours in (self.began // 3_600, self.clock.time() // 3_600 + 1)
        )
        entries = self.account.history(
            entity_type="LINE_ITEM", entity_id=line_item_id, start_time=start, end_time=end, count=count
        )
        asked = await self.ask(entries.collect(), repeatable=True)
        if not asked.is_done:
            return
        found = asked.value
        known = (self.sure_changes[line_item_id], self.possible_changes[line_item_id])
        assert known[0] <= len(found) <= known[1], (found, known)
        times = [each.change_time for each in found]
        assert times == sorted(times)
        assert {(each.entity, each.entity_id) for each in found} <= {("LINE_ITEM", line_item_id)}
        if found and not record["deleted"]:
            assert visible(found[-1].to_dict()["entity_data"]) == visible(record)

    @check
    def nothing_else_is_changed(self) -> None:
        """Line items that no step has named are as they were."""
        table = self.emulator.state.advertising.table(self.account_id, "line_items")
        for record in table.rows[:13]:
            if record["id"] not in self.items:
                assert record["updated_at"] == record["created_at"]


def _time(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(int(seconds), datetime.UTC).isoformat().replace("+00:00", "Z")


def _refused(asked: Asked[Any], fields: set[str]) -> None:
    """The change is not made, and an error about it names the fields."""
    assert not asked.is_done
    if isinstance(asked.error, errors.InvalidInput):
        assert {rule.path for rule in asked.error.broken_rules} <= fields
    elif isinstance(asked.error, errors.ApiError) and asked.error.status in (400, 404) and not asked.requests[-1].fault:
        assert {each.parameter for each in asked.error.errors} <= fields
        assert asked.error.errors


def test_line_items_are_those_of_the_model() -> None:
    run_machine(LineItems)
