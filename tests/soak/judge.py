"""What has to be true after a soak: nothing is lost, and nothing grows. Pure functions over what
was collected.
"""

import csv
import json
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

MEGABYTE: Final = 1_000_000
WARM_UP: Final = 0.2
WINDOWS: Final = 10
MAX_GROWTH_BYTES: Final = 5 * MEGABYTE
MAX_GROWTH_SHARE: Final = 0.03
COUNTS: Final = ("descriptors", "sockets", "tasks", "threads")
MAX_GROWTH_COUNT: Final = 3
"""How much a count may rise, by the moments at which it is taken."""
RISING: Final = 0.75
"""The share of all pairs of windows by which more rise than fall (Kendall's tau) from which on
there is a trend. Without one, ten windows reach it once in a thousand soaks.
"""
MAX_GROWTH_OBJECTS: Final = 10_000
MAX_GROWTH_SHARE_OBJECTS: Final = 0.1
"""Objects are counted now and then, and some thousands belong to the jobs that happen to be under way: 3 to 5 % more
were counted in soaks of minutes. A leak of one object for each operation is more than this after a quarter of an hour.
"""
MAX_GROWTH_FILE_BYTES: Final = 1 * MEGABYTE
"""What the journals and snapshots of the jobs that happen to be under way may differ by."""
BYTES_OF_EVENT: Final = 150
"""What the inbox keeps of an event that was handled, whose identity it remembers: 55 to 65 bytes were measured."""
BETWEEN_FIFTHS: Final = 0.4
"""The share of the time between the middle of the middle fifth and that of the last one."""
MAX_GAP_SHARE: Final = 0.6
"""The share of the time that the gaps of a stream may cover. Streams are ended or left every 15 s, which each time costs
the margin of 2 s and another connection: 18 to 30 % were measured, and twice as much in soaks of seconds.
"""
MAX_GAP_SECONDS: Final = 120.0
"""The longest gap: silence of 12 s, and the waits after four refusals in a row (5, 10, 20, 40 s) with their attempts."""
OF_STREAMS: Final = "stream: "
"""The beginning of what is told of streams that ended with an error."""
COVERED_SECONDS: Final = 60.0
"""A gap that is no longer than this is filled by a backfill, whatever the emulator's clock was
moved by meanwhile.
"""
LONG_LINE_ID: Final = "1"
STREAMS: Final = {"posts": "post", "posts with backfill": "post", "activity": "event"}
BACKFILLED: Final = frozenset({"posts with backfill"})
EXPECTED_RECORDS: Final = (
    "connecting again in",
    "the signature does not match",
    "was not renewed",
    "is read more slowly",
)
"""Parts of the warnings that faults of the service give reason for."""


@attrs.frozen
class Published:
    """A post or an event, and the time in which it was published."""

    kind: str
    id: str
    began: float
    ended: float


@attrs.frozen(kw_only=True)
class Outcome:
    """Everything that a soak has left."""

    seed: int
    published: Sequence[Published]
    notes: Sequence[Sequence[Any]]
    """What the client noted: its kind, and its values."""
    samples: Sequence[Mapping[str, float]]
    faults: Mapping[str, int]
    events: Mapping[str, int]
    ledger: Mapping[str, Any]
    ended: Mapping[str, Any] | None
    """What the client told at its end, if it got there."""

    @classmethod
    def collected(cls, folder: Path, **others: Any) -> "Outcome":
        """Reads what the client has written."""
        notes, samples = folder / "notes.jsonl", folder / "samples.csv"
        lines = notes.read_bytes().rpartition(b"\n")[0].splitlines() if notes.exists() else []
        measured = samples_of(samples) if samples.exists() else []
        return cls(notes=[json.loads(line) for line in lines], samples=measured, **others)

    def noted(self, kind: str) -> list[Sequence[Any]]:
        return [note[1:] for note in self.notes if note[0] == kind]


def samples_of(path: Path) -> list[dict[str, float]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if None not in row.values()]
    return [{name: float(value) for name, value in row.items()} for row in rows]


