"""Sending one upload request until the service has counted every user in it."""

from typing import Final

from socialapi.errors import ApiError
from socialapi.models.audiences import UploadCounts
from socialapi.session.session import CallOptions, Observer, Session
from socialapi.wire.request import Request
from socialapi.wire.response import read_result
from socialapi.wire.retry import Failure, GiveUp, decide

SAME_MISMATCH_MOST: Final = 12
"""How often the very same wrong counts are taken for an accident."""


async def send_until_counted(
    session: Session,
    request: Request[UploadCounts],
    users: int,
    *,
    options: CallOptions,
    observer: Observer | None = None,
) -> UploadCounts:
    """The counts, both of which equal `users` (section 4.9: any other result is an error and the request is retried).

    Raises ApiError (status 200) when the counts stay wrong, and whatever `Session.send` raises.
    """
    started, attempt, same = session.clock.monotonic(), 0, 0
    last: tuple[int, int] | None = None
    while True:
        attempt += 1
        reply = await session.send(request, options=options, observer=observer)
        counts = read_result(request.target.route, reply)
        found = (counts.success_count, counts.total_count)
        if found == (users, users):
            return counts
        same = same + 1 if found == last else 1
        last = found
        failure = Failure("unknown", f"counts {found[0]} and {found[1]} for {users} users", reply.status)
        decision = decide(
            options.policy,
            repeatable=True,
            attempt=attempt,
            failure=failure,
            elapsed_seconds=session.clock.monotonic() - started,
            jitter=session.rng.random(),
        )
        if same >= SAME_MISMATCH_MOST or isinstance(decision, GiveUp):
            raise ApiError(
                reply.status,
                headers=reply.headers,
                summary=f"the service counted {found[0]:,} successes of {found[1]:,} where {users:,} users were sent",
                attempts=attempt,
            )
        await session.clock.sleep(decision.seconds)
