"""Where the code waits, queues, remembers and reads, and which bound of `docs/bounds.md` each place
keeps.

A place is a module, what it stands in, and what is called there, or the name of the table or list
that is kept there. `BOUNDED` has the row of the page for each, by its first column; `UNBOUNDED` why
a place needs none.
"""

from collections.abc import Mapping
from typing import Final


def _by_row(text: str) -> Mapping[str, tuple[str, ...]]:
    """The places, each on an indented line, by the line above them that is not."""
    found: dict[str, list[str]] = {}
    places: list[str] = []
    for line in text.strip().splitlines():
        if line.startswith(" "):
            places.append(line.strip())
        else:
            places = found[line] = []
    return {row: tuple(places) for row, places in found.items()}


BOUNDED: Final = _by_row("""
a decompressed response
    session/transport.py Transport._reply readany
an error response (any status but 2xx)
    session/transport.py Transport._read_refusal readany
unread bytes of a stream
    session/transport.py LiveReply.read read
a silent stream
    streams/connection.py Connection._wait_for_bytes read
    streams/connection.py Connection._watch sleep
    streams/link.py Link._lines_of read
    streams/stream.py Stream._read read
a stream after a lost connection
    streams/link.py Link._connect sleep
a stream without a connection
    streams/link.py Link.connect wait
a webhook body
    webhooks/endpoint.py Endpoint._respond read
    webhooks/receiver.py _chunks iter_any
the arrival of a webhook body
    webhooks/endpoint.py Bodies.read timeout
all unfinished webhook bodies together
    webhooks/endpoint.py Bodies.__init__ _readings
connections of `webhooks listen`
    webhooks/connections.py Connections.__init__ _by_protocol
webhook events in memory
    webhooks/queue.py MemoryStore.__init__ deque
remembered event ids
    webhooks/queue.py MemoryStore.__init__ OrderedDict
events waiting to be written to the inbox
    webhooks/inbox.py Inbox.__init__ _arriving
events read ahead from the inbox
    webhooks/inbox.py Inbox.__init__ deque
webhook events in an inbox, for all processes
    webhooks/inbox.py Inbox.__init__ _failed_events
    webhooks/inbox.py Inbox.__init__ _finished
    webhooks/inbox.py Inbox.__init__ _in_hand
    webhooks/receiver.py Receiver.__init__ _numbers
storing an event
    webhooks/inbox.py Inbox._serve timeout_at
    webhooks/inbox.py Inbox._serve wait
    webhooks/inbox.py Inbox.aclose timeout
    webhooks/inbox.py Inbox.aclose wait
    webhooks/inbox.py _within_time timeout
a row of an async iterable, waiting for a full request
    bulk/inputs/iterables.py AsyncIterableReader._collect wait
    bulk/job.py TimedReading._end_block_when_due sleep
the next item, event or webhook
    webhooks/inbox.py Inbox.take wait
    webhooks/queue.py MemoryStore.take wait
your handler
    streams/dispatcher.py Dispatcher.run wait
    streams/dispatcher.py _all gather
    webhooks/receiver.py Receiver.handled_by wait
events in the handlers of a dispatcher
    streams/dispatcher.py Dispatcher.run Semaphore
    streams/dispatcher.py _pull acquire
remembered ids of a stream
    streams/stream.py Stream.__init__ OrderedDict
a silent server of an input URL
    bulk/inputs/remote.py _Website._request ClientTimeout
forwarding an event
    session/forwarder.py Forwarder.__init__ ClientTimeout
    session/forwarder.py Forwarder.post sleep
the response to a forwarded event (`webhooks listen --forward`)
    session/forwarder.py Forwarder._once read
connections of a client
    session/transport.py Transport._open _CleanConnector
an attempt, until the last byte of its response
    session/session.py Session.open.send run_with_timeout
    session/transport.py _timeout ClientTimeout
waiting for a connection
    session/budget.py ConnectionPlaces.__init__ deque
    session/budget.py ConnectionPlaces.take timeout
all waits of a call: for limits, for tokens and between attempts
    integrations/redis.py RedisPacer.acquire acquire
    integrations/redis_window.py SharedWindow._serve_once wait_for_event
    integrations/redis_window.py SharedWindow.acquire_by_share acquire
    integrations/spark_tasks.py FencedPacer.acquire acquire
    session/rate_limiter.py SlidingWindowPacer._until_free wait_for_event
    session/rate_limiter.py SlidingWindowPacer.acquire acquire_with_timeout
    session/auth.py AppOnlyAuthenticator.token acquire
    session/auth.py AppOnlyAuthenticator.token timeout
    session/oauth2_user.py OAuth2UserAuthenticator._renewed timeout
    session/session.py Session._attempt acquire
    session/session.py Session._wait_or_raise sleep
waiting for a filtered product set
    resources/catalogs.py ProductSets.wait sleep
waiting for the first response, which tells the limit
    session/rate_limiter.py SlidingWindowPacer.acquire wait_for_event
rate limits in memory, by account and user
    integrations/redis.py RedisPacer.__init__ _windows
    integrations/redis_window.py SharedWindow.__init__ _flying
    session/rate_limiter.py SlidingWindow.__init__ deque
    session/rate_limiter.py SlidingWindowPacer.__init__ _windows
retries for each host, beyond one for each success
    session/session.py Session.__init__ defaultdict
request plans, routes and URLs
    _speedups/__init__.py log_if_disabled cache
    models/pages.py includes_class cache
    emulator/handlers.py endpoint_table cache
    emulator/handlers.py endpoints cache
    routes/undeclared.py _limited cache
    routes/undeclared.py _pattern cache
    session/session.py Session.__init__ _plans
    session/telemetry.py Telemetry.__init__ _known
    session/transport.py Transport.__init__ _connection_options
    wire/oauth1.py OAuth1Signer.__init__ _hosts
started sign-ins
    session/authenticators.py PendingSignIns.__init__ OrderedDict
tokens in a token cache
    session/authenticators.py Authenticators.__init__ _by_kind
    session/authenticators.py Authenticators.__init__ _renewing
    session/token_cache.py MemoryTokenCache.__init__ _tokens
the lock of a token, in memory, in a file or in Redis
    session/token_cache.py FileTokenCache.lock AsyncFileLock
    session/token_cache.py FileTokenCache.lock acquire
    session/token_cache.py MemoryTokenCache.__init__ WeakValueDictionary
    session/token_cache.py MemoryTokenCache.__init__ _holders
    session/token_cache.py MemoryTokenCache.lock sleep
    session/token_cache.py MemoryTokenCache.lock timeout
closing a client during a token request
    session/oauth2_user.py OAuth2UserAuthenticator.aclose gather
    session/oauth2_user.py OAuth2UserAuthenticator.aclose wait
page tokens, to detect a cycle
    wire/paging.py ReadTokens.__init__ OrderedDict
the lock of stored logins
    cli/credential_store.py CredentialStore._locked FileLock
the lock of a job's file
    bulk/erasure.py erase FileLock
    bulk/output_file.py OutputFile.__init__ FileLock
    cli/emulator.py _Background.holder FileLock
    cli/emulator.py _Background.noted FileLock
    internal/file_lock.py _holder sleep
    internal/file_lock.py FileLock._take FileLock
    internal/file_lock.py FileLock._take acquire
    internal/file_lock.py _read read
    internal/sqlite_file.py SqliteFile.__init__ FileLock
    webhooks/inbox_owner.py InboxOwner.hold FileLock
a SQLite file that another process just left
    internal/sqlite_file.py SqliteFile._open sleep
the disk
    bulk/sync/snapshot.py Snapshot.aclose read
    bulk/sync/snapshot.py Snapshot.compare read
    bulk/sync/snapshot.py Snapshot.count read
    bulk/sync/snapshot.py Snapshot.finish read
    bulk/sync/snapshot.py Snapshot.hold_back read
    bulk/sync/snapshot.py Snapshot.numbers_of read
    bulk/sync/snapshot.py Snapshot.open read
    bulk/sync/snapshot.py Snapshot.stage read
    bulk/sync/snapshot.py Snapshot.staged read
    session/token_cache.py FileTokenCache._replaced wait
    internal/sqlite_file.py SqliteFile.__init__ deque
    internal/shielded.py shielded wait
    internal/sqlite_file.py SqliteFile.open ThreadPoolExecutor
    webhooks/inbox.py Inbox._claim_abandoned read
rows in flight, for all jobs of a client
    bulk/ledger.py Ledger.__init__ _held
    bulk/sync/job.py SyncJob.__init__ _refused
    session/budget.py _InUse batches
    session/budget.py _InUse waiting
keys of rows without an outcome
    bulk/ledger.py Ledger.__init__ _pages
    bulk/ledger.py _Page keys
a batch waiting for room or for an earlier batch
    bulk/audiences/batches.py Batch after
    bulk/audiences/job.py UploadStage._wait_for wait
    bulk/dispatcher.py Dispatcher._run wait
    bulk/dispatcher.py Dispatcher.drain wait
    bulk/dispatcher.py Dispatcher.until_room wait
    bulk/dispatcher.py Dispatcher.unless_stopped timeout
    bulk/products/batcher.py ProductBatcher._continue wait
requests of a job in flight
    bulk/dispatcher.py Dispatcher.__init__ _live
    bulk/products/batcher.py ProductBatcher.__init__ _live_groups
    bulk/products/batcher.py ProductBatcher.__init__ _live_ids
duplicates waiting for a batch
    bulk/audiences/dedup.py WaitingDuplicates.__init__ deque
a request of an upload
    bulk/audiences/dedup.py RecentIdentifiers.__init__ defaultdict
    bulk/audiences/dedup.py RecentIdentifiers.__init__ _forgotten
    bulk/audiences/batches.py Batch actions
    bulk/audiences/batches.py Batch outcomes
    bulk/audiences/batches.py Batch refused
    bulk/audiences/batches.py Batch blocks
    bulk/audiences/batches.py Packer.__init__ _frames
between attempts of a call
    bulk/products/sender.py wait_to_retry sleep
    bulk/inputs/remote.py _with_retries sleep
a block of rows
    bulk/audiences/prepare.py PreparedBlock cleaned
    bulk/audiences/prepare.py PreparedBlock rejects
    bulk/audiences/prepare.py PreparedBlock blocks
    bulk/audiences/prepare.py PreparedBlock warnings
    bulk/inputs/csv.py _Rows ambiguous
    bulk/inputs/csv.py _Rows unreadable
    bulk/inputs/csv.py _Rows lines
    bulk/inputs/csv.py _Rows records
    bulk/inputs/feed_xml.py _Feed.__init__ items
    bulk/inputs/iterables.py AsyncIterableReader._drive wait
    bulk/inputs/iterables.py _ItemReader.__init__ _items
    bulk/inputs/iterables.py _ItemReader.__init__ _kinds
a line of CSV
    bulk/inputs/csv.py _Lines._skip_line read
    bulk/inputs/dialect.py ScannedRow cells
    bulk/inputs/dialect.py ScannedRow misquoted
the part of a table that is checked for escapes
    bulk/inputs/dialect.py sample_with_escapes read
an object of JSON
    bulk/inputs/json.py _line_item readline
    bulk/inputs/json.py _line_items readline
    bulk/inputs/json.py _skip_blank_lines read
an item of a feed
    bulk/inputs/feed_xml.py _Feed.__init__ _google
    bulk/inputs/feed_xml.py _Feed.__init__ _members
    bulk/inputs/feed_xml.py _Feed.__init__ _other_names
    bulk/inputs/feed_xml.py _Feed.__init__ _outside
    bulk/inputs/feed_xml.py _Outside.__init__ _roles
    bulk/products/cells.py _Reading.__init__ _further_images
    bulk/products/feed.py ProductColumns.flattened defaultdict
    bulk/inputs/feed_xml.py _Feed.__init__ _plain
    bulk/inputs/feed_xml.py _Feed.__init__ _texts
    bulk/inputs/feed_xml.py _Feed.__init__ cache
a file with settings, logins, a layout or certificates
    internal/private_files.py read_small read
the parts of an archive that are not content, beyond 32 bytes for each byte of content
    bulk/inputs/files.py _Unpacked._read read
recorded names of columns
    bulk/audiences/columns.py IdentifierColumns noted
    bulk/audiences/columns.py IdentifierColumns remarks
    bulk/counters.py IssueGroups _counts
    bulk/counters.py IssueGroups _first
    bulk/progress.py ProgressDisplay.__init__ _columns_shown
    bulk/linting/linter.py Linter.__init__ _columns
    bulk/products/feed.py ProductColumns constants
    bulk/products/feed.py ProductColumns no_ids
    bulk/products/feed.py ProductColumns noted
    bulk/products/feed.py ProductColumns remarks
    reports.py UploadReport columns
digests of a lint, to count repeated rows
    bulk/linting/product_linter.py DuplicateCounter.__init__ _repeats
product ids in a Spark partition
    integrations/spark_tasks.py PartitionRows.__init__ _ids
scratch files of a sync
    bulk/sync/buckets.py BucketFile.__init__ _gathered
    bulk/sync/buckets.py BucketFile.__init__ _regions
    bulk/sync/buckets.py ScratchFile._at read
    bulk/sync/buckets.py _Gathered distinct_expiries
    bulk/sync/buckets.py _Gathered packed
    bulk/sync/members.py _divided read
    bulk/sync/members.py buckets_of read
    bulk/sync/reading.py ReadingStage.__init__ _staged
    bulk/sync/scratch.py RowFile.numbers read
    bulk/sync/scratch.py RowFile.page read
    bulk/sync/scratch.py Scratch.__init__ read_bytes
cached values
    bulk/inputs/json.py _row_test lru_cache
    _speedups/reference.py - _null_digests
    _speedups/reference.py - _null_words
    _speedups/reference.py - _phone_plans
    bulk/audiences/column_names.py _by_name cache
    bulk/audiences/column_names.py _clearer_columns lru_cache
    bulk/audiences/column_names.py _detected_as lru_cache
    bulk/audiences/column_names.py _may_have_words cache
    bulk/audiences/column_names.py _words_around cache
    bulk/audiences/column_names.py countries_for lru_cache
    bulk/audiences/countries.py _regions cache
    bulk/audiences/normalize.py add_null_words cache
    bulk/inputs/null_words.py null_digests cache
    bulk/linting/findings.py known_digests cache
    bulk/inputs/null_words.py phone_digests cache
    bulk/audiences/countries.py _region_of lru_cache
    bulk/audiences/normalize.py Normalizers.__init__ lru_cache
    bulk/audiences/phone_numbers.py _plan cache
    bulk/audiences/phone_numbers.py _valid_in cache
    bulk/audiences/phone_numbers.py _valid_under cache
    bulk/audiences/phone_numbers.py home_plan cache
    bulk/audiences/phone_numbers.py valid_patterns cache
    bulk/audiences/phone_starts.py - _looked_at
    bulk/audiences/phone_starts.py - cache
    bulk/audiences/phone_starts.py _Automaton.__init__ _outcomes
    bulk/audiences/phone_starts.py _Automaton.__init__ _steps
    bulk/audiences/phone_starts.py _Node.__init__ moves
    bulk/audiences/prepare.py Preparer.__init__ lru_cache
    bulk/audiences/prepare.py Preparer.prepare_at lru_cache
    bulk/inputs/dialect.py _cell_pattern lru_cache
    bulk/inputs/dialect.py _null_pattern lru_cache
    bulk/inputs/keyed_rows.py _texts lru_cache
    bulk/inputs/objects.py ObjectBlocks.__init__ lru_cache
    bulk/sync/reading.py ReadingStage.__init__ lru_cache
    models/spelling.py near_name lru_cache
    models/validation.py parse_timestamp lru_cache
    session/transport.py _timeout lru_cache
    session/transport.py _url_of lru_cache
    wire/rate_limit_headers.py _http_date lru_cache
information computed once for each class
    bulk/products/cells.py _tests cache
    emulator/arguments.py _readers cache
    emulator/arguments.py read_only_fields cache
    emulator/arguments.py wire_fields cache
    integrations/arrow.py _columns cache
    models/validation.py checker cache
    resources/arguments.py _members cache
    internal/records.py - cache
    wire/decode.py - cache
    wire/decode.py wire_names cache
    wire/encode.py _sent cache
    wire/encode.py shaper cache
    wire/export.py _has_own_form cache
    resources/arguments.py _sentences cache
    wire/paging.py _bounds_of cache
    wire/paging.py _id_filters cache
    wire/paging.py _key_name cache
a response from Redis
    integrations/redis_server.py RedisServer.answer timeout
identifying a Redis server when it first fails
    integrations/redis_server.py RedisServer._first_answer gather
    integrations/redis_server.py RedisServer._first_answer wait
    integrations/redis_server.py _reply_to_ping read
    integrations/redis_server.py _reply_to_ping timeout
between attempts to reach Redis
    integrations/redis_fence.py RedisFence._answer sleep
    integrations/redis_window.py SharedWindow._back_off wait_for_event
responses to report to Redis, for each limit
    integrations/redis_window.py SharedWindow.__init__ deque
    integrations/redis_window.py SharedWindow._question deque
    integrations/redis_window.py SharedWindow._serve_once deque
closing a `RedisPacer`
    integrations/redis_window.py WindowScript.__init__ _tasks
    integrations/redis_window.py WindowScript.aclose wait
the slot of a request in Redis, if its process ends
    integrations/redis.py RedisPacer._renew_leases sleep
the lock of a token in Redis, if its process ends
    integrations/redis.py _renew_lock sleep
a Spark attempt, for requests of the attempt that it replaces
    integrations/spark_tasks.py FencedPacer.acquire sleep
connections to the sign-in page
    cli/sign_in.py Loopback.__init__ _conversations
a connection to the sign-in page
    cli/sign_in.py Loopback.__aexit__ wait
    cli/sign_in.py Loopback._converse wait_for
waiting for a user to sign in
    cli/sign_in.py Loopback.answer wait
    cli/sign_in.py read_line wait_for
a typed PIN
    cli/sign_in.py read_line.read read
starting a background emulator
    cli/emulator.py _Background.noted sleep
    cli/emulator.py _detach wait
    cli/emulator.py private_emulator readline
    cli/emulator.py _ready_line_within readline
    cli/emulator.py _ready_line_within wait
adding a webhook target to an emulator
    cli/emulator.py target read
the upload that the demo kills, until it is halfway
    cli/demo.py _kill_upload sleep
    cli/demo.py _kill_upload timeout
    cli/demo.py _kill_upload wait
ending a background emulator
    cli/emulator.py _stop sleep
    cli/emulator.py private_emulator wait
    cli/emulator.py private_emulator wait_for
requests in the ledger
    emulator/ledger.py RequestLog.__init__ deque
requests with bodies and responses, for the dashboard
    emulator/exchanges.py Exchanges.__init__ deque
spent faults
    emulator/faults.py Faults.__init__ deque
a response to a challenge
    emulator/platform/challenges.py Challenges.failure timeout
    emulator/platform/challenges.py Challenges.settle gather
    emulator/platform/challenges.py _read_answer iter_any
a delivery
    emulator/platform/deliveries.py Deliveries._post timeout
    emulator/platform/deliveries.py Outbox.finished wait
    emulator/platform/deliveries.py Outbox.room wait
deliveries to a webhook at once
    emulator/platform/deliveries.py Outgoing.open TCPConnector
events waiting for a webhook
    emulator/platform/deliveries.py Outbox.__init__ deque
events for a backfill
    emulator/platform/deliveries.py Recent.__init__ deque
settling, until everything is delivered
    emulator/platform/deliveries.py Deliveries.settle wait
    emulator/platform/fan_out.py StreamHub.settle wait
    emulator/service.py Service.settle timeout
published posts
    emulator/platform/state.py PostStore.__init__ deque
lines waiting for a stream client
    emulator/platform/streaming.py LiveStream.__init__ deque
a stream client that reads nothing
    emulator/platform/streaming.py LiveStream.serve wait
    emulator/faults.py Pauses.pause timeout
    emulator/faults.py Pauses.pause wait
    emulator/platform/streaming.py LiveStream._write_all wait
    emulator/platform/streaming.py LiveStream.room wait
bytes read of a rejected body
    emulator/request_cycle.py read_body iter_any
an emulator in a thread: its start, its end, one call
    emulator/thread.py EmulatorThread.__exit__ join
rejects and warnings in a report
    bulk/counters.py RowCounters rejects
    bulk/counters.py RowCounters warning_details
    bulk/products/counters.py ProductCounters vanished_ids
nested levels of a feed
    bulk/inputs/feed_xml.py _Feed.__init__ _path
product ids that a load remembers, to count repeated ones
    bulk/products/batcher.py RepeatedIds.__init__ _first_ids
products waiting for others with the same id or group
    bulk/products/batcher.py ProductBatcher.__init__ _held
a request of a load
    bulk/products/rows.py ProductBatch groups
    bulk/products/rows.py ProductBatch ids
    bulk/products/rows.py ProductBatch rows
lines of a stream that are split in one turn
    streams/stream.py Stream.__init__ _lines
a line of a stream
    wire/ndjson.py LineFramer.__init__ _parts
""")
"""By the first column of the page."""

