"""Compares the members of an audience with the desired rows, and applies the outcomes of a sync, one bucket at a
time.

A member has two times: the service certainly holds it until `held_until` (column `sure`), and may hold it until
`maybe_held_until` (column `perhaps`). The digests in a bucket that have equal times are packed into one table row.
"""

import itertools
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import attrs

from socialapi.bulk.sync.buckets import BUCKETS, DIGEST_BYTES, Entries, digests_of
from socialapi.bulk.sync.scratch import DUE, Scratch

MEMBERS: Final = """
CREATE TABLE members (kind INTEGER NOT NULL, bucket INTEGER NOT NULL, sure INTEGER NOT NULL, perhaps INTEGER NOT NULL,
digests BLOB NOT NULL, PRIMARY KEY (kind, bucket, sure, perhaps))
"""
DIGESTS_AT_ONCE: Final = 131_072
"""The maximum number of digests, of members and rows, that are compared in one step. Larger buckets are divided."""

ROWS_AT_ONCE: Final = 65_536
"""The number of rows whose outcomes are determined in one step."""

_OF_BUCKETS: Final = "kind = ? AND bucket BETWEEN ? AND ?"
_COUNT: Final = f"SELECT coalesce(sum(length(digests)), 0) / {DIGEST_BYTES} FROM members"  # noqa: S608  # of constants
_SEGMENTS: Final = "SELECT rowid, sure, perhaps, digests FROM members"

Times = tuple[int, int]
"""The time until which the service certainly holds a digest, and the time until which it may hold the digest."""


@attrs.frozen(repr=False)
class Segment:
    """Packed digests with equal times, and the ID of their table row, or None if they are only part of a row."""

    rowid: int | None
    held_until: int
    maybe_held_until: int
    packed: bytes


@attrs.frozen(repr=False)
class Bucket:
    """The members and the desired digests of one kind that begin with the same one or two bytes."""

    kind: int
    prefix: bytes
    segments: Sequence[Segment]
    desired: Entries


def count(connection: sqlite3.Connection, *, after: int = 0) -> int:
    """Returns the number of identifiers that the service holds, or may still hold, after a time."""
    return int(connection.execute(f"{_COUNT} WHERE perhaps > ?", (after,)).fetchone()[0])


def kinds(connection: sqlite3.Connection, scratch: Scratch) -> set[int]:
    """Returns the kinds of the members and of the desired digests."""
    return {*scratch.entries.kinds, *(kind for (kind,) in connection.execute("SELECT DISTINCT kind FROM members"))}


def buckets_of(connection: sqlite3.Connection, scratch: Scratch, kind: int, first: int) -> Iterator[Bucket]:
    """Yields the bucket of digests with this first byte. If it would be too large, yields one bucket for each second
    byte instead.
    """
    where = (kind, _key(bytes((first,))), _key(bytes((first, BUCKETS - 1))))
    members = int(connection.execute(f"{_COUNT} WHERE {_OF_BUCKETS}", where).fetchone()[0])
    desired = scratch.entries.count(kind, first)
    if members + desired > DIGESTS_AT_ONCE:
        yield from _divided(connection, scratch, kind, first)
    elif members or desired:
        found = connection.execute(f"{_SEGMENTS} WHERE {_OF_BUCKETS}", where)
        segments = list(itertools.starmap(Segment, found))
        yield Bucket(kind, bytes((first,)), segments, scratch.entries.read(kind, first))


def _divided(connection: sqlite3.Connection, scratch: Scratch, kind: int, first: int) -> Iterator[Bucket]:
    # Undivided rows of the table never hold more than DIGESTS_AT_ONCE.
    key = _key(bytes((first,)))
    undivided: dict[int, list[Segment]] = {}
    for _, held_until, maybe_held_until, packed in connection.execute(
        f"{_SEGMENTS} WHERE kind = ? AND bucket = ?", (kind, key)
    ):
        for second, digests in itertools.groupby(sorted(digests_of(packed)), key=lambda digest: digest[1]):
            undivided.setdefault(second, []).append(Segment(None, held_until, maybe_held_until, b"".join(digests)))
    with scratch.finer(kind, first) as finer:
        for second in range(BUCKETS):
            key = _key(bytes((first, second)))
            found = connection.execute(f"{_SEGMENTS} WHERE kind = ? AND bucket = ?", (kind, key))
            segments = [*undivided.get(second, ()), *itertools.starmap(Segment, found)]
            yield Bucket(kind, bytes((first, second)), segments, finer.read(kind, second))


