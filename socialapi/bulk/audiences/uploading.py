"""Sending one upload request until the service has counted every user in it."""

from typing import Final

import attrs

from socialapi.errors import ApiError, DecodeError
from socialapi.models.audiences import UploadCounts
from socialapi.session.session import CallOptions, Observer, Session
from socialapi.wire.request import Request
from socialapi.wire.response import Reply, read_result
from socialapi.wire.retry import Failure

SAME_MISMATCH_MOST: Final = 12
"""How often the very same wrong answer is taken for an accident."""


async def send_until_counted(
    session: Session,
    request: Request[UploadCounts],
    users: int,
    *,
    options: CallOptions,
    observer: Observer | None = None,
) -> UploadCounts:
    """The counts, both of which equal `users` (section 4.9: any other result is an error and the request is retried).

    Raises ApiError (status 200) when the answer stays wrong, and whatever `Session.send` raises.
    """
    reply = await session.send(
        request, options=options, observer=observer, accept=_Counting(request, users).why_not_accepted
    )
    return read_result(request.target.route, reply)


@attrs.define
class _Counting:
    """Judges the successful replies to one upload."""

    request: Request[UploadCounts]
    users: int
    same: int = 0
    last: str | None = None

    def why_not_accepted(self, reply: Reply) -> Failure | None:
        """None when every user is counted, or when the answer names what it refuses, which is for the caller."""
        try:
            counts = read_result(self.request.target.route, reply)
        except ApiError:
            return None
        except DecodeError as problem:
            return self._wrong(reply, problem.fault)
        found = (counts.success_count, counts.total_count)
        if counts.partial_errors:
            return self._wrong(reply, "the service reported errors beside its counts")
        if found != (self.users, self.users):
            return self._wrong(
                reply,
                f"the service counted {found[0]:,} successes of {found[1]:,} where {self.users:,} users were sent",
            )
        return None

    def _wrong(self, reply: Reply, summary: str) -> Failure:
        self.same = self.same + 1 if summary == self.last else 1
        self.last = summary
        return Failure("yes" if self.same >= SAME_MISMATCH_MOST else "unknown", summary, reply.status)
