"""Each scenario also runs with compact caches, and with informers that receive only metadata."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial, partialmethod
from random import Random
from typing import Any

import pytest

import dynkube
from dynkube.informers._settings import InjectedSettings
from dynkube.meta._compact import BodyCodec, Compactor
from dynkube.testing import APIServer
from tests.contract.backends import Backend

CACHES = ("whole", "compact", "metadata")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each scenario once for each kind of cache."""
    if "connect" in metafunc.fixturenames:
        reads_bodies = metafunc.definition.get_closest_marker("reads_bodies") is not None
        metafunc.parametrize("caching", [each for each in CACHES if not (reads_bodies and each == "metadata")])


@pytest.fixture
def connect(
    backend: Backend, server: APIServer | None, caching: str, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., dynkube.Client]:
    """Returns dynkube clients of the same server, whose informers have the kind of cache of this run."""
    if caching == "metadata":
        monkeypatch.setattr(dynkube.Client, "informer", partialmethod(dynkube.Client.informer, metadata_only=True))
    if caching == "compact":
        return partial(_compact, backend, server)
    return partial(backend.client, server)


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
