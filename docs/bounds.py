"""Writes `bounds.md`: the bound of every body, queue, table, file and wait. Run it after a change.

python docs/bounds.py

The numbers are the constants and defaults of the code, but for the measured ones (`measured`).
`tests/support/bounded_places.py` says which place in the code each row is about. Its test finds new
places by their form (`places_of` in `tests/test_bounds_page.py`), and cannot find those of another.
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import attrs

from socialapi import Config, errors
from socialapi.bulk import job, outcomes
from socialapi.bulk.audiences import dedup
from socialapi.bulk.audiences.cells import MAX_TEXTS_PER_CELL
from socialapi.bulk.audiences.job import MAX_WAITING_DUPLICATES
from socialapi.bulk.audiences.normalize import MAX_IDENTIFIER_CHARACTERS
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
    """A row: what is bounded, by how much, where that is set, and what happens at the bound."""

    what: str
    most: str
    where: str
    then: str

    def line(self) -> str:
        """Returns the row of the table."""
        return f"| {self.what} | {self.most} | {self.where} | {self.then} |"


def size(number: int) -> str:
    """Returns a number of bytes with the largest unit in which it is whole."""
    fitting = ((number // unit, name) for unit, name in _UNITS if number % unit == 0 and number >= unit)
    count, name = next(fitting, (number, "bytes"))
    return f"{count:,} {name}"


def seconds(number: float) -> str:
    """Returns a time in the largest unit in which it is whole."""
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
    """Returns what was measured, which no constant sets."""
    return text, "measured"


def both(*bounds: tuple[str, str]) -> tuple[str, str]:
    """Returns several bounds of one thing, of which the first that is reached counts. Where not all
    are set by the same, each place has its bound behind it.
    """
    shown = ", ".join(most for most, _ in bounds)
    if len({where for _, where in bounds}) == 1:
        return shown, bounds[0][1]
    return shown, ", ".join(f"{where} ({most})" for most, where in bounds)


IN_MEMORY_RECEIVER_BYTES: Final = endpoint.MAX_READING_BYTES + queue.MAX_QUEUED_BYTES
INBOX_RECEIVER_BYTES: Final = endpoint.MAX_READING_BYTES + inbox.MAX_ARRIVING_BYTES + inbox.SLICE_BYTES * 3 // 2
"""The next slice is read when half of one is left."""
IDENTITY_BYTES: Final = 160
"""What `MemoryStore` takes for each identity that it remembers: 154 were measured."""
IDENTITIES_BYTES: Final = IDENTITY_BYTES * inspect.signature(Receiver).parameters["dedup_window"].default

DECODE: Final = _error(errors.DecodeError)
CONFIGURATION: Final = _error(errors.ConfigurationError)
TOO_LONG: Final = _error(errors.RateLimitTooLong)
TRANSPORT: Final = _error(errors.TransportError)

BODIES: Final = (
    Bound("an answer, decompressed", *config("max_response_bytes", size), f"{DECODE}; the connection is closed"),
    Bound(
        "a refusal (any answer but 2xx)",
        *fixed(transport.MAX_REFUSAL_BYTES, size),
        "the rest is not read; the error says what the beginning says",
    ),
    Bound("errors that are read in one answer", *fixed(response.MAX_ERRORS), "further ones are left out"),
    Bound("a line of a stream", *config("max_line_bytes", size), f"{DECODE}, after the items before it"),
    Bound("lines of a stream cut at once", *fixed(ndjson.MAX_LINES_AT_ONCE), "the rest waits for the next turn"),
    Bound(
        "a webhook body",
        *argument(Receiver, "max_body_bytes", size),
        "413",
    ),
    Bound(
        "all unfinished webhook bodies together",
        *fixed(endpoint.MAX_READING_BYTES, size),
        "the largest of the others is given up with 503, never the newcomer",
    ),
    Bound(
        "chunks of a webhook body of less than " + size(endpoint.TINY_CHUNK_BYTES) + " on average",
        *fixed(endpoint.MAX_TINY_CHUNKS),
        "400; the connection is closed",
    ),
    Bound("the query of a challenge", *fixed(endpoint.MAX_QUERY_CHARACTERS, of("characters")), "400"),
    Bound(
        "the answer of a program that `webhooks listen --forward` sends to",
        *fixed(forwarder.MAX_BYTES_READ, size),
        "the rest is not read; only the status counts",
    ),
    Bound(
        "the head of a request to the page of a sign-in",
        *fixed(sign_in.MAX_HEAD_BYTES, size),
        "the connection is closed without an answer",
    ),
    Bound("a PIN that is typed", *fixed(sign_in.MAX_LINE_BYTES, size), "the rest is not read"),
    Bound(
        "a request of an upload",
        *both(fixed(MAX_OPERATIONS, of("operations")), fixed(MAX_BATCH_BYTES, size)),
        "the next batch begins",
    ),
    Bound("a request of a load", *fixed(MAX_PRODUCTS, of("products")), "the next batch begins"),
)

QUEUES: Final = (
    Bound(
        "events of webhooks that wait in memory",
        *both(argument(Receiver, "max_queue", of("events")), fixed(queue.MAX_QUEUED_BYTES, size)),
        "503: the service sends them again",
    ),
    Bound(
        "events of webhooks that wait in an inbox, of all processes",
        *argument(Receiver, "max_waiting"),
        "503: the service sends them again",
    ),
    Bound(
        "how often an event of an inbox is handed out and not finished",
        *argument(Receiver, "max_attempts"),
        "it is put aside, until it is retried or dropped",
    ),
    Bound(
        "events that wait to be written into the inbox",
        *both(fixed(inbox.MAX_ARRIVING, of("events")), fixed(inbox.MAX_ARRIVING_BYTES, size)),
        "503: the service sends them again",
    ),
    Bound(
        "events that are read ahead from the inbox",
        *both(fixed(inbox.SLICE_EVENTS, of("events")), fixed(inbox.SLICE_BYTES, size)),
        "the next ones stay in the file",
    ),
    Bound(
        "identities of events that are remembered",
        *argument(Receiver, "dedup_window"),
        "the oldest is forgotten; its event would be handed out again",
    ),
    Bound(
        "a receiver without an inbox, all of its bodies and events together",
        *fixed(IN_MEMORY_RECEIVER_BYTES, size),
        f"beside them come {size(IDENTITIES_BYTES)} for the default of `dedup_window`, your server's connections, "
        "and what your handlers hold",
    ),
    Bound(
        "a receiver with an inbox, all of its bodies and events together",
        *fixed(INBOX_RECEIVER_BYTES, size),
        "beside them come your server's connections, and what your handlers hold; identities are in the file",
    ),
    Bound("connections of `webhooks listen`", *fixed(connections.MAX_CONNECTIONS), "the oldest idle one is closed"),
    Bound(
        "events in handlers of a dispatcher",
        *argument(events.Dispatcher, "max_concurrency"),
        "the next event is taken when a handler has ended",
    ),
    Bound(
        "bytes of a stream that wait unread",
        *fixed(transport.LIVE_BUFFER_BYTES, lambda n: f"{size(n)}, and what was read in one go"),
        "the connection is not read until they were taken; a warning follows",
    ),
    Bound("ids of a stream that are remembered", *fixed(REMEMBERED_IDS), "the oldest is forgotten"),
    Bound("connections of a client", *config("max_connections"), "the next request waits for one"),
    Bound(
        "rows of all jobs of a client that are on their way",
        fixed(budget.MAX_ROWS)[0],
        "`Config.max_rows_in_flight`",
        "the next batch waits",
    ),
    Bound(
        "request bytes of all jobs that are on their way",
        fixed(budget.MAX_BYTES, size)[0],
        "`Config.max_bytes_in_flight`",
        "the next batch waits; a larger one goes alone",
    ),
    Bound(
        "rows of packed jobs that are on their way, unless a setting of the two above is given",
        *fixed(budget.PACKED_ROWS),
        "the next batch waits",
    ),
    Bound(
        "request bytes of these packed jobs",
        *fixed(budget.PACKED_BYTES, size),
        "the next batch waits; full, with rows, identifiers, keys and buffers, 170 MB of memory were measured",
    ),
    Bound(
        "requests of a job at once",
        *config("max_concurrency"),
        "the next batch waits; halved after a failure",
    ),
    Bound(
        "identifiers that an upload remembers, to find duplicates",
        *fixed(2 * dedup.REMEMBERED),
        "the oldest are forgotten; those of batches on their way never",
    ),
    Bound("duplicates that wait for a batch", *fixed(MAX_WAITING_DUPLICATES), "reading waits"),
    Bound(
        "ids of products that a load remembers, to count those that come again",
        *fixed(2 * batcher.REMEMBERED_IDS),
        "the oldest are forgotten",
    ),
    Bound("products held back for others of the same id or group", *fixed(MAX_HELD), "reading waits"),
    Bound(
        "responses to be reported to Redis, for each limit",
        *fixed(redis_window.MAX_UNREPORTED),
        "the oldest is left out, and its place ends by its lease",
    ),
    Bound(
        "connections to a Redis that is named by its address", *fixed(redis_server.MAX_CONNECTIONS), "the next waits"
    ),
    Bound(
        "connections to the page of a sign-in",
        *fixed(sign_in.MAX_CONNECTIONS),
        "the oldest one is closed",
    ),
)

STATE: Final = (
    Bound(
        "limits that are kept, by account and user",
        *fixed(rate_limiter.MAX_WINDOWS, of("and those in use")),
        "the one that was idle for longest is forgotten",
    ),
    Bound("repeats for each host beyond those that successes earn", *config("retry_budget"), "calls repeat no more"),
    Bound("sign-ins that were begun", *fixed(authenticators.MAX_PENDING_SIGN_INS), "the oldest is forgotten"),
    Bound("tokens in a token cache", "one for each credential", FIXED, "a token is replaced by its successor"),
    Bound("tokens of pages, to notice a circle", *fixed(paging.TOKENS_KEPT), "older ones are sampled"),
    Bound("plans, ways and addresses", "one for each endpoint and host of `Config`", FIXED, NOTHING),
    Bound("what is worked out once for each class", "the classes of the package and yours", FIXED, NOTHING),
    Bound(
        "values that are looked up once",
        f"{reading.EXPIRIES_KEPT:,} or fewer of each kind",
        FIXED,
        "the oldest is forgotten",
    ),
    Bound(
        "rejects and warnings in a report",
        *fixed(MAX_ISSUES_KEPT),
        "further ones are counted, and are in the rejects file",
    ),
    Bound("names of columns that are noted", *fixed(MAX_NAMES_KEPT), "further ones are not named"),
    Bound("digests of a lint, to count repeated rows", *fixed(MAX_KEPT), "further rows are not compared"),
    Bound("ids of products in a Spark partition", *fixed(spark_tasks.MAX_IDS), "further ones are not compared"),
    Bound(
        "a message of the service within an error",
        *fixed(errors.MAX_QUOTED_CHARACTERS, of("characters")),
        "the rest is left out",
    ),
    Bound(
        "log records",
        "one for each repeated attempt, lost connection, page with errors, or handler that failed; none for a row",
        "your handlers of logging",
        "the package writes no log file",
    ),
    Bound(
        "warnings of a receiver about strangers",
        *fixed(endpoint.LOG_INTERVAL_SECONDS, lambda n: f"one in {seconds(n)}"),
        "further ones are counted",
    ),
)

FILES: Final = (
    Bound(
        "a block of rows that is read",
        *both(fixed(ROWS_PER_BLOCK, of("rows")), fixed(BYTES_PER_BLOCK, size)),
        "the next block begins",
    ),
    Bound(
        "the part of a table that shows escapes",
        *fixed(dialect.SAMPLE_BYTES, of("bytes")),
        "the rest is read the same way",
    ),
    Bound("a line of CSV", *fixed(csv.MAX_LINE_CHARACTERS, of("characters")), "the row is rejected"),
    Bound("a row of CSV", *fixed(csv.MAX_ROW_CHARACTERS, of("characters")), "the row is rejected"),
    Bound("a cell of CSV", *fixed(dialect.MAX_CELL_CHARACTERS, of("characters")), "the row is rejected"),
    Bound(
        "consecutive blank lines that count as rows",
        *fixed(MAX_BLANK_ROWS),
        "further ones are skipped, and a warning counts them",
    ),
    Bound("columns of CSV", *fixed(csv.MAX_COLUMNS), _error(errors.InvalidInput)),
    Bound("an object of JSON", *fixed(json.MAX_OBJECT_BYTES, size), "the row is rejected"),
    Bound("names of an object", *fixed(objects.MAX_NAMES_PER_OBJECT), "the row is rejected"),
    Bound("an item of a feed", *fixed(feed_xml.MAX_ITEM_BYTES, size), "the row is rejected"),
    Bound("levels of a feed", *fixed(feed_xml.MAX_DEPTH), _error(errors.InvalidInput)),
    Bound(
        "a cell of a table or of Parquet", *fixed(dialect.MAX_CELL_CHARACTERS, of("characters")), "the row is rejected"
    ),
    Bound("a row of a table or of Parquet", *fixed(csv.MAX_ROW_CHARACTERS, of("characters")), "the row is rejected"),
    Bound("an identifier", *fixed(MAX_IDENTIFIER_CHARACTERS, of("characters")), "the value is rejected"),
    Bound("addresses, numbers or ids of a person in a cell", *fixed(MAX_TEXTS_PER_CELL), "the value is rejected"),
    Bound(
        f"an archive, beyond {files.BYTES_PER_CONTENT} bytes for each byte of its content",
        *fixed(files.MAX_OVERHEAD_BYTES, size),
        _error(errors.InvalidInput),
    ),
    Bound("a list in a cell of Parquet", *fixed(arrow_cells.MAX_VALUES_PER_CELL, of("values")), "the row is rejected"),
    Bound(
        "a dictionary of Parquet that is decoded",
        *both(fixed(arrow.MAX_WORDS, of("values")), fixed(arrow.MAX_WORD_CHARACTERS, of("characters"))),
        "its values are decoded one by one",
    ),
    Bound(
        "a file of settings, logins, a layout, or certificates",
        *fixed(private_files.MAX_BYTES, size),
        f"{_error(errors.ConfigurationError)}, {_error(errors.InvalidInput)} for a layout",
    ),
    Bound("a file of tokens", *fixed(token_cache.MAX_CACHE_BYTES, size), _error(errors.ConfigurationError)),
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
    Bound("digests in one transaction of a snapshot", *fixed(snapshot.BYTES_PER_TRANSACTION, size), "the next begins"),
    Bound("a journal", "a line for each batch of an upload, and for each product of a load", FIXED, "the same"),
    Bound(
        "products that wait for a load to begin",
        *fixed(IN_MEMORY_BYTES, lambda n: f"{size(n)} in memory"),
        "they go to a temporary file without a name, as large as the input",
    ),
    Bound(
        "keys of rows without an outcome",
        *fixed(PAGES_IN_MEMORY * ROWS_PER_BLOCK, lambda n: f"{n:,} in memory"),
        "they go to a temporary file without a name",
    ),
    Bound(
        "lines of outcomes in Parquet that are not written yet",
        *fixed(outcomes.LINES_PER_ROW_GROUP, of("lines")),
        "they are a row group",
    ),
    Bound("an outcomes file", "a line for each row", "`outcomes=`", "the disk is full: the job stops"),
    Bound("a rejects file", "a line for each rejected row", "`rejects=`", "the disk is full: `ConfigurationError`"),
    Bound(
        "erased events that the log of an inbox still has",
        *both(fixed(inbox.MAX_UNERASED, of("events")), fixed(inbox.UNERASED_SECONDS, seconds)),
        "the log is emptied",
    ),
)

WAITS: Final = (
    Bound("waiting for a connection place", *config("pool_wait_seconds", seconds), TRANSPORT),
    Bound("opening a connection", *config("connect_timeout_seconds", seconds), TRANSPORT),
    Bound(
        "an attempt, to the last byte of its answer",
        *config("timeout_seconds", seconds),
        f"repeated where that is safe, then {TRANSPORT}",
    ),
    Bound(
        "all waits of a call, for limits, tokens and the next attempt", *config("max_wait_seconds", seconds), TOO_LONG
    ),
    Bound("repeats of a call", *config("retries"), "the error of the last attempt"),
    Bound(
        "the products of a filtered product set",
        seconds(inspect.signature(ProductSets.wait).parameters["timeout_seconds"].default),
        "`timeout_seconds=`",
        _error(errors.NotReady),
    ),
    Bound("one wait of a job, for a limit", *config("bulk_max_wait_seconds", seconds), TOO_LONG),
    Bound(
        "a batch that fails",
        *config("max_elapsed_seconds", lambda n: f"{seconds(n)}, and {job.MIN_ATTEMPTS} attempts"),
        "the job ends with its report",
    ),
    Bound(
        "a batch that waits for room, or for an earlier one",
        "as long as those before it take",
        FIXED,
        "each of them ends, with its outcome or a failure",
    ),
    Bound("between attempts of a call", *fixed(retry.BACKOFF_CEILING_SECONDS, seconds), "the next attempt"),
    Bound("between attempts after 429", *fixed(retry.RATE_LIMIT_BACKOFF_CEILING_SECONDS, seconds), "the next attempt"),
    Bound(
        "the first answer, of which the limit is learned",
        *fixed(rate_limiter.PROBE_SECONDS, seconds),
        "the next call asks as well",
    ),
    Bound(
        "the lock of a token, in memory, in a file or in Redis",
        *fixed(token_cache.LOCK_TIMEOUT_SECONDS, seconds),
        CONFIGURATION,
    ),
    Bound("the lock of the logins", *fixed(credential_store.LOCK_TIMEOUT_SECONDS, seconds), CONFIGURATION),
    Bound(
        "the lock of a job's file", "none: it is not waited for", FIXED, f"{CONFIGURATION}, which names who holds it"
    ),
    Bound("a SQLite file that another process writes", *fixed(_sqlite.SHARED_WAIT_SECONDS, seconds), CONFIGURATION),
    Bound(
        "a SQLite file that another process just left", *fixed(_sqlite.EXCLUSIVE_WAIT_SECONDS, seconds), CONFIGURATION
    ),
    Bound("the disk", "none: an operating system does not say that a disk stands still", FIXED, NOTHING),
    Bound("a silent stream", *config("stall_seconds", seconds), "it is connected anew, and the gap is told"),
    Bound("a stream after a lost connection", *fixed(backoff.NETWORK_CEILING_SECONDS, seconds), "the next attempt"),
    Bound("a stream after 5xx", *fixed(backoff.HTTP_CEILING_SECONDS, seconds), "the next attempt"),
    Bound("a stream after 429", *fixed(backoff.RATE_LIMIT_CEILING_SECONDS, seconds), "the next attempt"),
    Bound(
        "a stream without a connection",
        *argument(LinkOptions, "give_up_after_seconds", seconds),
        TRANSPORT,
    ),
    Bound(
        "a row of an async iterable, for the others of its request",
        seconds(job.FLUSH_AFTER_SECONDS),
        "`flush_after_seconds=`",
        "all that has come is sent, once another request may start",
    ),
    Bound("the next item, event or webhook", "none: cancel it, or close what you read from", FIXED, NOTHING),
    Bound(
        "a handler of yours",
        "none: only you know how long it may take; `stop` and cancelling wait for it",
        FIXED,
        NOTHING,
    ),
    Bound(
        "the arrival of a webhook body",
        *argument(Receiver, "body_timeout_seconds", seconds),
        "408; the connection is closed",
    ),
    Bound(
        "an event that another process had when it was killed, while others are ready",
        *fixed(inbox.SUSPECT_SECONDS, seconds),
        "it is handed out",
    ),
    Bound(
        "other events, while such an event is not finished and its task asks for another",
        *fixed(inbox.ALONE_SECONDS, seconds),
        "the next one is handed out",
    ),
    Bound(
        "the head of a request to `webhooks listen`",
        *fixed(connections.HEAD_SECONDS, seconds),
        "the connection is closed",
    ),
    Bound("storing an event", *fixed(inbox.STORE_TIMEOUT_SECONDS, seconds), "503: the service sends it again"),
    Bound("the end of `webhooks listen`", *fixed(serving.SHUTDOWN_SECONDS, seconds), "open connections are closed"),
    Bound(
        "a server of an input at an address that is silent",
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
        "a program that events are forwarded to",
        *argument(forwarder.Forwarder, "timeout_seconds", lambda n: f"{seconds(n)} an attempt, without an end"),
        "the event waits, and the queue is bounded",
    ),
    Bound(
        "the end of a client, while a token request is answered",
        *config("timeout_seconds", seconds),
        "the request is cut off",
    ),
    Bound(
        "an answer of Redis",
        *fixed(redis_server.REPLY_SECONDS, seconds),
        f"it is asked again about a limit or a fence; {TRANSPORT} about a token",
    ),
    Bound(
        "what a server behind the address of Redis is, when it first fails",
        *fixed(redis_server.IDENTIFY_SECONDS, seconds),
        "it counts as one that does not answer",
    ),
    Bound(
        "between questions to a Redis that fails",
        *fixed(redis_server.LONGEST_RETRY_SECONDS, seconds),
        "it is asked again",
    ),
    Bound("a Redis that does not answer", *config("max_elapsed_seconds", seconds), TRANSPORT),
    Bound(
        "the place of a request in Redis, when nobody gives it back",
        *config("timeout_seconds", lambda n: seconds(n + redis_window.LEASE_MARGIN_SECONDS)),
        "others get it",
    ),
    Bound(
        "the lock of a token in Redis, when its holder died", *fixed(redis.LOCK_LEASE_SECONDS, seconds), "others get it"
    ),
    Bound(
        "the end of a `RedisPacer`", *fixed(redis_window.CLOSING_SECONDS, seconds), "what is untold ends by its lease"
    ),
    Bound(
        "an attempt of Spark, for the requests of the one that it replaces",
        *config("timeout_seconds", lambda n: seconds(n + redis_fence.FENCE_MARGIN_SECONDS)),
        "it sends",
    ),
    Bound(
        "somebody who signs in",
        seconds(inspect.signature(sign_in.Page).parameters["timeout_seconds"].default),
        "`auth login --timeout-seconds`",
        _error(errors.SocialApiError),
    ),
    Bound("a connection to the page of a sign-in", *fixed(sign_in.READ_TIMEOUT_SECONDS, seconds), "it is closed"),
    Bound(
        "the start of an emulator in the background", *fixed(background.READY_TIMEOUT_SECONDS, seconds), CONFIGURATION
    ),
    Bound(
        "the upload that the demo kills, until it is halfway", *fixed(demo.KILL_TIMEOUT_SECONDS, seconds), CONFIGURATION
    ),
    Bound("the end of an emulator in the background", *fixed(background.END_TIMEOUT_SECONDS, seconds), CONFIGURATION),
    Bound(
        "an emulator that learns a webhook target",
        *both(fixed(background.ANSWER_TIMEOUT_SECONDS, seconds), fixed(background.MAX_ANSWER_BYTES, size)),
        TRANSPORT,
    ),
)

EMULATOR: Final = (
    Bound("a request body", *fixed(request.DEFAULT_BODY_LIMIT, size), "413, or what the endpoint's own limit says"),
    Bound(
        "what is read of a body that is refused", *fixed(request_cycle.MAX_BYTES_READ, size), "the connection is closed"
    ),
    Bound("a request line or a header", *fixed(emulator_connections.MAX_LINE_BYTES, size), "400"),
    Bound("a request to publish", *fixed(control.MAX_EVENTS_BYTES, size), "413"),
    Bound(
        "lines that wait for a stream",
        *both(fixed(streaming.QUEUE_LINES, of("lines")), fixed(streaming.QUEUE_BYTES, size)),
        "the stream is ended",
    ),
    Bound("a client that reads nothing", *fixed(streaming.SLOW_READER_SECONDS, seconds), "the stream is ended"),
    Bound(
        "events that wait for a webhook",
        *fixed(deliveries.QUEUE_EVENTS),
        "further ones are lost; publishers that can wait do",
    ),
    Bound("deliveries to a webhook at once", *fixed(deliveries.IN_FLIGHT), "the next waits"),
    Bound("a delivery", *fixed(deliveries.DELIVERY_SECONDS, seconds), "it counts as failed"),
    Bound(
        "events for a replay",
        *both(fixed(deliveries.HISTORY_EVENTS, of("events")), fixed(deliveries.HISTORY_SECONDS, seconds)),
        "the oldest is forgotten",
    ),
    Bound(
        "events for a backfill",
        *both(fixed(fan_out.RECENT_THINGS, of("items")), fixed(fan_out.RECENT_SECONDS, seconds)),
        "the oldest is forgotten",
    ),
    Bound(
        "an answer to a challenge",
        *both(fixed(challenges.MAX_ANSWER_BYTES, size), fixed(challenges.CHALLENGE_SECONDS, seconds)),
        "the webhook is invalid",
    ),
    Bound("posts that were published", *fixed(state.PUBLISHED_POSTS), "the oldest is forgotten"),
    Bound("requests in the ledger", *fixed(ledger.LOG_LENGTH), "the oldest is forgotten"),
    Bound(
        "requests with their bodies and answers, for the dashboard",
        *both(fixed(exchanges.KEPT, of("requests")), fixed(exchanges.BYTES_KEPT, lambda n: f"{size(n)} of each body")),
        "the oldest is forgotten; the rest of a body is not kept",
    ),
    Bound("spent faults", *fixed(faults.SPENT_KEPT), "the oldest is forgotten"),
    Bound("nonces of OAuth 1.0a", *fixed(oauth1.NONCES_REMEMBERED), "the oldest is forgotten"),
    Bound("a stall that was scripted", *fixed(faults.LONGEST_STALL_SECONDS, seconds), "the connection is closed"),
    Bound(
        "settling, until all was delivered",
        *fixed(service.SETTLE_SECONDS, seconds),
        "it goes on, because clients may have stopped reading",
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
        "what it holds: accounts, audiences, products, rules",
        "none: all of it is in memory until it ends",
        FIXED,
        "it is for development, and listens on this machine alone",
    ),
)

SECTIONS: Final = {
    "Bodies and lines": BODIES,
    "Queues and what is on its way": QUEUES,
    "What is remembered": STATE,
    "Files": FILES,
    "Waits": WAITS,
    "The emulator": EMULATOR,
}


def markdown() -> str:
    """The whole page."""
    lines = [
        "# Bounds",
        "",
        "How much the package takes of memory, disk and time, whatever the service, a sender of webhooks or",
        "a file does. Made from the code by `docs/bounds.py`. *Set by* names the setting, whose default is",
        "shown; `fixed` is a constant, and `measured` what a run took, which nothing sets.",
        "[Settings](reference.md#settings) says how a setting is set, and [security](security.md) what is",
        "protected. Where there is no bound, the row says why.",
    ]
    for title, bounds in SECTIONS.items():
        lines += ["", f"## {title}", "", "| What | At most | Set by | Then |", "|---|---|---|---|"]
        lines += [each.line() for each in bounds]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(markdown(), "utf-8")
