"""Posts as streams and webhooks deliver them: the selected fields, what goes with them, the rules that they match."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from socialapi.emulator.packed import packed_json
from socialapi.emulator.platform.includes import Includes
from socialapi.emulator.platform.post_store import PostRecord
from socialapi.emulator.platform.selection import chosen, selection
from socialapi.emulator.state import State

Fields = Mapping[str, Any]
MatchingRules = Sequence[Mapping[str, str]]

_SELECTING: Final = ("tweet.fields", "expansions", "media.fields", "poll.fields", "user.fields", "place.fields")


class PostShape:
    """What a stream or a link selects. Shapes of the same `key` select the same."""

    def __init__(self, query: Mapping[str, Any]) -> None:
        self._selected = selection(query)
        # Edit history is always delivered (section 6.1).
        self._names = frozenset({*self._selected.post, "edit_history_tweet_ids"})
        self.key = tuple((name, tuple(query[name])) for name in _SELECTING if name in query)

    def encoded(self, state: State, problem_base_url: str, fields: Fields, matching: MatchingRules) -> bytes:
        """The post as one line of JSON, without its end."""
        content: dict[str, Any] = {"data": chosen(fields, self._names)}
        errors: list[Any] = []
        if self._selected.expansions:
            includes = Includes(state, problem_base_url, self._selected)
            includes.add(
                PostRecord(id=fields["id"], author_id=fields["author_id"], created_at=0.0, fields=dict(fields))
            )
            if shown := includes.shown():
                content["includes"] = shown
            errors = includes.errors
        content["matching_rules"] = matching
        if errors:
            content["errors"] = errors
        return packed_json(content)
