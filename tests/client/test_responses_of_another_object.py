"""A get returns the requested object, or raises."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from dynkube.errors import Forbidden, NotFound, ProtocolError
from tests.client.wire import JSON, ScriptedServer, connect, ok, pod, status, stream


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (pod("b"), "its metadata.name is 'b', but 'a' was requested"),
        (pod("a", namespace="kube-system"), "its metadata.namespace is 'kube-system', but 'shop' was requested"),
        (pod("a") | {"kind": "Secret"}, "its kind is 'Secret', but 'Pod' was requested"),
        (pod("a") | {"kind": "x" * 1000}, r"its kind is 'x+… \(747 characters more\)'"),
    ],
)
async def test_another_object_in_the_response_is_an_error(response: dict[str, Any], message: str) -> None:
    server = ScriptedServer(ok(response))

    with pytest.raises(ProtocolError, match=rf"GET /api/v1/namespaces/shop/pods/a: .*{message}"):
        await connect(server).resource("pods").get("a")


async def test_the_name_that_stands_for_the_requester_has_any_answer() -> None:
    server = ScriptedServer(ok({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "jane"}}))

    assert (await connect(server).resource("namespaces").get("~")).name == "jane"  # on OpenShift: users/~
    assert server.request_lines == ["GET /api/v1/namespaces/~"]


async def test_a_kind_that_discovery_did_not_list_yet_is_accepted_once_it_does() -> None:
    server = Renaming(ok(pod("a") | {"kind": "Renamed"}))

    assert (await connect(server).resource("pods").get("a")).kind == "Renamed"


class Renaming(ScriptedServer):
    """Changes the kind of pods with the first request for one."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        content = response.content.replace(b'"Pod"', b'"Renamed"') if self.requests else response.content
        return httpx2.Response(response.status_code, headers=JSON, content=content)


FAILURE = status(403, "Forbidden", "no")


async def test_a_failed_status_is_raised_whatever_the_code_of_its_response() -> None:
    server = ScriptedServer(ok(FAILURE), ok(FAILURE), ok(FAILURE, 201), *[ok(status(404, "NotFound", "gone"))] * 2)
    pods = connect(server).resource("pods")

    with pytest.raises(Forbidden, match="403 Forbidden: no"):
        await pods.get("a")
    with pytest.raises(Forbidden, match="403 Forbidden: no"):
        await pods.list()
    with pytest.raises(Forbidden, match="403 Forbidden: no"):
        await pods.create(pod("a"))
    with pytest.raises(NotFound, match="404 NotFound: gone"):
        await pods.delete("a")


@pytest.mark.parametrize("code", [0, 200, 999, "403", True, None, 10**30])
async def test_a_status_whose_code_is_not_an_error_gets_code_500(code: object) -> None:
    server = ScriptedServer(ok({**FAILURE, "code": code, "reason": ""}))

    with pytest.raises(Exception, match="500 InternalError: no") as caught:
        await connect(server).resource("pods").get("a")

    assert caught.value.code == 500  # type: ignore[attr-defined]


async def test_a_watch_raises_a_failed_status_in_place_of_events_once_it_lasts() -> None:
    server = ScriptedServer(*[stream(ok(FAILURE).content + b"\n") for _ in range(30)])

    async with connect(server).resource("pods").watch(resource_version="1") as events:
        with pytest.raises(Forbidden, match="403 Forbidden: no"):
            await anext(events)


async def test_a_status_of_success_is_not_raised() -> None:
    server = ScriptedServer(ok({"kind": "Status", "apiVersion": "v1", "status": "Success"}))

    assert await connect(server).resource("pods").delete("a") is None
