"""The errors: what each says, and that each survives being pickled."""

import copy
import datetime
import inspect
import math
import pickle
from typing import Any

import pytest

from socialapi import errors
from socialapi.problems import BrokenRule, OperationError, ResourceNotFound, ServiceError
from socialapi.reports import RowIssue, UploadReport

NOON = datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.UTC)


def api_error(kind: type[errors.ApiError], status: int) -> errors.ApiError:
    return kind(
        status,
        headers={"x-request-id": "abc"},
        errors=[ServiceError(code=88, message="slow down"), ServiceError(message="and again")],
        problems=[ResourceNotFound(type="https://example.com/resource-not-found", title="Not Found", value="7")],
        operation_errors=[OperationError(index=3, code="NO", message="bad hash")],
        request_id="abc",
        attempts=3,
    )


API_SAYS = "88: slow down; and again; Not Found; operation 3: NO: bad hash (request abc, after 3 attempts)"

REJECTED = api_error(errors.WebhookRejected, 400)
REJECTED.reason = "CrcValidationFailed"  # type: ignore[attr-defined]  # of the class that was asked for

EXECUTED = errors.DecodeError("data", "is missing")
EXECUTED.executed, EXECUTED.status = True, 201

SAMPLES: list[tuple[errors.SocialApiError, str]] = [
    (errors.SocialApiError("on purpose"), "on purpose"),
    (errors.ConfigurationError("set this"), "set this"),
    (errors.InvalidInput("wrong"), "wrong"),
    (
        errors.InvalidInput(
            "wrong", [BrokenRule(path="a.b", reason="must be a string"), BrokenRule(path="", reason="no")]
        ),
        "wrong\n  - a.b: must be a string\n  - no",
    ),
    (
        errors.RateLimitTooLong("uploads/1", 90.4, NOON),
        (
            "the rate limit of uploads/1 frees up in 91 s (at 12:00:00 UTC), longer than this call may wait; allow the wait with "
            "max_wait_seconds (bulk_max_wait_seconds for a job or a stream) or call again then"
        ),
    ),
    (errors.TransportError("could not connect", "api.example.com"), "api.example.com: could not connect"),
    (
        errors.TransportError("could not connect", "api.example.com", port=8443),
        "api.example.com:8443: could not connect",
    ),
    (errors.TransportError("could not connect", "::1", port=80), "[::1]:80: could not connect"),
    (errors.TransportError("could not connect", attempts=5), "the service: could not connect (after 5 attempts)"),
    (errors.NotReady("the set was not ready within 5 s"), "the set was not ready within 5 s"),
    (errors.OutcomeUnknown("the answer broke off", "host"), "host: the answer broke off"),
    (errors.ApiError(400), "HTTP 400: no reason given"),
    (errors.ApiError(400, summary="an empty answer"), "HTTP 400: an empty answer"),
    *(
        (api_error(errors.error_class(status), status), f"HTTP {status}: {API_SAYS}")
        for status in (400, 401, 403, 404, 409, 429, 500)
    ),
    (api_error(errors.ApiError, 200), f"the service refused: {API_SAYS}"),
    (errors.ApiError(200, summary="1 of 2 were counted", attempts=2), "1 of 2 were counted (after 2 attempts)"),
    (api_error(errors.StreamEnded, 200), f"the service refused: {API_SAYS}"),
    (
        REJECTED,
        f"HTTP 400: {API_SAYS}; is the receiver already running at this address, with this app's API key secret?",
    ),
    (api_error(errors.WebhookNotFound, 404), f"HTTP 404: {API_SAYS}"),
    (api_error(errors.WebhookUrlRejected, 400), f"HTTP 400: {API_SAYS}"),
    (
        errors.WebhookUrlRejected(
            refused=errors.InvalidInput("wrong", [BrokenRule(path="url", reason="must be https")])
        ),
        "wrong\n  - url: must be https",
    ),
    (errors.DecodeError("data.id", "expected a string"), "cannot read the answer at data.id: expected a string"),
    (errors.DecodeError("", "is not JSON"), "cannot read the answer at its top: is not JSON"),
    (EXECUTED, "cannot read the answer at data: is missing; the request was executed"),
    (
        errors.BulkError(
            "the upload stopped",
            UploadReport(read=1_000, accepted=900, rejected=1, pending=99, rejects=(RowIssue(3, "email", "is empty"),)),
        ),
        "the upload stopped (of 1,000 rows read: 900 accepted, 1 rejected, 0 duplicate, 99 pending)",
    ),
]


def same(one: BaseException, other: BaseException) -> bool:
    return type(one) is type(other) and one.args == other.args and vars(one) == vars(other) and str(one) == str(other)


@pytest.mark.parametrize(("error", "says"), SAMPLES)
def test_an_error_says_what_is_to_be_known(error: errors.SocialApiError, says: str) -> None:
    assert str(error) == says


@pytest.mark.parametrize("error", [error for error, _ in SAMPLES])
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_an_error_survives_being_pickled(error: errors.SocialApiError, protocol: int) -> None:
    assert same(pickle.loads(pickle.dumps(error, protocol)), error)


