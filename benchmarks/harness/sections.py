"""Sections of documents that a target of the Makefile writes, each between marks that name it."""

import attrs


@attrs.frozen
class Section:
    """The section of a page that `make <target>` writes."""

    target: str

    @property
    def begin(self) -> str:
        """The mark before it."""
        return f"<!-- `make {self.target}` writes what follows. -->\n"

    @property
    def end(self) -> str:
        """The mark behind it."""
        return f"<!-- `make {self.target}` wrote what precedes. -->\n"

    def written_into(self, text: str, part: str) -> str:
        """Returns the page with the part between the marks. Raises ValueError if they are not there."""
        before, begin, rest = text.partition(self.begin)
        _, end, after = rest.partition(self.end)
        if not (begin and end):
            raise ValueError("the page has no marks between which to write")
        return f"{before}{begin}\n{part}\n\n{end}{after}"
