"""The same logs by all three clients."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

import dynkube.aio
import dynkube.sync
from dynkube.errors import DeadlineExceeded, NotFound
from dynkube_testing import ServerThread, serve_in_thread
from tests.aio.kit import in_asyncio
from tests.pods.logs.kubelet import Kubelet, pod

pytestmark = pytest.mark.real_time


@pytest.fixture
def cluster() -> Iterator[ServerThread]:
    """A server with the pod ``web``, which has written a line."""
    with serve_in_thread() as cluster:
        cluster.create(pod())
        cluster.run(_start, Kubelet(cluster.server))
        yield cluster


def _start(kubelet: Kubelet) -> None:
    kubelet.start()
    kubelet.write("one")


def test_blocking(cluster: ServerThread) -> None:
    with dynkube.sync.connect(url=cluster.url) as k:
        assert k.pod("web").read_logs(timestamps=True).text == "one\n"
        with pytest.raises(NotFound):
            k.pod("none").read_logs()

        with k.pod("web").logs(follow=True) as lines:
            first = next(lines)
            with pytest.raises(DeadlineExceeded):
                lines.next(0.01)
            cluster.run(cluster.server.containers.write_log, "web", "two\n")
            second = lines.next(10)
        with k.logs("app=web", follow=False) as merged:
            all_lines = list(map(str, merged))

    assert (str(first), str(second), lines.container) == ("one", "two", "app")
    assert all_lines == ["one", "two"]


@in_asyncio
async def test_asyncio(cluster: ServerThread) -> None:
    async with dynkube.aio.connect(url=cluster.url) as client:
        assert (await client.pod("web").read_logs()).text == "one\n"

        async with client.pod("web").logs(follow=True) as lines:
            first = await anext(lines)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await anext(lines)
            cluster.run(cluster.server.containers.write_log, "web", "two\n")
            second = await anext(lines)
        async with client.logs("app=web", follow=False) as merged:
            all_lines = [str(line) async for line in merged]

    assert (str(first), str(second), lines.container) == ("one", "two", "app")
    assert all_lines == ["one", "two"]


def test_a_log_in_a_notebook_is_a_card_of_its_last_lines(cluster: ServerThread) -> None:
    with dynkube.sync.connect(url=cluster.url) as k:
        log = k.pod("web").read_logs()

    assert "one" in log._repr_html_()
    assert repr(log) == "<Log of default/web app: 1 line>"
