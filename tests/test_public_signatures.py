"""What stands in a public signature can be imported from a public module."""

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import pytest

from socialapi import AudienceUser, Config, Operation, Product
from socialapi.internal.unset import UNSET, Unset
from socialapi.models.products import ProductsQuery
from socialapi.resources.ads import Accounts
from socialapi.resources.audiences import CustomAudience, DoNotReachListResource
from socialapi.resources.products import Products
from socialapi.types import (
    AudienceUploadKeywords,
    LintKeywords,
    OperationType,
    Post,
    PostDraft,
    PostMedia,
    ProductLintKeywords,
    SyncKeywords,
    UploadKeywords,
    UpsertKeywords,
)
from tests.support.signatures import (
    NOT_INSTALLED_HERE,
    PUBLIC,
    PUBLIC_MODULES,
    Name,
    Package,
    Signatures,
    is_rule,
)

ROOT: Final = Path(__file__).parents[1]
PACKAGE: Final = Package(ROOT / "socialapi")
OPAQUE: Final = frozenset({Name("socialapi.emulator.state", "State")})
"""How the emulator keeps things is not promised: `Emulator.state` is for tests of what no request can do."""


EXPORTED: Final = {PACKAGE.resolve(module, name) for module, name in PUBLIC}


def made_by_a_client() -> frozenset[Name]:
    """Groups of methods, pagers, streams and the events that were put aside are not made by users."""
    groups = {PACKAGE.resolve(module, name) for module, name in PUBLIC if module == "socialapi.resources"}
    made = {Name("socialapi.session.pager", "Pager"), Name("socialapi.streams.stream", "Stream")}
    made.add(Name("socialapi.webhooks.dead_letters", "DeadLetters"))
    return frozenset(name for name in groups | made if name is not None)


def test_what_stands_in_a_public_signature_has_a_public_path() -> None:
    signatures = Signatures(PACKAGE, not_made_by_users=made_by_a_client(), opaque=OPAQUE)
    for module, name in PUBLIC:
        signatures.follow(module, name, "is public")
    hidden = {
        f"{name.module}.{name.name}, in {came_from}"
        for name, came_from in signatures.found.items()
        if name not in EXPORTED and not is_rule(PACKAGE, name)
    }
    assert not hidden, "\n".join(sorted(hidden))
    reached = {name.name for name in signatures.found}
    assert {"Api", "JobIdentity", "LimitReading", "Post", "PostMetrics", "RowIssue", "UploadKeywords"} <= reached


def test_the_contributing_page_lists_the_public_modules() -> None:
    rows = re.findall(r"^\| `(socialapi[.\w]*)` \|", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted((*PUBLIC_MODULES, *NOT_INSTALLED_HERE))


@pytest.mark.parametrize(
    "name", ["Slot", "LimitStatus", "Pacer", "Clock", "Journal", "TokenCache", "Credentials", "Reply"]
)
def test_what_the_parameters_and_results_of_a_client_are_is_at_the_top(name: str) -> None:
    assert ("socialapi", name) in PUBLIC


@pytest.mark.parametrize(
    ("method", "declared", "default"),
    [
        (CustomAudience.upload, AudienceUploadKeywords, ("operation", "Update")),
        (CustomAudience.sync, SyncKeywords, ("max_removal_share", 0.1)),
        (CustomAudience.lint, LintKeywords, ("phone_format", "auto")),
        (Products.lint, ProductLintKeywords, ("sample", None)),
        (DoNotReachListResource.upload, UploadKeywords, ("concurrency", "auto")),
        (Products.upsert, UpsertKeywords, ("concurrency", 8)),
        (Products.list, ProductsQuery, ("count", UNSET)),
    ],
    ids=lambda given: getattr(given, "__qualname__", None),
)
def test_help_shows_every_option_with_its_type_default_and_a_sentence(
    method: Any, declared: Any, default: tuple[str, Any]
) -> None:
    shown = inspect.signature(method).parameters
    assert set(shown) >= set(declared.__annotations__)
    assert not any(each.kind is each.VAR_KEYWORD for each in shown.values())
    assert shown[default[0]].default == default[1]
    assert all(each.annotation is not each.empty for name, each in shown.items() if name != "self")
    if method is not Products.list:
        _, _, options = (inspect.getdoc(method) or "").partition("\nOptions:\n")
        said = dict(line.split(": ", 1) for line in options.splitlines() if ": " in line)
        assert set(said) == set(declared.__annotations__)
        assert all(re.fullmatch(r"[A-Z`].{10,}[.`]", text) for text in said.values())


@pytest.mark.parametrize(
    ("shown", "accepted"),
    [
        (inspect.signature(AudienceUser).parameters["email"], str | int | Iterable[str | int] | None),
        (
            inspect.signature(Operation).parameters["operation_type"],
            OperationType | Literal["update", "delete"],
        ),
        (inspect.signature(PostMedia).parameters["media_ids"], str | int | Sequence[str | int]),
        (inspect.signature(PostDraft).parameters["media"], PostMedia | Mapping[str, Any] | Unset),
        (inspect.signature(Product).parameters["title"], str),
        (inspect.signature(Config).parameters["rate_limits"], Mapping[str, Sequence[float]]),
        (inspect.signature(Accounts.list).parameters["account_ids"], str | int | Sequence[str | int]),
        (inspect.signature(Post).parameters["edit_history_tweet_ids"], tuple[str, ...]),
    ],
    ids=str,
)
def test_a_signature_shows_what_callers_may_pass_and_of_answers_what_they_hold(
    shown: inspect.Parameter, accepted: object
) -> None:
    assert shown.annotation == accepted
