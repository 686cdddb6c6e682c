"""The rules of audience and do-not-reach uploads (advertising documentation, sections 4.9 and 4.10), at their edges."""

import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.errors import InvalidInput
from socialapi.models.audiences import (
    AudienceUser,
    DoNotReachOperations,
    DoNotReachUser,
    Operation,
    OperationParams,
    Operations,
    months_later,
)
from socialapi.models.validation import broken_rules
from socialapi.wire.encode import json_shape

UTC = datetime.UTC
NOW = datetime.datetime(2026, 1, 31, 9, tzinfo=UTC)
DIGEST = "49e0be2aeccfb51a8dee4c945c8a70a9ac500cf6f5cb08112575f74db9b1470d"


def operation(kind: str = "Update", users: Any = ({"email": [DIGEST]},), **times: str) -> dict[str, Any]:
    return {"operation_type": kind, "params": {"users": list(users), **times}}


def broken(*operations: Any, declared: Any = Operations) -> list[tuple[str, str]]:
    return [(rule.path, rule.reason) for rule in broken_rules(declared, list(operations), now=NOW)]


def test_both_operation_types_and_all_six_kinds_are_taken() -> None:
    user = {
        "email": [DIGEST],
        "device_id": [DIGEST],
        "handle": [DIGEST],
        "service_id": [DIGEST],
        "phone_number": [DIGEST, DIGEST],
        "partner_user_id": ["Not hashed"],
    }
    assert broken(operation("Update", [user, user]), operation("Delete", [user])) == []


def test_2500_operations_are_taken_and_one_more_is_not() -> None:
    assert broken(*[operation()] * 2_500) == []
    assert broken(*[operation()] * 2_501) == [("", "must have at most 2,500 items")]
    assert broken(*[operation()] * 2_500, declared=DoNotReachOperations) == []
    assert broken(*[operation()] * 2_501, declared=DoNotReachOperations) == [("", "must have at most 2,500 items")]


@pytest.mark.parametrize("kind", ["update", "UPDATE", "Upsert", "", None, 1, ["Update"]])
def test_an_operation_type_that_is_not_documented_is_refused(kind: Any) -> None:
    assert broken(operation(kind)) == [("[0].operation_type", "must be one of Update, Delete")]


@pytest.mark.parametrize(
    ("effective_at", "expires_at", "fine"),
    [
        ("2026-02-01T00:00:00Z", "2026-02-01T00:00:00Z", False),
        ("2026-02-01T00:00:00Z", "2026-02-01T00:00:01Z", True),
        ("2026-02-01T00:00:00Z", "2026-01-31T23:59:59Z", False),
        ("2026-02-01T00:00:00.500Z", "2026-02-01T00:00:00.501Z", True),
        ("2020-01-01T00:00:00Z", "2020-01-02T00:00:00Z", True),
        (None, "2026-01-31T09:00:00Z", False),
        (None, "2026-01-31T09:00:01Z", True),
        ("2026-02-01T00:00:00Z", None, True),
    ],
)
def test_the_expiry_is_later_than_the_time_of_effect_which_is_now_unless_given(
    effective_at: str | None, expires_at: str | None, fine: bool
) -> None:
    given_times = {"effective_at": effective_at, "expires_at": expires_at}
    times = {name: value for name, value in given_times.items() if value is not None}
    assert broken(operation(**times)) == (
        [] if fine else [("[0].params.expires_at", "must be later than effective_at, which defaults to now")]
    )


def test_a_time_that_is_a_number_or_null_is_refused() -> None:
    number: Any = {"operation_type": "Update", "params": {"users": [], "expires_at": 1_800_000_000}}
    null: Any = {"operation_type": "Update", "params": {"users": [], "expires_at": None}}
    assert [path for path, _ in broken(number, null)] == ["[0].params.expires_at", "[1].params.expires_at"]


@pytest.mark.parametrize(
    "value",
    [
        DIGEST.upper(),
        DIGEST[:-1],
        DIGEST + "0",
        DIGEST + "\n",
        "g" * 64,
        "anna@example.com",
        "",
        " " + DIGEST,
        "\uff14" * 64,
    ],
)
@pytest.mark.parametrize("kind", ["email", "device_id", "handle", "service_id", "phone_number"])
def test_every_identifier_but_the_partners_is_a_sha_256(kind: str, value: str) -> None:
    assert broken(operation(users=[{kind: [DIGEST, value]}])) == [
        (f"[0].params.users[0].{kind}[1]", "must be a SHA-256 digest: 64 lower-case hexadecimal digits")
    ]
    assert broken(operation(users=[{"partner_user_id": [value or "0"]}])) == []


