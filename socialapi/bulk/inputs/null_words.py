"""The words that databases, programs and spreadsheets write where there is no value.

Such a word is never hashed or sent. docs/inputs.md prints the list.
"""

import re
from typing import Final

NULL_WORDS: Final = frozenset(
    (
        *("null", "(null)", "<null>", "[null]", "\\n", "\\\\n", "nil", "none", "(none)", "<none>"),  # "\n" is \N
        *("nan", "nat", "na", "<na>", "n/a", "n.a.", "#n/a", "#na", "undefined", "(undefined)"),
        *("#null!", "#value!", "#ref!", "#name?", "#div/0!", "#num!"),
        *("-", "--", "---", "\u2013", "\u2014", ".", "?"),
        *("unknown", "(unknown)", "not set", "(not set)", "not provided", "(not provided)", "(blank)", "(empty)"),
        *("not available", "not applicable", "no email", "noemail", "no phone"),
        *("unbekannt", "k.a.", "k. a.", "keine angabe", "inconnu", "desconocido", "sconosciuto", "desconhecido"),
    )
)
"""In lower case."""

NULL_WORD: Final = 'stands for no value, as "null" and "n/a" do'
"""The reason why such a word is skipped."""

_MOST_CHARACTERS: Final = 36
_is_zero_uuid: Final = re.compile("0{8}-?0{4}-?0{4}-?0{4}-?0{12}").fullmatch


def is_null_word(text: str) -> bool:
    """Returns whether a trimmed text stands for no value. An all-zero UUID does, too: telephones give
    it for people who do not want to be tracked.
    """
    return len(text) <= _MOST_CHARACTERS and (text.lower() in NULL_WORDS or _is_zero_uuid(text) is not None)
