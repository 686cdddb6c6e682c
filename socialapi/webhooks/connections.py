"""Limits the connections of a public server without locking out clients."""

import asyncio
import contextlib
import enum
import errno
import itertools
import logging
import math
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final

from aiohttp import web

MAX_CONNECTIONS: Final = 4_096
"""The maximum number of connections. It is also limited to half of the process's file descriptors."""
HEAD_SECONDS: Final = 10.0
"""How long a request head may take, from its first byte or the start of the connection."""
GRACE_SECONDS: Final = 5.0
"""For this long, a connection without a complete request head is not the first to be closed. Every connection starts
without a head. The protection ends if such connections fill more than a quarter of the limit.
"""
LOG_INTERVAL_SECONDS: Final = 60.0
"""The shortest time between two log records about failures to accept connections."""
_NO_ROOM: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

logger: Final = logging.getLogger("socialapi")


class _Phase(enum.Enum):
    """The phase of a connection. If there are too many connections, those in the first phase are usually closed first."""

    HEAD = enum.auto()
    IDLE = enum.auto()
    REQUEST = enum.auto()


class Connections:
    """Creates the protocols of a server's connections.

    Beyond the limit, it closes the oldest connection without a complete request head. If there is none, or if it is
    still protected (`GRACE_SECONDS`), it closes the one that has been idle longest, or else the one with the oldest
    request.
    """

    def __init__(self, most: int = MAX_CONNECTIONS) -> None:
        self.server: web.Server | None = None
        self._most = most
        self._by_phase: dict[_Phase, dict[_Connection, None]] = {phase: {} for phase in _Phase}  # the oldest first
        self._by_protocol: dict[asyncio.BaseProtocol, _Connection] = {}

    def __call__(self) -> asyncio.Protocol:
        """Returns the protocol of a new connection, after closing others if there are too many."""
        assert self.server is not None
        while len(self._by_protocol) >= self._most:
            head, idle, request = self._by_phase.values()
            is_old = any(each.is_past_grace for each in itertools.islice(head, 1))
            phases = (head, idle, request) if is_old or len(head) > self._most // 4 else (idle, request, head)
            next(itertools.chain(*phases)).abort()
        protocol = self.server()
        connection = self._by_protocol[protocol] = _Connection(self, protocol)
        connection.enter(_Phase.HEAD)
        return connection

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Keeps a connection in the handling phase while a request with a complete head is being handled."""
        connection = self._by_protocol.get(request.protocol)
        if connection is None:  # it has been closed
            return await handler(request)
        connection.enter(_Phase.REQUEST)
        try:
            return await handler(request)
        finally:
            connection.enter(_Phase.IDLE)

    def move(self, connection: "_Connection", before: _Phase | None, after: _Phase) -> None:
        """Moves a connection to another phase."""
        if before is not None:
            del self._by_phase[before][connection]
        self._by_phase[after][connection] = None

    def forget(self, connection: "_Connection", phase: _Phase | None) -> None:
        """Removes a closed connection."""
        self._by_protocol.pop(connection.protocol, None)
        if phase is not None:
            del self._by_phase[phase][connection]


class _Connection(asyncio.Protocol):
    """Forwards everything to aiohttp's protocol, and limits the wait for the head of a request."""

    def __init__(self, connections: Connections, protocol: asyncio.Protocol) -> None:
        self.protocol: Final = protocol
        self._connections = connections
        self._phase: _Phase | None = None
        self._since = 0.0
        self._deadline: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport | None = None
        self._is_closed = False

    @property
    def is_past_grace(self) -> bool:
        """Whether the head of a request should have arrived by now."""
        return asyncio.get_running_loop().time() - self._since >= GRACE_SECONDS

    def enter(self, phase: _Phase) -> None:
        """Sets the phase, unless the connection is closed."""
        if self._is_closed:
            return
        self._connections.move(self, self._phase, phase)
        self._phase, self._since = phase, asyncio.get_running_loop().time()
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if phase is _Phase.HEAD:
            self._deadline = asyncio.get_running_loop().call_later(HEAD_SECONDS, self.abort)

    def abort(self) -> None:
        """Closes the connection immediately, which frees its slot."""
        self._leave()
        if self._transport is not None:
            self._transport.abort()

    def _leave(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._connections.forget(self, self._phase)
            if self._deadline is not None:
                self._deadline.cancel()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Handles an accepted connection, unless it was already closed to make room."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.protocol.connection_made(transport)
        if self._is_closed:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        """Enters the phase of the next request's head at the first byte after a response."""
        if self._phase is _Phase.IDLE:
            self.enter(_Phase.HEAD)
        self.protocol.data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Handles the end of the connection, whichever side ended it."""
        self._leave()
        self.protocol.connection_lost(exc)

    def eof_received(self) -> bool | None:
        """Forwards the end of the client's data."""
        return self.protocol.eof_received()

    def pause_writing(self) -> None:
        """Forwards the request to pause writing, because the client is not reading."""
        self.protocol.pause_writing()

    def resume_writing(self) -> None:
        """Forwards the request to resume writing, because the client is reading again."""
        self.protocol.resume_writing()


def descriptors() -> float:
    """Raises the limit on file descriptors to the number that `MAX_CONNECTIONS` needs, if possible. Returns the limit."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return math.inf
    wanted = 2 * MAX_CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(
                resource.RLIMIT_NOFILE, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard)
            )
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return math.inf if soft == resource.RLIM_INFINITY else soft


@contextlib.contextmanager
def log_accept_errors_rarely() -> Iterator[None]:
    """Logs failures to accept connections at most once a minute.

    asyncio would log a traceback for every attempt when there are no file descriptors left.
    """
    loop = asyncio.get_running_loop()
    previous = loop.get_exception_handler()
    quiet_until = -math.inf

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal quiet_until
        problem = context.get("exception")
        if not (isinstance(problem, OSError) and problem.errno in _NO_ROOM and "socket" in context):
            (previous or type(loop).default_exception_handler)(loop, context)
        elif loop.time() >= quiet_until:
            quiet_until = loop.time() + LOG_INTERVAL_SECONDS
            logger.error("connections cannot be accepted: %s", problem.strerror)

    loop.set_exception_handler(handle)
    try:
        yield
    finally:
        loop.set_exception_handler(previous)
