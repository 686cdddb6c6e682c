"""Reads files from object stores and web servers.

A version of a file is identified by its size and its ETag or modification time. To read all content from one version,
requests are conditional, or the version is checked again after reading. Failed requests to web servers are retried like
API calls. The libraries for object stores retry their own requests.
"""

import asyncio
import contextlib
import functools
import io
import itertools
import logging
import os
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from time import sleep
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeVar, cast
from urllib.parse import quote

import attrs
from yarl import URL

from socialapi.bulk.inputs.addresses import scheme_of
from socialapi.bulk.inputs.reader import FileVersion
from socialapi.errors import InvalidInput, SocialApiError
from socialapi.internal.secret import hidden
from socialapi.session.network import Certificates, Network
from socialapi.wire.rate_limit_headers import LimitHeaders
from socialapi.wire.retry import Failure, RetryPolicy, Wait, decide, failure_of_status

if TYPE_CHECKING:
    import aiohttp
    from _typeshed import WriteableBuffer

SCHEMES: Final = ("https", "s3", "gs", "abfs", "memory")
MAX_REDIRECTS: Final = 5
CONNECT_SECONDS: Final = 30.0
READ_SECONDS: Final = 60.0
"""The timeout for the next bytes from a server."""
RETRIES: Final = RetryPolicy(max_attempts=5, max_wait_seconds=60.0)
_headers: Final = LimitHeaders(())
logger: Final = logging.getLogger("socialapi")
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_ETAGS: Final = ("ETag", "etag")
_TIMES: Final = ("LastModified", "last_modified", "updated", "mtime", "created")
_PRINTABLE: Final = "".join(map(chr, range(33, 127)))
_UNPACKED_HERE: Final = ("", "identity", "gzip", "x-gzip")
_NO_CREDENTIALS: Final = (
    "no credentials for the object store were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
)
_CHANGED: Final = "it has changed since the job opened it: start the job again"

T = TypeVar("T")


def _supported_scheme_of(address: str) -> str:
    """Returns the scheme of an address. Raises InvalidInput if the scheme is not supported."""
    scheme, is_chained = scheme_of(address), "::" in address.partition("://")[0]
    if scheme in SCHEMES and not is_chained and not address.lower().startswith(f"{scheme}://"):
        raise InvalidInput(f"write the address as a string that begins with {scheme}://")
    if is_chained or scheme not in SCHEMES:
        raise InvalidInput(
            "files are read from paths, and from addresses that begin with s3://, gs://, abfs:// or https://, not with "
            f"{scheme}{'::' if is_chained else '://'}"
        )
    return scheme


class Body(Protocol):
    """The body of a response, which contains a file or a range of it."""

    def read(self, size: int) -> bytes:
        """Returns the next bytes, at most `size`, or no bytes at the end."""

    def close(self) -> None:
        """Ends the request."""


class Store(Protocol):
    """One file in an object store or on a web server."""

    @property
    def is_conditional(self) -> bool:
        """Whether the store rejects a request that names an outdated version."""

    def version(self) -> FileVersion:
        """Returns the current version of the file."""

    def get(self, version: FileVersion, start: int, stop: int | None) -> Body:
        """Requests the bytes of this version from `start` up to `stop`, or to the end."""

    def close(self) -> None:
        """Closes the connections for this file."""


