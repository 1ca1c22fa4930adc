"""Closed objects raise on every use, unreferenced streams are closed, and nothing is left behind."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any

import pytest
import trio
import trio.testing

import dynkube
import dynkube.sync
from dynkube.errors import ClosedError, NotFound
from dynkube.sync._streams import EventStream, Watch, within
from dynkube_testing import ServerThread
from tests.sync.kit import CONFIGMAPS, config_map, run_script

pytestmark = pytest.mark.real_time

USES: dict[str, Callable[[dynkube.sync.Informer], object]] = {
    "wait_synced": lambda informer: informer.wait_synced(timeout=10),
    "set_filter": lambda informer: informer.set_filter(dynkube.LabelFilter("a=b")),
    "add_handler": lambda informer: informer.add_handler(on_add=print),
    "add_index": lambda informer: informer.add_index("name", "{.metadata.name}"),
    "events": lambda informer: informer.events(),
    "live": lambda informer: informer.live(),
}


@pytest.mark.parametrize("closed", ["informer", "client"])
@pytest.mark.parametrize("use", USES)
def test_a_closed_informer_raises_with_a_hint(k: dynkube.sync.Client, use: str, closed: str) -> None:
    maps = k.informer(CONFIGMAPS)
    maps.wait_synced(timeout=10)

    (maps if closed == "informer" else k).close()

    with pytest.raises(
        ClosedError, match=r"^this informer is closed: create another one with client\.informer\(\.\.\.\)$"
    ):
        USES[use](maps)


def test_a_client_without_references_is_closed(cluster: ServerThread) -> None:
    k = dynkube.sync.connect(url=cluster.url)
    k.get("namespaces")
    held, thread = k._held, k._thread

    del k
    gc.collect()

    thread.call(within, held.wait_ended, 5, "the client is open")


KEPT: dict[str, Callable[[dynkube.sync.Client], Callable[[], object]]] = {
    "resource": lambda k: k.resource("namespaces").list,
    "subresource": lambda k: partial(k.resource("deployments").subresource("scale").get, "a", namespace="default"),
    "iterator": lambda k: partial(list, k.resource("namespaces").iterate()),
    "mapper": lambda k: partial(k.mapper.resolve, "pods"),
    "rollout": lambda k: k.rollout("deployment", "a", namespace="default").status,
    "table": lambda k: k.get("namespaces").live,
}


@pytest.mark.parametrize("kept", KEPT)
def test_a_client_is_open_while_its_objects_are_used(kept: str, cluster: ServerThread) -> None:
    use = KEPT[kept](dynkube.sync.connect(url=cluster.url))

    gc.collect()

    with suppress(NotFound):
        use()


def test_an_informer_runs_on_without_references(cluster: ServerThread) -> None:
    seen = SimpleQueue[str]()
    k = dynkube.sync.connect(url=cluster.url)
    k.informer(CONFIGMAPS).add_handler(on_add=lambda obj: seen.put(obj.name))
    held = k._held

    del k
    gc.collect()
    cluster.create(config_map("late"))

    while seen.get(timeout=10) != "late":
        pass
    held.close()


def test_a_closed_client_raises(k: dynkube.sync.Client) -> None:
    k.close()

    assert repr(k) == "<Client, closed>"
    with pytest.raises(ClosedError, match="this client is closed"), k:
        pass


def test_a_client_that_was_ended_by_a_handler_raises_with_the_cause(k: dynkube.sync.Client) -> None:
    def on_add(obj: dynkube.Unstructured) -> None:
        raise LookupError(obj.name)

    k.informer("namespaces", field_selector="metadata.name=default").add_handler(on_add=on_add, on_error="cancel")
    errors: list[ClosedError] = []
    uses: list[Callable[[], Any]] = [
        lambda: k.resource("namespaces").wait_for("never", "create"),
        lambda: k.get("pods"),
        lambda: k.namespace,
    ]
    k._thread.call(within, k._held._ended.wait, 10, "the client had not ended")
    for use in uses:
        with pytest.raises(ClosedError, match=r"LookupError\('default'\)") as caught:
            use()
        errors.append(caught.value)

    assert [repr(error.__cause__) for error in errors] == ["LookupError('default')"] * 3
    with pytest.raises(LookupError):
        k.close()


def test_a_watch_that_another_thread_closes_ends_a_waiting_step(k: dynkube.sync.Client) -> None:
    async def close_when_it_waits() -> None:
        while not k._thread._calls:
            await trio.lowlevel.checkpoint()
        await trio.testing.wait_all_tasks_blocked()
        await trio.to_thread.run_sync(watch.close)

    with k.resource(CONFIGMAPS).watch(namespace="default") as watch:
        k._thread.hold(close_when_it_waits, trio.CancelScope())
        with pytest.raises(ClosedError, match="the watch is closed"):
            next(watch)


@pytest.mark.parametrize("kind", ["events", "watch"])
def test_a_stream_without_references_is_closed(k: dynkube.sync.Client, kind: str) -> None:
    k.resource(CONFIGMAPS).create(config_map("one"))
    stream: EventStream | Watch = (
        k.informer(CONFIGMAPS).events() if kind == "events" else k.resource(CONFIGMAPS).watch().__enter__()
    )
    next(stream)
    held = stream._held

    del stream

    k._thread.call(within, held._ended.wait, 10, "the stream was not closed")


COUNT = """
    import os, sys, trio, dynkube.sync

    def count():
        opened = [os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
        tasks = thread.run(trio.lowlevel.current_statistics).tasks_living
        return tasks, sum("socket:" in name for name in opened)

    first = dynkube.sync.connect(url=sys.argv[1])
    thread = first._thread
    first.close()
    before = count()

    k = dynkube.sync.connect(url=sys.argv[1])
    spaces, absent = k.informer("namespaces"), k.informer("widgets.v1.example.com")
    spaces.wait_synced(timeout=10)
    handler = spaces.add_handler(on_add=lambda obj: None)
    tables = [spaces.live(), absent.live(), k.get("pods").live(), k["nodes"].list().live(limit=1)]
    events, watch = spaces.events(), k["namespaces"].watch()
    next(events), next(watch.__enter__())
    during = count()
    k.close()

    print(count() == before, during[0] > before[0] + 10, during[1] > before[1] + 3)
    print(*[repr(table) for table in tables], sep=chr(10))
"""


def test_closing_a_client_leaves_no_task_and_no_socket(cluster: ServerThread) -> None:
    done = run_script(COUNT, cluster.url)

    assert (done.stderr, done.returncode) == ("", 0)
    checks, *tables = done.stdout.splitlines()
    assert checks == "True True True"
    assert [table.rpartition(", ")[2] for table in tables] == ["closed>"] * 4
