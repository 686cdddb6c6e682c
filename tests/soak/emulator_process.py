"""The emulator of the soak, in a process of its own.

Standard input has one JSON line: `token_seconds` (how long a user's OAuth 2.0 token lasts) and
`rate_limits`. Standard output gets the ready line, with the refresh token of a user who has signed
in, and the ids of that user's newest posts. It ends when standard input does.
"""

import asyncio
import json
import sys
from typing import Any, Final

from socialapi.emulator import Emulator
from socialapi.emulator.oauth import oauth2
from socialapi.emulator.oauth.state import RefreshGrant

SCOPES: Final = frozenset({"tweet.read", "tweet.write", "users.read", "offline.access"})
REFRESH_TOKEN: Final = "the-refresh-token-of-the-sign-in"
NEWEST: Final = 1_000
"""The posts of the user that are told: more than a walk has."""


async def main(order: dict[str, Any]) -> None:
    oauth2.ACCESS_TOKEN_SECONDS = order["token_seconds"]  # type: ignore[misc]
    limits = {name: tuple(limit) for name, limit in order["rate_limits"].items()}
    async with Emulator(rate_limits=limits) as emulator:
        emulator.state.sign_ins.refresh_tokens[REFRESH_TOKEN] = RefreshGrant(
            app_key=emulator.ready["api_key"], user_id=emulator.seed["user_ids"][0], scopes=SCOPES
        )
        timeline = emulator.state.platform.posts.timeline(emulator.seed["user_ids"][0])[: -NEWEST - 1 : -1]
        print(json.dumps({**emulator.ready, "refresh_token": REFRESH_TOKEN, "timeline": timeline}), flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.stdin.readline())))
