"""``Cut`` and ``end_watches``: responses that end early, in every way and at any position."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
import trio

from dynkube.errors import InvalidInput
from dynkube_testing import APIServer, Cut, Ending
from tests.contract.objects import config

CONFIGS = "/api/v1/configmaps"
WATCH = f"{CONFIGS}?watch=true"


class Reading:
    """What was received of a response, and how it ended."""

    def __init__(self) -> None:
        self.data = b""
        self.end: object = "open"

    @property
    def names(self) -> list[str]:
        """The names in complete lines."""
        lines = self.data.split(b"\n")[:-1]
        return [json.loads(line)["object"]["metadata"]["name"] for line in lines]

    @property
    def incomplete(self) -> bytes:
        """The incomplete last line."""
        return self.data.split(b"\n")[-1]


@asynccontextmanager
async def reading(client: httpx2.AsyncClient, path: str = WATCH) -> AsyncIterator[Reading]:
    """Read a response in the background while the block runs."""
    seen = Reading()

    async def read(response: httpx2.Response) -> None:
        try:
            async for chunk in response.aiter_raw():
                seen.data += chunk
            seen.end = "clean"
        except httpx2.TransportError as error:
            seen.end = type(error)

    async with trio.open_nursery() as nursery, client.stream("GET", path) as response:
        nursery.start_soon(read, response)
        await trio.sleep(1)
        yield seen
        nursery.cancel_scope.cancel()


ENDS: dict[Ending, tuple[type[Exception] | str, bool]] = {
    "clean": ("clean", False),
    "cut": (httpx2.RemoteProtocolError, False),
    "reset": (httpx2.ReadError, False),
    "mid-line": (httpx2.RemoteProtocolError, True),
    "mid-chunk": (httpx2.RemoteProtocolError, True),
    "silent": ("open", False),
}


@pytest.mark.parametrize("how", ENDS)
async def test_a_watch_can_be_cut_after_some_lines(server: APIServer, client: httpx2.AsyncClient, how: Ending) -> None:
    server.inject(Cut(how, after_lines=2), verb="watch")

    async with reading(client) as seen:
        for name in ("a", "b", "c"):
            server.create(config(name))
            await trio.sleep(1)

        end, half = ENDS[how]
        assert (seen.names, seen.end, bool(seen.incomplete)) == (["a", "b"], end, half)


@pytest.mark.parametrize("how", ENDS)
async def test_end_watches_ends_an_open_watch(server: APIServer, client: httpx2.AsyncClient, how: Ending) -> None:
    async with reading(client) as seen:
        server.create(config("a"))
        await trio.sleep(1)
        assert server.end_watches("configmaps", how) == 1
        await trio.sleep(1)
        server.create(config("b"))
        await trio.sleep(3600)

        end, half = ENDS[how]
        assert (seen.names, seen.end, bool(seen.incomplete)) == (["a"], end, half)
        assert len(server.open_watches) == (how == "silent")
    assert server.open_watches == ()


@pytest.mark.parametrize("how", ENDS)
async def test_a_list_can_be_cut_after_some_bytes(server: APIServer, client: httpx2.AsyncClient, how: Ending) -> None:
    server.inject(Cut(how, after_bytes=20))

    async with reading(client, CONFIGS) as seen:
        assert (len(seen.data), seen.end) == (20, ENDS[how][0])


async def test_a_watch_can_be_cut_after_some_time(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.inject(Cut("reset", after_seconds=60))

    async with reading(client) as seen:
        await trio.sleep(58)
        before = seen.end
        await trio.sleep(2)

        assert (before, seen.end) == ("open", httpx2.ReadError)


async def test_a_watch_can_be_ended_before_its_first_event(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.create(config("a"))
    server.inject(Cut("clean"), verb="watch")

    response = await client.get(WATCH)

    assert (response.status_code, response.content) == (200, b"")


async def test_a_response_that_is_complete_before_the_cut_is_unchanged(
    server: APIServer, client: httpx2.AsyncClient
) -> None:
    server.inject(Cut("reset", after_bytes=1_000_000))
    server.inject(Cut("reset", after_seconds=1))

    assert (await client.get(CONFIGS)).json()["kind"] == "ConfigMapList"


@pytest.mark.parametrize("how", ["clean", "cut", "reset"])
async def test_a_silent_watch_can_be_ended(server: APIServer, client: httpx2.AsyncClient, how: Ending) -> None:
    async with reading(client) as seen:
        server.end_watches(how="silent")
        await trio.sleep(600)
        assert server.end_watches(how=how) == 1
        await trio.sleep(1)

        assert (seen.data, seen.end) == (b"", ENDS[how][0])


async def test_a_watch_that_became_silent_while_sending_can_be_ended(
    server: APIServer, client: httpx2.AsyncClient
) -> None:
    async with client.stream("GET", WATCH) as unread:
        for number in range(40):  # more than the buffer between server and client holds
            server.create(config(f"a-{number}"))
            await trio.sleep(1)

        server.end_watches(how="silent")
        await trio.sleep(1)
        server.end_watches(how="clean")

        with pytest.raises(httpx2.RemoteProtocolError), trio.fail_after(60):
            async for _ in unread.aiter_raw():
                pass


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"how": "gently"}, "'mid-chunk' or 'silent'"),
        ({"after_lines": -1}, "after_lines is -1"),
        ({"after_seconds": -1}, "after_seconds is -1"),
        ({"after_lines": 1, "after_bytes": 1}, "one of after_lines and after_bytes"),
    ],
)
def test_invalid_cuts_are_rejected(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Cut(**wrong)
