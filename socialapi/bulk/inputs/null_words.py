"""The placeholders for missing values, which are never hashed or sent. They are listed in docs/inputs-values.md."""

import functools
import hashlib
import itertools
import re
import uuid
from collections.abc import Iterable, Iterator
from typing import Final

_ERRORS: Final = frozenset(
    (
        *("#null!", "#value!", "#ref!", "#name?", "#div/0!", "#num!", "#n/a", "#na", "#spill!", "#calc!", "#error!"),
        *("#field!", "#blocked!", "#connect!", "#busy!", "#unknown!", "#getting_data", "#macro?"),
        *("#nv", "#wert!", "#bezug!", "#zahl!", "#überlauf!", "#kalk!", "#feld!"),
        *("#valeur!", "#nom?", "#nombre!", "#nul!", "#propagation!", "#calcul!"),
        *("#¡valor!", "#¡ref!", "#¡div/0!", "#¡num!", "#¿nombre?", "#¡nulo!", "#¡desbordamiento!", "#¡calc!", "#n/d"),
        *("#valor!", "#nome?", "#núm!", "#nulo!", "#despejar!", "#valore!", "#rif!", "#nullo!", "#espansione!"),
        *("#waarde!", "#verw!", "#naam?", "#getal!", "#leeg!", "#n/b", "#deel/0!", "#overloop!"),
        *("#arg!", "#adr!", "#nazwa?", "#liczba!", "#zero!", "#dziel/0!", "#rozlanie!", "#i/t", "#værdi!", "#verdi!"),
        *("#saknas!", "#värdefel!", "#referens!", "#namn?", "#ogiltigt!", "#division/0!", "#navn?", "#reference!"),
        *("#puuttuu!", "#arvo!", "#viittaus!", "#nimi?", "#luku!", "#jako/0!", "#hodnota!", "#odkaz!", "#hiányzik"),
        *("#érték!", "#hiv!", "#yok", "#değer!", "#başv!", "#н/д", "#знач!", "#ссылка!", "#имя?", "#число!", "#дел/0!"),
        *(f"err:{number}" for number in range(501, 541)),
    )
)
"""The error values that Excel, Google Sheets and LibreOffice show for a formula that failed, by language."""

NO_VALUE: Final = frozenset(
    (
        *("null", "(null)", "<null>", "[null]", "\\n", "\\\\n", "nil", "none", "(none)", "<none>"),  # "\n" is \N
        *("nan", "nat", "na", "<na>", "n/a"),
    )
)
"""The placeholders that databases and programs use for a missing value. They also occur in columns of operations and
times.
"""

NULL_WORDS: Final = (
    _ERRORS
    | NO_VALUE
    | frozenset(
        (
            *("n.a.", "undefined", "(undefined)"),
            *("-", "--", "---", "\u2013", "\u2014", ".", "?"),
            *("unknown", "(unknown)", "not set", "(not set)", "not provided", "(not provided)", "(blank)", "(empty)"),
            *("not available", "not applicable", "no email", "noemail", "no phone"),
            *("unbekannt", "k.a.", "k. a.", "keine angabe", "inconnu", "desconocido", "sconosciuto", "desconhecido"),
        )
    )
)
"""Placeholders in any column, in lower case."""

_NO_PERSON: Final = r"""
nul | tbd | tba | n.a | o.a. | o. a. | nd | ?? | ??? | * | ** | *** | redacted | [redacted] | (redacted) |
<redacted> | deleted | empty | blank | missing | anonymized | anonymised | entfällt | leeg | n/d | n.d. | n\a | s/d | s/n | [none] | [empty] | [deleted] | (deleted) | not given |
not known | no data | no value | no number | no phone number | no email address | no e-mail | no mail |
no handle | no twitter | kein | keine | keiner | ohne | ohne angabe | keine angaben | keine email | keine e-mail
| keine mail | kein telefon | nicht angegeben | nicht bekannt | nicht vorhanden | k.a | (leer) | aucun | aucune
| inconnue | néant | non renseigné | non renseignée | non communiqué | pas de mail | pas d'email |
pas de téléphone | sans email | n.c. | (vide) | ninguno | ninguna | desconocida | sin correo | sin email |
sin teléfono | sin telefono | sin dato | sin datos | no tiene | no disponible | no aplica | (en blanco) |
nessuno | nessuna | sconosciuta | non disponibile | non specificato | senza email | (vuoto) | nenhum | nenhuma |
desconhecida | não informado | nao informado | não tem | nao tem | sem email | sem e-mail | sem telefone |
(vazio) | geen | onbekend | niet bekend | n.v.t. | n.v.t | nvt | niet van toepassing | geen email | geen e-mail
| geen telefoon | (leeg) | brak | nieznany | nieznana | nieznane | nie dotyczy | nie podano | brak danych |
(puste) | なし | 無し | 無 | ナシ | 不明 | 未設定 | 未入力 | 該当なし | 无 | 暂无 | 未知 | 없음 | okänd | saknas | ukjent | ukendt | нет |
true | false | н/д | неизвестно | не указано
"""
NO_PERSON: Final = frozenset(word.strip() for word in _NO_PERSON.split("|"))
"""Placeholders in columns of people only, in lower case. For a product, the same word may be a value."""

