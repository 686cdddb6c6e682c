"""What an answer means: a result, or an error that says what the service said."""

from collections.abc import Sequence
from typing import Any, Final

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi import errors, problems
from socialapi.models.audiences import DoNotReachList, UploadCounts
from socialapi.models.model import Items
from socialapi.problems import OperationError, Problem, ServiceError
from socialapi.routes import ads, audiences, platform
from socialapi.routes.route import Route
from socialapi.wire.decode import read_problem
from socialapi.wire.response import Reply, decode, read_error, read_result

BASE = "https://api.example.com/problems"


def reply(body: Any, status: int = 200, content_type: str = "application/json", **headers: str) -> Reply:
    content = body if isinstance(body, bytes) else orjson.dumps(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, {"content-type": content_type, **named}, content)


def refusal(body: Any, status: int = 400, content_type: str = "application/json", **headers: str) -> errors.ApiError:
    return read_error(reply(body, status, content_type, **headers))


# Results


def test_the_result_is_taken_out_of_its_envelope() -> None:
    found = read_result(
        audiences.CUSTOM_AUDIENCE_USERS, reply({"data": {"success_count": 3, "total_count": 3}, "request": {}})
    )
    assert found == UploadCounts(success_count=3, total_count=3)


def test_a_result_without_an_envelope_is_read_as_well() -> None:
    found = read_result(audiences.CUSTOM_AUDIENCE_USERS, reply({"success_count": 3, "total_count": 4}))
    assert (found.success_count, found.total_count) == (3, 4)


def test_the_counts_of_a_do_not_reach_upload_are_summed_over_its_operations() -> None:
    data = [{"success_count": 2, "total_count": 2}, {"success_count": 0, "total_count": 1}]
    assert read_result(audiences.DO_NOT_REACH_USERS, reply({"data": data})) == UploadCounts(
        success_count=2, total_count=3
    )


REASONS: Final[Sequence[Any]] = (
    {"error": {"code": 7, "message": "no way"}},
    {"error": "forbidden", "error_description": "no way"},
    {"data": None, "error": "no way"},
    {"data": None, "message": "no way"},
    {"data": {"error": "no way"}},
    {"data": {}, "errors": [{"message": "no way"}]},
    {"title": "Forbidden", "detail": "no way", "status": 403},
    {"success": False, "message": "no way"},
    [{"message": "no way", "code": 5}],
    {"Errors": [{"Message": "no way"}]},
    {"detail": [{"loc": ["body"], "msg": "no way"}]},
    {"status": {"message": "no way"}},
    {"error_msg": "no way"},
)


@pytest.mark.parametrize("body", REASONS)
@pytest.mark.parametrize("route", [platform.POST_CREATE, platform.POSTS, platform.WEBHOOK_DELETE, ads.FEATURES])
def test_a_success_with_a_reason_and_none_of_the_documented_fields_is_an_error(route: Route[Any], body: Any) -> None:
    with pytest.raises(errors.ApiError, match="no way") as caught:
        read_result(route, reply(body))
    assert caught.value.status == 200


@pytest.mark.parametrize("body", [{"success": True, "message": "done"}, {"data": {"name": "x"}}, {"ok": True}])
def test_a_write_that_gives_no_reason_was_executed(body: Any) -> None:
    with pytest.raises(errors.DecodeError) as caught:
        read_result(platform.POST_CREATE, reply(body))
    assert caught.value.executed


def test_a_page_for_a_browser_is_named_by_its_title() -> None:
    with pytest.raises(errors.DecodeError, match="is not JSON but 'Sign in'"):
        read_result(platform.POSTS, Reply(200, {}, b"<html><title>Sign in</title></html>"))


@pytest.mark.parametrize(
    "body",
    [
        {"meta": {"result_count": 0}},
        {"data": None},
        {"data": [], "message": "nothing found"},
        {"data": [{"id": "1", "text": "a"}], "error": "some are missing"},
        {"tweets": [{"id": "1", "text": "a"}], "message": "1 found"},
    ],
)
def test_a_page_may_be_empty_or_have_a_message_beside_its_data(body: Any) -> None:
    assert len(read_result(platform.POSTS, reply(body)).data) in (0, 1)


