r"""A FastAPI service reads a stream, receives a webhook and serves a timeline.

Use it as the start of a service with one client for everything. It ends when the stream or the webhook fails
permanently, so that its supervisor restarts it.

Posts that match a rule and activity events are kept in memory, newest first. If the platform is unavailable
at the start, the server waits for it. One process reads the stream, so the server has one worker. WEBHOOK_URL
is the address at which the platform reaches `/hooks`. Hosts and credentials come from SOCIALAPI_* variables.
Run it against a local emulator:

    socialapi emulator --detach --env-file emulator.env \
        --webhook-target https://app.example/hooks=http://127.0.0.1:8000/hooks
    . ./emulator.env
    WEBHOOK_URL=https://app.example/hooks python examples/fastapi_service.py 8000

What to change:

- `keep_post` and `keep_event`: write to your database instead of `newest`
- `"snow OR ice"`: the rule that selects posts
- `timeline`: your own routes; they share `request.app.state.client`
- `max_wait_seconds`: how long a visitor waits for the rate limit before the response is 503
- `inbox`: a path on a persistent disk, so that no event is lost in a restart
"""

import asyncio
import collections
import contextlib
import itertools
import logging
import math
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import uvicorn
from fastapi import APIRouter, FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse

from socialapi import Client, errors
from socialapi.streams import ActivityEvent, Dispatcher, MatchedPost
from socialapi.webhooks import Receiver

logger = logging.getLogger(__name__)
pauses_seconds = [1, 5, 30, 60]
events = Dispatcher()
newest: dict[str, collections.deque[str | None]] = {name: collections.deque(maxlen=100) for name in ("posts", "events")}
router = APIRouter()


@events.on(MatchedPost)
def keep_post(post: MatchedPost) -> None:
    """Stores a post from the stream."""
    newest["posts"].appendleft(post.data.text)


@events.on(ActivityEvent)
def keep_event(event: ActivityEvent) -> None:
    """Stores an event from the webhook."""
    newest["events"].appendleft(event.event_type)


async def set_rules(client: Client) -> None:
    """Sets the rules that select the stream's posts. Retries for as long as the service is unavailable."""
    for pause_seconds in itertools.chain((1, 5, 15, 30), itertools.repeat(60)):
        try:
            await client.filtered_stream.ensure_rules("snow OR ice")
        except errors.SocialApiError as problem:
            if problem.is_lasting:
                raise
            logger.warning("the stream cannot be read yet: %s", problem)
        else:
            return
        await asyncio.sleep(pause_seconds)


async def read_stream(client: Client) -> None:
    """Reads the stream for as long as the server runs."""
    await set_rules(client)
    async with client.filtered_stream.connect(backfill_minutes=1) as stream:
        await events.run(stream)


async def register(client: Client) -> None:
    """Registers the webhook, once the server responds at its address."""
    for pause_seconds in pauses_seconds:
        try:
            await client.webhooks.ensure(os.environ["WEBHOOK_URL"])
        except errors.SocialApiError as problem:
            logger.warning("the webhook is not registered yet: %s", problem)
            await asyncio.sleep(pause_seconds)
        else:
            return
    await client.webhooks.ensure(os.environ["WEBHOOK_URL"])


async def or_end(work: Awaitable[None], without_it: str, end_server: Callable[[], None]) -> None:
    """Awaits a task that the server depends on. Shuts the server down if the task fails."""
    try:
        await work
    except Exception:
        logger.critical("%s, so the server shuts down", without_it, exc_info=True)
        end_server()


@router.get("/newest/{kind}")
async def show_newest(kind: str) -> list[str | None]:
    """Returns the newest `posts` from the stream, or `events` from the webhook."""
    return list(newest.get(kind, ()))


@router.get("/timeline/{user_id}")
async def timeline(user_id: str, request: Request) -> list[dict[str, Any]]:
    """Returns a user's newest posts in the platform's JSON format."""
    client: Client = request.app.state.client
    try:
        return [post.to_dict() for post in await client.posts.by_user(user_id, max_results=5)]
    except (errors.NotFound, errors.InvalidInput):
        raise HTTPException(404, "no such user") from None


async def busy(request: Request, problem: errors.RateLimitTooLong) -> JSONResponse:
    """Returns a response that says when to try again."""
    return JSONResponse({"detail": "busy"}, 503, {"Retry-After": str(math.ceil(problem.wait_seconds))})


def make_app(end_server: Callable[[], None]) -> FastAPI:
    """Returns the application. It calls `end_server` if it cannot continue."""
    receiver = Receiver(os.environ["SOCIALAPI_API_KEY_SECRET"], inbox="events.sqlite")

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        """Reads the stream and handles events while the server runs, with one client for everything."""
        async with Client.from_env() as client, receiver.handled_by(events.run), asyncio.TaskGroup() as tasks:
            background = [
                tasks.create_task(or_end(read_stream(client), "the stream can no longer be read", end_server)),
                tasks.create_task(or_end(register(client), "the webhook cannot be registered", end_server)),
            ]
            app.state.client = client.with_options(max_wait_seconds=2)  # because a visitor is waiting for the response
            yield
            for task in background:
                task.cancel()

    app = FastAPI(lifespan=lifespan)
    app.include_router(router)
    app.add_route("/hooks", receiver.asgi, methods=["GET", "POST"])
    app.exception_handler(errors.RateLimitTooLong)(busy)
    return app


def main(port: int) -> int:
    """Runs the server until a signal ends it. Returns 1 if the server could not continue."""
    has_failed = False

    def end_server() -> None:
        nonlocal has_failed
        has_failed = server.should_exit = True

    server = uvicorn.Server(uvicorn.Config(make_app(end_server), port=port))
    server.run()
    return int(has_failed)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
