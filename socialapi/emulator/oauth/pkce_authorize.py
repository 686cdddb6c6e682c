"""The step of OAuth 2.0 with PKCE that a person takes in a browser (platform section 5.4; RFC 6749 and 7636)."""

import re
import secrets
from collections.abc import Mapping
from typing import Final

from socialapi.emulator.authentication import nobody
from socialapi.emulator.call import Call, handles
from socialapi.emulator.envelopes import Answer
from socialapi.emulator.oauth import pages
from socialapi.emulator.oauth.authorize import shows_pages
from socialapi.emulator.oauth.callbacks import is_registered, with_parameters
from socialapi.emulator.oauth.consent import (
    PageShown,
    Question,
    approver,
    check_seal,
    consent_page,
    sign_in,
    submitted,
)
from socialapi.emulator.oauth.sign_ins import CODE_SECONDS, Code
from socialapi.models.validation import broken_rules
from socialapi.routes import oauth as routes
from socialapi.routes.route import OAUTH, Route

DECISION: Final = Route("POST", OAUTH, routes.OAUTH2_AUTHORIZE.path, object, section="5.4")
"""Where the form of the page goes; of no concern to clients, so declared here."""

_PARAMETERS: Final = frozenset(routes.OAUTH2_AUTHORIZE.query.__annotations__)
_SCOPE: Final = re.compile(r"[a-z]+(\.[a-z]+)*")
_SCOPES: Final[Mapping[str, str]] = {
    "tweet.read": "See your posts",
    "tweet.write": "Create posts and articles in your name",
    "users.read": "See your profile",
    "follow.read": "See whom you follow and who follows you",
    "offline.access": "Stay connected until you end it",
}


@handles(routes.OAUTH2_AUTHORIZE, caller=nobody)
@shows_pages
async def authorize(call: Call) -> Answer:
    """The page on which the user grants scopes."""
    return consent_page(call, _question(call, _recognised(call.received.parameters())))


@handles(DECISION, caller=nobody)
@shows_pages
async def decide(call: Call) -> Answer:
    """Back to the app, with a code or with the user's refusal."""
    form = submitted(call)
    given = _recognised(form)
    question = _question(call, given)
    check_seal(call, question, form)
    user = approver(call, question, form)
    if user is None:
        return _back(given, error="access_denied", error_description="the user denied access")
    code = secrets.token_urlsafe(32)
    call.state.sign_ins.codes[code] = Code(
        app_key=given["client_id"],
        user_id=user.id,
        redirect_uri=given["redirect_uri"],
        challenge=given["code_challenge"],
        scopes=frozenset(given["scope"].split()),
        expires_at=call.now + CODE_SECONDS,
    )
    return pages.redirect(with_parameters(given["redirect_uri"], {"code": code, **_state(given)}), sign_in(call, user))


def _recognised(parameters: Mapping[str, str]) -> dict[str, str]:
    """What is not known is passed over (RFC 6749, section 3.1)."""
    return {name: value for name, value in parameters.items() if name in _PARAMETERS}


def _question(call: Call, given: Mapping[str, str]) -> Question:
    """Only where app and address are known to belong together, the browser may be sent back with what is wrong."""
    app = call.state.apps.get(given.get("client_id", ""))
    if app is None or not is_registered(app, given.get("redirect_uri", "")):
        sentence = "The app is unknown, or the address to go back to is not registered for it."
        raise PageShown(pages.message_page("This link is not right", sentence, status=400))
    _check(call, given)
    scopes = dict.fromkeys(given["scope"].split())
    return Question(
        app=app,
        may=[_SCOPES.get(scope, f"Use what {scope} stands for") for scope in scopes],
        may_not=[] if "tweet.write" in scopes else [_SCOPES["tweet.write"]],
        action=DECISION.path,
        fields=dict(given),
    )


def _check(call: Call, given: Mapping[str, str]) -> None:
    if given.get("response_type") not in (None, "code"):
        raise PageShown(_back(given, error="unsupported_response_type", error_description="response_type must be code"))
    if broken := broken_rules(routes.OAUTH2_AUTHORIZE.query, given, now=call.state.clock.datetime()):
        error = "invalid_scope" if broken[0].path == "scope" else "invalid_request"
        raise PageShown(_back(given, error=error, error_description=str(broken[0])))
    scopes = given["scope"].split()
    if not scopes or not all(_SCOPE.fullmatch(scope) for scope in scopes):
        raise PageShown(_back(given, error="invalid_scope", error_description="scope must be names joined by blanks"))


def _back(given: Mapping[str, str], **parameters: str) -> Answer:
    return pages.redirect(with_parameters(given["redirect_uri"], {**parameters, **_state(given)}))


def _state(given: Mapping[str, str]) -> dict[str, str]:
    """The app's own parameter, as it came."""
    return {"state": given["state"]} if "state" in given else {}
