"""Connections of strangers to a server of our own, within a bound that keeps nobody out."""

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

MOST_CONNECTIONS: Final = 4_096
"""How many there may be, and never more than half of the descriptors that the process may have."""
HEAD_SECONDS: Final = 10.0
"""How long a request may take from its first byte, or from the opening of the connection, until its head is there."""
GRACE_SECONDS: Final = 5.0
"""How long a connection without a whole head is not the first to be closed, while these are at most a quarter of all:
everybody begins like that.
"""
QUIET_SECONDS: Final = 60.0
"""How long nothing more is said about connections that cannot be accepted."""
_NO_ROOM: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

logger: Final = logging.getLogger("socialapi")


class _Phase(enum.Enum):
    """What a connection is at, in the order in which connections are closed to make room."""

    HEAD = enum.auto()
    IDLE = enum.auto()
    REQUEST = enum.auto()


class Connections:
    """Makes the protocols of a server's connections.

    When there is one too many, the oldest is closed that has not sent a whole head of a request; if there is none, the
    oldest that waits for another request; if there is none either, the one with the oldest request. Never the newcomer,
    nor those that came just before it.
    """

    def __init__(self, most: int = MOST_CONNECTIONS) -> None:
        self.server: web.Server | None = None
        self._most = most
        self._by_phase: dict[_Phase, dict[_Connection, None]] = {phase: {} for phase in _Phase}  # the oldest first
        self._by_protocol: dict[asyncio.BaseProtocol, _Connection] = {}

    def __call__(self) -> asyncio.Protocol:
        """The protocol of a new connection. Others are closed first if there are too many."""
        assert self.server is not None
        while len(self._by_protocol) >= self._most:
            self._first_to_close().abort()
        protocol = self.server()
        connection = self._by_protocol[protocol] = _Connection(self, protocol)
        connection.enter(_Phase.HEAD)
        return connection

    def _first_to_close(self) -> "_Connection":
        head, idle, request = self._by_phase.values()
        is_head_first = len(head) > self._most // 4 or any(each.has_had_its_grace for each in itertools.islice(head, 1))
        return next(itertools.chain(head, idle, request) if is_head_first else itertools.chain(idle, request, head))

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Notes for how long a connection is at a request whose head is there."""
        connection = self._by_protocol.get(request.protocol)
        if connection is None:  # it has been closed meanwhile
            return await handler(request)
        connection.enter(_Phase.REQUEST)
        try:
            return await handler(request)
        finally:
            connection.enter(_Phase.IDLE)

    def move(self, connection: "_Connection", before: _Phase | None, after: _Phase) -> None:
        """The connection is at something else from now on."""
        if before is not None:
            del self._by_phase[before][connection]
        self._by_phase[after][connection] = None

    def forget(self, connection: "_Connection", phase: _Phase | None) -> None:
        """The connection is closed."""
        self._by_protocol.pop(connection.protocol, None)
        if phase is not None:
            del self._by_phase[phase][connection]


class _Connection(asyncio.Protocol):
    """Passes everything on to aiohttp's protocol, and knows since when the head of a request is waited for."""

    def __init__(self, connections: Connections, protocol: asyncio.Protocol) -> None:
        self.protocol: Final = protocol
        self._connections = connections
        self._phase: _Phase | None = None
        self._since = 0.0
        self._deadline: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport | None = None
        self._is_closed = False

    @property
    def has_had_its_grace(self) -> bool:
        """Whether the head of a request should have been here by now."""
        return asyncio.get_running_loop().time() - self._since >= GRACE_SECONDS

    def enter(self, phase: _Phase) -> None:
        """What it is at from now on; nothing any more once it is closed."""
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
        """Closes it at once; others have its place from now on."""
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
        """It has been accepted, and may have been given up before that."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.protocol.connection_made(transport)
        if self._is_closed:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        """The first byte after an answer begins another request."""
        if self._phase is _Phase.IDLE:
            self.enter(_Phase.HEAD)
        self.protocol.data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed, by whichever side."""
        self._leave()
        self.protocol.connection_lost(exc)

    def eof_received(self) -> bool | None:
        """The other side sends nothing more."""
        return self.protocol.eof_received()

    def pause_writing(self) -> None:
        """The other side does not read."""
        self.protocol.pause_writing()

    def resume_writing(self) -> None:
        """The other side reads again."""
        self.protocol.resume_writing()


def descriptors() -> float:
    """How many descriptors this process may have, after raising that bound to what `MOST_CONNECTIONS` needs."""
    try:
        import resource
    except ImportError:  # Windows, which has no such bound
        return math.inf
    wanted = 2 * MOST_CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(
                resource.RLIMIT_NOFILE, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard)
            )
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return math.inf if soft == resource.RLIM_INFINITY else soft


@contextlib.contextmanager
def failing_accepts_said_rarely() -> Iterator[None]:
    """Where asyncio would log a traceback for every attempt to accept a connection without a descriptor for it."""
    loop = asyncio.get_running_loop()
    previous = loop.get_exception_handler()
    quiet_until = -math.inf

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal quiet_until
        problem = context.get("exception")
        if not (isinstance(problem, OSError) and problem.errno in _NO_ROOM and "socket" in context):
            (previous or type(loop).default_exception_handler)(loop, context)
        elif loop.time() >= quiet_until:
            quiet_until = loop.time() + QUIET_SECONDS
            logger.error("connections cannot be accepted: %s", problem.strerror)

    loop.set_exception_handler(handle)
    try:
        yield
    finally:
        loop.set_exception_handler(previous)