def test_errors_beside_data_do_not_hide_the_data() -> None:
    body = {"data": {"success_count": 1, "total_count": 1}, "errors": [{"title": "Gone", "type": f"{BASE}/conflict"}]}
    assert read_result(audiences.CUSTOM_AUDIENCE_USERS, reply(body)).success_count == 1


@pytest.mark.parametrize("empty", [{}, {"data": None}])
def test_errors_without_data_are_an_error_even_with_status_200(empty: dict[str, Any]) -> None:
    with pytest.raises(errors.ApiError) as caught:
        read_result(audiences.CUSTOM_AUDIENCE_USERS, reply({**empty, "errors": [{"code": 88, "message": "no"}]}))
    assert (caught.value.status, caught.value.codes) == (200, (88,))


@pytest.mark.parametrize(
    "operation_errors",
    [
        [{"index": 1, "code": "INVALID_PARAMETER", "message": "bad hash", "parameter": "users"}],
        [[], [{"code": "INVALID_PARAMETER", "message": "bad hash", "parameter": "users"}], []],
        [{}, {"code": "INVALID_PARAMETER", "message": "bad hash", "parameter": "users"}],
        [None, [{"code": "INVALID_PARAMETER", "message": "bad hash", "parameter": "users"}]],
    ],
)
@pytest.mark.parametrize("status", [200, 400])
def test_operation_errors_are_never_plain_success_and_name_the_operation(operation_errors: Any, status: int) -> None:
    """The official ads SDK returned 2,499 accepted of 2,500 as plain success."""
    body = {"data": {"success_count": 2499, "total_count": 2500}, "operation_errors": operation_errors}
    with pytest.raises(errors.ApiError) as caught:
        read_result(audiences.CUSTOM_AUDIENCE_USERS, reply(body, status))
    assert caught.value.status == status
    assert caught.value.operation_errors == (
        OperationError(index=1, code="INVALID_PARAMETER", message="bad hash", parameter="users"),
    )
    assert caught.value.codes == ("INVALID_PARAMETER",)
    says = "the service refused" if status == 200 else f"HTTP {status}"
    assert str(caught.value) == f"{says}: operation 1: INVALID_PARAMETER: bad hash"


# Answers that cannot be read


@pytest.mark.parametrize(
    ("body", "path", "reason"),
    [
        (b"", "", "is not JSON"),
        (b'{"data": {"success_count": 1', "", "is not JSON"),
        (b"<html>", "", "is not JSON"),
        ([], "", "expected an object"),
        ([{"success_count": 1, "total_count": 1}, 5], "[1]", "expected an object"),
        ({"data": 5}, "data", "expected an object"),
        ({"data": None}, "data", "expected an object"),
        ({"data": {"total_count": 1}}, "data.success_count", "is missing"),
        ({"total_count": 1}, "success_count", "is missing"),
        ({"data": {"success_count": "one", "total_count": 1}}, "data.success_count", "expected a whole number"),
        ({"data": {"success_count": 1.5, "total_count": 1}}, "data.success_count", "expected a whole number"),
        ({"data": {"success_count": "", "total_count": 1}}, "data.success_count", "is empty"),
        ({"data": {"success_count": True, "total_count": 1}}, "data.success_count", "expected a whole number"),
        ({"data": [{"success_count": 1, "total_count": 1}, {"success_count": 1}]}, "data[1].total_count", "is missing"),
        ({"data": ["x"]}, "data[0]", "expected an object"),
    ],
)
def test_an_answer_of_another_shape_names_the_field_and_no_value(body: Any, path: str, reason: str) -> None:
    with pytest.raises(errors.DecodeError) as caught:
        read_result(audiences.CUSTOM_AUDIENCE_USERS, reply(body))
    assert caught.value.path == path
    assert caught.value.reason.startswith(reason)


