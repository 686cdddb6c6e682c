"""The names of columns and object keys that contain identifiers of people, and how they are recognized.

Names are compared without case, accents, spaces and punctuation. Each kind of identifier has the names in the
specification and in the lists below. A name may be plural (`emails`), and may include a number (`email2`, `E-mail 2
Address`) and a word for hashing (`email_sha256`, `hashed_phone`). A name for an e-mail address, a phone number or a
country may also have other words before and after it: words for the type (`work email`, `Phone - Mobile`, `Billing
Country`), and words that mean address, number or code (`Adresse de courriel`, `Nr komórki`, `Código de país`).
docs/inputs-columns.md contains the lists.

A column name may combine two names of the same kind (`Celular/WhatsApp`, `Google Advertising ID (GAID)`).

Ambiguous names are not listed: `Username` may be a login name, `ad_id` may identify an advertisement, `Contact No` may
be the number of a record, and `customer_id`, `user_id` and `id` may come from any database. A region, state or province
is not a country.
"""

import functools
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from socialapi.bulk.inputs.columns import MAX_NAME_LENGTH, MOJIBAKE_MARK, OVERRIDES

REGION: Final = "region"
"""The key for the country column in a mapping of columns. A row's country is the region of its phone numbers."""
AREA_CODE: Final = "area_code"
"""The key for a column that may complete the numbers of another column: with an area code, or with a calling code."""


def _listed(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.replace("\n", ",").split(",") if name.strip())


NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "email": _listed("""
        email, e-mail, mail, additional email addresses, hs additional emails, courriel, mél, adresse électronique
        courrier électronique, adresse de messagerie, correo, correo electrónico, correo-e, dirección electrónica
        posta elettronica, indirizzo di posta, correio eletrónico, correio eletrônico, endereço eletrónico, endereço eletrônico
        poczta elektroniczna, adres poczty elektronicznej, adres mailowy, メール, Eメール, 電子メール, em, hem
    """),
    "device_id": _listed("""
        device id, device identifier, mobile device id, mobile id, idfa, gaid, aaid, adid, ifa, rdid, maid, madid, mobile ad id
        mobile advertising id, mobile advertiser id, advertising id, advertising identifier, device advertising id
        apple advertising id, apple advertising identifier, google advertising id, android advertising id, android id, android ad id, gps adid, google ad id
        google aid, apple idfa, ios idfa, idfa/gaid, gaid/idfa, idfa/aaid, aaid/idfa
    """),
    "handle": _listed("""
        handle, user handle, screen name, user screen name, twitter, twitter handle, twitter username
        twitter user name, twitter name, twitter screen name, twitter account, twitter profile, twitter url
        twitter profile url, twitter link, x handle, x username, x user name, x account, x/twitter, twitter/x
        compte twitter, cuenta de twitter, usuario de twitter, conta do twitter, nome utente twitter
    """),
    "service_id": _listed("""
        service id, service user id, user service id, platform user id, user id on platform, user id on service
        twitter id, twitter user id, x user id, x id
    """),
    "phone_number": _listed("""
        phone, telephone, tel, ph, mobile, mobile phone, mobile telephone, mob, cell, cell phone, cellular, landline
        msisdn, e164, sms number, sms, whatsapp, urn tel, callback number
        Handy, Mobil, Mobiltelefon, Mobilfunk, Telefon, Fon, Rufnummer, Festnetz, Rückrufnummer
        téléphone, portable, fixe, ligne fixe, numéro de contact
        teléfono, telf, tfno, tlf, tlfno, móvil, celular, cel, fijo, fono, contacto telefónico, número de contacto
        telefono, telefonino, cellulare, fisso, recapito telefonico, numero di contatto
        telefone, telemóvel, fone, fixo, contato telefônico, número de contato
        telefoon, mobiel, mobiele, mobiele telefoon, gsm, vast
        telefonu, komórka, komórki, komórkowy, numer kontaktowy
        電話, 携帯, 携帯電話, 連絡先番号
    """),
    "partner_user_id": _listed("""
        partner user id, partner id, partner user, partner uid, external partner id, external partner user id
    """),
    REGION: _listed("""
        country, ctry, country/region, nation, calling code, dial code, dialing code, dialling code, country calling code
        country dial code, country dialing code, country phone code, country dial, cc, phone cc, PO country, SA country, isd, isd code
        international prefix, intl prefix, international dialing code, phone number country, residing country
        Land, Ländercode, Länderkürzel, Länderkennzeichen, Länderkennung, Landeskürzel, Landeskennzeichen, LKZ, Landesvorwahl
        Ländervorwahl, Länderkz, Landescode, Wohnsitzland, internationale Vorwahl, Int. Vorwahl, Vorwahl Land
        pays, indicatif, indicatif pays, indicatif téléphonique, indicatif international, préfixe international
        país, prefijo país, prefijo internacional, nación, paese, nazione, prefisso internazionale, prefisso paese
        indicativo país, landnummer, woonland, kraj, kraju, państwo, numer kierunkowy kraju, 国, 国名, 国番号, 居住国
    """),
    AREA_CODE: _listed("""
        area code, prefix, phone prefix, mobile prefix, dial prefix, dialing prefix, phone code, STD code
        Vorwahl, Ortsvorwahl, Vorwahlnummer, Ortskennzahl, préfixe, indicatif régional, prefijo, indicativo, lada, clave lada
        prefisso, prefisso telefonico, DDD, DDI, netnummer, kengetal, kierunkowy, numer kierunkowy, 市外局番
    """),
}
"""The column names of each kind, of country columns, and of columns of area codes."""

