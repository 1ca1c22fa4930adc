"""Manifests as people and tools write them, and the outcomes of dynkube and of kubectl for them.

``recorded/as_written.yaml`` has a document for each case, with the same fields for both: ``applied`` (the objects),
``stored`` (their data, labels and annotations), ``codes`` (the exit codes of apply, of the same apply again, and of
diff), ``rewritten`` (whether the second apply wrote anything), ``pruned`` (what an apply of something else as the same
ApplySet deletes), and ``errors``; of dynkube also the exit code of ``drift``. Where the two do different things,
``why`` says what and why, as in docs/apply.md. To record both again, with kubectl on a new API server without
controllers, of which ``python -m tools.control_plane start`` prints the kubeconfig::

    python -m tests.manifests.as_written KUBECONFIG [KUBECTL]
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import trio
import trio.testing
import yaml

import dynkube
from dynkube.cli._drift import run_drift
from dynkube.cli._run import CommandFailed
from dynkube.cli._source import Source
from dynkube.manifests import Report
from dynkube_testing import APIServer
from tests.manifests.kit import JSONObject
from tests.recorded_cases import dump_cases, load_cases

RECORDED = Path(__file__).parent / "recorded/as_written.yaml"
KINDS = "configmaps", "secrets", "pods", "deployments"

HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"
A, B = HEAD % "a" + "data: {x: '1'}\n", HEAD % "b" + "data: {x: '1'}\n"
JSON_A = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1"}})
POD = """apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers: [{name: c, image: "i:1"}]
  volumes: [{name: v, configMap: {name: m, defaultMode: %s}}]
"""
CRD = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kettles.NAMESPACE.example.com}
spec:
  group: NAMESPACE.example.com
  scope: Namespaced
  names: {plural: kettles, singular: kettle, kind: Kettle, listKind: KettleList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""
KETTLE = "apiVersion: NAMESPACE.example.com/v1\nkind: Kettle\nmetadata: {name: k}\nspec: {size: 3}\n"
ROLE = """apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: r-NAMESPACE, namespace: NAMESPACE}
rules: []
"""
DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: a, creationTimestamp: null}
spec:
  replicas: 1
  strategy: {}
  selector: {matchLabels: {a: b}}
  template:
    metadata: {creationTimestamp: null, labels: {a: b}}
    spec:
      containers:
      - {name: c, image: "i:1", resources: {limits: {cpu: 1000m, memory: 0.5Gi}}, ports: [{containerPort: 80}]}
status: {}
"""
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {password: right}\n"
READ = """apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: NAMESPACE, creationTimestamp: "2026-01-02T03:04:05Z", uid: 6a7b}
data: {x: '1'}
"""
LINE = "x" * 200_000

