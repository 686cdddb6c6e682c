"""Reads the options of a write from Spark, once on the driver for all tasks."""

import contextlib
import datetime
import re
import secrets
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeVar

import attrs

from socialapi.bulk.audiences.columns import IdentifierColumns
from socialapi.bulk.audiences.job import UploadOptions
from socialapi.bulk.audiences.prepare import Preparer
from socialapi.bulk.inputs.columns import ColumnMapping, quoted
from socialapi.bulk.job import JobOptions
from socialapi.bulk.products.feed import ProductColumns
from socialapi.errors import InvalidInput
from socialapi.internal.records import FrozenRecord
from socialapi.models.audiences import (
    DEFAULT_EXPIRY_MONTHS,
    DO_NOT_REACH_KINDS,
    IDENTIFIER_KINDS,
    IdentifierKind,
    months_later,
)
from socialapi.models.spelling import near_name
from socialapi.models.validation import Faults, format_timestamp

DestinationKind = Literal["audience", "do_not_reach_list", "catalog"]

REDUCED_BY: Final = "socialapi_reduced_by"
"""The column that `latest_per_identifier` and `latest_per_product` add. It tells the write that no identifier or
product occurs more than once.
"""

_COMMON: Final = (
    *("report", "rejects", "max_reject_share", "order_by", "concurrency", "dry_run"),
    *("job", "redis_url", "redis_namespace"),
)
_OF_PEOPLE: Final = (
    *("account", "operation", "expires_at", "packing", "default_region", "phone_format", "require_hashed"),
    *_COMMON,
)
_TAKEN: Final[Mapping[DestinationKind, tuple[str, ...]]] = {
    "audience": ("audience", *_OF_PEOPLE, "effective_at"),
    "do_not_reach_list": ("do_not_reach_list", *_OF_PEOPLE),
    "catalog": ("catalog", *_COMMON),
}
_OF_JOBS: Final = ("packing", "default_region", "phone_format", "effective_at", "expires_at")
_COLUMN: Final = "column."
_NOUNS: Final[Mapping[DestinationKind, str]] = {
    "audience": "custom audience",
    "do_not_reach_list": "do-not-reach list",
    "catalog": "catalog",
}
_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class WriteSettings(FrozenRecord):
    """The settings of one write, the same for all its tasks. They contain no secret."""

    write: str
    """The id of this write."""
    started_at: str
    kind: DestinationKind
    account: str
    """The account id; empty for a catalog."""
    target: str
    """The id of the audience, list or catalog."""
    keywords: Mapping[str, Any]
    """The arguments of `upload` or `upsert`."""
    job: str
    """The name of the fence. A write stops the remaining tasks of an earlier write with the same name."""
    report: str | None = None
    rejects: str | None = None
    max_reject_share: float | None = None
    redis_url: str = ""
    redis_namespace: str = ""
    id_columns: tuple[str, ...] = ()
    """The columns with product ids, if an id must not be repeated within a partition; otherwise empty."""

    @property
    def is_dry(self) -> bool:
        """Whether the write is a dry run, which sends nothing."""
        return bool(self.keywords.get("dry_run"))

    @property
    def title(self) -> str:
        """The id and target of the write, for messages."""
        return f"write {self.write} to {_NOUNS[self.kind]} {self.target}"

    def to_dict(self) -> dict[str, Any]:
        """Returns the settings for the summary."""
        times = {name: self.keywords.get(name) for name in ("operation", "effective_at", "expires_at")}
        return {
            "write": self.write,
            "job": self.job,
            "started_at": self.started_at,
            self.kind: self.target,
            **({"account": self.account} if self.account else {}),
            **({} if self.kind == "catalog" else times),
        }


