"""The rows of a live table are the first objects, whatever was added and deleted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dynkube.meta import Added, Deleted, Updated
from dynkube.meta._object import Key
from dynkube.notebook._selection import RowSelection
from tests.notebook.kit import obj

LIMIT = 3
STEPS = st.tuples(st.sampled_from(["x", "y"]), st.sampled_from("abcdefgh"), st.booleans())


@given(st.lists(STEPS, max_size=60), st.integers(1, 9))
def test_the_window_has_the_first_objects(steps: list[tuple[str, str, bool]], patience: int) -> None:
    selection, known = RowSelection(LIMIT), dict[Key, int]()

    for version, (namespace, name, exists) in enumerate(steps, 1):
        old = known.pop((namespace, name), 0)
        if exists:
            known[(namespace, name)] = version
            new = obj(name, namespace, version)
            selection.fold(Updated(obj(name, namespace, old), new) if old else Added(new))
        elif old:
            selection.fold(Deleted(obj(name, namespace, old)))
        if selection.is_short and version % patience == 0:
            selection.refill(of(known))

        first = [(*key, str(known[key])) for key in sorted(known)][:LIMIT]
        window = [(each.namespace, each.name, each.resource_version) for each in selection.window()]
        assert window == (first[: len(window)] if selection.is_short else first)
        assert (len(selection), selection.namespaces) == (len(known), len({namespace for namespace, _ in known}))


def of(known: dict[Key, int]) -> RowSelection:
    """Return a new selection from all objects."""
    selection = RowSelection(LIMIT)
    for (namespace, name), version in known.items():
        selection.fold(Added(obj(name, namespace, version)))
    return selection


def test_few_objects_are_kept_of_many() -> None:
    selection = RowSelection(LIMIT)
    for number in reversed(range(1_000)):
        selection.fold(Added(obj(f"{number:03}")))

    assert [each.name for each in selection.window()] == ["000", "001", "002"]
    assert (selection.get(("default", "999")), len(selection)) == (None, 1_000)


def test_a_change_of_an_object_that_is_not_kept_is_ignored() -> None:
    selection = RowSelection(1)
    for name in "abc":
        selection.fold(Added(obj(name)))

    selection.fold(Updated(obj("c"), obj("c", version=2)))

    assert selection.get(("default", "c")) is None
