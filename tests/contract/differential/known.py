"""Accepted differences, each with its reason, and a script that shows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.contract.cluster import APPLY, MERGE, STRATEGIC
from tests.contract.differential.requests import TABLE, Request, request


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """One accepted difference.

    Attributes:
        name: a unique name.
        reason: why the embedded server responds differently.
        area: the area of ``script``.
        script: requests, of which the last shows the difference.
        covers: returns whether two normalised responses (embedded, reference) to a request differ for this reason; the
            request is ``None`` for events.
    """

    name: str
    reason: str
    area: str
    script: Sequence[Request]
    covers: Callable[[Request | None, Any, Any], bool]


def _without_descriptions(response: Any) -> Any:
    body = response["body"]
    columns = [{**column, "description": ""} for column in body.get("columnDefinitions") or []]
    return {**response, "body": {**body, "columnDefinitions": columns}}


def _descriptions(request: Request | None, ours: Any, theirs: Any) -> bool:
    """Return whether two tables differ only in the descriptions of columns."""
    tables = all(isinstance(each["body"], dict) and each["body"].get("kind") == "Table" for each in (ours, theirs))
    return tables and bool(_without_descriptions(ours) == _without_descriptions(theirs))


_CHANGED_POD = "pod updates may not change fields other than"


def _pod_diff(request: Request | None, ours: Any, theirs: Any) -> bool:
    """Return whether two errors about a changed pod differ only in the diff of Go types that the real one has."""
    return bool(_CHANGED_POD in str(ours["body"]) and _causes(ours) == _causes(theirs))


def _causes(response: Any) -> list[Any]:
    causes = (response["body"].get("details") or {}).get("causes") or []
    return [{**cause, "message": cause["message"].partition("\n")[0]} for cause in causes]


_CONVERTER = ("cannot convert ", "cannot restore ", "unrecognized type: ")


def _converted(request: Request | None, ours: Any, theirs: Any) -> bool:
    """Return whether both are errors about a value's type in a strategic patch, with messages of different decoders."""
    strategic = request is not None and request.content_type == STRATEGIC and ours["code"] == theirs["code"] == 422
    message = str(theirs["body"])
    return strategic and "cannot unmarshal" in str(ours["body"]) and any(part in message for part in _CONVERTER)


def _nameless(request: Request | None, ours: Any, theirs: Any) -> bool:
    """Return whether both are errors about a service without a name; the real one is about the service's IPAddress."""
    message = str(theirs["body"])
    return "metadata.name: Required value" in str(ours["body"]) and "spec.parentRef.name: Required value" in message


_POD = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "a", "image": "i"}]}}

KNOWN: tuple[Known, ...] = (
    Known(
        name="types in strategic patches",
        reason="a real server does not convert by JSON, and its message has Go types; code and field are the same",
        area="services",
        script=(
            request("POST", "services", {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}),
            request("PATCH", "services/a", {"metadata": {"annotations": {"n": 1}}}, content_type=STRATEGIC),
        ),
        covers=_converted,
    ),
    Known(
        name="services without a name",
        reason="a real server creates the service's IPAddress, which fails, before it validates the name",
        area="services",
        script=(request("POST", "services", {"metadata": {}, "spec": {"ports": [{"port": 80}]}}),),
        covers=_nameless,
    ),
    Known(
        name="the diff in errors about changed pods",
        reason="it shows the fields of Go's internal types",
        area="pods",
        script=(
            request("POST", "pods", _POD),
            request("PATCH", "pods/a", {"spec": {"hostname": "h"}}, content_type=MERGE),
        ),
        covers=_pod_diff,
    ),
    Known(
        name="descriptions of columns",
        reason="the package does not have the descriptions of built-in fields",
        area="data",
        script=(request("GET", "configmaps", accept=TABLE),),
        covers=_descriptions,
    ),
)


def _empty_applied(request: Request | None, ours: Any, theirs: Any) -> bool:
    """Return whether the request is an apply with an empty or null value."""
    return request is not None and request.content_type == APPLY and _has_empty(request.body)


def _has_empty(value: Any) -> bool:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return value in ({}, [], None) or any(_has_empty(part) for part in parts)


def _other_order(request: Request | None, ours: Any, theirs: Any) -> bool:
    """Return whether two responses differ only in the order of finalizers."""
    return bool(ours["code"] == theirs["code"] and _sorted(ours["body"]) == _sorted(theirs["body"]))


def _sorted(value: Any) -> Any:
    match value:
        case dict():
            return {name: sorted(inner) if name == "finalizers" else _sorted(inner) for name, inner in value.items()}
        case list():
            return [_sorted(item) for item in value]
    return value


def _other_owners(request: Request | None, ours: Any, theirs: Any) -> bool:
    """Return whether two responses differ only in owners: in managedFields, conflicts, or a write of owners alone."""
    if ours["code"] == theirs["code"] == 409:
        return all("Apply failed with" in str(response["body"]) for response in (ours, theirs))
    return bool(ours["code"] == theirs["code"] and _without_owners(ours["body"]) == _without_owners(theirs["body"]))


def _without_owners(value: Any) -> Any:
    """Return the value without managedFields and resourceVersions, and with sorted finalizers."""
    match _sorted(value):
        case dict() as fields:
            kept = {name: inner for name, inner in fields.items() if name not in {"managedFields", "resourceVersion"}}
            return {name: _without_owners(inner) for name, inner in kept.items()}
        case other:
            return other


