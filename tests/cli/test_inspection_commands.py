"""``dynkube describe``, ``explain`` and ``top``."""

from __future__ import annotations

import pytest
import trio

import dynkube
from dynkube import Client
from dynkube.cli import main
from dynkube.cli._inspection import Objects, run_describe, run_describe_all, run_explain
from dynkube.errors import InvalidInput, NotFound, WrongScope
from dynkube_testing import APIServer
from tests.informers.kit import crd, namespace, widget
from tests.inspection.metrics import metrics_crds, node_metrics, pod_metrics
from tests.workloads.kit import workload

OFFLINE = ["--url", "http://127.0.0.1:1"]


def entering(server: APIServer) -> Client:
    return dynkube.connect(transport=server.transport())


async def test_an_object_is_described_with_its_name(server: APIServer, capfd: pytest.CaptureFixture[str]) -> None:
    server.create(workload() | {"metadata": {"name": "web", "namespace": "default"}})

    await run_describe(entering(server), "deploy", "web")

    first, *lines = capfd.readouterr().out.splitlines()
    assert first == "description · Deployment/web · default"
    assert any("app:1" in line for line in lines)
    with pytest.raises(NotFound):
        await run_describe(entering(server), "deploy", "none")


async def test_all_objects_of_a_kind_are_described(server: APIServer, capfd: pytest.CaptureFixture[str]) -> None:
    server.create(crd())
    server.create(namespace("other"))
    for where, name in (("default", "a"), ("default", "b"), ("other", "c")):
        server.create(widget(name, namespace=where))

    await run_describe_all(entering(server), Objects(kind="widgets"))
    here = capfd.readouterr().out
    await run_describe_all(entering(server), Objects(kind="widgets", all_namespaces=True))
    everywhere = capfd.readouterr().out

    assert [each.split()[2] for each in here.split("\n\n")] == ["Widget/a", "Widget/b"]
    assert [each.split()[2] for each in everywhere.split("\n\n")] == ["Widget/a", "Widget/b", "Widget/c"]


async def test_no_objects_are_a_note(server: APIServer, capfd: pytest.CaptureFixture[str]) -> None:
    await run_describe_all(entering(server), Objects(kind="cm", selector="app=none"))
    await run_describe_all(entering(server), Objects(kind="nodes"))

    assert capfd.readouterr() == ("", "there are no cm in the namespace default\nthere are no nodes\n")
    with pytest.raises(WrongScope):
        await run_describe_all(entering(server), Objects(kind="nodes", namespace="default"))


async def test_a_field_is_explained(server: APIServer, capfd: pytest.CaptureFixture[str]) -> None:
    await run_explain(entering(server), "deploy.spec.strategy")
    first, *lines = capfd.readouterr().out.splitlines()
    await run_explain(entering(server), "deploy.spec.strategy", recursive=True)

    assert first.startswith("fields · Deployment.spec.strategy · ")
    assert any(line.startswith("rollingUpdate") for line in lines)
    assert "maxSurge" in capfd.readouterr().out
    with pytest.raises(InvalidInput):
        await run_explain(entering(server), "deploy.spec.nothing")


@pytest.mark.real_time
async def test_top_prints_usage(capfd: pytest.CaptureFixture[str]) -> None:
    async with APIServer() as server, server.serve() as endpoint:
        for obj in (*metrics_crds(), pod_metrics("web", app=("250m", "100Mi")), node_metrics("n1", "500m", "3Gi")):
            server.create(obj)
        server.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
        for words in (["pods", "--containers"], ["po", "-n", "other"], ["nodes", "--sort-by", "cpu"]):
            assert await trio.to_thread.run_sync(main, ["top", *words, "--url", endpoint.url]) == 0

    out, err = capfd.readouterr()
    assert [line.split() for line in out.splitlines()][1:4:2] == [
        ["default", "web", "app", "250m", "100Mi"],
        ["n1", "500m", "<unknown>", "3072Mi", "<unknown>"],
    ]
    assert err == "there are no metrics of pods in the namespace other\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["describe", "deploy/web/x"], "'deploy/web/x' is not an object: pass KIND/NAME, like deploy/web"),
        (["describe", "deploy/web", "-A"], "-A and the name 'web' are mutually exclusive"),
        (["describe", "deploy", "-n", "a", "-A"], "-n and -A are mutually exclusive"),
        (["describe", "deploy", "-l", "a==="], "-l: "),
        (["explain", "deploy..spec"], "cannot explain 'deploy..spec': pass a resource and fields"),
        (["top", "pods", "-n", ""], "-n is empty"),
    ],
)
def test_invalid_arguments_are_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, *OFFLINE]) == 1
    assert capsys.readouterr().err.startswith(f"error: {message}")
