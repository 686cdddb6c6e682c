"""A client that is used in several event loops, one after the other or at once."""

import asyncio
import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any, Final

import aiohttp
import pytest

from socialapi import AppOnly, Bearer, Client, Config, OAuth2User, errors
from socialapi.routes.route import RateLimit
from socialapi.session.rate_limiter import SlidingWindowPacer, Slot

PAGE = b'{"data":[{"id":"1","text":"hello","edit_history_tweet_ids":["1"]}]}'
TOKEN = b'{"access_token":"fetched","token_type":"bearer"}'


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(PAGE)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._answer(TOKEN)

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Port", str(self.client_address[1]))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server in a thread, which outlives every event loop."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


async def read(client: Client) -> Any:
    return await client.posts.lookup(["1"])


@pytest.mark.parametrize(
    "credential", [Bearer("b"), AppOnly("key", "secret"), OAuth2User("access", "refresh", "client")], ids=repr
)
def test_a_client_works_in_every_event_loop_after_the_one_before_was_closed(url: str, credential: Any) -> None:
    client = Client(Config(base_url=url), [credential])

    async def several() -> int:
        return len(await asyncio.gather(*(read(client) for _ in range(5))))

    for _ in range(3):
        assert asyncio.run(several()) == 5
    assert all(each.in_flight == 0 for each in client.limits.values())
    asyncio.run(client.aclose())
    with pytest.raises(RuntimeError, match="closed"):
        asyncio.run(several())


def test_a_walk_and_a_job_begin_anew_in_another_event_loop(url: str) -> None:
    client = Client(Config(base_url=url), [Bearer("b")])

    async def walk() -> int:
        return len(await client.posts.by_user("1").collect(limit=1))

    assert asyncio.run(walk()) == 1
    assert asyncio.run(walk()) == 1


def test_what_was_on_its_way_in_a_loop_that_was_cut_off_counts_as_answered() -> None:
    pacer = SlidingWindowPacer()
    window = RateLimit("uploads", 2, 60.0)

    async def take() -> Slot:
        return await pacer.acquire("uploads", window, bulk=False, max_wait_seconds=0)

    former = [asyncio.run(take()), asyncio.run(take())]
    pacer.begin_anew()
    status = pacer.limits()["uploads"]
    assert (status.in_flight, status.remaining) == (0, 0), "until the window is over"
    for slot in former:
        slot.replied(None)  # of a coroutine that is thrown away later
    assert pacer.limits()["uploads"] == status


def test_in_two_loops_at_once_the_second_is_told(url: str) -> None:
    client = Client(Config(base_url=url), [Bearer("b")])
    raised: list[BaseException] = []

    def in_thread() -> None:
        try:
            asyncio.run(read(client))
        except errors.ConfigurationError as problem:
            raised.append(problem)

    async def main() -> None:
        await read(client)
        await asyncio.to_thread(in_thread)
        await read(client)
        await client.aclose()

    asyncio.run(main())
    assert [str(each) for each in raised] == [
        "this client belongs to another event loop, which is still open: create a client for each loop and each thread"
    ]


@pytest.mark.parametrize("given", ["session", "connector", "pacer"])
def test_with_something_of_the_users_the_second_loop_is_told(url: str, given: str) -> None:
    makers: dict[str, Any] = {
        "session": aiohttp.ClientSession,
        "connector": aiohttp.TCPConnector,
        "pacer": SlidingWindowPacer,
    }

    async def first() -> Client:
        of_user = makers[given]()
        client = Client(Config(base_url=url), [Bearer("b")], **{given: of_user})
        await read(client)
        if given != "pacer":
            await of_user.close()
        return client

    client = asyncio.run(first())
    with pytest.raises(errors.ConfigurationError, match="this client belongs to an event loop that is closed"):
        asyncio.run(read(client))


FORK: Final = """
import asyncio, os, sys
from socialapi import Bearer, Client, Config

client = Client(Config(base_url=sys.argv[1]), [Bearer("b")])

async def main():
    await client.posts.lookup(["1"])
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    asyncio._set_running_loop(None)  # as a new process of multiprocessing does
    print(len(asyncio.run(client.posts.lookup(["1"])).data), flush=True)
    os._exit(0)

sys.exit(asyncio.run(main()))
"""


def test_a_forked_process_has_connections_of_its_own(url: str) -> None:
    done = subprocess.run([sys.executable, "-c", FORK, url], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


FORK_OUTSIDE: Final = """
import asyncio, os, sys
from socialapi import Bearer, Client, Config

ports = []
loop = asyncio.new_event_loop()
client = Client(Config(base_url=sys.argv[1]), [Bearer("b")], on_reply=lambda reply: ports.append(reply.headers["x-port"]))

def read():
    loop.run_until_complete(client.posts.lookup(["1"]))

read()
child = os.fork()
if child:
    sys.exit(os.waitpid(child, 0)[1])
read()
print(len(set(ports)), flush=True)
os._exit(0)
"""


def test_a_forked_process_that_goes_on_with_the_same_loop_has_connections_of_its_own(url: str) -> None:
    command = [sys.executable, "-c", FORK_OUTSIDE, url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "2\n")


async def dry_run(client: Client) -> int:
    audience = client.ads.account("1a").custom_audience("1b")
    return (await audience.upload([{"email": "ann@example.com"}], dry_run=True)).read


def test_a_dry_run_sends_nothing_and_binds_a_client_to_no_loop() -> None:
    client = Client(Config(ads_url="http://127.0.0.1:1"), [Bearer("b")], pacer=SlidingWindowPacer())
    assert [asyncio.run(dry_run(client)) for _ in range(2)] == [1, 1]
    asyncio.run(client.aclose())