WHICH_ONE: Final = _listed("""
    primary, secondary, main, default, alternate, alternative, other, additional, preferred, mobile, cell, sms
    work, business, office, company, home, personal, private, billing, shipping, delivery, mailing, residential
    residence, contact, customer, client, user, member, subscriber, lead, buyer, person, my, your, account, guest
    patient, student, employee, purchaser, attendee, participant, registrant, respondent, delegate, invitee, applicant, candidate
    donor, supporter, volunteer, tenant, resident, passenger, traveler, traveller, cardholder, shopper, order, booker, voter
    ship, bill, recipient, receipt, address, daytime, evening, car, callback, normalized, normalised, raw
    enter, please enter, what is, what s, please provide, wie lautet, wie ist, quelle est, quel est, cuál es, qual è, qual é, wat is
    privat, private, privates, geschäfts, geschäftliche, geschäftliches, dienst, dienstliche, berufliche, weitere
    weiteres, Haupt, zweite, Kunden, Käufer, Besteller, Teilnehmer, Empfänger, Mitglieder, Mitglieds, Bewerber, Gäste, Ihre, deine
    Firmen, Kontakt, Rechnungs, Liefer, Versand, Wohn, votre, ton, autre, tu, su, otro, la tua, il tuo, la sua, altro, seu, o seu, outro
    uw, je, klant, andere, mobiele, vaste, twój, inny
    PC, PC用, 携帯, 携帯用, 自宅, 勤務先, 会社, 連絡先, ご連絡先, 請求先, 配送先
""")
"""Words that may come before a column name for an e-mail address, a phone number or a country."""

TYPES: Final = _listed("""
    primary, secondary, main, other, work, business, office, home, personal, private, mobile, landline, billing
    shipping, residence, contact, normalized, normalised, lower, lowercase, required, optional, mandatory, raw, text only, with country code
    privat, geschäftlich, dienstlich, Arbeit, beruflich, Büro, mobil, Mobilfunk, Festnetz, Kunde, Kontakt, Rechnung, Lieferung, Pflichtfeld
    obligatoire, obligatorio
    personnel, personnelle, perso, professionnel, professionnelle, pro, domicile, bureau, travail, client, acheteur, participant, inscrit, adhérent, membre
    principal, portable, fixe, facturation
    livraison, résidence
    particular, profesional, trabajo, casa, oficina, cliente, comprador, participante, asistente, contacto, móvil, celular, fijo, facturación, envío
    residencia, personale, aziendale, lavoro, ufficio, principale, contatto, cellulare, fisso, fatturazione, spedizione
    residenza, pessoal, comercial, residencial, trabalho, contato, fixo, residência
    acquirente, partecipante, iscritto, koper, deelnemer, klant, kupującego, uczestnika
    abitazione, uff, SMS, privé, zakelijk, werk, op werk, thuis, mobiel, vast, prywatny, służbowy, służbowe, domowy, kontaktowy, komórkowy, komórkowego, kom
    stacjonarny, stacjonarnego, zamieszkania, klienta, 携帯, 自宅, 勤務先, 会社
""")
"""Words that may come after a column name for an e-mail address, a phone number or a country."""

