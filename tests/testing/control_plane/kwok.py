"""A node played by KWOK: its Pods run at once, with a log file, commands of this machine, and forwarded ports."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from random import SystemRandom
from textwrap import dedent
from typing import Any

import trio
import yaml

import dynkube
from dynkube_testing import ControlPlane
from dynkube_testing._control_plane.ports import free_port

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "worker"}}
# An object in this state gets this status. Templates of KWOK; `Now` is the time.
_STAGES = [
    (
        "Node",
        [{"key": ".status.nodeInfo.kubeletVersion", "operator": "NotIn", "values": ["played"]}],
        """
        conditions: [{type: Ready, status: "True", lastTransitionTime: {{ Now | Quote }}}]
        addresses: [{type: InternalIP, address: 127.0.0.1}]
        daemonEndpoints: {kubeletEndpoint: {Port: {{ NodePort }}}}
        allocatable: &room {cpu: 8, memory: 8Gi, pods: 110}
        capacity: *room
        nodeInfo: {kubeletVersion: played, architecture: "", bootID: "", containerRuntimeVersion: "", kernelVersion: "",
                   kubeProxyVersion: "", machineID: "", operatingSystem: linux, osImage: "", systemUUID: ""}
        """,
    ),
    (
        "Pod",
        [{"key": ".status.phase", "operator": "In", "values": ["Pending"]}],
        """
        phase: Running
        conditions:
        - {type: Ready, status: "True", lastTransitionTime: {{ Now | Quote }}}
        containerStatuses:
        {{ range .spec.containers }}
        - {name: {{ .name }}, image: {{ .image }}, imageID: "", ready: true, restartCount: 0,
           state: {running: {startedAt: {{ Now | Quote }}}}}
        {{ end }}
        """,
    ),
]


def write_settings(file: Path, folder: Path, ports: dict[int, int]) -> Path:
    """Write KWOK's settings: containers log to ``folder/log``, run in it, and have ``ports`` of this machine."""
    documents = []
    for kind, state, status in _STAGES:
        selected = {"resourceRef": {"apiGroup": "v1", "kind": kind}, "selector": {"matchExpressions": state}}
        documents.append(_document("Stage", {**selected, "next": {"statusTemplate": dedent(status)}}, kind.lower()))
    gone = {"matchExpressions": [{"key": ".metadata.deletionTimestamp", "operator": "Exists"}]}
    pods = {"resourceRef": {"apiGroup": "v1", "kind": "Pod"}, "selector": gone, "next": {"delete": True}}
    documents.append(_document("Stage", pods, "gone"))
    documents.append(_document("ClusterLogs", {"logs": [{"logsFile": str(folder / "log"), "follow": True}]}))
    documents.append(_document("ClusterAttach", {"attaches": [{"logsFile": str(folder / "log")}]}))
    documents.append(_document("ClusterExec", {"execs": [{"local": {"workDir": str(folder)}}]}))
    forwards = [{"ports": [port], "target": {"port": target, "address": "127.0.0.1"}} for port, target in ports.items()]
    documents.append(_document("ClusterPortForward", {"forwards": forwards}))
    file.write_text(yaml.safe_dump_all(documents), encoding="utf-8")
    return file


def _document(kind: str, spec: dict[str, Any], name: str = "all") -> dict[str, Any]:
    return {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


@asynccontextmanager
async def node(plane: ControlPlane, program: Path, settings: Path) -> AsyncIterator[dynkube.Client]:
    """Run KWOK with a node that is ready; yields a client of the administrator."""
    certificates, port = plane.folder / "certificates", free_port(SystemRandom())
    command = [
        program,
        "--kubeconfig",
        plane.write_kubeconfig(settings.with_suffix(".kubeconfig")),
        "--config",
        settings,
        "--manage-all-nodes",
        "--node-ip=127.0.0.1",
        f"--node-port={port}",
        f"--server-address=127.0.0.1:{port}",
        "--tls-cert-file",
        certificates / "kube-apiserver.crt",
        "--tls-private-key-file",
        certificates / "kube-apiserver.key",
    ]
    with settings.with_suffix(".log").open("wb") as log:
        running = partial(trio.run_process, command, stdout=log, stderr=subprocess.STDOUT, check=False)
        async with dynkube.connect(kubeconfig=plane.kubeconfig()) as client, trio.open_nursery() as nursery:
            nursery.start_soon(running)
            await client.resource("nodes").apply(NODE, field_manager="test")
            await client.resource("nodes").wait_for("worker", "condition=Ready", timeout=60)
            yield client
            await client.resource("nodes").delete("worker")  # as the next one has another port
            await client.resource("nodes").wait_for("worker", "delete", timeout=60)
            nursery.cancel_scope.cancel()
