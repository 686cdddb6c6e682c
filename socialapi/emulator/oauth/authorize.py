"""The sign-in and consent pages in the browser."""

import hmac
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from html import escape
from typing import Any, Final

import attrs

from socialapi.emulator.arguments import read_query
from socialapi.emulator.auth import named_app
from socialapi.emulator.handlers import Call, Handler, serves
from socialapi.emulator.oauth import html
from socialapi.emulator.oauth.state import OUT_OF_BAND, RequestToken
from socialapi.emulator.oauth.three_legged import is_open, with_parameters
from socialapi.emulator.request import FORM
from socialapi.emulator.responses import Answer, InvalidRequest
from socialapi.emulator.state import App, User
from socialapi.routes import oauth as routes
from socialapi.routes.route import OAUTH, Route

COOKIE: Final = "socialapi_emulator_browser"
SEAL: Final = "seal"
_BROWSER: Final = re.compile(r"[\w-]{1,64}", re.ASCII)


class PageShown(Exception):
    """Raised to show the browser a page other than the one it requested."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


@attrs.frozen(kw_only=True)
class Question:
    """The decision that a user is asked to make. `fields` identify the sign-in. They are sealed, and sent back with the
    form.
    """

    app: App
    may: Sequence[str]
    may_not: Sequence[str] = ()
    action: str
    fields: Mapping[str, str]
    screen_name: str = ""
    force_login: bool = False


def browser_of(call: Call) -> str:
    """Returns the id in the browser's cookie, or an empty string on its first visit. Ignores the cookies of other
    services.
    """
    for pair in call.received.headers.get("Cookie", "").split(";"):
        name, _, value = pair.strip().partition("=")
        if name == COOKIE and _BROWSER.fullmatch(value):
            return value
    return ""


def signed_in(call: Call, question: Question) -> User | None:
    """Returns the user who has signed in with this browser, unless the sign-in form must be shown or another user is
    expected.
    """
    user = call.state.users.get(call.state.sign_ins.browsers.get(browser_of(call), ""))
    wanted = call.state.user_named(question.screen_name) if question.screen_name else user
    return user if user is wanted and not question.force_login else None


def consent_page(call: Call, question: Question, *, error: str = "", status: int = 200) -> Answer:
    """Returns the form, and sets a cookie that identifies the browser."""
    browser = browser_of(call) or secrets.token_urlsafe(24)
    user = signed_in(call, question)
    app_name = question.app.name
    fields = {**question.fields, SEAL: _seal(call, browser, question.fields)}
    names = [user.username for user in call.state.users.values()]
    content = (
        f"<p><strong>{escape(app_name)}</strong> would like to use your account.</p>\n"
        + html.bullets("It will be able to", "may", question.may)
        + html.bullets("It will not be able to", "may-not", question.may_not)
        + f'<form method="post" action="{escape(question.action)}">\n'
        + html.hidden_fields(fields)
        + (_who(user) if user else html.name_field(question.screen_name, names, error))
        + html.BUTTONS
        + "</form>"
    )
    return html.page(f"Authorize {app_name}?", content, status=status, headers=_cookie(browser))


def submitted(call: Call) -> dict[str, str]:
    """Returns the fields of a submitted form."""
    if call.received.content_type != FORM or not call.received.complete:
        raise PageShown(html.message_page("This form cannot be read", "Go back to the app and try again.", status=400))
    return dict(call.received.form())


def check_seal(call: Call, question: Question, form: Mapping[str, str]) -> None:
    """Checks that the form was shown to this browser, and was not forged by another site."""
    browser = browser_of(call)
    expected = _seal(call, browser, question.fields).encode()
    if not browser or not hmac.compare_digest(form.get(SEAL, "").encode(), expected):
        sentence = (
            "The form did not come from this page, or cookies are switched off. Go back to the app and try again."
        )
        raise PageShown(html.message_page("This form cannot be trusted", sentence, status=403))


def approver(call: Call, question: Question, form: Mapping[str, str]) -> User | None:
    """Returns the user who approves, or None if they deny. An unknown name shows the form again."""
    decision = form.get("decision")
    if decision == "deny":
        return None
    if decision != "approve":
        # The user clicked "Use another account", or filled in the form by hand.
        raise PageShown(consent_page(call, attrs.evolve(question, screen_name="", force_login=True)))
    name = form.get("screen_name", "").strip()
    user = call.state.user_named(name) if name else signed_in(call, question)
    if user is None:
        error = f"There is no user with the screen name {name}." if name else "Enter a screen name."
        again = attrs.evolve(question, screen_name=name, force_login=True)
        raise PageShown(consent_page(call, again, error=error, status=400))
    return user


def sign_in(call: Call, user: User) -> dict[str, str]:
    """Signs the user in with this browser under a new id, and returns the header that sets its cookie."""
    browser = secrets.token_urlsafe(24)
    call.state.sign_ins.browsers[browser] = user.id
    return _cookie(browser)


def _cookie(browser: str) -> dict[str, str]:
    return {"Set-Cookie": f"{COOKIE}={browser}; Path=/; HttpOnly; SameSite=Lax"}


def _seal(call: Call, browser: str, fields: Mapping[str, str]) -> str:
    content = repr((browser, sorted(fields.items()))).encode()
    return hmac.digest(call.state.sign_ins.form_key, content, "sha256").hex()


def _who(user: User) -> str:
    return (
        f'<p class="who">Signed in as <strong>@{escape(user.username)}</strong>.<br>'
        '<button type="submit" name="decision" value="switch" class="link">Use another account</button></p>\n'
    )


DECISION: Final = Route("POST", OAUTH, routes.AUTHORIZE.path, object)
"""The route to which the page's form is sent. Clients never call it, so it is declared here."""

