"""Whether a CustomResourceDefinition can be stored: its names, group, scope and versions.

Schemas are taken as they are here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dynkube.errors import StatusCause
from dynkube.testing._calls.api import JSONObject
from dynkube.testing._calls.refuse import bad_value, duplicate, not_supported, required
from dynkube.testing._definitions.crds import condition
from dynkube.testing._kinds import naming

_APPROVAL = "api-approved.kubernetes.io"
_PROTECTED = ("k8s.io", "kubernetes.io")


def definition_causes(definition: JSONObject, old: JSONObject | None) -> list[StatusCause]:
    """Why ``definition`` cannot be stored, be it new or in place of ``old``."""
    spec = definition.get("spec")
    if not isinstance(spec, dict):
        return [required("spec")]
    causes = [*_group_causes(spec, definition), *_scope_causes(spec), *_names_causes(spec, definition)]
    causes += _versions_causes(spec.get("versions"))
    if not causes:
        causes += [*_stored_causes(definition)]
        if old is not None:
            causes += _immutable_causes(spec, old)
    return causes


def _group_causes(spec: JSONObject, definition: JSONObject) -> Iterator[StatusCause]:
    group = spec.get("group")
    if not isinstance(group, str) or not group:
        yield required("spec.group")
        return
    if problem := naming.subdomain_problem(group):
        yield bad_value("spec.group", group, problem)
    elif "." not in group:
        yield bad_value("spec.group", group, "should be a domain with at least one dot")
    protected = group in _PROTECTED or group.endswith(tuple(f".{domain}" for domain in _PROTECTED))
    annotations = definition["metadata"].get("annotations", {})
    if protected and not annotations.get(_APPROVAL):
        detail = (
            f'protected groups must have approval annotation "{_APPROVAL}", '
            "see https://github.com/kubernetes/enhancements/pull/1111"
        )
        yield required(f"metadata.annotations[{_APPROVAL}]", detail)


def _scope_causes(spec: JSONObject) -> Iterator[StatusCause]:
    scope = spec.get("scope")
    if not scope:
        yield required("spec.scope")
    elif scope not in {"Cluster", "Namespaced"}:
        yield not_supported("spec.scope", scope, ["Cluster", "Namespaced"])


def _names_causes(spec: JSONObject, definition: JSONObject) -> Iterator[StatusCause]:
    names = spec.get("names")
    if not isinstance(names, dict):
        yield required("spec.names.plural")
        yield required("spec.names.kind")
        return
    for field in ("plural", "singular", "kind", "listKind"):
        value = names.get(field)
        if not isinstance(value, str) or not value:
            yield required(f"spec.names.{field}")
        elif problem := naming.dns1035_problem(value.lower() if field in {"kind", "listKind"} else value):
            yield bad_value(f"spec.names.{field}", value, problem)
    for field in ("shortNames", "categories"):
        values = names.get(field) or []
        for index, value in enumerate(values if isinstance(values, list) else []):
            if problem := naming.dns1035_problem(str(value)):
                yield bad_value(f"spec.names.{field}[{index}]", value, problem)
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        yield bad_value("spec.names.listKind", names["listKind"], "kind and listKind may not be the same")
    expected = f"{names.get('plural')}.{spec.get('group')}"
    if definition["metadata"].get("name") != expected:
        yield bad_value("metadata.name", definition["metadata"].get("name"), 'must be spec.names.plural+"."+spec.group')


def _versions_causes(versions: object) -> list[StatusCause]:
    if not isinstance(versions, list) or not versions or not all(isinstance(version, dict) for version in versions):
        return [required("spec.versions", "must have at least one version")]
    causes = [cause for index, version in enumerate(versions) for cause in _version_causes(index, version)]
    names = [version.get("name") for version in versions]
    causes += [
        duplicate(f"spec.versions[{index}].name", name) for index, name in enumerate(names) if name in names[:index]
    ]
    if sum(version.get("storage") is True for version in versions) != 1:
        detail = "must have exactly one version marked as storage version"
        causes.append(bad_value("spec.versions", _shortened(versions), detail))
    return causes


def _version_causes(index: int, version: JSONObject) -> Iterator[StatusCause]:
    field = f"spec.versions[{index}]"
    name = version.get("name")
    if not isinstance(name, str) or not name:
        yield required(f"{field}.name")
    elif problem := naming.dns1035_problem(name):
        yield bad_value(f"{field}.name", name, problem)
    for flag in ("served", "storage"):
        if not isinstance(version.get(flag), bool):
            yield required(f"{field}.{flag}")
    schema = version.get("schema")
    if not isinstance(schema, dict) or not isinstance(schema.get("openAPIV3Schema"), dict):
        yield required(f"{field}.schema.openAPIV3Schema", "schemas are required")
    subresources = version.get("subresources") or {}
    unknown = sorted(set(subresources) - {"status", "scale"}) if isinstance(subresources, Mapping) else []
    for subresource in unknown:
        yield bad_value(f"{field}.subresources", subresource, "only status and scale are known")
    scale = subresources.get("scale") if isinstance(subresources, Mapping) else None
    for path, under in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
        if isinstance(scale, Mapping):
            value = scale.get(path)
            if not value:
                yield required(f"{field}.subresources.scale.{path}")
            elif not str(value).startswith(under):
                detail = f"should be a json path under {under[:-1]}"
                yield bad_value(f"{field}.subresources.scale.{path}", value, detail)


def _stored_causes(definition: JSONObject) -> Iterator[StatusCause]:
    names = {version["name"] for version in definition["spec"]["versions"]}
    for index, stored in enumerate(definition["status"].get("storedVersions", ())):
        if stored not in names:
            detail = (
                f"missing from spec.versions; {stored} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {stored} and "
                f"removes {stored} from status.storedVersions"
            )
            yield bad_value(f"status.storedVersions[{index}]", stored, detail)


def _immutable_causes(spec: JSONObject, old: JSONObject) -> Iterator[StatusCause]:
    fields: list[Sequence[str]] = [("group",), ("names", "plural")]
    if condition(old, "Established") == "True":
        fields += [("scope",), ("names", "kind")]
    for path in fields:
        value, before = _at(spec, path), _at(old["spec"], path)
        if value != before:
            yield bad_value(f"spec.{'.'.join(path)}", value, "field is immutable")


def _at(value: Any, path: Sequence[str]) -> Any:
    for name in path:
        value = value[name]
    return value


def _shortened(versions: list[JSONObject]) -> list[JSONObject]:
    """The versions without their schemas: a message is to be read."""
    return [{key: value for key, value in version.items() if key != "schema"} for version in versions]
