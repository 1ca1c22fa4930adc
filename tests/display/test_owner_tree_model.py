"""Owner trees of random graphs, including cycles, equal those of a simple recursive implementation."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dynkube import Unstructured, owner_tree

COUNT = 7


@st.composite
def graphs(draw: st.DrawFn) -> list[Unstructured]:
    """Objects with random owner references, some without a UID."""
    objects = []
    for number in range(COUNT):
        owners = draw(st.lists(st.integers(0, COUNT), max_size=3))
        uid = draw(st.sampled_from([str(number), str(number), None])) if number else "0"
        references = [{"uid": str(owner)} for owner in owners]
        metadata = {"name": f"n{number}", "uid": uid, "ownerReferences": references}
        namespace = draw(st.sampled_from(["a", "a", "b", ""]))
        objects.append(Unstructured({"kind": "X", "metadata": {**metadata, "namespace": namespace}}))
    return objects


def belongs(child: Unstructured, owner: Unstructured) -> bool:
    uids = [reference["uid"] for reference in child["metadata"]["ownerReferences"]]
    return owner.uid != "" and owner.uid in uids and owner.namespace in ("", child.namespace)


Line = tuple[int, str]


def simple_tree(objects: list[Unstructured], path: tuple[Unstructured, ...]) -> list[Line]:
    """Return the lines of the tree below the last object of ``way``."""
    top = path[-1]
    below = sorted((each for each in objects if belongs(each, top)), key=lambda each: (each.namespace, each.name))
    lines = [(len(path) - 1, top.name)]
    for child in below:
        if all(child is not each for each in path):
            lines += simple_tree(objects, (*path, child))
    return lines


@given(objects=graphs(), depth=st.integers(0, COUNT), limit=st.integers(1, 20), split=st.integers(0, COUNT))
def test_a_tree_equals_that_of_the_simple_implementation(
    objects: list[Unstructured], depth: int, limit: int, split: int
) -> None:
    complete = simple_tree(objects, (objects[0],))
    within = [line for line in complete if line[0] <= depth]

    tree = owner_tree(objects[0], [objects[:split], *objects[split:]], depth=depth, limit=limit)

    assert [(level, obj.name) for level, obj in tree.walk()] == within[:limit]
    assert any(note.startswith("cut after") for note in tree.notes) == (len(within) > limit)
    if len(within) <= limit:
        deeper = {
            (place, line) for place, line in enumerate(complete[:-1]) if line[0] == depth < complete[place + 1][0]
        }
        own = f"{len(deeper)} objects own" if len(deeper) != 1 else "1 object owns"
        assert any(note.startswith(own) for note in tree.notes) == bool(deeper)
        assert len(tree.notes) == bool(deeper)


@given(objects=graphs())
def test_a_tree_from_the_top_contains_the_object(objects: list[Unstructured]) -> None:
    tree = owner_tree(objects[0], [objects], from_top=True)

    assert "n0" in {obj.name for _, obj in tree.walk()}
