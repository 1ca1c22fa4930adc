"""Combinations of faults: each takes effect, and no request or task is left behind."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import httpx2
import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from dynkube_testing import (
    APIServer,
    Cut,
    Delay,
    Disconnect,
    Drip,
    Effect,
    Ending,
    Freeze,
    Hang,
    Refuse,
    Rewrite,
    rewrites,
)
from tests.contract.objects import config

CONFIGS = "/api/v1/configmaps"
WATCH = f"{CONFIGS}?watch=true&allowWatchBookmarks=true&timeoutSeconds=200"
HOWS: tuple[Ending, ...] = ("clean", "cut", "reset", "mid-line", "mid-chunk", "silent")

NUMBERS = st.integers(0, 5)
CUTS = st.one_of(
    st.builds(Cut, st.sampled_from(HOWS)),
    st.builds(Cut, st.sampled_from(HOWS), after_lines=NUMBERS),
    st.builds(Cut, st.sampled_from(HOWS), after_bytes=st.integers(0, 600)),
    st.builds(Cut, st.sampled_from(HOWS), after_seconds=st.integers(0, 300)),
)
REWRITES = st.sampled_from(
    [
        rewrites.drop_bookmarks,
        rewrites.remove_metadata,
        rewrites.rewind(5),
        rewrites.garble,
        rewrites.repeat,
        rewrites.before({"type": "NEWS"}, b"\n"),
    ]
)
EFFECTS: st.SearchStrategy[Effect] = st.one_of(
    CUTS,
    st.builds(Rewrite, REWRITES, skip=NUMBERS),
    st.builds(Delay, NUMBERS),
    st.builds(Drip, st.integers(20, 2000)),
    st.builds(Refuse, st.sampled_from([200, 410, 503]), body=st.sampled_from([None, "<html>", b"\n"])),
    st.builds(Disconnect, st.sampled_from(["clean", "reset"])),
    st.builds(Freeze),
    st.builds(Hang),
)


async def outcome(client: httpx2.AsyncClient, path: str) -> object:
    """Return the status of a response, or the type of the error."""
    try:
        return (await client.get(path, timeout=100)).status_code
    except httpx2.TransportError as error:
        return type(error)


async def play(effects: list[Effect], ends: list[Ending]) -> None:
    async with APIServer(random=Random(1)) as server:
        for name in "abc":
            server.create(config(name))
        for effect in effects:
            server.inject(effect, chance=0.8)
        async with (
            httpx2.AsyncClient(transport=server.transport(), base_url=server.url) as client,
            trio.open_nursery() as nursery,
        ):
            for path in (CONFIGS, WATCH, f"{CONFIGS}/d", WATCH):
                nursery.start_soon(outcome, client, path)
            for how in ends:
                await trio.sleep(20)
                server.end_watches(how=how)
                server.create({**config(), "metadata": {"generateName": "x-"}})

        await trio.testing.wait_all_tasks_blocked()
        assert server.open_watches == ()
        assert all(record.finished is not None for record in server.audit)
        assert server._nursery is not None
        assert len(server._nursery.child_tasks) == 1, "the task of the engine, but none of a request"


@given(effects=st.lists(EFFECTS, max_size=4), ends=st.lists(st.sampled_from(HOWS), max_size=3))
@settings(max_examples=60)
def test_no_combination_of_faults_hangs_raises_or_leaves_a_request(effects: list[Effect], ends: list[Ending]) -> None:
    trio.run(play, effects, ends, clock=trio.testing.MockClock(autojump_threshold=0))


async def test_a_cut_in_mid_line_applies_to_rewritten_lines(server: APIServer, client: httpx2.AsyncClient) -> None:
    for name in "ab":
        server.create(config(name))
    server.inject(Rewrite(rewrites.repeat), verb="watch")
    server.inject(Cut("mid-line", after_lines=1), verb="watch")

    chunks: list[bytes] = []

    async def read() -> None:
        async with client.stream("GET", WATCH) as response:
            async for chunk in response.aiter_raw():
                chunks.append(chunk)  # noqa: PERF401 - the chunks received before the error are needed

    with pytest.raises(httpx2.RemoteProtocolError):
        await read()

    received = b"".join(chunks)
    first, again, half = received.split(b"\n")
    assert first == again
    assert half.startswith(b'{"type":"ADDED"')
    with pytest.raises(json.JSONDecodeError):
        json.loads(half)


async def test_the_server_receives_the_scope_that_an_effect_passes_on(
    server: APIServer, client: httpx2.AsyncClient
) -> None:
    class InTheNameOfAnother:
        async def apply(self, request: Any, app: Any, scope: Any, receive: Any, send: Any) -> None:
            await app({**scope, "raw_path": b"/api/v1/secrets"}, receive, send)

    server.inject(InTheNameOfAnother(), resource="configmaps")

    assert (await client.get(CONFIGS)).json()["kind"] == "SecretList"
