"""The versions of a resource, for field ownership.

An entry of ``managedFields`` has a version, and its fields are compared in this version. Versions of a custom resource
differ only by schema, unless a webhook converts its objects. Objects of most built-in kinds are the same in all served
versions; the others are converted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from dynkube.errors import APIError
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._patching.shapes import Shape, custom_shape, shape_of
from dynkube_testing._schemas.content import VersionContent
from dynkube_testing._schemas.structural import Structural
from dynkube_testing._schemas.typed import listed_errors, typed_errors


class Unconvertible(Exception):
    """An object cannot be converted to a version. It has the real server's message."""


class Versions(Protocol):
    """The versions of one resource, and the version of the request."""

    @property
    def shape(self) -> Shape:
        """The shape of objects in the version of the request."""
        ...

    @property
    def alike(self) -> bool:
        """Whether objects are, and always were, the same in all versions."""
        ...

    def shape_in(self, api_version: str) -> Shape | None:
        """Return the shape of objects in the version ``api_version``.

        ``None`` if the version no longer exists and its entries are to be dropped.

        Raises:
            Unconvertible: The version does not exist, and the request must fail, as in the real server.
        """
        ...

    def check(self, obj: JSONObject, api_version: str) -> None:
        """Check that ``obj`` can be converted to the version ``api_version``.

        Raises:
            Unconvertible: It cannot be converted.
        """
        ...

    def converted(self, obj: JSONObject, api_version: str) -> JSONObject:
        """Return ``obj`` in the version ``api_version``, to which it can be converted."""
        ...


@dataclass(frozen=True, slots=True)
class BuiltinVersions:
    """The versions of a built-in kind.

    Attributes:
        kind: The kind, in the version of the request.
        served: The kind in each served version of its group; ``None`` to accept any version. As in a real server,
            entries of other groups, in which it is served too, are dropped.
        alike: Whether objects are the same in all versions, also in those of other groups.
    """

    kind: Kind
    served: Mapping[str, Kind] | None = None
    alike: bool = True

    @property
    def shape(self) -> Shape:
        """The shape of objects in the version of the request."""
        return shape_of(self.kind)

    def shape_in(self, api_version: str) -> Shape | None:
        """Return the shape of objects in a served version, ``None`` for others."""
        if self.served is None:
            return self.shape
        kind = self.served.get(api_version)
        return None if kind is None else shape_of(kind)

    def check(self, obj: JSONObject, api_version: str) -> None:
        """Do nothing, since any object can be converted."""

    def converted(self, obj: JSONObject, api_version: str) -> JSONObject:
        """Return ``obj`` in the version ``api_version``."""
        kinds = self.served or {}
        source, wanted = (kinds.get(each, self.kind).content for each in (obj.get("apiVersion", ""), api_version))
        if wanted is source:
            return obj
        stored = obj if source is None else source.to_keep(obj)
        return {**(stored if wanted is None else wanted.shown(stored)), "apiVersion": api_version}


@dataclass(frozen=True, slots=True)
class CustomVersions:
    """The versions of a CRD, served or not.

    Attributes:
        kind: The kind, in the version of the request.
        content: Its content: the schema of each version, and the conversion between them.
    """

    kind: Kind
    content: VersionContent
    alike: bool = field(default=False, init=False)

    @property
    def shape(self) -> Shape:
        """The shape of objects in the version of the request."""
        return shape_of(self.kind)

    def shape_in(self, api_version: str) -> Shape | None:
        """Return the shape of objects in the version ``api_version``.

        Raises:
            Unconvertible: The version does not exist.
        """
        own = api_version == self.kind.api_version
        return shape_of(self.kind) if own else custom_shape(self._schema(api_version).source)

    def check(self, obj: JSONObject, api_version: str) -> None:
        """Check that ``obj`` fits the schema of the version ``api_version``.

        Raises:
            Unconvertible: It has undeclared fields or wrong types, or the version does not exist.
        """
        errors = list(typed_errors(self._schema(api_version).root, self.converted(obj, api_version), root=True))
        if errors:
            raise Unconvertible(listed_errors(errors))

    def converted(self, obj: JSONObject, api_version: str) -> JSONObject:
        """Return ``obj`` in the version ``api_version``; it is the same in all versions if no webhook converts it.

        Raises:
            Unconvertible: The webhook has failed.
        """
        source, wanted = (each.rpartition("/")[2] for each in (obj.get("apiVersion") or "", api_version))
        try:
            return self.content.translated(obj, wanted, source)
        except APIError as problem:
            raise Unconvertible(problem.status.message) from None

    def _schema(self, api_version: str) -> Structural:
        group, _, name = api_version.rpartition("/")
        if group != self.kind.gvr.group or name not in self.content.versions:
            # Entries in a version that was removed from the CRD make all writes fail, unlike for built-in kinds:
            # https://github.com/kubernetes/kubernetes/issues/111937
            raise Unconvertible(f"request to convert CR to an invalid group/version: {api_version}")
        return self.content.versions[name]