_NO_ADDRESS: Final = """
brakemaila brakmaila geen-email geenemail keine-email keine-mail keineemail keinemail no-email no-mail no.email
no_email noemail noemailaddress nomail pasdemail sememail senzaemail sincorreo sinemail
"""
NO_ADDRESS: Final = frozenset(_NO_ADDRESS.split())
"""Local parts of e-mail addresses that are placeholders at any domain."""

_PEOPLE: Final = NULL_WORDS | NO_PERSON
NAMES: Final = (_PEOPLE - _ERRORS) | NO_ADDRESS | {"test"}
"""Handles, and local parts of e-mail addresses, that may be placeholders."""
_NAMES: Final = NAMES - {"nan", "nat", "nil"}
"""The entries of `NAMES` that are hardly ever a person's name."""
_NOWHERE: Final = frozenset(("example", "test", "invalid", "localhost"))
"""The top-level domains that RFC 2606 reserves, and `example` under .com, .net and .org."""
_MOST_CHARACTERS: Final = 64
_is_zeros: Final = re.compile("[0-]{16,}").fullmatch


def is_null_word(text: str) -> bool:
    """Returns whether a trimmed string in a column of people is a placeholder. This includes addresses such as
    `null@null.com` and `noemail@shop.example`, and all-zero device ids, which phones report for people who opted out of
    tracking.
    """
    if len(text) > _MOST_CHARACTERS:
        return False
    word = text.lower()
    name, mark, domain = word.partition("@")
    if not mark:
        return word in _PEOPLE or _is_zeros(word) is not None
    labels = domain.split(".")
    return (
        name in NO_ADDRESS
        or labels[-1] == "invalid"
        or (name in _NAMES and (labels[0] in _NAMES or not _NOWHERE.isdisjoint((labels[0], labels[-1]))))
    )


_SHORT: Final = 4


def written_forms(word: str) -> Iterator[str]:
    """Yields the usual spellings of a word in upper and lower case, or all spellings if the word is short."""
    if len(word) <= _SHORT:
        yield from map("".join, itertools.product(*({letter, letter.upper()} for letter in word)))
    yield from (word, word.upper(), word.capitalize(), word.title())


_OFTEN: Final = ("null", "none", "nan", "na", "n/a")
_SIGNS: Final = ("", " ", "\r\n", '""', "''", "+", "+1", "{}", "[]", "0.0")
_ZEROS: Final = tuple(f"{sign}{'0' * length}" for length in range(1, 33) for sign in ("", "+"))
_DEVICES: Final = tuple(
    form for digit in "0123456789abcdef" for form in (digit * 16, digit * 32, re.sub("0", digit, str(uuid.UUID(int=0))))
)
_PHONES: Final = tuple(
    f"{sign}{number}"
    for digit in "123456789"
    for number in (f"1{digit * 10}", *(digit * length for length in range(7, 16)))
    for sign in ("", "+")
)
"""Phone numbers that consist of one repeated digit, plain and in US format. People enter them instead of their own
number.
"""
_ADDRESSES: Final = (
    f"{name}@{domain}.{top}"
    for name in (*_OFTEN, "test", "unknown", "undefined", "noemail", "no-email", "nomail")
    for domain in dict.fromkeys(("example", "test", "none", "null", name))
    for top in ("com", "org", "net")
)


def _placeholders() -> Iterator[str]:
    """Yields the empty values and placeholders that programs hash by mistake."""
    for word in (*_SIGNS, *_ZEROS, *_DEVICES, *_PEOPLE):
        yield from written_forms(word)
    yield from (f"{form}\n" for word in ("", *_OFTEN) for form in written_forms(word))
    yield from filter(is_null_word, _ADDRESSES)
    yield from (hashlib.sha256(word.encode()).hexdigest() for word in ("", *_OFTEN))


def _digests(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(hashlib.sha256(text.encode()).hexdigest() for text in texts)


# The digests are computed on first use: computing all 3,000 takes 9 ms, which would delay every import of the package.


@functools.cache
def phone_digests() -> frozenset[str]:
    """Returns the digests of placeholder phone numbers. In other columns, these numbers may be valid handles or IDs."""
    return _digests(_PHONES)


@functools.cache
def null_digests() -> frozenset[str]:
    """Returns the digests of empty values and placeholders, and the placeholders that look like a digest."""
    return _digests(_placeholders()) | {digit * 64 for digit in "0f"}
