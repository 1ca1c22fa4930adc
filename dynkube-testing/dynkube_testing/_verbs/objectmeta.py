"""Metadata that the server sets, and validation of the metadata in requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dynkube.errors import StatusCause
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.causes import bad_value, not_allowed, required
from dynkube_testing._calls.query import digits_problem
from dynkube_testing._kinds import naming
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._verbs.sources import Identity

_MAX_ANNOTATIONS = 256 * 1024
# Fields that the server sets; values in requests are ignored.
SYSTEM_FIELDS = (
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
)
DELETION_FIELDS = frozenset({"deletionGracePeriodSeconds", "deletionTimestamp"})
_STANDARD_FINALIZERS = {"foregroundDeletion", "kubernetes", "orphan"}
_NOT_A_FINALIZER = "name is neither a standard finalizer name nor is it fully qualified"
# Groups of built-in kinds that accept finalizers of any name, as custom resources do.
_ANY_FINALIZERS = {
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "coordination.k8s.io",
}


def read_version(obj: JSONObject) -> str:
    """Return the resourceVersion of ``obj``.

    It is ``""`` if it is missing or ``0``, which mean the same.

    Raises:
        APIError: 500 if it is not a number. A real server does not validate it before its storage parses it.
    """
    text = str(obj["metadata"].get("resourceVersion") or "")
    if text and (problem := digits_problem("ParseUint", text, "[0-9]+", range(2**64))):
        raise refuse.failed(problem)
    return text if text.strip("0") else ""


def stamp_new(obj: JSONObject, kind: Kind, identity: Identity, *, applied: bool = False) -> None:
    """Set UID, creation timestamp and generation in a new object.

    Other fields that only the server sets are removed. If ``applied``, deletion timestamp and grace period are kept.
    """
    metadata = obj["metadata"]
    generation = metadata.get("generation")
    for field in SYSTEM_FIELDS:
        if not (applied and field in {"deletionGracePeriodSeconds", "deletionTimestamp"}):
            metadata.pop(field, None)
    metadata["uid"] = identity.uid()
    metadata["creationTimestamp"] = identity.timestamp()
    if kind.generation:
        metadata["generation"] = 1
    elif generation:  # kinds without generations keep what the creator sent
        metadata["generation"] = generation


def carry_over(obj: JSONObject, old: JSONObject) -> None:
    """Restore the metadata that an update cannot change from ``old``.

    Changes that are errors, such as another UID, are kept so that :func:`change_causes` reports them.
    """
    metadata, before = obj["metadata"], old["metadata"]
    for field in SYSTEM_FIELDS:
        # Kept to be reported: a new deletionTimestamp, another UID or another grace period.
        kept = (field == "deletionTimestamp" and field not in before) or (field == "uid" and metadata.get("uid"))
        if kept or (field == "deletionGracePeriodSeconds" and metadata.get(field) is not None):
            continue
        metadata.pop(field, None)
        if field in before:
            metadata[field] = before[field]


def metadata_causes(obj: JSONObject, kind: Kind) -> list[StatusCause]:
    """Validate the metadata of a new ``obj``, and return the causes of a 422, if any."""
    return _accessor_causes(obj, kind) + _builtin_finalizer_causes(obj, kind)


def change_causes(obj: JSONObject, old: JSONObject, kind: Kind, *, again: bool) -> list[StatusCause]:
    """Validate the metadata of an update, and return the causes of a 422, if any.

    A real server validates several times and reports all causes, including duplicates. So does this function.

    Args:
        obj: The new object.
        old: The stored object.
        kind: The kind of both.
        again: Whether a real server validates updates of this kind also as new objects.
    """
    changes = _change_causes(obj, old)
    causes = [*_accessor_causes(obj, kind), *changes, *changes, *_builtin_finalizer_causes(obj, kind)]
    return causes + metadata_causes(obj, kind) if again else causes


def _accessor_causes(obj: JSONObject, kind: Kind) -> list[StatusCause]:
    metadata = obj["metadata"]
    causes = _name_causes(metadata, kind)
    if (generation := metadata.get("generation", 0)) < 0:
        causes.append(bad_value("metadata.generation", generation, "must be greater than or equal to 0"))
    causes += label_causes(metadata.get("labels", {}))
    causes += annotation_causes(metadata.get("annotations", {}))
    causes += _owner_causes(metadata.get("ownerReferences", ()))
    finalizers = metadata.get("finalizers", ())
    causes += _finalizer_name_causes(finalizers)
    if {"orphan", "foregroundDeletion"} <= set(finalizers):
        detail = "finalizer orphan and foregroundDeletion cannot be both set"
        causes.append(bad_value("metadata.finalizers", list(finalizers), detail))
    return causes


def _finalizer_name_causes(finalizers: Sequence[str]) -> list[StatusCause]:
    problems = ((name, problem) for name in finalizers for problem in naming.qualified_name_problems(name))
    return [bad_value("metadata.finalizers", name, problem) for name, problem in problems]


def _change_causes(obj: JSONObject, old: JSONObject) -> list[StatusCause]:
    metadata = obj["metadata"]
    causes = finalizer_causes(obj, old)
    for field in ("uid", "deletionTimestamp", "deletionGracePeriodSeconds"):
        if metadata.get(field) != old["metadata"].get(field):
            causes.append(bad_value(f"metadata.{field}", metadata.get(field), "field is immutable"))
    causes += label_causes(metadata.get("labels", {}))
    causes += annotation_causes(metadata.get("annotations", {}))
    return causes + _owner_causes(metadata.get("ownerReferences", ()))


def _builtin_finalizer_causes(obj: JSONObject, kind: Kind) -> list[StatusCause]:
    """Validate finalizers of built-in kinds.

    For custom resources a warning is sent instead.
    """
    if kind.crd_uid is not None or kind.gvr.group in _ANY_FINALIZERS:
        return []
    finalizers = obj["metadata"].get("finalizers", ())
    return [
        bad_value(f"metadata.finalizers[{at}]", name, _NOT_A_FINALIZER)
        for at, name in enumerate(finalizers)
        if "/" not in name and name not in _STANDARD_FINALIZERS
    ]


def label_causes(labels: Mapping[str, str]) -> list[StatusCause]:
    """Validate labels, and return the causes of a 422, if any."""
    causes = []
    for key, value in labels.items():
        causes += [bad_value("metadata.labels", key, problem) for problem in naming.qualified_name_problems(key)]
        if problem := naming.label_value_problem(value):
            causes.append(bad_value("metadata.labels", value, problem))
    return causes


def without_repeated_owners(obj: JSONObject, *, patched: bool = False) -> list[str]:
    """Remove duplicate owner references from ``obj``.

    Returns a list with a warning if there were any.
    """
    owners = obj["metadata"].get("ownerReferences") or []
    repeated = [owner for index, owner in enumerate(owners) if owner in owners[:index]]
    if not repeated:
        return []
    obj["metadata"]["ownerReferences"] = [owner for at, owner in enumerate(owners) if owner not in owners[:at]]
    when = " after mutating admission happens" if patched else ""
    return [
        f".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, "
        "and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
        + ", ".join(owner.get("uid", "") for owner in repeated)
    ]


def finalizer_problem(name: str) -> str:
    """Return why ``name`` is not a valid finalizer; ``""`` if it is valid."""
    problem = naming.qualified_name_problem(name)
    return problem or (_NOT_A_FINALIZER if "/" not in name and name not in _STANDARD_FINALIZERS else "")


def finalizer_causes(obj: JSONObject, old: JSONObject) -> list[StatusCause]:
    """Return the causes of a 422 for new finalizers.

    An object that is being deleted must not get any.
    """
    if "deletionTimestamp" not in old["metadata"]:
        return []
    before = old["metadata"].get("finalizers", ())
    if not (added := [name for name in obj["metadata"].get("finalizers", ()) if name not in before]):
        return []
    listed = ", ".join(f'"{name}"' for name in added)
    detail = f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{listed}}}"
    return [not_allowed("metadata.finalizers", detail)]


def finalizer_warnings(obj: JSONObject, old: JSONObject | None, kind: Kind) -> list[str]:
    """Return warnings for new finalizers of a custom resource.

    Finalizers should be qualified by a domain.
    """
    if kind.crd_uid is None:
        return []
    before = old["metadata"].get("finalizers", ()) if old is not None else ()
    added = {name for name in obj["metadata"].get("finalizers", ()) if name not in before}
    return [
        f'metadata.finalizers: "{name}": prefer a domain-qualified finalizer name '
        f"{'including a path (/) ' if '.' in name else ''}to avoid accidental conflicts with other finalizer writers"
        for name in sorted(added)
        if "/" not in name and name not in _STANDARD_FINALIZERS
    ]


def _name_causes(metadata: JSONObject, kind: Kind) -> list[StatusCause]:
    causes = []
    # A trailing dash is valid in generateName, since a suffix is appended. So it is replaced before the check.
    if base := metadata.get("generateName"):
        masked = f"{base[:-1]}a" if base.endswith("-") else base
        if problem := naming.name_problem(kind.gvr.resource, kind.gvr.group, masked):
            causes.append(bad_value("metadata.generateName", base, problem))
    if not metadata.get("name"):
        causes.append(required("metadata.name", "name or generateName is required"))
    elif problem := naming.name_problem(kind.gvr.resource, kind.gvr.group, metadata["name"]):
        causes.append(bad_value("metadata.name", metadata["name"], problem))
    return causes


def annotation_causes(annotations: Mapping[str, str]) -> list[StatusCause]:
    """Validate annotations, and return the causes of a 422, if any."""
    causes = [
        bad_value("metadata.annotations", key, problem)
        for key in annotations
        for problem in naming.qualified_name_problems(key.lower())
    ]
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > _MAX_ANNOTATIONS:
        causes.append(
            StatusCause(
                "metadata.annotations", "FieldValueTooLong", f"Too long: may not be more than {_MAX_ANNOTATIONS} bytes"
            )
        )
    return causes


def _owner_causes(owners: Sequence[JSONObject]) -> list[StatusCause]:
    field = "metadata.ownerReferences"
    causes, controller = list[StatusCause](), ""
    for owner in owners:
        version = str(owner.get("apiVersion") or "")
        if not version.rpartition("/")[2]:
            causes.append(bad_value(f"{field}.apiVersion", version, "version must not be empty"))
        causes += [
            bad_value(f"{field}.{name}", "", "must not be empty")
            for name in ("kind", "name", "uid")
            if not owner.get(name)
        ]
        if (version, owner.get("kind")) == ("v1", "Event"):
            detail = "/v1, Kind=Event is disallowed from being an owner"
            causes.append(bad_value(field, _as_owner(owner), detail))
        if owner.get("controller"):
            name = f"{owner.get('kind')}/{owner.get('name')}"
            if controller:
                detail = (
                    'Only one reference can have Controller set to true. Found "true" in references for '
                    f"{controller} and {name}"
                )
                causes.append(bad_value(field, [_as_owner(each) for each in owners], detail))
            controller = controller or name
    return causes


def _as_owner(owner: JSONObject) -> JSONObject:
    """Return an owner reference for an error message.

    Its fields are in the order of its Go type.
    """
    required = {name: owner.get(name) or "" for name in ("apiVersion", "kind", "name", "uid")}
    return required | {name: owner[name] for name in ("controller", "blockOwnerDeletion") if name in owner}