@pytest.mark.parametrize(
    ("data", "path", "reason"),
    [
        ({"params": {"users": []}}, "[0].operation_type", "is required"),
        ({"operation_type": "Update"}, "[0].params", "is required"),
        ({"operation_type": "Update", "params": {}}, "[0].params.users", "is required"),
        ({"operation_type": "Update", "params": []}, "[0].params", "must be an object"),
        ({"operation_type": "Update", "params": {"users": {}}}, "[0].params.users", "must be an array"),
        ({"operation_type": "Update", "params": {"users": ["x"]}}, "[0].params.users[0]", "must be an object"),
        (operation(users=[{"email": DIGEST}]), "[0].params.users[0].email", "must be an array"),
        (operation(users=[{"email": [5]}]), "[0].params.users[0].email[0]", "must be a string"),
        (operation(users=[{"partner_user_id": [None]}]), "[0].params.users[0].partner_user_id[0]", "must be a string"),
        (operation(users=[{"phone": []}]), "[0].params.users[0].phone", "is not a field of this object"),
        ({**operation(), "note": 1}, "[0].note", "is not a field of this object"),
        ("Update", "[0]", "must be an object"),
    ],
)
def test_a_body_of_another_shape_is_refused_by_its_path(data: Any, path: str, reason: str) -> None:
    assert broken(data) == [(path, reason)]


def test_what_is_missing_has_the_code_of_the_service_for_it() -> None:
    (rule,) = broken_rules(Operations, [{"operation_type": "Update"}], now=NOW)
    assert (rule.code, str(rule)) == ("MISSING_PARAMETER", "[0].params: is required")
    (other,) = broken_rules(Operations, [operation("Upsert")], now=NOW)
    assert other.code == "INVALID_PARAMETER"


def test_all_broken_rules_are_listed_in_the_order_of_the_data_and_quote_no_value() -> None:
    listed = broken_rules(
        Operations,
        [
            operation("Upsert", [{"email": ["anna@example.com"], "handle": [DIGEST, "anna"]}], expires_at="soon"),
            operation(),
            operation(expires_at="2026-01-01T00:00:00Z"),
        ],
        now=NOW,
    )
    assert [rule.path for rule in listed] == [
        "[0].operation_type",
        "[0].params.users[0].email[0]",
        "[0].params.users[0].handle[1]",
        "[0].params.expires_at",
        "[2].params.expires_at",
    ]
    assert "anna" not in str(listed)
    assert "soon" not in str(listed)


# Do-not-reach lists


def test_a_do_not_reach_list_knows_addresses_and_phones_only() -> None:
    fine = operation(users=[{"email": [DIGEST], "phone_number": [DIGEST]}], expires_at="2026-03-01T00:00:00Z")
    assert broken(fine, declared=DoNotReachOperations) == []
    for kind in ("device_id", "handle", "service_id", "partner_user_id"):
        assert broken(operation(users=[{kind: [DIGEST]}]), declared=DoNotReachOperations) == [
            (f"[0].params.users[0].{kind}", "is not a field of this object")
        ]


def test_a_do_not_reach_operation_takes_effect_at_once() -> None:
    assert broken(operation(effective_at="2026-02-01T00:00:00Z"), declared=DoNotReachOperations) == [
        ("[0].params.effective_at", "is not a field of this object")
    ]


@pytest.mark.parametrize(
    ("expires_at", "fine"),
    [("2026-01-31T09:00:00Z", False), ("2026-01-31T09:00:01Z", True), ("2026-01-31T08:59:59Z", False)],
)
def test_a_do_not_reach_operation_ends_later_than_now(expires_at: str, fine: bool) -> None:
    found = broken(operation(expires_at=expires_at), declared=DoNotReachOperations)
    assert found == ([] if fine else [("[0].params.expires_at", "must be later than now")])


# The classes that users make


