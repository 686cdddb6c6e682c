"""Detects identifier columns of a table, or keys of an object, by their names.

Names are compared without case, blanks, `_`, `-` and `.`. A name stands for an identifier kind if
it is the specification's name or a listed synonym. It may have a number (`email2`, `Phone 2`), a
plural (`emails`), a word for hashing (`email_sha256`, `hashed_phone`) and, for e-mail addresses and
phone numbers, a word that says which one it is (`work email`). Other names are ignored. Names that
identify a customer elsewhere (`customer_id`, `customer`, `id`, `user_id`) are never identifiers.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, Literal, Self

import attrs

from socialapi.errors import InvalidInput
from socialapi.models.audiences import (
    IDENTIFIER_KINDS,
    AudienceUser,
    DoNotReachOperation,
    DoNotReachUser,
    IdentifierKind,
    Operation,
)
from socialapi.unset import UNSET

ColumnMapping = Mapping[str, str | Sequence[str]]
Override = Literal["operation_type", "effective_at", "expires_at"]

OVERRIDES: Final[tuple[Override, ...]] = ("operation_type", "effective_at", "expires_at")

WHICH_ONE: Final = (
    *("primary", "secondary", "main", "default", "alternate", "alternative", "other"),
    *("work", "business", "office", "company", "home", "personal", "private", "billing", "shipping"),
    *("contact", "customer", "client", "user", "member", "subscriber", "lead", "buyer", "my"),
)
"""Words that may stand before a name of an e-mail address or a phone number."""

SYNONYMS: Final[Mapping[IdentifierKind, tuple[str, ...]]] = {
    "email": ("email", "mail", "emailaddress", "mailaddress", "emailaddr", "emailid", "useremail"),
    "device_id": (
        *("deviceid", "deviceidentifier", "mobiledeviceid", "idfa", "gaid", "aaid", "adid", "ifa", "rdid"),
        *("maid", "madid", "mobileadid", "mobileadvertisingid", "advertisingid", "advertisingidentifier"),
        *("appleadvertisingid", "googleadvertisingid", "androidadvertisingid", "androidid"),
    ),
    "handle": (
        *("handle", "userhandle", "socialhandle", "username", "screenname", "userscreenname"),
        *("twitter", "twitterhandle", "twitterusername", "twitterscreenname", "xhandle", "xusername"),
    ),
    "service_id": (
        *("serviceid", "serviceuserid", "userserviceid", "platformuserid", "useridonplatform"),
        *("useridonservice", "twitterid", "twitteruserid", "xuserid"),
    ),
    "phone_number": (
        *("phonenumber", "phone", "phoneno", "phonenum", "telephone", "telephonenumber", "tel", "telno", "telnumber"),
        *("mobile", "mobilenumber", "mobileno", "mobilephone", "mobilephonenumber", "msisdn", "e164", "smsnumber"),
        *("cell", "cellnumber", "cellphone", "cellphonenumber", "cellular"),
    ),
    "partner_user_id": (
        *("partneruserid", "partnerid", "partneruser", "partneruid"),
        *("externalpartnerid", "externalpartneruserid"),
    ),
}
"""The names of each kind, in lower case and without blanks, `_`, `-` and `.`."""


@attrs.frozen
class IdentifierLayout:
    """Which columns of a block hold identifiers and overrides, by their indexes in the block.

    `identifiers` are (index, name, kind) triples in the order of the kinds. The overrides are None
    if there is no such column.
    """

    positions: tuple[int, ...]
    identifiers: tuple[tuple[int, str, IdentifierKind], ...]
    operation_type: int | None = None
    effective_at: int | None = None
    expires_at: int | None = None
    roles: frozenset[tuple[str, str]] = frozenset()

    @property
    def has_overrides(self) -> bool:
        """Whether a row can say for itself what is done with it, or when."""
        return not self.operation_type is self.effective_at is self.expires_at is None

    @classmethod
    def of(cls, names: Sequence[str], found: Mapping[str, Sequence[int]]) -> Self:
        """The layout of a table with these names, of which those at the positions found are of
        interest, by key.
        """
        wanted = [(key, at) for key, positions in found.items() for at in positions]
        positions = tuple(dict.fromkeys(at for _, at in wanted))
        indexes = {at: index for index, at in enumerate(positions)}
        overrides = {override: next((indexes[at] for at in found[override]), None) for override in OVERRIDES}
        identifiers = tuple((indexes[at], names[at], kind) for kind in IDENTIFIER_KINDS for at in found.get(kind, ()))
        return cls(positions, identifiers, **overrides, roles=frozenset((names[at], key) for key, at in wanted))


@attrs.define(repr=False)
class BundledUser:
    """A user of an operation, with the values of each kind, and what the operation says."""

    operation_type: Any
    effective_at: Any
    expires_at: Any
    email: Sequence[Any] = ()
    device_id: Sequence[Any] = ()
    handle: Sequence[Any] = ()
    service_id: Sequence[Any] = ()
    phone_number: Sequence[Any] = ()
    partner_user_id: Sequence[Any] = ()


MAX_NAMES_KEPT: Final = 1_000
"""How many names of columns are noted: objects may have ever new ones."""
MAX_NAME_LENGTH: Final = 256
"""Of a name that is looked at: the search for numbers and words in it takes the square of its
length.
"""
_LONGEST_SHOWN: Final = 60


@attrs.frozen
class IdentifierColumns:
    """The columns to look for: kinds to detect, and names that were given for a kind or an
    override.

    `noted` are the names that were met, each with what it was taken for (empty for nothing).
    """

    kinds: tuple[IdentifierKind, ...]
    given: Mapping[str, tuple[str, ...]]
    noted: dict[str, str] = attrs.field(factory=dict, eq=False, repr=False)

    noun: ClassVar[str] = "records"
    items: ClassVar[str] = "AudienceUser or Operation"
    instead_of_paths: ClassVar[str] = (
        "identifiers are given as records, for example [AudienceUser(email=…)] or [{'email': …}]"
    )
    why_no_xml: ClassVar[str | None] = (
        "this is XML, which is read as a feed of products: give people as CSV, JSON Lines or Parquet"
    )
    models: ClassVar[tuple[type, ...]] = (AudienceUser, DoNotReachUser, BundledUser)
    bundles: ClassVar[tuple[type, ...]] = (Operation, DoNotReachOperation)

    @classmethod
    def of(cls, mapping: ColumnMapping | None, kinds: Iterable[IdentifierKind]) -> Self:
        """Checks a mapping. Raises InvalidInput for a key that is neither one of `kinds` nor an
        override.
        """
        taken = tuple(kind for kind in IDENTIFIER_KINDS if kind in frozenset(kinds))
        given: dict[str, tuple[str, ...]] = {}
        for key, names in (mapping or {}).items():
            if key not in taken and key not in OVERRIDES:
                raise InvalidInput(
                    f"{quoted(key)} is not a kind of identifier taken here; these are: "
                    f"{', '.join((*taken, *OVERRIDES))} (a column is given as kind and name, not the other way round)"
                )
            given[key] = tuple(n for n in ((names,) if isinstance(names, str) else tuple(names)) if n)
            if key in OVERRIDES and len(given[key]) > 1:
                raise InvalidInput(f"{key} comes from one column, and {len(given[key])} are given")
        return cls(taken, given)

    def of_table(self, names: Sequence[str], line: int | None = None) -> IdentifierLayout:
        """As `of_keys`. Raises InvalidInput also when a given column is missing, or no column holds
        identifiers.
        """
        layout = self.of_keys(names)
        self._require(names, found_identifiers=bool(layout.identifiers))
        return layout

    def of_keys(self, names: Sequence[str]) -> IdentifierLayout:
        """The columns among these names. Raises InvalidInput when two are equally good for an
        override.
        """
        found = self._find(names)
        for override in OVERRIDES:
            if len(found[override]) > 1:
                option = f'columns={{"{override}": "<column>"}}'
                raise InvalidInput(f"{len(found[override])} columns are called {override}: choose one with {option}")
        self._note(names, found)
        return IdentifierLayout.of(names, found)

    def role_of(self, name: str) -> str:
        """The kind or override for which a name is taken where there is no other."""
        return next((key for key, positions in self._find((name,)).items() if positions), "")

    def knows_any(self, names: Sequence[str]) -> bool:
        """Whether some of these names are of interest."""
        return any(self._find(names).values())

    def _find(self, names: Sequence[str]) -> dict[str, list[int]]:
        """The positions of the columns of each kind and override."""
        found: dict[str, list[int]] = {key: [] for key in (*self.kinds, *OVERRIDES)}
        claimed: set[int] = set()
        for key, given in self.given.items():
            found[key] = positions_of(given, names)
            claimed.update(found[key])
        for position, name in enumerate(names):
            key = detected_as(name)
            if key in found and key not in self.given and position not in claimed:
                found[key].append(position)
        return found

    def check_keys(self, names: Collection[str]) -> None:
        """Raises InvalidInput when a given column is not among the names of the first objects, or
        no identifiers are.
        """
        detected = {detected_as(name) for name in names} - self.given.keys()
        has_identifiers = any(kind in detected or self.given.get(kind) for kind in self.kinds)
        self._require(tuple(names), found_identifiers=has_identifiers)

    def _note(self, names: Sequence[str], found: Mapping[str, Sequence[int]]) -> None:
        taken = {names[at]: key for key, positions in found.items() for at in positions}
        for name in names:
            known = noted_as(name)
            if known in self.noted or len(self.noted) < MAX_NAMES_KEPT:
                self.noted[known] = taken.get(name, "")

    def _require(self, names: Sequence[str], *, found_identifiers: bool) -> None:
        for key, wanted in self.given.items():
            for each in wanted:
                if not positions_of((each,), names):
                    raise InvalidInput(
                        f"there is no column {quoted(each)} for {key}; there are: {printable_names(names)}"
                    )
        if found_identifiers:
            return
        if any(map(looks_personal, names)):
            raise InvalidInput(
                "no column of identifiers was found, and the names look like data: the first line of a table has to "
                f"name its columns, for example {self.kinds[0]}"
            )
        raise InvalidInput(
            f"no column of identifiers was found; there are: {printable_names(names)}. Say which column it is with "
            'columns={"email": "<column>"} or --column email=<column>; '
            f"the kinds are: {', '.join(self.kinds)}"
        )

    def ignored_columns(self) -> Sequence[str]:
        """The names that were met and taken for nothing."""
        return ignored_names(self.noted)

    def of_models(self, items: Sequence[Any]) -> tuple[IdentifierLayout, Sequence[Sequence[Any]]]:
        """The layout and columns of users, which have all kinds, also those that are not taken
        here.
        """
        columns = dict[str, Sequence[Any]]()
        for kind in IDENTIFIER_KINDS:
            values: list[Sequence[Any]] = [getattr(user, kind, ()) for user in items]
            if any(values):
                columns[kind] = [value[0] if len(value) == 1 else value or None for value in values]
        for override in OVERRIDES:
            said = [getattr(user, override, None) for user in items]
            if any(each is not None for each in said):
                columns[override] = said
        found: dict[str, Sequence[int]] = {name: (at,) for at, name in enumerate(columns)}
        found |= {override: () for override in OVERRIDES if override not in columns}
        return IdentifierLayout.of(tuple(columns), found), tuple(columns.values())

    def unbundled(self, bundle: Any) -> Iterator[Any]:
        """The users of an operation. One on nobody is a row all the same: every item that is read
        has an outcome.
        """
        params = bundle.params
        said = (bundle.operation_type, getattr(params, "effective_at", None), params.expires_at)
        operation_type, effective_at, expires_at = (None if each is UNSET else each for each in said)
        for user in params.users or (AudienceUser(),):
            if isinstance(user, Mapping):
                yield BundledUser(operation_type, effective_at, expires_at, **self._identifiers_of(user))
            elif isinstance(user, AudienceUser | DoNotReachUser):
                values = {kind: getattr(user, kind) for kind in IDENTIFIER_KINDS if hasattr(user, kind)}
                yield BundledUser(operation_type, effective_at, expires_at, **values)
            else:
                yield user  # which is refused as any item of its class is

    def _identifiers_of(self, user: Mapping[Any, Any]) -> Mapping[str, Sequence[Any]]:
        names = tuple(name for name in user if isinstance(name, str))
        found: dict[str, list[Any]] = {}
        for _, name, kind in self.of_keys(names).identifiers:
            value = user[name]
            found.setdefault(kind, []).extend(value if isinstance(value, list | tuple) else (value,))
        return found

    def why_not(self, item: object) -> str:
        """What is said of an item that is no row."""
        kind = with_article(type(item).__name__)
        return f"is or holds {kind}, where an AudienceUser, an Operation or a mapping is expected"


_SEPARATORS: Final = re.compile(r"[\s_.\-\ufeff\u200b]+")
_FORM_BEFORE: Final = re.compile("^(?:sha256|hashed|hash)(?:of)?")
# `value` is how address books name the column beside a type: `E-mail 1 - Value`.
_FORM_AFTER: Final = re.compile("[0-9]*(?:sha256|hashed|hash|e164|value)+[0-9]*$")
_NUMBER_AFTER: Final = re.compile("[0-9]+$")

_BY_NAME: Final[Mapping[str, IdentifierKind]] = {
    **{word + name: kind for kind in ("email", "phone_number") for word in WHICH_ONE for name in SYNONYMS[kind]},
    **{name: kind for kind, names in SYNONYMS.items() for name in names},
}
_OVERRIDE_NAMES: Final[Mapping[str, Override]] = {name.replace("_", ""): name for name in OVERRIDES}


def detected_as(name: str) -> str:
    """What a column of this name holds, as far as the name says: a kind, an override or, for
    neither, an empty text.
    """
    if len(name) > MAX_NAME_LENGTH:
        return ""
    text = _squeezed(name)
    if text in _OVERRIDE_NAMES:
        return _OVERRIDE_NAMES[text]
    bare = _FORM_AFTER.sub("", _FORM_BEFORE.sub("", text))
    for stem in (text, bare, _NUMBER_AFTER.sub("", bare)):
        for form in (stem, stem.removesuffix("s"), stem.removesuffix("es")):
            if (kind := _BY_NAME.get(form)) is not None:
                return kind
    return ""


def _squeezed(name: str) -> str:
    return _SEPARATORS.sub("", name).casefold()


def positions_of(wanted: Iterable[str], names: Sequence[str]) -> list[int]:
    """Where the wanted names stand; a name written exactly so is preferred to one that only
    compares equal.
    """
    found: list[int] = []
    for each in wanted:
        exact = [position for position, name in enumerate(names) if name == each]
        found += exact or [position for position, name in enumerate(names) if _squeezed(name) == _squeezed(each)]
    return found


def looks_personal(name: str) -> bool:
    """Whether it may be a value rather than a name: then it must not get into a message."""
    return len(name) > _LONGEST_SHOWN or "@" in name or sum(map(str.isdigit, name)) > 5


def noted_as(name: str) -> str:
    """What is kept of a name that was met: of one that no report shows, no more than tells that it
    does not.
    """
    return name if len(name) <= _LONGEST_SHOWN else name[: _LONGEST_SHOWN + 1]


def ignored_names(noted: Mapping[str, str]) -> tuple[str, ...]:
    """The names that were taken for nothing, for a report."""
    return tuple(dict.fromkeys(shown_name(name) for name, taken_for in noted.items() if not taken_for))


def shown_name(name: str) -> str:
    """A name for a report; what may be data is not shown."""
    return "<hidden>" if looks_personal(name) else printable(name)


def with_article(noun: str) -> str:
    """The noun for a message, behind `a` or `an`."""
    return f"{'an' if noun[0] in 'aeiouAEIOU' else 'a'} {noun}"


def quoted(name: object) -> str:
    """A name for a message; what may be data is not shown."""
    text = str(name)
    return "<hidden>" if looks_personal(text) else f'"{printable(text)}"'


def printable(text: str) -> str:
    """The text for a message, with a question mark for each letter that cannot be shown."""
    return text if text.isprintable() else "".join(letter if letter.isprintable() else "?" for letter in text)


def printable_names(names: Sequence[str]) -> str:
    """The names for a message, in quotes; what may be data is shown as a position."""
    listed = [f"(column {at})" if looks_personal(n) or not n.strip() else quoted(n) for at, n in enumerate(names, 1)]
    more = len(listed) - 20
    return ", ".join(listed[:20]) + (f" and {more} more" if more > 0 else "") if listed else "none"
