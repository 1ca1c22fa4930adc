"""Handles of a workload's pod: which one is chosen, and which port that of a Service leads to."""

from __future__ import annotations

from typing import Any

import pytest
import trio

import dynkube
from dynkube import Unstructured
from dynkube.errors import InvalidInput, NoMatch, NotFound, PodError
from dynkube.pods._attachable import preferred, target_port
from dynkube_testing import APIServer, ContainerSession
from tests.pods.kit import add, running_pod
from tests.pods.test_ports import echo
from tests.workloads.kit import workload

BEST: dict[str, Any] = {
    "metadata": {"creationTimestamp": "2026-11-01T00:00:00Z"},
    "spec": {"nodeName": "n", "initContainers": [{"name": "side", "restartPolicy": "Always"}]},
    "status": {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-01T00:00:09Z"}],
        "containerStatuses": [{"name": "app", "restartCount": 1}],
        "initContainerStatuses": [{"name": "side", "restartCount": 1}],
    },
}
READY = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-01T00:00:10Z"}
WORSE: list[
    dict[str, dict[str, Any]]
] = [  # from the least of kubectl's rules to the first; each pod is better in all that come before it
    {"metadata": {"creationTimestamp": "2026-11-02T00:00:00Z"}},
    {"metadata": {}},
    {"status": {"initContainerStatuses": [{"name": "side", "restartCount": 2}]}},
    {"status": {"containerStatuses": [{"name": "app", "restartCount": 2}], "initContainerStatuses": []}},
    {"status": {"conditions": [READY], "containerStatuses": []}},
    {"status": {"conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": []}},
    {"metadata": {"deletionTimestamp": "2026-11-03T00:00:00Z"}},
    {"metadata": {"deletionTimestamp": "2026-11-02T00:00:00Z"}},
    {"status": {"conditions": [{"type": "Ready", "status": "False"}]}},
    {"status": {"phase": "Unknown"}},
    {"status": {"phase": "Pending"}},
    {"spec": {"nodeName": ""}},
]
SERVICE: dict[str, Any] = {
    "clusterIP": "10.0.0.1",
    "ports": [
        {"name": "web", "port": 80, "targetPort": "http"},
        {"name": "admin", "port": 81, "targetPort": 8081},
        {"name": "same", "port": 82},
        {"name": "dns", "port": 53, "protocol": "UDP"},
        {"name": "wrong", "port": 83, "targetPort": "none"},
    ],
}


KIND: dict[str, Any] = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "default"}}


def changed(parts: dict[str, dict[str, Any]]) -> Unstructured:
    """Return the best pod with other fields."""
    obj: dict[str, Any] = {name: {**BEST[name], **parts.get(name, {})} for name in BEST}
    obj["metadata"] = {"name": "web", **parts.get("metadata", BEST["metadata"])}
    return Unstructured({"apiVersion": "v1", "kind": "Pod", **obj})


def selected_pod(name: str) -> dict[str, Any]:
    pod = running_pod(name)
    pod["metadata"]["labels"] = {"app": "web"}
    pod["spec"]["containers"][0]["ports"] = [{"name": "http", "containerPort": 8080}]
    return pod


async def where(session: ContainerSession) -> str:
    return str(session.pod["metadata"]["name"])


@pytest.mark.parametrize("number", range(len(WORSE)))
def test_the_pod_is_chosen_as_by_kubectl(number: int) -> None:
    better, worse = changed(WORSE[number - 1] if number else {}), changed(WORSE[number])

    assert [preferred(pods) is better for pods in ([better, worse], [worse, better])] == [True, True]


@pytest.mark.parametrize(
    ("port", "spec", "expected"),
    [
        (80, {}, (80, 8080)),
        ("web", {}, (80, 8080)),
        (81, {}, (81, 8081)),
        ("same", {}, (82, 82)),
        (80, {"clusterIP": "None"}, (80, 80)),
        (8080, {}, r"service 'web' has no port 8080 to forward: it has web \(80\), admin \(81\)"),
        ("dns", {}, "no port 'dns' to forward: it has it not for TCP"),
        (83, {}, r"pod 'web-1' has no port 'none': it has http \(8080\)"),
    ],
)
def test_a_port_of_a_service_leads_to_its_target(
    port: int | str, spec: dict[str, Any], expected: tuple[int, int] | str
) -> None:
    service = Unstructured({**KIND, "spec": {**SERVICE, **spec}})
    pod = Unstructured(selected_pod("web-1"))

    if isinstance(expected, tuple):
        assert target_port(service, pod, port) == expected
    else:
        with pytest.raises(InvalidInput, match=expected):
            target_port(service, pod, port)


async def test_a_handle_of_a_workload_stays_with_the_pod_that_it_chose(
    server: APIServer, client: dynkube.Client
) -> None:
    server.containers.on_exec(where)
    await client["deploy"].create(workload())
    add(server, selected_pod("web-1") | {"status": {"phase": "Pending"}})
    add(server, selected_pod("web-2"))
    handle = client.pod("deploy/web")
    assert handle.name == "deploy/web"

    first = (await handle.exec(["hostname"])).text
    server.containers.write_log("web-2", "hello\n")
    server.delete("pods", "web-1")
    add(server, selected_pod("web-1"))

    assert (first, handle.name, (await handle.exec(["hostname"])).text) == ("web-2", "web-2", "web-2")
    assert str(await handle.read_logs()) == "hello\n"


async def test_the_first_pod_is_waited_for(server: APIServer, client: dynkube.Client) -> None:
    server.containers.on_port_forward(echo)
    ports = [{"name": "web", "port": 80, "targetPort": "http"}]
    await client["svc"].create({**KIND, "spec": {"selector": {"app": "web"}, "ports": ports}})

    async def start() -> None:
        await trio.sleep(20)
        add(server, selected_pod("web-1"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(start)
        async with client.pod("svc/web").connect("web") as stream:
            assert await stream.receive_some() == b"8080:"


async def test_what_has_no_pod_is_an_error(server: APIServer, client: dynkube.Client) -> None:
    await client["deploy"].create(workload())
    server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": "default"}})

    for kind, error, message in (
        ("deploy", PodError, "deploy/web has no pods in namespace 'default': none came within 60 s"),
        ("cm", InvalidInput, "cm/web does not select pods: pass a pod, or a Deployment"),
        ("sts", NotFound, "statefulsets.apps"),
        ("websites", NoMatch, "websites"),
    ):
        with pytest.raises(error, match=message):
            await client.pod(f"{kind}/web").exec(["ls"])
    assert trio.current_time() == pytest.approx(60, abs=1)
