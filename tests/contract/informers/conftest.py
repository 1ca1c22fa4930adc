"""Each scenario also runs with compact caches, metadata only, and with informers of a set of namespaces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial, partialmethod
from random import Random
from typing import Any

import pytest

import dynkube
from dynkube.informers._settings import InjectedSettings
from dynkube.meta._compact import BodyCodec, Compactor
from dynkube_testing import APIServer
from tests.contract.backends import Backend
from tests.contract.cluster import Cluster
from tests.contract.informers.kit import NAMESPACE_SUFFIXES

CACHES = ("whole", "compact", "metadata", "namespaces")
UNSUITABLE = {"metadata": "reads_bodies", "namespaces": "one_collection"}
CLUSTER_SCOPED = ("namespaces", "nodes")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each scenario once for each kind of cache."""
    if "connect" in metafunc.fixturenames:
        marks = {marker.name for marker in metafunc.definition.iter_markers()}
        metafunc.parametrize("caching", [each for each in CACHES if UNSUITABLE.get(each) not in marks])


@pytest.fixture
def connect(
    backend: Backend, server: APIServer | None, cluster: Cluster, caching: str, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., dynkube.Client]:
    """Returns dynkube clients of the same server, whose informers have the kind of cache of this run."""
    if caching == "metadata":
        monkeypatch.setattr(dynkube.Client, "informer", partialmethod(dynkube.Client.informer, metadata_only=True))
    if caching == "namespaces":
        several = [cluster.namespace, *(f"{cluster.namespace}-{suffix}" for suffix in NAMESPACE_SUFFIXES)]
        monkeypatch.setattr(dynkube.Client, "informer", partialmethod(_of_namespaces, dynkube.Client.informer, several))
    if caching == "compact":
        return partial(_compact, backend, server)
    return partial(backend.client, server)


def _of_namespaces(
    client: dynkube.Client,
    informer: Callable[..., dynkube.Informer],
    several: Sequence[str],
    resource: str,
    *,
    namespace: str | None = None,
    **options: Any,
) -> dynkube.Informer:
    """Return an informer that lists and watches each namespace by itself."""
    if resource.startswith(CLUSTER_SCOPED):
        return informer(client, resource, **options)
    return informer(client, resource, namespaces=[namespace] if namespace else several, **options)


def _compact(
    backend: Backend, server: APIServer | None, *, settings: dynkube.InformerSettings | None = None, **options: Any
) -> dynkube.Client:
    given = InjectedSettings.of(settings or dynkube.InformerSettings(random=Random(7)))
    compact = replace(given, compact=True, compactor=lambda: Compactor(_codec()))
    return backend.client(server, settings=compact, **options)


@cache
def _codec() -> BodyCodec:
    """A dictionary to begin with, as scenarios have too few objects for one of their own."""
    text = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"%d","namespace":"ns","uid":"0-0-0","labels":{}}}'
    return BodyCodec([(text % number) * 9 for number in range(64)])
