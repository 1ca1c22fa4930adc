"""Memory shared between the objects of one decoder, without visible effect."""

from __future__ import annotations

import json

import msgspec
import pytest

from dynkube import Unstructured
from dynkube.meta._frozen import FrozenDict
from dynkube.meta._wire.objects import ObjectDecoder


def raw(name: str = "web", *, kind: str = "Pod", **metadata: object) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, **metadata}}).encode()


def test_equal_sets_of_labels_are_stored_once() -> None:
    decoder = ObjectDecoder()

    one, other, third = (
        decoder.decode(raw(name, labels={"app": app})) for name, app in (("1", "a"), ("2", "a"), ("3", "b"))
    )

    assert one.labels is other.labels
    assert [dict(obj.labels) for obj in (one, other, third)] == [{"app": "a"}, {"app": "a"}, {"app": "b"}]


def test_shared_labels_are_read_only() -> None:
    with pytest.raises(TypeError, match="read-only"):
        ObjectDecoder().decode(raw(labels={"app": "a"})).labels["app"] = "b"  # type: ignore[index]  # on purpose


def test_labels_that_are_not_shared_do_not_accumulate() -> None:
    decoder = ObjectDecoder()

    names = [f"web-{number}" for number in range(3000)]

    objects = [decoder.decode(raw(name, labels={"pod": name, "a": "b"})) for name in names]

    assert [obj.labels for obj in objects] == [{"pod": name, "a": "b"} for name in names]
    assert len(decoder._labels) <= 1024
    assert [type(objects[number]._labels) for number in (255, 256, 2999)] == [FrozenDict, tuple, tuple]


def test_kinds_may_differ_within_one_stream() -> None:
    decoder = ObjectDecoder()

    kinds = [decoder.decode(raw(kind=kind)).kind for kind in ("Pod", "Service", "Service", "Pod")]

    assert kinds == ["Pod", "Service", "Service", "Pod"]


@pytest.mark.parametrize("labels", [None, {}])
def test_missing_labels_are_an_empty_mapping(labels: object) -> None:
    assert ObjectDecoder().decode(raw(labels=labels)).labels == {} == Unstructured(raw(labels=labels)).labels


def test_the_error_for_invalid_labels_has_their_path() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"at `\$\.metadata\.labels\[\.\.\.\]`"):
        ObjectDecoder().decode(raw(labels={"app": 1}))