def read_settings(
    options: Mapping[str, str], names: Sequence[str], *, now: datetime.datetime, overwrite: bool = False
) -> WriteSettings:
    """Returns the settings for writing a table with these column names. `now` is the start time of the write.

    Raises InvalidInput, with advice on what to do, if the table cannot be written with these options.
    """
    if overwrite:
        raise InvalidInput('rows can only be added, not replaced: write with mode("append")')
    options = {name.lower(): text for name, text in options.items()}
    found = [kind for kind in _TAKEN if options.get(kind, "").strip()]
    if len(found) != 1:
        raise InvalidInput(
            "set the target with one of the options audience, do_not_reach_list (both with account) or catalog"
        )
    if found[0] != "catalog" and not options.get("account", "").strip():
        raise InvalidInput(
            f"the option account is missing: set it to the id of the account that owns the {_NOUNS[found[0]]}"
        )
    kind = found[0]
    columns = _columns_of(options, names)
    _refuse_unknown(options, kind)
    _refuse_password(options.get("redis_url", ""))
    keywords = _keywords_of(options, kind, columns, now)
    share = _number(options, "max_reject_share", float)
    Faults(JobOptions(concurrency=keywords.get("concurrency", "auto"), max_reject_share=share).problems()).refuse()
    is_reduced = _is_reduced(options, names)
    id_columns: tuple[str, ...] = ()
    if kind == "catalog":
        id_columns = () if is_reduced else id_columns_of(columns, names)
    else:
        _check_people(kind, keywords, names, now, is_reduced=is_reduced)
    account = options.get("account", "")
    return WriteSettings(
        write=f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}",
        started_at=format_timestamp(now.replace(microsecond=0)),
        kind=kind,
        account=account,
        target=options[kind],
        keywords=keywords,
        job=options.get("job", "") or f"{kind} {account} {options[kind]}",
        report=_folder(options, "report"),
        rejects=_folder(options, "rejects"),
        max_reject_share=share,
        redis_url=options.get("redis_url", "").strip(),
        redis_namespace=options.get("redis_namespace", ""),
        id_columns=id_columns,
    )


def id_columns_of(columns: ColumnMapping | None, names: Sequence[str]) -> tuple[str, ...]:
    """Returns the names of the columns with product ids. Raises InvalidInput if a required column is missing."""
    layout = ProductColumns.of(columns).of_table(names)
    return tuple(column.name for column in layout.columns if column.field == "id")


def _refuse_unknown(options: Mapping[str, str], kind: DestinationKind) -> None:
    taken = _TAKEN[kind]
    unknown = [name for name in options if name not in taken and not name.startswith(_COLUMN)]
    if not unknown:
        return
    guesses = [(name, near_name(name, taken)) for name in unknown]
    hints = "".join(f"; did you mean {near} instead of {name}?" for name, near in guesses if near)
    raise InvalidInput(
        f"there is no option {' or '.join(sorted(unknown))} for a {_NOUNS[kind]}{hints} (there are: "
        f"{', '.join(taken)}, and column.KIND for each column; configuration and credentials come from the SOCIALAPI_* "
        "variables of the executors)"
    )


def _refuse_password(redis_url: str) -> None:
    try:
        parts = urllib.parse.urlsplit(redis_url)
        has_secret = bool(parts.password or parts.username or "password" in parts.query)
    except ValueError:
        has_secret = True
    if has_secret:
        raise InvalidInput(
            "redis_url contains credentials, and Spark displays its options: set SOCIALAPI_REDIS_URL in the environment of the "
            "executors instead"
        )


def _columns_of(options: Mapping[str, str], names: Sequence[str]) -> dict[str, list[str]] | None:
    found = {
        name.removeprefix(_COLUMN): [text]
        if text in names
        else [each.strip() for each in text.split(",") if each.strip()]
        for name, text in options.items()
        if name.startswith(_COLUMN)
    }
    return found or None


