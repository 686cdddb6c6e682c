"""The sign-ins by OAuth 1.0a that have begun and not ended yet (platform documentation, section 5.3)."""

from collections import OrderedDict
from typing import Final

SIGN_INS_REMEMBERED: Final = 1_000


class SignIns:
    """The secrets of request tokens whose sign-ins have begun here, the latest ones."""

    def __init__(self, capacity: int = SIGN_INS_REMEMBERED) -> None:
        self._capacity = capacity
        self._secrets: OrderedDict[str, str] = OrderedDict()

    def began(self, token: str, secret: str) -> None:
        """Keeps the secret of a request token, in place of the oldest one if there are too many."""
        self._secrets[token] = secret
        while len(self._secrets) > self._capacity:
            self._secrets.popitem(last=False)

    def secret(self, token: str) -> str | None:
        """The secret, or None if the sign-in did not begin here or is long ago."""
        return self._secrets.get(token)

    def ended(self, token: str) -> None:
        """Forgets a request token that was used."""
        self._secrets.pop(token, None)
