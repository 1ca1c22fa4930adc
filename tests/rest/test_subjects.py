"""The subject of a request, as observers get it: paths are parsed as by the API server."""

from __future__ import annotations

import httpx2
import pytest

from dynkube.rest._messages import Request
from dynkube.telemetry import Observer, Observers, RequestInfo
from tests.rest.wire import MakeClient, Wire

NAMESPACED = "/apis/apps/v1/namespaces/{namespace}/deployments"
CASES = [
    ("GET /api/v1/pods", "list pods.v1 . . .", "/api/v1/pods"),
    ("GET /api/v1/pods?watch=true", "watch pods.v1 . . .", "/api/v1/pods"),
    ("GET /apis/apps/v1/namespaces/shop/deployments", "list deployments.v1.apps shop . .", NAMESPACED),
    ("POST /apis/apps/v1/namespaces/shop/deployments", "create deployments.v1.apps shop . .", NAMESPACED),
    ("DELETE /apis/apps/v1/namespaces/shop/deployments", "deletecollection deployments.v1.apps shop . .", NAMESPACED),
    ("GET /apis/apps/v1/namespaces/shop/deployments/web", "get deployments.v1.apps shop web .", NAMESPACED + "/{name}"),
    (
        "PATCH /apis/apps/v1/namespaces/shop/deployments/web/scale",
        "patch deployments.v1.apps shop web scale",
        NAMESPACED + "/{name}/scale",
    ),
    ("DELETE /api/v1/nodes/a%3Ab", "delete nodes.v1 . a:b .", "/api/v1/nodes/{name}"),
    ("GET /api/v1/namespaces", "list namespaces.v1 . . .", "/api/v1/namespaces"),
    ("PUT /api/v1/namespaces/shop", "update namespaces.v1 . shop .", "/api/v1/namespaces/{name}"),
    (
        "PUT /api/v1/namespaces/shop/finalize",
        "update namespaces.v1 . shop finalize",
        "/api/v1/namespaces/{name}/finalize",
    ),
    (
        "GET /api/v1/namespaces/shop/services/web/proxy/a/b",
        "get services.v1 shop web proxy",
        "/api/v1/namespaces/{namespace}/services/{name}/proxy/{path}",
    ),
    ("GET /api/v1", "get None . . .", "/api/v1"),
    ("GET /apis", "get None . . .", "/apis"),
    ("GET /apis/apps/v1", "get None . . .", "/apis/apps/v1"),
    ("GET /version", "get None . . .", "/version"),
    ("POST /", "post None . . .", "/"),
]


class RequestRecorder(Observer):
    """Records the subjects of requests."""

    def __init__(self) -> None:
        self.requests: list[RequestInfo] = []

    def request_started(self, request: RequestInfo) -> None:
        self.requests.append(request)


@pytest.mark.parametrize(("request_line", "subject", "template"), CASES, ids=[case[0] for case in CASES])
async def test_a_path_is_parsed_as_by_the_server(
    make_client: MakeClient, request_line: str, subject: str, template: str
) -> None:
    recorder = RequestRecorder()
    method, path = request_line.split()
    path, _, query = path.partition("?")
    client = make_client(Wire(httpx2.Response(200, json={})), observers=Observers([recorder]))

    await client.request(Request(method=method, path=path, params={"watch": "true"} if query else {}))

    (info,) = recorder.requests
    found = (info.verb, info.gvr, info.namespace or ".", info.name or ".", info.subresource or ".")
    assert " ".join(map(str, found)) == subject
    assert info.template == template
    assert info.url == f"https://api.example:6443{path}{'?' if query else ''}{query}"
