"""Validation of CRDs.

As in the real server, a field that is equal in all versions (schema, subresources, columns, selectable fields) is
validated once. Its causes then have a path directly below ``spec`` (``spec.subresources``), not below
``spec.versions``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dynkube.errors import StatusCause
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.causes import bad_value, not_supported, required
from dynkube_testing._definitions.approval import approval_causes
from dynkube_testing._definitions.conversion import bundle_is_bad, conversion_causes
from dynkube_testing._definitions.crds import condition
from dynkube_testing._definitions.expressions import Expressions
from dynkube_testing._definitions.internal_form import bad_struct
from dynkube_testing._definitions.resource_schema import resource_schema_causes
from dynkube_testing._definitions.shapes import fields_of
from dynkube_testing._definitions.structural import unsupported_keyword
from dynkube_testing._definitions.version_rules import (
    column_causes,
    deprecation_causes,
    selectable_causes,
    subresource_causes,
)
from dynkube_testing._kinds import naming

_SHARED = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")


def definition_causes(definition: JSONObject, old: JSONObject | None, expressions: Expressions) -> list[StatusCause]:
    """Return the causes for an invalid ``definition``.

    Args:
        definition: The CRD, decoded, with defaults.
        old: The CRD that it replaces; ``None`` for a new CRD.
        expressions: Compiler of CEL rules.
    """
    causes = [*_name_causes(definition)] if old is None else []
    spec = definition["spec"]
    if old is None or spec != old["spec"]:
        layout = _Layout(spec, old["spec"] if old is not None else None, expressions)
        causes += [*_group_causes(spec), *_scope_causes(spec), *layout.causes()]
        causes += conversion_causes(spec["conversion"], check_bundle=_bundle_counts(old))
        if old is not None:
            causes += _immutable_causes(spec, old)
    causes += _basic_name_causes(definition["status"]["acceptedNames"], "status.acceptedNames")
    # A write to the status may set any stored versions. They are checked by the next write to other fields.
    if old is None or spec != old["spec"] or _keeps_status(definition, old):
        causes += _stored_causes(definition)
    causes += approval_causes(definition, old)
    if spec.get("preserveUnknownFields"):
        detail = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        )
        causes.append(bad_value("spec.preserveUnknownFields", True, detail))
    return causes


def _name_causes(definition: JSONObject) -> Iterator[StatusCause]:
    spec, metadata = definition["spec"], definition["metadata"]
    for field in ("generateName", "name"):
        name = metadata.get(field)
        if name and name != f"{spec['names']['plural']}.{spec['group']}":
            yield bad_value(f"metadata.{field}", name, 'must be spec.names.plural+"."+spec.group')


def _group_causes(spec: JSONObject) -> Iterator[StatusCause]:
    group = spec["group"]
    if not group:
        yield required("spec.group")
    elif problem := naming.subdomain_problem(group):
        yield bad_value("spec.group", group, problem)
    elif "." not in group:
        yield bad_value("spec.group", group, "should be a domain with at least one dot")


def _scope_causes(spec: JSONObject) -> Iterator[StatusCause]:
    if not spec["scope"]:
        yield required("spec.scope")
    elif spec["scope"] not in {"Cluster", "Namespaced"}:
        yield not_supported("spec.scope", spec["scope"], ["Cluster", "Namespaced"])


def _bundle_counts(old: JSONObject | None) -> bool:
    """Return whether an invalid ``caBundle`` of the conversion webhook is an error.

    It is one if the CRD ``old`` is established and its ``caBundle`` is not already invalid.
    """
    if old is None or condition(old, "Established") != "True":
        return False
    client = ((old["spec"].get("conversion") or {}).get("webhook") or {}).get("clientConfig") or {}
    return not (client.get("caBundle") and bundle_is_bad(old))


class _Layout:
    """The versions of a CRD, and the fields that are equal in all versions.

    Args:
        spec: The spec of the CRD.
        before: The spec that it replaces; ``None`` for a new CRD.
        expressions: Compiler of CEL rules.
    """

    def __init__(self, spec: JSONObject, before: JSONObject | None, expressions: Expressions) -> None:
        self.spec = spec
        self.expressions = expressions
        versions: list[JSONObject] = spec["versions"] or []
        first: Mapping[str, Any] = versions[0] if versions else {}
        self.shared = {
            part: first.get(part)
            for part in _SHARED
            if all(version.get(part) == first.get(part) for version in versions)
        }
        #: The versions without the fields in ``shared``.
        self.versions = [
            {key: value for key, value in version.items() if key not in self.shared} for version in versions
        ]
        self._before = {version["name"]: version for version in (before or {}).get("versions") or ()}

    def causes(self) -> Iterator[StatusCause]:
        """Yield the causes in versions, names, and fields shared by all versions."""
        yield from self._schema_presence_causes()
        for index, version in enumerate(self.versions):
            yield from self._version_causes(version, f"spec.versions[{index}]")
        yield from self._list_causes()
        yield from _names_causes(self.spec["names"])
        has_status = any(map(self._has_status, self.versions))
        first = self.versions[0]["name"] if self.versions else ""
        yield from self._schema_causes(self.shared.get("schema"), "spec.validation", first, has_status)
        yield from subresource_causes(self.shared.get("subresources"), "spec.subresources")
        yield from column_causes(self.shared.get("additionalPrinterColumns") or (), "spec.additionalPrinterColumns")
        if fields := self.shared.get("selectableFields"):
            yield from self._shared_field_causes(fields)

    def _schema_presence_causes(self) -> Iterator[StatusCause]:
        if (self.shared.get("schema") or {}).get("openAPIV3Schema") is not None:
            return
        for index, version in enumerate(self.versions):
            if (version.get("schema") or {}).get("openAPIV3Schema") is None:
                yield required(f"spec.versions[{index}].schema.openAPIV3Schema")

    def _version_causes(self, version: JSONObject, field: str) -> Iterator[StatusCause]:
        if problem := naming.dns1035_problem(version["name"]):
            yield bad_value(f"{field}.name", version["name"], problem)
        yield from deprecation_causes(version, field)
        schema = version.get("schema")
        yield from self._schema_causes(schema, f"{field}.schema", version["name"], self._has_status(version))
        yield from subresource_causes(version.get("subresources"), f"{field}.subresources")
        yield from column_causes(version.get("additionalPrinterColumns", ()), f"{field}.additionalPrinterColumns")
        if fields := version.get("selectableFields"):
            yield from self._field_causes(fields, schema, field, version["name"])

    def _schema_causes(
        self, holder: JSONObject | None, field: str, name: str, has_status: bool
    ) -> Iterator[StatusCause]:
        causes = resource_schema_causes(holder, field, has_status=has_status)
        yield from causes
        if not causes and holder is not None and "openAPIV3Schema" in holder:
            unchanged = name in self._before and self._before[name].get("schema") == holder
            schema = holder["openAPIV3Schema"]
            yield from self.expressions.causes(schema, f"{field}.openAPIV3Schema", unchanged=unchanged)

    def _field_causes(
        self, fields: list[JSONObject], holder: JSONObject | None, field: str, name: str
    ) -> Iterator[StatusCause]:
        schema = (holder or {}).get("openAPIV3Schema")
        if schema is None:
            detail = "may only be set when `version.schema.openAPIV3Schema` is not included"
            yield bad_value(f"{field}.selectableFields", "", detail)
        elif problem := unsupported_keyword(schema):
            yield bad_value(f"{field}.schema.openAPIV3Schema", "", problem)
        else:
            unchanged = self._before.get(name, {}).get("selectableFields") == fields
            yield from selectable_causes(fields, schema, f"{field}.selectableFields", unchanged=unchanged)

    def _shared_field_causes(self, fields: list[JSONObject]) -> Iterator[StatusCause]:
        if self.shared.get("schema") is None:
            yield bad_value("spec.selectableFields", "", "may only be set when validations.schema is included")
        else:
            yield from self._field_causes(fields, self.shared["schema"], "spec", self.versions[0]["name"])

    def _list_causes(self) -> Iterator[StatusCause]:
        shape = fields_of("CustomResourceDefinitionSpec")["versions"].shape
        names = [version["name"] for version in self.versions]
        shown = self.versions if self.spec["versions"] is not None else None
        if len(set(names)) < len(names):
            yield bad_struct("spec.versions", shape, shown, "must contain unique version names")
        if sum(version["storage"] for version in self.versions) != 1:
            detail = "must have exactly one version marked as storage version"
            yield bad_struct("spec.versions", shape, shown, detail)
        if names and names[0] and (problem := naming.dns1035_problem(names[0])):
            yield bad_value("spec.version", names[0], problem)

    def _has_status(self, version: JSONObject) -> bool:
        subresources = self.shared["subresources"] if "subresources" in self.shared else version.get("subresources")
        return (subresources or {}).get("status") is not None


def _names_causes(names: JSONObject) -> Iterator[StatusCause]:
    for field in ("plural", "singular", "kind", "listKind"):
        if not names.get(field):
            yield required(f"spec.names.{field}")
    yield from _basic_name_causes(names, "spec.names")


def _basic_name_causes(names: JSONObject, field: str) -> Iterator[StatusCause]:
    """Yield a cause for each invalid name.

    ``names`` is ``spec.names`` (requested) or ``status.acceptedNames`` (accepted).
    """
    for name in ("plural", "singular", "kind", "listKind"):
        if value := names.get(name):
            folded = name in {"kind", "listKind"}
            if problem := naming.dns1035_problem(value.lower() if folded else value):
                hint = "may have mixed case, but should otherwise match: " if folded else ""
                yield bad_value(f"{field}.{name}", value, hint + problem)
    for index, value in enumerate(names.get("shortNames", ())):
        if problem := naming.dns1035_problem(value):
            yield bad_value(f"{field}.shortNames[{index}]", value, problem)
    if names.get("kind") and names["kind"] == names.get("listKind"):
        yield bad_value(f"{field}.listKind", names["listKind"], "kind and listKind may not be the same")
    for index, value in enumerate(names.get("categories", ())):
        if problem := naming.dns1035_problem(value):
            yield bad_value(f"{field}.categories[{index}]", value, problem)


def _immutable_causes(spec: JSONObject, old: JSONObject) -> Iterator[StatusCause]:
    before = old["spec"]
    values = [("spec.group", spec["group"], before["group"])]
    values.append(("spec.names.plural", spec["names"]["plural"], before["names"]["plural"]))
    if condition(old, "Established") == "True":
        kinds = ("spec.names.kind", spec["names"]["kind"], before["names"]["kind"])
        values = [("spec.scope", spec["scope"], before["scope"]), kinds, *values]
    for field, value, present in values:
        if value != present:
            yield bad_value(field, value, "field is immutable")


def _keeps_status(definition: JSONObject, old: JSONObject) -> bool:
    """Return whether the status is unchanged, except for appended stored versions."""
    status, before = definition["status"], old["status"]
    added = len(status["storedVersions"]) - len(before["storedVersions"])
    return bool({**status, "storedVersions": status["storedVersions"][: -added or None]} == before)


def _stored_causes(definition: JSONObject) -> Iterator[StatusCause]:
    field, stored = "status.storedVersions", definition["status"]["storedVersions"]
    if not stored:
        yield bad_value(field, stored, "must have at least one stored version")
        return
    versions = definition["spec"]["versions"] or ()
    for version in versions:
        if version["storage"] and version["name"] not in stored:
            yield bad_value(field, stored, f"must have the storage version {version['name']}")
    for index, name in enumerate(stored):
        if name not in {version["name"] for version in versions}:
            detail = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and "
                f"removes {name} from status.storedVersions"
            )
            yield bad_value(f"{field}[{index}]", name, detail)
