"""Other clients' creates that get a 403 before the server has read their body: which of them see another error?

    python -m benchmarks.refused_writes [--count 1000] [--clients FOLDER]

Prints a table in Markdown: how many creates of each client got the 403, and the other outcomes. The server is
``dynkube serve --rbac``, over plain HTTP and over TLS, and the clients authenticate as a user without permissions: the
server responds to each create with 403 as soon as it has read the head. The bodies have 200 bytes, 20 KB, 200 KB and
1 MB, in turn. The server still reads the first three; it does not read the last one, and closes the connection.

The clients are installed into their own virtual environment (``--clients FOLDER``), as not all of them are test
dependencies.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from benchmarks.measure import ROOT

_PACKAGES = {"lightkube": "lightkube", "kr8s": "kr8s", "pykube": "pykube-ng", "kubernetes": "kubernetes"}
_DEADLINE = 300  # seconds for one client
# Runs with the interpreter of the clients. Prints the outcomes of the writes, with their counts.
_CHILD = """
import json, os, sys
from collections import Counter
client, count = sys.argv[1], int(sys.argv[2])
sizes = (0, 20_000, 200_000, 1_000_000)

def manifest(number):
    data = {"k": "x" * sizes[number % len(sizes)]}
    metadata = {"name": f"c{number}", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}

def lightkube():
    from lightkube import Client, KubeConfig
    from lightkube.core.exceptions import ApiError
    from lightkube.resources.core_v1 import ConfigMap
    api = Client(config=KubeConfig.from_file(os.environ["KUBECONFIG"]))
    def write(number):
        try:
            api.create(ConfigMap.from_dict(manifest(number)))
        except ApiError as error:
            return error.status.code
    return write

def kr8s():
    import kr8s
    from kr8s.objects import ConfigMap
    api = kr8s.api(kubeconfig=os.environ["KUBECONFIG"])
    def write(number):
        try:
            ConfigMap(manifest(number), api=api).create()
        except kr8s.ServerError as error:
            return error.response.status_code
    return write

def pykube():
    import pykube
    api = pykube.HTTPClient(pykube.KubeConfig.from_file(os.environ["KUBECONFIG"]))
    def write(number):
        try:
            pykube.ConfigMap(api, manifest(number)).create()
        except pykube.exceptions.HTTPError as error:
            return error.code
    return write

def kubernetes():
    from kubernetes import client, config
    api = client.CoreV1Api(config.new_client_from_config(os.environ["KUBECONFIG"]))
    def write(number):
        try:
            api.create_namespaced_config_map("default", manifest(number))
        except client.ApiException as error:
            return error.status
    return write

write, outcomes = globals()[client](), Counter()
for number in range(count):
    try:
        outcomes[str(write(number))] += 1
    except Exception as error:
        outcomes[f"{type(error).__name__}: {error}"[:100]] += 1
print(json.dumps(outcomes))
"""


def main() -> None:
    """Run each client on both servers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="writes of each client on each server")
    parser.add_argument("--library", type=Path, default=ROOT, metavar="FOLDER", help="a checkout of dynkube")
    parser.add_argument(
        "--clients",
        type=Path,
        default=Path.home() / ".cache/dynkube/clients",
        metavar="FOLDER",
        help="the virtual environment of the clients",
    )
    given = parser.parse_args()
    python = _environment(given.clients)
    print("| client | | writes | got the 403 | other outcomes | seconds |\n|---|---|---|---|---|---|")
    for scheme in ("http", "https"):
        with _serve(given.library, tls=scheme == "https") as kubeconfig:
            for client in _PACKAGES:
                row = _outcomes(python, client, given.count, kubeconfig)
                print(f"| {client} {_version(python, client)} | {scheme} | {given.count} | {row} |", flush=True)


def _environment(folder: Path) -> Path:
    """Install the clients into a virtual environment, and return its interpreter."""
    python = folder / "bin/python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *_PACKAGES.values()]
    subprocess.run(command, check=True)
    return python


@contextmanager
def _serve(library: Path, *, tls: bool) -> Iterator[Path]:
    """Run a server, and yield the kubeconfig of a user without permissions."""
    with tempfile.TemporaryDirectory() as folder:
        admin, user = Path(folder, "admin"), Path(folder, "user")
        options = ["--rbac", "--user", "alice=secret", "--kubeconfig-out", str(admin), *(["--tls"] if tls else [])]
        command = [sys.executable, "-P", "-m", "dynkube", "serve", *options]
        environ = {**os.environ, "PYTHONPATH": str(library.resolve())}
        with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            try:
                process.stdout.readline()
                process.stdout.readline()
                content = yaml.safe_load(admin.read_bytes())
                content["users"][0]["user"] = {"token": "secret"}
                user.write_text(yaml.safe_dump(content), encoding="utf-8")
                yield user
            finally:
                process.kill()


def _outcomes(python: Path, client: str, count: int, kubeconfig: Path) -> str:
    environ = {**os.environ, "KUBECONFIG": str(kubeconfig)}
    began = time.perf_counter()
    try:
        done = subprocess.run(
            [python, "-c", _CHILD, client, str(count)],
            env=environ, capture_output=True, text=True, timeout=_DEADLINE, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"? | did not finish within {_DEADLINE} s | "
    if done.returncode:
        return f"? | {(done.stderr.strip().splitlines() or ['?'])[-1]} | "
    outcomes: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    forbidden = outcomes.pop("403", 0)
    others = "; ".join(f"{times} x {outcome}" for outcome, times in outcomes.items()) or "none"
    return f"{forbidden} | {others} | {time.perf_counter() - began:.1f}"


def _version(python: Path, client: str) -> str:
    code = f"import importlib.metadata as m; print(m.version({_PACKAGES[client]!r}))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
