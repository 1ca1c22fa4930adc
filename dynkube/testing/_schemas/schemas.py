"""The schemas of one engine, each read once."""

from __future__ import annotations

from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._schemas.content import VersionContent
from dynkube.testing._schemas.structural import Source, Structural


class Schemas:
    """Schemas of kinds as the other modules walk them.

    Those of custom resources come and go with their kinds, which hold them; those of built-in kinds are kept here.
    """

    def __init__(self) -> None:
        self._builtin: dict[int, Structural] = {}

    def of(self, kind: Kind) -> Structural | None:
        """The schema of ``kind``; ``None`` where nothing is known of its objects."""
        if isinstance(kind.content, VersionContent):
            return kind.content.own
        source = kind.schema
        return None if source is None else self.read(source)

    def read(self, source: Source) -> Structural:
        """A schema that stays, by identity."""
        found = self._builtin.get(id(source))
        if found is None:
            found = self._builtin[id(source)] = Structural(source)
        return found
