"""The data of the benchmarks: custom objects as a real server renders them, and their CRD.

They resemble an HTTPRoute of some size: labels, annotations, managed fields of three managers (a third of the bytes),
rules in the spec, conditions in the status. They have many small values, as real objects do, because decoders spend
their time on these; larger objects have more rules, not longer strings. Keys are in alphabetical order, as servers
render custom objects, and there is no whitespace. The data is the same in every run.
"""

from __future__ import annotations

from typing import Final

import msgspec

GROUP: Final = "bench.example.com"
VERSION: Final = "v1"
PLURAL: Final = "widgets"
KIND: Final = "Widget"
NAMESPACES: Final = 50

_encode = msgspec.json.Encoder(order="sorted").encode
_MANAGERS: Final = (("helm", "Update", ""), ("kubectl", "Apply", ""), ("widget-controller", "Update", "status"))
_TIERS: Final = ("frontend", "backend", "cache", "batch")


SENT: Final = "0" * 19
"""The value of the annotation ``example.com/sent`` of an event until it is sent: nanoseconds since the epoch."""


def widget(number: int, *, size: int, resource_version: int, revision: int = 0, sent: str = "") -> bytes:
    """Return an object as JSON of about ``size`` bytes (by adding rules of 280 bytes; at least 2.9 KB).

    Args:
        number: determines its name and content.
        size: in bytes.
        resource_version: its version.
        revision: how often it has changed; determines the replicas and an annotation.
        sent: the value of an annotation; ``""`` for none.
    """
    bare = _encode(_widget(number, 0, resource_version, revision, sent))
    rule = len(_encode(_rule(number, 10))) + 1
    return _encode(_widget(number, max(1, round((size - len(bare)) / rule)), resource_version, revision, sent))


def _widget(number: int, rules: int, resource_version: int, revision: int, sent: str) -> dict[str, object]:
    annotations = {"example.com/owner": f"team-{number % 10}@example.com", "example.com/revision": str(7 + revision)}
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": KIND,
        "metadata": {
            "annotations": annotations | ({"example.com/sent": sent} if sent else {}),
            "creationTimestamp": "2026-03-01T08:00:00Z",
            "generation": 3,
            "labels": {
                "app.kubernetes.io/instance": f"widget-{number % 500}",
                "app.kubernetes.io/managed-by": "helm",
                "app.kubernetes.io/name": "widget",
                "team": f"team-{number % 10}",
                "tier": _TIERS[number % len(_TIERS)],
            },
            "managedFields": [_managed_by(*manager) for manager in _MANAGERS],
            "name": f"widget-{number:06}",
            "namespace": f"ns-{number % NAMESPACES:02}",
            "resourceVersion": str(resource_version),
            "uid": f"00000000-0000-4000-8000-{number:012x}",
        },
        "spec": {
            "hostnames": [f"w{number}.example.com", f"www.w{number}.example.com"],
            "parentRefs": [{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": f"gw-{number % 7}"}],
            "replicas": (number + revision) % 5,
            "rules": [_rule(number, index) for index in range(rules)],
            "suspend": number % 3 == 0,
        },
        "status": {
            "conditions": [_condition(name, number) for name in ("Accepted", "Programmed", "ResolvedRefs")],
            "observedGeneration": 3,
        },
    }


def _rule(number: int, index: int) -> dict[str, object]:
    return {
        "backendRefs": [{"kind": "Service", "name": f"backend-{number % 100}-{index}", "port": 8080, "weight": 1}],
        "matches": [
            {
                "headers": [{"name": "x-env", "type": "Exact", "value": "canary"}],
                "method": "GET",
                "path": {"type": "PathPrefix", "value": f"/api/v1/items/{index}"},
            }
        ],
        "timeouts": {"backendRequest": "5s", "request": "10s"},
    }


def _condition(name: str, number: int) -> dict[str, object]:
    return {
        "lastTransitionTime": "2026-03-01T08:00:05Z",
        "message": f"widget {number} is as it should be",
        "observedGeneration": 3,
        "reason": name,
        "status": "True",
        "type": name,
    }


def _managed_by(manager: str, operation: str, subresource: str) -> dict[str, object]:
    own: dict[str, object] = {"f:hostnames": {}, "f:parentRefs": {}, "f:replicas": {}, "f:rules": {}, "f:suspend": {}}
    labels: dict[str, object] = {f"f:app.kubernetes.io/{name}": {} for name in ("instance", "managed-by", "name")}
    fields: dict[str, object] = {
        "f:metadata": {"f:annotations": {".": {}, "f:example.com/owner": {}}, "f:labels": {".": {}, **labels}},
        "f:spec": {".": {}, **own},
    }
    if subresource:
        kinds = ("Accepted", "Programmed", "ResolvedRefs")
        parts: dict[str, object] = {f"f:{field}": {} for field in ("message", "reason", "status", "lastTransitionTime")}
        conditions = {f'k:{{"type":"{kind}"}}': {".": {}, **parts} for kind in kinds}
        fields = {"f:status": {"f:conditions": conditions, "f:observedGeneration": {}}}
    entry: dict[str, object] = {
        "apiVersion": f"{GROUP}/{VERSION}",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        "manager": manager,
        "operation": operation,
        "time": "2026-03-01T08:00:00Z",
    }
    return {**entry, "subresource": subresource} if subresource else entry


def namespace(number: int) -> bytes:
    """Return a Namespace as JSON; one in ten has the label ``environment: prod``."""
    name = f"ns-{number:02}"
    labels = {"environment": "prod" if number % 10 == 0 else "test", "kubernetes.io/metadata.name": name}
    metadata = {"labels": labels, "name": name, "resourceVersion": "1", "uid": f"ns-uid-{number}"}
    return _encode({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata, "status": {"phase": "Active"}})


def crd() -> bytes:
    """Return the CRD of the objects as JSON, established."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    names = {"kind": KIND, "listKind": f"{KIND}List", "plural": PLURAL, "singular": PLURAL[:-1]}
    true = {"reason": "Yes", "status": "True"}
    return _encode(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{PLURAL}.{GROUP}", "resourceVersion": "1", "uid": "crd-uid"},
            "spec": {
                "group": GROUP,
                "names": names,
                "scope": "Namespaced",
                "versions": [{"name": VERSION, "schema": schema, "served": True, "storage": True}],
            },
            "status": {
                "acceptedNames": names,
                "conditions": [{**true, "type": "NamesAccepted"}, {**true, "type": "Established"}],
                "storedVersions": [VERSION],
            },
        }
    )
