"""Random requests to the objects of one kind: all verbs, mostly valid, sometimes invalid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.contract.cluster import APPLY, JSON, MERGE, STRATEGIC
from tests.contract.differential.areas.values import Draw, Values, fields, mostly, rarely
from tests.contract.differential.requests import METADATA_LIST_ONLY, METADATA_ONLY, TABLE, Method, Request
from tests.contract.objects import JSONObject

NAMES = st.sampled_from(["a", "a", "a", "b", "b", "c"])
# Invalid values for most fields.
_WRONG: Values = st.sampled_from(
    [None, True, 0, -1, 1.5, 10**19, "", "x", "A b", [], {}, ["x"], [None], {"x": None}, [[]]]
)
_LABELS = mostly(
    [{"x": "y"}, {"x": "z"}, {"x": "y", "t": "1"}, {"t": "2"}, {}, {"x": ""}], [None, {"bad key": "v"}, {"x": "-"}]
)
_SELECTORS = st.sampled_from(
    [
        "x=y",
        "x!=y",
        "x",
        "!x",
        "x in (y,z)",
        "x notin (y)",
        "x=y,t",
        "t>0",
        "t<1",
        "x=",
        "x==y",
        "a b",
        "x in ()",
        "x=-",
        ",",
    ]
)
_NAMES_SELECTED = ["metadata.name=a", "metadata.name!=a", "metadata.namespace={ns}", "metadata.labels=x", "x", "a=b,"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """The parts of requests to objects of one kind.

    Attributes:
        resources: its plural, or that in each version (``widgets.v1``), each with its ``apiVersion``.
        kind: its name.
        content: the fields beside ``metadata`` of an object that is probably valid.
        status: bodies for ``/status``; ``None`` if there is no such subresource.
        pointers: JSON pointers for JSON patches.
        values: values for JSON patches, and for making objects invalid.
        selected: field selectors.
        scale: whether there is a ``/scale``.
    """

    resources: dict[str, str]
    kind: str
    content: Values
    status: Values | None = None
    pointers: Sequence[str]
    values: Values
    selected: Sequence[str] = ()
    scale: bool = False

    def requests(self) -> st.SearchStrategy[Request]:
        """Return a strategy for requests with any verb."""
        return _requests(self)


@st.composite
def _requests(draw: Draw, kind: Kind) -> Request:
    verb = draw(
        st.sampled_from(
            ["create"] * 6
            + ["apply"] * 6
            + ["update"] * 5
            + ["merge"] * 4
            + ["json"] * 3
            + ["strategic"] * 2
            + ["get"] * 2
            + ["list"] * 3
            + ["delete"] * 2
            + ["delete_all"]
            + ["status"] * 4
            + ["scale"] * 2
        )
    )
    return _VERBS[verb](draw, kind)


def _write_params(draw: Draw) -> dict[str, str]:
    params = {}
    if rarely(draw, 4):
        params["fieldManager"] = draw(
            st.sampled_from(["m1", "m2", "m3", "m" * 129, "\u0001"][: 3 if draw(st.booleans()) else 5])
        )
    if rarely(draw, 5):
        params["fieldValidation"] = draw(st.sampled_from(["Strict", "Warn", "Ignore", "Bogus"]))
    if rarely(draw, 9):
        params["dryRun"] = draw(st.sampled_from(["All", "All", "None"]))
    return params


def _metadata(draw: Draw, name: str) -> JSONObject:
    metadata: JSONObject = {"name": name}
    if rarely(draw, 3):
        metadata["labels"] = draw(_LABELS)
    if rarely(draw, 5):
        metadata["annotations"] = draw(
            st.sampled_from([{"n": "1"}, {"n": "2"}, {"o": "1"}, {}, None, {"bad key": "1"}, {"n": 1}])
        )
    if rarely(draw, 9):
        metadata["finalizers"] = draw(
            st.sampled_from([["e.com/f"], ["e.com/f", "e.com/g"], [], ["bad"], None, ["foregroundDeletion"]])
        )
    if rarely(draw, 14):
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "q", "uid": "u1"}
        wrong = [
            owner,
            {**owner, "controller": True},
            {**owner, "name": ""},
            {**owner, "uid": ""},
            {**owner, "kind": "Event"},
            owner | {"x": 1},
        ]
        metadata["ownerReferences"] = draw(st.lists(st.sampled_from(wrong), max_size=2))
    if rarely(draw, 14):
        invalid = [
            ("foo", 1),
            ("namespace", "elsewhere"),
            ("namespace", "{ns}"),
            ("namespace", ""),
            ("uid", "{uid}"),
            ("uid", "other"),
            ("generation", 7),
            ("creationTimestamp", None),
            ("creationTimestamp", "2020-01-01T00:00:00Z"),
            ("creationTimestamp", "x"),
            ("managedFields", []),
            ("managedFields", [{}]),
            ("managedFields", None),
            ("deletionTimestamp", "2020-01-01T00:00:00Z"),
            ("deletionGracePeriodSeconds", 5),
            ("selfLink", "/x"),
            ("generateName", "gen-"),
            ("name", 1),
            ("name", "B"),
            ("name", ""),
            ("labels", "x"),
            ("labels", {"x": None}),
            ("labels", {"x": 1}),
            ("annotations", []),
            ("resourceVersion", "x"),
            ("resourceVersion", 1),
        ]
        field, value = draw(st.sampled_from(invalid))
        metadata[field] = value
    return metadata


def _object(draw: Draw, kind: Kind, resource: str, name: str) -> JSONObject:
    made = {"apiVersion": kind.resources[resource], "kind": kind.kind, "metadata": _metadata(draw, name)}
    made |= draw(kind.content)
    if kind.status is not None and rarely(draw, 5):
        made["status"] = draw(kind.status)
    if rarely(draw, 8):
        made = _spoiled(draw, made, kind)
    return made


def _based(draw: Draw, body: Any) -> Any:
    """Return ``body`` with or without a resourceVersion; it need not be a valid object."""
    if isinstance(body, dict) and isinstance(body.get("metadata"), dict):
        return {**body, "metadata": {**body["metadata"], **_versions(draw)}}
    return body


def _spoiled(draw: Draw, value: Any, kind: Kind) -> Any:
    """Return ``value`` with a field added, removed or given another type, at a random place."""
    if isinstance(value, list) and value:
        index = draw(st.integers(0, len(value) - 1))
        return [_spoiled(draw, item, kind) if at == index else item for at, item in enumerate(value)]
    if not isinstance(value, dict) or not value:
        return draw(st.one_of(_WRONG, kind.values))
    name = draw(st.sampled_from([*sorted(value), "unknown"]))
    deeper = name in value and isinstance(value[name], dict | list) and draw(st.integers(0, 3)) != 0
    if deeper:
        return {**value, name: _spoiled(draw, value[name], kind)}
    if name in value and rarely(draw, 5):
        return {field: inner for field, inner in value.items() if field != name}
    return {**value, name: draw(st.one_of(_WRONG, kind.values))}


def _resource(draw: Draw, kind: Kind) -> str:
    return draw(st.sampled_from(list(kind.resources)))


def _create(draw: Draw, kind: Kind) -> Request:
    resource = _resource(draw, kind)
    body = _object(draw, kind, resource, draw(NAMES))
    if rarely(draw, 12) and isinstance(body.get("metadata"), dict):
        body["metadata"].pop("name", None)
        if draw(st.booleans()):
            body["metadata"]["generateName"] = "gen-"
    return Request(method="POST", target=resource, body=body, params=_write_params(draw))


def _update(draw: Draw, kind: Kind) -> Request:
    resource, name = _resource(draw, kind), draw(NAMES)
    body = _object(draw, kind, resource, draw(NAMES) if rarely(draw, 20) else name)
    body = _based(draw, body)
    return Request(method="PUT", target=f"{resource}/{name}", body=body, params=_write_params(draw))


def _versions(draw: Draw) -> dict[str, str]:
    return (
        {}
        if draw(st.booleans())
        else {"resourceVersion": draw(st.sampled_from(["{rv}", "{rv}", "{rv}", "{old}", "0", "x"]))}
    )


def _merge(draw: Draw, kind: Kind, content_type: str = MERGE) -> Request:
    resource, name = _resource(draw, kind), draw(NAMES)
    body = _object(draw, kind, resource, name)
    for field in ("apiVersion", "kind"):
        if not rarely(draw, 8):
            body.pop(field, None)
    if isinstance(body.get("metadata"), dict):
        if not rarely(draw, 8):
            body["metadata"].pop("name", None)
        if rarely(draw, 5):
            body = _based(draw, body)
    subresource = "/status" if kind.status is not None and rarely(draw, 6) else ""
    return Request(
        method="PATCH",
        target=f"{resource}/{name}{subresource}",
        body=draw(_BAD_PATCHES) if rarely(draw, 25) else body,
        content_type=content_type,
        params=_write_params(draw),
    )


_BAD_PATCHES = st.sampled_from(
    ["", "{", "[]", "null", "1", '"x"', "{}", '{"metadata": null}', '{"metadata": []}', '{"kind": "X"}', "a: b"]
)


def _strategic(draw: Draw, kind: Kind) -> Request:
    return _merge(draw, kind, STRATEGIC)


def _json(draw: Draw, kind: Kind) -> Request:
    pointers = st.sampled_from(
        [
            *kind.pointers,
            "/metadata/labels/x",
            "/metadata/labels",
            "/metadata/name",
            "",
            "x",
            "/unknown",
            "/metadata/finalizers/-",
        ]
    )
    operation = st.fixed_dictionaries(
        {
            "op": st.sampled_from(["add", "replace", "remove", "test", "copy", "move", "add", "replace", "bogus"]),
            "path": pointers,
        },
        optional={"value": st.one_of(kind.values, _WRONG, _LABELS), "from": pointers},
    )
    body: Any = draw(st.lists(operation, min_size=1, max_size=3))
    if rarely(draw, 20):
        body = draw(_BAD_PATCHES)
    return Request(
        method="PATCH",
        target=f"{_resource(draw, kind)}/{draw(NAMES)}",
        body=body,
        content_type=JSON,
        params=_write_params(draw),
    )


def _apply(draw: Draw, kind: Kind) -> Request:
    resource, name = _resource(draw, kind), draw(NAMES)
    body: Any = _object(draw, kind, resource, draw(NAMES) if rarely(draw, 25) else name)
    if rarely(draw, 20):
        body = _based(draw, body)
    params = _write_params(draw)
    if not rarely(draw, 25):
        params["fieldManager"] = draw(st.sampled_from(["m1", "m2", "m3"]))
    if draw(st.booleans()):
        params["force"] = draw(st.sampled_from(["true", "true", "true", "false"]))
    subresource = "/status" if kind.status is not None and rarely(draw, 6) else ""
    if subresource and kind.status is not None:
        body["status"] = draw(kind.status)
    if rarely(draw, 30):
        body = draw(_BAD_PATCHES)
    return Request(
        method="PATCH", target=f"{resource}/{name}{subresource}", body=body, content_type=APPLY, params=params
    )


def _get(draw: Draw, kind: Kind) -> Request:
    params = {"resourceVersion": draw(st.sampled_from(["{rv}", "x"]))} if rarely(draw, 8) else {}
    accept = draw(st.sampled_from([TABLE, METADATA_ONLY])) if rarely(draw, 6) else ""
    subresource = draw(st.sampled_from(["/status", "/scale", "/bogus"])) if rarely(draw, 6) else ""
    return Request(
        method="GET", target=f"{_resource(draw, kind)}/{draw(NAMES)}{subresource}", params=params, accept=accept
    )


def _list(draw: Draw, kind: Kind) -> Request:
    params = _selection(draw, kind)
    if rarely(draw, 3):
        params["limit"] = draw(st.sampled_from(["1", "2", "500", "0", "-1", "x"][: 3 if draw(st.booleans()) else 6]))
    if rarely(draw, 4):
        params["continue"] = draw(st.sampled_from(["{continue}", "{continue}", "{continue}", "bogus"]))
    elif rarely(draw, 6):
        params["resourceVersion"] = draw(st.sampled_from(["{list}", "x", "-1"]))
    if rarely(draw, 6):
        params["resourceVersionMatch"] = draw(st.sampled_from(["Exact", "NotOlderThan", "Bogus"]))
    accept = draw(st.sampled_from([TABLE, METADATA_LIST_ONLY])) if rarely(draw, 6) else ""
    return Request(method="GET", target=_resource(draw, kind), params=params, accept=accept)


def _selection(draw: Draw, kind: Kind) -> dict[str, str]:
    params = {}
    if rarely(draw, 3):
        params["labelSelector"] = draw(_SELECTORS)
    if rarely(draw, 4):
        params["fieldSelector"] = draw(st.sampled_from([*kind.selected, *_NAMES_SELECTED]))
    return params


def _delete_options(draw: Draw) -> Any:
    options = fields(
        propagationPolicy=st.sampled_from(["Background", "Foreground", "Orphan", "Bogus"]),
        gracePeriodSeconds=st.sampled_from([0, 1, -1, 5]),
        preconditions=fields(
            uid=st.sampled_from(["{uid}", "other"]), resourceVersion=st.sampled_from(["{rv}", "{old}", "1"])
        ),
        dryRun=st.sampled_from([["All"], [], ["x"]]),
        orphanDependents=st.booleans(),
    )
    if rarely(draw, 15):
        return draw(
            st.sampled_from(
                [
                    "{",
                    "[]",
                    '{"kind": "Pod"}',
                    '{"kind": "DeleteOptions", "apiVersion": "v1"}',
                    '{"x": 1}',
                    '{"gracePeriodSeconds": "x"}',
                ]
            )
        )
    return draw(options) if rarely(draw, 2) else None


def _delete_params(draw: Draw) -> dict[str, str]:
    found = [
        ("propagationPolicy", "Foreground"),
        ("gracePeriodSeconds", "0"),
        ("dryRun", "All"),
        ("orphanDependents", "true"),
        ("gracePeriodSeconds", "x"),
        ("propagationPolicy", "x"),
        ("dryRun", "x"),
    ]
    return dict([draw(st.sampled_from(found))]) if rarely(draw, 5) else {}


def _delete(draw: Draw, kind: Kind) -> Request:
    target = f"{_resource(draw, kind)}/{draw(NAMES)}"
    return Request(method="DELETE", target=target, body=_delete_options(draw), params=_delete_params(draw))


def _delete_all(draw: Draw, kind: Kind) -> Request:
    params = {**_selection(draw, kind), **_delete_params(draw)}
    return Request(method="DELETE", target=_resource(draw, kind), body=_delete_options(draw), params=params)


def _status(draw: Draw, kind: Kind) -> Request:
    if kind.status is None:
        return _create(draw, kind)
    resource, name = _resource(draw, kind), draw(NAMES)
    body = _object(draw, kind, resource, name)
    body["status"] = draw(kind.status)
    body = _based(draw, body)
    if draw(st.booleans()):
        return Request(method="PUT", target=f"{resource}/{name}/status", body=body, params=_write_params(draw))
    body = {"status": body["status"]} if draw(st.booleans()) else body
    return Request(
        method="PATCH", target=f"{resource}/{name}/status", body=body, content_type=MERGE, params=_write_params(draw)
    )


def _scale(draw: Draw, kind: Kind) -> Request:
    if not kind.scale:
        return _apply(draw, kind)
    name = draw(NAMES)
    target = f"{_resource(draw, kind)}/{name}/scale"
    method: Method = draw(st.sampled_from(["GET", "PUT", "PATCH", "PATCH"]))
    if method == "GET":
        return Request(method=method, target=target)
    replicas = draw(st.sampled_from([0, 1, 2, 3, 11, -1, "x", None, 1.5, 2**31]))
    content: JSONObject = draw(
        st.sampled_from(
            [{"spec": {"replicas": replicas}}] * 4
            + [{}, {"spec": None}, {"spec": {}}, {"spec": {"x": 1}}, {"status": {"replicas": 3}}]
        )
    )
    scale: Any = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": name, **_versions(draw)},
        **content,
    }
    if rarely(draw, 6):
        scale = _spoiled(draw, scale, kind)
    if method == "PUT":
        return Request(method=method, target=target, body=scale, params=_write_params(draw))
    if draw(st.booleans()):
        return Request(method=method, target=target, body=content, content_type=MERGE, params=_write_params(draw))
    if draw(st.booleans()):
        params = {**_write_params(draw), "fieldManager": draw(st.sampled_from(["m1", "m2"]))}
        return Request(method=method, target=target, body=scale, content_type=APPLY, params=params)
    patch = [
        {"op": draw(st.sampled_from(["replace", "add", "test", "remove"])), "path": "/spec/replicas", "value": replicas}
    ]
    return Request(method=method, target=target, body=patch, content_type=JSON, params=_write_params(draw))


_VERBS = {
    "create": _create,
    "apply": _apply,
    "update": _update,
    "merge": _merge,
    "json": _json,
    "strategic": _strategic,
    "get": _get,
    "list": _list,
    "delete": _delete,
    "delete_all": _delete_all,
    "status": _status,
    "scale": _scale,
}
