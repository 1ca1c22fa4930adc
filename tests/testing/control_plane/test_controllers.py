"""A real control plane with its controllers and scheduler, on a node played by KWOK."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dynkube_testing import ControlPlane
from tests.testing.control_plane.kwok import node, write_settings

pytestmark = [pytest.mark.real_time, pytest.mark.timeout(300)]

DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "app", "image": "nginx"}]},
        },
    },
}


@pytest.fixture
def whole_plane(assets: Path, tmp_path: Path) -> Iterator[ControlPlane]:
    for name in ("kube-controller-manager", "kube-scheduler", "kwok"):
        if not (assets / name).exists():
            pytest.skip(f"no {name} in {assets}: `make control-plane` builds it for the current version")
    with ControlPlane(assets, controller_manager=True, scheduler=True, folder=tmp_path / "plane", keep=False) as plane:
        yield plane


async def test_a_deployment_runs_and_goes_with_its_namespace(
    whole_plane: ControlPlane, assets: Path, tmp_path: Path
) -> None:
    settings = write_settings(tmp_path / "kwok.yaml", tmp_path, {})
    async with node(whole_plane, assets / "kwok", settings) as client:
        namespaces, deployments = client.resource("namespaces"), client.resource("deployments")
        await namespaces.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        await client.resource("serviceaccounts").wait_for("default", "create", namespace="shop", timeout=60)

        await deployments.create(DEPLOYMENT)
        await deployments.wait_for("web", "condition=Available", namespace="shop", timeout=60)
        pods = await client.resource("pods").list(namespace="shop")
        await namespaces.delete("shop")
        await namespaces.wait_for("shop", "delete", timeout=60)

        assert {pod["spec"]["nodeName"] for pod in pods} == {"worker"}
        assert len(await client.resource("pods").list()) == 0
