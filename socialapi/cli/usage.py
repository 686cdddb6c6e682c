"""Says everything that is wrong with a command line, not only what a parser meets first.

cyclopts stops at the first fault, so this reads the arguments of a command once more, with the same
declarations, and goes on after each fault. It is imported when a command line was refused.
"""

import glob
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeGuard

import attrs
from cyclopts import UNSET, App, CycloptsError, Token, UnknownOptionError, ValidationError
from cyclopts.argument import Argument, ArgumentCollection

from socialapi.bulk.inputs.addresses import is_address
from socialapi.cli.options import FILE, STANDARD_INPUT
from socialapi.cli.output import printable
from socialapi.config import Config
from socialapi.errors import ConfigurationError, InvalidInput

WITHOUT_SERVICE: Final = frozenset({"completion", "demo", "emulator", "jobs", "lint"})
"""Commands that do not read where the service is."""


def message(app: App, words: Sequence[str], first: CycloptsError, environ: Mapping[str, str]) -> str:
    """Returns what to say of a command line that was refused because of the `first` fault: a
    sentence, or a line for each fault.

    Faults of the environment come last, if the command would have read it.
    """
    commands, found = faults_of(app, words)
    found = found or [_text(first)]
    if not WITHOUT_SERVICE.intersection(commands):
        found += _faults_of(environ)
    help_ = f"(see `{' '.join(('socialapi', *commands))} --help`)"
    # A word may be the name of somebody else's file.
    found = [printable(fault.replace("(see --help)", help_)) for fault in found]
    if len(found) > 1:
        lines = "".join(f"\n  {fault}" for fault in found)
        return f"{len(found)} things are wrong {help_}:{lines}"
    return found[0] if _is_ours(first) else f"{found[0]} {help_}"


def faults_of(app: App, words: Sequence[str]) -> tuple[Sequence[str], list[str]]:
    """Returns the names of the command, and everything that is wrong with its arguments."""
    commands, apps, arguments = app.parse_commands(list(words))
    if apps[-1].default_command is None:
        return commands, []
    return commands, _Reading(apps[-1].assemble_argument_collection()).faults(arguments)


def _text(problem: CycloptsError) -> str:
    problem.verbose = False  # else it says what developers of a parser want to know
    return problem.exception_message if _is_ours(problem) else str(problem)


def _is_ours(problem: CycloptsError) -> TypeGuard[ValidationError]:
    """Returns whether a rule of this package was broken, whose text needs nothing around it."""
    return isinstance(problem, ValidationError) and isinstance(problem.__cause__, InvalidInput)


def _faults_of(environ: Mapping[str, str]) -> Iterator[str]:
    """Yields the faults of the variables that hold settings, each looked at alone."""
    for name in sorted(name for name in environ if name.startswith("SOCIALAPI_")):
        try:
            Config.from_env({name: environ[name]})
        except ConfigurationError as problem:
            text = str(problem)
            yield text if text.startswith(name) else f"{name}: {text}"


@attrs.define
class _Reading:
    """One reading of the words of a command."""

    arguments: ArgumentCollection
    _positional: list[str] = attrs.field(factory=list, init=False)
    _apart: list[str] = attrs.field(factory=list, init=False)
    """Positional words that options separate from the first ones."""
    _after_unknown: list[str] = attrs.field(factory=list, init=False)
    _told: set[str] = attrs.field(factory=set, init=False)
    """Options without their value, which are not missing as well."""
    _found: list[str] = attrs.field(factory=list, init=False)

    def faults(self, words: Sequence[str]) -> list[str]:
        rest = self._read_options(list(words))
        self._positional += rest
        self._read_positional()
        for argument in self.arguments:
            if argument.parse and not argument.children:
                self._convert(argument)
        return [*self._found, *_broken_rules(self.arguments)]

    def _read_options(self, words: list[str]) -> list[str]:
        """Gives each option its values. Returns the words after `--`."""
        is_apart = False
        while words:
            word = words.pop(0)
            if word == "--":
                return words
            if not _is_option(word):
                (self._apart if is_apart else self._positional).append(word)
                continue
            is_apart = bool(self._positional)
            name, equals, value = word.partition("=")
            try:
                argument, keys, implicit = self.arguments.match(name)
            except ValueError:
                unknown = Token(keyword=name, source="cli")
                self._found.append(_text(UnknownOptionError(token=unknown, argument_collection=self.arguments)))
                # Its value, or a file: which of them is seen when everything was read.
                if words and not equals and not _is_option(words[0]):
                    self._after_unknown.append(words.pop(0))
                continue
            tokens = [Token(keyword=name, value=value, keys=keys, source="cli")] if equals else None
            if tokens is None and implicit is not UNSET:
                tokens = [Token(keyword=name, implicit_value=implicit, keys=keys, source="cli")]
            self._append(argument, name, tokens or _values(argument, name, keys, words))
        return []

    def _append(self, argument: Argument, name: str, tokens: list[Token]) -> None:
        if not tokens:
            self._found.append(f"{name} needs a value{_help(argument)}")
            self._told.add(argument.name)
        for token in tokens:
            try:
                argument.append(token)
            except CycloptsError as problem:
                self._found.append(_text(problem))

    def _read_positional(self) -> None:
        if not self._positional:
            self._positional = self._after_unknown
        left = [*self._positional, *self._apart]
        for argument in self.arguments:
            if argument.index is not None and left:
                count, takes_all = argument.token_count()
                count = max(count, 1)
                if takes_all:  # files stand side by side, and the words of `*args` anywhere
                    is_together = argument.is_positional_only() and not argument.is_var_positional()
                    count = len(left) - len(self._apart) * is_together
                for index, word in enumerate(left[:count]):
                    argument.append(Token(value=word, index=index, source="cli"))
                left = left[count:]
        self._found += [f"{word!r} is one argument too many, or stands apart from the others" for word in left]

    def _convert(self, argument: Argument) -> None:
        if not argument.tokens:
            if argument.required and argument.name not in self._told:
                self._found.append(f"{argument.name} is missing{_help(argument)}")
            return
        try:
            argument.convert_and_validate()
        except CycloptsError as problem:
            self._found.append(_text(problem))
        else:
            if argument.name == FILE:
                self._found += [f"There is no file {word}." for word in _missing(argument.tokens)]


def _is_option(word: str) -> bool:
    return len(word) > 1 and word.startswith("-") and not word[1].isdigit()


def _values(argument: Argument, name: str, keys: tuple[str, ...], words: list[str]) -> list[Token]:
    """Takes the values of an option from the words; empty if there are too few."""
    count, _ = argument.token_count(keys)
    taken = words[:count]
    if len(taken) < count or (any(map(_is_option, taken)) and not argument.parameter.allow_leading_hyphen):
        return []
    del words[:count]
    return [Token(keyword=name, value=value, index=index, keys=keys, source="cli") for index, value in enumerate(taken)]


def _broken_rules(arguments: ArgumentCollection) -> Iterator[str]:
    for group in arguments.groups:
        for validator in group.validator:
            try:
                validator(arguments.filter_by(group=group))
            except ValueError as problem:
                yield str(problem)


def _help(argument: Argument) -> str:
    """Returns the first sentence of its help, behind a colon."""
    text = (argument.parameter.help or "").partition(". ")[0]
    return f": {text}" if text else ""


def _missing(tokens: Iterable[Token]) -> list[str]:
    """Returns the names that are neither a file nor a pattern nor an address."""
    return [
        token.value
        for token in tokens
        if token.value != STANDARD_INPUT
        and not (glob.has_magic(token.value) or is_address(token.value) or Path(token.value).exists())
    ]
