"""Rules for single kinds, in addition to the processing of all objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dynkube.errors import StatusCause
from dynkube_testing._calls.api import Call, JSONObject
from dynkube_testing._kinds.kinds import Kind


class KindRules:
    """Rules for writes and deletes of one kind.

    The default methods do nothing and allow everything.

    ``kind`` is the kind of the object. ``obj`` is the new object, which methods may modify at its top level and in its
    metadata. ``old`` is the stored object, or ``None`` for a create.
    """

    def complete(self, kind: Kind, obj: JSONObject) -> None:
        """Set default values that belong to the writer's managed fields.

        They are owned as if the writer had sent them.
        """

    def admit(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """Set the fields that a real server's admission plugins for this kind set, such as the priority of a pod.

        Called before all other admission plugins.

        Raises:
            Forbidden: A plugin rejects the object.
        """

    def allocate(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """Allocate values that must be unique, such as addresses and ports of Services.

        Called for writes of the object itself, not of a subresource.

        Raises:
            APIError: A requested value is not available.
        """

    def prepare(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """Set the fields that the server determines. Called for every write."""

    def causes(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[StatusCause]:
        """Validate ``obj``, and return the causes of a 422, if any."""
        return []

    def authorize(self, call: Call, obj: JSONObject, old: JSONObject | None) -> None:
        """Check permissions that depend on the content of the object.

        Raises:
            Forbidden: The user has no permission to write this content.
        """

    def ascribe(self, call: Call, obj: JSONObject) -> None:
        """Record the user in a new object.

        An example is the requester of a CertificateSigningRequest.
        """

    def warnings(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[str]:
        """Return warnings for ``obj``. They do not prevent the write."""
        return []

    def change_causes(self, kind: Kind, obj: JSONObject, old: JSONObject) -> list[StatusCause]:
        """Validate the change from ``old`` to ``obj``, and return the causes of a 422.

        Called for updates of the object itself, not of a subresource.
        """
        return []

    def resize_causes(self, kind: Kind, obj: JSONObject, old: JSONObject) -> list[StatusCause]:
        """Validate the change from ``old`` to ``obj`` through the subresource ``resize``."""
        return []

    def in_two_steps(self, kind: Kind) -> bool:
        """Return whether a deleted object may have to stay without finalizers."""
        return False

    def before_delete(self, kind: Kind, obj: JSONObject) -> None:
        """Modify the object before it is deleted.

        Raises:
            Forbidden: The object may not be deleted.
        """

    def holds(self, kind: Kind, obj: JSONObject) -> bool:
        """Return whether ``obj``, which is being deleted, must stay.

        This is for other reasons than finalizers.

        For example, a namespace must stay until it is empty.
        """
        return False


@dataclass(frozen=True, slots=True)
class SeveralRules(KindRules):
    """The combination of several rules for one kind."""

    parts: tuple[KindRules, ...]

    def complete(self, kind: Kind, obj: JSONObject) -> None:
        """Set the default values of all rules, in order."""
        for part in self.parts:
            part.complete(kind, obj)

    def admit(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """Call ``admit`` of all rules, in order."""
        for part in self.parts:
            part.admit(kind, obj, old)

    def allocate(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """Allocate the values of all rules, in order."""
        for part in self.parts:
            part.allocate(kind, obj, old)

    def prepare(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """Set the fields of all rules, in order."""
        for part in self.parts:
            part.prepare(kind, obj, old)

    def authorize(self, call: Call, obj: JSONObject, old: JSONObject | None) -> None:
        """Check the permissions of all rules, in order, until one raises an error."""
        for part in self.parts:
            part.authorize(call, obj, old)

    def ascribe(self, call: Call, obj: JSONObject) -> None:
        """Call ``ascribe`` of all rules, in order."""
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
        """Return whether any of the rules requires two steps."""
        return any(part.in_two_steps(kind) for part in self.parts)

    def before_delete(self, kind: Kind, obj: JSONObject) -> None:
        """Modify the object with all rules, in order."""
        for part in self.parts:
            part.before_delete(kind, obj)

    def holds(self, kind: Kind, obj: JSONObject) -> bool:
        """Return whether the object must stay because of any of the rules."""
        return any(part.holds(kind, obj) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of each kind.

    Attributes:
        by_storage_group: Rules by storage group. Resources without an entry have no rules.
    """

    by_storage_group: Mapping[str, KindRules] = field(default_factory=dict)

    def of(self, kind: Kind) -> KindRules:
        """Return the rules of ``kind``."""
        return self.by_storage_group.get(kind.storage_group, _NOTHING_SPECIAL)


_NOTHING_SPECIAL = KindRules()
