"""Several managers write one object: the owners of fields after applies, updates, patches and resets in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from tests.contract.cluster import APPLY, JSON, MERGE
from tests.contract.differential.areas.values import Draw, Values, rarely
from tests.contract.differential.requests import Request
from tests.contract.objects import JSONObject

_MANAGERS = st.sampled_from(["m1", "m1", "m2", "m2", "m3"])
# Some of them also apply: a manager that applies and one that updates are distinct, even with equal names.
_UPDATERS = st.sampled_from(["m1", "m4", "m5"])
_METADATA: st.SearchStrategy[JSONObject] = st.sampled_from(
    [{}] * 6
    + [{"labels": {"a": "1"}}, {"labels": {"a": "2", "b.c/d": "1"}}, {"annotations": {"x": "1"}}]
    + [{"finalizers": ["e.com/f"]}, {"finalizers": ["e.com/g", "e.com/f"]}, {"labels": {}}]
)
_FIELDS: JSONObject = {"f:metadata": {"f:labels": {"f:a": {}}}}
_ENTRY = {"manager": "m1", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": _FIELDS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The kind of the shared object.

    Attributes:
        resources: its plural, or that in each version, each with its ``apiVersion``.
        kind: its name.
        contents: the fields beside ``metadata``, by resource.
        statuses: bodies for ``/status``; ``None`` if there is no such subresource.
        scale: whether there is a ``/scale``.
        requires_version: whether updates require a resourceVersion.
        dry_runs: whether there are dry runs. In dry runs of kinds with allocated values (addresses, ports) these
            values are meaningless.
    """

    resources: dict[str, str]
    kind: str
    contents: dict[str, Values]
    statuses: Values | None = None
    scale: bool = False
    requires_version: bool = False
    dry_runs: bool = True

    def requests(self) -> st.SearchStrategy[Request]:
        """Return a strategy for the requests of its managers."""
        return _requests(self)


@st.composite
def _requests(draw: Draw, subject: Subject) -> Request:
    verbs = [_apply] * 10 + [_update] * 3 + [_merge] * 4 + [_reset, _delete]
    verbs += [_status] * 3 if subject.statuses is not None else []
    verbs += [_scale] * 2 if subject.scale else []
    return draw(st.sampled_from(verbs))(draw, subject)


def _object(draw: Draw, subject: Subject, resource: str) -> JSONObject:
    metadata = {"name": "a", **draw(_METADATA)}
    if subject.requires_version and metadata.get("labels") == {}:
        # Custom resources store empty labels without showing them, so the next write would count as a change.
        del metadata["labels"]
    return {
        "apiVersion": subject.resources[resource],
        "kind": subject.kind,
        "metadata": metadata,
        **draw(subject.contents[resource]),
    }


def _applied(draw: Draw, target: str, body: JSONObject) -> Request:
    params = {"fieldManager": draw(_MANAGERS)}
    if draw(st.integers(0, 2)):
        params["force"] = "true"
    if rarely(draw, 15):
        body = {**body, "metadata": {**body["metadata"], "resourceVersion": draw(st.sampled_from(["{rv}", "{old}"]))}}
    return Request(method="PATCH", target=target, body=body, content_type=APPLY, params=params)


def _apply(draw: Draw, subject: Subject) -> Request:
    resource = draw(st.sampled_from(list(subject.resources)))
    request = _applied(draw, f"{resource}/a", _object(draw, subject, resource))
    if subject.dry_runs and rarely(draw, 12):
        request = replace(request, params={**request.params, "dryRun": "All"})
    return request


def _status(draw: Draw, subject: Subject) -> Request:
    resource = draw(st.sampled_from(list(subject.resources)))
    assert subject.statuses is not None
    body = {**_object(draw, subject, resource), "status": draw(subject.statuses)}
    if draw(st.booleans()):
        return _applied(draw, f"{resource}/a/status", body)
    params = {"fieldManager": draw(_UPDATERS)}
    patch = {"status": body["status"]}
    return Request(method="PATCH", target=f"{resource}/a/status", body=patch, content_type=MERGE, params=params)


def _scale(draw: Draw, subject: Subject) -> Request:
    resource, replicas = draw(st.sampled_from(list(subject.resources))), draw(st.sampled_from([0, 1, 2, 3]))
    target, spec = f"{resource}/a/scale", {"replicas": replicas}
    if draw(st.booleans()):
        body = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": spec}
        return _applied(draw, target, body)
    params = {"fieldManager": draw(_UPDATERS)}
    return Request(method="PATCH", target=target, body={"spec": spec}, content_type=MERGE, params=params)


def _update(draw: Draw, subject: Subject) -> Request:
    resource = draw(st.sampled_from(list(subject.resources)))
    body, params = _object(draw, subject, resource), {"fieldManager": draw(_UPDATERS)}
    if draw(st.booleans()):
        return Request(method="POST", target=resource, body=body, params=params)
    if subject.requires_version:
        body["metadata"] = {**body["metadata"], "resourceVersion": "{rv}"}
    return Request(method="PUT", target=f"{resource}/a", body=body, params=params)


def _merge(draw: Draw, subject: Subject) -> Request:
    resource = draw(st.sampled_from(list(subject.resources)))
    body = _object(draw, subject, resource)
    patch = {name: value for name, value in body.items() if name not in {"apiVersion", "kind"}}
    del patch["metadata"]["name"]
    if rarely(draw, 4) and (name := draw(st.sampled_from([*patch, ""]))):
        patch[name] = None
    params = {"fieldManager": draw(_UPDATERS)}
    return Request(method="PATCH", target=f"{resource}/a", body=patch, content_type=MERGE, params=params)


def _reset(draw: Draw, subject: Subject) -> Request:
    """Draw a request that empties, removes or replaces ``managedFields``."""
    resource = draw(st.sampled_from(list(subject.resources)))
    entry = {**_ENTRY, "apiVersion": subject.resources[resource]}
    values: Sequence[object] = [[], [{}], None, [entry], [{**entry, "operation": "Update"}], [{**entry, "time": "x"}]]
    value = draw(st.sampled_from([*values, [{**entry, "apiVersion": "v9"}], [{**entry, "manager": ""}]]))
    params = {"fieldManager": draw(_UPDATERS)}
    if draw(st.booleans()):
        body: object = {"metadata": {"managedFields": value}}
        return Request(method="PATCH", target=f"{resource}/a", body=body, content_type=MERGE, params=params)
    body = [{"op": "replace", "path": "/metadata/managedFields", "value": value}]
    return Request(method="PATCH", target=f"{resource}/a", body=body, content_type=JSON, params=params)


def _delete(draw: Draw, subject: Subject) -> Request:
    return Request(method="DELETE", target=f"{next(iter(subject.resources))}/a")


def some(**named: Values) -> Values:
    """Return a strategy for a dictionary with at least one of these: empty applies occur often enough anyway."""
    return st.lists(st.sampled_from(sorted(named)), min_size=1, max_size=4, unique=True).flatmap(
        lambda chosen: st.fixed_dictionaries({name: named[name] for name in chosen})
    )
