"""The names by which columns of people, or keys of objects, are recognised.

Names are compared without case, accents, blanks and punctuation. A name stands for an identifier
kind if it is the specification's name or a listed one. It may have a number (`email2`, `E-mail 2
Address`), a plural (`emails`) and a word for hashing (`email_sha256`, `hashed_phone`); names of
e-mail addresses and phone numbers may have words that say which one it is (`work email`, `Phone -
Mobile`). docs/inputs.md prints the lists.

A name that means something else elsewhere is in no list: `Username` is the name that people log in
with at a shop, `ad_id` the id of an advertisement, and `customer_id`, `user_id` and `id` are those
of somebody else's database.
"""

import functools
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Final

from socialapi.bulk.inputs.columns import MAX_NAME_LENGTH, OVERRIDES
from socialapi.models.audiences import IdentifierKind

REGION: Final = "region"
"""What the country of a row is called in a mapping of columns: the region of its phone numbers."""

NAMES: Final[Mapping[IdentifierKind, tuple[str, ...]]] = {
    "email": (
        *("email", "e-mail", "mail", "email address", "e-mail address", "mail address", "email addr", "email id"),
        *("additional email addresses", "hs additional emails", "user email"),
        *("E-Mail-Adresse", "Mailadresse", "Emailadresse"),
        *("adresse e-mail", "adresse mail", "adresse email", "courriel", "adresse courriel", "mél"),
        *("adresse électronique", "courrier électronique"),
        *(
            "correo",
            "correo electrónico",
            "dirección de correo",
            "dirección de correo electrónico",
            "dirección de email",
        ),
        *(
            "indirizzo email",
            "indirizzo e-mail",
            "indirizzo mail",
            "posta elettronica",
            "indirizzo di posta elettronica",
        ),
        *("correio eletrónico", "correio eletrônico", "endereço de email", "endereço de e-mail", "endereço eletrónico"),
        *("e-mailadres", "mailadres", "emailadres"),
        *("adres e-mail", "adres email", "adres mailowy", "poczta elektroniczna"),
        *("メール", "メールアドレス", "Eメール", "Eメールアドレス", "電子メール", "電子メールアドレス"),
    ),
    "device_id": (
        *("device id", "device identifier", "mobile device id", "idfa", "gaid", "aaid", "adid", "ifa", "rdid"),
        *("maid", "madid", "mobile ad id", "mobile advertising id", "mobile advertiser id", "advertising id"),
        *("advertising identifier", "device advertising id", "apple advertising id", "google advertising id"),
        *("android advertising id", "android id", "gps adid", "google ad id", "google aid", "apple idfa", "ios idfa"),
    ),
    "handle": (
        *("handle", "user handle", "screen name", "user screen name"),
        *(
            "twitter",
            "twitter handle",
            "twitter username",
            "twitter user name",
            "twitter screen name",
            "twitter account",
        ),
        *("twitter profile", "twitter url", "twitter profile url", "x handle", "x username", "x user name"),
    ),
    "service_id": (
        *("service id", "service user id", "user service id", "platform user id", "user id on platform"),
        *("user id on service", "twitter id", "twitter user id", "x user id"),
    ),
    "phone_number": (
        *(
            "phone number",
            "phone",
            "phone no",
            "phone num",
            "telephone",
            "telephone number",
            "tel",
            "tel no",
            "tel number",
        ),
        *("mobile", "mobile number", "mobile no", "mobile phone", "mobile phone number", "mobile telephone number"),
        *("mobile telephone", "msisdn", "e164", "sms number", "sms phone number", "whatsapp", "whatsapp number"),
        *("whatsapp phone number", "landline", "landline number", "urn tel"),
        *("cell", "cell number", "cell phone", "cell phone number", "cellular"),
        *("Handy", "Handynummer", "Handynr", "Mobil", "Mobilnummer", "Mobilnr", "Mobiltelefon", "Mobiltelefonnummer"),
        *("Mobilfunk", "Mobilfunknummer", "Mobilfunknr", "Telefon", "Telefonnummer", "Telefonnr", "Telnr", "Rufnummer"),
        *("Festnetz", "Festnetznummer"),
        *(
            "téléphone",
            "tél",
            "numéro de téléphone",
            "n° de téléphone",
            "no de téléphone",
            "portable",
            "numéro de portable",
        ),
        *("téléphone portable", "téléphone mobile", "numéro de mobile", "téléphone fixe", "tél portable", "tél mobile"),
        *(
            "teléfono",
            "número de teléfono",
            "teléfono móvil",
            "móvil",
            "número de móvil",
            "celular",
            "número de celular",
        ),
        *("teléfono celular", "teléfono fijo"),
        *(
            "telefono",
            "numero di telefono",
            "cellulare",
            "numero di cellulare",
            "telefono cellulare",
            "numero cellulare",
        ),
        *("telefono fisso", "numero telefono"),
        *("telefone", "número de telefone", "telemóvel", "número de telemóvel", "telefone celular", "telefone fixo"),
        *(
            "telefoon",
            "telefoonnummer",
            "telefoonnr",
            "mobiel",
            "mobiel nummer",
            "mobielnummer",
            "mobiele telefoon",
            "gsm",
        ),
        *("mobiele nummer", "gsm nummer"),
        *("numer telefonu", "nr telefonu", "telefon komórkowy", "numer komórkowy", "komórka", "nr tel", "tel. kom"),
        *("電話", "電話番号", "携帯", "携帯電話", "携帯番号", "携帯電話番号"),
    ),
    "partner_user_id": (
        *("partner user id", "partner id", "partner user", "partner uid"),
        *("external partner id", "external partner user id"),
    ),
}
"""The names of each kind."""

