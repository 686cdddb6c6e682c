"""Arguments that go into no request."""

import datetime
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.errors import InvalidInput
from socialapi.models.validation import Faults
from socialapi.resources.arguments import check_argument, right_arguments


@pytest.mark.parametrize(
    ("kind", "right", "wrong", "says"),
    [
        (str, ["", "a"], [5, None, b"a"], "a string"),
        (int | None, [5, None], [True, 5.0, "5"], "a whole number or None"),
        (float, [5, 0.5], [True, "0.5"], "a number"),
        (bool, [True], [1, "true", None], "True or False"),
        (Literal["auto"] | float, ["auto", "else", 5], [True, None], "a string or a number"),
        (datetime.datetime | str, [datetime.datetime.now(datetime.UTC), "a"], [5], "a datetime or a string"),
        (Mapping[str, str | Sequence[str]], [{}, {"a": ["b"]}], [{"a": 5}, {5: "a"}, {"a": [5]}, "a"], "a mapping"),
        (Sequence[str], [["a"], ("a",)], ["a", b"a", [5], {"a"}], "a list"),
        (Callable | None, [print, None, lambda: None], [5, "a", int], "a function or None"),
        (Any, [object(), None], [], ""),
    ],
)
def test_a_value_has_one_of_the_kinds_or_is_refused_by_name(kind: Any, right: Any, wrong: Any, says: str) -> None:
    for value in right:
        check_argument("name", kind, value)
    for value in wrong:
        with pytest.raises(InvalidInput, match=f"^name must be {says}, not {type(value).__name__}$"):
            check_argument("name", kind, value)


PATH = str | os.PathLike[str] | None


@given(st.text(), st.sampled_from(["\0", "\ud800", "\udc00"]), st.text())
def test_a_path_that_no_file_can_have_is_refused(before: str, odd: str, after: str) -> None:
    for path in (before + odd + after, Path(before + odd + after)):
        with pytest.raises(
            InvalidInput, match=r"^journal must be a path that is not empty and contains neither NUL"
        ) as caught:
            check_argument("journal", PATH, path)
        assert caught.value.__context__ is None


def test_a_path_may_hold_what_the_file_system_does() -> None:
    for path in ("journal", Path("journal"), "J\N{SNOWMAN}", os.fsdecode(b"\xff\xfe"), None):
        check_argument("journal", PATH, path)
    with pytest.raises(InvalidInput, match=r"^journal must be a path that is not empty"):
        check_argument("journal", PATH, "")


class Options(TypedDict, total=False):
    dry_run: bool
    rejects: str | None


def test_options_have_known_names_and_types() -> None:
    faults = Faults()
    assert right_arguments(Options, {"dry_run": True, "rejects": None}, faults) == {"dry_run": True, "rejects": None}
    faults.refuse()
    assert right_arguments(Options, {"rejects": "a", "dry_run": "yes", "dryrun": True, "n": 5}, faults) == {
        "rejects": "a"
    }
    with pytest.raises(InvalidInput) as caught:
        faults.refuse()
    assert list(map(str, caught.value.broken_rules)) == [
        "dry_run: must be True or False, not str",
        "dryrun: is not an option: did you mean dry_run?",
        "n: is not an option; the options are dry_run, rejects",
    ]
