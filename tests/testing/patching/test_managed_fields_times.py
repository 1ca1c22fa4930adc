"""The times in ``managedFields``, with a clock that advances each time it is read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from dynkube_testing._calls.api import JSONObject
from tests.contract.objects import CRDS, version
from tests.testing.engine.cluster import Cluster, crd, widget

BEGIN = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def cluster() -> Cluster:
    """Serves widgets with an atomic list ``spec.rules``, whose items have a default."""
    ticks: Iterator[int] = count()
    cluster = Cluster(managed_fields=True, now=lambda: BEGIN + timedelta(seconds=next(ticks)))
    rule = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string", "default": "d"}}}
    rules = {"type": "array", "x-kubernetes-list-type": "atomic", "items": rule}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"rules": rules}}}}
    cluster.create(CRDS, crd(versions=[version(schema={"openAPIV3Schema": schema})]))
    return cluster


def _rules(*names: str) -> JSONObject:
    return widget(spec={"rules": [{"a": name} for name in names]})


def _times(obj: JSONObject) -> list[str]:
    return [entry["time"] for entry in obj["metadata"]["managedFields"]]


def test_an_apply_that_equals_the_object_after_defaulting_is_not_a_write(cluster: Cluster) -> None:
    first = cluster.apply("widgets", _rules("x"), "me")

    again = cluster.apply("widgets", _rules("x"), "me")

    assert again == first


def test_a_change_updates_the_time(cluster: Cluster) -> None:
    first = cluster.apply("widgets", _rules("x"), "me")

    changed = cluster.apply("widgets", _rules("x", "y"), "me")

    assert _times(changed) > _times(first)


def test_a_write_updates_only_the_time_of_its_manager(cluster: Cluster) -> None:
    cluster.apply("widgets", _rules("x"), "me")
    other = cluster.patch("widgets", "w", {"metadata": {"labels": {"a": "b"}}}, params={"fieldManager": "other"})

    again = cluster.apply("widgets", _rules("y"), "me")

    (before, others), (after, same) = _times(other), _times(again)
    assert before < others == same < after
