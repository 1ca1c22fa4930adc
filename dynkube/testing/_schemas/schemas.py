"""The schemas of one embedded server, each parsed once."""

from __future__ import annotations

from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._schemas.content import VersionContent
from dynkube.testing._schemas.structural import Source, Structural


class Schemas:
    """A cache of parsed schemas.

    Schemas of custom resources are held by their kinds and go with them; those of built-in kinds are cached here.
    """

    def __init__(self) -> None:
        self._builtin: dict[int, Structural] = {}

    def of(self, kind: Kind) -> Structural | None:
        """Return the schema of ``kind``; ``None`` if it has none."""
        if isinstance(kind.content, VersionContent):
            return kind.content.own
        source = kind.schema
        return None if source is None else self.read(source)

    def read(self, source: Source) -> Structural:
        """Return a schema parsed; the result is cached by identity, and never dropped."""
        found = self._builtin.get(id(source))
        if found is None:
            found = self._builtin[id(source)] = Structural(source)
        return found