def _key(prefix: bytes) -> int:
    """Returns the table key of a bucket. The bucket for a first byte sorts before the buckets for its second bytes."""
    first, *second = prefix
    return first * (1 + BUCKETS) + sum(1 + byte for byte in second)


# Comparing -----------------------------------------------------------------------------------------------------------


def compare(bucket: Bucket, scratch: Scratch, *, now: int, soon: int) -> None:
    """Marks the rows of the bucket that are due, and adds the members to be removed to
    `scratch.removals`.

    A row is due unless the service certainly holds all its digests until `soon`, or until the row's
    expiry if that is earlier.
    """
    distinct = set(digests := digests_of(bucket.desired.packed))
    gone, held, ending, found = list[bytes](), list[list[bytes]](), dict[bytes, int](), 0
    # Segments are compared together if they are held beyond `soon`, or until the same time.
    alike: dict[tuple[int, bool], list[bytes]] = {}
    for segment in bucket.segments:
        alike.setdefault((min(segment.held_until, soon), segment.maybe_held_until > now), []).append(segment.packed)
    for (held_until, is_live), packed in alike.items():
        members = digests_of(b"".join(packed))
        left = list(itertools.filterfalse(distinct.__contains__, members))
        if is_live:
            gone += left
        if held_until >= soon:
            held.append(members)
            found += len(members) - len(left)
        elif held_until:
            ending.update(dict.fromkeys(members, held_until))
    if found < len(distinct):
        _mark(scratch.state, bucket.desired, digests, distinct.difference(*held), ending, soon)
    if gone:
        scratch.removals.append(bucket.kind, sorted(gone))


def _mark(
    state: bytearray,
    desired: Entries,
    digests: Sequence[bytes],
    missing: set[bytes],
    ending: Mapping[bytes, int],
    soon: int,
) -> None:
    if missing.isdisjoint(ending):
        for row in itertools.compress(desired.rows, map(missing.__contains__, digests)):
            state[row] = DUE
        return
    for digest, row, expiry in zip(digests, desired.rows, desired.each_expiry, strict=True):
        if digest in missing and ending.get(digest, 0) < min(expiry, soon):
            state[row] = DUE


# Taking over ---------------------------------------------------------------------------------------------------------

NOT_SENT: Final = 0
IN_DOUBT: Final = 1
ACCEPTED: Final = 2
"""The service accepted the addition or removal."""


@attrs.frozen(repr=False)
class Outcomes:
    """The outcomes of all rows and all removals."""

    rows: bytearray
    removals: bytearray


def outcomes_of(scratch: Scratch, additions: bytearray, removals: bytearray) -> Outcomes:
    """Returns the outcomes of all rows, due or not, and of all removals. Releases the states of the rows."""
    state, scratch.state = scratch.state, bytearray()
    if len(additions) == len(state):
        return Outcomes(additions, removals)
    rows, each = bytearray(), iter(additions)
    for start in range(0, len(state), ROWS_AT_ONCE):
        some = state[start : start + ROWS_AT_ONCE]
        rows += bytes([next(each) if due else NOT_SENT for due in some]) if DUE in some else bytes(len(some))
    return Outcomes(rows, removals)


