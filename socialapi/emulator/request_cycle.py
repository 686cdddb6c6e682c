"""Serves one request: receive, pick faults, authenticate, check the rate limit, handle, respond."""

import functools
import hashlib
import logging
import os
from collections.abc import Mapping
from email.utils import formatdate
from typing import Any, Final

from aiohttp import web

from socialapi.emulator.arguments import echo, read_arguments
from socialapi.emulator.connections import CLIENT_LEFT
from socialapi.emulator.exchanges import Exchange, Message
from socialapi.emulator.faults import BADLY_SENT, SILENT, Fault, altered, answer_instead, end_silently, send_badly
from socialapi.emulator.handlers import Call, Endpoint
from socialapi.emulator.hosts import split_target
from socialapi.emulator.ledger import RequestRecord
from socialapi.emulator.platform.streaming import LiveStream
from socialapi.emulator.request import Received, body_limit
from socialapi.emulator.responses import Answer, ApiStyle, Refusal, code_of, refused
from socialapi.emulator.routing import Match, mount_of
from socialapi.emulator.service import Service
from socialapi.emulator.state import Caller

_LOG: Final = logging.getLogger(__name__)
MAX_BYTES_READ: Final = 64_000_000
"""The number of bytes at which reading the body of a rejected request stops."""


class RequestCycle:
    """The processing of one request. `run` takes the steps in the order of the service."""

    _exchange: Exchange

    def __init__(self, service: Service, request: web.BaseRequest, match: Match[Endpoint]) -> None:
        self._service = service
        self._request = request
        self._match = match
        self._state = service.state
        _, path = split_target(request.raw_path)
        query = request.raw_path.partition("?")[2]
        self._received = Received(request.method, path, query, request.headers)
        self._headers = base_headers(service)
        self._record = service.log.open(
            RequestRecord(
                time=service.clock.now(),
                method=request.method,
                path=path,
                route=match.template,
                transaction_id=self._headers["x-transaction-id"],
            )
        )

    async def run(self) -> web.StreamResponse:
        """Processes the request and returns the response. If the connection was cut, the response can no longer be
        sent.
        """
        if not await self._receive():
            return self._unanswered()
        entry, received = self._match.entry, self._received
        picked = self._service.faults.pick(
            received.method,
            received.path,
            entry.faults if entry is not None else (),
            received.headers,
            is_token_request=entry is not None and entry.is_token_request,
        )
        self._record.fault = picked.name
        if picked.delay_seconds:
            await self._service.pauses.pause(picked.delay_seconds)
        fault, base = picked.fault, self._state.problem_base_url
        if fault is not None and fault.fault in SILENT:
            await end_silently(self._request, fault, self._service.pauses)
            return self._unanswered()
        if fault is not None and (instead := answer_instead(fault, self._style, self._match.parameters, base)):
            return await self._deliver(instead, fault)
        made = await self._process(fault)
        if isinstance(made, Answer):
            return await self._deliver(made, fault)
        self._close_record(200)
        headers = self._headers | {"Content-Type": "application/json"}
        self._exchange.answer = Message.of(headers, b"")
        response = web.StreamResponse(headers=headers)
        await made.serve(self._request, response)
        return response

    async def _receive(self) -> bool:
        """Reads the body. A body over the limit is drained and discarded. Returns False if the client disconnected."""
        limit = body_limit(self._match.entry.route if self._match.entry else None)
        try:
            body = await read_body(self._request, limit)
        except CLIENT_LEFT:
            return False
        if body is None:
            self._received.complete = False
        elif body:
            self._received.body = body
            self._record.body_sha256 = hashlib.sha256(body).hexdigest()
        self._exchange = self._service.exchanges.open(self._record, self._received)
        if self._match.entry is not None and self._match.entry.measure is not None:
            self._record.operations, self._record.users = self._match.entry.measure(self._received)
        return True

    async def _process(self, fault: Fault | None) -> Answer | LiveStream:
        try:
            return await self._handle(self._match.entry, fault)
        except Refusal as refusal:
            return refused(refusal, self._style, self._echo, self._state.problem_base_url)
        except Exception:  # noqa: BLE001  # an unexpected error of a handler is a bug of the emulator
            _LOG.exception("the emulator failed at %s", self._match.template)
            failure = Refusal(500, code_of(500), "the emulator failed: this is a bug in the emulator, please report it")
            return refused(failure, self._style, self._match.parameters, self._state.problem_base_url)

    @property
    def _style(self) -> ApiStyle:
        """The style of the response. For a path without an endpoint, it is the style of the path's API."""
        if self._match.entry is not None:
            return self._match.entry.style
        return "ads" if mount_of(self._received.path) else "platform"

    @functools.cached_property
    def _echo(self) -> Mapping[str, Any]:
        """The parameters that the response echoes, and that determine the rate limit."""
        endpoint = self._match.entry
        if endpoint is None or endpoint.style != "ads":
            return self._match.parameters
        return echo(endpoint.route, self._match.parameters, self._received)

    async def _handle(self, endpoint: Endpoint | None, fault: Fault | None) -> Answer | LiveStream:
        if endpoint is None:
            raise self._match.refusal()
        parameters = self._match.parameters
        caller = self._exchange.caller = endpoint.authenticate(self._state, self._received, parameters)
        self._take_slot(endpoint, parameters, caller)
        # A handler gets the faults that it declares. A stream gets all faults, because it has no single response.
        own = fault if fault is not None and (fault.fault in endpoint.faults or endpoint.is_stream) else None
        call = Call(
            self._service, self._state, endpoint.route, parameters, self._received, caller, own, echo=self._echo
        )
        read_arguments(endpoint, call)
        return await endpoint.handler(call)

    def _take_slot(self, endpoint: Endpoint, parameters: Mapping[str, str], caller: Caller) -> None:
        """Counts the request against the limit of its route, and adds the rate-limit headers to the response.

        A documented limit is counted for each combination of the parameters that it declares, or for each user if it
        declares none. Any other limit is counted for each app and user.
        """
        documented = endpoint.route.limit(self._echo)
        limit = documented or self._state.limits.of_route(endpoint.route)
        if limit is None:
            return
        per = tuple(parameters[name] for name in limit.per)
        if not per:
            user_id = caller.user.id if caller.user else ""
            per = (user_id,) if documented else (caller.app.api_key, user_id)
        granted, window = self._state.limits.take(limit, per)
        self._headers |= window.headers(of_account="account_id" in limit.per)
        if not granted:
            message = f"the limit of {window.requests:,} requests in this window is used up"
            raise Refusal(429, "TOO_MANY_REQUESTS", message)

    async def _deliver(self, answer: Answer, fault: Fault | None) -> web.StreamResponse:
        given = {name.lower() for name in answer.headers}  # by a stub, in any case
        usual = self._headers | {"Content-Type": answer.content_type}
        headers = {name: value for name, value in usual.items() if name.lower() not in given} | dict(answer.headers)
        body = answer.body
        if fault is not None:
            headers, body = altered(fault, headers, body)
        self._exchange.answer = Message.of(headers, body)
        if fault is None or fault.fault not in BADLY_SENT:
            self._close_record(answer.status)
            return web.Response(status=answer.status, body=body, headers=headers)
        self._close_record(None if fault.fault == "reset_after" else answer.status)
        response = web.StreamResponse(status=answer.status, headers=headers)
        response.content_length = len(body)
        await send_badly(self._request, response, body, fault, self._service.pauses)
        return response

    def _unanswered(self) -> web.StreamResponse:
        self._close_record(None)
        return web.Response(status=503)

    def _close_record(self, status: int | None) -> None:
        # If the emulator was reset in the meantime, there is another log.
        if self._state is self._service.state:
            self._service.log.close(self._record, status)


def base_headers(service: Service) -> dict[str, str]:
    """Returns the headers of every response. `Date` follows the emulator's clock, like the reset times of rate limits."""
    return {"x-transaction-id": os.urandom(8).hex(), "Date": formatdate(service.clock.now(), usegmt=True)}


async def read_body(request: web.BaseRequest, limit: int) -> bytes | None:
    """Returns the complete body, or None if it is longer than the limit.

    A longer body is read and discarded, up to `MAX_BYTES_READ`, because many clients see a broken connection instead of
    the response if it arrives while they are still sending.
    """
    announced = request.content_length or 0
    if request.headers.get("Expect", "").lower() == "100-continue":
        if announced > limit:
            return None
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0
    if announced > MAX_BYTES_READ:
        return None
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.content.iter_any():
        size += len(chunk)
        if size > MAX_BYTES_READ:
            return None
        if size <= limit:
            chunks.append(chunk)
        else:
            chunks.clear()
    return b"".join(chunks) if size <= limit else None
