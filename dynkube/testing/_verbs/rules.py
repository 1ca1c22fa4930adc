"""What single kinds do about their objects beyond what every object goes through."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dynkube.errors import StatusCause
from dynkube.testing._calls.api import Call, JSONObject
from dynkube.testing._kinds.kinds import Kind


class KindRules:
    """The rules of one kind: nothing special. Subclasses say what is.

    All methods are plain. ``obj`` is the caller's own copy, with ``metadata`` a dict.
    """

    def complete(self, kind: Kind, obj: JSONObject) -> None:
        """Fill in what is the writer's as if they had sent it: defaults that belong to the type itself."""

    def allocate(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """Give ``obj`` what objects may not share, on writes of the object itself (not of a subresource).

        Raises:
            APIError: It asks for something that cannot be had.
        """

    def prepare(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """Fill in what the server decides, on every write; ``old`` is what ``obj`` replaces, if anything."""

    def causes(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[StatusCause]:
        """Why ``obj`` cannot be stored; empty where it can."""
        return []

    def authorize(self, call: Call, obj: JSONObject, old: JSONObject | None) -> None:
        """Refuse what the caller in particular may not write; ``old`` is what ``obj`` replaces, if anything.

        Raises:
            Forbidden: They may not.
        """

    def ascribe(self, call: Call, obj: JSONObject) -> None:
        """Write into a new object who it is from, where its kind keeps that."""

    def warnings(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[str]:
        """What the writer is told about ``obj``, which is stored all the same."""
        return []

    def change_causes(self, kind: Kind, obj: JSONObject, old: JSONObject) -> list[StatusCause]:
        """Why an update through the object itself (not a subresource) may not make ``old`` into ``obj``."""
        return []

    def in_two_steps(self, kind: Kind) -> bool:
        """Whether a delete may leave something behind even if there are no finalizers in the metadata."""
        return False

    def before_delete(self, kind: Kind, obj: JSONObject) -> None:
        """What a delete writes into the object first.

        Raises:
            Forbidden: It may not be deleted.
        """

    def holds(self, kind: Kind, obj: JSONObject) -> bool:
        """Whether ``obj``, which is being deleted, has to stay for a reason besides its finalizers."""
        return False


@dataclass(frozen=True, slots=True)
class SeveralRules(KindRules):
    """The rules of one kind where several parts of the server have a say: all of them, in their order."""

    parts: tuple[KindRules, ...]

    def complete(self, kind: Kind, obj: JSONObject) -> None:
        """One after the other."""
        for part in self.parts:
            part.complete(kind, obj)

    def allocate(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """One after the other."""
        for part in self.parts:
            part.allocate(kind, obj, old)

    def prepare(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """One after the other."""
        for part in self.parts:
            part.prepare(kind, obj, old)

    def authorize(self, call: Call, obj: JSONObject, old: JSONObject | None) -> None:
        """Who refuses first is heard."""
        for part in self.parts:
            part.authorize(call, obj, old)

    def ascribe(self, call: Call, obj: JSONObject) -> None:
        """One after the other."""
        for part in self.parts:
            part.ascribe(call, obj)

    def causes(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[StatusCause]:
        """All there are."""
        return [cause for part in self.parts for cause in part.causes(kind, obj, old)]

    def change_causes(self, kind: Kind, obj: JSONObject, old: JSONObject) -> list[StatusCause]:
        """All there are."""
        return [cause for part in self.parts for cause in part.change_causes(kind, obj, old)]

    def warnings(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[str]:
        """All there are."""
        return [warning for part in self.parts for warning in part.warnings(kind, obj, old)]

    def in_two_steps(self, kind: Kind) -> bool:
        """Where one of them wants it."""
        return any(part.in_two_steps(kind) for part in self.parts)

    def before_delete(self, kind: Kind, obj: JSONObject) -> None:
        """One after the other."""
        for part in self.parts:
            part.before_delete(kind, obj)

    def holds(self, kind: Kind, obj: JSONObject) -> bool:
        """As long as one of them does."""
        return any(part.holds(kind, obj) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Rules:
    """Which rules apply to which kind.

    Attributes:
        by_storage_group: The rules of single resources; a resource without an entry takes any content.
    """

    by_storage_group: Mapping[str, KindRules] = field(default_factory=dict)

    def of(self, kind: Kind) -> KindRules:
        """The rules of ``kind``."""
        return self.by_storage_group.get(kind.storage_group, _NOTHING_SPECIAL)


_NOTHING_SPECIAL = KindRules()
