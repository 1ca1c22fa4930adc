"""The location of an object in its source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A location in a source: ``web.yaml:12``.

    Editors and terminals turn ``str()`` of it into a link.

    Attributes:
        name: a file's path, ``<stdin>``, ``<text>``, or ``<object 3>`` for the third object that was passed.
        line: from 1; ``None`` if the source has no lines.
        column: from 1, of a syntax error; ``None`` for an object as a whole.
        part: the item of a list, if the line is ambiguous: ``items[3]``.
    """

    name: str
    line: int | None = None
    column: int | None = None
    part: str = ""

    def __str__(self) -> str:
        numbers = "".join(f":{number}" for number in (self.line, self.column) if number is not None)
        return " ".join(filter(None, (f"{self.name}{numbers}", self.part)))
