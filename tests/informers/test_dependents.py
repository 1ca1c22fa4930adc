"""The owners of an object, read from its metadata.ownerReferences."""

from __future__ import annotations

import pytest

from dynkube.informers._dependents import owner_references
from dynkube.meta import Unstructured

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u1"}


@pytest.mark.parametrize(
    "references", [None, {}, "u1", [None, "u1", {}, {"uid": 7}, {"uid": ""}], []], ids=lambda value: repr(value)[:20]
)
def test_malformed_references_are_ignored(references: object) -> None:
    assert owner_references(Unstructured({"metadata": {"ownerReferences": references}})) == []


def test_valid_references_beside_malformed_ones_are_returned() -> None:
    assert owner_references(Unstructured({"metadata": {"ownerReferences": [None, OWNER]}})) == [OWNER]


def test_an_object_that_cannot_be_read_has_no_owners() -> None:
    assert owner_references(Unstructured(b'{"metadata":{"ownerReferences":["\xff"]}}')) == []