_MAY_READ: Final = "See your profile, your posts and your ad accounts"
_MAY_WRITE: Final = "Create, change and delete posts, articles and ads in your name"
_MAY_NEVER: Final = "See or change your password"


def shows_pages(function: Callable[[Call], Awaitable[Answer]]) -> Handler:
    """Returns a handler for browsers, which shows errors as pages."""

    async def handler(call: Call) -> Answer:
        try:
            return await function(call)
        except PageShown as shown:
            return shown.answer
        except InvalidRequest as refusal:
            sentences = [f"{rule.path} {rule.reason}." for rule in refusal.broken]
            return html.message_page("This link is invalid", *sentences, status=400)

    return handler


@serves(routes.AUTHORIZE, caller=named_app)
@shows_pages
async def authorize(call: Call) -> Answer:
    """Returns the consent page, even to a user who has already approved the app."""
    query = read_query(call)
    return consent_page(call, _question(call, query, _open_token(call, query["oauth_token"])))


@serves(routes.AUTHENTICATE, caller=named_app)
@shows_pages
async def authenticate(call: Call) -> Answer:
    """Returns the page on which the user decides. Signed-in users who have granted the app this access before do not
    see the page again.
    """
    query = read_query(call)
    token = _open_token(call, query["oauth_token"])
    question = _question(call, query, token)
    user = signed_in(call, question)
    if user is not None and question.app.signs_in and _has_granted(call, token, user):
        return _approved(call, token, user, {})
    return consent_page(call, question)


@serves(DECISION, caller=named_app)
@shows_pages
async def decide(call: Call) -> Answer:
    """Sends the user's decision to the app by redirecting the browser, or shows the user a PIN."""
    form = submitted(call)
    token = _open_token(call, form.get("oauth_token", ""))
    query = {"force_login": form.get("force_login") == "true"}
    question = _question(call, query, token)
    check_seal(call, question, form)
    user = approver(call, question, form)
    if user is None:
        token.state = "denied"
        if token.callback == OUT_OF_BAND:
            return html.message_page("Access denied", "The app cannot use your account. You can close this window.")
        return html.redirect(with_parameters(token.callback, {"denied": token.token}))
    return _approved(call, token, user, sign_in(call, user))


def _open_token(call: Call, name: str) -> RequestToken:
    token = call.state.sign_ins.request_tokens.get(name)
    if token is None or not is_open(call.state, token):
        sentence = "It was already used, has expired, or never existed. Go back to the app and start again."
        raise PageShown(html.message_page("This link has expired", sentence, status=403))
    return token


def _question(call: Call, query: Mapping[str, Any], token: RequestToken) -> Question:
    writes = token.access == "write"
    force_login = query.get("force_login", False)
    return Question(
        app=call.state.apps[token.app_key],
        may=[_MAY_READ, _MAY_WRITE] if writes else [_MAY_READ],
        may_not=[_MAY_NEVER] if writes else [_MAY_WRITE, _MAY_NEVER],
        action=DECISION.path,
        fields={"oauth_token": token.token} | ({"force_login": "true"} if force_login else {}),
        screen_name=query.get("screen_name", "").strip().removeprefix("@"),
        force_login=force_login,
    )


def _has_granted(call: Call, token: RequestToken, user: User) -> bool:
    granted = call.state.sign_ins.granted.get((token.app_key, user.id))
    return granted in ("write", token.access)


def _approved(call: Call, token: RequestToken, user: User, headers: Mapping[str, str]) -> Answer:
    sign_ins = call.state.sign_ins
    if not _has_granted(call, token, user):
        sign_ins.granted[token.app_key, user.id] = token.access
    token.state, token.user_id = "approved", user.id
    if token.callback == OUT_OF_BAND:
        token.verifier = f"{secrets.randbelow(10_000_000):07}"
        return html.pin_page(call.state.apps[token.app_key].name, token.verifier, headers)
    token.verifier = secrets.token_urlsafe(24)
    given = {"oauth_token": token.token, "oauth_verifier": token.verifier}
    return html.redirect(with_parameters(token.callback, given), headers)
