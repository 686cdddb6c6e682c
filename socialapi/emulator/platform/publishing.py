"""Publishes posts and events that were created through the API or the control plane."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from socialapi.emulator.clock import milliseconds
from socialapi.emulator.platform.activity_events import ActivityEvent, EventRouter
from socialapi.emulator.platform.deliveries import Deliveries
from socialapi.emulator.platform.fan_out import StreamHub, StreamLine, publish_at_once, publish_with_backpressure
from socialapi.emulator.platform.new_posts import post_fields
from socialapi.emulator.platform.post_routing import PostRouter
from socialapi.emulator.platform.publish_requests import read_drafts
from socialapi.emulator.platform.state import PostRecord
from socialapi.emulator.state import State, User
from socialapi.errors import InvalidInput

_PAYLOAD: Final = ("id", "text", "author_id", "edit_history_tweet_ids")
_SERVE_OTHERS_EVERY: Final = 100

Fields = Mapping[str, Any]


class Publishing:
    """The publisher of posts and events to streams and webhooks. The API calls `post_created`, and the control plane
    calls `publish`.
    """

    def __init__(self, streams: StreamHub, deliveries: Deliveries, state_now: Callable[[], State]) -> None:
        self.posts: PostRouter = PostRouter(streams, deliveries)
        self.events: EventRouter = EventRouter(streams, deliveries)
        self._deliveries = deliveries
        self._state_now = state_now

    def reset(self) -> None:
        """Removes the stored posts and events."""
        self.posts.reset()
        self.events.reset()

    def post_created(self, state: State, post: PostRecord) -> None:
        """Publishes the post to all subscribers, unless its author is protected or it is shown only as an ad."""
        if state is self._state_now() and not post.nullcast:
            publish_at_once(self._of_post(state, post), self._deliveries)

    async def publish(self, body: Any) -> dict[str, Any]:
        """Publishes one or more events or posts, and returns the number of recipients of each.

        Returns when all of them are queued, after waiting for room in full queues.
        """
        state = self._state_now()
        drafts = read_drafts(body, state.clock.datetime())
        for draft in drafts:
            if draft.post is not None:
                _author(state, draft.post)
        published: list[dict[str, Any]] = []
        for number, draft in enumerate(drafts, 1):
            if state is not self._state_now():
                raise InvalidInput(f"the emulator was reset after {len(published):,} of {len(drafts):,} were published")
            if draft.event is not None:
                event = _activity_event(state, draft.event)
                named = {"event_id": event.event_id}
                lines = self.events.lines(state, event, also_unsubscribed=True)
            else:
                assert draft.post is not None
                post = _store_post(state, _author(state, draft.post), draft.post)
                named = {"post_id": post.id}
                lines = self._of_post(state, post)
            count = await publish_with_backpressure(lines, self._deliveries, draft.copies)
            published.append(named | count)
            if number % _SERVE_OTHERS_EVERY == 0:
                await asyncio.sleep(0)
        return {"published": published}

    def _of_post(self, state: State, post: PostRecord) -> Iterator[StreamLine]:
        """Yields the lines of the post and of the activity event of its author, unless the author is protected.

        Subscribers count as followers of the author: a community post that is not shared with followers creates no
        event.
        """
        if state.users[post.author_id].profile.get("protected"):
            return
        fields = post.fields
        yield from self.posts.lines(state, fields, post.content)
        if state.platform.subscriptions and ("community_id" not in fields or post.shared_with_followers):
            event = ActivityEvent(
                event_id=str(state.platform.new_id(state.clock.now())),
                event_type="post.create",
                created_at=fields["created_at"],
                filter={"user_id": fields["author_id"]},
                payload={name: fields[name] for name in _PAYLOAD},
            )
            yield from self.events.lines(state, event, also_unsubscribed=False)


def _activity_event(state: State, draft: Fields) -> ActivityEvent:
    now = state.clock.now()
    given = draft.get("filter") or {}
    named = {name: draft[name] for name in ("user_id", "keyword", "direction") if draft.get(name) is not None}
    return ActivityEvent(
        event_id=draft.get("event_id") or str(state.platform.new_id(now)),
        event_type=draft["event_type"],
        created_at=draft.get("created_at") or milliseconds(now),
        filter={**named, **given},
        payload=draft.get("payload") or {},
        tag=draft.get("tag"),
    )


def _store_post(state: State, author: User, draft: Fields) -> PostRecord:
    """Stores a post with the given fields, and the usual fields of a post."""
    now = state.clock.now()
    platform = state.platform
    post_id = draft.get("id") or str(platform.new_id(now))
    platform.last_id = max(platform.last_id, int(post_id))
    made = post_fields(state, author, post_id, draft["text"], now)
    fields = made | dict(draft)
    for name in ("edit_controls", "public_metrics"):  # the service itself maintains these
        fields[name] = made[name] | {each: value for each, value in fields[name].items() if value is not None}
    fields["author_id"] = author.id
    fields["id"] = post_id
    post = PostRecord.of(fields, now, shared_with_followers=fields.pop("share_with_followers", False))
    platform.posts.put_published(post)
    return post


def _author(state: State, draft: Fields) -> User:
    """Returns the draft's author, or the first user if the draft has no author."""
    author_id = draft.get("author_id")
    if author_id is None:
        return next(iter(state.users.values()))
    author = state.users.get(author_id)
    if author is None:
        raise InvalidInput("author_id does not match any user")
    return author
