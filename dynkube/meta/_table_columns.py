"""The columns of server-side tables (``meta.k8s.io/v1`` ``Table``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dynkube.errors import InvalidJSONPath

# If a CRD column has no description, the API server generates one that begins with this text.
_PRINTED: Final = "Custom resource definition column (in JSONPath format): "
_CREATED: Final = ".metadata.creationTimestamp"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """One column of a server-side table (``meta.k8s.io/v1`` ``Table``).

    Attributes:
        name: the heading.
        type: the OpenAPI type of the cells: ``"string"``, ``"integer"``, ``"number"``, ``"boolean"``, ``"date"``.
        format: the OpenAPI format; ``"name"`` marks the column that identifies the row.
        priority: 0 is always shown; columns > 0 are shown in wide output (``kubectl get -o wide``).
        description: a description for users.
    """

    name: str
    type: str = "string"
    format: str = ""
    priority: int = 0
    description: str = ""

    @property
    def wide(self) -> bool:
        """Whether the column is shown in wide output only."""
        return self.priority > 0

    @property
    def json_path(self) -> str | None:
        """The JSONPath of a CRD's printer column, like ``.spec.replicas``.

        ``None`` where not known.
        """
        path = self.description.removeprefix(_PRINTED)
        return path if path != self.description and _is_path(path) else None

    @property
    def shows_age(self) -> bool:
        """Whether the cells are the time since the object was created."""
        return self.name.lower() == "age" and self.json_path in (None, _CREATED)

    @property
    def shows_creation(self) -> bool:
        """Whether the cells are the creation time.

        Servers have such a column for kinds without columns of their own.
        """
        return self.name == "Created At" and self.type == "date" and self.json_path in (None, _CREATED)


def _is_path(text: str) -> bool:
    """Return whether the text parses as a JSONPath.

    The server describes a column without a description by a fixed prefix and the column's JSONPath. A description that
    the author of a CRD wrote may have the same prefix, so the rest is checked.
    """
    from dynkube.meta._jsonpath.compiled import JSONPath

    try:
        JSONPath.compile(text)
    except InvalidJSONPath:
        return False
    return True


PLAIN_COLUMNS: Final = (TableColumn(name="Name", format="name"), TableColumn(name="Age"))
"""Columns for objects of servers that do not support tables."""
