"""``Pod.logs(follow=True)``: restarts, waiting, ends, lost connections, cancellation."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest
import trio

import dynkube
from dynkube.errors import ClosedError, Forbidden, InvalidInput
from dynkube.pods import LogStream
from dynkube_testing import APIServer, User
from tests.informers.kit import quiet
from tests.pods.logs.kubelet import Clock, Kubelet, TearingTransport, pod


class Reading:
    """Reads a log in the background."""

    def __init__(self, stream: LogStream, nursery: trio.Nursery) -> None:
        self.stream = stream
        self.lines: list[str] = []
        self.ended = trio.Event()
        nursery.start_soon(self._run)

    async def _run(self) -> None:
        async for line in self.stream:
            self.lines.append(str(line))
        self.ended.set()


async def test_a_log_is_followed_over_a_restart(client: dynkube.Client, kubelet: Kubelet) -> None:
    kubelet.start()
    kubelet.write("first")
    async with client.pod("web").logs(follow=True) as stream, trio.open_nursery() as nursery:
        reading = Reading(stream, nursery)
        kubelet.exit(1)
        kubelet.crash_loop()
        await quiet()
        waiting = stream.reason
        kubelet.start()
        kubelet.write("second")
        await quiet()
        nursery.cancel_scope.cancel()

    assert reading.lines == ["first", "second"]
    assert waiting == "CrashLoopBackOff: back-off 10s restarting failed container"
    assert (stream.reason, stream.missed_runs) == ("", 0)


async def test_a_container_that_has_not_started_is_waited_for(client: dynkube.Client, kubelet: Kubelet) -> None:
    kubelet.publish("Pending")
    async with client.pod("web").logs(follow=True) as stream, trio.open_nursery() as nursery:
        reading = Reading(stream, nursery)
        assert stream.reason == "ContainerCreating"
        await trio.sleep(10_000)
        kubelet.start()
        kubelet.write("hello")
        await quiet()
        nursery.cancel_scope.cancel()

    assert reading.lines == ["hello"]


async def test_it_ends_when_the_pod_has_finished(client: dynkube.Client, server: APIServer) -> None:
    server.create(pod("job", restartPolicy="Never"))
    kubelet = Kubelet(server, "job")
    kubelet.start()
    async with client.pod("job").logs(follow=True) as stream, trio.open_nursery() as nursery:
        reading = Reading(stream, nursery)
        kubelet.write("done", end="")  # a last line without a newline
        kubelet.exit(3)
        await reading.ended.wait()

    assert (reading.lines, stream.reason, stream.ended) == (["done"], "Error, exit code 3", True)


async def test_it_ends_when_the_pod_is_deleted_although_another_has_its_name(
    client: dynkube.Client, server: APIServer, kubelet: Kubelet
) -> None:
    kubelet.start()
    async with client.pod("web").logs(follow=True) as stream, trio.open_nursery() as nursery:
        reading = Reading(stream, nursery)
        kubelet.write("last", end="")
        server.delete("pods", "web")
        server.create(pod())
        other = Kubelet(server)
        other.start()
        other.write("of another pod")
        await reading.ended.wait()

    assert (reading.lines, stream.reason) == (["last"], "the pod was deleted")


class EndlessTransport(httpx2.AsyncBaseTransport):
    """Passes on a kubelet that keeps the log of a pod open although the pod is gone."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if not request.url.path.endswith("/log"):
            return await self._inner.handle_async_request(request)
        return httpx2.Response(200, headers={"content-type": "text/plain"}, stream=_Endless())


class _Endless(httpx2.AsyncByteStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"2026-11-24T12:00:00Z one\n"
        await trio.sleep_forever()


async def test_it_ends_soon_after_the_pod_although_the_kubelet_does_not_end_it(
    server: APIServer, kubelet: Kubelet
) -> None:
    kubelet.start()
    transport = EndlessTransport(server.transport())
    async with dynkube.connect(url=server.url, transport=transport) as client, client.pod("web").logs(follow=True) as s:
        assert str(await anext(s)) == "one"
        server.delete("pods", "web")
        began = trio.current_time()

        assert await anext(s, None) is None

    assert (s.reason, trio.current_time() - began) == ("the pod was deleted", 35)


async def test_only_new_lines_come_with_tail_0_also_after_a_lost_connection(
    client: dynkube.Client, kubelet: Kubelet, transport: TearingTransport
) -> None:
    kubelet.start()
    kubelet.write("old")
    await trio.sleep(5)
    async with client.pod("web").logs(follow=True, tail=0) as stream, trio.open_nursery() as nursery:
        reading = Reading(stream, nursery)
        await quiet()
        transport.cut()
        kubelet.write("new")
        await trio.sleep(60)
        nursery.cancel_scope.cancel()

    assert reading.lines == ["new"]
    assert [(each.get("tailLines"), each.get("sinceTime")) for each in transport.logs][:2] == [
        ("0", None),
        (None, "2026-11-24T12:00:05Z"),
    ]


async def test_a_silent_connection_is_replaced(client: dynkube.Client, kubelet: Kubelet) -> None:
    kubelet.start()
    kubelet.write("one")
    async with client.pod("web").logs(follow=True) as stream, trio.open_nursery() as nursery:
        reading = Reading(stream, nursery)
        await trio.sleep(1000)
        kubelet.write("two")
        await quiet()
        nursery.cancel_scope.cancel()

    assert (reading.lines, stream.requests) == (["one", "two"], 4)


async def test_a_cancelled_step_loses_no_line(client: dynkube.Client, kubelet: Kubelet) -> None:
    kubelet.start()
    async with client.pod("web").logs(follow=True) as stream:
        found = []
        for number in range(20):
            with trio.move_on_after(0.5):
                await anext(stream)
                pytest.fail("there was no line")
            kubelet.write(str(number))
            found.append(str(await anext(stream)))

    assert found == kubelet.lines
    with pytest.raises(ClosedError, match="the log is closed"):
        await anext(stream)


async def test_an_outage_of_the_server_loses_no_line(
    client: dynkube.Client, kubelet: Kubelet, transport: TearingTransport
) -> None:
    kubelet.start()
    async with client.pod("web").logs(follow=True) as stream, trio.open_nursery() as nursery:
        reading = Reading(stream, nursery)
        kubelet.write("before")
        await quiet()
        transport.down = True
        transport.cut()
        kubelet.write("meanwhile")
        await trio.sleep(500)
        assert "cannot connect" in str(stream.last_error)
        transport.down = False
        await trio.sleep(30)
        nursery.cancel_scope.cancel()

    assert (reading.lines, stream.last_error) == (["before", "meanwhile"], None)


async def test_waiting_requires_the_permission_to_watch() -> None:
    async with APIServer(rbac=True, now=Clock()) as server:
        server.create(pod())
        Kubelet(server).publish("Pending")
        server.grant("alice", verbs=["get"], resource="pods", namespace="default")
        async with dynkube.connect(url=server.url, transport=server.transport(User("alice"))) as client:
            with pytest.raises(Forbidden, match='cannot watch resource "pods"'):
                async with client.pod("web").logs(follow=True) as stream:
                    await anext(stream)


async def test_an_unknown_container_is_refused_on_entering(client: dynkube.Client) -> None:
    with pytest.raises(InvalidInput, match="has no container 'db'; it has app"):
        async with client.pod("web").logs(follow=True, container="db"):
            pass
