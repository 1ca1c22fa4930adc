"""Rules specific to single kinds, in addition to the processing common to all objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dynkube.errors import StatusCause
from dynkube.testing._calls.api import Call, JSONObject
from dynkube.testing._kinds.kinds import Kind


class KindRules:
    """The rules of one kind; by default, nothing special.

    All methods are synchronous. ``obj`` is the caller's own copy, with ``metadata`` a dict.
    """

    def complete(self, kind: Kind, obj: JSONObject) -> None:
        """Set the defaults of the type itself, which the writer owns like fields they sent."""

    def allocate(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """Allocate values that must be unique, on writes of the object itself (not of a subresource).

        Raises:
            APIError: A requested value is not available.
        """

    def prepare(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """Set fields that the server decides, on every write; ``old`` is the object being replaced, if any."""

    def causes(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[StatusCause]:
        """Validate ``obj``; return the causes of a 422, empty if it is valid."""
        return []

    def authorize(self, call: Call, obj: JSONObject, old: JSONObject | None) -> None:
        """Check permissions that depend on the object; ``old`` is the object being replaced, if any.

        Raises:
            Forbidden: The caller may not write it.
        """

    def ascribe(self, call: Call, obj: JSONObject) -> None:
        """Record the creator in a new object, for kinds that do so."""

    def warnings(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[str]:
        """Return warnings for ``obj``, which is stored nevertheless."""
        return []

    def change_causes(self, kind: Kind, obj: JSONObject, old: JSONObject) -> list[StatusCause]:
        """Validate an update of ``old`` to ``obj`` through the object itself (not a subresource)."""
        return []

    def in_two_steps(self, kind: Kind) -> bool:
        """Return whether a delete may leave the object terminating even if ``metadata`` has no finalizers."""
        return False

    def before_delete(self, kind: Kind, obj: JSONObject) -> None:
        """Modify the object before it is deleted.

        Raises:
            Forbidden: It may not be deleted.
        """

    def holds(self, kind: Kind, obj: JSONObject) -> bool:
        """Return whether ``obj``, which is being deleted, must stay for another reason than ``metadata.finalizers``."""
        return False


@dataclass(frozen=True, slots=True)
class SeveralRules(KindRules):
    """Several rules for one kind, called in order."""

    parts: tuple[KindRules, ...]

    def complete(self, kind: Kind, obj: JSONObject) -> None:
        """Set the defaults of all rules, in order."""
        for part in self.parts:
            part.complete(kind, obj)

    def allocate(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """Allocate for all rules, in order."""
        for part in self.parts:
            part.allocate(kind, obj, old)

    def prepare(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """Prepare with all rules, in order."""
        for part in self.parts:
            part.prepare(kind, obj, old)

    def authorize(self, call: Call, obj: JSONObject, old: JSONObject | None) -> None:
        """Check with all rules, in order; the first error is raised."""
        for part in self.parts:
            part.authorize(call, obj, old)

    def ascribe(self, call: Call, obj: JSONObject) -> None:
        """Record the creator with all rules, in order."""
        for part in self.parts:
            part.ascribe(call, obj)

    def causes(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[StatusCause]:
        """Return the causes of all rules."""
        return [cause for part in self.parts for cause in part.causes(kind, obj, old)]

    def change_causes(self, kind: Kind, obj: JSONObject, old: JSONObject) -> list[StatusCause]:
        """Return the causes of all rules."""
        return [cause for part in self.parts for cause in part.change_causes(kind, obj, old)]

    def warnings(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[str]:
        """Return the warnings of all rules."""
        return [warning for part in self.parts for warning in part.warnings(kind, obj, old)]

    def in_two_steps(self, kind: Kind) -> bool:
        """Return whether any rule requires two steps."""
        return any(part.in_two_steps(kind) for part in self.parts)

    def before_delete(self, kind: Kind, obj: JSONObject) -> None:
        """Modify the object with all rules, in order."""
        for part in self.parts:
            part.before_delete(kind, obj)

    def holds(self, kind: Kind, obj: JSONObject) -> bool:
        """Return whether any rule holds the object."""
        return any(part.holds(kind, obj) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of each kind.

    Attributes:
        by_storage_group: The rules of each resource; a resource without an entry accepts any content.
    """

    by_storage_group: Mapping[str, KindRules] = field(default_factory=dict)

    def of(self, kind: Kind) -> KindRules:
        """Return the rules of ``kind``."""
        return self.by_storage_group.get(kind.storage_group, _NOTHING_SPECIAL)


_NOTHING_SPECIAL = KindRules()