def test_a_number_where_text_is_documented_is_read_as_it_is_written() -> None:
    assert read_result(audiences.DO_NOT_REACH_LIST_DELETE, reply({"data": {"id": 12345}})).id == "12345"


def test_the_path_goes_through_lists() -> None:
    with pytest.raises(errors.DecodeError) as caught:
        read_result(
            audiences.DO_NOT_REACH_LIST_DELETE, reply({"data": {"id": "1", "reasons_not_targetable": ["x", {}]}})
        )
    assert caught.value.path == "data.reasons_not_targetable[1]"


def test_unknown_fields_and_unknown_values_of_enumerations_survive() -> None:
    data = {"id": "1", "reasons_not_targetable": ["TOO_SMALL", "TOO_NEW"], "colour": "blue", "deleted": True}
    found = read_result(audiences.DO_NOT_REACH_LIST_DELETE, reply({"data": data}))
    assert found == DoNotReachList(
        id="1", reasons_not_targetable=("TOO_SMALL", "TOO_NEW"), deleted=True, extra={"colour": "blue"}
    )


# Errors


@pytest.mark.parametrize(
    ("content", "content_type", "says"),
    [
        (b"<html><p>503</p></html>", "text/html", "an answer of type text/html with no reason in it"),
        (b"", "application/json", "an empty answer"),
        (b'{"errors": [{"code"', "application/json", "an answer of type application/json with no reason in it"),
        (b"[1, 2]", "application/json; charset=utf-8", "an answer of type application/json with no reason in it"),
        (b"\xff\xfe", "", "an answer of type unknown with no reason in it"),
    ],
)
def test_a_body_without_a_reason_keeps_the_status(content: bytes, content_type: str, says: str) -> None:
    """A peer raised ContentTypeError for a 503 with an HTML body."""
    error = refusal(content, 503, content_type)
    assert isinstance(error, errors.ServerError)
    assert str(error) == f"HTTP 503: {says}"
    with pytest.raises(errors.ServerError):
        read_result(audiences.CUSTOM_AUDIENCE_USERS, reply(content, 503, content_type))


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"errors": "the disk is full"}, "the disk is full"),
        ({"errors": {"code": 131, "message": "Internal error"}}, "131: Internal error"),
        ({"errors": ["one", {"message": "two"}]}, "one; two"),
        ({"errors": [5]}, "5"),
        ({"detail": "is not a note writer"}, "is not a note writer"),
        ({"message": "already written"}, "already written"),
        ({"error": {"code": "7", "message": "no"}}, "7: no"),
        ({"error": "invalid_grant", "error_description": "it was used"}, "invalid_grant: it was used"),
        ({"title": "Bad", "detail": "Very bad.", "errors": [{"message": "a part"}]}, "Very bad: a part"),
        (
            {"title": "Invalid Request", "errors": [{"message": m} for m in "abcde"]},
            "Invalid Request: a; b; c; and 2 more",
        ),
        ({"title": "Invalid Request", "errors": [{"reason": "odd"}, "text"]}, "Invalid Request: odd; text"),
        (
            {"type": f"{BASE}/client-forbidden", "detail": "No.", "reason": "client-not-enrolled"},
            "No: client-not-enrolled",
        ),
        ({"error": "no", "description": "why"}, "no: why"),
        ({"Message": "is not authorized"}, "is not authorized"),
        ({"fault": {"faultstring": "quota violation", "detail": {"errorcode": "7"}}}, "quota violation; 7"),
        ({"errors": {"name": ["is too long"], "value": "secret"}}, "is too long"),
        ({"detail": [{"loc": ["body"], "msg": "field required", "input": "secret"}]}, "field required"),
        ({"errors": [{"code": 3, "parameter": "bid"}]}, "3: bid"),
        (["one", "two"], "one; two"),
        (b'"Forbidden"', "Forbidden"),
        (b"Forbidden", "Forbidden"),
        (b"upstream\r\n  connect error", "upstream connect error"),
        (b"<html><head><title> 502 Bad\nGateway </title></head><h1>x</h1>", "502 Bad Gateway"),
        (b"<!DOCTYPE HTML><h1>It is &lt;down&gt;</h1><code>x</code>", "It is <down>"),
        (
            b"<?xml?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>",
            "AccessDenied: Access Denied",
        ),
        (b"<s:Fault><faultstring><![CDATA[a < b]]></faultstring></s:Fault>", "a < b"),
        ({"detail": "a\x1b[31mred\r\n2026 forged \u202e x"}, "a?[31mred 2026 forged ? x"),
        (b"\x1b[2J\xe2\x80\xae gone", "?[2J? gone"),
        ([{"code": "\x07"}], "?"),
        ([{"message": "in an array"}], "in an array"),
        (b'\xef\xbb\xbf{"detail": "behind a mark"}', "behind a mark"),
    ],
)
def test_a_reason_is_found_wherever_a_refusal_has_it(body: Any, says: str) -> None:
    assert str(refusal(body, 503)) == f"HTTP 503: {says}"


