"""The rows of ordinary exports that are looked at one by one, counted without a clock.

Such a row takes ten times as long as others, so that a few of them in a hundred decide about the whole.
"""

import math
import random
from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest

from socialapi.bulk.audiences import normalize, phone_starts, prepare
from socialapi.bulk.rows import Row, RowBlock
from tests.bulk.model_service import ModelService, job_of

ROWS: Final = 3_000
Records = Sequence[tuple[str, str]]
"""The e-mail address and the phone number of each row."""


def clean() -> Records:
    return [(f"p{number}@mail.example", f"+1415555{number:04}") for number in range(ROWS)]


def shared() -> Records:
    """A third of the phone numbers is that of the row before, and one row in fifty has no e-mail address."""
    found = [(email if number % 50 else "", phone) for number, (email, phone) in enumerate(clean())]
    return [(email, found[at - 1][1] if at % 3 == 2 else phone) for at, (email, phone) in enumerate(found)]


def padded() -> Records:
    return [(f"  {email} ", f"\t{phone}  ") for email, phone in clean()]


def german() -> Records:
    """Mobile numbers as they are written at home, in several ways."""
    forms = ("0170{:07}", "0170 {:07}", "0170-{:07}", "(0170) {:07}", "+49 170 {:07}")
    return [(email, forms[number % len(forms)].format(number + 1)) for number, (email, _) in enumerate(clean())]


def all_mixed() -> Records:
    """Three orders of each customer, with blanks around cells, numbers as at home, and a tenth without address."""
    found = [(f" {email} " if at % 10 else "", phone) for at, (email, phone) in enumerate(german()[: ROWS // 3])]
    return [each for each in found for _ in range(3)]


def orders() -> Records:
    """Three orders of each customer."""
    return [each for each in clean()[: ROWS // 3] for _ in range(3)]


def orders_in_any_order() -> Records:
    rows = list(orders())
    random.Random(0).shuffle(rows)
    return rows


@pytest.mark.parametrize(
    ("records", "prepared", "placed"),
    [
        (clean, 0.0, 0.0),
        (shared, 0.0, 0.01),
        (padded, 0.0, 0.0),
        (orders, 0.0, 0.0),
        (orders_in_any_order, 0.0, 0.0),
        (german, 0.0, 0.0),
        (all_mixed, 0.0, 0.0),
    ],
)
async def test_few_rows_of_an_ordinary_export_are_looked_at_one_by_one(
    records: Callable[[], Records], prepared: float, placed: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = rows = 0
    plain_value, row_of = normalize.plain_value, RowBlock.row

    def counted_value(*given: Any) -> str | None:
        nonlocal values
        values += 1
        return plain_value(*given)

    def counted_row(block: RowBlock, index: int) -> Row:
        nonlocal rows
        rows += 1
        return row_of(block, index)

    monkeypatch.setattr(phone_starts, "LOADING_SECONDS", math.inf)
    monkeypatch.setattr(prepare, "plain_value", counted_value)
    monkeypatch.setattr(RowBlock, "row", counted_row)
    job = job_of(ModelService(), [{"email": email, "phone": phone} for email, phone in records()], default_region="DE")
    report = await job.run()
    assert (report.read, report.rejected, report.pending) == (ROWS, 0, 0)
    assert values <= prepared * ROWS
    assert rows <= placed * ROWS


async def test_numbers_of_rows_with_a_country_are_read_together_too(monkeypatch: pytest.MonkeyPatch) -> None:
    undecided = list[str]()
    monkeypatch.setattr(prepare, "plain_value", lambda _, text: undecided.append(text))
    forms = (
        ("0170 {:07}", "DE"),
        ("0664 {:07}", "at"),
        ("07400 {:06}", "44"),
        ("06 {:08}", "FRA"),
        ("0151 2{:07}", ""),
    )
    rows = [(form.format(number + 1), country) for number in range(200) for form, country in forms]
    job = job_of(ModelService(), [{"phone": phone, "country": each} for phone, each in rows], default_region="DE")
    report = await job.run()
    assert (report.accepted, undecided) == (len(rows), [])
