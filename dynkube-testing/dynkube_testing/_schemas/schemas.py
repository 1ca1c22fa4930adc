"""A cache of the parsed schemas of one embedded server."""

from __future__ import annotations

from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._schemas.content import VersionContent
from dynkube_testing._schemas.structural import Source, Structural


class Schemas:
    """A cache of parsed schemas.

    It holds the schemas of built-in kinds. The :class:`Kind` of a custom resource holds its own parsed schema, which is
    freed with it.
    """

    def __init__(self) -> None:
        self._builtin: dict[int, Structural] = {}

    def of(self, kind: Kind) -> Structural | None:
        """Return the parsed schema of ``kind``; ``None`` if it has no schema."""
        if isinstance(kind.content, VersionContent):
            return kind.content.own
        source = kind.schema
        return None if source is None else self.read(source)

    def read(self, source: Source) -> Structural:
        """Parse a schema. The result is cached by the identity of ``source``, forever."""
        found = self._builtin.get(id(source))
        if found is None:
            found = self._builtin[id(source)] = Structural(source)
        return found
