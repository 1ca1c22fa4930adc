"""The rules for writes to CRDs: defaults, validation, warnings, deletion."""

from __future__ import annotations

from collections.abc import Iterator

from dynkube.errors import StatusCause
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._definitions.crds import before_delete, complete_spec, note_stored_versions
from dynkube_testing._definitions.expressions import Expressions
from dynkube_testing._definitions.validation import definition_causes
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._schemas.formats import checked_format
from dynkube_testing._verbs.rules import KindRules


class DefinitionRules(KindRules):
    """The rules for writes to CRDs."""

    def __init__(self) -> None:
        self._expressions = Expressions()

    def complete(self, kind: Kind, obj: JSONObject) -> None:
        """Set the defaults in ``spec.names`` and ``spec.conversion`` of a CRD."""
        complete_spec(obj)

    def prepare(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """Set ``status.storedVersions``, and the other fields of an absent status."""
        note_stored_versions(obj, old)

    def causes(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[StatusCause]:
        """Return the causes for an invalid CRD."""
        return definition_causes(obj, old, self._expressions)

    def warnings(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[str]:
        """Return warnings about values of ``format`` that the server does not check."""
        return definition_warnings(obj, old)

    def in_two_steps(self, kind: Kind) -> bool:
        """Return ``True``: a delete only marks the CRD; it is removed after its instances."""
        return True

    def before_delete(self, kind: Kind, obj: JSONObject) -> None:
        """Set the finalizer that keeps the CRD until its instances are deleted."""
        before_delete(obj)


def definition_warnings(definition: JSONObject, old: JSONObject | None) -> list[str]:
    """Return the warnings for ``definition``; on an update, only for new formats."""
    before = set(_formats(old)) if old is not None else set()
    return [f'unrecognized format "{name}"' for name in dict.fromkeys(_formats(definition)) if name not in before]


def _formats(definition: JSONObject) -> Iterator[str]:
    for version in definition["spec"]["versions"] or ():
        if (schema := (version.get("schema") or {}).get("openAPIV3Schema")) is not None:
            yield from _unchecked(schema)


def _unchecked(schema: JSONObject) -> Iterator[str]:
    name, kind = schema.get("format", ""), schema.get("type", "")
    if name and not checked_format(name, (kind,)):
        yield name
    below = [schema.get("items"), *(branch for key in ("allOf", "anyOf", "oneOf") for branch in schema.get(key, ()))]
    below += [schema.get("not"), *schema.get("properties", {}).values(), schema.get("additionalProperties")]
    for part in below:
        if isinstance(part, dict):
            yield from _unchecked(part)
