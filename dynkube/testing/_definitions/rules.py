"""What the server does about definitions on their way in and out."""

from __future__ import annotations

from dynkube.errors import StatusCause
from dynkube.testing._calls.api import JSONObject
from dynkube.testing._definitions.crds import before_delete, complete_spec, note_stored_versions
from dynkube.testing._definitions.expressions import Expressions
from dynkube.testing._definitions.validation import definition_causes
from dynkube.testing._definitions.warnings import definition_warnings
from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._verbs.rules import KindRules


class DefinitionRules(KindRules):
    """CustomResourceDefinitions are checked, completed, and deleted after their instances."""

    def __init__(self) -> None:
        self._expressions = Expressions()

    def complete(self, kind: Kind, obj: JSONObject) -> None:
        """Names and conversion."""
        complete_spec(obj)

    def prepare(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """Stored versions, the empty status."""
        note_stored_versions(obj, old)

    def causes(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[StatusCause]:
        """Names, group, scope, versions and schemas."""
        return definition_causes(obj, old, self._expressions)

    def warnings(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[str]:
        """Formats that nobody checks."""
        return definition_warnings(obj, old)

    def in_two_steps(self, kind: Kind) -> bool:
        """Always."""
        return True

    def before_delete(self, kind: Kind, obj: JSONObject) -> None:
        """Ask for the clean-up of its instances."""
        before_delete(obj)
