"""Snapshots never change; the next version is built separately."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube.informers._cache.store import EMPTY
from dynkube.meta import Unstructured
from dynkube.meta._object import Key

KEYS = st.tuples(st.sampled_from(["", "shop", "office"]), st.sampled_from("abcd"))


def obj(key: Key, version: int) -> Unstructured:
    return Unstructured({"metadata": {"namespace": key[0], "name": key[1], "resourceVersion": str(version)}})


@pytest.mark.scenario("P1")
@given(batches=st.lists(st.lists(st.tuples(KEYS, st.booleans()), max_size=8), max_size=6))
def test_a_snapshot_agrees_with_a_dict_while_later_ones_are_built(
    batches: list[list[tuple[Key, bool]]],
) -> None:
    snapshot, model = EMPTY, dict[Key, Unstructured]()
    history = [(snapshot, model)]

    for number, batch in enumerate(batches):
        editor, model = snapshot.edit(), dict(model)
        for key, present in batch:
            if present:
                model[key] = obj(key, number)
                editor.put(key, model[key])
            elif model.pop(key, None) is not None:
                editor.remove(key)
            assert editor.get(key) is model.get(key)
        snapshot = editor.done()
        history.append((snapshot, model))

    for past, expected in history:
        assert {o.key: o for o in past} == expected
        assert len(past) == len(expected)
        for namespace in ("", "shop", "office"):
            assert {o.key for o in past.in_namespace(namespace)} == {key for key in expected if key[0] == namespace}


def test_an_emptied_namespace_leaves_nothing_behind() -> None:
    editor = EMPTY.edit()
    editor.put(("shop", "a"), obj(("shop", "a"), 1))
    full = editor.done()

    editor = full.edit()
    editor.remove(("shop", "a"))
    empty = editor.done()

    assert (len(empty), list(empty), list(empty.in_namespace("shop"))) == (0, [], [])
    assert full.get(("shop", "a")) is not None
