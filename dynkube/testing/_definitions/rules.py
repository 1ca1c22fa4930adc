"""Server-side treatment of CRDs: defaults, validation, warnings, deletion."""

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
    """Validates and completes CRDs, and deletes their instances before them."""

    def __init__(self) -> None:
        self._expressions = Expressions()

    def complete(self, kind: Kind, obj: JSONObject) -> None:
        """Set the defaults of names and conversion."""
        complete_spec(obj)

    def prepare(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """Set ``status.storedVersions``, and the empty status."""
        note_stored_versions(obj, old)

    def causes(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[StatusCause]:
        """Return the causes for invalid names, group, scope, versions or schemas."""
        return definition_causes(obj, old, self._expressions)

    def warnings(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[str]:
        """Return warnings about formats in schemas that are not checked."""
        return definition_warnings(obj, old)

    def in_two_steps(self, kind: Kind) -> bool:
        """Return ``True``: a delete only marks a CRD until its instances are gone."""
        return True

    def before_delete(self, kind: Kind, obj: JSONObject) -> None:
        """Add the finalizer for the clean-up of its instances."""
        before_delete(obj)
