"""Routes posts to the streams and webhooks whose rules they match."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import orjson

from socialapi.emulator.platform.deliveries import Deliveries, Outbox
from socialapi.emulator.platform.fan_out import FILTERED_STREAM, Recent, StreamHub, StreamLine
from socialapi.emulator.platform.post_projection import MatchingRules, PostShape, public_metrics
from socialapi.emulator.platform.rule_matching import Matcher, PostFacts, matcher_of
from socialapi.emulator.platform.state import Rule, StreamLink
from socialapi.emulator.platform.streaming import LINE_END, LiveStream
from socialapi.emulator.state import State

Fields = Mapping[str, Any]
Matches = Mapping[str, MatchingRules]
"""The rules that a post matches, by app, in the format of responses."""


@attrs.frozen
class _Compiled:
    """The compiled rules of an app, and the rules they were compiled from."""

    rules: Mapping[int, Rule]
    matchers: Sequence[tuple[Matcher, dict[str, str]]]


class PostRouter:
    """The matching of posts to rules. Also keeps the recent posts that any app would have received."""

    def __init__(self, streams: StreamHub, deliveries: Deliveries, problem_base_url: Callable[[], str]) -> None:
        self._streams = streams
        self._deliveries = deliveries
        self._problem_base_url = problem_base_url
        self._compiled: dict[str, _Compiled] = {}
        self._link_shapes: dict[str, tuple[StreamLink, PostShape]] = {}
        self._recent: Recent[tuple[bytes, Matches]] = Recent()

    def reset(self) -> None:
        """Removes all recent posts and compiled rules."""
        self._compiled.clear()
        self._link_shapes.clear()
        self._recent.clear()

    def lines(self, state: State, fields: Fields, packed: bytes) -> Iterator[StreamLine]:
        """Yields the lines of the post for all recipients. `packed` is the fields of the post as JSON."""
        matches = self._matches(state, fields)
        if not matches:
            return
        self._recent.add(state.clock.now(), (packed, matches))
        for app_key, matching in matches.items():
            by_shape: dict[Any, tuple[PostShape, list[LiveStream], list[Outbox]]] = {}
            for stream in self._streams.of(app_key, FILTERED_STREAM):
                assert stream.shape is not None
                by_shape.setdefault(stream.shape.key, (stream.shape, [], []))[1].append(stream)
            for link in state.platform.links.values():
                webhook = state.platform.webhooks.get(link.webhook_id)
                if link.app_key == app_key and webhook is not None and webhook.valid:
                    found = self._link_shapes.get(link.webhook_id)
                    if found is None or found[0] is not link:
                        found = self._link_shapes[link.webhook_id] = link, PostShape(link.parameters)
                    shape = found[1]
                    by_shape.setdefault(shape.key, (shape, [], []))[2].append(self._deliveries.outbox(webhook))
            for shape, streams, outboxes in by_shape.values():
                yield StreamLine(shape.encoded(state, self._problem_base_url(), fields, matching), streams, outboxes)

    def missed(self, state: State, app_key: str, seconds: float, shape: PostShape) -> Iterator[bytes]:
        """Returns the lines that the app would have received within the last `seconds`."""
        recent = self._recent.since(state.clock.now() - seconds)
        return (
            shape.encoded(state, self._problem_base_url(), orjson.loads(packed), matches[app_key]) + LINE_END
            for packed, matches in recent
            if app_key in matches
        )

    def _matches(self, state: State, fields: Fields) -> Matches:
        def username_of(user_id: str) -> str | None:
            user = state.users.get(user_id)
            return None if user is None else user.username

        def metrics_of(user_id: str) -> Mapping[str, int]:
            user = state.users.get(user_id)
            return {} if user is None else public_metrics(state, user)

        facts = PostFacts(fields, username_of, metrics_of)
        matches: dict[str, MatchingRules] = {}
        for app_key, rules in state.platform.rules.items():
            if found := [shown for matches_rule, shown in self._matchers(app_key, rules) if matches_rule(facts)]:
                matches[app_key] = found
        return matches

    def _matchers(self, app_key: str, rules: Mapping[int, Rule]) -> Sequence[tuple[Matcher, dict[str, str]]]:
        """Returns the compiled rules of an app. Every rule change creates a new mapping, so comparing identities shows
        whether to compile again.
        """
        compiled = self._compiled.get(app_key)
        if compiled is None or compiled.rules is not rules:
            # Clients read the tag of a matching rule without checking whether there is one.
            matchers = [(matcher_of(rule.value), {"id": rule.id, "tag": rule.tag or ""}) for rule in rules.values()]
            compiled = self._compiled[app_key] = _Compiled(rules, matchers)
        return compiled.matchers
