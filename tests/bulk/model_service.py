"""The upload endpoints in memory, in the place of the network: what a job is held against.

It takes requests as the service does (whole or not at all, operation errors by index) and answers them in an order,
and with faults, that a random number generator chooses. It also watches what no request and no order may do.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
import orjson

from socialapi.bulk.audiences.job import Destination, UploadJob, UploadOptions
from socialapi.bulk.sync.job import sync
from socialapi.bulk.sync.reading import SyncOptions
from socialapi.models.audiences import IDENTIFIER_KINDS
from socialapi.reports import SyncReport
from socialapi.routes import audiences
from socialapi.session.options import CallOptions
from socialapi.wire.request import Request
from socialapi.wire.response import Reply
from tests.bulk.model_transport import ModelTransport, answer, session_of
from tests.support.clock import VirtualClock

Identifier = tuple[str, str]
Times = tuple[str | None, str | None]
Operation = dict[str, Any]

FAULTS: Final = ("503", "500", "html", "reset_before", "reset_after", "truncate", "count_mismatch", "429")
BAD: Final = "bad"
"""A partner_user_id that contains this makes the service refuse the operation."""


def users_of(operation: Operation) -> list[dict[str, list[str]]]:
    users: list[dict[str, list[str]]] = operation["params"]["users"]
    return users


def identifiers_of(operation: Operation) -> Iterator[Identifier]:
    for user in users_of(operation):
        for kind, values in user.items():
            for value in values:
                yield kind, value


def doing(operation: Operation) -> tuple[str, str | None, str | None]:
    params = operation["params"]
    return operation["operation_type"], params.get("effective_at"), params.get("expires_at")


def counted(success: int, total: int | None = None) -> Reply:
    return answer({"data": {"success_count": success, "total_count": success if total is None else total}})


def operation_errors(indexes: Iterable[int], status: int = 400, code: str = "INVALID_PARAMETER") -> Reply:
    errors = [{"index": index, "code": code, "message": "is refused", "parameter": "params"} for index in indexes]
    return answer({"operation_errors": errors}, status)


@attrs.define(eq=False)
class ModelService(ModelTransport):
    """Takes the place of the transport, for uploads."""

    members: dict[Identifier, Times] = attrs.field(factory=dict, init=False)

    async def send(self, request: Request[Any], headers: Mapping[str, str], *, timeout_seconds: float) -> Reply:
        body = b"".join(request.body)
        operations: list[Operation] = orjson.loads(body)
        self._watch(operations)
        carried = {(each, doing(operation)) for operation in operations for each in identifiers_of(operation)}
        return await self._serve(body, operations, carried, self.process)

    def _watch(self, operations: Sequence[Operation]) -> None:
        """No identifier is in two different operations of a request, nor in different ones that are on their way."""
        seen: dict[Identifier, tuple[str, str | None, str | None]] = {}
        for operation in operations:
            for identifier in identifiers_of(operation):
                assert seen.setdefault(identifier, doing(operation)) == doing(operation), "two operations on one"
        for (identifier, action), count in self._on_its_way.items():
            assert not count or seen.get(identifier, action) == action, "overtaken"

    def _met(self, fault: str | None, asked: list[Operation], process: Callable[[Any], Reply]) -> Reply:
        match fault:
            case "count_mismatch":
                return counted(0, sum(len(users_of(each)) for each in asked))
            case "operation_error":
                return operation_errors([self._rng.randrange(len(asked))])
        return super()._met(fault, asked, process)

    def process(self, operations: list[Operation]) -> Reply:
        bad = [
            index
            for index, operation in enumerate(operations)
            if any(BAD in value for kind, value in identifiers_of(operation) if kind == "partner_user_id")
        ]
        if bad:
            return operation_errors(bad, status=self._rng.choice((200, 400)))
        for operation in operations:
            for identifier in identifiers_of(operation):
                if operation["operation_type"] == "Delete":
                    self.members.pop(identifier, None)
                else:
                    params = operation["params"]
                    self.members[identifier] = (params.get("effective_at"), params.get("expires_at"))
        return counted(sum(len(users_of(each)) for each in operations))

    @property
    def values(self) -> list[list[list[str]]]:
        """The values of the users of each request, one list for each operation."""
        return [[[v for _, v in identifiers_of(operation)] for operation in operations] for operations in self.requests]


DESTINATION: Final = Destination(
    kind="audience upload",
    target=audiences.CUSTOM_AUDIENCE_USERS.at(account_id="a", custom_audience_id="c"),
    kinds=IDENTIFIER_KINDS,
    takes_effective_at=True,
)


def job_of(
    service: ModelService,
    records: Any,
    *,
    clock: VirtualClock | None = None,
    settings: Mapping[str, Any] | None = None,
    destination: Destination = DESTINATION,
    **options: Any,
) -> UploadJob:
    session = session_of(service, clock, **(settings or {}))
    return UploadJob(session, destination, records, UploadOptions(**options), CallOptions.interactive(session.config))


async def synced(
    service: ModelService,
    desired: Any,
    snapshot: Path,
    *,
    clock: VirtualClock | None = None,
    settings: Mapping[str, Any] | None = None,
    **options: Any,
) -> SyncReport:
    session = session_of(service, clock, **(settings or {}))
    call = CallOptions.interactive(session.config)
    return await sync(session, DESTINATION, desired, SyncOptions(snapshot=snapshot, **options), call)


def members_after(rows: Sequence[Mapping[str, Any]], rejected: set[int]) -> dict[Identifier, Times]:
    """The members after the rows that were not rejected, one after another; rows count from 1."""
    members: dict[Identifier, Times] = {}
    for number, row in enumerate(rows, 1):
        for value in row["partner_user_id"] if number not in rejected else ():
            if row["operation_type"] == "Delete":
                members.pop(("partner_user_id", value), None)
            else:
                members["partner_user_id", value] = (None, row["expires_at"])
    return members


def people(*names: str) -> list[dict[str, str]]:
    """Records whose identifiers are as they are sent."""
    return [{"partner_user_id": name} for name in names]
