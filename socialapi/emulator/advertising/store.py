"""What the advertising API keeps: tables of records, of the service and of each account, and who changed what."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from socialapi.emulator.advertising.history import History
from socialapi.emulator.advertising.records import Record, Table

_FIRST_ID: Final = 36**5
"""Ids made while it runs have six characters; those of the seed data have other lengths, or begin with a letter."""

_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


class Advertising:
    """The tables, which are empty until the seed data or a request fill them."""

    def __init__(self) -> None:
        self.accounts = Table()
        self.business_categories = Table()
        self.curated_categories = Table()
        self.uploads = Table()
        self.history = History()
        self._tables: dict[tuple[str, str], Table] = {}
        self._ids_made = 0

    def table(self, account_id: str, kind: str) -> Table:
        """The records of a kind that belong to an account, for example `line_items`."""
        found = self._tables.get((account_id, kind))
        if found is None:
            found = self._tables[account_id, kind] = Table()
        return found

    def plant(self, account_id: str, kind: str, load: Callable[[], Iterable[Record]]) -> None:
        """Gives an account records, made when they are first looked at."""
        self._tables[account_id, kind] = Table(load)

    def tables(self) -> Iterator[tuple[str, str, Table]]:
        """Account, kind and records of everything that belongs to accounts."""
        return ((account_id, kind, table) for (account_id, kind), table in list(self._tables.items()))

    def new_id(self) -> str:
        """An id that nothing has yet."""
        number = _FIRST_ID + self._ids_made
        self._ids_made += 1
        digits = ""
        while number:
            number, digit = divmod(number, 36)
            digits = _DIGITS[digit] + digits
        return digits
