"""A service that counts the users it is sent and remembers nothing, so that a client can be measured at its own speed.

Standard output gets one JSON object, as that of the emulator; it ends when standard input does.
"""

import asyncio
import json
import sys

from aiohttp import web

MAX_BODY_BYTES = 6_000_000


async def count(request: web.Request) -> web.Response:
    users = (await request.read()).count(b'"operation_type"')
    return web.json_response({"data": {"success_count": users, "total_count": users}})


async def main() -> None:
    app = web.Application(client_max_size=MAX_BODY_BYTES)
    app.router.add_post("/{path:.*}", count)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    keys = ("api_key", "api_key_secret", "access_token", "access_token_secret")
    ready = {"ads_url": f"http://127.0.0.1:{runner.addresses[0][1]}/ads"} | dict.fromkeys(keys, "any")
    print(json.dumps(ready), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main())