@pytest.mark.parametrize("error", [error for error, _ in SAMPLES])
def test_an_error_survives_being_copied(error: errors.SocialApiError) -> None:
    assert same(copy.copy(error), error)
    assert same(copy.deepcopy(error), error)


def test_what_was_learned_later_is_pickled_too() -> None:
    error = errors.TransportError("could not connect")
    error.attempts = 5
    assert pickle.loads(pickle.dumps(error)).attempts == 5


def test_what_may_be_personal_is_neither_pickled_nor_shown() -> None:
    error = errors.DecodeError("data", "is missing")
    error.body, error.collected, error.position = b"ada@example.com", ("ada@example.com",), "1:"
    again = pickle.loads(pickle.dumps(error))
    assert (again.body, again.collected, again.position) == (None, (), "1:")
    assert "ada@" not in f"{error}{error!r}{again!r}"


def test_every_class_is_tested_here() -> None:
    declared = {each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, Exception)}
    assert declared == {type(error) for error, _ in SAMPLES}


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    drawn = inspect.cleandoc(errors.__doc__ or "")
    declared = {each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, Exception)}
    assert {each.__name__ for each in declared if each.__name__ not in drawn} == set()
    assert all(issubclass(each, errors.SocialApiError) for each in declared)


def test_an_invalid_input_is_a_value_error_for_those_who_expect_one() -> None:
    assert issubclass(errors.InvalidInput, ValueError)


def test_only_the_first_twenty_rules_are_shown_and_all_are_there() -> None:
    rules = [BrokenRule(path=f"[{number}]", reason="no") for number in range(25)]
    error = errors.InvalidInput("wrong", rules)
    assert len(str(error).splitlines()) == 22
    assert str(error).endswith("\n  … and 5 more")
    assert len(error.broken_rules) == 25


@pytest.mark.parametrize(
    ("status", "kind"), [(418, errors.ApiError), (500, errors.ServerError), (599, errors.ServerError)]
)
def test_a_status_has_a_class(status: int, kind: type[errors.ApiError]) -> None:
    assert errors.error_class(status) is kind


def test_codes_leave_out_errors_without_one() -> None:
    assert api_error(errors.ApiError, 400).codes == (88, "NO")


def test_headers_are_a_copy() -> None:
    headers = {"a": "1"}
    error = errors.ApiError(400, headers=headers)
    headers["a"] = "2"
    assert error.headers == {"a": "1"}


def test_values_that_a_problem_quotes_are_not_in_its_repr() -> None:
    error: Any = api_error(errors.NotFound, 404)
    assert error.problems[0].value == "7"
    assert "value" not in repr(error.problems[0])


@pytest.mark.parametrize(
    ("wait_seconds", "resets_at", "shown"),
    [
        (90, datetime.datetime(2026, 1, 31, 12, 0, tzinfo=datetime.UTC), "at 12:00:00 UTC"),
        (43_200, datetime.datetime(2026, 1, 31, 12, 0, tzinfo=datetime.UTC), "at 12:00:00 UTC"),
        (43_201, datetime.datetime(2026, 1, 31, 12, 0, tzinfo=datetime.UTC), "at 2026-01-31 12:00:00 UTC"),
        (90, datetime.datetime(2026, 2, 1, 0, 1, tzinfo=datetime.UTC), "at 2026-02-01 00:01:00 UTC"),
        (math.inf, datetime.datetime(2026, 2, 1, 0, 1, tzinfo=datetime.UTC), "at 2026-02-01 00:01:00 UTC"),
    ],
)
def test_a_limit_that_frees_up_on_another_day_names_the_day(
    wait_seconds: float, resets_at: datetime.datetime, shown: str
) -> None:
    error = errors.RateLimitTooLong("uploads/1", wait_seconds, resets_at)
    assert f"({shown})" in str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def stopped_by(cause: Exception | None) -> errors.BulkError:
    stopped = errors.BulkError("the upload stopped", UploadReport())
    stopped.__cause__ = cause
    return stopped


@pytest.mark.parametrize(
    ("error", "is_lasting"),
    [
        (errors.SocialApiError("on purpose"), True),
        (errors.ConfigurationError("set this"), True),
        (errors.InvalidInput("wrong"), True),
        (errors.DecodeError("data", "is missing"), True),
        (errors.RateLimitTooLong("uploads/1", 90.4, NOON), False),
        (errors.TransportError("could not connect"), False),
        (errors.OutcomeUnknown("the answer broke off"), False),
        *((errors.ApiError(status), True) for status in (200, 400, 401, 403, 404, 409)),
        *((errors.ApiError(status), False) for status in (429, 500, 503)),
    ],
)
def test_an_error_says_whether_something_has_to_be_fixed_and_a_job_says_what_its_cause_does(
    error: errors.SocialApiError, is_lasting: bool
) -> None:
    assert error.is_lasting is is_lasting
    job = stopped_by(error)
    assert job.is_lasting is is_lasting
    assert pickle.loads(pickle.dumps(job)).is_lasting is is_lasting
    assert pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(job)))).is_lasting is is_lasting


def test_a_job_that_a_generator_of_the_user_stopped_may_be_repeated() -> None:
    job = stopped_by(OSError("the database was restarted"))
    assert not job.is_lasting
    assert not pickle.loads(pickle.dumps(job)).is_lasting