CASES: dict[str, str | bytes] = {
    "one object": A,
    "several documents": f"{A}---\n{B}",
    "an anchor and an empty map": HEAD % "a" + "data: &x {x: '1'}\nbinaryData: {}\n",
    "a merge key": f"{HEAD % 'a'}data:\n  <<: {{x: '1', y: '2'}}\n  x: '3'\n",
    "an anchor used in its document": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: &n a, labels: {app: *n}}\n",
    "an anchor used in another document": f"{A.replace('{x', '&d {x')}---\n{HEAD % 'b'}data: *d\n",
    "indentation with tabs": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n\tname: a\n",
    "a tab after a key": f"{HEAD % 'a'}data:\n  x:\t'1'\n",
    "CRLF": f"{A}---\n{B}".replace("\n", "\r\n"),
    "a BOM": "\ufeff" + A,
    "a BOM in the second document": f"{A}---\n\ufeff{B}",
    "a BOM before the second marker": f"{A}\ufeff---\n{B}",
    "UTF-16 with a BOM": A.encode("utf-16"),
    "UTF-16 without a BOM": A.encode("utf-16-le"),
    "Latin-1": f"# Größe\n{A}".encode("latin-1"),
    "a List": f"apiVersion: v1\nkind: List\nitems:\n- {JSON_A}\n",
    "a List of Lists": f"apiVersion: v1\nkind: List\nitems:\n- {{apiVersion: v1, kind: List, items: [{JSON_A}]}}\n",
    "an empty List": "apiVersion: v1\nkind: List\nitems: []\n",
    "a ConfigMapList": f"apiVersion: v1\nkind: ConfigMapList\nitems:\n- {JSON_A}\n",
    "a ConfigMapList without kinds": "apiVersion: v1\nkind: ConfigMapList\nitems: [{metadata: {name: a}}]\n",
    "a document of comments": f"{A}---\n# nothing\n---\n{B}",
    "empty documents": f"---\n---\n\n---\n{A}---\n",
    "a document that is null": f"{A}---\nnull\n---\n{B}",
    "an end marker": f"{A}...\n---\n{B}...\n",
    "markers with comments and spaces": f"--- # first\n{A}---   \n{B}",
    "content beside a marker": f"{A}--- {JSON_A}\n".replace('"name": "a"', '"name": "b"'),
    "a YAML directive": f"%YAML 1.1\n---\n{A}",
    "the same object twice": f"{A}---\n{A}",
    "the same object with other content": f"{A}---\n{HEAD % 'a'}data: {{x: '2'}}\n",
    "a number as a value of data": f"{HEAD % 'a'}data: {{port: 8080}}\n",
    "a number as a label": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {version: 1.10}}\n",
    "a number as a name": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 7}\n",
    "a number as a key": f"{HEAD % 'a'}data: {{8080: 'x'}}\n",
    "yes and on": f"{HEAD % 'a'}data: {{x: on}}\n",
    "an octal mode": POD % "0644",
    "an octal mode of YAML 1.2": POD % "0o644",
    "a date": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {day: 2026-01-02}}\n",
    "a sexagesimal number": f"{HEAD % 'a'}data: {{ports: 22:22}}\n",
    "a float with an exponent": f"{HEAD % 'a'}data: {{x: 1e3}}\n",
    "a duplicate key": f"{A}data: {{x: '2'}}\n",
    "a duplicate key in JSON": JSON_A.replace('"x": "1"', '"x": "1", "x": "2"'),
    "a tag of YAML": f"{HEAD % 'a'}data: {{x: !!str 5}}\n",
    "a binary tag": f"{HEAD % 'a'}data: {{x: !!binary aGVsbG8=}}\n",
    "another tag": f"{HEAD % 'a'}data: {{x: !Ref y}}\n",
    "a line of 200 kB": f"{HEAD % 'a'}data: {{x: {LINE}}}\n",
    "a file of 5 MB": f"# {'c' * 98}\n" * 50_000 + A,
    "an object of 1.1 MB": f"{HEAD % 'a'}data: {{x: {'x' * 1_100_000}}}\n",
    "blocks of text": f"{HEAD % 'a'}data:\n  a: |\n    x \n    y\n  b: |-\n    x\n\n  c: >+\n    x\n    y\n\n",
    "a marker in a block": f"{HEAD % 'a'}data:\n  a: |\n    ---\n    x\n",
    "a CRD and its object": f"{CRD}---\n{KETTLE}",
    "an object and its CRD": f"{KETTLE}---\n{CRD}",
    "an object before its namespace": (
        f"{A.replace('{name: a}', '{name: a, namespace: NAMESPACE-n}')}---\n"
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: NAMESPACE-n}\n"
    ),
    "a namespace that does not exist": A.replace("{name: a}", "{name: a, namespace: NAMESPACE-no}"),
    "generateName": "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}\n",
    "JSON": json.dumps(json.loads(JSON_A), indent="\t"),
    "JSON objects one after the other": JSON_A + "\n" + JSON_A.replace('"a"', '"b"'),
    "a status, empty objects and other spellings": DEPLOYMENT,
    "a status with content": DEPLOYMENT.replace("status: {}", "status: {replicas: 3}"),
    "a cluster-scoped object with a namespace": ROLE,
    "nulls": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: null, labels: }\ndata: {x: null}\n",
    "stringData": SECRET,
    "an unknown field": A + "dat: {x: '1'}\n",
    "no kind": A.replace("kind: ConfigMap\n", ""),
    "a kind that is not served": A.replace("ConfigMap", "Konfig"),
    "an old API version": DEPLOYMENT.replace("apps/v1", "extensions/v1beta1"),
    "as read from a server": READ,
    "a broken document between others": f"{A}---\na: [\n---\n{B}",
    "text that is no object": f"NOTES\n---\n{A}",
    "a template that was not rendered": f"{HEAD % 'a'}data: {{x: {{{{ .Values.x }}}}}}\n",
}


