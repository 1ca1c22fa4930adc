"""The versions of a resource: owned fields are compared in their own version.

Custom resources differ between versions only by schema, as strategy ``None`` is the only conversion. Built-in kinds are
the same in all versions that are served.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from dynkube.testing._calls.api import JSONObject
from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._patching.shapes import Shape, custom_shape, shape_of
from dynkube.testing._schemas.structural import Structural
from dynkube.testing._schemas.typed import listed_errors, typed_errors


class Unconvertible(Exception):
    """An object cannot be converted to a version; the message is the real server's."""


class Versions(Protocol):
    """The versions of one resource, relative to that of the request."""

    @property
    def shape(self) -> Shape:
        """The shape of objects in the version of the request."""
        ...

    @property
    def alike(self) -> bool:
        """Whether objects are the same in all versions, and always were."""
        ...

    def shape_in(self, api_version: str) -> Shape | None:
        """Return the shape of objects in a version.

        ``None`` means that the version no longer exists; its owners are dropped.

        Raises:
            Unconvertible: It does not exist, and the real server fails then.
        """
        ...

    def check(self, obj: JSONObject, api_version: str) -> None:
        """Check that ``obj`` can be converted to a version.

        Raises:
            Unconvertible: It cannot.
        """
        ...


@dataclass(frozen=True, slots=True)
class BuiltinVersions:
    """The versions of a built-in kind.

    Attributes:
        kind: The kind in the version of the request.
        served: All versions; ``None`` to accept any.
    """

    kind: Kind
    served: frozenset[str] | None = None
    alike: bool = field(default=True, init=False)

    @property
    def shape(self) -> Shape:
        """The shape of the kind."""
        return shape_of(self.kind)

    def shape_in(self, api_version: str) -> Shape | None:
        """Return the same shape for all versions; ``None`` for those that do not exist."""
        return self.shape if self.served is None or api_version in self.served else None

    def check(self, obj: JSONObject, api_version: str) -> None:
        """Do nothing: any object can be converted."""


@dataclass(frozen=True, slots=True)
class CustomVersions:
    """The versions of a CRD, served or not.

    Attributes:
        kind: The kind in the version of the request.
        schemas: The schema of each version, by name.
    """

    kind: Kind
    schemas: Mapping[str, Structural]
    alike: bool = field(default=False, init=False)

    @property
    def shape(self) -> Shape:
        """The shape by the schema of the request's version."""
        return shape_of(self.kind)

    def shape_in(self, api_version: str) -> Shape | None:
        """Return the shape by the schema of that version.

        Raises:
            Unconvertible: The version does not exist.
        """
        own = api_version == self.kind.api_version
        return shape_of(self.kind) if own else custom_shape(self._schema(api_version).source)

    def check(self, obj: JSONObject, api_version: str) -> None:
        """Check that all fields of ``obj`` are in the schema of that version.

        Raises:
            Unconvertible: Some are not, or the version does not exist.
        """
        errors = list(typed_errors(self._schema(api_version).root, obj, root=True))
        if errors:
            raise Unconvertible(listed_errors(errors))

    def _schema(self, api_version: str) -> Structural:
        group, _, name = api_version.rpartition("/")
        if group != self.kind.gvr.group or name not in self.schemas:
            # Unlike those of built-in kinds, entries in a version that was removed from the CRD make all writes fail:
            # https://github.com/kubernetes/kubernetes/issues/111937
            raise Unconvertible(f"request to convert CR to an invalid group/version: {api_version}")
        return self.schemas[name]
