"""Custom resources that several managers apply: in two versions with equal or different schemas, and without one."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.contract.cluster import Cluster
from tests.contract.differential.areas.applies import Subject, some
from tests.contract.differential.areas.values import Values, mostly
from tests.contract.objects import JSONObject, version

_STRING, _INTEGER = {"type": "string"}, {"type": "integer"}


def _listed(kind: str, items: JSONObject, *keys: str) -> JSONObject:
    more = {"x-kubernetes-list-map-keys": list(keys)} if keys else {}
    return {"type": "array", "items": items, "x-kubernetes-list-type": kind, **more}


def _struct(**properties: JSONObject) -> JSONObject:
    return {"type": "object", "properties": properties}


_PORT = _struct(
    port=_INTEGER,
    protocol={"type": "string", "default": "TCP"},
    name=_STRING,
    tags=_listed("set", _STRING),
    options={"type": "object", "additionalProperties": _STRING},
    backends=_listed("map", _struct(id=_STRING, weight={"type": "number"}) | {"required": ["id"]}, "id"),
) | {"required": ["port"]}
_COMMON = {
    "size": {"type": "integer", "default": 1},
    "name": {"type": "string", "nullable": True},
    "ports": _listed("map", _PORT, "port", "protocol"),
    "tags": _listed("set", _STRING),
    "numbers": _listed("set", {"type": "number"}),
    "lines": {"type": "array", "items": _STRING},
    "whole": _struct(a=_INTEGER, b={"type": "string", "default": "x"}) | {"x-kubernetes-map-type": "atomic"},
    "nested": _struct(deep=_struct(leaf={"type": "string", "default": "green"}, other=_INTEGER)),
    "any": {"x-kubernetes-preserve-unknown-fields": True},
    "open": _struct(known=_STRING) | {"x-kubernetes-preserve-unknown-fields": True},
    "either": {"x-kubernetes-int-or-string": True},
    "map": {"type": "object", "additionalProperties": _struct(a=_INTEGER, b=_listed("set", _STRING))},
    "pairs": _listed(
        "map", _struct(k=_STRING, v=_STRING) | {"x-kubernetes-map-type": "atomic", "required": ["k"]}, "k"
    ),
}
_SPECS = {
    "size": mostly([0, 1, 2], [None]),
    "name": mostly(["a", "b", None], []),
    "ports": mostly(
        [
            [{"port": 80}],
            [{"port": 80, "name": "a"}, {"port": 81, "tags": ["x"]}],
            [{"port": 81, "tags": ["x", "y"]}, {"port": 80, "protocol": "UDP"}],
            [{"port": 80, "options": {"k": "v"}, "backends": [{"id": "b", "weight": 1}]}],
            [{"port": 80, "options": {"k": "w", "l": "x"}, "backends": [{"id": "c", "weight": 1.5}, {"id": "b"}]}],
            [],
        ],
        [[{"port": 80}, {"port": 80}], [{"name": "x"}], None],
    ),
    "tags": mostly([["x"], ["y", "x"], ["z", "y"], []], [["x", "x"], None]),
    "numbers": mostly([[1], [1.5, 1], [2], []], [None, [True]]),
    "lines": mostly([["x"], ["x", "x"], []], [None]),
    "whole": mostly([{"a": 1}, {"a": 2, "b": "y"}, {}, {"b": "x"}], [None]),
    "nested": mostly([{}, {"deep": {}}, {"deep": {"leaf": "blue"}}, {"deep": {"other": 1}}], [None, {"deep": None}]),
    "any": mostly([1, "a", {"b": [1]}, {"b": {"c": 1}}, {"b": {"c": None}}, [{"a": 1}], [], {}, {"b": {}}], []),
    "open": mostly([{"known": "a"}, {"x": 1}, {"x": {"y": 1}, "known": "b"}, {"x": [1]}, {"x": {}}, {}], [None]),
    "either": st.sampled_from([1, "2", 1, "1"]),
    "map": mostly([{"a": {"a": 1}}, {"a": {"b": ["x"]}, "b": {}}, {"b": {"a": 2, "b": ["y", "x"]}}, {}], [{"a": None}]),
    "pairs": mostly([[{"k": "a", "v": "1"}], [{"k": "b"}, {"k": "a", "v": "2"}], []], [[{"v": "1"}], None]),
}
_STATUSES = some(
    phase=st.sampled_from(["p", "q"]),
    size=st.sampled_from([0, 1, 2]),
    conditions=st.sampled_from(
        [[{"type": "A", "status": "True"}], [{"type": "B"}, {"type": "A", "status": "False"}], []]
    ),
)
_STATUS = _struct(
    phase=_STRING,
    size=_INTEGER,
    conditions=_listed("map", _struct(type=_STRING, status=_STRING) | {"required": ["type"]}, "type"),
)
# The schema of a second version: other fields, and other types for some of the same fields.
_OTHER = {
    **{name: _COMMON[name] for name in ("size", "name", "ports", "lines", "whole", "nested", "map", "either")},
    "tags": {"type": "array", "items": _STRING},
    "extra": _STRING,
}
_OTHER_SPECS = {**{name: _SPECS[name] for name in _OTHER if name != "extra"}, "extra": st.sampled_from(["x", "y"])}


def _served(name: str, spec: JSONObject, *, storage: bool) -> JSONObject:
    schema = {"openAPIV3Schema": _struct(spec=_struct(**spec), status=_STATUS)}
    paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    return version(name, storage=storage, schema=schema, subresources={"status": {}, "scale": paths})


def crds(cluster: Cluster) -> list[JSONObject]:
    versions = [_served("v1", _COMMON, storage=True), _served("v2", _COMMON, storage=False)]
    different = [_served("v1", _COMMON, storage=True), _served("v2", _OTHER, storage=False)]
    return [
        cluster.crd(versions=versions),
        cluster.crd("gadgets", "Gadget"),
        cluster.crd("gizmos", "Gizmo", versions=different),
    ]


def _custom(plural: str, kind: str, specs: dict[str, dict[str, Values]]) -> Subject:
    return Subject(
        resources={f"{plural}.{name}": f"{{group}}/{name}" for name in specs},
        kind=kind,
        contents={f"{plural}.{name}": st.fixed_dictionaries({"spec": some(**spec)}) for name, spec in specs.items()},
        statuses=_STATUSES,
        requires_version=True,
    )


WIDGETS = _custom("widgets", "Widget", {"v1": _SPECS, "v2": _SPECS})
GIZMOS = _custom("gizmos", "Gizmo", {"v1": _SPECS, "v2": _OTHER_SPECS})
_LEAVES: Values = st.sampled_from([1, "a", None, 1.5, True, ""])
GADGETS = Subject(
    resources={"gadgets": "{group}/v1"},
    kind="Gadget",
    contents={
        "gadgets": some(
            spec=st.recursive(
                _LEAVES,
                lambda inner: st.one_of(
                    st.lists(inner, max_size=2),
                    st.dictionaries(st.sampled_from(["a", "b", "c.d", "f:x", "."]), inner, max_size=3),
                ),
                max_leaves=6,
            ),
            data=st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["v", "w"]), max_size=2),
        )
    },
    requires_version=True,
)
