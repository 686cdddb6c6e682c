"""Filtered-stream rules and their link to a webhook (platform documentation, sections 4.1 and 8)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from socialapi.models.events import MatchedPost
from socialapi.models.pages import Page
from socialapi.models.queries import Fields, selected_by
from socialapi.models.streams import RuleDraft, StreamRule
from socialapi.models.validation import AnyId
from socialapi.models.webhooks import StreamLink
from socialapi.resources.arguments import check_argument, check_further, check_stream_arguments
from socialapi.resources.platform.wanted_rules import WantedRules, wanted_drafts
from socialapi.resources.resource import Resource, flat
from socialapi.routes import platform as routes
from socialapi.session.pager import Pager
from socialapi.streams.link import LinkOptions, OnGap, OnSlow
from socialapi.streams.stream import Stream
from socialapi.unset import UNSET, Unset
from socialapi.wire.request import check

_NO_FIELDS = Fields()

Rule = str | RuleDraft | Mapping[str, Any]
"""A rule by its value, as a `RuleDraft` with its tag, or as a mapping of both."""


class FilteredStream(Resource):
    """The app's filtered stream."""

    async def link(self, webhook_id: str | int, *, fields: Fields = _NO_FIELDS) -> StreamLink:
        """Has posts that match the app's rules delivered to a webhook, with these fields (section 4.1).

        Returns whether the link is `provisioned`, and the problems that came beside it. Not repeated when its outcome
        is unknown.
        """
        return await self._session.call(
            routes.STREAM_LINK.at(webhook_id=webhook_id), options=self._options, query=selected_by(fields)
        )

    def connect(
        self,
        fields: Fields = _NO_FIELDS,
        *,
        backfill_minutes: int | Unset = UNSET,
        on_gap: OnGap | None = None,
        on_slow: OnSlow | None = None,
        give_up_after_seconds: float | None = None,
        event_id_paths: str | Sequence[str] | None = None,
        **further: Any,
    ) -> Stream[MatchedPost]:
        """The posts that match the app's rules, as they are published, with these fields (section 4.1).

            async with client.filtered_stream.connect(Fields(post=["author_id"])) as posts:
                async for post in posts: ...

        `on_gap` is told each time in which nothing could arrive (a function, or an async one that is waited for),
        `on_slow` that the posts are read more slowly than they come. `backfill_minutes` (1 to 5) has every connection
        begin so far back; what comes a second time is left out. Without `give_up_after_seconds` a service that cannot
        be reached is tried for ever; with it, the last attempt is made when they have passed without a connection.
        `event_id_paths` are dotted paths of the id by which posts are told apart, instead of `data.id`; with them what
        comes a second time is left out also without a backfill. What is raised is listed at `Stream`. Further parameters
        are sent as they are; one that is nearly the name of one of these is InvalidInput.
        """
        check_further(self.connect, further)
        query = {**selected_by(fields), "backfill_minutes": backfill_minutes, **further}
        check_stream_arguments(on_gap, on_slow, give_up_after_seconds)
        options = LinkOptions(on_gap=on_gap, on_slow=on_slow, give_up_after_seconds=give_up_after_seconds)
        return Stream(
            self._session, routes.POST_STREAM.at(), query, self._options, options, event_id_paths=event_id_paths
        )

    def rules(
        self, *, ids: str | int | Iterable[str | int] | None = None, start: str | None = None
    ) -> Pager[StreamRule]:
        """The app's rules, or those with the ids (section 4.1). Raises InvalidInput for what is no id."""
        query = {"ids": ids if ids is None else check(tuple[AnyId, ...], ids, now=self._session.now(), path="ids")}
        return self._session.pages(routes.STREAM_RULES.at(), options=self._options, query=query, start=start)

    async def add_rules(self, *rules: "Rule | Iterable[Rule]", dry_run: bool = False) -> Page[StreamRule]:
        """Adds rules of up to 2,048 characters, given one by one or as a sequence; `dry_run` only tests them
        (sections 4.1 and 8).

        The page holds the rules added, `errors` the problems of the others (duplicate, invalid or noncompliant ones,
        the cap), and `meta["summary"]` counts both. Raises InvalidInput for a rule that is empty or too long, ApiError
        with the same problems when no rule was added.
        """
        drafts = [{"value": rule} if isinstance(rule, str) else rule for rule in flat(rules)]
        return await self._change({"add": drafts}, dry_run=dry_run)

    async def delete_rules(self, *ids: str | int | Iterable[str | int], dry_run: bool = False) -> Page[StreamRule]:
        """Deletes the rules with the ids, given one by one or as a sequence; `meta["summary"]` counts them
        (section 4.1).
        """
        return await self._change({"delete": {"ids": flat(ids)}}, dry_run=dry_run)

    async def ensure_rules(
        self, wanted: Rule | Iterable[Rule], *, remove_others: bool = False
    ) -> tuple[StreamRule, ...]:
        """Adds the rules that are missing, and returns all rules as they are then (sections 4.1 and 8).

        To be called at every start: what is there already stays as it is. A rule is told from others by its value and
        its tag, where no tag is an empty one. With `remove_others` all other rules are deleted, after the missing ones
        were added, and before that where they stand in the way: with the same value under another tag, or at the cap.

        Raises InvalidInput for a rule that is empty or too long, before anything is sent; ApiError with the `problems`
        of rules that are refused; DecodeError where others are to be deleted and a rule cannot be read, before
        anything is changed.
        """
        check_argument("remove_others", bool, remove_others)
        drafts = wanted_drafts(wanted, self._session.now())
        return await WantedRules(self, drafts, remove_others).ensure()

    async def _change(self, change: Mapping[str, Any], *, dry_run: bool) -> Page[StreamRule]:
        query = {"dry_run": UNSET if dry_run is False else dry_run}
        return await self._session.call(
            routes.STREAM_RULES_CHANGE.at(), options=self._options, query=query, body=change
        )
