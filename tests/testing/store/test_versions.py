"""Stored versions of objects."""

from __future__ import annotations

from typing import Any

from dynkube.meta import GVR
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._store.storage import Storage

THINGS = Kind(gvr=GVR("", "v1", "things"), kind="Thing", namespaced=True)


def thing(spec: str, **status: str) -> dict[str, Any]:
    return {"metadata": {"namespace": "n", "name": "a"}, "spec": {"text": spec}, "status": status}


def test_a_large_part_that_a_write_does_not_change_is_stored_once() -> None:
    storage = Storage(history=1000)

    first = storage.put(THINGS, thing("x" * 5_000))
    second = storage.put(THINGS, thing("x" * 5_000, phase="Ready"))

    shared = set(map(id, first.parts)) & set(map(id, second.parts))
    assert sum(len(part) for part in second.parts if id(part) in shared) > 5_000
    assert second.decode(THINGS)["status"] == {"phase": "Ready"}


def test_a_part_that_changes_is_stored_for_each_version() -> None:
    storage = Storage(history=1000)

    first = storage.put(THINGS, thing("x" * 5_000))
    second = storage.put(THINGS, thing("y" * 5_000))

    assert first.decode(THINGS)["spec"] == {"text": "x" * 5_000}
    assert second.decode(THINGS)["spec"] == {"text": "y" * 5_000}
