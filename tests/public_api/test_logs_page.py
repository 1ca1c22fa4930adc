"""The examples of docs/logs.md, on an embedded server."""

from __future__ import annotations

from typing import Any

import pytest

import dynkube.sync
from dynkube_testing import APIServer, serve_in_thread
from tests.pods.logs.kubelet import Kubelet, pod
from tests.public_api.documents import python_blocks, run

TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app", "image": "x"}]}}


def create_web(server: APIServer) -> None:
    """Create a Deployment with a pod that has written two lines."""
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}
    web = server.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec})
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": web["metadata"]["uid"]}
    body = pod("web-1")
    body["metadata"]["ownerReferences"] = [owner]
    server.create(body)
    kubelet = Kubelet(server, "web-1")
    kubelet.start()
    kubelet.write("starting", "ready")


async def test_the_example_prints_lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    connect = dynkube.connect
    async with APIServer() as server:
        create_web(server)
        monkeypatch.setattr(dynkube, "connect", lambda: connect(transport=server.transport()))

        main: Any = (await run(python_blocks("docs/logs.md")[0], {"dynkube": dynkube}))["main"]
        await main()

    total, followed, merged = capsys.readouterr().out.splitlines()  # loops end after one iteration
    assert total == "2 lines, the last one: ready"
    assert followed.endswith("+00:00 starting")
    assert merged == "web-1 app starting"


@pytest.mark.real_time
def test_the_cells_of_a_notebook_display_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynkube.notebook._live_log._PATIENCE", 30.0)  # for busy machines
    with serve_in_thread() as cluster:
        cluster.run(create_web, cluster.server)
        with dynkube.sync.connect(url=cluster.url) as k:
            one, many = (eval(line, {"k": k}) for line in python_blocks("docs/logs.md")[1].splitlines())

            assert one.text.splitlines()[1:] == ["starting", "ready"]
            assert many.text.splitlines()[1:] == ["web-1 app starting", "web-1 app ready"]
