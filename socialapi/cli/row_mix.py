"""The kinds of rows that a made-up file consists of, in a random order that keeps their shares."""

import random
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

T = TypeVar("T")


def mixed(shares: Mapping[Callable[[], T], int], count: int, rng: random.Random) -> Iterator[T]:
    """So many rows, each made by one of the functions. As many in a row as the shares add up to have exactly these
    shares, in another order every time.
    """
    kinds = [kind for kind, share in shares.items() for _ in range(share)]
    for number in range(count):
        position = number % len(kinds)
        if position == 0:
            rng.shuffle(kinds)
        yield kinds[position]()
