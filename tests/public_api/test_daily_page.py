"""The examples of docs/daily.md, on an embedded server."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import dynkube.sync
from dynkube_testing import ServerThread, serve_in_thread
from tests.informers.kit import crd
from tests.inspection.metrics import metrics_crds, node_metrics, pod_metrics
from tests.public_api.documents import python_blocks
from tests.workloads.kit import owned_by, template, workload

pytestmark = pytest.mark.real_time

PAGE = Path(__file__).parents[2] / "docs" / "daily.md"
CONNECT, STATUS, WAIT, REST, CHANGES, NODES, LOOK, FIELDS, TOP, SORTED = python_blocks("docs/daily.md")
HALF = {"observedGeneration": 1, "replicas": 2, "updatedReplicas": 1, "readyReplicas": 2, "availableReplicas": 2}


@pytest.fixture(autouse=True)
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerThread]:
    """A cluster with a Deployment in the middle of its second revision, to which ``connect()`` connects."""
    connect = dynkube.sync.connect
    with serve_in_thread() as cluster:
        cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        web = cluster.create(in_shop(workload(replicas=2, image="app:2")))
        for number in (1, 2):
            cluster.create(owned_by(dynkube.Unstructured(web), in_shop(replica_set(number))))
        monkeypatch.setattr(dynkube.sync, "connect", lambda: connect(url=cluster.url))
        yield cluster


@pytest.fixture
def scope(cluster: ServerThread) -> Iterator[dict[str, object]]:
    """The names that the first example defines."""
    with dynkube.sync.connect() as k:
        report(k, HALF)
        yield {"k": k}


def run(block: str, scope: dict[str, Any]) -> dict[str, Any]:
    """Run a block as a cell of a notebook."""
    exec(block, scope)
    return scope


def in_shop(obj: dict[str, Any]) -> dict[str, Any]:
    return {**obj, "metadata": {**obj["metadata"], "namespace": "shop"}}


def replica_set(number: int) -> dict[str, Any]:
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template(f"app:{number}")}
    annotations = {"deployment.kubernetes.io/revision": str(number)}
    metadata = {"name": f"web-{number}", "labels": {"app": "web"}, "annotations": annotations}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec}


def report(k: dynkube.sync.Client, status: dict[str, int]) -> None:
    deployments = k["deploy"]
    deployments.update_status(deployments.get("web", namespace="shop").evolve(status=status))


def printed_after(block: str) -> str:
    """Return the output that the page shows after a block."""
    page = PAGE.read_text(encoding="utf-8").split(block + "```\n\n", 1)[1]
    lines = page.split("\n\n", 1)[0].splitlines()
    return "".join(f"{line.removeprefix('    ')}\n" for line in lines)


def test_the_first_example_connects() -> None:
    k: Any = run(CONNECT, {})["k"]

    assert k.whoami().username
    k.close()


def test_the_status_is_printed_as_on_the_page(scope: dict[str, object], capsys: pytest.CaptureFixture[str]) -> None:
    run(STATUS, scope)

    assert capsys.readouterr().out == printed_after(STATUS)


def test_a_progress_bar_is_moved_by_a_wait(scope: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[object] = []
    bar = type("Bar", (), {"update": staticmethod(shown.append)})
    monkeypatch.setattr("IPython.display.display", lambda obj, display_id: bar)
    done = {**HALF, "updatedReplicas": 2}
    threading.Timer(0.2, lambda: report(scope["k"], done)).start()

    run(WAIT, run(STATUS, scope))

    assert [getattr(each, "progress", None) for each in shown] == [0.5, 1.0]


def test_the_rest_of_a_rollout_is_done(scope: dict[str, Any]) -> None:
    run(REST, run(STATUS, scope))

    web = scope["k"].get("deploy", "web", namespace="shop")
    assert web["spec"]["template"]["spec"]["containers"][0]["image"] == "app:1"
    assert not web["spec"].get("paused")


def test_a_deployment_is_scaled_labelled_and_annotated(scope: dict[str, Any]) -> None:
    run(CHANGES, scope)

    web = scope["k"].get("deploy", "web", namespace="shop")
    assert web["spec"]["replicas"] == 4
    assert (web.labels, web.annotations["example.com/owner"]) == ({"tier": "back"}, "team-a")


def test_a_node_is_drained_as_on_the_page(
    cluster: ServerThread, scope: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "worker-1"}})
    for owner in (in_shop(workload("DaemonSet", "agent")), replica_set_of_web()):
        created = dynkube.Unstructured(cluster.create(owner))
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"{created.name}-1"}}
        spec = {"nodeName": "worker-1", "terminationGracePeriodSeconds": 0, **template()["spec"]}
        cluster.create(owned_by(created, in_shop({**pod, "spec": spec})))

    run(NODES, scope)

    assert capsys.readouterr().out == printed_after(NODES)


def replica_set_of_web() -> dict[str, Any]:
    obj = in_shop(replica_set(3))
    return {**obj, "metadata": {**obj["metadata"], "name": "web"}}


def test_events_are_printed_as_on_the_page(
    cluster: ServerThread, scope: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    k = scope["k"]
    now = datetime.now(UTC)
    web, second = k.get("deploy", "web", namespace="shop"), k.get("rs", "web-2", namespace="shop")
    for about, age, kind, reason, count, message in (
        (web, 5, "Normal", "ScalingReplicaSet", 1, "Scaled up replica set web-2"),
        (second, 2, "Warning", "FailedCreate", 7, "exceeded quota"),
    ):
        time = (now - timedelta(minutes=age, seconds=1)).isoformat(timespec="seconds").replace("+00:00", "Z")
        involved = {"kind": about.kind, "namespace": "shop", "name": about.name, "uid": about.uid}
        event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": f"e{age}", "namespace": "shop"}}
        times = {"firstTimestamp": time, "lastTimestamp": time, "count": count}
        cluster.create(
            {**event, "involvedObject": involved, "type": kind, "reason": reason, "message": message, **times}
        )

    run(LOOK, scope)

    shown = [re.sub("m1s|m2s|m3s", "m", line).split() for line in capsys.readouterr().out.splitlines()]
    assert shown == [line.split() for line in printed_after(LOOK).splitlines()]


def test_fields_are_printed_as_on_the_page(
    cluster: ServerThread, scope: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.create(crd())

    run(FIELDS, scope)

    # The embedded server has no texts.
    shown = [line.split()[:2] for line in capsys.readouterr().out.splitlines()[1:]]
    assert shown == [line.split()[:2] for line in printed_after(FIELDS).splitlines()[1:]]


def test_usage_is_printed_as_on_the_page(
    cluster: ServerThread, scope: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    for definition in metrics_crds():
        cluster.create(definition)
    cluster.create(pod_metrics("web-1", "shop", app=("250m", "100Mi"), proxy=("1500u", "28Mi")))
    cluster.create(node_metrics("worker-1", "500m", "3Gi"))
    nodes = scope["k"]["nodes"]
    created = nodes.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "worker-1"}})
    nodes.update_status(created.evolve(status={"allocatable": {"cpu": "2", "memory": "8Gi"}}))

    run(TOP, scope)

    assert capsys.readouterr().out == printed_after(TOP)


def test_tables_are_sorted_as_on_the_page(
    cluster: ServerThread, scope: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    for name, restarts in (("web-a", 2), ("web-b", 10)):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": template()["spec"]}
        cluster.create(in_shop(pod))
        status = {"name": "app", "image": "x", "imageID": "", "ready": True, "restartCount": restarts}
        pods = scope["k"]["pods"]
        pods.update_status(pods.get(name, namespace="shop").evolve(status={"containerStatuses": [status]}))
    for size in ("1Gi", "900Mi"):
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
        metadata = {"name": f"claim-{size.lower()}"}
        cluster.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec})

    run(SORTED, scope)

    names = re.findall("^(?:web|claim)-\\S+", capsys.readouterr().out, re.MULTILINE)
    assert names == ["web-b", "web-a", "claim-900mi", "claim-1gi"]
