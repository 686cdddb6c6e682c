"""Checks the licences of what the package needs at run time, as it is installed here.

    python -m tools.licences

Looks at what the package and its extras need, and at what those need, without the network; the
extra `dev` is for whoever changes the package. What is not installed, such as PySpark, is named and
not checked. Exit status: 0 if every licence is allowed, 1 if not.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT: Final = "aiosocialapi"
ALLOWED: Final = frozenset(
    {
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "CC0-1.0",
        "ISC",
        "MIT",
        "MPL-2.0",
        "PSF-2.0",
        "Unlicense",
        "Zlib",
    }
)
"""Identifiers of SPDX that a program under any licence may depend on. MPL-2.0 binds whoever changes
its files.
"""
_OTHER_NAMES: Final = {
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "http://www.apache.org/licenses/LICENSE-2.0": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Python Software Foundation License": "PSF-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
_LONGEST_NAME: Final = 60
"""Some give the whole text of a licence where its name belongs."""


def extras_of(name: str) -> list[str]:
    """Returns the extras of a distribution that is installed, without `dev`."""
    return [each for each in distribution(name).metadata.get_all("Provides-Extra", []) if each != "dev"]


def needed(name: str, extras: Sequence[str] = ()) -> Iterator[tuple[str, Distribution | None]]:
    """Yields what a distribution needs with these extras, and what that needs, each once by its
    name; None for what is not installed.
    """
    seen, waiting = set[tuple[str, str]](), [(name, extra) for extra in ("", *extras)]
    told = {str(canonicalize_name(name))}
    while waiting:
        asked = waiting.pop()
        if asked in seen:
            continue
        seen.add(asked)
        found = _installed(asked[0])
        if asked[0] not in told:
            told.add(asked[0])
            yield asked[0], found
        for text in (found.requires if found is not None else None) or ():
            each = Requirement(text)
            if each.marker is None or each.marker.evaluate({"extra": asked[1]}):
                waiting += [(canonicalize_name(each.name), extra) for extra in ("", *each.extras)]


def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def licence_of(found: Distribution) -> str:
    """Returns the licence as an expression of SPDX as far as the metadata allow it; empty if they
    name none.
    """
    about = found.metadata
    if expression := about.get_all("License-Expression"):
        return str(expression[0])
    classes = [each.rpartition(" :: ")[2] for each in about.get_all("Classifier", []) if each.startswith("License ::")]
    (text,) = about.get_all("License") or [""]
    text = text.strip()
    names = classes or ([text] if 0 < len(text) <= _LONGEST_NAME else [])
    return " AND ".join(_OTHER_NAMES.get(name, name) for name in names)


def is_allowed(expression: str) -> bool:
    """Returns whether all licences of an AND, and one of those of an OR, are allowed."""
    inner = re.search(r"\(([^()]*)\)", expression)
    if inner is not None:
        verdict = "MIT" if is_allowed(inner[1]) else "refused"
        return is_allowed(expression[: inner.start()] + verdict + expression[inner.end() :])
    return any(all(each.strip() in ALLOWED for each in part.split(" AND ")) for part in expression.split(" OR "))


def main() -> int:
    """Prints what is refused and what was not looked at, and returns the exit status."""
    allowed, refused, absent = 0, list[str](), list[str]()
    for name, found in needed(PROJECT, extras_of(PROJECT)):
        if found is None:
            absent.append(name)
        elif is_allowed(licence := licence_of(found)):
            allowed += 1
        else:
            refused.append(f"{name} {found.version}: {licence or 'its metadata name no licence'}")
    for line in refused:
        print(line)
    print(
        f"{allowed} licences are allowed, {len(refused)} are not; not installed: {', '.join(sorted(absent)) or 'nothing'}"
    )
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
