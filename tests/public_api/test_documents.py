"""The examples in the README and in docs."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
import trio

import dynkube
from dynkube_testing import APIServer, ContainerSession
from tests.informers.kit import crd
from tests.pods.kit import running_pod
from tests.public_api.documents import python_blocks, run

MANIFEST: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "web:1"}]},
        },
    },
}


def pod(name: str) -> dict[str, Any]:
    labels = {"app": "web", "tier": "fe"}
    spec = {"nodeName": "worker-1", "containers": [{"name": "c", "image": "web:1"}]}
    metadata = {"name": name, "namespace": "shop", "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@pytest.fixture
def shop(server: APIServer) -> APIServer:
    """A cluster with the objects that the README uses."""
    server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "a"}}})
    server.create({**MANIFEST, "spec": {**MANIFEST["spec"], "replicas": 1}})
    stored = server.get("deployments", "web", "shop")
    server.update({**stored, "status": {"conditions": [{"type": "Available", "status": "True"}]}}, subresource="status")
    server.create(pod("web-1"))
    return server


@pytest.fixture
def manifests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder ``manifests`` with one object, in the current directory."""
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"colour": "blue"}}
    folder = tmp_path / "manifests"
    folder.mkdir()
    (folder / "a.json").write_text(json.dumps(config))
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.real_time
async def test_the_first_program_of_the_readme_runs_with_a_kubeconfig(
    server: APIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with server.serve() as endpoint:
        endpoint.write_kubeconfig(tmp_path / "config")
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))

        await run(python_blocks("README.md")[0], {})

    assert capsys.readouterr().out.startswith(
        "[] ABSENT (CRDNotFound: no CRD httproutes.gateway.networking.k8s.io is installed"
    )


async def test_the_reads_and_writes_of_the_readme_run(shop: APIServer, client: dynkube.Client) -> None:
    scope = await run(python_blocks("README.md")[2], {"client": client, "dynkube": dynkube, "manifest": MANIFEST})

    assert shop.get("deployments", "web", "shop")["spec"]["replicas"] == 3
    assert isinstance(scope["pod"], dynkube.Unstructured)
    assert isinstance(scope["event"], dynkube.Added)