class RemoteFile(io.RawIOBase):
    """A file at a URL, read in one request or in ranges. Raises InvalidInput if it changes or ends early."""

    def __init__(self, store: Store, version: FileVersion) -> None:
        self._store = store
        self.version = version
        self._body: Body | None = None
        self._at = 0
        self._stop: int | None = None
        self._in_ranges = False

    @property
    def size(self) -> int | None:
        """The size of the file in bytes, or None if it is unknown."""
        return self.version.size

    @property
    def is_delimited(self) -> bool:
        """Whether the end of the file can be distinguished from a lost connection."""
        if self.size is not None:
            return True
        body = self._opened()  # object stores report the size of every file
        return not isinstance(body, _Reply) or body.is_delimited

    def readable(self) -> bool:
        """Returns True."""
        return True

    def seekable(self) -> bool:
        """Returns whether the file is read in ranges."""
        return self._in_ranges

    def read_ranges(self) -> None:
        """Makes the file seekable if its size is known. Raises InvalidInput if its versions cannot be compared."""
        if self.version.etag is None and self.version.changed_at is None:
            raise InvalidInput(
                "its server sends neither an ETag nor a Last-Modified time, so ranges of different versions could be "
                "mixed up: download the Parquet file first"
            )
        self._in_ranges = self.size is not None

    def tell(self) -> int:
        """Returns the position of the next byte."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Moves to another position and returns it."""
        at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size or 0}[whence]
        if at != self._at:
            self._end_body()
            self._at = at
        return at

    def readinto(self, buffer: "WriteableBuffer") -> int:
        """Reads the next bytes into the buffer and returns their number, which is 0 at the end."""
        view = memoryview(buffer).cast("B")
        if self._at == self.size:
            self._end_body()
            self._check_version()
            return 0
        if self._in_ranges and self._body is None and self.size is not None:
            self._stop = min(self._at + len(view), self.size)
        # A range can be requested again. An entire file comes in one response, and the request can be retried only
        # before any bytes have arrived.
        data = _with_retries(lambda: self._read(len(view)), is_repeatable=self._in_ranges or not self._at)
        if not data and self.size is not None:
            raise InvalidInput(
                f"it ended after {self._at:,} of {self.size:,} bytes: the connection broke, or the file has changed"
            )
        view[: len(data)] = data
        self._at += len(data)
        if self._at == self._stop:
            self._end_body()
            self._check_version()
        return len(data)

    def _read(self, size: int) -> bytes:
        body = self._opened()
        try:
            return body.read(size)
        except BaseException:
            self._end_body()
            raise

    def _check_version(self) -> None:
        """Raises InvalidInput if the file was replaced, unless the store itself checks the version."""
        if not self._store.is_conditional and _with_retries(self._store.version) != self.version:
            raise InvalidInput(_CHANGED)

    def close(self) -> None:
        """Closes the file and its connections. Idempotent."""
        if not self.closed:
            self._end_body()
            self._store.close()
        super().close()

    def _opened(self) -> Body:
        if self._body is None:
            self._body = _with_retries(lambda: self._store.get(self.version, self._at, self._stop))
        return self._body

    def _end_body(self) -> None:
        if self._body is not None:
            self._body.close()
            self._body = None


class Stores:
    """The object stores and web servers that a job reads from."""

    def __init__(self, network: Network | None) -> None:
        self._given = network
        self._file_systems: dict[str, Any] = {}

    def open(self, address: str, version: FileVersion | None = None) -> RemoteFile:
        """Opens a version of the file at an address. Raises InvalidInput if it is missing or cannot be reached."""
        store = _with_retries(lambda: self._store(address))
        try:
            return RemoteFile(store, version or _with_retries(store.version))
        except InvalidInput:
            store.close()
            raise

    def addresses_of(self, pattern: str) -> dict[str, FileVersion]:
        """Returns the addresses of the matching files, sorted, with their versions. The address of a file matches only
        that file.
        """
        scheme = _supported_scheme_of(pattern)

        def find() -> dict[str, FileVersion]:
            files = self._file_system(scheme)
            if files.isfile(pattern):
                return {pattern: _OtherStore(files, pattern).version()}
            found = files.glob(pattern, detail=True).items()
            return {
                str(files.unstrip_protocol(name)): _version_in(info)
                for name, info in sorted(found)
                if info.get("type") != "directory"
            }

        return _with_retries(find)

    @functools.cached_property
    def _network(self) -> Network:
        return self._given or Network.of(os.environ, own=True)

    def _store(self, address: str) -> Store:
        scheme = _supported_scheme_of(address)
        address = hidden(scheme + address[len(scheme) :])
        if scheme == "https":
            return _Website(address, self._network)
        return (_Bucket if scheme == "s3" else _OtherStore)(self._file_system(scheme), address)

    def _file_system(self, scheme: str) -> Any:
        if scheme not in self._file_systems:
            # The cached file system of another job may have used different environment variables.
            options: dict[str, Any] = {"use_listings_cache": False, "skip_instance_cache": True}
            if scheme == "s3":
                tls = self._network.tls
                options["config_kwargs"] = {"connect_timeout": CONNECT_SECONDS, "read_timeout": READ_SECONDS}
                if isinstance(tls, Certificates) and tls.authorities is not None:
                    options["client_kwargs"] = {"verify": tls.authorities[1]}
            try:
                self._file_systems[scheme] = _fsspec().filesystem(scheme, **options)
            except ImportError:
                package = {"gs": "gcsfs", "abfs": "adlfs"}.get(scheme, "'aiosocialapi[remote]'")
                raise InvalidInput(f"reading {scheme}:// needs another package: pip install {package}") from None
        return self._file_systems[scheme]