def _other_labels(request: Request | None, ours: Any, theirs: Any) -> bool:
    """Return whether two responses differ only in labels and owners."""
    bare = [_without_owners(_unlabelled(response["body"])) for response in (ours, theirs)]
    return bool(ours["code"] == theirs["code"] and bare[0] == bare[1])


def _unlabelled(body: Any) -> Any:
    metadata = body.get("metadata") if isinstance(body, dict) else None
    if not isinstance(metadata, dict):
        return body
    return {**body, "metadata": {name: value for name, value in metadata.items() if name != "labels"}}


def _first_time(request: Request | None, ours: Any, theirs: Any) -> bool:
    """Return whether two responses differ only in the times of managedFields."""
    return bool(ours["code"] == theirs["code"] and _without_times(ours["body"]) == _without_times(theirs["body"]))


def _without_times(value: Any) -> Any:
    match value:
        case dict():
            kept = {name: inner for name, inner in value.items() if name not in {"time", "resourceVersion"}}
            return {name: _without_times(inner) for name, inner in kept.items()}
        case list():
            return [_without_times(item) for item in value]
    return value


def _unreadable_time(request: Request | None, ours: Any, theirs: Any) -> bool:
    """Return whether both are errors about an invalid time, whose messages depend on the version of Go."""
    return bool("parsing time" in str(ours["body"]) and ours["code"] == theirs["code"])


_CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


def _annotated() -> dict[str, Any]:
    return {**_CONFIG, "metadata": {"name": "a", "annotations": {"x": "1"}}}


def _labelled(name: str) -> dict[str, Any]:
    return {**_CONFIG, "metadata": {"name": "a", "labels": {name: "1"}}}


def _listed(*finalizers: str) -> dict[str, Any]:
    return {**_CONFIG, "metadata": {"name": "a", "finalizers": list(finalizers)}}


_RECORD = {"manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "time": "x"}
_FORGED = {
    "manager": "m1",
    "operation": "Apply",
    "apiVersion": "v1",
    "fieldsType": "FieldsV1",
    "fieldsV1": {"f:metadata": {"f:labels": {"f:a": {}}}},
}
# Differences of 1.20, apart from features that it lacks.
OLDER: tuple[Known, ...] = (
    Known(
        name="empty values in an apply",
        reason="applied nulls and empty maps and lists were not owned",
        area="applies-configs",
        script=(request("PATCH", "configmaps/a", {**_CONFIG, "data": {}}, content_type=APPLY, fieldManager="m"),),
        covers=_empty_applied,
    ),
    Known(
        name="the time of an apply that changes nothing",
        reason="before 1.27 the time was updated",
        area="applies-configs",
        script=(
            request("POST", "configmaps", {**_CONFIG, "data": {"k": "v"}}),
            request("PATCH", "configmaps/a", {**_CONFIG, "data": {"k": "v"}}, content_type=APPLY, fieldManager="m"),
        ),
        covers=_first_time,
    ),
    Known(
        name="the order of lists",
        reason="before 1.21 existing items came first: https://github.com/kubernetes/kubernetes/issues/104641",
        area="applies-configs",
        script=(
            request("POST", "configmaps", _listed("e.com/f")),
            request("PATCH", "configmaps/a", _listed("e.com/g", "e.com/f"), content_type=APPLY, fieldManager="m"),
        ),
        covers=_other_order,
    ),
    Known(
        name="owners of updated fields",
        reason="sets of fields were mixed up, so that managers other than the last writer owned them",
        area="applies-configs",
        script=(
            request("PATCH", "configmaps/a", _annotated(), content_type=APPLY, fieldManager="m2"),
            request("PATCH", "configmaps/a", {"data": {"k": "w"}}, content_type=MERGE, fieldManager="m1"),
            request("PATCH", "configmaps/a", {"data": {"k": "v"}}, content_type=MERGE, fieldManager="m5"),
            request("PATCH", "configmaps/a", _CONFIG, content_type=APPLY, fieldManager="m2"),
        ),
        covers=_other_owners,
    ),
    Known(
        name="fields beside a removed field",
        reason="newer servers remove a map with its last owned field, even if it has other fields",
        area="applies-configs",
        script=(
            request("PATCH", "configmaps/a", _labelled("b"), content_type=APPLY, fieldManager="m2"),
            request("PATCH", "configmaps/a", {"metadata": {"managedFields": [_FORGED]}}, content_type=MERGE),
            request("PATCH", "configmaps/a", _CONFIG, content_type=APPLY, fieldManager="m1"),
        ),
        covers=_other_labels,
    ),
    Known(
        name="invalid times",
        reason="newer versions of Go have other messages",
        area="applies-configs",
        script=(
            request("POST", "configmaps", _CONFIG),
            request("PATCH", "configmaps/a", {"metadata": {"managedFields": [_RECORD]}}, content_type=MERGE),
        ),
        covers=_unreadable_time,
    ),
)


def known_difference(accepted: Sequence[Known], request: Request | None, ours: Any, theirs: Any) -> Known | None:
    """Return the entry that covers a difference, or ``None``."""
    return next((known for known in accepted if known.covers(request, ours, theirs)), None)
