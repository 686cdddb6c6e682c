"""A webhook runs in a FastAPI application with as many workers as you like.

Use it to receive events on several processors. All workers share one inbox: each event is handled
once, and again after a kill if it was not finished.

SOCIALAPI_API_KEY_SECRET is the app's API key secret. Run it, and register the address once it
serves:

    uvicorn webhook_fastapi:make_app --factory --app-dir examples --workers 2 --no-access-log
    python -c "
    import asyncio, socialapi
    async def main():
        async with socialapi.Client.from_env() as client:
            print(await client.webhooks.ensure('https://app.example/hooks'))
    asyncio.run(main())"

What to change:

- `handle`: your own work; register functions for single event types with `events.on("post.create")`
- `EVENTS_INBOX`: a path on a local disk that stays and that all workers share
- `max_concurrency`: how many events a worker handles at once
- `/hooks`: the path, which the registered address must have
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator

from fastapi import FastAPI

from socialapi.streams import Dispatcher
from socialapi.webhooks import ActivityEvent, Receiver


async def handle(event: ActivityEvent) -> None:
    """An event is done with when this returns; until then another worker, or the next start, hands it out again."""
    print(f"worker {os.getpid()} handles {event.event_id}", flush=True)
    if event.payload.get("takes_long"):
        await asyncio.Event().wait()  # stands for work that is interrupted


def make_app() -> FastAPI:
    """Returns the application. A test makes one for itself, since a receiver belongs to one event loop."""
    receiver = Receiver(
        os.environ["SOCIALAPI_API_KEY_SECRET"],
        inbox=os.environ.get("EVENTS_INBOX", "events.sqlite"),
    )
    events = Dispatcher(max_concurrency=16)
    events.on("*")(handle)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        """Opens the inbox, and handles events for as long as this worker runs.

        What a handler raises is logged, and its event comes again after the next start. Should the handling itself
        end, because the inbox fails for example, that is logged and ends this worker.
        """
        async with receiver.handled_by(events.run):
            yield

    app = FastAPI(lifespan=lifespan)
    app.add_route("/hooks", receiver.asgi, methods=["GET", "POST"])
    return app
