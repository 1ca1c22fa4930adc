"""Rollouts in the blocking API and in that for asyncio: callbacks, and how they look."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

import dynkube.aio
import dynkube.sync
from dynkube.workloads import RolloutStatus
from dynkube_testing import ServerThread, serve_in_thread
from tests.aio.kit import in_asyncio
from tests.workloads.kit import workload

pytestmark = pytest.mark.real_time

DONE = {"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2}
HALF = {**DONE, "updatedReplicas": 1}


@pytest.fixture
def cluster() -> Iterator[ServerThread]:
    with serve_in_thread() as cluster:
        yield cluster


@pytest.fixture
def k(cluster: ServerThread) -> Iterator[dynkube.sync.Client]:
    with dynkube.sync.connect(url=cluster.url) as k:
        yield k


def report(k: dynkube.sync.Client, status: dict[str, int]) -> None:
    """Write the status of the Deployment ``web``, as its controller would."""
    deployments = k["deploy"]
    deployments.update_status(deployments.get("web").evolve(status=status))


def test_a_blocking_wait_shows_its_progress(k: dynkube.sync.Client) -> None:
    k["deploy"].create(workload(replicas=2))
    report(k, HALF)
    shown: list[RolloutStatus] = []
    half = threading.Event()

    def show(status: RolloutStatus) -> None:
        shown.append(status)
        half.set()

    def finish() -> None:
        half.wait()
        report(k, DONE)

    thread = threading.Thread(target=finish)
    thread.start()
    done = k.rollout("deploy", "web").wait(on_status=show, timeout=20)
    thread.join()

    assert done.complete
    assert [each.progress for each in shown] == [0.5, 1.0]
    assert str(shown[0]).splitlines()[0] == f"{'█' * 15}{'░' * 15} 1/2 updated · 2/2 ready · 2/2 available"
    assert "1 out of 2 new replicas" in shown[0]._repr_html_()


@in_asyncio
async def test_a_wait_in_asyncio_calls_back_in_the_loop_and_raises_its_errors(cluster: ServerThread) -> None:
    threads: list[threading.Thread] = []

    def show(status: RolloutStatus) -> None:
        threads.append(threading.current_thread())
        raise ZeroDivisionError

    async with dynkube.aio.connect(url=cluster.url) as client:
        await client["deploy"].create(workload(replicas=2))

        with pytest.raises(ZeroDivisionError):
            await client.rollout("deploy", "web").wait(on_status=show, timeout=20)

    assert threads == [threading.main_thread()]


def test_a_history_is_a_table(k: dynkube.sync.Client) -> None:
    created = k["sts"].create(workload("StatefulSet"))
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": created.uid, "controller": True}
    metadata = {"name": "web-1", "labels": {"app": "web"}, "ownerReferences": [owner]}
    data = {"spec": {"template": {**created["spec"]["template"], "$patch": "replace"}}}
    revision = {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": metadata,
        "revision": 1,
        "data": data,
    }
    k["controllerrevisions"].create(revision)

    history = k.rollout("sts", "web").history()

    head, row = str(history).splitlines()
    assert head.split() == ["REVISION", "CHANGE-CAUSE", "IMAGES", "AGE"]
    assert row.split()[:4] == ["1", "current", "<none>", "app:1"]
    assert history[0].current
