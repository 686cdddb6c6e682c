"""Community notes (platform section 4.4). Which fields a note has is not documented: all are taken and kept."""

import hashlib
from typing import Any

import orjson

from socialapi.emulator.arguments import Arguments
from socialapi.emulator.call import Call
from socialapi.emulator.envelopes import Answer, data, not_found
from socialapi.emulator.platform.endpoint import serves
from socialapi.emulator.platform.paging import collection, cut
from socialapi.emulator.platform.post_answers import posts_answer
from socialapi.emulator.platform.records import StoredNote
from socialapi.emulator.platform.selection import selection
from socialapi.routes import platform as routes


@serves(routes.NOTE_EVALUATE)
async def evaluate_note(call: Call, arguments: Arguments) -> Answer:
    """A score from 0 to 1, the same for the same note."""
    _check_post(call, arguments.body)
    content = orjson.dumps(arguments.body, option=orjson.OPT_SORT_KEYS)
    return data({"claim_opinion_score": hashlib.sha256(content).digest()[0] / 255})


@serves(routes.NOTE_SUBMIT)
async def submit_note(call: Call, arguments: Arguments) -> Answer:
    """The note, with its id."""
    _check_post(call, arguments.body)
    key = call.state.platform.new_id(call.now)
    note = StoredNote(id=str(key), writer=_writer(call), fields=arguments.body)
    call.state.platform.notes[key] = note
    return data(_shown(note), 201)


@serves(routes.NOTES_ELIGIBLE_POSTS)
async def eligible_posts(call: Call, arguments: Arguments) -> Answer:
    """Posts that a note can be written on, with the field parameters of every post."""
    selected = selection(arguments.query)
    page = cut(call, arguments, call.state.platform.notable_posts, newest_first=True)
    return posts_answer(call, call.state.platform.posts.known(page.keys), selected, meta=page.meta)


@serves(routes.NOTES_WRITTEN)
async def notes_written(call: Call, arguments: Arguments) -> Answer:
    """The notes of the caller, the newest first."""
    own = {key: note for key, note in call.state.platform.notes.items() if note.writer == _writer(call)}
    shown, meta = collection(call, arguments, own, _shown, newest_first=True)
    return data(shown, meta=meta)


def _writer(call: Call) -> str:
    """A user, or an app that writes by itself."""
    return call.caller.user.id if call.caller.user else call.caller.app.api_key


def _check_post(call: Call, body: dict[str, Any]) -> None:
    post_id = body.get("post_id")
    if isinstance(post_id, str) and call.state.platform.posts.get(post_id) is None:
        raise not_found("tweet", "post_id", post_id[:100])


def _shown(note: StoredNote) -> dict[str, Any]:
    return {**note.fields, "id": note.id}