def broken_rules(outcome: Outcome) -> list[str]:
    """A sentence for each rule that does not hold."""
    found = [f"{name}: {text}" for name, text in outcome.noted("broken")]
    if outcome.ended is None:
        return [*found, "the client did not come to its end: see what it wrote to standard error"]
    return [
        *found,
        *_of_deliveries(outcome),
        *_of_webhooks(outcome),
        *_of_leftovers(outcome.ended),
        *_of_stream_errors(outcome),
        *_of_growth(outcome.samples),
        *_of_more_growth(outcome.samples, outcome.ended["done"].get("events handled", 0)),
    ]


# Streams and webhooks --------------------------------------------------------------------------------------------------


def expected(outcome: Outcome) -> list[Published]:
    """Everything that was published, by the conductor and by the client.

    A post whose creation had an unknown outcome is among them if anybody has seen it.
    """
    created = [Published("post", post_id, *times) for post_id, _, *times in outcome.noted("created")]
    seen = {text: item_id for _, _, item_id, text in outcome.noted("item")}
    seen |= {text: item_id for item_id, text in outcome.noted("handled")}
    unsure = [Published("post", seen[text], *times) for text, *times in outcome.noted("unsure") if text in seen]
    return [*outcome.published, *created, *unsure]


def _of_deliveries(outcome: Outcome) -> Iterator[str]:
    everything = expected(outcome)
    gaps: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for stream, started, ended, _ in outcome.noted("gap"):
        gaps[stream].append((started, ended))
    items: dict[str, Counter[tuple[int, str]]] = defaultdict(Counter)
    for stream, session, item_id, _ in outcome.noted("item"):
        items[stream][session, item_id] += 1
    yield from _of_gaps(outcome.published, gaps)
    for stream, kind in STREAMS.items():
        wanted = [each for each in everything if each.kind == kind]
        arrived = {item_id for _, item_id in items[stream]}
        least = COVERED_SECONDS if stream in BACKFILLED else 0.0
        lost = [each for each in wanted if each.id not in arrived and not _is_in_a_gap(each, gaps[stream], least)]
        if lost:
            yield f"the stream of {stream} lost {len(lost)} of {len(wanted)}, such as {lost[0]}, and told of no gap"
        if unknown := arrived - {each.id for each in wanted} - {LONG_LINE_ID}:
            yield f"the stream of {stream} brought {len(unknown)} that nobody published, such as {min(unknown)}"
        twice = [key for key, count in items[stream].items() if count > 1 and key[1] != LONG_LINE_ID]
        if twice:
            yield f"the stream of {stream} brought {len(twice)} more than once, such as {twice[0][1]}"
        if not arrived & {each.id for each in wanted}:
            yield f"the stream of {stream} brought nothing"
    yield from _of_refused_posts(outcome)


def _is_in_a_gap(published: Published, gaps: Iterable[tuple[float, float]], least: float) -> bool:
    return any(
        started <= published.ended and published.began <= ended and ended - started > least for started, ended in gaps
    )


def _of_gaps(published: Sequence[Published], gaps: Mapping[str, Iterable[tuple[float, float]]]) -> Iterator[str]:
    """A stream that tells of gaps all the time would never lose anything."""
    if not published:
        return
    first, last = published[0].began, published[-1].ended
    for stream, told in gaps.items():
        within = [
            (max(started, first), min(ended, last)) for started, ended in told if ended > first and started < last
        ]
        longest = max((ended - started for started, ended in within), default=0.0)
        if longest > MAX_GAP_SECONDS:
            yield f"the stream of {stream} told of a gap of {longest:.0f} s"
        share = _covered(within) / (last - first)
        if share > MAX_GAP_SHARE:
            yield f"the gaps of the stream of {stream} are {share:.0%} of the time"


def _covered(spans: Iterable[tuple[float, float]]) -> float:
    """How many seconds are in any of the spans."""
    seconds, reached = 0.0, 0.0
    for started, ended in sorted(spans):
        seconds += max(0.0, ended - max(started, reached))
        reached = max(reached, ended)
    return seconds


