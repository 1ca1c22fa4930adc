"""Lists that are sets or maps, objects inside objects. Causes are those of kube-apiserver 1.36."""

from __future__ import annotations

import pytest

from tests.contract.schemas.kit import (
    DUPLICATE,
    INTEGER,
    INVALID,
    REQUIRED,
    STRING,
    TYPE_INVALID,
)

CASES = [
    pytest.param(
        {"type": "array", "x-kubernetes-list-type": "set", "items": STRING},
        ["a", "b"],
        ["a", "b", "a", "a"],
        [("spec.f[2]", DUPLICATE, 'Duplicate value: "a"')],
        id="list-type set",
    ),
    pytest.param(
        {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": STRING, "v": INTEGER}, "required": ["k"]},
        },
        [{"k": "a"}, {"k": "b"}],
        [{"k": "a"}, {"k": "b"}, {"k": "a", "v": 1}],
        [("spec.f[2]", DUPLICATE, 'Duplicate value: {"k":"a"}')],
        id="list-type map",
    ),
    pytest.param(
        {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k", "v"],
            "items": {"type": "object", "properties": {"k": STRING, "v": INTEGER}, "required": ["k", "v"]},
        },
        [{"k": "a", "v": 1}, {"k": "a", "v": 2}],
        [{"k": "a", "v": 1}, {"k": "a", "v": 1}],
        [("spec.f[1]", DUPLICATE, 'Duplicate value: {"k":"a","v":1}')],
        id="list-type map 2",
    ),
    pytest.param(
        {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": STRING}, "required": ["k"]},
        },
        [{"k": "a"}],
        [{}],
        [("spec.f[0].k", REQUIRED, "Required value")],
        id="list-map-keys missing",
    ),
    pytest.param(
        {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": STRING}, "required": ["k"]},
        },
        [{"k": "a"}],
        ["a"],
        [
            ("spec.f[0]", TYPE_INVALID, 'Invalid value: "string": spec.f[0] in body must be of type object: "string"'),
            ("spec.f[0]", INVALID, 'Invalid value: "a": must be an object for an array of list-type map'),
        ],
        id="list-type map scalar",
    ),
    pytest.param(
        {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "x": 1},
        {"x": 1},
        [("spec.f.apiVersion", REQUIRED, "Required value"), ("spec.f.kind", REQUIRED, "Required value")],
        id="embedded-resource",
    ),
    pytest.param(
        {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
        {"apiVersion": "a/v1", "kind": "Pod"},
        {"apiVersion": "a/b/c", "kind": "", "metadata": {"name": "a/b"}},
        [
            ("spec.f.apiVersion", INVALID, 'Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'),
            ("spec.f.kind", INVALID, 'Invalid value: "": must not be empty'),
            ("spec.f.metadata.name", INVALID, "Invalid value: \"a/b\": may not contain '/'"),
        ],
        id="embedded-resource bad",
    ),
]
