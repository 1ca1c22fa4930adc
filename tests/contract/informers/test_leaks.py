"""Failure mode 36, P7 and D5: a thousand informers that have stopped leak nothing, here or on the server."""

from __future__ import annotations

import gc
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import trio

from dynkube import Client, NamespaceFilter
from dynkube_testing import APIServer
from tests.contract.cluster import Cluster
from tests.contract.informers.kit import Recorder, put_widget, resource, wait_live

WARM_UP, CYCLES = 200, 1000
# A leaked informer is some hundred blocks of memory with its tasks, so a leak of one in four cycles exceeds this
# several times. Smaller differences are normal: trio keeps up to 1,000 expired deadlines, each with its scope.
BLOCKS = 10 * CYCLES
# An informer without objects needs 10 KB, so this allows one in five. Fragmented pages explain the rest.
KILOBYTES = 2 * CYCLES
# Idle connections are kept for a minute, as many as were in use at once. A leak of one in four cycles is 250 files.
IDLE = CYCLES // 10
STATM = Path("/proc/self/statm")


@dataclass(frozen=True)
class Footprint:
    """Resources of this process: blocks of the interpreter's memory, resident memory, tasks, open files."""

    blocks: int
    kilobytes: int
    tasks: int
    files: int


def footprint() -> Footprint:
    gc.collect()
    pages = int(STATM.read_text().split()[1]) if STATM.exists() else 0
    return Footprint(
        blocks=sys.getallocatedblocks(),
        kilobytes=pages * os.sysconf("SC_PAGE_SIZE") // 1024,
        tasks=trio.lowlevel.current_statistics().tasks_living,
        files=len(list(Path("/dev/fd").iterdir())),
    )


async def sync_with_a_handler(client: Client, name: str) -> None:
    recorder = Recorder()
    async with client.informer(name, indexes={"n": "{.spec.n}"}) as informer:
        recorder.attach(informer)
        await recorder.take(2)


async def see_no_event(client: Client, name: str) -> None:
    async with client.informer(name, label_selector="nobody=has-it", filter=NamespaceFilter("a=b")) as informer:
        await wait_live(informer)


async def be_cancelled_half_way(client: Client, name: str, steps: int) -> None:
    with trio.CancelScope() as scope:
        async with client.informer(name, filter=NamespaceFilter()) as informer:
            Recorder().attach(informer)
            for _ in range(steps):
                await trio.lowlevel.checkpoint()
            scope.cancel()
            await informer.wait_synced()


async def follow_nothing(client: Client, name: str) -> None:
    async with client.informer(name.replace("widgets", "gadgets")) as informer:
        await informer.wait_synced()


async def come_and_go(client: Client, name: str, count: int) -> None:
    for number in range(0, count, 4):
        await sync_with_a_handler(client, name)
        await see_no_event(client, name)
        await be_cancelled_half_way(client, name, number % 97)
        await follow_nothing(client, name)


async def watches_of(cluster: Cluster, server: APIServer | None) -> int:
    """Return the number of open watches of widgets on the server."""
    if server is not None:
        return len([watch for watch in server.open_watches if watch.resource.resource == "widgets"])
    metrics = (await cluster.call("GET", "/metrics")).body
    pattern = rf'^apiserver_longrunning_(?:requests|gauge){{[^}}]*group="{cluster.group}"[^}}]*}} (\d+)'
    return sum(map(int, re.findall(pattern, metrics, re.MULTILINE)))


async def watches_after_a_moment(cluster: Cluster, server: APIServer | None) -> int:
    """Poll until there are none: a real server detects a closed connection some milliseconds later."""
    for _ in range(100):
        if not await watches_of(cluster, server):
            break
        await trio.sleep(0.05)
    return await watches_of(cluster, server)


@pytest.mark.scenario("F36", "G8", "K22")
@pytest.mark.timeout(240)
@pytest.mark.reads_bodies
async def test_a_thousand_informers_leak_nothing(cluster: Cluster, client: Client, server: APIServer | None) -> None:
    await cluster.create_crd()
    for name in ("a", "b"):
        await put_widget(cluster, name, n=1)
    widgets = resource(cluster)
    # These keep the watches of CRDs and namespaces open, so that a cycle opens only its own.
    async with client.informer(widgets.replace("widgets", "others")) as other, client.informer("namespaces.v1") as more:
        await other.wait_synced()
        await wait_live(more)
        await come_and_go(client, widgets, WARM_UP)
        before = footprint()

        await come_and_go(client, widgets, CYCLES)

        if server is not None:
            server.forget_requests()
        after = footprint()
        assert after.tasks == before.tasks
        assert after.files <= before.files + IDLE
        assert after.blocks - before.blocks < BLOCKS
        assert after.kilobytes - before.kilobytes < KILOBYTES
        assert not await watches_after_a_moment(cluster, server)
