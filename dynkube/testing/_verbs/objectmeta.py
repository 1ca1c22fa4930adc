"""What the server itself says in an object's metadata, and what it lets others say there."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from dynkube.errors import APIError, StatusCause
from dynkube.meta import GVK
from dynkube.testing._calls import refuse
from dynkube.testing._calls.api import Call, JSONObject
from dynkube.testing._calls.gotext import json_name
from dynkube.testing._calls.query import digits_problem
from dynkube.testing._kinds import naming
from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._kinds.schemas import builtin_schemas

_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_MAX_GENERATED_BASE = 63 - _SUFFIX_LENGTH
_MAX_ANNOTATIONS = 256 * 1024
# Written by the server; what a request says there does not count.
SYSTEM_FIELDS = (
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
)
_STANDARD_FINALIZERS = {"foregroundDeletion", "kubernetes", "orphan"}
_NOT_A_FINALIZER = "name is neither a standard finalizer name nor is it fully qualified"
# Groups of built-in kinds that take finalizers of any name, as custom resources do.
_ANY_FINALIZERS = {
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "coordination.k8s.io",
}
# Groups that parts of a real server have for themselves: the others do not know their kinds.
_OTHER_SCHEMES = {"apiextensions.k8s.io", "apiregistration.k8s.io"}


@dataclass(frozen=True, slots=True)
class Identity:
    """Where times, UIDs and generated names come from; injected, so that tests can have them fixed."""

    now: Callable[[], datetime]
    random: random.Random

    def timestamp(self) -> str:
        """Now, as ``creationTimestamp`` has it."""
        return self.now().astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"

    def uid(self) -> str:
        """A new UID."""
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def generated(self, base: str) -> str:
        """A name from ``generateName``."""
        suffix = "".join(self.random.choice(_SUFFIX_LETTERS) for _ in range(_SUFFIX_LENGTH))
        return base[:_MAX_GENERATED_BASE] + suffix


def own_copy(call: Call) -> JSONObject:
    """The body of ``call`` as an object whose top level and metadata may be changed; no value was looked at.

    Raises:
        BadRequest: It is no object, or of another version than the path's.
        Invalid: It is a custom resource of another kind.
    """
    body = call.body
    if not isinstance(body, dict):
        raise refuse.bad_request("the body of the request must be a JSON object")
    obj: JSONObject = dict(body)
    _check_type(obj, call.kind)
    metadata = obj.get("metadata")
    if metadata is None:
        metadata = {}
    if isinstance(metadata, dict):
        metadata = {key: _without_nulls(key, value) for key, value in metadata.items() if value is not None}
    obj["metadata"] = metadata
    return obj


def _without_nulls(field: str, value: Any) -> Any:
    """A null inside of a list or map is what Go makes of it: a zero value."""
    if isinstance(value, dict) and None in value.values():
        return {key: "" if content is None else content for key, content in value.items()}
    if isinstance(value, list) and None in value:
        zero: Any = "" if field == "finalizers" else {}
        return [zero if content is None else content for content in value]
    return value


def _check_type(obj: JSONObject, kind: Kind) -> None:
    for field, expected in (("apiVersion", kind.api_version), ("kind", kind.kind)):
        value = obj.get(field)
        if value == expected:
            continue
        if kind.crd_uid is not None:
            raise _wrong_custom_type(obj, kind)
        if value not in {None, ""} if isinstance(value, str | None) else True:
            raise _wrong_builtin_type(obj, kind)
        obj[field] = expected  # built-in kinds are decoded with the path's kind as the default


def _wrong_custom_type(obj: JSONObject, kind: Kind) -> Exception:
    version, name = obj.get("apiVersion") or "", obj.get("kind") or ""
    if name and obj.get("apiVersion", "") is None:
        trouble = ".apiVersion accessor error: <nil> is of the type <nil>, expected string"
        return refuse.bad_request(f'{name} in version "" cannot be handled as a {kind.kind}: {trouble}')
    for field, value in (("apiVersion", version), ("kind", name)):
        if not isinstance(value, str):
            trouble = f"json: cannot unmarshal {json_name(value)} into Go struct field .{field} of type string"
            return _unrecognized(obj, kind, f"couldn't get version/kind; json parse error: {trouble}")
    if not name:
        return _unrecognized(obj, kind, f"Object 'Kind' is missing in '{json.dumps(obj)}'")
    if version != kind.api_version:
        return refuse.bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({kind.api_version})"
        )
    metadata = obj.get("metadata")
    given = metadata.get("name") if isinstance(metadata, dict) else ""
    return refuse.invalid_kind(kind.gvr.group, name, str(given or ""), kind.kind)


def _unrecognized(obj: JSONObject, kind: Kind, why: str) -> Exception:
    text = json.dumps(obj)
    summary = f"{text[:30]} ..." if len(text) > 30 else text
    return refuse.bad_request(f"the object provided is unrecognized (must be of type {kind.kind}): {why} ({summary})")


def _wrong_builtin_type(obj: JSONObject, kind: Kind) -> Exception:
    version, name = str(obj.get("apiVersion") or kind.api_version), str(obj.get("kind") or kind.kind)
    short, problem = version.rpartition("/")[2], conversion_problem(version, name, kind.gvk)
    return refuse.bad_request(f'{name} in version "{short}" cannot be handled as a {kind.kind}: {problem}')


def conversion_problem(version: str, name: str, wanted: GVK) -> str:
    """Why objects of another ``apiVersion`` or ``kind`` are none of the built-in kind ``wanted``."""
    group, _, short = version.rpartition("/")
    if group not in _OTHER_SCHEMES and builtin_schemas().name_of(GVK(group, short, name)) is not None:
        # It is read as what it is first, and that cannot be made what is wanted.
        package = wanted.group.partition(".")[0] or "core"
        return f"converting ({short}.{name}) to ({package}.{wanted.kind}): unknown conversion"
    return f'no kind "{name}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:111"'


def check_namespace(obj: JSONObject, call: Call) -> None:
    """Give ``obj`` the namespace of the path.

    Raises:
        BadRequest: It says another one.
    """
    metadata = obj["metadata"]
    given = metadata.get("namespace", "")
    if not call.kind.namespaced:
        metadata.pop("namespace", None)  # the real server takes no offence at one here
    elif not call.namespace:
        raise refuse.bad_request("an empty namespace may not be set during creation")
    elif given and given != call.namespace:
        raise refuse.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    else:
        metadata["namespace"] = call.namespace


def check_name_in_path(obj: JSONObject, call: Call, *, required: bool = True) -> None:
    """Refuse a body that names another object than the path does, or none where it has to.

    Raises:
        BadRequest: It does.
    """
    if required and not obj["metadata"].get("name"):
        raise nameless(call)
    name = obj["metadata"].get("name") or call.name
    if name != call.name:
        raise refuse.bad_request(f"the name of the object ({name}) does not match the name on the URL ({call.name})")


def nameless(call: Call) -> APIError:
    """The refusal of a body that names no object."""
    return refuse.bad_request(
        f"the name of the object ({call.name} based on URL) was undeterminable: name must be provided"
    )


def read_version(obj: JSONObject) -> str:
    """The resourceVersion that ``obj`` names; ``""`` where it names none, which ``0`` means too.

    Raises:
        APIError: It is no number: 500, since the real server's storage is the first to look at it.
    """
    text = str(obj["metadata"].get("resourceVersion") or "")
    if text and (problem := digits_problem("ParseUint", text, "[0-9]+", range(2**64))):
        raise refuse.failed(problem)
    return text if text.strip("0") else ""


def stamp_new(obj: JSONObject, kind: Kind, identity: Identity, *, applied: bool = False) -> None:
    """Set what the server sets on creation; who creates by an apply may say how long a deletion will take."""
    metadata = obj["metadata"]
    generation = metadata.get("generation")
    for field in SYSTEM_FIELDS:
        if not (applied and field in {"deletionGracePeriodSeconds", "deletionTimestamp"}):
            metadata.pop(field, None)
    metadata["uid"] = identity.uid()
    metadata["creationTimestamp"] = identity.timestamp()
    if kind.generation:
        metadata["generation"] = 1
    elif generation:  # where the server does not count, whoever creates the object may say what they like
        metadata["generation"] = generation


def carry_over(obj: JSONObject, old: JSONObject) -> None:
    """Set what an update cannot change; what is told so is found by :func:`change_causes`."""
    metadata, before = obj["metadata"], old["metadata"]
    for field in SYSTEM_FIELDS:
        # A deletion cannot be called off, and its grace period not be forgotten; both cannot be made up either.
        kept = (field == "deletionTimestamp" and field not in before) or (field == "uid" and metadata.get("uid"))
        if kept or (field == "deletionGracePeriodSeconds" and metadata.get(field) is not None):
            continue
        metadata.pop(field, None)
        if field in before:
            metadata[field] = before[field]


def metadata_causes(obj: JSONObject, kind: Kind) -> list[StatusCause]:
    """What is wrong with the metadata of a new ``obj``, as the causes of a 422."""
    return _accessor_causes(obj, kind) + _builtin_finalizer_causes(obj, kind)


def change_causes(obj: JSONObject, old: JSONObject, kind: Kind, *, again: bool) -> list[StatusCause]:
    """What is wrong with the metadata of ``obj``, which is to replace ``old``.

    A real server looks several times, and says all that it has found.

    Args:
        obj: What results from an update.
        old: What was there.
        kind: Of both.
        again: Whether updates of this kind are validated as if they were new, too.
    """
    changes = _change_causes(obj, old)
    causes = [*_accessor_causes(obj, kind), *changes, *changes, *_builtin_finalizer_causes(obj, kind)]
    return causes + metadata_causes(obj, kind) if again else causes


def _accessor_causes(obj: JSONObject, kind: Kind) -> list[StatusCause]:
    metadata = obj["metadata"]
    causes = _name_causes(metadata, kind)
    if (generation := metadata.get("generation", 0)) < 0:
        causes.append(refuse.bad_value("metadata.generation", generation, "must be greater than or equal to 0"))
    causes += _label_causes(metadata.get("labels", {}))
    causes += _annotation_causes(metadata.get("annotations", {}))
    causes += _owner_causes(metadata.get("ownerReferences", ()))
    finalizers = metadata.get("finalizers", ())
    causes += _finalizer_name_causes(finalizers)
    if {"orphan", "foregroundDeletion"} <= set(finalizers):
        detail = "finalizer orphan and foregroundDeletion cannot be both set"
        causes.append(refuse.bad_value("metadata.finalizers", list(finalizers), detail))
    return causes


def _finalizer_name_causes(finalizers: Sequence[str]) -> list[StatusCause]:
    problems = ((name, problem) for name in finalizers for problem in naming.qualified_name_problems(name))
    return [refuse.bad_value("metadata.finalizers", name, problem) for name, problem in problems]


def _change_causes(obj: JSONObject, old: JSONObject) -> list[StatusCause]:
    metadata = obj["metadata"]
    causes = finalizer_causes(obj, old)
    for field in ("uid", "deletionTimestamp", "deletionGracePeriodSeconds"):
        if metadata.get(field) != old["metadata"].get(field):
            causes.append(refuse.bad_value(f"metadata.{field}", metadata.get(field), "field is immutable"))
    causes += _label_causes(metadata.get("labels", {}))
    causes += _annotation_causes(metadata.get("annotations", {}))
    return causes + _owner_causes(metadata.get("ownerReferences", ()))


def _builtin_finalizer_causes(obj: JSONObject, kind: Kind) -> list[StatusCause]:
    """Built-in kinds have more to say of finalizers; custom resources get a warning instead."""
    if kind.crd_uid is not None or kind.gvr.group in _ANY_FINALIZERS:
        return []
    finalizers = obj["metadata"].get("finalizers", ())
    return [
        refuse.bad_value(f"metadata.finalizers[{at}]", name, _NOT_A_FINALIZER)
        for at, name in enumerate(finalizers)
        if "/" not in name and name not in _STANDARD_FINALIZERS
    ]


def _label_causes(labels: Mapping[str, str]) -> list[StatusCause]:
    causes = []
    for key, value in labels.items():
        causes += [refuse.bad_value("metadata.labels", key, problem) for problem in naming.qualified_name_problems(key)]
        if problem := naming.label_value_problem(value):
            causes.append(refuse.bad_value("metadata.labels", value, problem))
    return causes


def without_repeated_owners(obj: JSONObject, *, patched: bool = False) -> list[str]:
    """Take owners out of ``obj`` that it has twice, and say so as warnings."""
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
    """Why ``name`` cannot be a finalizer; ``""`` where it can."""
    problem = naming.qualified_name_problem(name)
    return problem or (_NOT_A_FINALIZER if "/" not in name and name not in _STANDARD_FINALIZERS else "")


def finalizer_causes(obj: JSONObject, old: JSONObject) -> list[StatusCause]:
    """An object that is being deleted cannot get new finalizers."""
    if "deletionTimestamp" not in old["metadata"]:
        return []
    before = old["metadata"].get("finalizers", ())
    if not (added := [name for name in obj["metadata"].get("finalizers", ()) if name not in before]):
        return []
    listed = ", ".join(f'"{name}"' for name in added)
    detail = f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{listed}}}"
    return [refuse.not_allowed("metadata.finalizers", detail)]


def finalizer_warnings(obj: JSONObject, old: JSONObject | None, kind: Kind) -> list[str]:
    """What the server says of finalizers that are new on a custom resource, and should have another name."""
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
    # A dash at the end is fine there: what is generated comes behind.
    if base := metadata.get("generateName"):
        masked = f"{base[:-1]}a" if base.endswith("-") else base
        if problem := naming.name_problem(kind.gvr.resource, kind.gvr.group, masked):
            causes.append(refuse.bad_value("metadata.generateName", base, problem))
    if not metadata.get("name"):
        causes.append(refuse.required("metadata.name", "name or generateName is required"))
    elif problem := naming.name_problem(kind.gvr.resource, kind.gvr.group, metadata["name"]):
        causes.append(refuse.bad_value("metadata.name", metadata["name"], problem))
    return causes


def _annotation_causes(annotations: Mapping[str, str]) -> list[StatusCause]:
    causes = [
        refuse.bad_value("metadata.annotations", key, problem)
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
            causes.append(refuse.bad_value(f"{field}.apiVersion", version, "version must not be empty"))
        causes += [
            refuse.bad_value(f"{field}.{name}", "", "must not be empty")
            for name in ("kind", "name", "uid")
            if not owner.get(name)
        ]
        if (version, owner.get("kind")) == ("v1", "Event"):
            detail = "/v1, Kind=Event is disallowed from being an owner"
            causes.append(refuse.bad_value(field, _as_owner(owner), detail))
        if owner.get("controller"):
            name = f"{owner.get('kind')}/{owner.get('name')}"
            if controller:
                detail = (
                    'Only one reference can have Controller set to true. Found "true" in references for '
                    f"{controller} and {name}"
                )
                causes.append(refuse.bad_value(field, [_as_owner(each) for each in owners], detail))
            controller = controller or name
    return causes


def _as_owner(owner: JSONObject) -> JSONObject:
    """All that an owner reference has, in the order of its Go type."""
    required = {name: owner.get(name) or "" for name in ("apiVersion", "kind", "name", "uid")}
    return required | {name: owner[name] for name in ("controller", "blockOwnerDeletion") if name in owner}