def content(name: str, namespace: str) -> bytes:
    """Return the file of a case, for a namespace."""
    text = CASES[name]
    return text if isinstance(text, bytes) else text.replace("NAMESPACE", namespace).encode()


def recorded() -> dict[str, JSONObject]:
    """Return the recorded cases by name."""
    return {case["case"]: case for case in load_cases(RECORDED)}


def differ(case: JSONObject) -> bool:
    """Whether dynkube and kubectl did different things."""
    ours, theirs = case["dynkube"], case["kubectl"]
    return any(ours[name] != theirs[name] for name in theirs if name != "errors")


def _outcome(
    applied: Iterable[str], stored: Iterable[JSONObject], codes: Iterable[int], pruned: Iterable[str], **more: Any
) -> JSONObject:
    return {
        "applied": " ".join(sorted(applied)),
        "stored": " ".join(filter(None, map(_shown, stored))),
        "codes": " ".join(map(str, codes)),
        "pruned": " ".join(sorted(pruned)),
        **more,
    }


def _shown(obj: JSONObject) -> str:
    """Return the values of an object that a manifest may spell differently."""
    metadata, spec = obj["metadata"], obj.get("spec", {})
    parts = obj.get("data"), metadata.get("labels"), metadata.get("annotations"), spec.get("volumes", ())[:1] or None
    text = json.dumps([part for part in parts if part], sort_keys=True)
    return re.sub(r'[^"]{100,}', lambda found: f"{len(found[0])} characters", text) if any(parts) else ""


# ── dynkube ──────────────────────────────────────────────────────────────────────────────────


async def outcome_of_dynkube(server: APIServer, folder: Path, name: str) -> JSONObject:
    """Apply a case twice, compare it, and prune it, on a new server."""
    path = folder / "case.yaml"
    path.write_bytes(content(name, "default"))
    async with dynkube.connect(transport=server.transport()) as client:
        first = await client.apply_all(path, on_error="continue")
        before = await _live(client)
        again = await client.apply_all(path, on_error="continue")
        after = await _live(client)
        shown = await client.diff_all(path)
        drift = await _drift(server, path)
        if first:
            await client.apply_all(path, on_error="continue", prune="set")
        pruned = await client.apply_all(yaml.safe_load(HEAD % "rest"), prune="set")
    codes = [_code(first), _code(again), 2 if not shown.ok else int(bool(shown))]
    return _outcome(
        {entry.name for entry in first.of("created")}, before, codes, [entry.name for entry in pruned.of("pruned")],
        rewritten=before != after,
        drift=drift,
        errors=[entry.message.replace(f"{folder}/", "")[:160] for entry in first if entry.message != ""][:3],
    )  # fmt: skip


async def _drift(server: APIServer, path: Path) -> int:
    try:
        return await run_drift(dynkube.connect(transport=server.transport()), Source(filename=[str(path)]), quiet=True)
    except CommandFailed:  # there is nothing to compare
        return 2


async def _live(client: dynkube.Client) -> list[JSONObject]:
    return [obj.to_dict() for kind in KINDS for obj in await client.resource(kind).list(namespace="default")]