def take_over(connection: sqlite3.Connection, scratch: Scratch, outcomes: Outcomes, kind: int, first: int) -> int:
    """Applies the outcomes to the members that start with the byte `first`. Returns the number of bytes written."""
    written = 0
    for bucket in buckets_of(connection, scratch, kind, first):
        if bucket.prefix[1:] == b"\0":  # its digests move to the buckets of second bytes
            key = _key(bucket.prefix[:1])
            connection.execute("DELETE FROM members WHERE kind = ? AND bucket = ?", (kind, key))
        written += _take_over(connection, bucket, outcomes, scratch)
    return written


def _take_over(connection: sqlite3.Connection, bucket: Bucket, outcomes: Outcomes, scratch: Scratch) -> int:
    sent = _times_of_sent(bucket.desired, outcomes.rows)
    asked: dict[bytes, int] = {}
    if outcomes.removals:
        first, digests = scratch.removals.of(bucket.kind, bucket.prefix)
        of_removals = zip(digests, outcomes.removals[first : first + len(digests)], strict=True)
        asked = {digest: outcome for digest, outcome in of_removals if outcome != NOT_SENT}
    touched = sent.keys() | asked.keys()
    new: dict[Times, list[bytes]] = {}
    stays = dict[Times, Segment]()
    for segment in bucket.segments:
        members = digests_of(segment.packed)
        left = list(itertools.filterfalse(touched.__contains__, members)) if touched else members
        if segment.rowid is not None and len(left) == len(members):
            stays[segment.held_until, segment.maybe_held_until] = segment
            continue
        _delete(connection, segment)
        new.setdefault((segment.held_until, segment.maybe_held_until), []).extend(left)
        for digest in filter(touched.__contains__, members) if touched else ():
            if digest in sent:
                held_until, maybe_held_until = sent[digest]
                sent[digest] = (held_until, max(maybe_held_until, segment.maybe_held_until))
            elif asked[digest] == IN_DOUBT:
                new.setdefault((0, segment.maybe_held_until), []).append(digest)
    if len(set(sent.values())) == 1:  # the usual case
        new.setdefault(next(iter(sent.values())), []).extend(sent)
    else:
        for digest, times in sent.items():
            new.setdefault(times, []).append(digest)
    for times in stays.keys() & new.keys():
        _delete(connection, stays[times])
        new[times] += digests_of(stays[times].packed)
    rows = [(bucket.kind, _key(bucket.prefix), *times, b"".join(digests)) for times, digests in new.items() if digests]
    connection.executemany("INSERT INTO members VALUES (?, ?, ?, ?, ?)", rows)
    return sum(len(packed) for *_, packed in rows)


def _delete(connection: sqlite3.Connection, segment: Segment) -> None:
    if segment.rowid is not None:
        connection.execute("DELETE FROM members WHERE rowid = ?", (segment.rowid,))


_IS_ACCEPTED: Final = bytes(value == ACCEPTED for value in range(256))
_IS_IN_DOUBT: Final = bytes(value == IN_DOUBT for value in range(256))


def _times_of_sent(desired: Entries, outcomes: bytearray) -> dict[bytes, Times]:
    """Returns the times of the digests whose rows were sent.

    A digest in several rows is held until their earliest expiry if one of the rows was accepted, and maybe held until
    their latest expiry.
    """
    digests = digests_of(desired.packed)
    found = bytes(map(outcomes.__getitem__, desired.rows))
    if desired.expiries is None:
        sent = dict.fromkeys(itertools.compress(digests, found.translate(_IS_IN_DOUBT)), (0, desired.expiry))
        accepted = itertools.compress(digests, found.translate(_IS_ACCEPTED))
        sent.update(dict.fromkeys(accepted, (desired.expiry, desired.expiry)))
        return sent
    ends: dict[bytes, Times] = {}
    for digest, outcome, expiry in zip(digests, found, desired.expiries, strict=True):
        if outcome:
            shortest, longest = ends.get(digest, (expiry, expiry))
            ends[digest] = (min(shortest, expiry), max(longest, expiry))
    is_accepted = set(itertools.compress(digests, found.translate(_IS_ACCEPTED)))
    return {digest: (shortest if digest in is_accepted else 0, longest) for digest, (shortest, longest) in ends.items()}
