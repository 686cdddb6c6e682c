"""Registering handlers of the platform API: who may call (section 5), and arguments that keep the declared rules."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from socialapi.emulator.arguments import Arguments, InvalidArguments, read_arguments
from socialapi.emulator.authentication import any_caller
from socialapi.emulator.call import Authenticate, Call, StreamAnswer, handles
from socialapi.emulator.envelopes import Answer, Refusal
from socialapi.emulator.received import Received
from socialapi.emulator.state import Caller, State, User
from socialapi.routes.route import PLATFORM_USER, Route

PlatformHandler = Callable[[Call, Arguments], Awaitable[Answer | StreamAnswer]]


def serves(
    route: Route[Any],
    *,
    scopes: Collection[str] = (),
    refuse: Callable[[InvalidArguments], Refusal] | None = None,
) -> Callable[[PlatformHandler], PlatformHandler]:
    """Registers the function below for a route of the platform; it is given arguments that break no declared rule.

    `scopes` are what a user's OAuth 2.0 token needs. `refuse` may put another refusal in the place of that of broken
    rules.
    """

    def register(handler: PlatformHandler) -> PlatformHandler:
        async def checked(call: Call) -> Answer | StreamAnswer:
            try:
                arguments = read_arguments(call)
            except InvalidArguments as refusal:
                raise (refuse(refusal) if refuse else refusal) from None
            return await handler(call, arguments)

        handles(route, caller=_caller_of(route, frozenset(scopes)))(checked)
        return handler

    return register


def _caller_of(route: Route[Any], scopes: frozenset[str]) -> Authenticate:
    def authenticate(state: State, received: Received, path_parameters: Mapping[str, str]) -> Caller:
        caller = any_caller(state, received, path_parameters)
        if route.family is PLATFORM_USER and caller.user is None:
            message = "this endpoint acts for a user: use OAuth 1.0a or a user's OAuth 2.0 token, not an app-only one"
            raise Refusal(403, "FORBIDDEN", message, problem="unsupported-authentication")
        if caller.scopes is not None and (lacking := sorted(scopes - caller.scopes)):
            raise Refusal(403, "FORBIDDEN", f"the access token lacks the scope {', '.join(lacking)}")
        return caller

    return authenticate


def user_of(call: Call) -> User:
    """The user of an endpoint that acts for one."""
    assert call.caller.user is not None
    return call.caller.user
