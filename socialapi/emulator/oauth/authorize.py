"""The step of OAuth 1.0a that a person takes in a browser (platform section 5.3, steps 2a and 2b)."""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from socialapi.emulator.arguments import InvalidArguments, read_arguments
from socialapi.emulator.authentication import nobody
from socialapi.emulator.call import Call, Handler, handles
from socialapi.emulator.envelopes import Answer
from socialapi.emulator.oauth import pages
from socialapi.emulator.oauth.callbacks import with_parameters
from socialapi.emulator.oauth.consent import (
    PageShown,
    Question,
    approver,
    check_seal,
    consent_page,
    sign_in,
    signed_in,
    submitted,
)
from socialapi.emulator.oauth.sign_ins import OUT_OF_BAND, RequestToken
from socialapi.emulator.oauth.three_legged import is_open
from socialapi.emulator.state import User
from socialapi.routes import oauth as routes
from socialapi.routes.route import OAUTH, Route

DECISION: Final = Route("POST", OAUTH, routes.AUTHORIZE.path, object, section="5.3")
"""Where the form of the page goes; of no concern to clients, so declared here."""

_MAY_READ: Final = "See your profile, your posts and your ad accounts"
_MAY_WRITE: Final = "Create posts, articles and ads in your name, and change or delete them"
_MAY_NEVER: Final = "See or change your password"


def shows_pages(function: Callable[[Call], Awaitable[Answer]]) -> Handler:
    """A handler for browsers: whatever goes wrong is said on a page."""

    async def handler(call: Call) -> Answer:
        try:
            return await function(call)
        except PageShown as shown:
            return shown.answer
        except InvalidArguments as refusal:
            sentences = [f"{rule.path} {rule.reason}." for rule in refusal.broken]
            return pages.message_page("This link is not right", *sentences, status=400)

    return handler


@handles(routes.AUTHORIZE, caller=nobody)
@shows_pages
async def authorize(call: Call) -> Answer:
    """The page on which the user decides, each time."""
    query = read_arguments(call).query
    return consent_page(call, _question(call, query, _open_token(call, query["oauth_token"])))


@handles(routes.AUTHENTICATE, caller=nobody)
@shows_pages
async def authenticate(call: Call) -> Answer:
    """The same page, which a signed-in user who has granted the app as much before does not see again."""
    query = read_arguments(call).query
    token = _open_token(call, query["oauth_token"])
    question = _question(call, query, token)
    user = signed_in(call, question)
    if user is not None and question.app.signs_in and _has_granted(call, token, user):
        return _approved(call, token, user, {})
    return consent_page(call, question)


@handles(DECISION, caller=nobody)
@shows_pages
async def decide(call: Call) -> Answer:
    """What the user has decided: to the app with it, by way of the browser or of the user."""
    form = submitted(call)
    token = _open_token(call, form.get("oauth_token", ""))
    query = {"force_login": form.get("force_login") == "true"}
    question = _question(call, query, token)
    check_seal(call, question, form)
    user = approver(call, question, form)
    if user is None:
        return _denied(token)
    return _approved(call, token, user, sign_in(call, user))


def _open_token(call: Call, name: str) -> RequestToken:
    token = call.state.sign_ins.request_tokens.get(name)
    if token is None or not is_open(call.state, token):
        sentence = "It was used already, has expired, or never existed. Go back to the app and start again."
        raise PageShown(pages.message_page("This link is of no use any more", sentence, status=403))
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
        return pages.pin_page(call.state.apps[token.app_key].name, token.verifier, headers)
    token.verifier = secrets.token_urlsafe(24)
    given = {"oauth_token": token.token, "oauth_verifier": token.verifier}
    return pages.redirect(with_parameters(token.callback, given), headers)


def _denied(token: RequestToken) -> Answer:
    token.state = "denied"
    if token.callback == OUT_OF_BAND:
        return pages.message_page("Access denied", "The app cannot use your account. You can close this window.")
    return pages.redirect(with_parameters(token.callback, {"denied": token.token}))
