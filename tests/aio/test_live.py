"""``await informer.live()``: live tables in notebooks whose cells await asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

import dynkube
import dynkube.aio
from dynkube.errors import ClosedError, InvalidInput
from dynkube_testing import ServerThread
from tests.aio.kit import in_asyncio
from tests.notebook.channel import WidgetChannel
from tests.notebook.kernel import Kernel
from tests.sync.kit import config_map

pytestmark = pytest.mark.real_time


@pytest.fixture
def channel(monkeypatch: pytest.MonkeyPatch) -> WidgetChannel:
    """The messages that a kernel would send."""
    pytest.importorskip("anywidget", reason="anywidget is not installed")
    monkeypatch.setattr("dynkube.notebook._live._PATIENCE", 30.0)  # for busy machines
    return WidgetChannel(monkeypatch)


@in_asyncio
async def test_a_table_is_updated_while_the_event_loop_is_blocked(
    cluster: ServerThread, channel: WidgetChannel
) -> None:
    async with dynkube.aio.connect(url=cluster.url) as client, client.informer("configmaps.v1") as maps:
        table = await maps.live(columns={"text": "{.data.text}"})
        channel.send(kind="hello", page="1")
        cluster.create(config_map("one", text="hello"))
        page = channel.until(lambda page: "one" in str(page.rows))  # blocks the event loop

        assert page.texts("Name", "text") == [["one", "hello"]]
        assert "LIVE" in repr(table)

    assert "closed" in repr(table)


@in_asyncio
async def test_a_cancelled_live_leaves_no_table(cluster: ServerThread, channel: WidgetChannel) -> None:
    async with dynkube.aio.connect(url=cluster.url) as client, client.informer("namespaces.v1") as spaces:
        task = asyncio.create_task(spaces.live())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert channel.widgets == 0


@in_asyncio
async def test_invalid_uses_are_rejected(cluster: ServerThread) -> None:
    async with dynkube.aio.connect(url=cluster.url) as client:
        spaces = client.informer("namespaces")
        with pytest.raises(ClosedError, match="this informer was not entered"):
            await spaces.live()
        async with spaces:
            with pytest.raises(InvalidInput, match="limit must be a number of rows from 1 to 2,000, not 0"):
                await spaces.live(limit=0)
        with pytest.raises(ClosedError, match="this informer is closed"):
            await spaces.live()


@in_asyncio
async def test_a_table_of_several_clients_follows_all(cluster: ServerThread, channel: WidgetChannel) -> None:
    cluster.create(config_map("one"))
    async with (
        dynkube.aio.connect(url=cluster.url) as client,
        client.informer("configmaps.v1") as maps,
        dynkube.aio.connect(url=cluster.url) as other,
        other.informer("configmaps.v1") as other_maps,
    ):
        table = await dynkube.aio.live({"east": maps, "west": other_maps})
        channel.send(kind="hello", page="1")
        page = channel.until(lambda page: len(page.rows) == 2)

        assert page.texts("Cluster", "Name") == [["east", "one"], ["west", "one"]]
        assert "2 objects" in repr(table)


@in_asyncio
async def test_invalid_members_of_a_table_are_rejected(cluster: ServerThread) -> None:
    async with dynkube.aio.connect(url=cluster.url) as client:
        with pytest.raises(ClosedError, match="cluster 'east': this informer was not entered"):
            await dynkube.aio.live({"east": client.informer("namespaces.v1")})
        with pytest.raises(InvalidInput, match=r"cluster 'east' is a str: pass client.informer.* of dynkube.aio"):
            await dynkube.aio.live({"east": "pods"})  # type: ignore[dict-item]  # invalid on purpose


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    """A kernel for this module."""
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    with Kernel() as kernel:
        yield kernel


def test_cells_of_a_kernel_await_live_tables_and_controllers(cluster: ServerThread, kernel: Kernel) -> None:
    cluster.create(config_map("one"))
    kernel.run(f"""
import asyncio, dynkube.aio, dynkube.notebook._live
from contextlib import AsyncExitStack
from dynkube.controllers import Controller
dynkube.notebook._live._PATIENCE = 30.0
cells, called = AsyncExitStack(), asyncio.Event()
client = await cells.enter_async_context(dynkube.aio.connect(url={cluster.url!r}))
maps = await cells.enter_async_context(client.informer("configmaps.v1", namespace="default"))
async def reconcile(ctx, key):
    called.set()
""")
    table = kernel.run("await maps.live()").result["text/plain"]
    kernel.run("running = await dynkube.aio.start(client, Controller('configmaps', reconcile)); await called.wait()")
    status = kernel.run("running.live()").result["text/plain"]
    end = kernel.run("await cells.aclose(); print(running, maps.state.phase)")

    assert "one" in table
    assert "configmaps" in status
    assert end.printed == "<ControllerRun of configmaps, ended> STOPPED\n", end.traceback
