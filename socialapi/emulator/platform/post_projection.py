"""Selects the fields and included objects of posts."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from socialapi.emulator.clock import milliseconds
from socialapi.emulator.platform.selection import Selection, pick_fields, selection
from socialapi.emulator.platform.state import PostRecord
from socialapi.emulator.responses import not_found_problem, packed_json, problem
from socialapi.emulator.state import Caller, State, User

EMAIL_SCOPE: Final = "users.email"

Fields = Mapping[str, Any]
"""The fields of a post."""


def may_read(author: User, reader: User | None) -> bool:
    """Returns whether the reader may read the author's posts. Protected posts are visible only to their author."""
    return not author.profile.get("protected") or author is reader


def public_metrics(state: State, user: User) -> dict[str, int]:
    """Returns the public counts of a user."""
    metrics: dict[str, int] = user.profile["public_metrics"]
    return metrics | {"tweet_count": len(state.platform.posts.timeline(user.id))}


def not_authorized(base: str, parameter: str, value: str, kind: str, *, section: str = "data") -> dict[str, Any]:
    """Returns the `not-authorized` problem of a protected resource, to be listed in `errors` next to the data."""
    detail = f"the {kind} in {parameter} is protected: {value}"
    about = {"value": value, "resource_id": value, "resource_type": kind, "section": section, "parameter": parameter}
    return problem(base, "not-authorized-for-resource", "Authorization Error", detail, **about)


class Includes:
    """The related objects that the expansions select, without duplicates and limited to what the caller may read."""

    def __init__(self, state: State, selected: Selection, *, caller: Caller | None = None) -> None:
        self._state = state
        self._selected = selected
        self._reader = caller.user if caller else None
        self._may_read_email = caller is not None and EMAIL_SCOPE in (caller.scopes or ())
        self._found: dict[str, dict[str, Any]] = {kind: {} for kind in ("users", "tweets", "media", "polls", "places")}
        self.errors: list[dict[str, Any]] = []

    def add(self, post: Fields) -> None:
        """Adds the objects that the post refers to."""
        expansions = self._selected["expansions"]
        for expansion in expansions:
            if expansion.startswith("referenced_tweets.id"):
                self._add_referenced(post, expansion)
            elif expansion.startswith("attachments."):
                self._add_attachments(post, expansion.removeprefix("attachments."))
            elif expansion == "geo.place_id":
                place = self._state.platform.places.get(post.get("geo", {}).get("place_id", ""))
                if place is not None:
                    self._found["places"][place["id"]] = pick_fields(place, self._selected["place.fields"])
            elif expansion != "pinned_tweet_id":
                self._add_users(post, expansion)
        if "pinned_tweet_id" in expansions:  # of the users that other expansions added
            pinned = [self._state.users[user_id].profile.get("pinned_tweet_id") for user_id in self._found["users"]]
            for found in self._state.platform.posts.known(filter(None, pinned)):
                self._add_post(found, "pinned_tweet_id")

    def shown(self) -> dict[str, list[Any]]:
        """Returns the objects by kind, without empty kinds."""
        return {kind: list(objects.values()) for kind, objects in self._found.items() if objects}

    def _add_users(self, post: Fields, expansion: str) -> None:
        if expansion == "entities.mentions.username":
            mentions = post.get("entities", {}).get("mentions", ())
            ids = [mention["id"] for mention in mentions if "id" in mention]
        else:
            ids = [post[expansion]] if expansion in post else []
        for user_id in ids:
            self._add_user(user_id)

    def _add_user(self, user_id: str) -> None:
        user, wanted = self._state.users.get(user_id), self._selected["user.fields"]
        if user is None or user_id in self._found["users"]:
            return
        fields = user.profile | {"public_metrics": public_metrics(self._state, user)}
        if self._reader is None or self._reader is user:
            # Only users, not apps, can read how others are connected to them.
            fields.pop("connection_status", None)
        if self._reader is user and self._may_read_email:
            # Reading the address requires the user's own OAuth 2.0 token with the scope.
            fields["confirmed_email"] = f"{user.username.lower()}@mail.example"
        self._found["users"][user_id] = pick_fields(fields, wanted)
        if "confirmed_email" in wanted and "confirmed_email" not in fields:
            detail = (
                f"confirmed_email of user {user.id} requires their own OAuth 2.0 token with the scope {EMAIL_SCOPE}"
            )
            about = {"field": "confirmed_email", "resource_type": "user", "section": "includes"}
            base = self._state.problem_base_url
            self._note(problem(base, "not-authorized-for-field", "Authorization Error", detail, **about))

    def _add_attachments(self, post: Fields, name: str) -> None:
        platform = self._state.platform
        held, kind, names = {
            "media_keys": (platform.media, "media", self._selected["media.fields"]),
            "poll_ids": (platform.polls, "polls", self._selected["poll.fields"]),
        }[name]
        for key in post.get("attachments", {}).get(name, ()):
            if key in held:
                shown = held[key]
                if kind == "polls" and shown["end_datetime"] <= milliseconds(self._state.clock.now()):
                    shown = shown | {"voting_status": "closed"}
                self._found[kind][key] = pick_fields(shown, names)

    def _add_referenced(self, post: Fields, expansion: str) -> None:
        for reference in post.get("referenced_tweets", ()):
            found = self._state.platform.posts.get(reference["id"])
            if found is None:
                base = self._state.problem_base_url
                self._note(not_found_problem(base, "tweet", expansion, reference["id"]))
            elif expansion == "referenced_tweets.id":
                self._add_post(found, expansion)
            else:
                self._add_user(found.author_id)

    def _add_post(self, post: PostRecord, expansion: str) -> None:
        if may_read(self._state.users[post.author_id], self._reader):
            self._found["tweets"][post.id] = pick_fields(post.fields, self._selected["tweet.fields"])
        else:
            base = self._state.problem_base_url
            self._note(not_authorized(base, expansion, post.id, "tweet", section="includes"))

    def _note(self, found: dict[str, Any]) -> None:
        if found not in self.errors:
            self.errors.append(found)


MatchingRules = Sequence[Mapping[str, str]]


class PostShape:
    """The field selection of a stream or link. Shapes with the same `key` select the same fields."""

    def __init__(self, query: Mapping[str, Any]) -> None:
        self._selected = selection(query)
        # Edit history is always delivered.
        self._names = frozenset({*self._selected["tweet.fields"], "edit_history_tweet_ids"})
        self.key: tuple[tuple[str, ...], ...] = tuple(map(tuple, self._selected.values()))

    def encoded(self, state: State, fields: Fields, matching: MatchingRules) -> bytes:
        """Returns the post as one line of JSON, without the line break."""
        content: dict[str, Any] = {"data": pick_fields(fields, self._names)}
        errors: list[Any] = []
        if self._selected["expansions"]:
            includes = Includes(state, self._selected)
            includes.add(fields)
            if shown := includes.shown():
                content["includes"] = shown
            errors = includes.errors
        content["matching_rules"] = matching
        if errors:
            content["errors"] = errors
        return packed_json(content)
