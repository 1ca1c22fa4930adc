"""Large objects are displayed in part, with a note, and only the displayed part is read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from dynkube import Unstructured
from dynkube._display.objects import object_card
from dynkube._display.values import ValueLimits, yaml_code
from dynkube.notebook._details import details_of
from tests.display.kit import NOW, Page, lines

MOST = 60_000
LARGE: dict[str, dict[str, Any]] = {
    "names": {"data": {f"key-{number}": "v" * 100 for number in range(10_000)}},
    "one text": {"data": {"page": "<" * 1_000_000}},
    "lines": {"data": {"text": "a\n" * 500_000}},
    "items": {"spec": [{"a": "x" * 1000}] * 1000},
    "top": {f"field-{number}": {"a": "x" * 30} for number in range(10_000)},
    "texts on top": {f"field-{number}": "x" * 1000 for number in range(1000)},
    "labels": {"metadata": {"labels": {f"l{number}": "x" * 50 for number in range(20_000)}}},
    "a label": {"metadata": {"labels": {"a" * 500_000: "b" * 500_000}}},
    "conditions": {"status": {"conditions": [{"type": f"T{n}", "message": "m" * 900} for n in range(1000)]}},
    "name": {"metadata": {"name": "n" * 1_000_000}},
    "owners": {"metadata": {"ownerReferences": [{"kind": "k" * 1000, "name": "n" * 1000}] * 1000}},
    "annotations": {"metadata": {"annotations": {str(number): "a" * 200 for number in range(5000)}}},
}


@pytest.mark.parametrize("fields", LARGE.values(), ids=LARGE.keys())
def test_a_large_object_is_displayed_in_few_bytes(fields: dict[str, Any]) -> None:
    obj = Unstructured({"apiVersion": "v1", "kind": "Big", **fields})

    page = obj._repr_html_()

    assert len(obj.json) > 400_000
    assert len(page.encode()) < MOST
    assert "kB" in page or "MB" in page


@pytest.mark.parametrize("fields", LARGE.values(), ids=LARGE.keys())
def test_the_details_of_a_large_object_in_a_live_table_are_limited(fields: dict[str, Any]) -> None:
    details = details_of(Unstructured({"apiVersion": "v1", "kind": "Big", **fields}), NOW)

    assert len(json.dumps(details)) < 2 * MOST


class CountingDict(dict[str, Any]):
    """A dictionary that counts its accessed items."""

    accessed = 0

    def items(self) -> Any:
        for pair in super().items():
            self.accessed += 1
            yield pair

    def __iter__(self) -> Iterator[str]:
        for name in super().__iter__():
            self.accessed += 1
            yield name


def test_of_a_large_map_only_the_displayed_items_are_read() -> None:
    data = CountingDict({str(number): number for number in range(100_000)})

    page = Page(object_card({"kind": "Big", "data": data}, now=NOW))

    assert page.sections()["data"].splitlines()[-1] == "… cut after 120 lines"
    assert data.accessed < 200


def test_a_cut_value_has_its_length() -> None:
    shown = lines(object_card({"kind": "Big", "note": "x" * 5000}, now=NOW))
    (code,) = yaml_code({"a": "x" * 5000}, ValueLimits(width=10)).lines

    assert shown[1].endswith("… (5,000 characters)")
    assert "".join(span.text for span in code) == f"a: {'x' * 10}… (5,000 characters)"


class CountingList(list[Any]):
    """A list that counts its accessed items."""

    accessed = 0

    def __iter__(self) -> Iterator[Any]:
        for each in super().__iter__():
            self.accessed += 1
            yield each

    def __getitem__(self, place: Any) -> Any:
        self.accessed += len(range(*place.indices(len(self)))) if isinstance(place, slice) else 1
        return super().__getitem__(place)


@pytest.mark.parametrize(
    ("section", "field", "entry"),
    [
        ("status", "conditions", {"type": "A", "status": "True"}),
        ("status", "containerStatuses", {"ready": True, "state": {"running": {}}}),
        ("metadata", "ownerReferences", {"kind": "A", "name": "a"}),
        ("metadata", "managedFields", {"manager": "a"}),
        ("spec", "list", "a"),
    ],
)
def test_of_a_long_list_only_a_limited_part_is_read(section: str, field: str, entry: Any) -> None:
    long = CountingList([entry] * 100_000)

    page = Page(object_card({"kind": "Big", section: {field: long}}, now=NOW))

    assert long.accessed < 6000
    assert "100,000" in page.source or "more" in page.source or "cut after" in page.source


def test_many_sections_share_the_limit_of_lines() -> None:
    obj = {"kind": "Big", **{f"field{number}": dict.fromkeys(map(str, range(200)), "a") for number in range(30)}}

    sections = Page(object_card(obj, now=NOW)).sections()

    shown = [len(code.splitlines()) for code in sections.values()]
    assert (shown[0], shown[-1]) == (121, 11)
    assert sum(shown) < 1400


@pytest.mark.parametrize("wrap", [lambda inner: {"a": inner}, lambda inner: [inner], lambda inner: [{"a": inner}]])
def test_deeply_nested_values_are_cut(wrap: Any) -> None:
    deep: Any = "end"
    for _ in range(300):
        deep = wrap(deep)

    code = yaml_code({"deep": deep}).lines

    assert "…" in code[-1][-1].text
    assert len(code) < 60
