"""One round of benchmarks/calls.py with an asyncio client by other authors: kr8s, kubernetes_asyncio or lightkube.

    python -m benchmarks.call_clients CLIENT --url URL [--calls 1000]

Prints one line of JSON. Each reads a namespace as its documentation suggests: kr8s returns an object around dicts (and
sends a list with a field selector), the two others return models. dynkube depends on none of them: this module, which
needs nothing of dynkube, runs in any interpreter that has them.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeAlias

from benchmarks.measure import cpu, report
from benchmarks.python_clients import KUBECONFIG

NAME: Final = "default"
CONCURRENCY: Final = {"alone": 1, "hundred": 100, "thousand": 1000}
"""How many tasks or threads make the calls, by the name of the measurement."""

Get: TypeAlias = Callable[[], Awaitable[object]]


class Timer:
    """Measures wall and CPU time per call since its creation."""

    def __init__(self) -> None:
        self._cpu, self._wall = cpu(), time.perf_counter()

    def per_call(self, calls: int, prefix: str) -> dict[str, float]:
        """Return the milliseconds per call."""
        wall, used = time.perf_counter() - self._wall, cpu() - self._cpu
        return {f"{prefix}_ms": wall / calls * 1e3, f"{prefix}_cpu_ms": used / calls * 1e3}


async def measure(get: Get, calls: int) -> dict[str, float]:
    """Make the calls one after the other, and by a hundred and a thousand tasks; return milliseconds per call."""
    found: dict[str, float] = {}
    failed: Counter[str] = Counter()

    async def get_several(count: int) -> None:
        for _ in range(count):
            try:
                await get()
            except Exception as exc:  # noqa: BLE001  # whatever a client raises is counted
                failed[type(exc).__name__] += 1

    await asyncio.gather(*(get_several(1) for _ in range(100)))  # opens connections
    for name, tasks in CONCURRENCY.items():
        failed.clear()
        timer = Timer()
        await asyncio.gather(*(get_several(calls // tasks) for _ in range(tasks)))
        found |= timer.per_call(calls, name)
        if failed:
            found[f"{name}_failed"] = failed.total()
            print(name, dict(failed), file=sys.stderr)
    return found


# ── the clients; untyped, as the packages may be missing ─────────────────────────────────────


@asynccontextmanager
async def _kr8s(_: str, kubeconfig: Path) -> AsyncGenerator[Get]:
    api: Any = await import_module("kr8s.asyncio").api(kubeconfig=str(kubeconfig))
    namespace: Any = import_module("kr8s.asyncio.objects").Namespace
    yield lambda: namespace.get(NAME, api=api)


@asynccontextmanager
async def _kubernetes_asyncio(url: str, _: Path) -> AsyncGenerator[Get]:
    module: Any = import_module("kubernetes_asyncio.client")
    async with module.ApiClient(module.Configuration(host=url)) as client:
        api = module.CoreV1Api(client)
        yield lambda: api.read_namespace(NAME)


@asynccontextmanager
async def _lightkube(url: str, _: Path) -> AsyncGenerator[Get]:
    lightkube, models = import_module("lightkube"), import_module("lightkube.config.models")
    namespace: Any = import_module("lightkube.resources.core_v1").Namespace
    # lightkube requires a user, even an empty one.
    config = lightkube.KubeConfig.from_one(cluster=models.Cluster(server=url), user=models.User())
    client: Any = lightkube.AsyncClient(config=config)
    try:
        yield lambda: client.get(namespace, NAME)
    finally:
        await client.close()


CLIENTS: Final = {"kr8s": _kr8s, "kubernetes_asyncio": _kubernetes_asyncio, "lightkube": _lightkube}


async def run(name: str, url: str, calls: int) -> dict[str, float]:
    """Measure one round of a client."""
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        kubeconfig.write_text(KUBECONFIG.format(url=url), encoding="utf-8")
        async with CLIENTS[name](url, kubeconfig) as get:
            return await measure(get, calls)


def main() -> None:
    parser = argparse.ArgumentParser(description="One round of benchmarks.calls with another asyncio client.")
    parser.add_argument("client", choices=sorted(CLIENTS))
    parser.add_argument("--url", required=True)
    parser.add_argument("--calls", type=int, default=1000)
    options = parser.parse_args()
    if find_spec(options.client) is None:
        sys.exit(f"{options.client} is not installed for {sys.executable}")
    report(**asyncio.run(run(options.client, options.url, options.calls)))


if __name__ == "__main__":
    main()
