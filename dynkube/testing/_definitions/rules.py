"""What the server does about definitions on their way in and out."""

from __future__ import annotations

from dynkube.errors import StatusCause
from dynkube.testing._calls.api import JSONObject
from dynkube.testing._calls.refuse import bad_request
from dynkube.testing._definitions.crds import before_delete, fill_defaults
from dynkube.testing._definitions.decoding import Unreadable, decode_definition
from dynkube.testing._definitions.validation import definition_causes
from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._verbs.rules import KindRules


class DefinitionRules(KindRules):
    """CustomResourceDefinitions are checked, completed, and deleted after their instances."""

    def prepare(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """Read it into typed fields, and fill in names, conversion and stored versions.

        Raises:
            BadRequest: A field has another type than it should.
        """
        try:
            decoded = decode_definition(obj).definition
        except Unreadable as trouble:
            message = f'{kind.kind} in version "{kind.gvr.version}" cannot be handled as a {kind.kind}: {trouble}'
            raise bad_request(message) from None
        fill_defaults(decoded, old)
        obj.clear()
        obj.update(decoded)

    def causes(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[StatusCause]:
        """Names, group, scope, versions and schemas."""
        return definition_causes(obj, old)

    def in_two_steps(self, kind: Kind) -> bool:
        """Always."""
        return True

    def before_delete(self, kind: Kind, obj: JSONObject) -> None:
        """Ask for the clean-up of its instances."""
        before_delete(obj)
