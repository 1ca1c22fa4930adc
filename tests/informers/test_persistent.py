"""Persistent maps: each stays as it is while others are derived from it, whatever their size."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Hashable
from random import Random
from typing import Any

import pytest

from dynkube.informers._cache import persistent_map
from dynkube.informers._cache.persistent_map import MapEditor, PersistentMap, empty

MANY = 10_000


class Clashing(int):
    """A number with the hash of all others."""

    def __hash__(self) -> int:
        return 7


def map_size(version: PersistentMap[str, int]) -> int:
    """The number of nodes."""
    pending: list[Any] = [version._root]
    for node in pending:
        pending += getattr(node, "children", ())
    return len(pending)


def filled(count: int) -> PersistentMap[str, int]:
    nothing: PersistentMap[str, int] = empty()
    editor = nothing.edit()
    for number in range(count):
        editor.put(f"name-{number}", number)
    return editor.done()


def map_of(items: dict[Hashable, object]) -> PersistentMap[Hashable, object]:
    nothing: PersistentMap[Hashable, object] = empty()
    editor = nothing.edit()
    for key, value in items.items():
        editor.put(key, value)
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

    assert max(len(expected) for _, expected in history) > 4096, "else there are few levels"
    for past, expected in history[::10]:
        assert len(past) == len(expected)
        assert {name: past.get(name) for name in map(key, range(MANY))} == {
            name: expected.get(name) for name in map(key, range(MANY))
        }
        assert sorted(past.values()) == sorted(expected.values())


@pytest.mark.parametrize("key", [int, str, Clashing], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("sizes", [(0, 50), (50, 0), (10, 1000), (1000, 10), (3000, 3000)], ids=str)
def test_the_changes_between_two_versions_are_those_of_their_dicts(
    key: Callable[[int], Hashable], sizes: tuple[int, int]
) -> None:
    random = Random(str(sizes))
    before, after = ({key(n): object() for n in random.sample(range(4000), size)} for size in sizes)
    after |= {k: before[k] for k in before if random.random() < 0.5}

    changes = list(map_of(after).changes_since(map_of(before)))

    differing = {each for each in {*before, *after} if before.get(each) is not after.get(each)}
    assert sorted(str(k) for k, _, _ in changes) == sorted(map(str, differing))
    assert all((old, new) == (before.get(k), after.get(k)) for k, old, new in changes)


def test_finding_changes_reads_only_the_parts_that_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    before, read = filled(100_000), Counter[str]()
    editor = before.edit()
    editor.put("name-7", -1)
    editor.remove("name-8")
    items = persistent_map._items

    def counted(node: Any) -> dict[Any, Any]:
        read.update(items(node).keys())
        return items(node)

    monkeypatch.setattr(persistent_map, "_items", counted)

    changes = sorted(editor.done().changes_since(before))

    assert changes == [("name-7", 7, -1), ("name-8", 8, None)]
    assert read.total() <= 4 * 32


def test_a_large_map_that_is_emptied_is_an_empty_map() -> None:
    editor = filled(MANY).edit()

    for number in range(MANY):
        editor.remove(f"name-{number}")
    nothing = editor.done()

    assert (len(nothing), list(nothing.values()), nothing.get("name-1")) == (0, [], None)


def test_a_map_that_shrinks_keeps_no_empty_branches() -> None:
    shrunk = filled(MANY).edit()
    for number in range(3, MANY):
        shrunk.remove(f"name-{number}")

    assert map_size(shrunk.done()) == map_size(filled(3))


@pytest.mark.parametrize("again", [False, True], ids=["at once", "changed between the steps"])
def test_a_version_may_be_prepared_in_steps(again: bool) -> None:
    editor = filled(MANY).edit()
    for number in range(MANY):
        editor.put(f"name-{number}", -number)

    steps = sum(1 for _ in editor.freeze())
    if again:
        editor.put("name-1", 1)
        editor.remove("name-2")
    version = editor.done()

    assert steps > MANY // 100
    assert (len(version), version.get("name-1"), version.get("name-2")) == (
        (MANY - 1, 1, None) if again else (MANY, -1, -2)
    )


def test_keys_with_the_same_hash_are_different_keys() -> None:
    editor: MapEditor[Clashing, int] = empty().edit()
    for number in range(100):
        editor.put(Clashing(number), number)

    version = editor.done()

    assert [version.get(Clashing(number)) for number in range(100)] == list(range(100))
    assert version.get(Clashing(100)) is None


def test_a_large_map_costs_the_garbage_collector_nothing() -> None:
    gc.collect()
    before = len(gc.get_objects())

    version = filled(MANY)
    gc.collect()
    gc.collect()  # the first one stops tracking tuples, after it has seen what they contain

    assert len(version) == MANY
    assert len(gc.get_objects()) - before < 100


def test_removing_a_missing_key_is_an_error() -> None:
    editor = filled(3).edit()

    with pytest.raises(KeyError):
        editor.remove("name-3")

    assert len(editor.done()) == 3


def test_after_freezing_in_steps_little_is_left_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen: Counter[str] = Counter()
    freeze_node, during = persistent_map._frozen, "steps"

    def counted(node: Any, removed: bool) -> Any:
        frozen[during] += 1
        return freeze_node(node, removed)

    monkeypatch.setattr(persistent_map, "_frozen", counted)
    editor: MapEditor[str, int] = empty().edit()
    for number in range(20_000):
        editor.put(str(number), number)

    for _ in editor.freeze():
        pass
    during = "end"
    editor.done()

    assert frozen["steps"] > 1000
    assert frozen["end"] <= 17