UNBOUNDED: Final = _by_row("""
It takes the seconds or the event that its caller bounds.
    session/clock.py SystemClock.sleep sleep
    session/clock.py acquire_with_timeout acquire
    session/clock.py acquire_with_timeout run_with_timeout
    session/clock.py wait_for_event run_with_timeout
    session/clock.py wait_for_event wait
    session/clock.py run_with_timeout sleep
    session/clock.py run_with_timeout wait
    testing.py FollowingClock.sleep sleep
It is made once, without an argument.
    cli/options.py started_at cache
    emulator/dashboard.py page cache
    emulator/seed/posts.py _timeline_ids cache
    emulator/seed/records.py contents cache
    emulator/seed/records.py live_ids cache
    emulator/seed/tables.py _media_keys cache
    testing.py _response_class cache
    wire/events.py _post_reader cache
It has an entry for each constant of its module that it is called with.
    bulk/inputs/leftovers.py - cache
It has an entry for each parameter of the command that runs.
    cli/output.py - OPTIONS
It has an entry for each event loop, or for each task, file or connection that lives.
    internal/fairness.py - WeakKeyDictionary
    internal/fairness.py _Loop waiting
    internal/file_lock.py - _HELD
    session/budget.py InFlightBudget.__init__ WeakKeyDictionary
    session/session.py - WeakSet
    session/session.py Session.__init__ _tasks
    session/telemetry.py Telemetry.__init__ _connections
    session/transport.py Transport.__init__ WeakSet
    session/transport.py Transport.begin_anew WeakSet
    webhooks/receiver.py Receiver.__init__ WeakKeyDictionary
It has the names of the columns of two files at most.
    bulk/inputs/arrow.py ArrowBlocks.__init__ _measures
    bulk/inputs/layouts.py FileLayout.positions defaultdict
    bulk/inputs/layouts.py FoundFiles found
    bulk/inputs/layouts.py layout_of defaultdict
    bulk/inputs/layouts.py with_layout defaultdict
It only exhausts an iterator, with a length of nothing.
    models/validation.py _anything deque
It reads a file of this package.
    emulator/dashboard.py page read_text
    emulator/oauth/html.py - read_text
    emulator/seed/records.py contents read_bytes
    integrations/redis_server.py RedisServer.script read_text
It reads the beginning of a file, or what an emulator has just written.
    bulk/inputs/layouts.py check_place read
    bulk/inputs/layouts.py write_layout_of read
    cli/emulator.py _check_env_file read
    cli/emulator.py _detach read_text
It reads so many bytes, or as much of its own file as was asked for.
    bulk/inputs/files.py _text_format read
    bulk/ledger.py _KeptKeys.get readline
    bulk/inputs/remote.py RemoteFile._read read
    bulk/inputs/remote.py _Reply.read read
    bulk/journals/journal.py _of_file read
    bulk/outcomes.py OutcomesFile.is_like read
    bulk/output_file.py _head_of read
    internal/sqlite_file.py application_id_of read
It takes the rows of one question to a file of its own, which are few.
    bulk/journals/journal_view.py _view fetchall
    bulk/journals/journal_view.py JournalView texts
    bulk/products/snapshot.py Digests.vanished fetchall
    webhooks/inbox.py _claim fetchall
It reads no file: it decodes a value.
    cli/listing.py is_position read
    session/pager.py Pager.__init__ read
    session/session.py Session._settle read
It holds the values of one row, or of one block of rows.
    bulk/products/cells.py _Reading.__init__ _companions
    bulk/products/cells.py _Reading.__init__ _names
    bulk/products/cells.py _Reading.__init__ _converted
    bulk/products/cells.py _Reading.__init__ _problems
    bulk/products/cells.py _Reading.__init__ _unchecked
    bulk/products/cells.py _Reading.__init__ _values
    bulk/products/cells.py _Reading.__init__ _warnings
It counts by outcome.
    bulk/job.py JobRun.__init__ _counted
    bulk/ledger.py Ledger.__init__ _counts
It is made up, with as many rows as were asked for.
    cli/demo_data.py _Export.__init__ deque
    cli/demo_data.py _Export.__init__ members
    cli/demo_data.py _Feed.__init__ deque
    cli/demo_data.py _Feed.__init__ products
It waits for the next thing to do, until it is cancelled.
    bulk/job.py TimedReading._end_block_when_due wait
    emulator/platform/challenges.py Challenges._watch timeout
    emulator/platform/challenges.py Challenges._watch wait
    emulator/platform/fan_out.py StreamHub._watch timeout
    emulator/platform/fan_out.py StreamHub._watch wait
    emulator/server.py _watch_stdin.read_to_end read
    emulator/server.py serve wait
It is a value, which is filled when it is made.
    cli/doctor.py Answers checks
    cli/doctor.py Answers limits
    bulk/journals/journal_view.py JournalView counts
    bulk/journals/journal_view.py JournalView outcomes
    bulk/products/feed.py ProductColumns given
    config.py Config ads_versions
    config.py Config paths
    config.py Config rate_limits
    problems.py InvalidParameters parameters
    problems.py Problem extra
    reports.py KindLint reasons
    routes/route.py Route path_rules
    session/network.py ConnectionOptions headers
    session/network.py Proxies by_scheme
    session/options.py CallOptions headers
    webhooks/endpoint.py WebhookReply headers
It waits for tasks that it has cancelled.
    bulk/dispatcher.py Dispatcher.cancel gather
    bulk/inputs/iterables.py AsyncIterableReader.aclose gather
    bulk/job.py TimedReading.read_block gather
    emulator/platform/deliveries.py Deliveries.close gather
    emulator/platform/streaming.py LiveStream.serve gather
    integrations/redis.py RedisTokenCache.lock gather
    integrations/redis_window.py WindowScript.aclose gather
    session/clock.py run_with_timeout gather
    session/pager.py _PageAhead.aclose gather
    session/session.py Session.aclose gather
    streams/link.py Link.aclose gather
It counts so many different reasons, and the others as one.
    bulk/linting/linter.py _Counts reasons
    bulk/linting/product_linter.py _Counts reasons
    bulk/linting/product_linter.py _Counts warnings
It has an entry for each file, handler, rule or word that the user named.
    bulk/inputs/files.py FilesReader.__init__ _names
    bulk/inputs/files.py FilesReader.__init__ _starts
    bulk/inputs/files.py FilesReader.__init__ _versions
    bulk/inputs/remote.py Stores.__init__ _file_systems
    resources/streams.py WantedRules _added
    resources/streams.py WantedRules _duplicates
    streams/dispatcher.py Dispatcher.__init__ _handlers
It holds what is printed of one page, or the rows of one group of a Parquet file.
    cli/formats.py Parquet.__init__ _records
    cli/formats.py TerminalTable.__init__ _rows
    cli/formats.py TextWriter.__init__ _texts
It holds pages until as many items have arrived as a position says were taken of one.
    session/pager.py _HeldBack.__init__ _pages
It has an entry for each process that has the file open, or left events in it.
    webhooks/inbox.py Inbox.__init__ _queues
""")
"""By the reason."""