def test_the_request_id_is_what_the_service_calls_the_request() -> None:
    assert refusal({}, x_transaction_id="abc", x_request_id="def").request_id == "abc"
    assert refusal({}, x_request_id="def", cf_ray="c").request_id == "def"
    assert refusal({}, x_amzn_requestid="am", cf_ray="c").request_id == "am"
    assert (
        str(refusal({}, cf_ray="c\x1b"))
        == "HTTP 400: an answer of type application/json with no reason in it (request c?)"
    )
    assert refusal({}).request_id is None


def test_only_the_first_operations_are_shown_in_full() -> None:
    listed = [{"index": i, "code": "INVALID_PARAMETER", "message": "no"} for i in range(5)]
    shown = "; ".join(f"operation {i}: INVALID_PARAMETER: no" for i in range(3))
    assert str(refusal({"operation_errors": listed})) == f"HTTP 400: {shown}; and 2 more operations"


@given(
    st.binary()
    | st.recursive(
        st.none() | st.booleans() | st.text() | st.integers(-9, 99),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "errors",
                        "operation_errors",
                        "index",
                        "code",
                        "message",
                        "title",
                        "type",
                        "detail",
                        "status",
                        "parameter",
                        "data",
                    ]
                ),
                inner,
            )
        ),
    ).map(orjson.dumps)
)
def test_no_body_whatsoever_breaks_the_reading_of_an_error(content: bytes) -> None:
    error = read_error(Reply(503, {}, content))
    assert error.status == 503
    assert str(error).startswith("HTTP 503: ")


# Problems

DOCUMENTED: dict[str, tuple[type[Problem], dict[str, Any]]] = {
    "client-disconnected": (problems.ClientDisconnected, {}),
    "client-forbidden": (
        problems.ClientForbidden,
        {"reason": "client-not-enrolled", "registration_url": "https://example.com/register"},
    ),
    "conflict": (problems.ConflictProblem, {}),
    "disallowed-resource": (
        problems.DisallowedResource,
        {"resource_id": "7", "resource_type": "tweet", "section": "includes"},
    ),
    "duplicate-rules": (problems.DuplicateRules, {"id": "7", "value": "cats has:images"}),
    "invalid-rules": (problems.InvalidRules, {}),
    "noncompliant-rules": (problems.NoncompliantRules, {}),
    "rule-cap": (problems.RuleCap, {}),
    "unsupported-authentication": (problems.UnsupportedAuthentication, {}),
    "not-authorized-for-field": (
        problems.NotAuthorizedForField,
        {"field": "email", "resource_type": "user", "section": "data"},
    ),
    "not-authorized-for-resource": (
        problems.NotAuthorizedForResource,
        {"value": "7", "resource_id": "7", "resource_type": "list", "section": "data", "parameter": "id"},
    ),
    "operational-disconnect": (problems.OperationalDisconnect, {"disconnect_type": "SlowReader"}),
    "resource-not-found": (
        problems.ResourceNotFound,
        {"parameter": "id", "value": "7", "resource_id": "7", "resource_type": "space"},
    ),
    "resource-unavailable": (
        problems.ResourceUnavailable,
        {"parameter": "id", "resource_id": "7", "resource_type": "media"},
    ),
    "streaming-connection": (problems.StreamingConnection, {"connection_issue": "TooManyConnections"}),
    "usage-capped": (problems.UsageCapped, {"period": "Monthly", "scope": "Product"}),
}


