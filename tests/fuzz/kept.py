"""The inputs that are kept: a file per target, with an input in base64 on each line, behind its
name if it has one.

`python -m tests.fuzz.kept` takes over what a search has found to reach something new, as far as
there is room.
"""

import base64
import sys
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


def main() -> None:
    """Takes over what was found for the targets that are named, or for all."""
    from tests.fuzz.table import ALL

    for name in sys.argv[1:] or ALL:
        take_over(name)


if __name__ == "__main__":
    main()