def _of_stream_errors(outcome: Outcome) -> Iterator[str]:
    """A stream connects again for ever. Only a token that is invalidated twice while it does may end it."""
    found = (outcome.ended or {})["errors"]
    errors = {name: count for name, count in found.items() if name.startswith(OF_STREAMS)}
    refused = errors.pop(f"{OF_STREAMS}Unauthorized", 0)
    if refused > outcome.events.get("app-only tokens invalidated", 0):
        yield f"streams ended with Unauthorized {refused} times, more often than a token was invalidated"
    if errors:
        yield f"streams ended with errors: {errors}"


def _of_refused_posts(outcome: Outcome) -> Iterator[str]:
    refused = {text for text, *_ in outcome.noted("refused")}
    seen = {text for _, text in outcome.noted("handled")} | {text for *_, text in outcome.noted("item")}
    if refused & seen:
        yield f"{len(refused & seen)} posts exist that the client was told had been refused"


def _of_webhooks(outcome: Outcome) -> Iterator[str]:
    everything = {each.id for each in expected(outcome)}
    handled = Counter(item_id for item_id, _ in outcome.noted("handled"))
    if missing := everything - handled.keys():
        yield f"{len(missing)} of {len(everything)} events were never handled, such as {min(missing)}"
    if twice := [item_id for item_id, count in handled.items() if count > 1]:
        yield f"{len(twice)} events were handled more than once, such as {twice[0]}"
    if unknown := handled.keys() - everything:
        yield f"{len(unknown)} events were handled that nobody published, such as {min(unknown)}"
    forgeries = [each["forgeries"] for each in outcome.ledger["deliveries"].values()]
    if outcome.noted("forged") or any(each["accepted"] for each in forgeries):
        yield "forged events were accepted"


# What is left, and what grows ------------------------------------------------------------------------------------------


def _of_leftovers(ended: Mapping[str, Any]) -> Iterator[str]:
    before, after = ended["before"], ended["after"]
    if after["threads"] > before["threads"]:
        yield f"after closing there are {after['threads']} threads, and {before['threads']} at the start"
    if len(after["tasks"]) > len(before["tasks"]):
        yield f"after closing there are tasks: {', '.join(after['tasks'])}"
    left = Counter(_kind(each) for each in after["descriptors"]) - Counter(
        _kind(each) for each in before["descriptors"]
    )
    if left:
        yield f"after closing descriptors are open that were not at the start: {dict(left)}"
    for each in ended["unhandled"]:
        yield f"an error that nobody took: {each}"
    for record in ended["records"]:
        if not record.startswith("WARNING") or not any(part in record for part in EXPECTED_RECORDS):
            yield f"an unexpected record in the log: {record}"


def _kind(descriptor: str) -> str:
    return descriptor.partition(":[")[0]


def windows(values: Sequence[float], count: int = WINDOWS) -> list[float]:
    """The medians of as many equal parts after the warm-up."""
    rest = values[int(len(values) * WARM_UP) :]
    size = len(rest) / count
    return [statistics.median(rest[int(number * size) : int((number + 1) * size)]) for number in range(count)]


def tendency(values: Sequence[float]) -> float:
    """Kendall's tau: 1 if each value is above all before it, -1 if below, about 0 if there is no
    trend.
    """
    pairs = [(values[i], values[j]) for i in range(len(values)) for j in range(i + 1, len(values))]
    return sum((later > earlier) - (later < earlier) for earlier, later in pairs) / len(pairs)


def growth(samples: Sequence[Mapping[str, float]], name: str) -> tuple[float, float]:
    """The medians of a measure in the middle fifth and in the last fifth."""
    values = [sample[name] for sample in samples]
    fifth = max(1, len(values) // 5)
    return statistics.median(values[2 * fifth : 3 * fifth]), statistics.median(values[-fifth:])


def _of_growth(samples: Sequence[Mapping[str, float]]) -> Iterator[str]:
    if len(samples) < 2 * WINDOWS:
        yield f"there are only {len(samples)} samples"
        return
    middle, last = growth(samples, "resident_bytes")
    if last - middle > max(MAX_GROWTH_BYTES, MAX_GROWTH_SHARE * middle):
        yield f"memory grows: {middle / MEGABYTE:.1f} MB in the middle, {last / MEGABYTE:.1f} MB in the last fifth"
    for name in COUNTS:
        parts = windows([sample[name] for sample in samples])
        if tendency(parts) > RISING and parts[-1] - parts[0] > MAX_GROWTH_COUNT:
            shown = ", ".join(f"{each:.0f}" for each in parts)
            yield f"{name} grow: the medians of {WINDOWS} windows after the warm-up are {shown}"


def _of_more_growth(samples: Sequence[Mapping[str, float]], handled: int) -> Iterator[str]:
    if len(samples) < 2 * WINDOWS:
        return
    middle, last = growth(samples, "objects")
    if last - middle > max(MAX_GROWTH_OBJECTS, MAX_GROWTH_SHARE_OBJECTS * middle):
        yield f"objects grow: {middle:,.0f} in the middle, {last:,.0f} in the last fifth"
    middle, last = growth(samples, "file_bytes")
    if last - middle > MAX_GROWTH_FILE_BYTES + BYTES_OF_EVENT * BETWEEN_FIFTHS * handled:
        yield f"files grow: {middle / MEGABYTE:.1f} MB in the middle, {last / MEGABYTE:.1f} MB in the last fifth"


# The summary -----------------------------------------------------------------------------------------------------------


def summary(outcome: Outcome) -> str:
    """What was done and measured, as text."""
    ended = outcome.ended or {"done": {}, "errors": {}, "records": {}}
    parts = [
        _table("Operations", ended["done"]),
        _table("Errors that callers were told of", ended["errors"]),
        _table("Faults played", {**outcome.faults, "forged deliveries": _forgeries(outcome)}),
        _table("Beside them", {**outcome.events, "published": len(outcome.published), **_tokens(outcome)}),
        _table("Requests", Counter(_requests(outcome))),
        _table("Warnings in the log", ended["records"]),
        _measures(outcome.samples),
    ]
    return "\n\n".join(part for part in parts if part)


def _requests(outcome: Outcome) -> dict[str, int]:
    answers = outcome.ledger["requests"].values()
    return {name: sum(each[name] for each in answers) for name in ("accepted", "refused", "unanswered")}


def _forgeries(outcome: Outcome) -> int:
    return sum(each["forgeries"]["sent"] for each in outcome.ledger["deliveries"].values())


def _tokens(outcome: Outcome) -> dict[str, int]:
    answers = outcome.ledger["requests"]
    return {
        f"tokens by {path}": int(answers[f"POST {path}"]["accepted"])
        for path in ("/2/oauth2/token", "/oauth2/token")
        if f"POST {path}" in answers
    }


def _table(title: str, counts: Mapping[str, int]) -> str:
    rows = [f"  {count:>10,}  {name}" for name, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))]
    return "\n".join([f"{title}:", *rows]) if rows else ""


def _measures(samples: Sequence[Mapping[str, float]]) -> str:
    if len(samples) < 2 * WINDOWS:
        return ""
    lines = [
        f"Measures, and the rank correlation of {WINDOWS} windows with time (1: each above all before it, -1: below):",
        f"  {'':<20}  middle fifth    last fifth       highest   correlation",
    ]
    for name in samples[0]:
        if name == "seconds":
            continue
        middle, last = growth(samples, name)
        values = [sample[name] for sample in samples]
        unit, scale, digits = ("MB", MEGABYTE, 2) if name.endswith("_bytes") else ("", 1, 3 if "lag" in name else 0)
        title = name.removesuffix("_bytes") if unit else name
        shown = (f"{value / scale:>13,.{digits}f}" for value in (middle, last, max(values)))
        lines.append(
            f"  {f'{title}, {unit}' if unit else title:<20} {' '.join(shown)}   {tendency(windows(values)):+5.2f}"
        )
    return "\n".join(lines)
