"""``ResourceAvailability``: whether a resource is served. Plain data.

It has the resource's description and the state of its CRD.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dynkube._displayable import Displayable
from dynkube.discovery._resources import APIResource
from dynkube.meta import Unstructured


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceAvailability(Displayable):
    """Whether the server serves a resource, its description, and its CRD.

    Truthy if it is served.

    Attributes:
        name: the name that was looked up.
        resource: scope, verbs, short names etc.; ``None`` if it is not served.
        versions: the served versions, the preferred one first.
        definition: its CRD; ``None`` if there is none (built-in resources), or if it could not be read.
        message: why it is not served, or why its CRD could not be read; ``""`` otherwise.
    """

    name: str
    resource: APIResource | None = None
    versions: tuple[str, ...] = ()
    definition: Unstructured | None = field(default=None, repr=False)
    message: str = ""

    def __bool__(self) -> bool:
        return self.resource is not None

    def __str__(self) -> str:
        if self.resource is None:
            return f"{self.name} is not installed: {self.message}"
        return f"{self.name} is installed: {self.resource}" + (f" ({self.message})" if self.message else "")

    @property
    def conditions(self) -> Mapping[str, str]:
        """Conditions of the CRD: ``{"NamesAccepted": "True", "Established": "True"}``."""
        status: Any = self.definition.get("status") if self.definition is not None else None
        listed = status.get("conditions") if isinstance(status, Mapping) else None
        found = [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, list | tuple) else []
        return {str(each.get("type")): str(each.get("status")) for each in found}
