"""Pictures and deltas: a page that applies deltas has the latest picture, and deltas contain only changes."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube.informers._availability.crd_summary import PrinterColumn
from dynkube.meta import Added, Deleted, InformerEvent, Unstructured, Updated
from dynkube.meta._object import Key
from dynkube.notebook._columns import columns_for, own_columns
from dynkube.notebook._messages import delta_message, table_message
from dynkube.notebook._picture import Head, Painter, Picture
from tests.notebook.kit import Page, Selection, obj, paint

STEPS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c", "d", "e"]), st.sampled_from(["x", "y"]), st.integers(0, 3)), max_size=6
)
COLUMNS = [
    columns_for((), {}),
    columns_for((), {"": [PrinterColumn(name="Size", type="integer", json_path=".size")]}),
]


def event_for(known: dict[Key, Unstructured], name: str, namespace: str, size: int) -> InformerEvent | None:
    """Return the informer's event for an object that gets this size; 0 deletes it."""
    old = known.pop((namespace, name), None)
    if not size:
        return Deleted(old) if old is not None else None
    new = known[(namespace, name)] = obj(name, namespace, size, size=size, status={"phase": "Bad" * (size > 2)})
    return Updated(old, new) if old is not None else Added(new)


@given(st.lists(st.tuples(STEPS, st.sampled_from(COLUMNS), st.integers(1, 6)), max_size=8))
def test_applying_all_deltas_gives_the_latest_table(script: list[tuple[Any, Any, int]]) -> None:
    selection, painter, page, known = Selection(), Painter(), Page(), dict[Key, Unstructured]()
    last = Picture(Head(title="", phase=""))

    for steps, columns, limit in script:
        for step in steps:
            if event := event_for(known, *step):
                selection.fold(event)
        picture = paint(selection, painter, limit=limit, columns=columns)
        delta = delta_message(last, picture)
        last = picture

        whole = Page()
        whole.show(table_message(picture))
        if delta is not None:
            page.show(delta)
        assert (page.rows, page.columns, page.head) == (whole.rows, whole.columns, whole.head)
        assert sorted(page.rows) == sorted("/".join(key) for key in sorted(known)[:limit])


def test_without_a_change_there_is_no_delta() -> None:
    selection, painter = Selection(), Painter()
    selection.fold(Added(obj("a")))

    assert delta_message(paint(selection, painter), paint(selection, painter)) is None


def test_the_delta_of_a_changed_object_has_only_changed_cells() -> None:
    selection, painter = Selection(), Painter()
    for number in range(100):
        selection.fold(Added(obj(f"a{number}", status={"phase": "Pending"})))
    before = paint(selection, painter)

    selection.fold(Updated(obj("a7"), obj("a7", version=2, status={"phase": "Running"})))
    delta = delta_message(before, paint(selection, painter))

    cell = {"t": "Running", "c": "good"}
    assert delta == {"kind": "delta", "put": [["default/a7", "2", {"3": cell}]]}


def test_rows_of_unchanged_objects_are_reused() -> None:
    selection, painter = Selection(), Painter()
    for name in ("a", "b"):
        selection.fold(Added(obj(name)))
    before = paint(selection, painter)

    selection.fold(Updated(obj("a"), obj("a", version=2)))
    after = paint(selection, painter)

    assert [old is new for old, new in zip(before.rows, after.rows, strict=True)] == [False, True]


def test_rows_are_sorted_by_namespace_and_name() -> None:
    selection = Selection()
    for name, namespace in [("b", "y"), ("c", "x"), ("a", "y"), ("a", "z")]:
        selection.fold(Added(obj(name, namespace)))
    selection.fold(Deleted(obj("a", "y")))

    assert [each.object.key for each in selection.window(0, 2)] == [("x", "c"), ("y", "b")]
    assert (len(selection), selection.namespaces) == (3, 3)


def test_the_head_has_the_counts_of_objects() -> None:
    def counts(shown: int, matching: int, total: int, shows: str = "") -> str:
        return Head(title="", phase="", shown=shown, matching=matching, total=total, filter=shows).counts

    assert counts(1, 1, 1) == "1 object"
    assert counts(200, 50_000, 50_000) == "200 of 50,000 shown"
    assert counts(3, 3, 40, "LabelFilter('a=b')") == "3 of 40 objects"
    assert counts(200, 1200, 4000, "f") == "200 of 1,200 shown · 1,200 of 4,000 objects pass the filter"


@pytest.mark.parametrize(
    ("head", "counts"),
    [
        (Head(title="", phase="", shown=200, matching=1200, total=4000, reading=True), "1,200 of 4,000 objects so far"),
        (Head(title="", phase="", shown=9, matching=9, total=40, filter="f", reading=True), "9 objects so far"),
        (Head(title="", phase="", reading=True), "0 objects"),
    ],
)
def test_the_counts_of_objects_are_preliminary_while_they_are_read(head: Head, counts: str) -> None:
    assert head.counts == counts


def test_messages_of_servers_are_escaped_and_cut() -> None:
    head = Head(title="pods.v1", phase="DEGRADED", reason="For\x9bbidden", message="\x1b[31m\u202eno\n" + 9_999 * "x")

    sent = table_message(Picture(head))["head"]

    assert (sent["reason"], sent["message"][:9]) == ("For\ufffdbidden", "\ufffd[31m\ufffdno\n")
    assert len(sent["message"]) < 2_100


def test_a_packed_picture_is_small_and_unpacks_to_the_same() -> None:
    selection, painter = Selection(), Painter()
    for number in range(200):
        selection.fold(Added(obj(f"a{number}", status={"phase": "Bad \x1b[31m<b> é 名"}, size=1e300)))
    odd = own_columns({"size": "{.size}", "surrogate": lambda obj: f"\ud800 {obj.name}", "none": lambda obj: None})
    picture = paint(selection, painter, columns=columns_for(odd, {}))

    packed = picture.pack()

    assert packed.unpack() == picture
    assert packed.pack() is packed
    assert len(pickle.dumps(packed)) < len(pickle.dumps(picture)) / 4