def _code(report: Report) -> int:
    return int(not report.ok or not report)


# ── kubectl ──────────────────────────────────────────────────────────────────────────────────


class _Kubectl:
    """kubectl in one namespace, which is the context's: -n rejects objects of others."""

    def __init__(self, kubeconfig: Path, program: str, namespace: str, folder: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        for context in config["contexts"]:
            context["context"]["namespace"] = namespace
        (folder / "kubeconfig").write_text(yaml.safe_dump(config))
        self.namespace = namespace
        self._folder = folder
        self._command = [program, f"--kubeconfig={folder}/kubeconfig"]

    def run(self, *arguments: str) -> tuple[int, str]:
        environment = {**os.environ, "KUBECTL_APPLYSET": "true"}
        command = [*self._command, *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, check=False)
        text = (done.stdout + done.stderr).decode(errors="replace")
        return done.returncode, text.replace(f"{self._folder}/", "").replace(self.namespace, "default")

    def live(self) -> list[JSONObject]:
        found = json.loads(self.run("get", ",".join(KINDS), "-o", "json")[1])["items"]
        order = {"ConfigMap": 0, "Secret": 1, "Pod": 2, "Deployment": 3}
        return sorted(found, key=lambda obj: (order[obj["kind"]], obj["metadata"]["name"]))


def outcome_of_kubectl(kubectl: _Kubectl, folder: Path, name: str) -> JSONObject:
    """Do the same with kubectl, in a new namespace."""
    assert kubectl.run("create", "namespace", kubectl.namespace)[0] == 0
    path, rest = folder / "case.yaml", folder / "rest.yaml"
    path.write_bytes(content(name, kubectl.namespace))
    rest.write_text(HEAD % "rest")
    apply = ("apply", "--server-side", "-f")
    prune = ("--prune", "--applyset=set", "-n", kubectl.namespace)
    first, text = kubectl.run(*apply, str(path))
    before = kubectl.live()
    again, _ = kubectl.run(*apply, str(path))
    after = kubectl.live()
    differs, _ = kubectl.run("diff", "--server-side", "-f", str(path))
    kubectl.run(*apply, str(path), *prune)
    _, pruned = kubectl.run(*apply, str(rest), *prune)
    lines = [line for line in text.splitlines() if line.strip()]
    return _outcome(
        {line.split()[0] for line in lines if line.endswith(" serverside-applied")}, before, [first, again, differs],
        [line.split()[0] for line in pruned.splitlines() if line.endswith(" pruned")],
        rewritten=before != after,
        errors=[line[:160] for line in lines if not line.endswith(" serverside-applied")][:3],
    )  # fmt: skip


# ── recording ────────────────────────────────────────────────────────────────────────────────


def record(kubeconfig: Path, program: str) -> Iterator[JSONObject]:
    """Yield each case with both outcomes, and the reason that was recorded before."""
    before = recorded() if RECORDED.exists() else {}
    for number, name in enumerate(CASES):
        with TemporaryDirectory() as folder:
            kubectl = _Kubectl(kubeconfig, program, f"case{number}-{os.getpid()}", Path(folder))
            theirs = outcome_of_kubectl(kubectl, Path(folder), name)
            ours: JSONObject = {}
            trio.run(_alone, Path(folder), name, ours, clock=trio.testing.MockClock(autojump_threshold=0))
        case = {"case": name, "dynkube": ours, "kubectl": theirs}
        yield case | ({"why": before.get(name, {}).get("why", "TODO")} if differ(case) else {})


async def _alone(folder: Path, name: str, found: JSONObject) -> None:
    async with APIServer() as server:
        found |= await outcome_of_dynkube(server, folder, name)


if __name__ == "__main__":
    RECORDED.parent.mkdir(exist_ok=True)
    dump_cases(RECORDED, list(record(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "kubectl")))
