"""The inputs that are kept: a file per target, with an input in base64 on each line, behind its
name if it has one.

`python -m tests.fuzz.kept` takes over what a search has found to reach something new, as far as
there is room. It also keeps an input that broke a promise, and runs one alone.
"""

import argparse
import base64
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import attrs

FOLDER: Final = Path(__file__).parent / "corpus"
SEARCHED: Final = Path(__file__).parents[2] / ".fuzz"
"""Where searches keep what they find, by target."""
MAX_BYTES: Final = 4_000
"""Of a file that `main` writes. Inputs with names stay in any case."""


@attrs.frozen
class Kept:
    """An input. One with a name is there for a fault that was found with it, or may have been."""

    data: bytes
    name: str = ""

    @property
    def line(self) -> str:
        """The line of the file."""
        return f"{self.name} {base64.b64encode(self.data).decode()}".strip()


def file_of(target: str) -> Path:
    """The file with the inputs of a target."""
    return FOLDER / f"{target}.txt"


def inputs_of(target: str) -> list[Kept]:
    """The inputs that are kept for a target; the empty one is among them."""
    path = file_of(target)
    found = [Kept(b"", "nothing")]
    for line in path.read_text("ascii").splitlines() if path.is_file() else ():
        name, _, encoded = line.rpartition(" ")
        found.append(Kept(base64.b64decode(encoded, validate=True), name))
    return found


def write(target: str, kept: list[Kept]) -> None:
    """Writes the file of a target: inputs with names first, then by size."""
    unique = {each.data: each for each in sorted(kept, key=lambda each: each.name) if each.data}
    lines = [each.line for each in sorted(unique.values(), key=lambda each: (not each.name, len(each.data), each.data))]
    FOLDER.mkdir(exist_ok=True)
    file_of(target).write_text("".join(f"{line}\n" for line in lines), "ascii")


def take_over(target: str) -> None:
    """Adds to a target's file what its last search kept, the smallest inputs first, while there is
    room.
    """
    kept = [each for each in inputs_of(target) if each.data]
    room = MAX_BYTES - sum(len(each.line) for each in kept)
    known = {each.data for each in kept}
    found = sorted((path.read_bytes() for path in (SEARCHED / target).glob("*")), key=len)
    for each in map(Kept, dict.fromkeys(found)):
        room -= len(each.line) + 1
        if room < 0:
            break
        if each.data not in known:
            kept.append(each)
    write(target, kept)


def keep(target: str, name: str, data: bytes) -> str:
    """Adds an input with a name to a target's file. Returns why it cannot, or nothing."""
    kept = inputs_of(target)
    if not data:
        return "the empty input is run in any case"
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        return f"{name!r} is no name: small letters and digits, with hyphens between the words"
    if any(each.name == name and each.data != data for each in kept):
        return f"{name} is the name of another input of {target}"
    known = [each.name for each in kept if each.name not in ("", name) and each.data == data]
    if known:
        return f"this input is kept as {known[0]}"
    write(target, [*(each for each in kept if each.data != data), Kept(data, name)])
    return ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Takes over what was found for the targets that are named, or for all; or keeps one input, or
    runs it.
    """
    from tests.fuzz.table import ALL, target_name

    parser = _parser(target_name)
    asked = parser.parse_args(arguments)
    if (asked.found is None) != (asked.name is None):
        parser.error("--found and --name go together")
    file = asked.found or asked.run
    if file is None:
        for target in asked.targets or ALL:
            take_over(target)
        return 0
    if len(asked.targets) != 1 or (asked.found and asked.run):
        parser.error("name one target, and --found or --run")
    if not file.is_file():
        parser.error(f"there is no file {file}")
    (target,), data = asked.targets, file.read_bytes()
    if asked.run:
        ALL[target](data)  # raises what nothing may raise
        print(f"{target}: {len(data):,} bytes were read or refused, and no promise was broken")  # noqa: T201
    elif refusal := keep(target, asked.name, data):
        parser.error(refusal)
    else:
        print(f"{target}: {len(data):,} bytes are kept as {asked.name} in {file_of(target)}")  # noqa: T201
    return 0


def _parser(target_name: Callable[[str], str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tests.fuzz.kept", description=__doc__)
    parser.add_argument("targets", nargs="*", type=target_name, metavar="target", help="for all, if none is named")
    parser.add_argument("--found", type=Path, metavar="FILE", help="keep this input of one target; with --name")
    parser.add_argument("--name", help="of the input that is kept")
    parser.add_argument("--run", type=Path, metavar="FILE", help="run one target with this input alone")
    return parser


if __name__ == "__main__":
    sys.exit(main())
