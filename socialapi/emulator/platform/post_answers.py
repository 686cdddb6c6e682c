"""Posts as they are answered: the selected fields, what expansions include, problems beside them (sections 2.4 to 2.6)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from socialapi.emulator.call import Call
from socialapi.emulator.envelopes import Answer, data, problem
from socialapi.emulator.platform.includes import Includes
from socialapi.emulator.platform.post_store import PostRecord
from socialapi.emulator.platform.selection import Selection, chosen
from socialapi.emulator.state import User


def posts_answer(
    call: Call,
    posts: Sequence[PostRecord],
    selected: Selection,
    *,
    errors: Iterable[Mapping[str, Any]] = (),
    meta: Mapping[str, Any] | None = None,
) -> Answer:
    """The posts with what goes with them."""
    expanded = Includes(call.state, call.service.problem_base_url, selected, reader=call.caller.user)
    for post in posts:
        expanded.add(post)
    shown = [chosen(post.fields, selected.post) for post in posts]
    return data(shown, includes=expanded.shown(), meta=meta, errors=[*errors, *expanded.errors])


def may_read(call: Call, author: User) -> bool:
    """Protected posts are for their author alone."""
    return not author.profile.get("protected") or author is call.caller.user


def not_authorized(call: Call, parameter: str, value: str, kind: str) -> dict[str, Any]:
    """The problem, beside data, of something protected."""
    base = call.service.problem_base_url
    detail = f"the {kind} that {parameter} names is protected: {value}"
    return problem(
        base,
        "not-authorized-for-resource",
        "Authorization Error",
        detail,
        value=value,
        resource_id=value,
        resource_type=kind,
        section="data",
        parameter=parameter,
    )