def test_the_repr_of_a_user_counts_identifiers_and_shows_none() -> None:
    user = AudienceUser(email="anna@example.com", phone_number=["+15551234567", "+15557654321"])
    assert repr(user) == "AudienceUser(email=<1>, phone_number=<2>)"
    assert "anna" not in repr(Operation.update([user]))
    assert repr(DoNotReachUser(email="anna@example.com")) == "DoNotReachUser(email=<1>, phone_number=<0>)"


def test_what_the_classes_make_keeps_the_rules() -> None:
    user = AudienceUser(email=DIGEST, partner_user_id="p")
    made = Operation.update([user], effective_at=NOW, expires_at=NOW + datetime.timedelta(seconds=1))
    assert broken(json_shape(made)) == []
    assert json_shape(made)["params"]["expires_at"] == "2026-01-31T09:00:01Z"


# Thirteen months


@pytest.mark.parametrize(
    ("start", "months", "end"),
    [
        ("2026-01-31", 13, "2027-02-28"),
        ("2027-01-31", 13, "2028-02-29"),
        ("2026-11-30", 13, "2027-12-30"),
        ("2026-12-15", 13, "2028-01-15"),
        ("2026-08-31", 1, "2026-09-30"),
        ("2026-03-31", 0, "2026-03-31"),
        ("2024-02-29", 12, "2025-02-28"),
    ],
)
def test_the_same_day_some_months_on_or_the_last_one_there_is(start: str, months: int, end: str) -> None:
    assert months_later(datetime.datetime.fromisoformat(start), months) == datetime.datetime.fromisoformat(end)


@given(st.datetimes(datetime.datetime(1970, 1, 1), datetime.datetime(2500, 1, 1)), st.integers(0, 48))  # noqa: DTZ001  # zones play no part
def test_months_later_is_that_many_months_later_at_the_same_time_of_day(start: datetime.datetime, months: int) -> None:
    end = months_later(start, months)
    assert (end.year - start.year) * 12 + end.month - start.month == months
    assert end.time() == start.time()
    assert end.day <= start.day
    assert end.day == start.day or (end + datetime.timedelta(days=1)).month != end.month


# What is made of what a program gives


@pytest.mark.parametrize(
    ("given", "held"),
    [
        ("a@b.example", ("a@b.example",)),
        (["a", "b"], ("a", "b")),
        ((each for each in "ab"), ("a", "b")),
        (5, (5,)),
        (None, ()),
        (b"ab", (b"ab",)),
        ({"a": 1}, ({"a": 1},)),
        (1.5, (1.5,)),
    ],
)
def test_one_identifier_is_a_list_of_one_whatever_it_is(given: Any, held: tuple[Any, ...]) -> None:
    assert AudienceUser(email=given).email == held


def test_one_user_is_a_list_of_one() -> None:
    ada = AudienceUser(email="ada@northwind.example")
    assert Operation.update(ada) == Operation.update([ada]) == Operation.update(each for each in [ada])
    assert Operation("Update", {"users": ada}) == Operation.update([ada])


@pytest.mark.parametrize("users", [5, None, "ada@northwind.example", b"ada", 1.5, True])
def test_what_holds_no_users_is_refused_without_being_shown(users: Any) -> None:
    for make in (Operation.update, Operation.delete, lambda users: OperationParams(users=users)):
        with pytest.raises(InvalidInput, match=r"^users must be AudienceUser or a list of them, not \w+$"):
            make(users)


@pytest.mark.parametrize("params", [5, None, [AudienceUser(email="a")], AudienceUser(email="a"), "a@b.example"])
def test_users_in_place_of_params_are_refused_with_what_to_write(params: Any) -> None:
    with pytest.raises(InvalidInput, match=r"Operation\.params must be OperationParams.*Operation\.update\(\[…\]\)"):
        Operation("Update", params)


def test_a_mapping_with_other_names_is_refused_without_being_shown() -> None:
    with pytest.raises(
        InvalidInput, match="OperationParams has no such field; its fields are users, effective_at"
    ) as caught:
        Operation("Update", {"users": [], "ada@northwind.example": 1})
    assert "ada" not in str(caught.value)
    with pytest.raises(InvalidInput, match="OperationParams needs users"):
        Operation("Update", {})
