"""`UNSET`, the value of a parameter that is not sent.

`None` is different: it clears a field (JSON `null`, or an empty value in a query or form). `UNSET` omits the parameter
from the request.
"""

import enum
from typing import Final, Literal


class Unset(enum.Enum):
    """The type of `UNSET`: an enumeration with one member, which type checkers can narrow."""

    UNSET = enum.auto()

    def __bool__(self) -> Literal[False]:
        return False

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET
