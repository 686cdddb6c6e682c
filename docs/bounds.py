"""Writes `bounds.md`: the bound of every body, queue, table, file and wait. Run it after a change.

python docs/bounds.py

The numbers are constants and defaults of the code, except for `measured` ones.
`tests/support/bounded_places.py` maps each row to places in the code. Its test finds new places by
their form (`places_of` in `tests/test_bounds_page.py`).
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import attrs

from socialapi import Config, errors
from socialapi.bulk import job
from socialapi.bulk.audiences import dedup
from socialapi.bulk.audiences.cells import MAX_TEXTS_PER_CELL
from socialapi.bulk.audiences.columns import MAX_IDENTIFIER_COLUMNS
from socialapi.bulk.audiences.job import MAX_WAITING_DUPLICATES
from socialapi.bulk.audiences.normalize import MAX_IDENTIFIER_CHARACTERS
from socialapi.bulk.audiences.prepare import MAX_IDENTIFIERS_PER_ROW
from socialapi.bulk.inputs import arrow, arrow_cells, csv, dialect, feed_xml, files, json, objects, remote
from socialapi.bulk.inputs.columns import MAX_NAMES_KEPT
from socialapi.bulk.inputs.reader import BYTES_PER_BLOCK, MAX_BLANK_ROWS, ROWS_PER_BLOCK
from socialapi.bulk.ledger import PAGES_IN_MEMORY
from socialapi.bulk.linting.product_linter import MAX_KEPT
from socialapi.bulk.products import batcher
from socialapi.bulk.products.batcher import IN_MEMORY_BYTES, MAX_HELD
from socialapi.bulk.sync import reading, snapshot
from socialapi.cli import credential_store, demo, sign_in
from socialapi.cli import emulator as background
from socialapi.emulator import connections as emulator_connections
from socialapi.emulator import control, exchanges, faults, ledger, oauth1, request, request_cycle, service, thread
from socialapi.emulator.platform import challenges, deliveries, fan_out, state, streaming
from socialapi.integrations import redis, redis_fence, redis_server, redis_window, spark_tasks
from socialapi.internal import private_files
from socialapi.internal import sqlite_file as _sqlite
from socialapi.models.audiences import MAX_BATCH_BYTES, MAX_OPERATIONS
from socialapi.models.products import MAX_PRODUCTS
from socialapi.reports import MAX_ISSUES_KEPT
from socialapi.resources.catalogs import ProductSets
from socialapi.session import authenticators, budget, forwarder, rate_limiter, token_cache, transport
from socialapi.streams import backoff
from socialapi.streams import dispatcher as events
from socialapi.streams.link import LinkOptions
from socialapi.streams.stream import REMEMBERED_IDS
from socialapi.webhooks import Receiver, connections, endpoint, inbox, queue, serving
from socialapi.wire import ndjson, paging, response, retry

NOTHING: Final = "\N{EN DASH}"
PAGE: Final = Path(__file__).parents[1] / "docs" / "bounds.md"
DEFAULTS: Final[dict[str, Any]] = {each.name: each.default for each in attrs.fields(Config)}
FIXED: Final = "fixed"
_UNITS: Final = ((1_000_000, "MB"), (2**20, "MiB"), (1_000, "kB"), (2**10, "KiB"))


@attrs.frozen
class Bound:
    """A row: the bounded thing, its bound, the setting, and what happens at the bound."""

    what: str
    most: str
    where: str
    then: str

    def line(self) -> str:
        """Returns the row of the table."""
        return f"| {self.what} | {self.most} | {self.where} | {self.then} |"


def size(number: int) -> str:
    """Returns a number of bytes in the largest unit that gives a whole number."""
    fitting = ((number // unit, name) for unit, name in _UNITS if number % unit == 0 and number >= unit)
    count, name = next(fitting, (number, "bytes"))
    return f"{count:,} {name}"


def seconds(number: float) -> str:
    """Returns a time in the largest unit that gives a whole number."""
    for unit, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if number >= 2 * unit and number % unit == 0:
            return f"{number / unit:,.0f} {name}"
    return f"{number:g} s"


def number(count: float) -> str:
    """Returns a count or a share."""
    return f"{count:,}"


def of(noun: str) -> Callable[[float], str]:
    """Returns a function that writes a count of something."""
    return lambda count: f"{count:,} {noun}"


def _error(kind: type[errors.SocialApiError]) -> str:
    return f"`{kind.__name__}`"


def config(name: str, shown: Any = number) -> tuple[str, str]:
    """Returns the default of a field of `Config`, and its name."""
    return shown(DEFAULTS[name]), f"`Config.{name}`"


def argument(cls: Any, name: str, shown: Any = number) -> tuple[str, str]:
    """Returns the default of an argument of a class, and its name."""
    default = inspect.signature(cls).parameters[name].default
    if default is None:
        return "none, unless you set one", f"`{name}=`"
    return shown(default), f"`{cls.__name__}({name}=)`"


def fixed(value: float, shown: Any = number) -> tuple[str, str]:
    """Returns a constant."""
    return shown(value), FIXED


def measured(text: str) -> tuple[str, str]:
    """Returns a measured bound, which no constant sets."""
    return text, "measured"


def both(*bounds: tuple[str, str]) -> tuple[str, str]:
    """Returns several bounds of one thing; the first one reached applies. If they have different
    settings, each setting is followed by its bound.
    """
    shown = ", ".join(most for most, _ in bounds)
    if len({where for _, where in bounds}) == 1:
        return shown, bounds[0][1]
    return shown, ", ".join(f"{where} ({most})" for most, where in bounds)


IN_MEMORY_RECEIVER_BYTES: Final = endpoint.MAX_READING_BYTES + queue.MAX_QUEUED_BYTES
INBOX_RECEIVER_BYTES: Final = endpoint.MAX_READING_BYTES + inbox.MAX_ARRIVING_BYTES + inbox.SLICE_BYTES * 3 // 2
"""The inbox reads the next slice when half of a slice is left."""
IDENTITY_BYTES: Final = 160
"""The memory that `MemoryStore` uses for each identity; 154 bytes were measured."""
IDENTITIES_BYTES: Final = IDENTITY_BYTES * inspect.signature(Receiver).parameters["dedup_window"].default

DECODE: Final = _error(errors.DecodeError)
CONFIGURATION: Final = _error(errors.ConfigurationError)
TOO_LONG: Final = _error(errors.RateLimitTooLong)
TRANSPORT: Final = _error(errors.TransportError)

BODIES: Final = (
    Bound("a decompressed response", *config("max_response_bytes", size), f"{DECODE}; the connection is closed"),
    Bound(
        "an error response (any status but 2xx)",
        *fixed(transport.MAX_REFUSAL_BYTES, size),
        "the rest is not read; the error quotes the beginning",
    ),
    Bound("errors in a response", *fixed(response.MAX_ERRORS), "further errors are ignored"),
    Bound("a line of a stream", *config("max_line_bytes", size), f"{DECODE}, after the items before it"),
    Bound(
        "lines of a stream that are split in one turn",
        *fixed(ndjson.MAX_LINES_AT_ONCE),
        "the rest waits until other tasks have run",
    ),
    Bound(
        "a webhook body",
        *argument(Receiver, "max_body_bytes", size),
        "413",
    ),
    Bound(
        "all unfinished webhook bodies together",
        *fixed(endpoint.MAX_READING_BYTES, size),
        "the largest older one gets 503, never the newest",
    ),
    Bound(
        "chunks of a webhook body of less than " + size(endpoint.TINY_CHUNK_BYTES) + " on average",
        *fixed(endpoint.MAX_TINY_CHUNKS),
        "400; the connection is closed",
    ),
    Bound("the query of a challenge", *fixed(endpoint.MAX_QUERY_CHARACTERS, of("characters")), "400"),
    Bound(
        "the response to a forwarded event (`webhooks listen --forward`)",
        *fixed(forwarder.MAX_BYTES_READ, size),
        "the rest is not read; only the status counts",
    ),
    Bound(
        "the head of a request to the sign-in page",
        *fixed(sign_in.MAX_HEAD_BYTES, size),
        "the connection is closed without a response",
    ),
    Bound("a typed PIN", *fixed(sign_in.MAX_LINE_BYTES, size), "the rest is not read"),
    Bound(
        "a request of an upload",
        *both(fixed(MAX_OPERATIONS, of("operations")), fixed(MAX_BATCH_BYTES, size)),
        "the next batch begins",
    ),
    Bound("a request of a load", *fixed(MAX_PRODUCTS, of("products")), "the next batch begins"),
)

QUEUES: Final = (
    Bound(
        "webhook events in memory",
        *both(argument(Receiver, "max_queue", of("events")), fixed(queue.MAX_QUEUED_BYTES, size)),
        "503: the service sends them again",
    ),
    Bound(
        "webhook events in an inbox, for all processes",
        *argument(Receiver, "max_waiting"),
        "503: the service sends them again",
    ),
    Bound(
        "unfinished attempts of an event in an inbox",
        *argument(Receiver, "max_attempts"),
        "the event is put aside until you retry or drop it",
    ),
    Bound(
        "events waiting to be written to the inbox",
        *both(fixed(inbox.MAX_ARRIVING, of("events")), fixed(inbox.MAX_ARRIVING_BYTES, size)),
        "503: the service sends them again",
    ),
    Bound(
        "events read ahead from the inbox",
        *both(fixed(inbox.SLICE_EVENTS, of("events")), fixed(inbox.SLICE_BYTES, size)),
        "further events stay in the file",
    ),
    Bound(
        "remembered event ids",
        *argument(Receiver, "dedup_window"),
        "the oldest is dropped, so its event could be delivered again",
    ),
    Bound(
        "all bodies and events of a receiver without an inbox",
        *fixed(IN_MEMORY_RECEIVER_BYTES, size),
        f"in addition: {size(IDENTITIES_BYTES)} for the default of `dedup_window`, your server's connections, "
        "and memory of your handlers",
    ),
    Bound(
        "all bodies and events of a receiver with an inbox",
        *fixed(INBOX_RECEIVER_BYTES, size),
        "in addition: your server's connections, and memory of your handlers. Event ids are in the file",
    ),
    Bound("connections of `webhooks listen`", *fixed(connections.MAX_CONNECTIONS), "the oldest idle one is closed"),
    Bound(
        "events in the handlers of a dispatcher",
        *argument(events.Dispatcher, "max_concurrency"),
        "the next event waits for a free handler",
    ),
    Bound(
        "unread bytes of a stream",
        *fixed(transport.LIVE_BUFFER_BYTES, lambda n: f"{size(n)}, plus one read"),
        "reading pauses until your program takes them; a warning follows",
    ),
    Bound("remembered ids of a stream", *fixed(REMEMBERED_IDS), "the oldest is dropped"),
    Bound("connections of a client", *config("max_connections"), "the next request waits for one"),
    Bound(
        "rows in flight, for all jobs of a client",
        fixed(budget.MAX_ROWS)[0],
        "`Config.max_rows_in_flight`",
        "the next batch waits",
    ),
    Bound(
        "request bytes in flight, for all jobs of a client",
        fixed(budget.MAX_BYTES, size)[0],
        "`Config.max_bytes_in_flight`",
        "the next batch waits; a larger batch is sent alone",
    ),
    Bound(
        "rows of packed jobs in flight, unless you set one of the two settings above",
        *fixed(budget.PACKED_ROWS),
        "the next batch waits",
    ),
    Bound(
        "request bytes of these packed jobs",
        *fixed(budget.PACKED_BYTES, size),
        "the next batch waits. A full budget took 170 MB of memory in a measurement",
    ),
    Bound(
        "requests of a job in flight",
        *config("max_concurrency"),
        "the next batch waits; the number is halved after a failure",
    ),
    Bound(
        "identifiers that an upload remembers, to find duplicates",
        *fixed(2 * dedup.REMEMBERED),
        "the oldest are dropped, except in batches in flight",
    ),
    Bound("duplicates waiting for a batch", *fixed(MAX_WAITING_DUPLICATES), "reading waits"),
    Bound(
        "product ids that a load remembers, to count repeated ones",
        *fixed(2 * batcher.REMEMBERED_IDS),
        "the oldest are dropped",
    ),
    Bound("products waiting for others with the same id or group", *fixed(MAX_HELD), "reading waits"),
    Bound(
        "responses to report to Redis, for each limit",
        *fixed(redis_window.MAX_UNREPORTED),
        "the oldest is dropped; its slot is freed when its lease ends",
    ),
    Bound(
        "connections to a Redis server that is passed as a URL", *fixed(redis_server.MAX_CONNECTIONS), "the next waits"
    ),
    Bound(
        "connections to the sign-in page",
        *fixed(sign_in.MAX_CONNECTIONS),
        "the oldest one is closed",
    ),
)

STATE: Final = (
    Bound(
        "rate limits in memory, by account and user",
        *fixed(rate_limiter.MAX_WINDOWS, of("and limits in use")),
        "the limit that was idle longest is dropped",
    ),
    Bound("retries for each host, beyond one for each success", *config("retry_budget"), "calls are not retried"),
    Bound("started sign-ins", *fixed(authenticators.MAX_PENDING_SIGN_INS), "the oldest is dropped"),
    Bound("tokens in a token cache", "one for each credential", FIXED, "a new token replaces the old one"),
    Bound("page tokens, to detect a cycle", *fixed(paging.TOKENS_KEPT), "older ones are sampled"),
    Bound("request plans, routes and URLs", "one for each endpoint and host of `Config`", FIXED, NOTHING),
    Bound("information computed once for each class", "the classes of the package and yours", FIXED, NOTHING),
    Bound(
        "cached values",
        f"{reading.EXPIRIES_KEPT:,} or fewer of each kind",
        FIXED,
        "the oldest is dropped",
    ),
    Bound(
        "rejects and warnings in a report",
        *fixed(MAX_ISSUES_KEPT),
        "further ones are counted; the rejects file has all rejects",
    ),
    Bound("recorded names of columns", *fixed(MAX_NAMES_KEPT), "further columns are not named"),
    Bound("digests of a lint, to count repeated rows", *fixed(MAX_KEPT), "further rows are not compared"),
    Bound("product ids in a Spark partition", *fixed(spark_tasks.MAX_IDS), "further ids are not compared"),
    Bound(
        "a message of the service in an error",
        *fixed(errors.MAX_QUOTED_CHARACTERS, of("characters")),
        "the rest is cut off",
    ),
    Bound(
        "log records",
        "one for each retry, lost connection, page with errors, or failed handler; none for a row",
        "your logging handlers",
        "the package writes no log file",
    ),
    Bound(
        "warnings of a receiver about unsigned requests",
        *fixed(endpoint.LOG_INTERVAL_SECONDS, lambda n: f"one in {seconds(n)}"),
        "further requests are counted",
    ),
)

FILES: Final = (
    Bound(
        "a block of rows",
        *both(fixed(ROWS_PER_BLOCK, of("rows")), fixed(BYTES_PER_BLOCK, size)),
        "the next block begins",
    ),
    Bound(
        "the part of a table that is checked for escapes",
        *fixed(dialect.SAMPLE_BYTES, of("bytes")),
        "the rest is read the same way",
    ),
    Bound("a line of CSV", *fixed(csv.MAX_LINE_CHARACTERS, of("characters")), "the row is rejected"),
    Bound("a row of CSV", *fixed(csv.MAX_ROW_CHARACTERS, of("characters")), "the row is rejected"),
    Bound("a cell of CSV", *fixed(dialect.MAX_CELL_CHARACTERS, of("characters")), "the row is rejected"),
    Bound(
        "consecutive blank lines that count as rows",
        *fixed(MAX_BLANK_ROWS),
        "further blank lines are skipped, and a warning counts them",
    ),
    Bound("columns of CSV", *fixed(csv.MAX_COLUMNS), _error(errors.InvalidInput)),
    Bound("an object of JSON", *fixed(json.MAX_OBJECT_BYTES, size), "the row is rejected"),
    Bound("names in a JSON object", *fixed(objects.MAX_NAMES_PER_OBJECT), "the row is rejected"),
    Bound("an item of a feed", *fixed(feed_xml.MAX_ITEM_BYTES, size), "the row is rejected"),
    Bound("nested levels of a feed", *fixed(feed_xml.MAX_DEPTH), _error(errors.InvalidInput)),
    Bound(
        "a cell of a table or of Parquet", *fixed(dialect.MAX_CELL_CHARACTERS, of("characters")), "the row is rejected"
    ),
    Bound("a row of a table or of Parquet", *fixed(csv.MAX_ROW_CHARACTERS, of("characters")), "the row is rejected"),
    Bound("an identifier", *fixed(MAX_IDENTIFIER_CHARACTERS, of("characters")), "the value is rejected"),
    Bound("identifiers in a cell", *fixed(MAX_TEXTS_PER_CELL), "the value is rejected"),
    Bound("different identifiers in a row", *fixed(MAX_IDENTIFIERS_PER_ROW), "the row is rejected"),
    Bound(
        "columns of identifiers",
        *fixed(MAX_IDENTIFIER_COLUMNS),
        f"{_error(errors.InvalidInput)}; of JSON Lines, the row is rejected",
    ),
    Bound(
        f"the parts of an archive that are not content, beyond {files.BYTES_PER_CONTENT} bytes for each byte of content",
        *fixed(files.MAX_OVERHEAD_BYTES, size),
        _error(errors.InvalidInput),
    ),
    Bound(
        f"members of an archive, beyond one for each {files.BYTES_PER_GZIP_MEMBER} bytes of its content "
        f"({files.BYTES_PER_ZSTD_MEMBER} for Zstandard)",
        *fixed(files.MAX_SMALL_MEMBERS),
        f"{_error(errors.InvalidInput)}, which says how to pack it again",
    ),
    Bound("a list in a cell of Parquet", *fixed(arrow_cells.MAX_VALUES_PER_CELL, of("values")), "the row is rejected"),
    Bound(
        "a Parquet dictionary that is decoded as a whole",
        *both(fixed(arrow.MAX_WORDS, of("values")), fixed(arrow.MAX_WORD_CHARACTERS, of("characters"))),
        "its values are decoded one by one",
    ),
    Bound(
        "a file with settings, logins, a layout or certificates",
        *fixed(private_files.MAX_BYTES, size),
        f"{_error(errors.ConfigurationError)}, {_error(errors.InvalidInput)} for a layout",
    ),
    Bound("a token file", *fixed(token_cache.MAX_CACHE_BYTES, size), _error(errors.ConfigurationError)),
    Bound(
        "a snapshot of a sync",
        *measured("32 to 35 bytes an identifier"),
        "the disk is full: `ConfigurationError`, and nothing is lost",
    ),
    Bound(
        "scratch files of a sync",
        *measured("about 70 bytes an identifier"),
        "the same",
    ),
    Bound(
        "digests in one transaction of a snapshot",
        *fixed(snapshot.BYTES_PER_TRANSACTION, size),
        "the next transaction begins",
    ),
    Bound("a journal", "a line for each batch of an upload, and for each product of a load", FIXED, "the same"),
    Bound(
        "products waiting for a load to begin",
        *fixed(IN_MEMORY_BYTES, lambda n: f"{size(n)} in memory"),
        "they go to an unnamed temporary file, as large as the input",
    ),
    Bound(
        "keys of rows without an outcome",
        *fixed(PAGES_IN_MEMORY * ROWS_PER_BLOCK, lambda n: f"{n:,} in memory"),
        "they go to an unnamed temporary file",
    ),
    Bound("an outcomes file", "a line for each row", "`outcomes=`", "the disk is full: the job stops"),
    Bound("a rejects file", "a line for each rejected row", "`rejects=`", "the disk is full: `ConfigurationError`"),
    Bound(
        "erased events that are still in the log of an inbox",
        *both(fixed(inbox.MAX_UNERASED, of("events")), fixed(inbox.UNERASED_SECONDS, seconds)),
        "the log is emptied",
    ),
)

WAITS: Final = (
    Bound("waiting for a connection", *config("pool_wait_seconds", seconds), TRANSPORT),
    Bound("opening a connection", *config("connect_timeout_seconds", seconds), TRANSPORT),
    Bound(
        "an attempt, until the last byte of its response",
        *config("timeout_seconds", seconds),
        f"retried where that is safe, then {TRANSPORT}",
    ),
    Bound(
        "all waits of a call: for limits, for tokens and between attempts",
        *config("max_wait_seconds", seconds),
        TOO_LONG,
    ),
    Bound("retries of a call", *config("retries"), "the error of the last attempt"),
    Bound(
        "waiting for a filtered product set",
        seconds(inspect.signature(ProductSets.wait).parameters["timeout_seconds"].default),
        "`timeout_seconds=`",
        _error(errors.NotReady),
    ),
    Bound("a single wait of a job for a rate limit", *config("bulk_max_wait_seconds", seconds), TOO_LONG),
    Bound(
        "retrying a failing batch",
        *config("max_elapsed_seconds", lambda n: f"{seconds(n)}, and {job.MIN_ATTEMPTS} attempts"),
        "the job ends with its report",
    ),
    Bound(
        "a batch waiting for room or for an earlier batch",
        "as long as the earlier batches take",
        FIXED,
        "the batch is sent",
    ),
    Bound("between attempts of a call", *fixed(retry.BACKOFF_CEILING_SECONDS, seconds), "the next attempt"),
    Bound("between attempts after 429", *fixed(retry.RATE_LIMIT_BACKOFF_CEILING_SECONDS, seconds), "the next attempt"),
    Bound(
        "waiting for the first response, which tells the limit",
        *fixed(rate_limiter.PROBE_SECONDS, seconds),
        "the next call is sent too",
    ),
    Bound(
        "the lock of a token, in memory, in a file or in Redis",
        *fixed(token_cache.LOCK_TIMEOUT_SECONDS, seconds),
        CONFIGURATION,
    ),
    Bound("the lock of stored logins", *fixed(credential_store.LOCK_TIMEOUT_SECONDS, seconds), CONFIGURATION),
    Bound(
        "the lock of a job's file",
        "none: jobs do not wait for it",
        FIXED,
        f"{CONFIGURATION}, which names the process that holds it",
    ),
    Bound("a SQLite file that another process is writing", *fixed(_sqlite.SHARED_WAIT_SECONDS, seconds), CONFIGURATION),
    Bound(
        "a SQLite file that another process just left", *fixed(_sqlite.EXCLUSIVE_WAIT_SECONDS, seconds), CONFIGURATION
    ),
    Bound("the disk", "none: the operating system does not report a disk that hangs", FIXED, NOTHING),
    Bound("a silent stream", *config("stall_seconds", seconds), "the client reconnects and reports the gap"),
    Bound("a stream after a lost connection", *fixed(backoff.NETWORK_CEILING_SECONDS, seconds), "the next attempt"),
    Bound("a stream after 5xx", *fixed(backoff.HTTP_CEILING_SECONDS, seconds), "the next attempt"),
    Bound("a stream after 429", *fixed(backoff.RATE_LIMIT_CEILING_SECONDS, seconds), "the next attempt"),
    Bound(
        "a stream without a connection",
        *argument(LinkOptions, "give_up_after_seconds", seconds),
        TRANSPORT,
    ),
    Bound(
        "a row of an async iterable, waiting for a full request",
        seconds(job.FLUSH_AFTER_SECONDS),
        "`flush_after_seconds=`",
        "all rows so far are sent as soon as another request may start",
    ),
    Bound("the next item, event or webhook", "none: cancel the wait, or close the source", FIXED, NOTHING),
    Bound(
        "your handler",
        "none: only you know how long it may take; `stop` and cancellation wait for it",
        FIXED,
        NOTHING,
    ),
    Bound(
        "the arrival of a webhook body",
        *argument(Receiver, "body_timeout_seconds", seconds),
        "408; the connection is closed",
    ),
    Bound(
        "an event whose process was killed, while other events are ready",
        *fixed(inbox.SUSPECT_SECONDS, seconds),
        "the event is delivered again",
    ),
    Bound(
        "other events, if the task of such an event asks for the next one",
        *fixed(inbox.ALONE_SECONDS, seconds),
        "the next event is delivered",
    ),
    Bound(
        "the head of a request to `webhooks listen`",
        *fixed(connections.HEAD_SECONDS, seconds),
        "the connection is closed",
    ),
    Bound("storing an event", *fixed(inbox.STORE_TIMEOUT_SECONDS, seconds), "503: the service sends it again"),
    Bound("shutting down `webhooks listen`", *fixed(serving.SHUTDOWN_SECONDS, seconds), "open connections are closed"),
    Bound(
        "a silent server of an input URL",
        *fixed(
            remote.READ_SECONDS,
            lambda n: (
                f"{seconds(n)}, and {seconds(remote.CONNECT_SECONDS)} to connect; "
                f"{remote.RETRIES.max_attempts} attempts of a request"
            ),
        ),
        _error(errors.InvalidInput),
    ),
    Bound(
        "forwarding an event",
        *argument(forwarder.Forwarder, "timeout_seconds", lambda n: f"{seconds(n)} an attempt, retried without end"),
        "the event waits in a bounded queue",
    ),
    Bound(
        "closing a client during a token request",
        *config("timeout_seconds", seconds),
        "the request is cut off",
    ),
    Bound(
        "a response from Redis",
        *fixed(redis_server.REPLY_SECONDS, seconds),
        f"for a limit or a fence, the client asks again; for a token, it raises {TRANSPORT}",
    ),
    Bound(
        "identifying a Redis server when it first fails",
        *fixed(redis_server.IDENTIFY_SECONDS, seconds),
        "it counts as unavailable",
    ),
    Bound(
        "between attempts to reach Redis",
        *fixed(redis_server.LONGEST_RETRY_SECONDS, seconds),
        "the next attempt",
    ),
    Bound("waiting for an unavailable Redis", *config("max_elapsed_seconds", seconds), TRANSPORT),
    Bound(
        "the slot of a request in Redis, if its process ends",
        *config("timeout_seconds", lambda n: seconds(n + redis_window.LEASE_MARGIN_SECONDS)),
        "another process gets it",
    ),
    Bound(
        "the lock of a token in Redis, if its process ends",
        *fixed(redis.LOCK_LEASE_SECONDS, seconds),
        "another process gets it",
    ),
    Bound(
        "closing a `RedisPacer`",
        *fixed(redis_window.CLOSING_SECONDS, seconds),
        "unreported slots are freed when their leases end",
    ),
    Bound(
        "a Spark attempt, for requests of the attempt that it replaces",
        *config("timeout_seconds", lambda n: seconds(n + redis_fence.FENCE_MARGIN_SECONDS)),
        "the attempt sends",
    ),
    Bound(
        "waiting for a user to sign in",
        seconds(inspect.signature(sign_in.Page).parameters["timeout_seconds"].default),
        "`auth login --timeout-seconds`",
        _error(errors.SocialApiError),
    ),
    Bound(
        "a connection to the sign-in page", *fixed(sign_in.READ_TIMEOUT_SECONDS, seconds), "the connection is closed"
    ),
    Bound("starting a background emulator", *fixed(background.READY_TIMEOUT_SECONDS, seconds), CONFIGURATION),
    Bound(
        "the upload that the demo kills, until it is halfway", *fixed(demo.KILL_TIMEOUT_SECONDS, seconds), CONFIGURATION
    ),
    Bound("ending a background emulator", *fixed(background.END_TIMEOUT_SECONDS, seconds), CONFIGURATION),
    Bound(
        "adding a webhook target to an emulator",
        *both(fixed(background.ANSWER_TIMEOUT_SECONDS, seconds), fixed(background.MAX_ANSWER_BYTES, size)),
        TRANSPORT,
    ),
)

EMULATOR: Final = (
    Bound("a request body", *fixed(request.DEFAULT_BODY_LIMIT, size), "400, unless the endpoint has a different limit"),
    Bound("bytes read of a rejected body", *fixed(request_cycle.MAX_BYTES_READ, size), "the connection is closed"),
    Bound("a request line or a header", *fixed(emulator_connections.MAX_LINE_BYTES, size), "400"),
    Bound("a request to the control plane", *fixed(control.MAX_BODY_BYTES, size), "400"),
    Bound(
        "lines waiting for a stream client",
        *both(fixed(streaming.QUEUE_LINES, of("lines")), fixed(streaming.QUEUE_BYTES, size)),
        "the emulator ends the stream",
    ),
    Bound(
        "a stream client that reads nothing",
        *fixed(streaming.SLOW_READER_SECONDS, seconds),
        "the emulator ends the stream",
    ),
    Bound(
        "events waiting for a webhook",
        *fixed(deliveries.QUEUE_EVENTS),
        "further events are lost, unless the publisher can wait",
    ),
    Bound("deliveries to a webhook at once", *fixed(deliveries.IN_FLIGHT), "the next waits"),
    Bound("a delivery", *fixed(deliveries.DELIVERY_SECONDS, seconds), "the delivery counts as failed"),
    Bound(
        "events for a replay",
        *both(fixed(deliveries.HISTORY_EVENTS, of("events")), fixed(deliveries.HISTORY_SECONDS, seconds)),
        "the oldest is dropped",
    ),
    Bound(
        "events for a backfill",
        *both(fixed(fan_out.RECENT_THINGS, of("items")), fixed(fan_out.RECENT_SECONDS, seconds)),
        "the oldest is dropped",
    ),
    Bound(
        "a response to a challenge",
        *both(fixed(challenges.MAX_ANSWER_BYTES, size), fixed(challenges.CHALLENGE_SECONDS, seconds)),
        "the webhook is invalid",
    ),
    Bound("published posts", *fixed(state.PUBLISHED_POSTS), "the oldest is dropped"),
    Bound("requests in the ledger", *fixed(ledger.LOG_LENGTH), "the oldest is dropped"),
    Bound(
        "requests with bodies and responses, for the dashboard",
        *both(fixed(exchanges.KEPT, of("requests")), fixed(exchanges.BYTES_KEPT, lambda n: f"{size(n)} of each body")),
        "the oldest is dropped; the rest of a body is not kept",
    ),
    Bound("spent faults", *fixed(faults.SPENT_KEPT), "the oldest is dropped"),
    Bound("nonces of OAuth 1.0a", *fixed(oauth1.NONCES_REMEMBERED), "the oldest is dropped"),
    Bound("a scripted stall", *fixed(faults.LONGEST_STALL_SECONDS, seconds), "the connection is closed"),
    Bound(
        "settling, until everything is delivered",
        *fixed(service.SETTLE_SECONDS, seconds),
        "the call returns, because clients may have stopped reading",
    ),
    Bound(
        "an emulator in a thread: its start, its end, one call",
        *both(
            fixed(thread.START_SECONDS, seconds),
            fixed(thread.END_SECONDS, seconds),
            fixed(thread.CALL_SECONDS, seconds),
        ),
        "`TimeoutError`",
    ),
    Bound(
        "accounts, audiences, products and rules",
        "none: everything is in memory until the emulator ends",
        FIXED,
        "the emulator is for development, and listens only on this machine",
    ),
)

SECTIONS: Final = {
    "Bodies and lines": BODIES,
    "Queues and requests in flight": QUEUES,
    "Memory": STATE,
    "Files": FILES,
    "Waits": WAITS,
    "The emulator": EMULATOR,
}


def markdown() -> str:
    """Returns the complete page."""
    lines = [
        "# Bounds",
        "",
        "This page lists the most memory, disk and time that the package uses, whatever the service, a",
        "webhook sender or a file does. `docs/bounds.py` generates it from the code. *Set by* names the",
        "[setting](reference.md#settings), whose default is shown. `fixed` is a constant, and `measured` is",
        "the result of a measurement. If something has no bound, the row says why.",
        "[Security](security.md) describes what is protected.",
    ]
    for title, bounds in SECTIONS.items():
        lines += ["", f"## {title}", "", "| What | At most | Set by | Then |", "|---|---|---|---|"]
        lines += [each.line() for each in bounds]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(markdown(), "utf-8")
