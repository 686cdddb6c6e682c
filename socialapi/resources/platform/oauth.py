"""Tokens (platform documentation, section 5)."""

from socialapi.models.oauth import AppOnlyToken, InvalidatedToken, InvalidateTokenRequest
from socialapi.routes import oauth as routes
from socialapi.session.authenticators import basic
from socialapi.session.session import CallOptions, Session


class OAuth:
    """The token endpoints. Calls fetch the tokens they need by themselves; these methods are for looking after them."""

    def __init__(self, session: Session, options: CallOptions) -> None:
        self._session = session
        self._options = options

    async def app_only_token(self) -> AppOnlyToken:
        """The app's one outstanding bearer token, from the cache or the service (section 5.2).

        Raises Forbidden with code 99 when it was asked for too often, and then for a minute without asking again.
        """
        return AppOnlyToken(access_token=await self._session.authenticators.app().token(), token_type="bearer")  # noqa: S106  # a kind, no secret

    async def invalidate_app_only_token(self) -> InvalidatedToken:
        """Ends the app's outstanding token, here and at the service; the next call fetches a different one.

        The answer names the token that ended. An outcome that stays unknown is not repeated: a second request could
        end the token that replaced it.
        """
        app = self._session.authenticators.app()
        token = await app.token()
        result = await self._session.call(
            routes.INVALIDATE_APP_ONLY_TOKEN.at(),
            options=self._options,
            body=InvalidateTokenRequest(access_token=token),
            authenticator=basic(app.credential),
        )
        await app.forget(token)
        return result
