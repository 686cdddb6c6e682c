"""What tests of a pacer ask for."""

from typing import Final

from socialapi.routes.route import RateLimit
from socialapi.session.rate_limiter import Pacer, Slot

TEN_A_MINUTE: Final = RateLimit("ten", 10, 60.0)


async def acquire(
    pacer: Pacer,
    documented: RateLimit | None = TEN_A_MINUTE,
    *,
    key: str = "k",
    bulk: bool = False,
    max_wait_seconds: float = 1_000.0,
) -> Slot:
    """Takes a place of a window."""
    return await pacer.acquire(key, documented, bulk=bulk, max_wait_seconds=max_wait_seconds)
