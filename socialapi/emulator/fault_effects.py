"""What the faults do to a request: answers put in place of the real one, and connections mishandled."""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from aiohttp import web

from socialapi.emulator.envelopes import Answer, Refusal, Shape, code_of, phrase, refused
from socialapi.emulator.faults import Fault
from socialapi.emulator.pauses import Pauses

LONGEST_STALL_SECONDS: Final = 600.0
"""A stall without `delay_seconds` ends then, if the client has not left before."""

_LOOK_SECONDS: Final = 0.05
_DRIPS: Final = 20


def _status(fault: Fault, shape: Shape, parameters: Mapping[str, str], problem_base_url: str) -> Answer:
    status = fault.status or 503
    about: dict[str, Any] = {}
    if fault.connection_issue is not None:
        about = {"problem": "streaming-connection", "connection_issue": fault.connection_issue}
    refusal = Refusal(status, code_of(status), "a scripted fault", headers=_retry_after(fault), **about)
    return refused(refusal, shape, parameters, problem_base_url)


def _html(fault: Fault, shape: Shape, parameters: Mapping[str, str], problem_base_url: str) -> Answer:
    status = fault.status or 503
    title = f"{status} {phrase(status)}"
    page = f"<!DOCTYPE html>\n<html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>\n"
    return Answer(status, page.encode(), _retry_after(fault), "text/html; charset=utf-8")


def _operation_error(fault: Fault, shape: Shape, parameters: Mapping[str, str], problem_base_url: str) -> Answer:
    error = {
        "index": fault.index or 0,
        "code": "INVALID_PARAMETER",
        "message": "a scripted fault",
        "parameter": "params.users",
    }
    refusal = Refusal(400, "INVALID_PARAMETER", "a scripted fault", operation_errors=[error])
    return refused(refusal, shape, parameters, problem_base_url)


def _retry_after(fault: Fault) -> dict[str, str]:
    return {} if fault.retry_after_seconds is None else {"Retry-After": f"{fault.retry_after_seconds:.15g}"}


INSTEAD: Final[Mapping[str, Callable[[Fault, Shape, Mapping[str, str], str], Answer]]] = {
    "status": _status,
    "html": _html,
    "operation_error": _operation_error,
}
"""Faults that answer in place of the service, before authentication."""


def reset(request: web.BaseRequest) -> None:
    """Close the connection with RST: what was not sent yet is lost, and the peer sees an error, not an end."""
    transport = request.transport
    if transport is None:
        return
    connection = transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


async def _reset_before(request: web.BaseRequest, fault: Fault, pauses: Pauses) -> None:
    reset(request)


async def _stall(request: web.BaseRequest, fault: Fault, pauses: Pauses) -> None:
    """Without a transport the client has left; aiohttp has no other way of telling that does not end the handler."""
    clock = asyncio.get_running_loop().time
    ends_at = clock() + (LONGEST_STALL_SECONDS if fault.delay_seconds is None else fault.delay_seconds)
    while request.transport is not None and not pauses.ended and (left := ends_at - clock()) > 0:
        await pauses.pause(min(left, _LOOK_SECONDS))
    reset(request)


SILENCE: Final[Mapping[str, Callable[[web.BaseRequest, Fault, Pauses], Awaitable[None]]]] = {
    "reset_before": _reset_before,
    "stall": _stall,
}
"""Faults that end a connection without an answer, before authentication."""


Delivery = Callable[[web.BaseRequest, web.StreamResponse, bytes, Fault, Pauses], Awaitable[None]]


async def _reset_after(
    request: web.BaseRequest, response: web.StreamResponse, body: bytes, fault: Fault, pauses: Pauses
) -> None:
    reset(request)


async def _truncate(
    request: web.BaseRequest, response: web.StreamResponse, body: bytes, fault: Fault, pauses: Pauses
) -> None:
    """At least one byte is always held back, or the answer would be whole."""
    wanted = len(body) // 2 if fault.after_bytes is None else fault.after_bytes
    await response.prepare(request)
    await response.write(body[: min(wanted, len(body) - 1)])
    if request.transport is not None:
        request.transport.close()


async def _slow(
    request: web.BaseRequest, response: web.StreamResponse, body: bytes, fault: Fault, pauses: Pauses
) -> None:
    seconds = 1.0 if fault.delay_seconds is None else fault.delay_seconds
    size = max(1, -(-len(body) // _DRIPS))
    await response.prepare(request)
    for start in range(0, len(body), size):
        await pauses.pause(seconds * size / len(body))
        await response.write(body[start : start + size])


DELIVERY: Final[Mapping[str, Delivery]] = {"reset_after": _reset_after, "truncate": _truncate, "slow": _slow}
"""Faults that process the request and mishandle its answer."""
