"""Accounts and test accounts, and the pairs of line items and curated categories, beside a model of
all.
"""

from typing import Any, Final

import attrs
from hypothesis import strategies as st

from socialapi import errors
from tests.machines.advertising import LOST_ANSWERS, PatientMachine, check_refused_here, visible
from tests.machines.machine import run_machine, step
from tests.machines.worlds import Executed, Worlds

Record = dict[str, Any]

OTHERS: Final = ("8xg1a", "8xg1b", "8xg1c")
"""The line items of the second account."""
CATEGORIES: Final = ("cc0000", "cc0001", "cc0002")
NAMES: Final = ("Northwind", "Häuser & Höfe", "x")
INDUSTRIES: Final = ("RETAIL", "HEALTH", "OTHER")


@attrs.define
class Pair:
    """A line item and a curated category, by the id of the pair."""

    line_item_id: str
    category_id: str
    deleted: bool = False


class Accounts(PatientMachine):
    """Accounts, those of the sandbox among them, and the curated categories beside which line items
    run.
    """

    max_examples = 15
    max_steps = 40

    async def open(self) -> None:
        await super().open()
        self.account_id, self.other_id = self.emulator.seed["account_ids"]
        self.pairs: dict[str, Worlds[Pair]] = {}
        self.accounts: dict[str, Worlds[Record]] = {}
        self.test_accounts: dict[str, Worlds[Record]] = {}

    @property
    def other(self) -> Any:
        return self.client.ads.account(self.other_id)

    # Pairs with curated categories ------------------------------------------------------------------------------------

    @step(
        trouble=LOST_ANSWERS,
        item=st.sampled_from((*OTHERS, "no-such")),
        category=st.sampled_from((*CATEGORIES, "no-such")),
    )
    async def pair(self, item: str, category: str) -> None:
        asked = await self.ask(self.other.line_item_curated_categories.create(item, category))
        if "no-such" in (item, category):
            assert not asked.is_done
            return
        assert not isinstance(asked.error, errors.NotFound)
        known = set(self.pairs)
        await self._see_pairs(asked.executed, Pair(item, category))
        made = set(self.pairs) - known
        if asked.is_done:
            assert made == {asked.value.id}

    async def _see_pairs(self, executed: Executed, new: Pair | None = None) -> None:
        """All pairs are as they may be, and there is at most one new one."""
        listed = await self.look(
            lambda: self.other.line_item_curated_categories.list(with_deleted=True, count=2).collect()
        )
        found = {each.id: Pair(each.line_item_id, each.curated_category_id, each.deleted) for each in listed}
        assert len(found) == len(listed)
        assert self.pairs.keys() <= found.keys()
        for pair_id, worlds in self.pairs.items():
            worlds.see(lambda state: state, found[pair_id])
        made = [pair_id for pair_id in found if pair_id not in self.pairs]
        assert len(made) in {"yes": [1], "no": [0], "unknown": [0, 1]}[executed if new else "no"]
        for pair_id in made:
            assert found[pair_id] == new
            self.pairs[pair_id] = Worlds(found[pair_id])

    @step(
        index=st.integers(0, 9),
        item=st.sampled_from([None, *OTHERS]),
        category=st.sampled_from([None, *CATEGORIES]),
    )
    async def change_pair(self, index: int, item: str | None, category: str | None) -> None:
        if not self.pairs:
            return
        pair_id, worlds = list(self.pairs.items())[index % len(self.pairs)]
        given = {"line_item_id": item, "curated_category_id": category}
        given = {name: value for name, value in given.items() if value is not None}
        asked = await self.ask(self.other.line_item_curated_categories.update(pair_id, **given), repeatable=True)
        if worlds.only.deleted:
            assert not asked.is_done
            return
        assert not isinstance(asked.error, errors.NotFound)

        def change(state: Pair) -> None:
            state.line_item_id, state.category_id = item or state.line_item_id, category or state.category_id

        worlds.change(asked.executed, change)
        if asked.is_done:
            worlds.see(lambda state: (state.line_item_id, state.category_id), _pair_of(asked.value))
        await self._see_pairs("no")

    @step(trouble=LOST_ANSWERS, index=st.integers(0, 9))
    async def delete_pair(self, index: int) -> None:
        if not self.pairs:
            return
        pair_id, worlds = list(self.pairs.items())[index % len(self.pairs)]
        asked = await self.ask(self.other.line_item_curated_categories.delete(pair_id))
        if worlds.only.deleted:
            assert not asked.is_done
            return
        assert not isinstance(asked.error, errors.NotFound)

        def change(state: Pair) -> None:
            state.deleted = True

        worlds.change(asked.executed, change)
        assert not asked.is_done or asked.value.deleted
        await self._see_pairs("no")

    @step(index=st.integers(0, 9), with_deleted=st.booleans())
    async def read_pair(self, index: int, *, with_deleted: bool) -> None:
        if not self.pairs:
            return
        pair_id, worlds = list(self.pairs.items())[index % len(self.pairs)]
        pair = self.other.line_item_curated_categories.get(pair_id, with_deleted=with_deleted)
        asked = await self.ask(pair, repeatable=True)
        is_there = with_deleted or not worlds.only.deleted
        assert not (asked.is_done and not is_there)
        assert not (isinstance(asked.error, errors.NotFound) and is_there)
        if asked.is_done:
            assert _pair_of(asked.value) == (worlds.only.line_item_id, worlds.only.category_id)

    @step(count=st.integers(1, 3), with_total_count=st.booleans(), order=st.sampled_from([None, "asc", "desc"]))
    async def read_pairs(self, count: int, *, with_total_count: bool, order: str | None) -> None:
        sort = {} if order is None else {"sort_by": f"line_item_id-{order}"}
        pager = self.other.line_item_curated_categories.list(count=count, with_total_count=with_total_count, **sort)
        asked = await self.ask(pager.collect(), repeatable=True)
        if asked.is_done:
            live = {name: worlds.only for name, worlds in self.pairs.items() if not worlds.only.deleted}
            assert {each.id: _pair_of(each) for each in asked.value} == {
                name: (each.line_item_id, each.category_id) for name, each in live.items()
            }
            items = [each.line_item_id for each in asked.value]
            assert order is None or items == sorted(items, reverse=order == "desc")

    # Accounts ---------------------------------------------------------------------------------------------------------

    async def _see_account(self, account_id: str) -> Record:
        found = (await self.look(lambda: self.client.ads.accounts.get(account_id, with_deleted=True))).to_dict()
        worlds = self.accounts.setdefault(account_id, Worlds(found))
        worlds.see(visible, visible(found))
        worlds.states = [found]
        return found

    @step(name=st.sampled_from([None, *NAMES]), industry=st.sampled_from([None, *INDUSTRIES, "LUCK"]))
    async def change_account(self, name: str | None, industry: str | None) -> None:
        await self._see_account(self.other_id)
        both = {"name": name, "industry_type": industry}
        given: Any = {each: value for each, value in both.items() if value is not None}
        asked = await self.ask(self.client.ads.accounts.update(self.other_id, **given), repeatable=True)
        if industry == "LUCK":
            check_refused_here(asked, {"industry_type"})
            return
        worlds = self.accounts[self.other_id]
        worlds.change(asked.executed, lambda state: state.update(given))
        if asked.is_done:
            worlds.see(visible, visible(asked.value.to_dict()))
        await self._see_account(self.other_id)

    @step(prefix=st.sampled_from(["", "north", "HÄUS", "sandbox"]), with_deleted=st.booleans())
    async def read_accounts(self, prefix: str, *, with_deleted: bool) -> None:
        listed = await self.ask(
            self.client.ads.accounts.list(q=prefix, with_deleted=with_deleted, count=1).collect()
            if prefix
            else self.client.ads.accounts.list(with_deleted=with_deleted, count=1).collect(),
            repeatable=True,
        )
        if not listed.is_done:
            return
        all_ = [await self._see_account(self.account_id), await self._see_account(self.other_id)]
        all_ += [worlds.only for worlds in self.test_accounts.values()]
        expected = {
            each["id"]
            for each in all_
            if each["name"].lower().startswith(prefix.lower()) and (with_deleted or not each["deleted"])
        }
        assert {each.id for each in listed.value} == expected

    @step(trouble=LOST_ANSWERS)
    async def make_test_account(self) -> None:
        asked = await self.ask(self.client.ads.sandbox.create_account())
        known = {self.account_id, self.other_id, *self.test_accounts}
        listed = await self.look(lambda: self.client.ads.accounts.list(with_deleted=True).collect())
        made = [each for each in listed if each.id not in known]
        assert len(made) in {"yes": [1], "no": [0], "unknown": [0, 1]}[asked.executed]
        for each in made:
            self.test_accounts[each.id] = Worlds({"id": each.id, "name": each.name, "features": [], "deleted": False})
        assert not asked.is_done or asked.value.id == made[0].id

    @step(
        trouble=LOST_ANSWERS,
        index=st.integers(0, 9),
        keys=st.lists(st.sampled_from(["REACH_FREQUENCY_CAP", "NEW_KEY"]), min_size=1, unique=True),
    )
    async def add_features(self, index: int, keys: list[str]) -> None:
        if not self.test_accounts:
            return
        account_id, worlds = list(self.test_accounts.items())[index % len(self.test_accounts)]
        asked = await self.ask(self.client.ads.sandbox.add_features(account_id, keys))
        if worlds.only["deleted"]:
            assert not asked.is_done
            return
        worlds.change(
            asked.executed, lambda state: state.update(features=[*dict.fromkeys([*state["features"], *keys])])
        )
        if asked.is_done:
            worlds.see(lambda state: set(state["features"]), set(asked.value))
        found = await self.look(lambda: self.client.ads.account(account_id).features())
        worlds.see(lambda state: set(state["features"]), set(found))

    @step(trouble=LOST_ANSWERS, index=st.integers(0, 9))
    async def delete_account(self, index: int) -> None:
        account_ids = [*self.test_accounts, self.account_id]
        account_id = account_ids[index % len(account_ids)]
        asked = await self.ask(self.client.ads.sandbox.delete_account(account_id))
        worlds = self.test_accounts.get(account_id)
        if worlds is None or worlds.only["deleted"]:
            assert not asked.is_done
            return
        assert not isinstance(asked.error, errors.NotFound)
        worlds.change(asked.executed, lambda state: state.update(deleted=True))
        listed = await self.look(lambda: self.client.ads.accounts.list().collect())
        worlds.see(lambda state: state["deleted"], account_id not in {each.id for each in listed})


def _pair_of(pair: Any) -> tuple[str, str]:
    return pair.line_item_id, pair.curated_category_id


def test_accounts_and_their_pairs_are_those_of_the_model() -> None:
    run_machine(Accounts)
