"""What a fuzz target is: bytes of strangers, what takes them, and what may come of it."""

import asyncio
import atexit
import contextlib
import functools
import logging
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final, TypeVar

import attrs

from socialapi.errors import SocialApiError
from tests.support.planted import told_by
from tests.support.records import LogLines

T = TypeVar("T")

MARKER_BYTE: Final = b"\x07"
"""A byte that stands for the marker in every input, so that a search can put it anywhere."""
MARKER: Final = b"planted.person@secret.example"
"""A personal value that no error may show."""
MAX_SECONDS: Final = 5.0
"""The most processor time of one input, which is small: slow machines and instrumented code take a
tenth of it.
"""
MAX_INPUT_BYTES: Final = 8_192


@attrs.frozen(kw_only=True)
class Target:
    """A function that gives bytes to what reads them, and asserts what must be true of the result.

    It may raise `refusals` and nothing else. `covers` are the functions that it is there for, as
    `module:function` or `_native:name`. With `hides`, no refusal shows the marker.
    """

    name: str
    run: Callable[[bytes], None]
    covers: tuple[str, ...]
    refusals: tuple[type[Exception], ...] = (SocialApiError,)
    hides: bool = True
    is_searched_in_tests: bool = True
    """Whether `make test-all` tries inputs besides the corpus. False for a library that may end the
    process.
    """

    def __call__(self, data: bytes) -> None:
        """Runs the target. Raises AssertionError, or what nothing may raise."""
        started = time.process_time()
        with _listening() as lines:
            try:
                self.run(data[:MAX_INPUT_BYTES].replace(MARKER_BYTE, MARKER))
            except self.refusals as error:
                if self.hides:
                    _refuse_to_show(error)
        for line in lines:
            assert MARKER.decode() not in line, f"a log record shows a value of the input: {line[:500]}"
        spent = time.process_time() - started
        assert spent < MAX_SECONDS, f"{self.name} took {spent:.1f} s for {len(data)} bytes"


@contextlib.contextmanager
def _listening() -> Iterator[list[str]]:
    """What the package logs in the block."""
    logger, listener = logging.getLogger("socialapi"), LogLines()
    logger.addHandler(listener)
    try:
        yield listener.lines
    finally:
        logger.removeHandler(listener)


def _refuse_to_show(error: Exception) -> None:
    for shown in told_by(error):
        assert MARKER.decode() not in shown, f"{type(error).__name__} shows a value of the input: {shown[:500]}"


TARGETS: Final[dict[str, Target]] = {}


def target(name: str, *covers: str, **options: Any) -> Callable[[Callable[[bytes], None]], Target]:
    """Registers a function as a target under a name."""

    def register(run: Callable[[bytes], None]) -> Target:
        assert name not in TARGETS
        TARGETS[name] = Target(name=name, run=run, covers=covers, **options)
        return TARGETS[name]

    return register


class Pieces:
    """Takes an input apart: numbers from its beginning, and the rest. An input that is too short
    has zeros.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self, below: int) -> int:
        """A number from 0 to below the limit, of one byte or two."""
        size = 1 if below <= 256 else 2
        return int.from_bytes(self._take(size), "big") % below

    def one_of(self, *values: T) -> T:
        """One of several values."""
        return values[self.number(len(values))]

    def part(self) -> bytes:
        """The bytes up to a separator, or all that is left."""
        part, _, _ = self._data[self._at :].partition(SEPARATOR)
        self._at += len(part) + len(SEPARATOR)
        return part

    def text(self) -> str:
        """As `part`, as text; what is not UTF-8 is a lone surrogate."""
        return self.part().decode("utf-8", "surrogateescape")

    def rest(self) -> bytes:
        """All that is left."""
        return self._take(len(self._data))

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def _take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        self._at += size
        return taken


SEPARATOR: Final = b"\xff\xfe"


def in_pieces(content: bytes, size: int) -> list[bytes]:
    """The content in pieces of this size."""
    return [content[at : at + size] for at in range(0, len(content), max(1, size))]


def outcome(run: Callable[[], T], *errors: type[Exception]) -> Any:
    """What a function returns, or the class and the words of the error that it raises."""
    try:
        return run()
    except errors as error:
        return type(error).__name__, str(error)


def completed(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine, on an event loop that all targets share."""
    return _runner().run(coroutine)


@functools.cache
def _runner() -> asyncio.Runner:
    runner = asyncio.Runner()
    atexit.register(runner.close)
    return runner


@functools.cache
def scratch_folder() -> Path:
    """A folder for the files of this process, in memory where there is such a place; removed in the
    end.
    """
    import shutil

    memory = Path("/dev/shm")
    folder = Path(mkdtemp(prefix="socialapi-fuzz-", dir=memory if memory.is_dir() else None))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
