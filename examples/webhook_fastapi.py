"""A webhook runs in a FastAPI application with any number of workers.

Use it to receive events on several processors. All workers share one inbox. Each event is handled once, and
again only if a worker is killed before finishing it.

SOCIALAPI_API_KEY_SECRET is the app's API key secret. Run it, and register the address once it is
running:

    uvicorn webhook_fastapi:make_app --factory --app-dir examples --workers 2 --no-access-log
    python -c "
    import asyncio, socialapi
    async def main():
        async with socialapi.Client.from_env() as client:
            print(await client.webhooks.ensure('https://app.example/hooks'))
    asyncio.run(main())"

What to change:

- `handle`: your own code; register functions for single event types with `events.on("post.create")`
- `EVENTS_INBOX`: a path on a persistent local disk that all workers share
- `max_concurrency`: how many events a worker handles at once
- `/hooks`: the path, which the registered address must contain
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator

from fastapi import FastAPI

from socialapi.streams import Dispatcher
from socialapi.webhooks import ActivityEvent, Receiver


async def handle(event: ActivityEvent) -> None:
    """Handles an event, which is finished when this returns. If the worker is killed before that, another worker or the
    next start delivers it again.
    """
    print(f"worker {os.getpid()} handles {event.event_id}", flush=True)
    if event.payload.get("takes_long"):
        await asyncio.Event().wait()  # in place of real work, which may be interrupted


def make_app() -> FastAPI:
    """Returns the application. A test creates a separate one, because a receiver belongs to one event loop."""
    receiver = Receiver(
        os.environ["SOCIALAPI_API_KEY_SECRET"],
        inbox=os.environ.get("EVENTS_INBOX", "events.sqlite"),
    )
    events = Dispatcher(max_concurrency=16)
    events.on("*")(handle)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        """Opens the inbox, and handles events for as long as this worker runs.

        Errors of a handler are logged, and its event is delivered again after the next start. If event handling itself
        ends, for example because the inbox fails, this is logged and ends this worker.
        """
        async with receiver.handled_by(events.run):
            yield

    app = FastAPI(lifespan=lifespan)
    app.add_route("/hooks", receiver.asgi, methods=["GET", "POST"])
    return app