async def test_the_applies_of_the_readme_run(
    shop: APIServer, client: dynkube.Client, manifests: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    deployments = client.resource("deploy")
    await deployments.apply(MANIFEST | {"spec": MANIFEST["spec"] | {"replicas": 5}}, field_manager="team", force=True)
    wanted = MANIFEST | {"spec": MANIFEST["spec"] | {"replicas": 3}}

    await run(python_blocks("README.md")[3], {"client": client, "deployments": deployments, "manifest": wanted})

    conflict, _, rest = capsys.readouterr().out.partition("For each of these fields")
    assert ".spec.replicas  3      5     team" in conflict
    assert "+  minReadySeconds: 10" in rest
    assert rest.rstrip().endswith("1 created")


async def test_the_informer_of_the_readme_runs(
    shop: APIServer, client: dynkube.Client, capsys: pytest.CaptureFixture[str]
) -> None:
    created = await client.resource("pods").create(pod("web-2"))

    scope = await run(python_blocks("README.md")[4], {"client": client, "dynkube": dynkube, "created": created})

    assert isinstance(scope["event"], dynkube.Added)
    assert capsys.readouterr().out.startswith("informer statistics · LIVE · 2 objects")


async def test_the_work_with_pods_of_the_readme_runs(
    shop: APIServer, client: dynkube.Client, capsys: pytest.CaptureFixture[str]
) -> None:
    async def print_name(session: ContainerSession) -> None:
        await session.stdout.send_all(b"web-1\n")

    shop.containers.on_exec(print_name)
    shop.containers.write_log("web-1", "listening\n", namespace="shop")
    running = running_pod("web-1", "c")["status"]
    shop.update(shop.get("pods", "web-1", "shop") | {"status": running}, subresource="status")

    await run(python_blocks("README.md")[6], {"client": client})

    name, _, address, line, *_ = capsys.readouterr().out.splitlines()
    assert (name, line) == ("web-1", "web-1 listening")
    assert address.startswith("http://127.0.0.1:")
    assert "restartedAt" in str(shop.get("deployments", "web", "shop")["spec"]["template"]["metadata"])


async def test_the_controller_of_the_readme_runs(server: APIServer, client: dynkube.Client) -> None:
    def deployment_for(site: dynkube.Unstructured) -> dict[str, Any]:
        return {**MANIFEST, "metadata": {"name": site.name}}

    server.create(crd("websites"))
    server.create({"apiVersion": "example.com/v1", "kind": "Website", "metadata": {"name": "shop"}, "spec": {}})
    with trio.move_on_after(5):
        await run(python_blocks("README.md")[5], {"client": client, "deployment_for": deployment_for})

    assert server.get("deployments", "shop")["metadata"]["ownerReferences"][0]["kind"] == "Website"


async def test_the_test_of_the_readme_runs(
    server: APIServer, client: dynkube.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def my_controller(client: dynkube.Client) -> None:
        await trio.sleep(8 * 3600)
        await client.resource("deployments").patch("web", {"spec": {"replicas": 1}}, namespace="default")

    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "web.json").write_text(json.dumps({**MANIFEST, "metadata": {"name": "web"}}))
    monkeypatch.chdir(tmp_path)

    block = python_blocks("README.md")[7]
    scope = await run(block, {"trio": trio, "my_controller": my_controller})

    await scope["test_it_scales_down_at_night"](server, client)  # type: ignore[operator]  # defined in the README


@pytest.mark.real_time
async def test_the_settings_of_the_security_page_are_valid(
    server: APIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    insecure, bounded = python_blocks("docs/security.md")

    with warnings.catch_warnings(), pytest.raises(dynkube.InsecureTLSWarning):
        await run(insecure + "\nasync with dynkube.connect(url='https://127.0.0.1:1', verify=False): pass", {})
    async with server.serve() as endpoint:
        endpoint.write_kubeconfig(tmp_path / "config")
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
        scope = await run(bounded, {"dynkube": dynkube})

    assert scope["limits"] == dynkube.Limits(max_response_bytes=64 << 20, max_line_bytes=4 << 20)


def test_every_limit_of_the_security_page_is_the_default() -> None:
    page = Path(__file__).parents[2].joinpath("docs", "security.md").read_text(encoding="utf-8")
    limits, seconds = dynkube.Limits(), dynkube.InformerSettings()

    for phrase in (
        f"| {limits.max_response_bytes >> 30} GiB | `Limits.max_response_bytes` |",
        f"| {limits.max_line_bytes >> 20} MiB | `Limits.max_line_bytes` |",
        f"| {limits.max_header_bytes >> 10} KiB | `Limits.max_header_bytes` |",
        f"{seconds.list_timeout:g} s | `timeout=` of each verb, `InformerSettings.list_timeout` |",
        f"| {seconds.watch_idle_timeout:g} s | `InformerSettings.watch_idle_timeout` |",
    ):
        assert phrase in page


async def test_the_join_of_the_informers_page_prints_each_pod(
    shop: APIServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    connect = dynkube.connect
    monkeypatch.setattr(dynkube, "connect", lambda context: connect(transport=shop.transport()))

    await run(python_blocks("docs/informers.md")[0], {"dynkube": dynkube})

    assert sorted(capsys.readouterr().out.splitlines()) == ["east web-1", "west web-1"]


def test_every_block_of_python_in_the_documents_is_run() -> None:
    assert len(python_blocks("README.md")) == 8  # one of them is run by test_notebooks_page.py
    assert python_blocks("docs/resources.md")  # run by test_resources_page.py
    assert python_blocks("docs/testing.md")  # run by test_testing_page.py
    assert python_blocks("docs/observability.md")  # run by test_observability_page.py
    assert len(python_blocks("docs/asyncio.md")) == 5  # run by test_asyncio_page.py
    assert len(python_blocks("docs/pods.md")) == 4  # run by test_pods_page.py
    assert len(python_blocks("docs/perturbation.md")) == 6  # run by test_perturbation_page.py
    assert python_blocks("docs/daily.md")  # run by test_daily_page.py
    assert len(python_blocks("docs/logs.md")) == 2  # run by test_logs_page.py
    assert len(python_blocks("docs/security.md")) == 2
    assert len(python_blocks("docs/informers.md")) == 1
    assert not python_blocks("docs/architecture.md")