@pytest.mark.parametrize("slug", DOCUMENTED)
def test_each_documented_problem_is_a_type_of_its_own_with_its_fields(slug: str) -> None:
    cls, fields = DOCUMENTED[slug]
    common: dict[str, Any] = {"type": f"{BASE}/{slug}", "title": "A title", "detail": "A detail", "status": 400}
    (found,) = refusal({**common, **fields}).problems
    assert type(found) is cls
    assert found == cls(**common, **fields)
    assert found.slug == slug


def test_an_invalid_request_lists_its_parameters() -> None:
    body = {
        "type": f"{BASE}/invalid-request",
        "title": "Invalid Request",
        "detail": "One or more parameters were invalid.",
        "errors": [{"message": "out of range", "parameters": {"max_results": ["500"], "ids": []}}, {"message": "odd"}],
    }
    (found,) = refusal(body).problems
    assert isinstance(found, problems.InvalidRequest)
    assert found.errors[0].message == "out of range"
    assert found.errors[0].parameters == {"max_results": ("500",), "ids": ()}
    assert found.errors[1].parameters == {}
    assert str(refusal(body)) == "HTTP 400: One or more parameters were invalid: out of range; odd"


@pytest.mark.parametrize("kind", ["about:blank", f"{BASE}/made-yesterday", "made-yesterday", ""])
def test_a_type_that_is_not_known_is_a_plain_problem(kind: str) -> None:
    found = read_problem({"type": kind, "title": "New", "budget": 5})
    assert type(found) is Problem
    assert (found.type, found.title, found.extra) == (kind, "New", {"budget": 5})


def test_a_problem_with_an_odd_field_keeps_what_can_be_read() -> None:
    odd = {"type": f"{BASE}/rule-cap", "title": "Cap", "status": "bad", "detail": {}}
    found = read_problem(odd)
    assert (found.title, found.slug, found.extra) == ("Cap", "rule-cap", {"status": "bad", "detail": {}})
    half_odd = read_problem({"type": f"{BASE}/usage-capped", "title": "Cap", "period": {}})
    assert (type(half_odd), half_odd.extra) == (Problem, {"period": {}})
    assert read_problem({"title": "Cap", "status": "400"}).status == 400


def test_problems_and_coded_errors_can_stand_side_by_side() -> None:
    error = refusal({"errors": [{"type": f"{BASE}/conflict", "title": "Busy"}, {"code": 1, "message": "x"}, "odd"]})
    assert [type(each) for each in error.problems] == [problems.ConflictProblem]
    assert error.codes == (1,)
    assert str(error) == "HTTP 400: 1: x; odd; Busy"


# Replies as they are


def test_a_reply_gives_its_body_decoded_when_it_is_json() -> None:
    assert reply({"a": 1}).body == {"a": 1}
    assert reply({"a": 1}, content_type="application/problem+json; charset=utf-8").body == {"a": 1}
    assert reply(b"a=1", content_type="text/plain").body == b"a=1"
    assert reply(b"", content_type="application/json").body == b""


def test_a_reply_whose_json_is_cut_off_gives_its_bytes() -> None:
    assert reply(b'{"a": ').body == b'{"a": '
    assert reply(b"OK").body == b"OK"


def test_an_encoding_that_is_not_supported_is_named() -> None:
    with pytest.raises(errors.DecodeError, match="is encoded as br, which is not supported"):
        read_result(platform.USER_POSTS, reply(b"\x8b\x03", content_encoding="br"))
    assert "encoded as zstd, gzip, which" in str(refusal(b"\xb5\x2f", content_encoding="zstd, gzip"))
    assert str(refusal({"detail": "why"}, content_encoding="utf-8")) == "HTTP 400: why"


def test_the_repr_of_a_reply_shows_no_content() -> None:
    assert repr(reply(b"planted")) == "Reply(200, 7 bytes)"


