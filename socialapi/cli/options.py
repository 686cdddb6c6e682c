"""What options have in common: whole numbers, and errors that name options rather than parameters of the service."""

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import attrs
from cyclopts import Parameter, Token, validators

from socialapi.errors import InvalidInput

_PARAMETER: Final = re.compile(r"[a-z]+(_[a-z]+)+|^[a-z]+")
"""As the service writes its parameters; one without an underscore only where a path begins with it."""
JournalOption = Annotated[
    Path | None,
    Parameter(
        help="Keep here what is confirmed, so that the job can go on after a stop or a kill: `socialapi jobs resume`, or "
        "the same command again, sends only what is left."
    ),
]
AllowEmpty = Annotated[
    bool, Parameter(help="Take an input without rows for one, rather than for a mistake.", negative=())
]
MaxRejectShare = Annotated[
    float | None,
    Parameter(help="Largest share of the rows that may be rejected (0 to 1); beyond it nothing new is sent."),
]
_WHOLE: Final = re.compile("[+-]?[0-9]{1,18}")


def whole_number(*, help: str, least: int | None = None, most: int | None = None) -> Parameter:  # noqa: A002  # as Parameter has it
    """What stands beside an option that is a whole number: a fraction is refused rather than rounded."""
    bounds = validators.Number(gte=least, lte=most)
    return Parameter(help=help, converter=_whole, validator=bounds)


def _whole(kind: Any, tokens: Sequence[Token]) -> int:
    text = tokens[0].value
    if not _WHOLE.fullmatch(text):
        raise ValueError("must be a whole number")
    return int(text)


@contextlib.contextmanager
def named(options: Mapping[str, str]) -> Iterator[None]:
    """Has the rules that a call breaks say what the options are called here, by the names of the parameters."""
    try:
        yield
    except InvalidInput as problem:
        rules = [
            attrs.evolve(rule, path=_renamed(rule.path, options), reason=_renamed(rule.reason, options))
            for rule in problem.broken_rules
        ]
        raise InvalidInput(problem.message, rules) from None


def _renamed(text: str, options: Mapping[str, str]) -> str:
    return _PARAMETER.sub(lambda word: options.get(word[0], word[0]), text)
