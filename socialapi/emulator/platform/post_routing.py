"""Routes posts to the streams and webhooks whose rules they match."""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from socialapi.emulator.platform.deliveries import Deliveries, Outbox, Recent
from socialapi.emulator.platform.fan_out import FILTERED_STREAM, RECENT_SECONDS, RECENT_THINGS, StreamHub, StreamLine
from socialapi.emulator.platform.post_projection import MatchingRules, PostShape, public_metrics
from socialapi.emulator.platform.rule_matching import PostFacts
from socialapi.emulator.platform.streaming import LINE_END, LiveStream
from socialapi.emulator.state import State

Fields = Mapping[str, Any]
Matches = Mapping[str, MatchingRules]
"""The rules that a post matches, by app, in the format of responses."""


class PostRouter:
    """The matching of posts to rules. Also keeps the recent posts that any app would have received."""

    def __init__(self, streams: StreamHub, deliveries: Deliveries) -> None:
        self._streams = streams
        self._deliveries = deliveries
        self._recent: Recent[tuple[bytes, Matches]] = Recent(RECENT_SECONDS, RECENT_THINGS)

    def reset(self) -> None:
        """Removes all recent posts."""
        self._recent.clear()

    def lines(self, state: State, fields: Fields, packed: bytes) -> Iterator[StreamLine]:
        """Yields the lines of the post for all recipients. `packed` holds the fields of the post as JSON."""
        matches = _matches(state, fields)
        if not matches:
            return
        self._recent.add(state.clock.now(), (packed, matches))
        for app_key, matching in matches.items():
            by_shape: dict[Any, tuple[PostShape, list[LiveStream], list[Outbox]]] = {}
            for stream in self._streams.of(app_key, FILTERED_STREAM):
                assert stream.shape is not None
                by_shape.setdefault(stream.shape.key, (stream.shape, [], []))[1].append(stream)
            for webhook_id, parameters in state.platform.links.items():
                webhook = state.platform.webhooks[webhook_id]
                if webhook.app_key == app_key:  # an invalid one gets the post only in a replay
                    shape = PostShape(parameters)
                    by_shape.setdefault(shape.key, (shape, [], []))[2].append(self._deliveries.outbox(webhook))
            for shape, streams, outboxes in by_shape.values():
                yield StreamLine(shape.encoded(state, fields, matching), streams, outboxes)

    def missed(self, state: State, app_key: str, seconds: float, shape: PostShape) -> Iterator[bytes]:
        """Returns the lines that the app would have received within the last `seconds`."""
        recent = self._recent.between(state.clock.now() - seconds)
        return (
            shape.encoded(state, orjson.loads(packed), matches[app_key]) + LINE_END
            for packed, matches in recent
            if app_key in matches
        )


def _matches(state: State, fields: Fields) -> Matches:
    def username_of(user_id: str) -> str | None:
        user = state.users.get(user_id)
        return None if user is None else user.username

    def metrics_of(user_id: str) -> Mapping[str, int]:
        user = state.users.get(user_id)
        return {} if user is None else public_metrics(state, user)

    facts = PostFacts(fields, username_of, metrics_of)
    matches: dict[str, MatchingRules] = {}
    for app_key, rules in state.platform.rules.items():
        # Clients read the tag of a matching rule without checking whether there is one.
        if found := [{"id": rule.id, "tag": rule.tag or ""} for rule in rules.values() if rule.matches(facts)]:
            matches[app_key] = found
    return matches
