"""Cases: responses of a broken or malicious server to a client."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import fields
from functools import partial
from typing import Any, Final

import trio

import dynkube
from benchmarks.bounds.trial import Case, Trial, outcome_of
from dynkube.config import ExecCommand, ExecPlugin
from dynkube.errors import DynkubeError

TOKEN: Final = "s3cret-t0ken-of-mine"
Act = Callable[[dynkube.Client], Awaitable[str]]


@asynccontextmanager
async def connected(name: str, **bounds: int) -> AsyncIterator[dynkube.Client]:
    """Connect a client to the hostile server ``name``; limits that the library does not have are ignored."""
    known = {field.name for field in fields(dynkube.Limits)}
    limits = dynkube.Limits(**{key: value for key, value in bounds.items() if key in known})
    command = [sys.executable, "-P", "-m", "benchmarks.bounds.hostile_server", name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:  # noqa: ASYNC220  # before the measurement
        try:
            assert server.stdout is not None
            port = int(await trio.to_thread.run_sync(server.stdout.readline))
            async with dynkube.connect(url=f"http://127.0.0.1:{port}", token=TOKEN, limits=limits) as client:
                yield client
        finally:
            server.kill()


async def run_case(trial: Trial, *, server: str, act: Act, size: int, warm: str = "", **bounds: Any) -> str:
    """Run ``act`` with a client of a hostile server, and describe the result."""
    async with connected(server, **bounds) as client:
        # The imports and the discovery of the first request are not measured.
        await client.raw("GET", "/api")
        if warm:
            await client.mapper.resolve(warm)
        trial.start(size)
        try:
            return await act(client)
        except DynkubeError as error:
            return f"{outcome_of(error)} ({len(str(error)):,} characters)"


async def _list(client: dynkube.Client) -> str:
    return f"{len(await client.resource('pods').list()):,} objects"


async def _state(client: dynkube.Client) -> str:
    async with client.informer("pods") as informer:
        await informer.wait_state(dynkube.DEGRADED)
        state = informer.state
        return f"{state.phase} ({state.reason}), a message of {len(state.message):,} characters"


async def _get(client: dynkube.Client) -> str:
    return f"asked for 'a', got {(await client.resource('pods').get('a', namespace='default')).name!r}"


async def _get_two(client: dynkube.Client) -> str:
    pods = client.resource("pods")
    await pods.get("a", namespace="default")
    return f"asked for 'b', got {(await pods.get('b', namespace='default')).name!r}"


async def _discover(client: dynkube.Client) -> str:
    return str(await client.mapper.resolve("widgets"))


async def _echoes(client: dynkube.Client) -> str:
    leaks = []
    for path in ("/warning", "/location", "/line", "/field", "/status"):
        try:
            response = await client.raw("GET", path)
            text = str(response.warnings)
        except DynkubeError as error:
            text = str(error)
        leaks += [path] if TOKEN in text else []
    return f"the token is shown of {len(leaks)} in 5 echoes"


async def _exec(trial: Trial) -> str:
    trial.start(3)
    try:
        await ExecPlugin(ExecCommand(command="true", args=("a\0b",), api_version="v1")).current()
    except Exception as error:  # noqa: BLE001  # the result is the type of the error
        return outcome_of(error)
    return "run"


_MIB: Final = 1 << 20
CASES: Final[dict[str, Case]] = {
    "client: a continue token that repeats": partial(
        run_case, server="repeated token", act=_list, size=600_000, warm="pods"
    ),
    "client: empty pages without end": partial(run_case, server="empty pages", act=_list, size=90, warm="pods"),
    "client: a list that grows (limit 100 MiB)": partial(
        run_case, server="growing list", act=_list, size=100 * _MIB, warm="pods", max_list_bytes=100 * _MIB
    ),
    "client: an informer on a token that repeats": partial(
        run_case, server="repeated token", act=_state, size=600_000, warm="pods"
    ),
    "client: a message of 15 MB in an error": partial(
        run_case, server="long message", act=_get, size=15_000_000, warm="pods"
    ),
    "client: a message of 15 MB in a state": partial(
        run_case, server="long message", act=_state, size=15_000_000, warm="pods"
    ),
    "client: discovery of 100,000 legacy groups": partial(
        run_case, server="many groups", act=_discover, size=5_200_000
    ),
    "client: bytes after the end of a response": partial(
        run_case, server="smuggled", act=_get_two, size=300, warm="pods"
    ),
    "client: another object than the one asked for": partial(
        run_case, server="other object", act=_get, size=150, warm="pods"
    ),
    "client: a failed Status with 200": partial(run_case, server="failed with 200", act=_get, size=100, warm="pods"),
    "client: the status code 999": partial(run_case, server="status 999", act=_get, size=100, warm="pods"),
    "client: the token in five echoes": partial(run_case, server="echo", act=_echoes, size=300, warm="pods"),
    "client: NUL in the arguments of a plugin": _exec,
}