def test_the_message_of_broken_json_quotes_nothing_of_it() -> None:
    with pytest.raises(errors.DecodeError) as caught:
        decode(b'{"token": "planted" "x"}')
    assert "planted" not in repr(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        ["a"] * 250_000,
        {"errors": [{"code": 1, "message": "x"}] * 50_000},
        {"errors": [{"title": "x"}] * 50_000},
        {"detail": [[["x"] * 100] * 100] * 20},
    ],
)
def test_a_huge_refusal_is_read_no_further_than_its_first_errors(body: Any) -> None:
    error = refusal(body)
    assert len(error.errors) + len(error.problems) <= 250
    assert len(str(error)) < 1000


def test_a_long_text_of_the_service_is_whole_in_the_error_and_cut_in_its_message() -> None:
    error = refusal({"title": "Bad", "detail": "x" * 5000})
    assert error.problems[0].detail == "x" * 5000
    assert str(error) == f"HTTP 400: {'x' * 300} …"


def test_operation_errors_beyond_those_that_a_request_can_have_are_not_read() -> None:
    error = refusal({"operation_errors": [[{"code": "BAD", "message": "x"}]] * 3000})
    assert [each.index for each in error.operation_errors] == list(range(2500))


def test_an_index_that_is_too_long_to_be_one_is_none() -> None:
    assert refusal({"operation_errors": [{"code": "BAD", "index": "9" * 5000}]}).operation_errors[0].index is None


def test_half_of_a_surrogate_pair_in_one_post_costs_no_other() -> None:
    body = rb'{"data":[{"id":"1","text":"\ud83d"},{"id":"2","text":"b"}],"meta":{}}'
    page = read_result(platform.USER_POSTS, reply(body))
    assert [post.text for post in page.data] == ["\ud83d", "b"]


def test_a_code_may_be_a_whole_float() -> None:
    assert refusal({"errors": [{"code": 89.0, "message": "expired"}]}, 401).codes == (89,)


def test_errors_beside_a_list_are_kept_with_it() -> None:
    body = {"data": ["VALIDATED_AGE_TARGETING"], "errors": [{"code": "X", "message": "partly"}]}
    found = read_result(ads.FEATURES, reply(body))
    assert found == ("VALIDATED_AGE_TARGETING",)
    assert isinstance(found, Items)
    assert found.partial_errors == (ServiceError(code="X", message="partly"),)


@pytest.mark.parametrize("body", [{}, {"ok": True}, {"data": {"results": []}}, {"data": {}}])
def test_an_object_of_another_shape_is_no_result(body: Any) -> None:
    with pytest.raises(errors.DecodeError) as caught:
        read_result(platform.WEBHOOK_DELETE, reply(body))
    assert (caught.value.executed, caught.value.status) == (True, 200)


@pytest.mark.parametrize("data", [[], {}, None])
def test_a_single_object_that_is_not_found_is_not_found(data: Any) -> None:
    error = {"title": "Not Found", "type": f"{BASE}/resource-not-found", "detail": "no such story"}
    with pytest.raises(errors.NotFound):
        read_result(platform.NEWS_STORY, reply({"data": data, "errors": [error]}))


@pytest.mark.parametrize(
    "envelope",
    [
        {"meta": {"next_token": "n"}},
        {"meta": {"next_cursor": "n"}},
        {"next_cursor": "n"},
        {"next_token": "n"},
        {"meta": {"next_token": None}, "next_cursor": "n"},
    ],
)
def test_the_next_page_is_known_wherever_its_token_is(envelope: Any) -> None:
    page = read_result(platform.USER_POSTS, reply({"data": [{"id": "1", "text": "a"}], "warning": "w", **envelope}))
    assert page.next_token == "n"
    assert page.extra == {"warning": "w"}


def test_a_reason_is_found_in_plain_text() -> None:
    error = refusal(b"CrcValidationFailed: no answer", content_type="text/plain")
    assert isinstance(error, errors.WebhookRejected)
    assert error.reason == "CrcValidationFailed"
