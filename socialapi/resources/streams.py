"""Stream rules, persistent streams, activity subscriptions and connections."""

import datetime
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

import attrs

from socialapi.errors import ApiError, DecodeError, InvalidInput, OutcomeUnknown, ServerError
from socialapi.models.events import (
    ActivityEvent,
    Direction,
    EventType,
    MatchedPost,
    Streamed,
    Subscription,
    current_event_type,
    refuse_misspelled_event_type,
)
from socialapi.models.pages import Page
from socialapi.models.queries import Fields, selected_by
from socialapi.models.streams import Connection, EndedConnections, RuleDraft, RulesChange, StreamRule
from socialapi.models.validation import Faults, invalid, printable_name
from socialapi.models.webhooks import StreamLink
from socialapi.problems import (
    BrokenRule,
    DuplicateRules,
    InvalidRules,
    NoncompliantRules,
    Problem,
    RuleCap,
    ServiceError,
)
from socialapi.resources.arguments import check_argument, check_further
from socialapi.resources.resource import Resource, as_iterable, flatten, without_none
from socialapi.routes import platform as routes
from socialapi.routes.route import Route
from socialapi.session.pager import Pager
from socialapi.streams.link import LinkOptions, OnGap, OnSlow
from socialapi.streams.stream import Stream
from socialapi.wire.events import checked_paths
from socialapi.wire.request import check, id_list

MAX_AT_ONCE: Final = 100
"""The maximum number of rules that one request adds or deletes."""
MAX_ROUNDS: Final = 5
"""How many times `ensure_rules` reads and changes the rules while another process is changing them too."""

_OF_RULES: Final = (DuplicateRules, InvalidRules, NoncompliantRules, RuleCap)
_MAY_PASS: Final = (DuplicateRules, RuleCap)
"""Rejections that may be resolved by deleting other rules, or that mean that the rule exists."""

T = TypeVar("T")
Key = tuple[str, str]
Refusals = list[Problem | ServiceError]


def wanted_drafts(wanted: Any, now: datetime.datetime) -> dict[Key, RuleDraft]:
    """Returns the rules by value and tag, without duplicates. Raises InvalidInput for anything that is not a rule."""
    given = [wanted] if isinstance(wanted, str | RuleDraft | Mapping) else wanted
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        raise InvalidInput("wanted must be rules, as strings or RuleDraft objects")
    rules: list[Any] = []
    for number, rule in enumerate(given):
        if not isinstance(rule, str | RuleDraft | Mapping):
            raise InvalidInput(f"wanted[{number}] must be a string or a RuleDraft, not {type(rule).__name__}")
        rules.append({"value": rule} if isinstance(rule, str) else rule)
    shapes = check(RulesChange, {"add": rules}, now=now)["add"] if rules else []
    drafts = [RuleDraft(**shape) if shape.get("tag") else RuleDraft(shape["value"]) for shape in shapes]
    return {(draft.value, draft.tag or ""): draft for draft in drafts}


