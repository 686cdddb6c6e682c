"""User objects as they stand in a request."""

import json
from collections.abc import Sequence
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from socialapi.bulk.audiences.prepare import user_json, users_of, write_users
from socialapi.models.audiences import IDENTIFIER_KINDS, IdentifierKind

DIGESTS: Final = st.text("0123456789abcdef", min_size=64, max_size=64)
# A lone surrogate is not sent; two halves that make a character side by side cannot be told from it in JSON.
TEXTS: Final = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12) | st.sampled_from(
    ('x"\\', "{v0}", "{{", "%s", "\\u00e9", "é", "🌊", "\x00", "\u2028", "'")
)


def values_of(kind: IdentifierKind) -> st.SearchStrategy[str]:
    return TEXTS if kind == "partner_user_id" else DIGESTS


USERS: Final = st.fixed_dictionaries(
    {}, optional={kind: st.lists(values_of(kind), min_size=1, max_size=3) for kind in IDENTIFIER_KINDS}
)


@given(USERS)
def test_a_user_object_holds_its_values_in_the_order_of_the_kinds_without_blanks_in_ascii(
    values: dict[IdentifierKind, list[str]],
) -> None:
    text = user_json(values)
    ordered = {kind: values[kind] for kind in IDENTIFIER_KINDS if kind in values}
    assert text == json.dumps(ordered, separators=(",", ":"))
    assert text.isascii()


@given(st.lists(st.sampled_from(IDENTIFIER_KINDS), min_size=1, unique=True), st.integers(0, 5), st.data())
def test_users_written_together_are_those_written_one_by_one(
    kinds: list[IdentifierKind], count: int, data: st.DataObject
) -> None:
    columns: list[tuple[IdentifierKind, Sequence[str | None]]] = []
    expected: list[dict[IdentifierKind, Sequence[str]]] = [{} for _ in range(count)]
    for kind in kinds:
        values = data.draw(st.lists(values_of(kind), min_size=count, max_size=count))
        columns.append((kind, values))
        for user, value in zip(expected, values, strict=True):
            user[kind] = [value]
    assert write_users(columns) == [user_json(user) for user in expected]


def test_a_row_that_lacks_a_value_does_not_disturb_its_neighbours() -> None:
    digests = ["a" * 64, "b" * 64, "c" * 64]
    users = write_users([("partner_user_id", ["é", None, "x"]), ("email", [digests[0], None, digests[2]])])
    assert users[0] == f'{{"email":["{digests[0]}"],"partner_user_id":["\\u00e9"]}}'
    assert users[2] == f'{{"email":["{digests[2]}"],"partner_user_id":["x"]}}'
    assert len(users) == 3


def test_a_partner_user_id_cannot_leave_its_quotation_marks() -> None:
    planted = '"],"email":["x'
    assert user_json({"partner_user_id": [planted]}) == '{"partner_user_id":["\\"],\\"email\\":[\\"x"]}'
    assert json.loads(write_users([("partner_user_id", [planted])])[0]) == {"partner_user_id": [planted]}


@given(st.lists(st.sampled_from(IDENTIFIER_KINDS), min_size=1, max_size=4), st.integers(0, 5), st.data())
def test_users_of_any_columns_are_those_written_one_by_one(
    kinds: list[IdentifierKind], count: int, data: st.DataObject
) -> None:
    expected: list[dict[IdentifierKind, list[str]]] = [{} for _ in range(count)]
    columns: list[tuple[IdentifierKind, Sequence[str]]] = []
    for kind in kinds:
        values = data.draw(st.lists(values_of(kind) | st.just(""), min_size=count, max_size=count))
        columns.append((kind, values))
        for user, value in zip(expected, values, strict=True):
            if value:
                user.setdefault(kind, []).append(value)
    assert users_of(columns, count) == [user_json(user) for user in expected]
