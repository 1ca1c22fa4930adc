"""Lists whose pages do not end: an error that names the limit, and no endless requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
import pytest
import trio

import dynkube
from dynkube.client import ResourceClient
from dynkube.errors import EndlessList
from dynkube.rest import Limits
from tests.client.wire import ScriptedServer, connect, pod, pods

LIMITS = Limits(max_list_pages=500, max_list_bytes=200_000, max_list_seconds=60)


class PagingServer(ScriptedServer):
    """Responds to lists with the pages that ``page`` makes for their numbers."""

    def __init__(self, page: Callable[[int], httpx2.Response], *, seconds: float = 0) -> None:
        super().__init__()
        self._page = page
        self._seconds = seconds

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.responses.append(self._page(len(self.requests)))
        response = await super().handle_async_request(request)
        if "limit" in request.url.params:
            await trio.sleep(self._seconds)
        else:
            self.responses.clear()
        return response


def one(number: int) -> httpx2.Response:
    return pods(1, pod(f"p{number}"), token=f"t{number}")


KINDS: dict[str, tuple[Callable[[int], httpx2.Response], int, str]] = {
    "a token that repeats": (lambda n: pods(1, pod(f"p{n}"), token="t"), 2, "has the continue token of an earlier one"),
    "tokens in a circle": (lambda n: pods(1, pod(f"p{n}"), token=f"t{n % 3}"), 4, "the continue token of an earlier"),
    "empty pages": (lambda n: pods(1, token=f"t{n}"), 100, "100 consecutive pages are empty"),
    "many pages": (one, 500, r"more than 500 pages \(Limits.max_list_pages\)"),
}


@pytest.mark.parametrize("verb", ["list", "iterate"])
@pytest.mark.parametrize(("page", "requests", "message"), KINDS.values(), ids=KINDS.keys())
async def test_endless_pages_are_an_error(
    page: Callable[[int], httpx2.Response], requests: int, message: str, verb: str
) -> None:
    server = PagingServer(page)

    with pytest.raises(EndlessList, match=f"GET /api/v1/pods: .*{message}"):
        await read(connect(server, limits=LIMITS).resource("pods"), verb)

    assert len(server.requests) == requests


async def read(resource: ResourceClient, verb: str) -> list[Any]:
    return list(await resource.list()) if verb == "list" else [obj async for obj in resource.iterate()]


@pytest.mark.parametrize("verb", ["list", "table"])
async def test_the_bytes_of_all_pages_are_limited(verb: str) -> None:
    server = PagingServer(lambda n: pods(1, pod(f"p{n}", data="x" * 10_000), token=f"t{n}"))
    resource = connect(server, limits=LIMITS).resource("pods")

    with pytest.raises(EndlessList, match=r"more than 200000 bytes \(Limits.max_list_bytes\)"):
        await getattr(resource, verb)()

    assert len(server.requests) == 20


async def test_the_time_for_all_pages_is_limited() -> None:
    server, began = PagingServer(one, seconds=7), trio.current_time()

    with pytest.raises(EndlessList, match=r"did not end within 60 s \(Limits.max_list_seconds\)"):
        await connect(server, limits=LIMITS).resource("pods").list()

    assert trio.current_time() - began == 60


async def test_an_informer_shows_an_endless_list_in_its_state_and_backs_off() -> None:
    server = PagingServer(lambda n: pods(1, pod(f"p{n}"), token="t"))
    settings = dynkube.InformerSettings(streaming_lists=False)
    async with (
        dynkube.connect(url="http://api.example", transport=server, settings=settings) as client,
        client.informer("pods.v1") as informer,
    ):
        await informer.wait_state(dynkube.DEGRADED)

        assert informer.state.reason == "EndlessList"
        assert "has the continue token of an earlier one" in informer.state.message
        await trio.sleep(3600)
    assert len([request for request in server.requests if request.url.path == "/api/v1/pods"]) < 60