_CONTACTS: Final = ("email", "phone_number")
_customers: Final = re.compile(
    "customer|client|buyer|purchaser|invitee|attendee|participant|registrant|guest|patient|student|booker|shopper|sender"
    "|absender|kaufer|besteller|kunden?|teilnehmer|gaste?|acheteur|comprador|acquirente|koper|klant"
)
_is_of_others: Final = re.compile("user|employee|recipient|empfanger").search
"""Finds a word for a person who may work for the owner of the list, or who only receives something from a customer."""

LINKS: Final = ("", "de", "du", "del", "do", "di", "of", "van")
"""Words that may link a name to a word before or after it."""
BEFORE: Final[Mapping[str, tuple[str, ...]]] = {
    "email": _listed("adresse, dirección, indirizzo, endereço, adres"),
    "phone_number": _listed("n, no, nr, nro, nbr, num, number, numéro, número, numero, numer, nummer"),
    REGION: _listed(
        "code, código, codice, kod, iso, region, adresse, phone, phone number, phone number details, telephone, tel, "
        "ship to, bill to, destination, physical, organization, organisation"
    ),
    AREA_CODE: _listed("phone, telephone, tel, Telefon, Mobil, Handy, Festnetz, teléfono, telefono, telefone"),
}
"""For each kind, words such as "number" or "code" that may come before its names."""
AFTER: Final[Mapping[str, tuple[str, ...]]] = {
    "email": _listed("address, addresses, addr, adresse, adressen, adres, id, アドレス"),
    "phone_number": _listed(
        "no, nr, nbr, num, number, nummer, 番号, phone, phone number, telefon, telefoon, telefone, Handy"
    ),
    REGION: _listed(
        "code, cd, iso, alpha, name, prefix, region, weitere region, région, región, o región, regione, regio, região, "
        "area geografica, territory, territoire, territorio, Staat, Rechnungsadresse, Lieferadresse, コード, 地域"
    ),
    AREA_CODE: _listed("no, nr, number, nummer, phone, Telefon, Handy, Festnetz, teléfono, telefono, telefone"),
}
"""For each kind, words such as "number" or "code" that may come after its names."""

MEANS_OTHER: Final = _listed("""
    ad id, company main phone, no phone, no mobile, no telephone, no landline, no cell, number of phones, mobile country code
""")
"""Names that look like the name of a kind but mean something else: the ID of an advertisement, a company's phone
number, a yes/no flag, a count, or the code of a mobile network.
"""

_OVERRIDE_NAMES: Final = {name.replace("_", ""): name for name in OVERRIDES}
# Address books add `value` to the name if another column has the type: `E-mail 1 - Value`.
_FORM_BEFORE: Final = re.compile("^(?:sha256|hashed|hash)(?:of)?")
_FORM_AFTER: Final = re.compile("[0-9]{0,3}(?:sha256|hashed|hash|e164|value)+[0-9]{0,3}$")
_CUSTOM_FIELD: Final = re.compile(r"^[a-w]\d?\.(?=\w{3})|__p?c$|:(?:string|text|str|varchar)$", re.IGNORECASE)
"""Matches a table alias from a query (`c.email`), the ending of a Salesforce custom field, or the type of a text field
in a typed export.
"""
_DOMAIN: Final = "domain"
"""The word `domain`, which the search for column names never splits into `do` and `main`."""
_ALONE: Final = frozenset({"em", "hem", "cc", "sms", "isd", "prefix", "ddd", "ddi", "lada"})
"""Names that are recognized only if no word or number comes before or after them."""
_LETTERS: Final = str.maketrans("\u0142\u0141\u00ba\u00b0", "lL  ")
"""Letters that Unicode normalization does not decompose, and the signs in `Nº` and `N°`."""
_DIGITS: Final = re.compile("[0-9]+")
_MAX_DIGITS: Final = 3
"""The maximum number of digits in a column name. A name with more digits may be a label with a phone number."""
_BETWEEN_NAMES: Final = re.compile("[/()]")
_NO_WORD: Final = re.compile(r"[\W_]+")
_MOST_WORDS: Final = 4
_NAMES_KEPT: Final = 1_024


