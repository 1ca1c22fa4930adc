"""An embedded server on TCP, for other client libraries, which run in threads with their own event loops."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
import trio

from dynkube_testing import APIServer, Endpoint

T = TypeVar("T")

WIDGETS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}, colour: {type: string}}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
"""


def widget(name: str, **spec: object) -> dict[str, object]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "spec": spec}


def config_map(name: str, **data: str) -> dict[str, object]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@pytest.fixture(autouse=True)
def leftovers() -> Iterator[None]:
    """Collect garbage of the client while the test that made it still ignores the resulting warnings."""
    yield
    gc.collect()


@pytest.fixture
async def server() -> AsyncIterator[APIServer]:
    async with APIServer() as server:
        server.create(WIDGETS)
        yield server


@pytest.fixture
async def endpoint(server: APIServer) -> AsyncIterator[Endpoint]:
    async with server.serve(token="let-me-in") as endpoint:
        yield endpoint


@pytest.fixture
def kubeconfig(endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = endpoint.write_kubeconfig(tmp_path / "kubeconfig")
    monkeypatch.setenv("KUBECONFIG", str(path))
    monkeypatch.setenv("HOME", str(tmp_path))
    return path


async def in_thread(work: Callable[[], T]) -> T:
    """Run blocking ``work`` in a thread, while the server goes on in this one, and return its result."""
    return await trio.to_thread.run_sync(work, abandon_on_cancel=True)


class ServerThread:
    """Calls functions in the thread of the server, from other threads."""

    def __init__(self) -> None:
        self._token = trio.lowlevel.current_trio_token()

    def call(self, function: Callable[[], T]) -> T:
        return trio.from_thread.run_sync(function, trio_token=self._token)


@pytest.fixture
async def server_thread() -> ServerThread:
    return ServerThread()
