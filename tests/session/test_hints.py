"""Errors that say which call failed, and what may be the matter."""

import email.utils
import pickle
import time
from typing import Any, Final

import pytest

from socialapi import Client, errors
from tests.support.clients import client_of
from tests.support.clock import VirtualClock
from tests.support.server import Fault, Server, answer


async def refusal_of(call: Any, step: Any, **options: Any) -> errors.ApiError:
    async with Server(then=step) as server, client_of(server, retries=0, **options) as client:
        with pytest.raises(errors.ApiError) as caught:
            await call(client)
    return caught.value


def coded(status: int, code: int | str, message: str = "no", **headers: str) -> bytes:
    return answer({"errors": [{"code": code, "message": message}]}, status=status, **headers)


async def test_an_error_says_which_call_it_was() -> None:
    async def call(client: Client) -> None:
        await client.ads.account("18ce5").line_items.delete("8u94t")

    step = coded(404, "NOT_FOUND", "there is no such line item", x_request_id="b441")
    error = await refusal_of(call, step)
    path = "/ads/12/accounts/18ce5/line_items/8u94t"
    assert str(error) == f"DELETE {path}: 404 NOT_FOUND: there is no such line item (request b441)"
    assert (error.method, error.path, error.host, error.request_id) == ("DELETE", path, "127.0.0.1", "b441")


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/2/users/2244994945/tweets", "/2/users/*/tweets"),
        ("/2/users/by/username/ada", "/2/users/by/username/*"),
        ("/2/users/me", "/2/users/me"),
        ("/2/tweets/7", "/2/tweets/7"),
    ],
)
async def test_the_id_of_a_user_is_in_the_attribute_and_not_in_the_text_or_a_pickle(path: str, shown: str) -> None:
    error = await refusal_of(lambda client: client.request("GET", path, params={"secret": "s3cr3t"}), coded(400, 1))
    assert str(error).startswith(f"GET {shown}: 400 1: no")
    assert error.path == path
    kept = pickle.loads(pickle.dumps(error))
    assert (kept.method, kept.path, kept.host, str(kept)) == ("GET", shown, "127.0.0.1", str(error))
    assert "s3cr3t" not in f"{error}{error.path}{error!r}"


async def test_errors_without_an_answer_and_answers_that_cannot_be_read_say_it_too() -> None:
    page = answer(b"<html>", x_transaction_id="t7")
    async with Server(Fault.CLOSE, then=page) as server, client_of(server, retries=0) as client:
        with pytest.raises(errors.OutcomeUnknown, match=r"^GET /2/tweets: 127\.0\.0\.1:\d+: the connection") as lost:
            await client.request("GET", "/2/tweets")
        with pytest.raises(errors.DecodeError, match=r"^GET /2/tweets: cannot read .* \(request t7\)$") as odd:
            await client.posts.lookup(["1"])
    assert (lost.value.method, lost.value.path, lost.value.host) == ("GET", "/2/tweets", "127.0.0.1")
    assert (odd.value.method, odd.value.host, odd.value.request_id) == ("GET", "127.0.0.1", "t7")


async def test_a_limit_says_which_call_it_was_and_when_to_come_back(clock: VirtualClock) -> None:
    limited = answer(status=429, Retry_After="300, 300")
    async with Server(then=limited) as server, client_of(server, clock) as client:
        with pytest.raises(errors.RateLimitTooLong, match=r"^GET /2/tweets: the rate limit") as too_long:
            await client.request("GET", "/2/tweets")
    assert isinstance(too_long.value.__cause__, errors.RateLimited)
    assert too_long.value.__cause__.resets_at == too_long.value.resets_at
    async with Server(then=limited) as server, client_of(server, retries=0) as client:
        with pytest.raises(errors.RateLimited) as refused:
            await client.request("GET", "/2/tweets")
    assert refused.value.resets_at is not None
    assert 295 < refused.value.resets_at.timestamp() - time.time() < 305


async def test_all_waits_of_a_call_together_are_bounded(clock: VirtualClock) -> None:
    async with (
        Server(then=answer(status=429, Retry_After="2")) as server,
        client_of(server, clock, max_wait_seconds=5.0, retries=10) as client,
    ):
        with pytest.raises(errors.RateLimitTooLong):
            await client.request("GET", "/2/tweets")
    assert clock.monotonic() <= 5.0
    assert len(server.requests) == 3, "3 s with its jitter, then the 2 s that are left, and no more"


REDIRECTS: Final = {
    "https://api.example.com/2/tweets?token=s3cr3t": "https://api.example.com/2/tweets",
    "https://user:s3cr3t@api.example.com:8443/": "https://api.example.com:8443/",
    "/login?s3cr3t": "/login",
    "https://[": "an address that cannot be read",
}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("location", REDIRECTS)
async def test_a_redirect_says_where_it_leads(location: str, status: int) -> None:
    error = await refusal_of(lambda c: c.request("GET", "/2/tweets"), answer(b"", status=status, Location=location))
    assert f"{status}: it redirects to {REDIRECTS[location]}, and" in str(error)
    assert "s3cr3t" not in str(error)


def dated(code: int, seconds: float) -> bytes:
    return coded(401, code, Date=email.utils.formatdate(time.time() + seconds, usegmt=True))


@pytest.mark.parametrize(
    ("code", "seconds_ahead", "says"),
    [
        (135, 3_600, "this machine's clock is an hour behind: set it"),
        (32, 3_600, "this machine's clock is an hour behind: set it"),
        (32, -7_300, "this machine's clock is 2 hours ahead: set it"),
        (32, 3 * 86_400, "this machine's clock is 3 days behind: set it"),
        (32, 10, None),
        (135, None, "is this machine's clock right?"),
        (32, None, None),
    ],
)
async def test_a_signature_that_is_refused_is_compared_with_the_clock_of_the_service(
    code: int, seconds_ahead: float | None, says: str | None
) -> None:
    step = coded(401, code) if seconds_ahead is None else dated(code, seconds_ahead)
    error = await refusal_of(lambda client: client.posts.create("hello"), step)
    assert error.hint == says
    assert says is None or str(error).endswith(f"; {says}")


IS_YOURS: Final = "is the account one of yours? `socialapi ads accounts` lists them"


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (coded(404, "NOT_FOUND", "there is no such account"), IS_YOURS),
        (coded(401, "UNAUTHORIZED_ACCESS"), IS_YOURS),
        (coded(403, "FORBIDDEN"), IS_YOURS),
        (coded(404, "NOT_FOUND", "there is no such line item"), None),
        (coded(400, "INVALID_PARAMETER"), None),
    ],
)
async def test_an_account_that_is_refused_may_be_of_somebody_else(step: bytes, says: str | None) -> None:
    error = await refusal_of(lambda client: client.ads.account("18ce5").line_items.delete("8u94t"), step)
    assert error.hint == says


@pytest.mark.parametrize(("user", "is_handle"), [("ada", True), ("2244994945", False)])
async def test_a_handle_in_place_of_an_id_is_noticed(user: str, is_handle: bool) -> None:
    error = await refusal_of(lambda c: c.request("GET", f"/2/users/{user}/tweets"), coded(400, "x"))
    assert error.hint == ("a user is identified by the numeric id, not by the handle" if is_handle else None)


async def test_a_summary_never_says_that_there_is_no_reason_while_there_is_one() -> None:
    for body in ({"errors": [{"code": 1, "message": "no"}]}, {"title": "No", "detail": "no"}, {"detail": "no"}):
        error = await refusal_of(lambda c: c.request("GET", "/2/tweets"), answer(body, status=400))
        assert error.summary == ""
    error = await refusal_of(lambda c: c.request("GET", "/2/tweets"), answer(b"<p>", status=400))
    assert "with no reason in it" in error.summary
