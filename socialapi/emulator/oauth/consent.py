"""Asking a person in a browser whether an app may act for them: the form, its seal, and who is signed in."""

import hmac
import re
import secrets
from collections.abc import Mapping, Sequence
from html import escape
from typing import Final
from urllib.parse import parse_qsl

import attrs

from socialapi.emulator.call import Call
from socialapi.emulator.envelopes import Answer
from socialapi.emulator.oauth import pages
from socialapi.emulator.received import FORM
from socialapi.emulator.state import App, User

COOKIE: Final = "socialapi_emulator_browser"
SEAL: Final = "seal"
_BROWSER: Final = re.compile(r"[\w-]{1,64}", re.ASCII)


class PageShown(Exception):
    """Raised by whatever decides that a browser gets another page than it asked for."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


@attrs.frozen(kw_only=True)
class Question:
    """What a person is asked. `fields` come back with the form, sealed, and say which sign-in it is about."""

    app: App
    may: Sequence[str]
    may_not: Sequence[str] = ()
    action: str
    fields: Mapping[str, str]
    screen_name: str = ""
    force_login: bool = False


def browser_of(call: Call) -> str:
    """What the browser calls itself, empty at its first visit. Cookies of others, whatever they hold, are passed over."""
    for pair in call.received.headers.get("Cookie", "").split(";"):
        name, _, value = pair.strip().partition("=")
        if name == COOKIE and _BROWSER.fullmatch(value):
            return value
    return ""


def signed_in(call: Call, question: Question) -> User | None:
    """Who has signed in with this browser, unless the sign-in is to be shown or is for somebody else."""
    user = call.state.users.get(call.state.sign_ins.browsers.get(browser_of(call), ""))
    wanted = call.state.user_named(question.screen_name) if question.screen_name else user
    return user if user is wanted and not question.force_login else None


def consent_page(call: Call, question: Question, *, error: str = "", status: int = 200) -> Answer:
    """The form, in a browser that has a name from now on."""
    browser = browser_of(call) or secrets.token_urlsafe(24)
    user = signed_in(call, question)
    app_name = question.app.name
    fields = {**question.fields, SEAL: _seal(call, browser, question.fields)}
    content = (
        f"<p><strong>{escape(app_name)}</strong> would like to use your account.</p>\n"
        + pages.bullets("It will be able to", "may", question.may)
        + pages.bullets("It will not be able to", "may-not", question.may_not)
        + f'<form method="post" action="{escape(question.action)}">\n'
        + pages.hidden_fields(fields)
        + (_who(user) if user else pages.name_field(question.screen_name, _names(call), error))
        + pages.BUTTONS
        + "</form>"
    )
    return pages.page(f"Authorize {app_name}?", content, status=status, headers=_cookie(browser))


def submitted(call: Call) -> dict[str, str]:
    """The fields of a form that was sent."""
    if call.received.content_type != FORM or not call.received.complete:
        raise PageShown(pages.message_page("This form cannot be read", "Go back to the app and try again.", status=400))
    return dict(parse_qsl(call.received.body.decode("utf-8", "replace"), keep_blank_values=True))


def check_seal(call: Call, question: Question, form: Mapping[str, str]) -> None:
    """That the form was shown to this browser, and is not the work of another site."""
    browser = browser_of(call)
    expected = _seal(call, browser, question.fields).encode()
    if not browser or not hmac.compare_digest(form.get(SEAL, "").encode(), expected):
        sentence = (
            "The form did not come from this page, or cookies are switched off. Go back to the app and try again."
        )
        raise PageShown(pages.message_page("This form cannot be trusted", sentence, status=403))


def approver(call: Call, question: Question, form: Mapping[str, str]) -> User | None:
    """Who approves, or None if they deny. A name that nobody has shows the form again."""
    decision = form.get("decision")
    if decision == "deny":
        return None
    if decision != "approve":
        # "Use another account", or a form that was filled in by hand.
        raise PageShown(consent_page(call, attrs.evolve(question, screen_name="", force_login=True)))
    name = form.get("screen_name", "").strip()
    user = call.state.user_named(name) if name else signed_in(call, question)
    if user is None:
        error = f"There is no user with the screen name {name}." if name else "Enter a screen name."
        again = attrs.evolve(question, screen_name=name, force_login=True)
        raise PageShown(consent_page(call, again, error=error, status=400))
    return user


def sign_in(call: Call, user: User) -> dict[str, str]:
    """The user is signed in with this browser, which gets a new name; the header that tells it."""
    browser = secrets.token_urlsafe(24)
    call.state.sign_ins.browsers[browser] = user.id
    return _cookie(browser)


def _cookie(browser: str) -> dict[str, str]:
    return {"Set-Cookie": f"{COOKIE}={browser}; Path=/; HttpOnly; SameSite=Lax"}


def _seal(call: Call, browser: str, fields: Mapping[str, str]) -> str:
    content = repr((browser, sorted(fields.items()))).encode()
    return hmac.digest(call.state.sign_ins.form_key, content, "sha256").hex()


def _names(call: Call) -> list[str]:
    return [user.username for user in call.state.users.values()]


def _who(user: User) -> str:
    return (
        f'<p class="who">Signed in as <strong>@{escape(user.username)}</strong>.<br>'
        '<button type="submit" name="decision" value="switch" class="link">Use another account</button></p>\n'
    )
