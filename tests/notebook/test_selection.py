"""The rows of a live table are in order, at any place, whatever was added and deleted."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynkube.meta import Added, Deleted, Updated
from dynkube.notebook._row_keys import RowKey, id_of, key_of, parse_id
from dynkube.notebook._sorted_keys import SortedKey, SortedKeys
from tests.notebook.kit import Selection, obj, row

STEPS = st.tuples(st.sampled_from(["", "m/n"]), st.sampled_from(["x", "y"]), st.sampled_from("abcd"), st.booleans())


@given(st.lists(STEPS, max_size=60), st.integers(0, 9), st.integers(1, 5))
def test_the_window_has_the_rows_at_its_place(steps: list[tuple[str, str, str, bool]], first: int, count: int) -> None:
    selection, known = Selection(), dict[RowKey, int]()

    for version, (cluster, namespace, name, exists) in enumerate(steps, 1):
        old = known.pop((cluster, namespace, name), 0)
        if exists:
            known[cluster, namespace, name] = version
            new = obj(name, namespace, version)
            selection.fold(Updated(obj(name, namespace, old), new) if old else Added(new), cluster)
        elif old:
            selection.fold(Deleted(obj(name, namespace, old)), cluster)

        window = [(*key_of(each), each.object.resource_version) for each in selection.window(first, count)]
        assert window == [(*key, str(known[key])) for key in sorted(known)][first : first + count]
        assert (len(selection), selection.namespaces) == (len(known), len({namespace for _, namespace, _ in known}))


@pytest.mark.parametrize("cluster", ["", "east", "arn:aws:eks:eu-west-1:1:cluster/prod", "/", "a//"])
@pytest.mark.parametrize("namespace", ["", "default"])
def test_the_id_of_a_row_has_its_key(cluster: str, namespace: str) -> None:
    given = row(obj("web", namespace), cluster)

    assert parse_id(id_of(given)) == key_of(given) == (cluster, namespace, "web")


def test_a_cluster_leaves_with_all_its_rows_and_no_other() -> None:
    selection = Selection()
    for cluster in ("a", "b", "b2"):
        for number in range(600):
            selection.fold(Added(obj(f"{number}")), cluster)

    steps = sum(1 for _ in selection.leave("b"))

    assert (steps, len(selection), selection.namespaces) == (3, 1_200, 1)
    assert {each.cluster for each in selection.window(0, 1_200)} == {"a", "b2"}


@settings(max_examples=20)
@given(st.integers(), st.integers(0, 3_000), st.integers(1, 600), st.integers(0, 6_000))
def test_sorted_keys_are_those_of_a_sorted_list(seed: int, first: int, count: int, other: int) -> None:
    keys, plain, random = SortedKeys[SortedKey](), set[SortedKey](), Random(seed)
    for _ in range(4_000):
        number = random.randrange(5_000)
        key = ("", str(number))
        if key in plain and number % 2:
            assert keys.discard(key)
            plain.remove(key)
        else:
            assert keys.add(key) is (key not in plain)
            plain.add(key)
    probe = ("", str(other))

    assert [key for some in keys.scan() for key in some] == sorted(plain)
    assert keys.slice(first, count) == sorted(plain)[first : first + count]
    assert keys.index(probe) == sum(key < probe for key in plain)
    assert (len(keys), keys.discard(("", "none"))) == (len(plain), False)


def test_a_scan_has_keys_that_are_added_behind_its_place() -> None:
    keys = SortedKeys[SortedKey]()
    for number in range(2_000):
        keys.add((number,))

    scan = keys.scan()
    first = next(scan)
    keys.add((-1,))
    keys.add((1_999.5,))
    keys.discard((1_000,))

    rest = [key for some in scan for key in some]
    assert [*first, *rest] == [(number,) for number in range(2_000) if number != 1_000] + [(1_999.5,)]