@attrs.frozen
class WantedRules:
    """Reads the rules, adds missing ones and deletes unwanted ones until there is nothing left to do."""

    stream: "FilteredStream"
    drafts: Mapping[Key, RuleDraft]
    remove_others: bool
    _duplicates: dict[Key, str | None] = attrs.field(init=False, factory=dict)
    """The drafts that the service rejected as duplicates, with the id of the existing rule. That rule may
    have a different value, because the service may reformat what it stores.
    """
    _added: set[Key] = attrs.field(init=False, factory=set)
    """The drafts that were added. If one is missing later, the service has stored it with a different tag."""

    async def ensure(self) -> tuple[StreamRule, ...]:
        """Returns all rules in their final state.

        Raises ApiError for rejected rules. Raises DecodeError if rules must be deleted and one cannot be decoded.
        """
        refused: Refusals = []
        for rounds_left in reversed(range(MAX_ROUNDS)):
            rules = await self._rules()
            present = {_key(rule) for rule in rules} | {key for rule in rules for key in self._duplicates_of(rule)}
            missing = [draft for key, draft in self.drafts.items() if key not in present]
            others = self._others(rules) if self.remove_others else []
            if not missing and not others:
                return tuple(rules)
            tagged = self._tagged_otherwise(rules, missing)
            if (refused and missing) or (tagged and not self._added.isdisjoint(map(_key, missing))):
                raise _error(refused, tagged)
            try:
                refused = await self._change(missing, others)
            except (OutcomeUnknown, ServerError):
                if not rounds_left:
                    raise
        raise _error(refused)

    async def _change(self, missing: Sequence[RuleDraft], others: Sequence[StreamRule]) -> Refusals:
        """Adds rules, then deletes rules. Returns the rejections that the deletions may not have resolved."""
        refused = await self._add(missing)
        self._added.update([] if refused else map(_key, missing))
        if not all(isinstance(each, _MAY_PASS) for each in refused):
            raise _error(refused)
        for each in refused:
            if isinstance(each, DuplicateRules):
                self._duplicates.update({_key(draft): each.id for draft in missing if _is_same(draft, each, missing)})
        others = [rule for rule in others if not self._duplicates_of(rule)]
        await self._delete(others)
        return [] if others else refused

    def _duplicates_of(self, rule: StreamRule) -> list[Key]:
        """Returns the drafts that the service stores as this rule, under the same tag."""
        return [
            (value, tag)
            for (value, tag), rule_id in self._duplicates.items()
            if tag == (rule.tag or "")
            and (rule.id == rule_id if rule_id is not None else _tidy(rule.value) == _tidy(value))
        ]

    def _tagged_otherwise(self, rules: Sequence[StreamRule], missing: Sequence[RuleDraft]) -> str | None:
        """Returns a hint about the first rule that exists with a different tag."""
        for draft in missing:
            known = self._duplicates.get(_key(draft))
            for rule in rules:
                if (rule.tag or "") == (draft.tag or ""):
                    continue
                if rule.id == known if known is not None else _tidy(rule.value) == _tidy(draft.value):
                    tag = f"the tag {printable_name(rule.tag)!r}" if rule.tag else "no tag"
                    how = "" if self.remove_others else ", or replace it with remove_others=True"
                    return f"rule {rule.id} is the same rule with {tag}: request it with {tag}{how}"
        return None

    def _others(self, rules: Sequence[StreamRule]) -> list[StreamRule]:
        """Returns the rules to delete. Raises DecodeError if one of them has no id."""
        others = [rule for rule in rules if _key(rule) not in self.drafts and not self._duplicates_of(rule)]
        if any(rule.id is None for rule in others):
            raise DecodeError("data.id", "is missing, so the rule cannot be deleted")
        return others

    async def _rules(self) -> list[StreamRule]:
        rules: list[StreamRule] = []
        async for page in self.stream.rules().pages():
            for unread in page.undecoded:
                if self.remove_others:
                    raise DecodeError(unread.path, f"{unread.reason}, so the rule cannot be deleted")
            rules += page.data
        return rules

    async def _add(self, drafts: Sequence[RuleDraft]) -> Refusals:
        refused: Refusals = []
        for part in _parts(drafts):
            try:
                refused += (await self.stream.add_rules(part)).errors
            except ApiError as problem:
                if not any(isinstance(each, _OF_RULES) for each in problem.problems):
                    raise
                refused += [*problem.problems, *problem.errors]
        return refused

    async def _delete(self, rules: Sequence[StreamRule]) -> None:
        for part in _parts([rule.id for rule in rules]):
            try:
                await self.stream.delete_rules(part)
            except ApiError as problem:
                if not problem.problems or not all(each.says_not_found for each in problem.problems):
                    raise


def _key(rule: StreamRule | RuleDraft) -> Key:
    return rule.value, rule.tag or ""


def _is_same(draft: RuleDraft, refusal: DuplicateRules, sent: Sequence[RuleDraft]) -> bool:
    """Returns whether a rejection concerns this draft."""
    return len(sent) == 1 or (refusal.value is not None and _tidy(refusal.value) == _tidy(draft.value))


def _tidy(value: str) -> str:
    return " ".join(value.split())