def _keywords_of(
    options: Mapping[str, str], kind: DestinationKind, columns: ColumnMapping | None, now: datetime.datetime
) -> dict[str, Any]:
    keywords: dict[str, Any] = {"columns": columns} if columns else {}
    if options.get("concurrency", "auto") != "auto":
        keywords["concurrency"] = _number(options, "concurrency", int)
    if _truth(options, "dry_run"):
        keywords["dry_run"] = True
    if kind == "catalog":
        return keywords
    keywords |= {name: options[name] for name in _OF_JOBS if options.get(name)}
    if _truth(options, "require_hashed"):
        keywords["require_hashed"] = True
    # Resolved once, because tasks start at different times.
    keywords["operation"] = options.get("operation", "update").strip().capitalize()
    if kind == "do_not_reach_list" and "expires_at" not in keywords:
        ends = months_later(now, DEFAULT_EXPIRY_MONTHS).replace(microsecond=0)
        keywords["expires_at"] = format_timestamp(ends)
    return keywords


def _number(options: Mapping[str, str], name: str, read: Callable[[str], T]) -> T | None:
    text = options.get(name, "").strip()
    if not text:
        return None
    with contextlib.suppress(ValueError):
        return read(text)
    raise InvalidInput(f"the option {name} must be a number, not {quoted(text)}")


def _truth(options: Mapping[str, str], name: str) -> bool:
    text = options.get(name, "false").strip().lower()
    if text not in ("true", "false"):
        raise InvalidInput(f"the option {name} must be true or false, not {quoted(text)}")
    return text == "true"


def _folder(options: Mapping[str, str], name: str) -> str | None:
    text = options.get(name, "").strip()
    if _ADDRESS.match(text):
        raise InvalidInput(
            f"the option {name} must be the path of a folder that the driver and the executors can write to as files, "
            "such as /Volumes/…, /dbfs/… or a network drive; URLs such as s3://… or dbfs:/… are not supported"
        )
    return text or None


def _is_reduced(options: Mapping[str, str], names: Sequence[str]) -> bool:
    if "order_by" not in options:
        return False
    if REDUCED_BY not in names:
        raise InvalidInput(
            "order_by is given, but a write cannot order the rows of all partitions: reduce the DataFrame first, with "
            "latest_per_identifier(df, order_by=…) for people or latest_per_product(df, order_by=…) for products, from "
            "socialapi.integrations.spark, and write the result"
        )
    return True


def kinds_of(kind: DestinationKind) -> tuple[IdentifierKind, ...]:
    """Returns the kinds of identifiers that a destination accepts."""
    return DO_NOT_REACH_KINDS if kind == "do_not_reach_list" else IDENTIFIER_KINDS


def _check_people(
    kind: DestinationKind,
    keywords: Mapping[str, Any],
    names: Sequence[str],
    now: datetime.datetime,
    *,
    is_reduced: bool,
) -> None:
    """Raises InvalidInput for options and columns that the job would reject in every task."""
    Faults(UploadOptions(**keywords).problems()).refuse()
    takes_effective_at = kind == "audience"
    layout = IdentifierColumns.of(keywords.get("columns"), kinds_of(kind)).of_table(names)
    Preparer(
        now=now,
        operation=keywords["operation"],
        effective_at=keywords.get("effective_at"),
        expires_at=keywords.get("expires_at"),
        default_region=keywords.get("default_region"),
        phone_format=keywords.get("phone_format", "auto"),
        require_hashed=keywords.get("require_hashed", False),
        kinds=kinds_of(kind),
        allow_effective=takes_effective_at,
    )
    if layout.has_overrides and not is_reduced:
        indexes = (layout.operation_type, layout.effective_at, layout.expires_at)
        found = ", ".join(quoted(names[layout.positions[index]]) for index in indexes if index is not None)
        raise InvalidInput(
            f"the rows have separate operations or times ({found}), but rows of a DataFrame have no order, and Spark may "
            "retry a task: one write can have only one operation and one pair of times. Write each operation separately "
            "(options operation, effective_at, expires_at) and drop these columns; or reduce the DataFrame to one row per "
            "identifier with latest_per_identifier(df, order_by=…) from socialapi.integrations.spark, and give the option "
            "order_by"
        )
