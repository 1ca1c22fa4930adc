"""Custom resources: Widgets with a schema that uses all keywords, in two versions, and Gadgets without a schema."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.contract.cluster import Cluster
from tests.contract.differential.areas.values import Values, fields, mostly
from tests.contract.differential.areas.verbs import Kind
from tests.contract.differential.side_by_side import MARK, Setup
from tests.contract.objects import JSONObject, version

_STRING, _INTEGER = {"type": "string"}, {"type": "integer"}
_PORT = {
    "type": "object",
    "required": ["port"],
    "properties": {
        "port": _INTEGER,
        "protocol": {"type": "string", "default": "TCP"},
        "tags": {"type": "array", "items": _STRING, "x-kubernetes-list-type": "set"},
        "options": {"type": "object", "additionalProperties": _STRING},
    },
}
_SPEC = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "minimum": 0, "maximum": 9, "default": 1},
        "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
        "name": {"type": "string", "maxLength": 4, "pattern": "^[a-z]*$", "nullable": True},
        "ports": {
            "type": "array",
            "items": _PORT,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port", "protocol"],
            "maxItems": 3,
        },
        "tags": {"type": "array", "items": _STRING, "x-kubernetes-list-type": "set"},
        "lines": {"type": "array", "items": _STRING},
        "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": _INTEGER, "b": _STRING}},
        "nested": {
            "type": "object",
            "properties": {
                "deep": {
                    "type": "object",
                    "default": {},
                    "properties": {"leaf": {"type": "string", "default": "green"}},
                },
                "other": _INTEGER,
            },
        },
        "any": {"x-kubernetes-preserve-unknown-fields": True},
        "either": {"x-kubernetes-int-or-string": True},
        "numbers": {"type": "object", "additionalProperties": {"type": "number"}},
        "on": {"type": "boolean"},
        "when": {"type": "string", "format": "date-time"},
        "low": {"type": "integer"},
        "high": {"type": "integer"},
    },
    "x-kubernetes-validations": [
        {"rule": "!has(self.low) || !has(self.high) || self.low <= self.high", "message": "low over high"}
    ],
}
_STATUS = {
    "type": "object",
    "properties": {
        "size": _INTEGER,
        "phase": _STRING,
        "conditions": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
            "items": {"type": "object", "required": ["type"], "properties": {"type": _STRING, "status": _STRING}},
        },
    },
}
_SCHEMA = {"openAPIV3Schema": {"type": "object", "properties": {"spec": _SPEC, "status": _STATUS}}}
_SUBRESOURCES = {"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}}

_SPECS = fields(
    size=mostly([0, 1, 5, 9, 3, 7, 2.0], [10, -1, "x", None, 1.5]),
    colour=mostly(["red", "blue"], ["green", None, 1]),
    name=mostly(["a", "bc", "", None], ["toolong", "A", "TOO LONG"]),
    ports=mostly(
        [
            [{"port": 80}],
            [{"port": 80}, {"port": 81}],
            [{"port": 81, "tags": ["a"]}, {"port": 80, "protocol": "UDP"}],
            [],
            [{"port": 80, "options": {"k": "v"}}],
            [{"port": 80, "options": {"l": "w"}, "tags": ["b", "a"]}],
        ],
        [
            [{"port": 80}, {"port": 80}],
            [{"protocol": "TCP"}],
            [{"port": "x"}],
            [{"port": n} for n in range(4)],
            None,
            [None],
        ],
    ),
    tags=mostly([["x"], ["x", "y"], ["y", "z"], []], [["x", "x"], ["x", None], None]),
    lines=mostly([["x"], ["x", "x"], []], [None, "x"]),
    whole=mostly([{"a": 1}, {"b": "x"}, {"a": 1, "b": "y"}, {}], [{"c": 1}, {"a": None}, None]),
    nested=mostly(
        [{}, {"deep": {}}, {"deep": {"leaf": "blue"}}, {"other": 1}], [{"deep": None}, {"deep": {"unknown": 1}}, None]
    ),
    any=mostly([1, "a", {"b": [1]}, {"b": {"c": None}}, [{"a": 1}], {}, []], [None]),
    either=mostly([1, "2", "x"], [1.5, None, []]),
    numbers=mostly([{"a": 1}, {"b": 1.5}, {"a": 2, "c": 3}, {}], [{"a": None}, {"a": "x"}, None]),
    on=mostly([True, False], ["true", None]),
    when=mostly(["2020-01-01T00:00:00Z"], ["yesterday", None]),
    low=mostly([1, 2], [5]),
    high=mostly([7, 3], []),
)
_STATUSES = fields(
    size=mostly([0, 1, 2], ["x", None]),
    phase=mostly(["p", "q", ""], [1]),
    conditions=mostly(
        [[{"type": "A", "status": "True"}], [{"type": "B"}], [{"type": "A"}, {"type": "B", "status": "x"}], []],
        [[{}], [{"type": "A"}, {"type": "A"}]],
    ),
)
_CONTENT: Values = st.one_of(fields(spec=_SPECS), st.fixed_dictionaries({"spec": _SPECS}))

WIDGETS = Kind(
    resources={"widgets.v1": "{group}/v1", "widgets.v2": "{group}/v2"},
    kind="Widget",
    content=_CONTENT,
    status=_STATUSES,
    pointers=[
        "/spec/size",
        "/spec/colour",
        "/spec/ports/0",
        "/spec/ports/-",
        "/spec/ports/0/tags/0",
        "/spec/any",
        "/spec",
        "/status",
        "/spec/tags/1",
    ],
    values=st.sampled_from([1, "red", "x", ["x"], {"port": 82}, {"a": 1}]),
    selected=["spec.colour=red", "spec.colour=blue", "spec.size=1", "spec.colour!=red,metadata.name=a"],
    scale=True,
)
GADGETS = Kind(
    resources={"gadgets": "{group}/v1"},
    kind="Gadget",
    content=fields(
        spec=st.recursive(
            st.sampled_from([1, "a", None, 1.5, True, ""]),
            lambda inner: st.one_of(
                st.lists(inner, max_size=3),
                st.dictionaries(st.sampled_from(["a", "b", "c.d", "f:x", ".", ""]), inner, max_size=3),
            ),
            max_leaves=6,
        ),
        data=st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["v", "w", None]), max_size=2),
        status=st.sampled_from([{"phase": "p"}, "x"]),
    ),
    pointers=["/spec", "/spec/a", "/spec/0", "/data", "/data/a", "/status"],
    values=st.sampled_from([1, "x", ["x"], {"a": 1}, {"b": {"a": 1}}]),
    scale=True,
)
OWN_LABELS = {"x": "y", "t": "1"}


def crds(cluster: Cluster) -> list[JSONObject]:
    """Return the CRDs of Widgets and Gadgets."""
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Colour", "type": "string", "jsonPath": ".spec.colour"},
    ]
    common: JSONObject = {
        "schema": _SCHEMA,
        "subresources": _SUBRESOURCES,
        "selectableFields": [{"jsonPath": ".spec.colour"}],
    }
    versions = [version("v1", storage=False, **common), version("v2", additionalPrinterColumns=columns, **common)]
    return [cluster.crd(versions=versions), cluster.crd("gadgets", "Gadget")]


def mark(kind: Kind, **content: object) -> JSONObject:
    """Return an object of this kind that every watch receives."""
    return {
        "apiVersion": next(iter(kind.resources.values())),
        "kind": kind.kind,
        "metadata": {"name": MARK, "labels": OWN_LABELS},
        **content,
    }


WIDGET_SETUP = Setup(
    marks={"widgets": mark(WIDGETS, spec={})},
    watches=({}, {"labelSelector": "x=y"}, {"fieldSelector": "spec.colour=red"}, {"labelSelector": "t"}),
    crds=lambda cluster: crds(cluster)[:1],
)
GADGET_SETUP = Setup(
    marks={"gadgets": mark(GADGETS)},
    watches=({}, {"labelSelector": "x=y"}, {"fieldSelector": "metadata.name!=a"}),
    crds=lambda cluster: crds(cluster)[1:],
)