COUNTRY_NAMES: Final = ("country", "country code", "iso country", "country iso")
"""The names of the country of a row."""

WHICH_ONE: Final = (
    *("primary", "secondary", "main", "default", "alternate", "alternative", "other", "additional", "preferred"),
    *("work", "business", "office", "company", "home", "personal", "private", "billing", "shipping", "delivery"),
    *("contact", "customer", "client", "user", "member", "subscriber", "lead", "buyer", "person", "my", "your"),
    *("default address", "daytime", "evening", "car"),
    *(
        "private",
        "privates",
        "geschäftliche",
        "geschäftliches",
        "dienstliche",
        "berufliche",
        "weitere",
        "zweite",
        "Kunden",
    ),
)
"""Words that may stand before a name of an e-mail address or a phone number."""

TYPES: Final = (
    *("primary", "secondary", "main", "other", "work", "business", "office", "home", "personal", "private", "mobile"),
    *("landline", "billing", "shipping"),
    *("privat", "geschäftlich", "dienstlich", "Arbeit", "beruflich", "Büro", "mobil", "Kunde"),
    *("personnel", "professionnel", "domicile", "bureau", "travail", "client", "principal"),
    *("particular", "profesional", "trabajo", "casa", "oficina", "cliente"),
    *("personale", "aziendale", "lavoro", "ufficio", "principale"),
    *("pessoal", "comercial", "residencial", "trabalho"),
    *("privé", "zakelijk", "werk", "thuis", "mobiel"),
    *("prywatny", "służbowy", "domowy", "komórkowy"),
)
"""Words that may stand after such a name."""

MEANS_OTHER: Final = ("ad id", "company main phone")
"""Names that mean something else than those which they resemble: an advertisement's id, and the
number of a company.
"""

_OVERRIDE_NAMES: Final = {name.replace("_", ""): name for name in OVERRIDES}
# `value` is how address books name the column beside a type: `E-mail 1 - Value`.
_FORM_BEFORE: Final = re.compile("^(?:sha256|hashed|hash)(?:of)?")
_FORM_AFTER: Final = re.compile("[0-9]*(?:sha256|hashed|hash|e164|value)+[0-9]*$")
_CUSTOM_FIELD: Final = re.compile("__p?c$")
"""What Salesforce puts after the name of a field that its user has added."""
_DIGITS: Final = re.compile("[0-9]+")
_NO_WORD: Final = re.compile(r"[\W_]+")
_MOST_WORDS: Final = 3
_NAMES_KEPT: Final = 1_024


def detected_as(name: str) -> str:
    """Returns what a column of this name holds, as far as the name says: a kind, an override,
    `region`, or an empty text for none of these.
    """
    return _detected_as(name) if len(name) <= MAX_NAME_LENGTH else ""


@functools.lru_cache(_NAMES_KEPT)
def _detected_as(name: str) -> str:
    words = _NO_WORD.sub(" ", _folded(_CUSTOM_FIELD.sub("", name.strip()))).strip()
    text = words.replace(" ", "")
    if text in _OVERRIDE_NAMES:
        return _OVERRIDE_NAMES[text]
    if words in MEANS_OTHER:
        return ""
    by_name = _by_name()
    bare = _FORM_AFTER.sub("", _FORM_BEFORE.sub("", text))
    stems = (text, bare, _DIGITS.sub("", bare))
    forms = dict.fromkeys(form for stem in stems for form in (stem, stem.removesuffix("s"), stem.removesuffix("es")))
    for form in forms:
        if form in by_name:
            return by_name[form]
    reachable = _reachable()
    for form in filter(reachable.search, forms):
        for core in _without_words(form, _MOST_WORDS):
            if by_name.get(core) in ("email", "phone_number"):
                return by_name[core]
    return ""


def _without_words(text: str, most: int) -> Iterator[str]:
    """Yields a name without words that say which one it is."""
    before, after = _which_one()
    for rest in (
        *(text[len(word) :] for word in before if text.startswith(word)),
        *(text[: -len(word)] for word in after if text.endswith(word)),
    ):
        yield rest
        if most > 1:
            yield from _without_words(rest, most - 1)


def folded(name: str) -> str:
    """Returns a name without case, accents, blanks and punctuation."""
    return _NO_WORD.sub("", _folded(name))


def _folded(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name.replace("\u0142", "l").replace("\u0141", "L"))
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).casefold()


@functools.cache
def _by_name() -> Mapping[str, str]:
    found: dict[str, str] = {folded(name): kind for kind, names in NAMES.items() for name in names}
    return found | {folded(name): REGION for name in COUNTRY_NAMES}


@functools.cache
def _which_one() -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(dict.fromkeys(map(folded, WHICH_ONE))), tuple(dict.fromkeys(map(folded, TYPES)))


@functools.cache
def _reachable() -> re.Pattern[str]:
    """What finds a name of an e-mail address or a phone number within a name."""
    return re.compile("|".join(folded(name) for kind in ("email", "phone_number") for name in NAMES[kind]))
