"""Clients of a `Server`, and the calls that tests make with them."""

import random
from typing import Any, Final

from socialapi import AudienceUser, Bearer, Client, Config, OAuth1, Operation
from socialapi.credentials import Credentials
from socialapi.session.clock import Clock
from tests.support.server import Server

DIGEST: Final = "49e0be2aeccfb51a8dee4c945c8a70a9ac500cf6f5cb08112575f74db9b1470d"
PRODUCT: Final = {
    "id": "1",
    "title": "Boots",
    "description": "Good ones",
    "availability": "in stock",
    "condition": "new",
    "price": "9.99 EUR",
    "link": "https://shop.example/1",
    "image_link": "https://shop.example/1.jpg",
    "brand": "Hut",
}
OPERATION: Final = Operation.update([AudienceUser(email=DIGEST)])
BEARER: Final = Bearer("bearer-token")
USER: Final = OAuth1("key", "key-secret", "token", "token-secret")


class HighestJitter(random.Random):
    """Draws the largest number there is below 1, so that every wait is known: 1.0."""

    def random(self) -> float:
        return 1.0


def client_of(
    server: Server | str,
    clock: Clock | None = None,
    *,
    credentials: tuple[Credentials, ...] = (BEARER, USER),
    options: dict[str, Any] | None = None,
    **config: Any,
) -> Client:
    """A client of the server by its address; `config` are settings, `options` arguments of the client."""
    url = server if isinstance(server, str) else server.url
    return Client(
        Config(base_url=url, ads_url=f"{url}/ads", ads_sandbox_url=f"{url}/ads-sandbox", **config),
        credentials,
        clock=clock,
        rng=HighestJitter(),
        **(options or {}),
    )
