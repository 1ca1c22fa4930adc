"""``dynkube cordon``, ``uncordon`` and ``drain``: progress, failures, interruption, arguments."""

from __future__ import annotations

import logging
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest
import trio

import dynkube
from dynkube import Client
from dynkube.cli import main
from dynkube.cli._nodes import run_drain
from dynkube.cli._run import exit_code
from dynkube.workloads import DrainError, DrainReport
from dynkube_testing import APIServer
from tests.cli.processes import dynkube as command
from tests.workloads.test_drain import BUDGET, EMPTY_DIR, allow, place, pod

OFFLINE = ["--url", "http://127.0.0.1:1"]
Begin = Callable[[Client, Callable[[DrainReport], object]], Coroutine[Any, Any, DrainReport]]


@pytest.fixture
async def server() -> AsyncIterator[APIServer]:
    async with APIServer(garbage_collection=False) as server:
        server.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
        yield server


def entering(server: APIServer) -> Client:
    return dynkube.connect(transport=server.transport())


def draining(**options: Any) -> Begin:
    return lambda client, on_report: client.drain("n1", on_report=on_report, **options)


async def test_a_drain_prints_what_becomes_of_each_pod(
    server: APIServer, client: Client, capfd: pytest.CaptureFixture[str]
) -> None:
    await place(client, BUDGET, pod("web-1"), pod("db-1"))
    await allow(client, 0)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_drain, entering(server), draining())
        await trio.sleep(1)
        await allow(client, 1)

    blocked, evicted = sorted(line for line in capfd.readouterr().out.splitlines() if "web-1" in line)[:2]
    assert blocked.startswith("default/web-1 blocked: Cannot evict pod")
    assert evicted == "default/web-1 evicted"


async def test_pods_that_may_not_be_evicted_are_an_error_with_flags(
    server: APIServer, client: Client, capfd: pytest.CaptureFixture[str]
) -> None:
    await place(client, pod("db-1", **EMPTY_DIR), pod("bare", owner=None))

    with pytest.raises(DrainError) as caught:
        await run_drain(entering(server), draining())

    assert exit_code(caught.value) == 1
    out, err = capfd.readouterr()
    assert "default/bare refused: has no controller that would create it again: pass --force to delete it" in out
    assert "pass --delete-emptydir-data to delete it" in out
    assert err.startswith("error: node 'n1' is cordoned, but nothing was evicted: default/bare refused")


@pytest.mark.real_time
async def test_ctrl_c_ends_a_drain_and_says_that_the_node_is_cordoned(server: APIServer, client: Client) -> None:
    await place(client, BUDGET, pod("web-1"))
    await allow(client, 0)

    async with server.serve() as endpoint, command("drain", "n1", "--url", endpoint.url) as running:
        await running.until("blocked")
        code, _, err = await running.stop(signal.SIGINT)

    assert code == 130
    assert err.startswith("warning: the drain was cancelled: node 'n1' remains cordoned, with 1 blocked: ")
    assert err.endswith(": 'dynkube uncordon n1' undoes that\n")


@pytest.mark.real_time
async def test_the_commands_run(server: APIServer, capfd: pytest.CaptureFixture[str]) -> None:
    async with server.serve() as endpoint:
        for words in (["cordon", "n1"], ["drain", "n1", "--dry-run", "--timeout", "1m"], ["uncordon", "n1"]):
            assert await trio.to_thread.run_sync(main, [*words, "--url", endpoint.url]) == 0
        code = await trio.to_thread.run_sync(main, ["cordon", "none", "--url", endpoint.url])

    out, err = capfd.readouterr()
    assert out == "node/n1 cordoned\nnode/n1 drained (dry run)\nnode/n1 uncordoned\n"
    assert (code, "not found" in err) == (1, True)
    assert not logging.getLogger("dynkube").handlers


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--grace-period=-2"], "--grace-period must be a number of seconds >= 0, or -1, not -2"),
        (["--pod-selector", "a==="], "--pod-selector: "),
        (["--timeout", "soon"], "--timeout 'soon' is not a duration"),
    ],
)
def test_invalid_arguments_are_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drain", "n1", *arguments, *OFFLINE]) == 1
    assert capsys.readouterr().err.startswith(f"error: {message}")