def _fsspec() -> Any:
    try:
        import fsspec.asyn
    except ImportError:
        raise InvalidInput("reading remote files needs another package: pip install 'aiosocialapi[remote]'") from None
    return fsspec


def _range_of(start: int, stop: int | None) -> str | None:
    return f"bytes={start}-{'' if stop is None else stop - 1}" if start or stop is not None else None


class _Unavailable(Exception):
    """Raised if a web server fails and a retry may succeed."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure)
        self.failure = failure


def _with_retries(work: Callable[[], T], *, is_repeatable: bool = True) -> T:
    """Returns the result of `work`. Retries failures if `is_repeatable`. Replaces a store's errors with InvalidInput,
    because they may contain an address with its query. Sleeps in the reading thread, unlike the retry loop of calls.
    """
    waited_seconds = 0.0
    for attempt in itertools.count(1):
        try:
            return work()
        except Exception as problem:  # noqa: BLE001  # any error of a store's library
            failure, says = _failure_of(problem), _says(problem)
        jitter = random.random()  # noqa: S311  # spreads requests, and keeps no secret
        decision = decide(
            RETRIES,
            repeatable=is_repeatable,
            attempt=attempt,
            failure=failure,
            jitter=jitter,
            waited_seconds=waited_seconds,
        )
        if not isinstance(decision, Wait):
            break
        logger.info("reading a file: %s, retrying in %.1f s", says, decision.seconds)
        sleep(decision.seconds)
        waited_seconds += decision.seconds
    raise InvalidInput(says)  # outside `except`: a store's error may contain an address with its query


def _failure_of(problem: Exception) -> Failure:
    import aiohttp

    if isinstance(problem, _Unavailable):
        return problem.failure
    transient = (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, TimeoutError)
    is_final = not isinstance(problem, transient) or isinstance(problem, aiohttp.ClientSSLError)
    return Failure("yes" if is_final else "unknown", "")


def _says(problem: Exception) -> str:
    """Returns why a file cannot be read, without its address."""
    import aiohttp

    from socialapi.session.transport import not_sent_reason

    kind = type(problem).__name__
    says = _NO_CREDENTIALS if kind == "NoCredentialsError" else f"the store cannot be read ({kind})"
    match problem:
        case SocialApiError():
            says = str(problem)
        case _Unavailable():
            says = f"the server answered {problem.failure.summary}"
        case FileNotFoundError():
            says = "there is no such file"
        case PermissionError():
            says = "no permission to read it: check the store's credentials"
        case TimeoutError():
            says = f"the store did not answer for {READ_SECONDS:.0f} s"
        case aiohttp.ClientPayloadError():
            says = "the download was interrupted"
        case aiohttp.ClientConnectorError() | aiohttp.ClientHttpProxyError():
            says = not_sent_reason(problem)
        case aiohttp.ClientConnectionError():
            says = "the connection broke"
        case ValueError():  # includes aiohttp's InvalidURL
            says = "this is not an address"
    return says


# Web servers ---------------------------------------------------------------------------------------------------------


class _Website:
    """A file on a web server. The reading thread sends its requests through the event loop of fsspec."""

    is_conditional: ClassVar[bool] = True

    def __init__(self, address: str, network: Network) -> None:
        self._url = _url(address)
        self._network = Network(network.proxies, network.tls)  # a new one, because the event loop is different
        self._asyn = _fsspec().asyn
        self._session: aiohttp.ClientSession | None = None

    def _run(self, work: Callable[[], Awaitable[T]]) -> T:
        return cast("T", self._asyn.sync(self._asyn.get_loop(), work))

    def version(self) -> FileVersion:
        # Does not send a HEAD request, because an address that is signed for GET would reject it.
        return self._run(self._version)

    def get(self, version: FileVersion, start: int, stop: int | None) -> Body:
        return self._run(lambda: self._get(version, start, stop))

    def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            self._run(session.close)

    async def _version(self) -> FileVersion:
        async with await self._request({"Range": "bytes=0-0"}) as reply:
            if reply.status not in (200, 206, 416):
                raise InvalidInput(_refused(reply.status))
            return _version_of(reply)

    async def _get(self, version: FileVersion, start: int, stop: int | None) -> Body:
        headers = {}
        if version.etag is not None:
            headers["If-Match"] = version.etag
        elif version.changed_at is not None:
            headers["If-Unmodified-Since"] = version.changed_at
        if (span := _range_of(start, stop)) is not None:
            headers["Range"] = span
        reply = await self._request(headers)
        if (fault := _why_not_read(reply, version, headers.get("Range"))) is not None:
            reply.close()
            raise InvalidInput(fault)
        return _Reply(reply, self._run)

    async def _request(self, headers: Mapping[str, str]) -> "aiohttp.ClientResponse":
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False)
        timeout = aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS, sock_read=READ_SECONDS)
        url = self._url
        for _ in range(1 + MAX_REDIRECTS):
            if url.scheme != "https":
                raise InvalidInput("it redirects to an address without https, which is not allowed")
            options = await self._network.options_for(url.scheme, url.host or "", url.port)
            reply = await self._session.get(
                url,
                headers={"Accept-Encoding": "identity", **headers},
                timeout=timeout,
                allow_redirects=False,
                **options.options,
            )
            location = reply.headers.get("Location")
            if reply.status not in _REDIRECTS or location is None:
                break
            reply.close()
            url = url.join(_url(location))
        else:
            raise InvalidInput(f"it redirects more than {MAX_REDIRECTS} times")
        failure = failure_of_status(reply.status, _headers.retry_after_seconds(reply.headers, time.time()))
        if reply.status >= 400 and failure.executed != "yes":
            reply.close()
            raise _Unavailable(failure)
        return reply


def _url(address: str) -> URL:
    """Returns the URL, with spaces and non-ASCII characters escaped. Existing escapes are kept."""
    return URL(quote(address, safe=_PRINTABLE), encoded=True)


def _version_of(reply: "aiohttp.ClientResponse") -> FileVersion:
    """Returns the version of the entire file from the headers of a response, which may contain only a range."""
    total = reply.headers.get("Content-Range", "").rpartition("/")[2]
    size = int(total) if total.isdigit() else reply.content_length if reply.status == 200 else None
    etag = reply.headers.get("ETag", "")
    is_strong = etag.startswith('"')
    changed_at = reply.headers.get("Last-Modified") or (etag if etag and not is_strong else None)
    return FileVersion(size, etag if is_strong else None, changed_at)


def _why_not_read(reply: "aiohttp.ClientResponse", version: FileVersion, asked: str | None) -> str | None:
    """Returns why a response cannot be used, or None. `asked` is the requested range, or None for the entire file."""
    if reply.status == 412 or (reply.status in (200, 206) and _is_other(_version_of(reply), version)):
        return _CHANGED
    if reply.status not in (200, 206):
        return _refused(reply.status)
    if asked is not None and reply.status == 200:
        return "the server does not support ranges, which Parquet needs: download the file first"
    start = (asked or "bytes=").removeprefix("bytes=").partition("-")[0]
    if (asked is None) != (reply.status == 200) or not reply.headers.get("Content-Range", "").startswith(
        f"bytes {start}-" if start else ""
    ):
        return "the server did not send the requested part of the file"
    encoding = reply.headers.get("Content-Encoding", "identity").lower()
    return None if encoding in _UNPACKED_HERE else f"the server sends it as {encoding}, which the request excluded"


def _is_other(now: FileVersion, before: FileVersion) -> bool:
    """Returns whether two versions differ in their ETags, or else in a size or time that both have."""
    if now.etag is not None and before.etag is not None:
        return now.etag != before.etag
    pairs = ((now.size, before.size), (now.changed_at, before.changed_at))
    return any(one is not None and other is not None and one != other for one, other in pairs)


def _refused(status: int) -> str:
    if status in (404, 410):
        return "there is no such file"
    if status in (401, 403):
        return f"the server rejected the request (HTTP {status}): check the address, which may have expired"
    return f"the server answered HTTP {status}"


@attrs.frozen(eq=False, repr=False)
class _Reply:
    """The body of a web server's response."""

    reply: "aiohttp.ClientResponse"
    run: Callable[[Callable[[], Awaitable[bytes]]], bytes]

    @property
    def is_delimited(self) -> bool:
        """Whether the end of the body can be distinguished from a lost connection."""
        return (
            self.reply.content_length is not None
            or self.reply.headers.get("Transfer-Encoding", "").lower() == "chunked"
        )

    def read(self, size: int) -> bytes:
        return self.run(lambda: self.reply.content.read(size))

    def close(self) -> None:
        async def close() -> bytes:
            self.reply.close()
            return b""

        self.run(close)


