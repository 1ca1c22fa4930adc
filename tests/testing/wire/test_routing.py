"""Paths and methods are routed to a kind and a verb."""

from __future__ import annotations

import pytest

from dynkube_testing._calls.api import Call
from dynkube_testing._kinds.builtin import builtin_kinds
from dynkube_testing._kinds.kinds import Registry
from dynkube_testing._wire.http import HTTPRequest
from dynkube_testing._wire.routes import ResourcePath, asked_verb, route

_REGISTRY = Registry(builtin_kinds())


def _route(method: str, target: str) -> Call:
    path, _, query = target.partition("?")
    scope = {
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [],
    }
    request = HTTPRequest.from_scope(scope)
    parsed = ResourcePath.parse(request.segments)
    assert parsed is not None
    return route(parsed, asked_verb(request, parsed), _REGISTRY)


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/api/v1/pods", ("list", "pods.v1", "", "", "")),
        ("GET", "/api/v1/pods?watch=true", ("watch", "pods.v1", "", "", "")),
        ("GET", "/api/v1/pods?watch=1", ("watch", "pods.v1", "", "", "")),
        ("GET", "/api/v1/pods?watch", ("watch", "pods.v1", "", "", "")),
        ("GET", "/api/v1/pods?watch=False", ("list", "pods.v1", "", "", "")),
        ("GET", "/api/v1/pods?watch=0", ("list", "pods.v1", "", "", "")),
        ("GET", "/api/v1/namespaces/a/pods", ("list", "pods.v1", "a", "", "")),
        ("POST", "/api/v1/namespaces/a/pods", ("create", "pods.v1", "a", "", "")),
        ("DELETE", "/api/v1/namespaces/a/pods", ("deletecollection", "pods.v1", "a", "", "")),
        ("GET", "/api/v1/namespaces/a/pods/b", ("get", "pods.v1", "a", "b", "")),
        ("GET", "/api/v1/namespaces/a/pods/b?watch=true", ("get", "pods.v1", "a", "b", "")),
        ("PATCH", "/api/v1/namespaces/a/pods/b/status", ("patch", "pods.v1", "a", "b", "status")),
        ("PUT", "/apis/apps/v1/namespaces/a/deployments/b/scale", ("update", "deployments.v1.apps", "a", "b", "scale")),
        ("GET", "/api/v1/namespaces", ("list", "namespaces.v1", "", "", "")),
        ("GET", "/api/v1/namespaces/a", ("get", "namespaces.v1", "", "a", "")),
        ("PUT", "/api/v1/namespaces/a/status", ("update", "namespaces.v1", "", "a", "status")),
        ("GET", "/api/v1/namespaces/a%2Fpods", ("list", "pods.v1", "a", "", "")),
        ("POST", "/api/v1/nodes", ("create", "nodes.v1", "", "", "")),
    ],
)
def test_a_path_is_routed_to_verb_kind_and_name(method: str, path: str, expected: tuple[str, ...]) -> None:
    target = _route(method, path)

    assert (target.verb, str(target.kind.gvr), target.namespace, target.name, target.subresource) == expected


@pytest.mark.parametrize(
    "path", ["/", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/version", "/api//pods"]
)
def test_paths_of_other_documents_are_not_resource_paths(path: str) -> None:
    assert ResourcePath.parse(tuple(path.strip("/").split("/"))) is None
