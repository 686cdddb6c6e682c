"""Detects identifier columns of a table, or keys of an object, by their names.

Names are compared without case, blanks, `_`, `-` and `.`. A name stands for an identifier kind if
it is the specification's name or a listed synonym. It may have a number (`email2`, `Phone 2`), a
plural (`emails`), a word for hashing (`email_sha256`, `hashed_phone`) and, for e-mail addresses and
phone numbers, a word that says which one it is (`work email`). Other names are ignored. Names that
identify a customer elsewhere (`customer_id`, `customer`, `id`, `user_id`) are never identifiers.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, Self

import attrs

from socialapi.errors import InvalidInput
from socialapi.models.audiences import IDENTIFIER_KINDS, IdentifierKind

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
class Columns:
    """The positions of columns in the list of names that was searched.

    `identifiers` are (position, name, kind) triples in the order of the kinds. The overrides are
    None if there is no such column.
    """

    identifiers: tuple[tuple[int, str, IdentifierKind], ...]
    operation_type: int | None = None
    effective_at: int | None = None
    expires_at: int | None = None

    @property
    def overrides(self) -> tuple[int | None, int | None, int | None]:
        """The positions in the order of `OVERRIDES`."""
        return self.operation_type, self.effective_at, self.expires_at

    @property
    def has_overrides(self) -> bool:
        """Whether a row can say for itself what is done with it, or when."""
        return any(position is not None for position in self.overrides)


@attrs.frozen
class Wanted:
    """The columns to look for: kinds to detect, and names that were given for a kind or an
    override.
    """

    kinds: tuple[IdentifierKind, ...]
    given: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, mapping: ColumnMapping | None, kinds: Iterable[IdentifierKind]) -> Self:
        """Checks a mapping. Raises InvalidInput for a key that is neither one of `kinds` nor an override."""
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

    def find(self, names: Sequence[str]) -> Columns:
        """The columns among these names, without complaint about what is missing.

        Raises InvalidInput when two columns are equally good for an override.
        """
        found: dict[str, list[int]] = {key: [] for key in (*self.kinds, *OVERRIDES)}
        claimed: set[int] = set()
        for key, given in self.given.items():
            found[key] = _positions(given, names)
            claimed.update(found[key])
        for position, name in enumerate(names):
            key = detected_as(name)
            if key in found and key not in self.given and position not in claimed:
                found[key].append(position)
        for override in OVERRIDES:
            if len(found[override]) > 1:
                option = f'columns={{"{override}": "<column>"}}'
                raise InvalidInput(f"{len(found[override])} columns are called {override}: choose one with {option}")
        return Columns(
            tuple((position, names[position], kind) for kind in self.kinds for position in found[kind]),
            *(next(iter(found[override]), None) for override in OVERRIDES),
        )

    def require(self, names: Sequence[str], *, found_identifiers: bool) -> None:
        """Raises InvalidInput when a given column is not among the names, or no column holds identifiers."""
        for key, wanted in self.given.items():
            for each in wanted:
                if not _positions((each,), names):
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
    """What a column of this name holds, as far as the name says: a kind, an override or, for neither, an empty text."""
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


def _positions(wanted: Iterable[str], names: Sequence[str]) -> list[int]:
    """Where the wanted names stand; a name written exactly so is preferred to one that only compares equal."""
    found: list[int] = []
    for each in wanted:
        exact = [position for position, name in enumerate(names) if name == each]
        found += exact or [position for position, name in enumerate(names) if _squeezed(name) == _squeezed(each)]
    return found


def looks_personal(name: str) -> bool:
    """Whether it may be a value rather than a name: then it must not get into a message."""
    return "@" in name or len(name) > 60 or sum(map(str.isdigit, name)) > 5


def quoted(name: object) -> str:
    """A name for a message; what may be data is not shown."""
    text = str(name)
    return "<hidden>" if looks_personal(text) else f'"{text.encode("utf-8", "replace").decode()}"'


def printable_names(names: Sequence[str]) -> str:
    """The names for a message, in quotes; what may be data is shown as a position."""
    listed = [f"(column {at})" if looks_personal(n) or not n.strip() else quoted(n) for at, n in enumerate(names, 1)]
    more = len(listed) - 20
    return ", ".join(listed[:20]) + (f" and {more} more" if more > 0 else "") if listed else "none"