CountryColumn = tuple[int, str, bool]
"""The index and the name of a country column, and whether it may contain area codes instead."""
_prefix: Final = re.compile("pref(?:ijo|isso|ixe|ixo)").sub
_is_of_numbers: Final = re.compile("phone|tel|dial|calling|isd|vorwahl|indicati|pr[ei]fi|kierunkowy|番号").search
"""Finds a word that only a country column for phone numbers has."""


def detected_as(name: str) -> str:
    """Returns the meaning of a column name: a kind, an override, `region`, `area_code`, or an empty string for any other
    name.
    """
    return _detected_as(name) if len(name) <= MAX_NAME_LENGTH else ""


@functools.lru_cache(_NAMES_KEPT)
def _detected_as(name: str) -> str:
    words = words_in(_CUSTOM_FIELD.sub("", name.strip()))
    text = words.replace(" ", "")
    if text in _OVERRIDE_NAMES:
        return _OVERRIDE_NAMES[text]
    if words in MEANS_OTHER:
        return ""
    by_name = _by_name()
    plain = _FORM_AFTER.sub("", _FORM_BEFORE.sub("", text))
    has_number = sum(map(str.isdigit, plain)) <= _MAX_DIGITS
    stems = (text, plain, _DIGITS.sub("", plain) if has_number else plain)
    forms = dict.fromkeys(form for stem in stems for form in (stem, stem.removesuffix("s"), stem.removesuffix("es")))
    for form in forms:
        if form in by_name and (form not in _ALONE or form in stems[:2]):
            return by_name[form]
    several = [part for part in _BETWEEN_NAMES.split(name) if words_in(part)]
    if len(several) > 1 and len(kinds := {_detected_as(part) for part in several}) == 1 and (kind := kinds.pop()):
        return kind
    for form in filter(_may_have_words().search, forms):
        for kind in BEFORE:
            if any(by_name.get(rest) == kind and rest not in _ALONE for rest in _without_words(form, kind)):
                return kind
    return ""


def set_aside(names: Sequence[str], others: Sequence[str] = ()) -> dict[int, str]:
    """Returns the positions of the columns that are read only if the user names them. Maps each to the name of the
    column that makes it ambiguous. If `others` are given, that column is one of them, because an object need not have
    every key.

    Next to an advertising ID, an `adid` or a `device_id` is usually an ID of the software that made the export. Next to
    an `Invitee Email`, a `User Email` is the host's; next to a `Customer Phone` alone, a `User Email` may be the
    customer's.
    """
    device, customer = _clearer_columns(tuple(others or names))
    found: dict[int, str] = {}
    for at, name in enumerate(names):
        kind = detected_as(name)
        if kind == "device_id" and _rank_of_device(name) < _rank_of_device(device):
            found[at] = device
        elif customer and _is_contact_of_other(name, kind):
            found[at] = customer
    return found


@functools.lru_cache(16)
def _clearer_columns(names: tuple[str, ...]) -> tuple[str, str]:
    """Returns the name that most certainly means device ids, and the first name that means the contact of a customer.
    The latter is empty unless another name means another person's contact of the same kind.
    """
    devices = [name for name in names if detected_as(name) == "device_id"]
    of_others = [kind for kind in _CONTACTS if any(_is_contact_of_other(name, kind) for name in names)]
    customers = (name for name in names if any(_is_of_customer(name, kind) for kind in of_others))
    return max(devices, key=_rank_of_device, default="device_id"), next(customers, "")