# Buckets -------------------------------------------------------------------------------------------------------------


def _version_in(info: Mapping[str, Any]) -> FileVersion:
    etag = next((str(info[name]) for name in _ETAGS if info.get(name)), None)
    changed_at = next((str(info[name]) for name in _TIMES if info.get(name)), None)
    return FileVersion(info.get("size"), etag, None if etag else changed_at)


@attrs.frozen(eq=False, repr=False)
class _OtherStore:
    """A file in any store that fsspec supports."""

    files: Any
    address: str
    is_conditional: ClassVar[bool] = False

    def version(self) -> FileVersion:
        found = self.files.info(self.address)
        if found.get("type") == "directory":
            raise FileNotFoundError
        return _version_in(found)

    def get(self, version: FileVersion, start: int, stop: int | None) -> Body:
        if stop is None and self.version() != version:  # for ranges, the version is checked only at the end
            raise InvalidInput(_CHANGED)
        file = self.files.open(self.address, "rb")
        file.seek(start)
        return cast("Body", file)

    def close(self) -> None:
        """Does nothing, because fsspec shares the connections of a store between files."""


class _Bucket(_OtherStore):
    """An object in S3, or in a store with the same protocol."""

    is_conditional = True

    def get(self, version: FileVersion, start: int, stop: int | None) -> Body:
        bucket, key, _ = self.files.split_path(self.address)
        condition = {"IfMatch": version.etag} if version.etag else {}
        span = _range_of(start, stop)
        part = {} if span is None else {"Range": span}
        try:
            found = self.files.call_s3("get_object", Bucket=bucket, Key=key, **condition, **part)
        except Exception:
            if self.version() != version:  # the library raises several errors for this
                raise InvalidInput(_CHANGED) from None
            raise
        if found.get("ETag", version.etag) != version.etag:  # some stores ignore the condition
            raise InvalidInput(_CHANGED)
        return _Object(found["Body"], self.files.loop)


@attrs.frozen(eq=False, repr=False)
class _Object:
    """The content of an object in S3."""

    body: Any
    loop: asyncio.AbstractEventLoop

    def read(self, size: int) -> bytes:
        return cast("bytes", _fsspec().asyn.sync(self.loop, self.body.read, size))

    def close(self) -> None:
        with contextlib.suppress(RuntimeError):  # its loop has ended with the program
            self.loop.call_soon_threadsafe(self.body.close)
