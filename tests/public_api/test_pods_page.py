"""The examples of docs/pods.md, on an embedded server whose containers are played."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import dynkube
import dynkube.sync
from dynkube_testing import ContainerSession, PortConnection, ServerThread, serve_in_thread
from tests.pods.kit import add, run_in, running_pod
from tests.public_api.documents import python_blocks, run

pytestmark = pytest.mark.real_time

PROGRAM, BLOCKING, SHELL, PORT = python_blocks("docs/pods.md")


async def pong(connection: PortConnection) -> None:
    assert await connection.stream.receive_some() == b"PING\r\n"
    await connection.stream.send_all(b"+PONG\r\n")


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerThread]:
    """A cluster with the pod ``web`` in ``shop``, whose root is a folder; the working folder has ``site``."""
    (tmp_path / "inside" / "etc").mkdir(parents=True)
    (tmp_path / "inside" / "etc" / "hostname").write_text("web-1\n")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("<h1>")
    monkeypatch.chdir(tmp_path)
    with serve_in_thread() as cluster:
        cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        pod = running_pod("web")
        pod["metadata"]["namespace"] = "shop"
        cluster.run(add, cluster.server, pod)
        cluster.run(cluster.server.containers.on_exec, run_in(tmp_path / "inside"))
        cluster.run(cluster.server.containers.on_port_forward, pong)
        yield cluster


async def test_the_program(
    cluster: ServerThread, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    connect = dynkube.connect
    monkeypatch.setattr(dynkube, "connect", lambda: connect(url=cluster.url))

    await run(PROGRAM, {})

    assert capsys.readouterr().out.splitlines() == ["web-1", "", "0 b'a\\nb\\n'"]
    assert (tmp_path / "inside" / "srv" / "www" / "index.html").read_text() == "<h1>"


def test_the_blocking_form(
    cluster: ServerThread, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    connect = dynkube.sync.connect
    monkeypatch.setattr(dynkube.sync, "connect", lambda: connect(url=cluster.url))
    scope: dict[str, object] = {"dynkube": dynkube}

    exec(compile(BLOCKING, "<document>", "exec"), scope)

    assert capsys.readouterr().out.startswith("web-1\n\nhttp://127.0.0.1:")
    assert isinstance(scope["k"], dynkube.sync.Client)
    scope["k"].close()


async def test_streams_and_ports(cluster: ServerThread, capsys: pytest.CaptureFixture[str]) -> None:
    async def date(session: ContainerSession) -> int:
        assert await session.stdin.receive_some() == b"date; exit 3\n"
        await session.stdout.send_all(b"today")
        return 3

    cluster.server.containers.on_exec(date)
    async with dynkube.connect(url=cluster.url) as client:
        await run(SHELL, {"pod": client.pod("web", namespace="shop")})
        await run(PORT, {"pod": client.pod("web", namespace="shop")})

    assert capsys.readouterr().out.splitlines() == ["b'today'", "3", "b'+PONG\\r\\n'"]