def _parts(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (items[start : start + MAX_AT_ONCE] for start in range(0, len(items), MAX_AT_ONCE))


def _error(refused: Refusals, hint: str | None = None) -> ApiError:
    error = ApiError(
        200,
        problems=[each for each in refused if isinstance(each, Problem)],
        errors=[each for each in refused if isinstance(each, ServiceError)],
        summary=""
        if refused
        else "the stored rules differ from the wanted ones"
        if hint
        else "another process kept changing the rules",
    )
    error.hint = hint
    return error


AnyRule = str | RuleDraft | Mapping[str, Any]
"""A rule: its value, a `RuleDraft` with value and tag, or a mapping with both."""


class _Streaming(Resource):
    """A resource with a persistent stream."""

    def _stream(
        self,
        route: Route[Streamed[T]],
        query: Mapping[str, Any],
        options: LinkOptions,
        event_id_paths: str | Sequence[str] | None,
        faults: Faults,
    ) -> Stream[T]:
        """Returns a stream. Raises InvalidInput with the errors in its options and those in `faults`."""
        for name, kind in typing.get_type_hints(LinkOptions).items():
            with faults:
                check_argument(name, kind, getattr(options, name))
        seconds = options.give_up_after_seconds
        if isinstance(seconds, int | float) and not seconds >= 0:  # true for NaN, too
            with faults:
                raise invalid("give_up_after_seconds", "must be 0 or more")
        with faults:
            checked_paths(event_id_paths)
        if faults:
            self._refuse(faults, route.at(), query)
        return Stream(self._session, route.at(), query, self._options, options, event_id_paths=event_id_paths)


class FilteredStream(_Streaming):
    """The app's filtered stream and its rules."""

    async def link(self, webhook_id: str | int, *, fields: Fields | None = None) -> StreamLink:
        """Links the stream to a webhook, which then receives the matching posts with these fields
        (`POST /2/tweets/search/webhooks/:webhook_id`).

        Returns whether the link is `provisioned`, and any problems. Not retried if its outcome is unknown.
        """
        return await self._call(routes.STREAM_LINK, query=selected_by(fields), webhook_id=webhook_id)

    def connect(
        self,
        fields: Fields | None = None,
        *,
        backfill_minutes: int | None = None,
        on_gap: OnGap | None = None,
        on_slow: OnSlow | None = None,
        give_up_after_seconds: float | None = None,
        event_id_paths: str | Sequence[str] | None = None,
        **further: Any,
    ) -> Stream[MatchedPost]:
        """Returns the stream of posts that match the app's rules, with these fields (`GET /2/tweets/search/stream`).

            async with client.filtered_stream.connect(Fields(post=["author_id"])) as posts:
                async for post in posts: ...

        `on_gap` is called with each period in which nothing could arrive; it may be async and is awaited. `on_slow` is
        called if posts are processed more slowly than they arrive. `backfill_minutes` (1 to 5) makes every connection
        start that many minutes in the past; repeated posts are dropped. `give_up_after_seconds` ends the stream after
        that time without a connection; by default it reconnects forever. `event_id_paths` are dotted paths to the id
        that identifies a post, instead of `data.id`; if given, repeated posts are dropped even without a backfill.
        Other parameters are sent as given. Raises InvalidInput for a misspelled parameter. `Stream` lists the errors of
        iteration.
        """
        query, faults = {"backfill_minutes": backfill_minutes, **further}, Faults()
        with faults:
            check_further(self.connect, further)
        with faults:
            query = {**selected_by(fields), **query}
        options = LinkOptions(on_gap=on_gap, on_slow=on_slow, give_up_after_seconds=give_up_after_seconds)
        return self._stream(routes.POST_STREAM, query, options, event_id_paths, faults)

    def rules(
        self, *, ids: str | int | Iterable[str | int] | None = None, start: str | None = None
    ) -> Pager[StreamRule]:
        """Returns the app's rules, or those with the given ids (`GET /2/tweets/search/stream/rules`).

        `start` is a stored `Pager.position`. Raises InvalidInput for an invalid id.
        """
        query = {"ids": None if ids is None else id_list("ids", ids)}
        return self._pages(routes.STREAM_RULES, query=query, start=start)

    async def add_rules(self, *rules: "AnyRule | Iterable[AnyRule]", dry_run: bool = False) -> Page[StreamRule]:
        """Adds rules of up to 2,048 characters, given one by one or as iterables
        (`POST /2/tweets/search/stream/rules`).

        `dry_run` only tests them. The returned page contains the added rules. Its `errors` contains the problems of the
        other rules (duplicate, invalid, noncompliant or over the cap), and `meta["summary"]` counts both. Raises
        InvalidInput for a rule that is empty or too long, and ApiError with the problems if no rule was added.
        """
        drafts = [{"value": rule} if isinstance(rule, str) else rule for rule in flatten(rules)]
        return await self._change({"add": drafts}, dry_run=dry_run)

    async def delete_rules(
        self, *ids: str | int | Iterable[str | int], values: str | Iterable[str] = (), dry_run: bool = False
    ) -> Page[StreamRule]:
        """Deletes the rules with the given ids, one by one or as iterables, or with the given values
        (`POST /2/tweets/search/stream/rules`).

        `meta["summary"]` of the returned page counts them. `dry_run` only tests the request. Raises
        InvalidInput if there are neither ids nor values.
        """
        faults = Faults()
        with faults:
            check_argument("dry_run", bool, dry_run)
        given = {"ids": flatten(ids), "values": tuple(as_iterable(values))}
        chosen = {name: each for name, each in given.items() if each}
        if not chosen:
            missing = BrokenRule(path="delete.ids", reason="needs the ids of the rules, or `values`")
            with faults:
                raise InvalidInput("delete_rules got no rule to delete", [missing])
        faults.refuse()
        return await self._change({"delete": chosen}, dry_run=dry_run)

    async def ensure_rules(
        self, wanted: AnyRule | Iterable[AnyRule], *, remove_others: bool = False
    ) -> tuple[StreamRule, ...]:
        """Adds the missing rules and returns all rules in their final state
        (`GET /2/tweets/search/stream/rules`, `POST /2/tweets/search/stream/rules`).

        Call it at every start: existing rules stay as they are. Rules are compared by value and tag; no tag equals an
        empty one. If the service calls a rule a duplicate, the rule counts as existing, even if its stored text
        differs. If it exists with a different tag, the error names the rule and its tag. `remove_others` deletes all
        other rules after the additions. It deletes a rule before the additions if its value is wanted with a different
        tag, or if the app is at its cap.

        Raises InvalidInput for a rule that is empty or too long before it sends anything, and ApiError with the
        `problems` of rejected rules. If rules must be deleted and one cannot be decoded, raises DecodeError before it
        changes anything.
        """
        faults, drafts = Faults(), dict[Key, RuleDraft]()
        with faults:
            check_argument("remove_others", bool, remove_others)
        with faults:
            drafts = wanted_drafts(wanted, self._session.now())
        faults.refuse()
        return await WantedRules(self, drafts, remove_others).ensure()

    async def _change(self, change: Mapping[str, Any], *, dry_run: bool) -> Page[StreamRule]:
        query = {"dry_run": None if dry_run is False else dry_run}
        return await self._call(routes.STREAM_RULES_CHANGE, query=query, body=change)


class Activity(_Streaming):
    """Activity subscriptions and their events."""

    def stream(
        self,
        *,
        backfill_minutes: int | None = None,
        on_gap: OnGap | None = None,
        on_slow: OnSlow | None = None,
        give_up_after_seconds: float | None = None,
        event_id_paths: str | Sequence[str] | None = None,
        **further: Any,
    ) -> Stream[ActivityEvent]:
        """Returns the stream of subscribed activity events (`GET /2/activity/stream`).

            async with client.activity.stream() as events:
                async for event in events: ...

        The options are the same as for `filtered_stream.connect`. `event_id_paths` are dotted paths to ids, tried in
        order, instead of `data.event_uuid`, `event_uuid`, `data.event_id`, `event_id` and `id`.
        """
        faults = Faults()
        with faults:
            check_further(self.stream, further)
        query = {"backfill_minutes": backfill_minutes, **further}
        options = LinkOptions(on_gap=on_gap, on_slow=on_slow, give_up_after_seconds=give_up_after_seconds)
        return self._stream(routes.ACTIVITY_STREAM, query, options, event_id_paths, faults)

    async def subscribe(
        self,
        event_type: EventType | str,
        *,
        user_id: str | int | None = None,
        keyword: str | None = None,
        direction: Direction | None = None,
        **further: Any,
    ) -> Subscription:
        """Subscribes to events of a type and returns the subscription (`POST /2/activity/subscriptions`).

        `user_id` (required) is the user whose events are delivered. `keyword` limits them further, and `direction`
        selects messages (sent, received or both). A user's OAuth 2.0 token needs the scope of the event, for example
        `dm.read`. An alias of an event type (`profile.update.picture`) is replaced by the published name. So is a
        deprecated name, with a DeprecationWarning that names the new one. Raises InvalidInput for a misspelled type;
        sends other unknown names as given.
        """
        faults, known_type = Faults(), event_type
        with faults:
            check_further(self.subscribe, further)
        with faults:
            check_argument("event_type", str, event_type)
            refuse_misspelled_event_type(event_type)
            known_type = current_event_type(event_type)
        chosen = without_none(user_id=user_id, keyword=keyword, direction=direction)
        body = {**further, "event_type": known_type, "filter": chosen}
        return await self._call(routes.SUBSCRIPTION_CREATE, body=body, faults=faults)


class Connections(Resource):
    """The app's streaming connections."""

    def list(self, *, start: str | None = None, **further: Any) -> Pager[Connection]:
        """Returns active and past connections (`GET /2/connections`). `further` parameters are sent as given."""
        check_further(self.list, further)
        return self._pages(routes.CONNECTIONS, query=further, start=start)

    async def end(self, *uuids: str | Iterable[str]) -> EndedConnections:
        """Ends the connections with these UUIDs, given one by one or as iterables (`DELETE /2/connections`).

        Returns the ended connections; connections that are not active are in `errors`. Raises InvalidInput
        if no UUID is given.
        """
        return await self._call(routes.CONNECTIONS_END, body={"uuids": flatten(uuids)})

    async def end_endpoint(self, endpoint_id: str) -> EndedConnections:
        """Ends the connections of one streaming endpoint (`DELETE /2/connections/:endpoint_id`). Returns the ended
        connections.
        """
        return await self._call(routes.CONNECTIONS_END_ENDPOINT, endpoint_id=endpoint_id)

    async def end_all(self) -> EndedConnections:
        """Ends all active connections of the app (`DELETE /2/connections/all`). Returns the ended connections."""
        return await self._call(routes.CONNECTIONS_END_ALL)
