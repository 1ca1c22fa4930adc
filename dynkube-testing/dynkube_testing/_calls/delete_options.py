"""DeleteOptions, read from the body or query of a delete and validated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dynkube.errors import StatusCause
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import Call, JSONObject
from dynkube_testing._calls.causes import bad_value, not_supported
from dynkube_testing._calls.gotext import json_name
from dynkube_testing._calls.query import boolean, integer

_PROPAGATION = ("Foreground", "Background", "Orphan")
_META = "meta.k8s.io/v1"

# Field names with their JSON types, and with the Go types for kube-apiserver's decoding errors.
_FIELDS: Mapping[str, tuple[type, str]] = {
    "gracePeriodSeconds": (int, "int64"),
    "preconditions": (dict, "v1.Preconditions"),
    "orphanDependents": (bool, "bool"),
    "propagationPolicy": (str, "v1.DeletionPropagation"),
    "dryRun": (list, "[]string"),
}
_PRECONDITIONS: Mapping[str, tuple[type, str]] = {"uid": (str, "types.UID"), "resourceVersion": (str, "string")}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOptions:
    """Options of a delete.

    Attributes:
        dry_run: Whether the request is a dry run, so that nothing is deleted.
        uid: The UID that the object must have; ``None`` for any.
        resource_version: The resourceVersion that the object must have; ``None`` for any.
        grace_period: Grace period in seconds, for kinds with graceful deletion; ``None`` for the object's own.
        propagation: ``Foreground``, ``Background`` or ``Orphan``; ``""`` for the default of the kind and the object.
        orphan: The deprecated option ``orphanDependents``, which a request cannot set beside ``propagation``; ``None``
            if it is not set.
    """

    dry_run: bool = False
    uid: str | None = None
    resource_version: str | None = None
    grace_period: int | None = None
    propagation: str = ""
    orphan: bool | None = None

    @classmethod
    def read(cls, call: Call) -> DeleteOptions:
        """Read the options from the body, or from the query if there is no body.

        Raises:
            BadRequest: The body is not a DeleteOptions object, or a parameter is malformed.
            Invalid: A value is unknown, or two values contradict each other.
        """
        source = _source(call)
        propagation, orphan = source.get("propagationPolicy"), source.get("orphanDependents")
        dry_run = source.get("dryRun") or []
        if causes := _causes(propagation, orphan, dry_run):
            raise refuse.invalid_options("DeleteOptions", causes)
        preconditions = source.get("preconditions") or {}
        grace = source.get("gracePeriodSeconds")
        return cls(
            dry_run=bool(dry_run),
            uid=preconditions.get("uid"),
            resource_version=preconditions.get("resourceVersion"),
            # As in kube-apiserver, a negative period means 1 second.
            grace_period=1 if grace is not None and grace < 0 else grace,
            propagation=propagation or "",
            orphan=orphan,
        )


def _causes(propagation: str | None, orphan: bool | None, dry_run: list[str]) -> list[StatusCause]:
    causes = []
    if propagation is not None and orphan is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(bad_value("propagationPolicy", propagation, detail))
    if propagation is not None and propagation not in _PROPAGATION:
        causes.append(not_supported("propagationPolicy", propagation, (*_PROPAGATION, "nil")))
    if set(dry_run) - {"All"}:
        causes.append(not_supported("dryRun", dry_run, ["All"]))
    return causes


def _source(call: Call) -> JSONObject:
    if call.body is None:
        return {
            "propagationPolicy": call.params.get("propagationPolicy"),
            "gracePeriodSeconds": integer(call.params, "gracePeriodSeconds"),
            "orphanDependents": boolean(call.params, "orphanDependents"),
            "dryRun": [call.params["dryRun"]] if "dryRun" in call.params else None,
            # As in kube-apiserver, the parameters are named uid and resourceVersion, without "preconditions".
            "preconditions": {key: call.params[key] for key in _PRECONDITIONS if key in call.params},
        }
    if not isinstance(call.body, dict):
        raise refuse.bad_request("the body of a delete must be a DeleteOptions object")
    kind, version = call.body.get("kind") or "DeleteOptions", call.body.get("apiVersion") or _META
    if kind != "DeleteOptions":
        raise refuse.bad_request(
            f'no kind "{kind}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:111"'
        )
    _check_fields("DeleteOptions", call.body, _FIELDS)
    _check_fields("Preconditions", call.body.get("preconditions") or {}, _PRECONDITIONS, "preconditions.")
    return call.body


def _check_fields(struct: str, values: JSONObject, fields: Mapping[str, tuple[type, str]], prefix: str = "") -> None:
    for name, (wanted, go_type) in fields.items():
        value = values.get(name)
        if value is None or (isinstance(value, wanted) and isinstance(value, bool) == (wanted is bool)):
            continue
        raise refuse.bad_request(
            f"json: cannot unmarshal {json_name(value)} into Go struct field {struct}.{prefix}{name} of type {go_type}"
        )
