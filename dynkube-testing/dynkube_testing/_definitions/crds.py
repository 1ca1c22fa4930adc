"""Defaults and stored versions of a CRD, and the kinds that it defines."""

from __future__ import annotations

from collections.abc import Callable

from dynkube.meta import GVK, GVR
from dynkube.meta._gvr import version_priority
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.webhook_calls import WebhookAnswers
from dynkube_testing._definitions.decoding import zero
from dynkube_testing._definitions.shapes import Ref
from dynkube_testing._definitions.webhook_conversion import WebhookConversion
from dynkube_testing._kinds.kinds import Kind, ScalePaths
from dynkube_testing._schemas.content import VersionContent
from dynkube_testing._schemas.structural import Structural

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"

_WEBHOOK_PORT = 443


def before_delete(definition: JSONObject) -> None:
    """Set the clean-up finalizer and the Terminating condition of a deleted CRD.

    The finalizer keeps the CRD until the controller has deleted its instances.
    """
    metadata = definition["metadata"]
    if CLEANUP_FINALIZER not in metadata.get("finalizers", ()):
        metadata["finalizers"] = [*metadata.get("finalizers", ()), CLEANUP_FINALIZER]
    message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    time = metadata.get("deletionTimestamp") or metadata["creationTimestamp"]
    set_condition(definition, "Terminating", True, "InstanceDeletionPending", message, time)


def complete_spec(definition: JSONObject) -> None:
    """Set the defaults of ``names`` and ``conversion``.

    The manager of the request owns them, as if the request had set them.
    """
    spec = definition["spec"] = dict(definition["spec"])
    names = spec["names"]
    if names["kind"]:
        plain = {"singular": names["kind"].lower(), "listKind": f"{names['kind']}List"}
        spec["names"] = {**names, **{field: names.get(field) or value for field, value in plain.items()}}
    spec["conversion"] = _conversion(spec.get("conversion") or {"strategy": "None"})


def note_stored_versions(definition: JSONObject, old: JSONObject | None) -> None:
    """Add the storage version to ``status.storedVersions``.

    Args:
        definition: The decoded CRD; it is modified.
        old: The CRD that ``definition`` replaces, if any. If the status differs, the request writes the status, and
            its ``storedVersions`` are not changed unless they are empty.
    """
    spec = definition["spec"]
    status = definition["status"] = dict(definition.get("status") or zero(Ref(struct="CustomResourceDefinitionStatus")))
    stored = status["storedVersions"] or []
    if not stored or old is None or status == old["status"]:
        stores = next((version["name"] for version in spec["versions"] or () if version["storage"]), None)
        if stores is not None and stores not in stored:
            status["storedVersions"] = [*stored, stores]


def _conversion(conversion: JSONObject) -> JSONObject:
    """Return ``conversion`` with the default port, and without an empty webhook."""
    webhook = conversion.get("webhook")
    if webhook is None:
        return conversion
    client = webhook.get("clientConfig")
    if client is None and not webhook["conversionReviewVersions"]:
        return {"strategy": conversion["strategy"]}
    if client is None or "service" not in client:
        return conversion
    client = {**client, "service": {**client["service"], "port": client["service"].get("port", _WEBHOOK_PORT)}}
    return {**conversion, "webhook": {**webhook, "clientConfig": client}}


def kinds_of(
    definition: JSONObject, answers: Callable[[], WebhookAnswers | None], *, filled: bool = True
) -> tuple[Kind, ...]:
    """Return the kinds that an accepted CRD serves, one for each served version.

    Args:
        definition: The CRD.
        answers: Function that returns the answers of its conversion webhook to the present request.
        filled: Whether there are no objects that the webhook has to convert.
    """
    spec, metadata = definition["spec"], definition["metadata"]
    names = definition["status"]["acceptedNames"]
    established = condition(definition, "Established") == "True"
    stored = next((version["name"] for version in spec["versions"] if version.get("storage")), "")
    contents = _contents(spec, answers, filled)
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
            schema_source=_schema(version),
            content=contents[version["name"]],
            printer_columns=tuple(version.get("additionalPrinterColumns") or ()),
            warning=_warning(spec, version),
        )
        for version in spec["versions"]
        if version.get("served")
    )


def _schema(version: JSONObject) -> JSONObject | None:
    return (version.get("schema") or {}).get("openAPIV3Schema")


def _contents(
    spec: JSONObject, answers: Callable[[], WebhookAnswers | None], filled: bool
) -> dict[str, VersionContent]:
    """Return the conversion from and to the storage version, for each version by name."""
    versions, conversion, convert = spec["versions"], spec["conversion"], None
    if conversion["strategy"] == "Webhook":
        convert = WebhookConversion(spec["group"], spec["names"]["kind"], conversion["webhook"], answers).convert
    schemas = {version["name"]: Structural(_schema(version) or {}, version["name"]) for version in versions}
    kept = next(schemas[version["name"]] for version in versions if version.get("storage"))
    return {name: VersionContent(schema, kept, schemas, convert, filled=filled) for name, schema in schemas.items()}


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


def _warning(spec: JSONObject, version: JSONObject) -> str:
    """Return the text of the warning for a deprecated version, or ``""``.

    It is ``deprecationWarning``, or by default a text that recommends the newest version that is not deprecated.
    """
    if not version.get("deprecated"):
        return ""
    if warning := version.get("deprecationWarning"):
        return str(warning)
    group, kind = spec["group"], spec["names"]["kind"]
    text = f"{group}/{version['name']} {kind} is deprecated"
    others = [other["name"] for other in spec["versions"] if other["served"] and not other.get("deprecated")]
    best = min(others, key=version_priority, default=version["name"])
    if version_priority(best) >= version_priority(version["name"]):
        return text
    return f"{text}; use {group}/{best} {kind}"


def condition(definition: JSONObject, kind: str) -> str:
    """Return a condition's status: ``"True"``, ``"False"``, or ``""`` if absent."""
    for entry in (definition.get("status") or {}).get("conditions") or ():
        if entry.get("type") == kind:
            status: str = entry.get("status", "")
            return status
    return ""


def set_condition(definition: JSONObject, kind: str, status: bool, reason: str, message: str, time: str) -> None:
    """Set a condition; ``lastTransitionTime`` is kept if its status does not change."""
    entry = {"type": kind, "status": str(status), "lastTransitionTime": time, "reason": reason, "message": message}
    of_definition = definition.setdefault("status", {})
    conditions = of_definition["conditions"] = of_definition.get("conditions") or []
    for index, present in enumerate(conditions):
        if present.get("type") == kind:
            if present.get("status") == entry["status"]:
                entry["lastTransitionTime"] = present.get("lastTransitionTime", time)
            conditions[index] = entry
            return
    conditions.append(entry)
