"""Where in its source an object stands."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place in a source; ``str()`` of it is what editors and terminals turn into a link: ``web.yaml:12``.

    Attributes:
        name: a file's path, ``<stdin>``, ``<text>``, or ``<object 3>`` for the third object that was passed.
        line: from 1; ``None`` where there are no lines.
        column: from 1, of a mistake in the text; ``None`` for an object as a whole.
        part: which item of a list it is, where the line does not say: ``items[3]``.
    """

    name: str
    line: int | None = None
    column: int | None = None
    part: str = ""

    def __str__(self) -> str:
        numbers = "".join(f":{number}" for number in (self.line, self.column) if number is not None)
        return " ".join(filter(None, (f"{self.name}{numbers}", self.part)))
