"""Persistent maps: each stays as it is while others are derived from it, whatever their size."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from random import Random

import pytest

from dynkube.informers._cache.persistent_map import PersistentMap, empty

MANY = 10_000


def filled(count: int) -> PersistentMap[str, int]:
    nothing: PersistentMap[str, int] = empty()
    editor = nothing.edit()
    for number in range(count):
        editor.put(f"name-{number}", number)
    return editor.done()


@pytest.mark.parametrize("key", [str, int], ids=["all kinds of hashes", "hashes with the same high bits"])
def test_a_large_map_agrees_with_a_dict_while_later_ones_are_derived(key: Callable[[int], Hashable]) -> None:
    random = Random(7)
    version: PersistentMap[Hashable, int] = empty()
    model: dict[Hashable, int] = {}
    history = []
    for number in range(60):
        editor, model = version.edit(), dict(model)
        for _ in range(400):
            name = key(random.randrange(MANY))
            if random.random() < 0.8:
                editor.put(name, number)
                model[name] = number
            elif model.pop(name, None) is not None:
                editor.remove(name)
            assert editor.get(name) == model.get(name)
        assert len(editor) == len(model)
        version = editor.done()
        history.append((version, model))

    assert max(len(expected) for _, expected in history) > 4096, "else there is no fork"
    for past, expected in history[::10]:
        assert len(past) == len(expected)
        assert {name: past.get(name) for name in map(key, range(MANY))} == {
            name: expected.get(name) for name in map(key, range(MANY))
        }
        assert sorted(past.values()) == sorted(expected.values())


def test_a_large_map_that_is_emptied_is_an_empty_map() -> None:
    editor = filled(MANY).edit()

    for number in range(MANY):
        editor.remove(f"name-{number}")
    nothing = editor.done()

    assert (len(nothing), list(nothing.values()), nothing.get("name-1")) == (0, [], None)


def test_removing_a_missing_key_is_an_error() -> None:
    editor = filled(3).edit()

    with pytest.raises(KeyError):
        editor.remove("name-3")

    assert len(editor.done()) == 3
