"""``Client.logs``: the logs of many pods, as they come and go."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
import trio

import dynkube
from dynkube.errors import Forbidden, InvalidInput, NoMatch, NotFound, ServiceUnavailable
from dynkube.pods import MergedLogs
from dynkube_testing import APIServer, Refuse, User
from tests.informers.kit import crd, quiet, widget
from tests.pods.logs.kubelet import Clock, Kubelet, TearingTransport, pod

TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app", "image": "x"}]}}


class Reading:
    """Reads merged logs in the background, by container."""

    def __init__(self, stream: MergedLogs, nursery: trio.Nursery) -> None:
        self._stream = stream
        self.lines: dict[str, list[str]] = defaultdict(list)
        nursery.start_soon(self._run)

    async def _run(self) -> None:
        async for line in self._stream:
            self.lines[f"{line.pod}/{line.container}"].append(str(line))


def config_map(name: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}


def start(server: APIServer, name: str, **metadata: Any) -> Kubelet:
    """Create a pod, and run its container."""
    body = pod(name)
    body["metadata"] |= metadata
    server.create(body)
    kubelet = Kubelet(server, name)
    kubelet.start()
    return kubelet


def owned(kind: str, api_version: str, owner: dict[str, Any]) -> list[dict[str, str]]:
    metadata = owner["metadata"]
    return [{"apiVersion": api_version, "kind": kind, "name": metadata["name"], "uid": metadata["uid"]}]


async def test_pods_come_and_go(client: dynkube.Client, server: APIServer) -> None:
    first = start(server, "web-1")
    first.write("old")
    async with client.logs("app=web", tail=0) as stream, trio.open_nursery() as nursery:
        reading = Reading(stream, nursery)
        await trio.sleep(1)
        first.write("new")
        start(server, "web-2").write("from", "the beginning")
        start(server, "other-1").write("not selected")
        await quiet()
        server.delete("pods", "web-1")
        await trio.sleep(60)
        nursery.cancel_scope.cancel()

    assert reading.lines == {"web-1/app": ["new"], "web-2/app": ["from", "the beginning"]}
    assert [(each.pod, each.state, each.reason) for each in stream.containers] == [
        ("web-1", "ended", "the pod was deleted"),
        ("web", "waiting", "Pending"),
        ("web-2", "reading", ""),
    ]


async def test_each_line_comes_once_over_restarts_and_lost_connections(
    client: dynkube.Client, server: APIServer, transport: TearingTransport
) -> None:
    kubelets = [start(server, f"web-{number}") for number in range(20)]
    async with client.logs("app=web") as stream, trio.open_nursery() as nursery:
        reading = Reading(stream, nursery)
        for number in range(30):
            for kubelet in kubelets:
                kubelet.write(f"{number}")
            await trio.sleep(1)
            if number % 7 == 3:
                transport.cut(cleanly=number % 2 == 0)
            if number % 10 == 9:
                for kubelet in kubelets[:10]:
                    kubelet.exit(1)
                    kubelet.crash_loop()
                await trio.sleep(10)
                for kubelet in kubelets[:10]:
                    kubelet.start()
        await trio.sleep(60)
        nursery.cancel_scope.cancel()

    assert list(reading.lines.values()) == [kubelet.lines for kubelet in kubelets]


@pytest.mark.parametrize("kind", ["deploy", "rs", "svc"])
async def test_pods_of_a_workload_or_service_are_those_that_it_selects(
    client: dynkube.Client, server: APIServer, kind: str
) -> None:
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}
    for name in ("Deployment", "ReplicaSet"):
        server.create({"apiVersion": "apps/v1", "kind": name, "metadata": {"name": "web"}, "spec": spec})
    ports = [{"port": 80}]
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}}
    server.create({**service, "spec": {"selector": {"app": "web"}, "ports": ports}})
    start(server, "web-1").write("selected")
    start(server, "db-1").write("not selected")

    async with client.logs(f"{kind}/web", names="-", follow=False) as stream:
        assert [str(line) async for line in stream] == ["selected"]
    async with client.logs(await client[kind].get("web"), names="-", follow=False) as stream:
        assert [str(line) async for line in stream] == ["selected"]


@pytest.mark.parametrize("follow", [True, False])
async def test_a_failed_request_for_an_owner_hides_no_pod(
    client: dynkube.Client, server: APIServer, follow: bool
) -> None:
    server.create(crd())
    owner = server.create(widget("a"))
    between = config_map("between", ownerReferences=owned("Widget", "example.com/v1", owner))
    start(server, "web-1", ownerReferences=owned("ConfigMap", "v1", server.create(between))).write("owned")
    server.inject(Refuse(503), verb="get", resource="configmaps", duration=120)

    async with client.logs("widgets.example.com/a", follow=follow) as stream:
        if follow:
            assert str(await anext(stream)) == "owned"
        else:
            with pytest.raises(ServiceUnavailable):
                await anext(stream)


async def test_pods_of_a_custom_resource_are_found(client: dynkube.Client, server: APIServer) -> None:
    server.create(crd())
    owner = server.create(widget("a", selector="anything"))
    start(server, "web-1", ownerReferences=owned("Widget", "example.com/v1", owner)).write("owned")
    start(server, "web-2").write("not owned")

    async with client.logs("widgets.example.com/a", follow=False) as stream:
        assert [(line.pod, str(line)) async for line in stream] == [("web-1", "owned")]


async def test_names_of_pods_and_containers_are_regular_expressions(client: dynkube.Client, server: APIServer) -> None:
    server.create(pod("web-1", "app", "proxy"))
    for container in ("app", "proxy"):
        kubelet = Kubelet(server, "web-1", container)
        kubelet.start()
        kubelet.write(container)
    start(server, "db-1").write("db")

    async with client.logs(names="^web", containers="^pro", follow=False) as stream:
        assert [str(line) async for line in stream] == ["proxy"]


async def test_a_slow_consumer_slows_the_streams_down(server: APIServer) -> None:
    kubelets = [start(server, f"web-{number}") for number in range(5)]
    for kubelet in kubelets:
        kubelet.write(*("x" * 10_000 for _ in range(500)))
    async with (
        dynkube.connect(url=server.url, transport=server.transport()) as client,
        client.logs("app=web") as stream,
    ):
        await anext(stream)
        await trio.sleep(1)
        received = client.statistics().received
        await trio.sleep(100)

        assert client.statistics().received < received + 1000  # bookmarks of the watch
        assert received < 3_000_000  # of 25 MB


async def test_more_containers_than_streams_wait(client: dynkube.Client, server: APIServer) -> None:
    kubelets = [start(server, f"web-{number}") for number in range(4)]
    async with client.logs("app=web", max_streams=2) as stream, trio.open_nursery() as nursery:
        reading = Reading(stream, nursery)
        for kubelet in kubelets:
            kubelet.write("one")
        await trio.sleep(1)
        read, waiting = len(reading.lines), stream.waiting
        for kubelet in kubelets[:2]:
            server.delete("pods", kubelet.name)
        await trio.sleep(30)
        nursery.cancel_scope.cancel()

    assert (read, waiting) == (2, 2)
    assert len(reading.lines) == 4


async def test_a_container_that_has_waited_long_for_a_stream_waits_on(
    client: dynkube.Client, server: APIServer
) -> None:
    first = start(server, "web-1")
    async with client.logs("app=web", max_streams=1) as stream, trio.open_nursery() as nursery:
        reading = Reading(stream, nursery)
        first.write("one")
        await trio.sleep(1)
        first.exit(1)
        first.crash_loop()
        await trio.sleep(10)
        start(server, "web-2").write("two")
        await trio.sleep(10)
        first.start()
        first.write("again")
        await trio.sleep(400)
        meanwhile = {name: [*lines] for name, lines in reading.lines.items()}
        server.delete("pods", "web-2")
        await trio.sleep(30)
        nursery.cancel_scope.cancel()

    assert meanwhile == {"web-1/app": ["one"], "web-2/app": ["two"]}
    assert reading.lines["web-1/app"] == ["one", "again"]


async def test_a_container_whose_log_cannot_be_read_is_named_once(client: dynkube.Client, server: APIServer) -> None:
    start(server, "web-1")
    start(server, "web-2").write("two")
    server.inject(Refuse(405), path_prefix="/api/v1/namespaces/default/pods/web-1/log")
    async with client.logs("app=web", names="web-") as stream:
        assert str(await anext(stream)) == "two"

        assert [(each.pod, each.state) for each in stream.containers] == [("web-1", "failed"), ("web-2", "reading")]


async def test_a_kubelet_that_does_not_answer_is_a_reason_until_it_does(
    client: dynkube.Client, server: APIServer
) -> None:
    start(server, "web-1")  # which writes nothing
    server.inject(Refuse(500, message="no kubelet"), path_prefix="/api/v1/namespaces/default/pods/web-1/log", times=6)
    async with client.logs(names="web-1") as stream:
        await trio.sleep(1)
        (failing,) = stream.containers
        await trio.sleep(120)

        assert failing.state == "waiting"
        assert failing.reason.startswith("500 InternalError: no kubelet")
        assert [(each.state, each.reason) for each in stream.containers] == [("reading", "")]


async def test_a_denial_of_a_moment_ends_no_logs_once_one_was_read(client: dynkube.Client, server: APIServer) -> None:
    kubelets = [start(server, f"web-{number}") for number in range(3)]
    server.inject(Refuse(403), path_prefix="/api/v1/namespaces/default/pods/web-2/log", times=1)
    async with client.logs(names="web-", max_streams=3) as stream:
        for kubelet in kubelets:
            kubelet.write("one")

        assert sorted([(await anext(stream)).pod for _ in range(3)]) == ["web-0", "web-1", "web-2"]


async def test_requests_of_many_pods_are_spread(client: dynkube.Client, server: APIServer) -> None:
    for number in range(50):
        start(server, f"web-{number}").write("one")
    began = trio.current_time()

    async with client.logs("app=web") as stream:
        for _ in range(50):
            await anext(stream)

    assert trio.current_time() - began == pytest.approx(0.5, abs=0.05)


async def test_a_missing_permission_is_raised() -> None:
    async with APIServer(rbac=True, now=Clock()) as server:
        start(server, "web-1")
        server.grant("alice", verbs=["get", "list", "watch"], resource="pods", namespace="default")
        async with dynkube.connect(url=server.url, transport=server.transport(User("alice"))) as client:
            with pytest.raises(Forbidden, match='cannot get resource "pods/log"'):
                async with client.logs("app=web") as stream:
                    await anext(stream)


async def test_an_owner_that_does_not_exist_is_an_error(client: dynkube.Client) -> None:
    with pytest.raises(NotFound, match=r'deployments\.apps "web" not found'):
        async with client.logs("deploy/web"):
            pass
    with pytest.raises(NoMatch):
        async with client.logs("websites/web"):
            pass


async def test_invalid_arguments_are_refused_at_once(client: dynkube.Client) -> None:
    with pytest.raises(InvalidInput, match=r"names '\(' is not a regular expression"):
        client.logs(names="(")
    with pytest.raises(InvalidInput, match="namespace and all_namespaces exclude each other"):
        client.logs(namespace="shop", all_namespaces=True)
    with pytest.raises(InvalidInput, match="max_streams must be an integer >= 1, not 0"):
        client.logs(max_streams=0)
