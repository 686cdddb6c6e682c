"""Twenty thousand tables of nine programs are read whole; damaged at one place, they lose that row alone or end there."""

import random
from typing import Final

import pytest

from tests.bulk.written_tables import WRITERS, damaged, table, wrong_of, wrong_of_damaged

pytestmark = [pytest.mark.timeout(1_800)]

TABLES: Final = 20_007
AMBIGUOUS: Final = {("csv", 1_516), ("MySQL", 1_617)}
"""Damaged tables with escapes in one or two rows, of which more rows are as wide as the names if backslashes are
characters.
"""


@pytest.mark.parametrize("program", WRITERS)
def test_tables_of_a_program_are_read_whole_and_damaged_ones_never_lose_another_row_in_silence(
    program: str, proof_scale: float
) -> None:
    each = int(TABLES // len(WRITERS) * proof_scale)
    for number in range(each):
        chance = random.Random(f"{program}, proof {number}")
        given = table(chance)
        text = WRITERS[program](given, chance)
        assert wrong_of(given, text) is None, text
        hurt = damaged(text, given, chance)
        assert (program, number) in AMBIGUOUS or wrong_of_damaged(given, hurt) is None, hurt.text
