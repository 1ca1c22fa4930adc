"""One object in the versions of its resource: who owns fields in one version is judged in that version.

Objects of definitions are the same in all versions but for what their schemas say of them, as there is no conversion
but that of strategy ``None``. Built-in kinds look the same in all versions that are served.
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
    """An object cannot be told in another version; the text says why, in the words of the real server."""


class Versions(Protocol):
    """The versions of one resource, seen from the one that a request is about."""

    @property
    def shape(self) -> Shape:
        """The shape of objects in that one."""
        ...

    @property
    def alike(self) -> bool:
        """Whether objects look the same in all of them, and always did."""
        ...

    def shape_in(self, api_version: str) -> Shape | None:
        """The shape of objects in any; ``None`` where there is no such version any more, whose owners are forgotten.

        Raises:
            Unconvertible: There is none, and the real server does not know what to do about that.
        """
        ...

    def check(self, obj: JSONObject, api_version: str) -> None:
        """Look whether ``obj`` can be told in a version.

        Raises:
            Unconvertible: It cannot.
        """
        ...


@dataclass(frozen=True, slots=True)
class BuiltinVersions:
    """Those of a built-in kind.

    Attributes:
        kind: The kind in the version of the request.
        served: All versions; ``None`` where any will do.
    """

    kind: Kind
    served: frozenset[str] | None = None
    alike: bool = field(default=True, init=False)

    @property
    def shape(self) -> Shape:
        """The one shape."""
        return shape_of(self.kind)

    def shape_in(self, api_version: str) -> Shape | None:
        """The same in all versions."""
        return self.shape if self.served is None or api_version in self.served else None

    def check(self, obj: JSONObject, api_version: str) -> None:
        """Whatever there is can be told."""


@dataclass(frozen=True, slots=True)
class CustomVersions:
    """Those of a definition, served or not.

    Attributes:
        kind: The kind in the version of the request.
        schemas: The schema of each version, by its name.
    """

    kind: Kind
    schemas: Mapping[str, Structural]
    alike: bool = field(default=False, init=False)

    @property
    def shape(self) -> Shape:
        """From the schema of the version."""
        return shape_of(self.kind)

    def shape_in(self, api_version: str) -> Shape | None:
        """From the schema of that version."""
        own = api_version == self.kind.api_version
        return shape_of(self.kind) if own else custom_shape(self._schema(api_version).source)

    def check(self, obj: JSONObject, api_version: str) -> None:
        """Look whether all that ``obj`` says is in the schema of that version."""
        errors = list(typed_errors(self._schema(api_version).root, obj, root=True))
        if errors:
            raise Unconvertible(listed_errors(errors))

    def _schema(self, api_version: str) -> Structural:
        group, _, name = api_version.rpartition("/")
        if group != self.kind.gvr.group or name not in self.schemas:
            # Unlike those of built-in kinds, owners in a version that a definition has no more are in the way of all
            # who write: https://github.com/kubernetes/kubernetes/issues/111937
            raise Unconvertible(f"request to convert CR to an invalid group/version: {api_version}")
        return self.schemas[name]
