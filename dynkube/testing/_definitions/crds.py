"""CustomResourceDefinitions as data: their conditions, their names, and the kinds they define."""

from __future__ import annotations

from collections.abc import Iterable

from dynkube.meta import GVK, GVR
from dynkube.testing._calls.api import JSONObject
from dynkube.testing._kinds.kinds import Kind, ScalePaths

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"

_NAME_FIELDS = ("plural", "singular", "shortNames", "kind", "listKind", "categories")


def condition(definition: JSONObject, kind: str) -> str:
    """The status of a condition: ``"True"``, ``"False"``, or ``""`` where it is not there."""
    for entry in definition.get("status", {}).get("conditions") or ():
        if entry.get("type") == kind:
            status: str = entry.get("status", "")
            return status
    return ""


def set_condition(definition: JSONObject, kind: str, status: bool, reason: str, message: str, time: str) -> None:
    """Set a condition; its transition time moves only when its status does."""
    entry = {"type": kind, "status": str(status), "lastTransitionTime": time, "reason": reason, "message": message}
    conditions = definition.setdefault("status", {}).setdefault("conditions", [])
    for index, present in enumerate(conditions):
        if present.get("type") == kind:
            if present.get("status") == entry["status"]:
                entry["lastTransitionTime"] = present.get("lastTransitionTime", time)
            conditions[index] = entry
            return
    conditions.append(entry)


def before_delete(definition: JSONObject) -> None:
    """What a delete writes into a definition: its instances go first."""
    metadata = definition["metadata"]
    if CLEANUP_FINALIZER not in metadata.get("finalizers", ()):
        metadata["finalizers"] = [*metadata.get("finalizers", ()), CLEANUP_FINALIZER]
    message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    time = metadata.get("deletionTimestamp") or metadata["creationTimestamp"]
    set_condition(definition, "Terminating", True, "InstanceDeletionPending", message, time)


def fill_defaults(definition: JSONObject) -> None:
    """Set what the server sets on each write: names, conversion, stored versions, the empty status."""
    spec = definition.get("spec")
    if not isinstance(spec, dict):
        return
    names = spec.get("names")
    if isinstance(names, dict) and isinstance(names.get("kind"), str):
        names = {"singular": names["kind"].lower(), "listKind": f"{names['kind']}List", **names}
    definition["spec"] = spec = {"conversion": {"strategy": "None"}, **spec, "names": names}
    status = dict(definition.get("status") or {"acceptedNames": {"kind": "", "plural": ""}, "conditions": []})
    versions = spec.get("versions")
    stored = list(status.get("storedVersions") or ())
    for version in versions if isinstance(versions, list) else ():
        if isinstance(version, dict) and version.get("storage") is True and version.get("name") not in stored:
            stored.append(version.get("name"))
    definition["status"] = {**status, "storedVersions": stored}


def kinds_of(definition: JSONObject) -> tuple[Kind, ...]:
    """The kinds that an accepted definition serves, one for each served version."""
    spec, metadata = definition["spec"], definition["metadata"]
    names = {**spec["names"], **definition["status"].get("acceptedNames", {})}
    established = condition(definition, "Established") == "True"
    stored = next((version["name"] for version in spec["versions"] if version.get("storage")), "")
    return tuple(
        Kind(
            gvr=GVR(spec["group"], version["name"], names["plural"]),
            kind=names["kind"],
            list_kind=names.get("listKind", ""),
            singular=names.get("singular", ""),
            namespaced=spec["scope"] == "Namespaced",
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            subresources=tuple(sorted(version.get("subresources") or ())),
            stored_as=GVK(spec["group"], stored, names["kind"]),
            listed=established,
            selectable_fields=_selectable(version),
            scale=_scale(version),
            crd_uid=metadata["uid"],
            terminating=condition(definition, "Terminating") == "True",
            schema_source=(version.get("schema") or {}).get("openAPIV3Schema"),
            printer_columns=tuple(version.get("additionalPrinterColumns") or ()),
            warning=_warning(spec["group"], names["kind"], version),
        )
        for version in spec["versions"]
        if version.get("served")
    )


def _selectable(version: JSONObject) -> tuple[str, ...]:
    return tuple(field["jsonPath"].removeprefix(".") for field in version.get("selectableFields") or ())


def _scale(version: JSONObject) -> ScalePaths | None:
    scale = (version.get("subresources") or {}).get("scale")
    if scale is None:
        return None
    return ScalePaths(
        spec_replicas=scale.get("specReplicasPath", ".spec.replicas"),
        status_replicas=scale.get("statusReplicasPath", ".status.replicas"),
        label_selector=scale.get("labelSelectorPath", ""),
    )


def _warning(group: str, kind: str, version: JSONObject) -> str:
    if not version.get("deprecated"):
        return ""
    text: str = version.get("deprecationWarning") or f"{group}/{version['name']} {kind} is deprecated"
    return text


def accept_names(definition: JSONObject, taken_resources: set[str], taken_kinds: set[str], time: str) -> None:
    """Give the definition the names it asks for, as far as no other definition of its group has them."""
    wanted = definition["spec"]["names"]
    accepted = dict(definition["status"].get("acceptedNames") or {})
    conflict = ""
    message = "no conflicts found"
    for field in _NAME_FIELDS:
        if field not in wanted:
            accepted.pop(field, None)
            continue
        taken = taken_kinds if field in {"kind", "listKind"} else taken_resources if field != "categories" else set()
        clashes = sorted(set(_texts(wanted[field])) & taken)
        if clashes:
            conflict = f"{field[0].upper()}{field[1:]}Conflict"
            message = ", ".join(f'"{name}" is already in use' for name in clashes)
        else:
            accepted[field] = wanted[field]
    definition["status"]["acceptedNames"] = {"kind": "", "plural": "", **accepted}
    set_condition(definition, "NamesAccepted", not conflict, conflict or "NoConflicts", message, time)
    if condition(definition, "Established") == "True":
        return
    if conflict:
        set_condition(definition, "Established", False, "NotAccepted", "not all names are accepted", time)
    else:
        set_condition(definition, "Established", False, "Installing", "the initial names have been accepted", time)


def resource_names(accepted: JSONObject) -> set[str]:
    """The words that a definition's accepted names take from others as names of resources."""
    return {*_texts(accepted.get("plural")), *_texts(accepted.get("singular")), *_texts(accepted.get("shortNames"))}


def kind_names(accepted: JSONObject) -> set[str]:
    """The words that a definition's accepted names take from others as kinds."""
    return {*_texts(accepted.get("kind")), *_texts(accepted.get("listKind"))}


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        return (value,) if value else ()
    return value if isinstance(value, list) else ()