def _is_contact_of_other(name: str, kind: str) -> bool:
    is_of_kind = kind in _CONTACTS and detected_as(name) == kind
    return is_of_kind and bool(_is_of_others(folded(name))) and not _is_of_customer(name, kind)


def _rank_of_device(name: str) -> int:
    text = _FORM_AFTER.sub("", _FORM_BEFORE.sub("", folded(name))).removesuffix("s")
    return 0 if text in ("deviceid", "deviceidentifier") else 1 if text == "adid" else 2


def _is_of_customer(name: str, kind: str) -> bool:
    rest, count = _customers.subn("", words_in(name)) if len(name) <= MAX_NAME_LENGTH else ("", 0)
    return count > 0 and kind in (detected_as(name), detected_as(rest))


def _without_words(text: str, kind: str) -> Iterator[str]:
    """Yields shorter forms of a name. Each step removes one more of the words that may surround names of this kind."""
    before, after = _words_around(kind)
    texts = {text}
    for _ in range(_MOST_WORDS):
        texts = {
            *(each[at:] for each in texts for at in range(1, len(each) + 1) if each[:at] in before),
            *(each[:at] for each in texts for at in range(len(each)) if each[at:] in after),
        }
        yield from texts


@functools.lru_cache(_NAMES_KEPT)
def countries_for(
    phone: str, phones: tuple[str, ...], countries: tuple[CountryColumn, ...]
) -> Sequence[Sequence[CountryColumn]]:
    """Returns the country columns in groups, in the order in which the groups apply to the phone numbers in the column
    `phone`: first the columns of calling codes, then the columns that share a word for the type with `phone` (`Billing
    Country` and `Billing Phone`), then the columns without such a word, then all others. Skips the area codes of the
    other `phones`.
    """
    words = frozenset(map(folded, (*WHICH_ONE, *TYPES)))

    def words_of(name: str) -> frozenset[str]:
        text = _prefix("", folded(name))  # `prefijo`, for example, contains the word `fijo` for a landline
        return frozenset(word for word in words if word in text)

    def rank(each: CountryColumn) -> tuple[bool, bool, bool]:
        own, is_of_numbers = words_of(each[1]), each[2] or _is_of_numbers(folded(each[1])) is not None
        is_shared = not own.isdisjoint(words_of(phone))
        return bool(own) and not is_shared, not is_of_numbers, not is_shared

    taken = frozenset().union(*map(words_of, phones)) - words_of(phone)
    applicable = [each for each in countries if not (each[2] and rank(each)[0] and words_of(each[1]) & taken)]
    return [list(equal) for _, equal in groupby(sorted(applicable, key=rank), rank)]


def words_in(name: str) -> str:
    """Returns the words of a name in lower case, separated by spaces, without accents and punctuation."""
    if not name.isascii():
        letters = unicodedata.normalize("NFKD", name.removeprefix(MOJIBAKE_MARK).translate(_LETTERS))
        name = "".join(each for each in letters if not unicodedata.combining(each))
    return _NO_WORD.sub(" ", name.casefold()).strip()


def folded(name: str) -> str:
    """Returns a name in lower case, without accents, spaces and punctuation."""
    return words_in(name).replace(" ", "")


@functools.cache
def _by_name() -> Mapping[str, str]:
    return {folded(name): kind for kind, names in NAMES.items() for name in names}


@functools.cache
def _words_around(kind: str) -> tuple[frozenset[str], frozenset[str]]:
    before = (
        *WHICH_ONE,
        *(f"{word}s" for word in WHICH_ONE),
        *(f"{word}{link}" for word in BEFORE[kind] for link in LINKS),
    )
    after = (*AFTER[kind], *(f"{link}{word}" for word in TYPES for link in LINKS))
    return frozenset(map(folded, before)), frozenset(map(folded, after)) - {_DOMAIN}


@functools.cache
def _may_have_words() -> re.Pattern[str]:
    """Returns a pattern for the names that may have other words around them: the names of the kinds in `BEFORE`."""
    return re.compile("|".join(folded(name) for kind in BEFORE for name in NAMES[kind]))
