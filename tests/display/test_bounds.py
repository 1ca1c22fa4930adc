"""Everything displayable has a limited size, and displays what is left out."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dynkube import GVR, FieldPath, FieldSet, LabelFilter, Manager, State, Unstructured, UnstructuredList, compare
from dynkube._display import card_of
from dynkube._display.bounds import bounded
from dynkube._display.cards import Card, Facts, Grid, Note, Section, line
from dynkube._display.lists import ListColumn, ends, list_card
from dynkube._display.objects import object_card
from dynkube._text.tables import json_cell, shortened
from dynkube.client import Permission, UserInfo
from dynkube.discovery import APIResource, APIResources
from dynkube.errors import APIError, ApplyConflict, FieldConflict, Status, StatusCause
from dynkube.fields import Field, ManagedFieldsEntry, Owners
from dynkube.informers import Phase
from dynkube.manifests import DiffEntry, DiffReport, Entry, Outcome, Place, Report
from tests.display.kit import NOW, POD, Page, lines

MOST_PAGE = 200_000
MOST_TEXT = 60_000
LONG = "<&\"'>" * 4_000


def resource(number: int, text: str = "x") -> APIResource:
    many = tuple(f"{text}{each}" for each in range(100))
    return APIResource(
        gvr=GVR(text, text, f"{text}{number}"), kind=text, singular=text, namespaced=True, verbs=frozenset(many),
        short_names=many, categories=many, subresources=frozenset(many), group_preferred_version=text,
    )  # fmt: skip


def conflict() -> ApplyConflict:
    causes = tuple(StatusCause(LONG, LONG, LONG) for _ in range(300))
    conflicts = [FieldConflict(path=LONG, manager=LONG, ours={LONG: LONG}, live=[LONG] * 100) for _ in range(300)]
    return ApplyConflict(Status(code=409, message=LONG, causes=causes), request=LONG, conflicts=conflicts)


def difference(length: int) -> Any:
    one, other = ({"data": {f"{LONG[:100]}{n}": f"{word}{LONG[:length]}" for n in range(300)}} for word in "ab")
    return compare({**POD, **one}, {**POD, **other})


def objects(text: str, count: int) -> list[Unstructured]:
    wrong = {"type": "Ready", "status": text, "reason": text}
    status = {"phase": text, "conditions": [wrong]}
    names = ({"name": f"{text}{number}", "namespace": f"{text}{number}"} for number in range(count))
    return [Unstructured({"apiVersion": "v1", "kind": text, "metadata": each, "status": status}) for each in names]


def owners() -> Owners:
    managers = [Manager(name=f"{LONG[:2000]}{number}", operation="Apply") for number in range(30)]
    fields = FieldSet([FieldPath((Field(f"{LONG[:2000]}{number}"),)) for number in range(100)])
    return Owners([ManagedFieldsEntry(manager, fields) for manager in managers])


THINGS: dict[str, Callable[[], Any]] = {
    "a name": lambda: GVR(LONG, LONG, LONG),
    "sections": lambda: Unstructured({f"{LONG}{n}": {f"{LONG}{m}": LONG for m in range(30)} for n in range(30)}),
    "objects": lambda: UnstructuredList(objects(LONG, 30), kind=LONG, api_version=LONG, resource_version=LONG),
    "a resource": lambda: resource(1, LONG),
    "resources": lambda: APIResources([resource(1, LONG)] * 100, failures={LONG: ValueError(LONG)}),
    "failures": lambda: APIResources([], failures={f"{LONG}{number}": ValueError(LONG) for number in range(1000)}),
    "a state": lambda: State(Phase.DEGRADED, LONG, LONG),
    "a filter": lambda: LabelFilter(f"a in ({','.join(f'v{number}' for number in range(9000))})"),
    "an error": lambda: APIError(conflict().status, request=LONG),
    "a conflict": conflict,
    "a difference": lambda: difference(4000),
    "a user": lambda: UserInfo(username=LONG, groups=(LONG,) * 500, extra={f"{LONG}{n}": (LONG,) for n in range(500)}),
    "a permission": lambda: Permission(allowed=False, action=LONG, reason=LONG, evaluation_error=LONG),
    "fields": lambda: FieldSet([FieldPath((Field(f"{LONG}{number}"),)) for number in range(300)]),
    "owners": owners,
    "a report": lambda: Report(
        [Entry(outcome=Outcome.FAILED, place=Place(LONG, 1), object=Unstructured(POD), error=conflict(), reason=LONG)]
        * 300
    ),
    "differences": lambda: DiffReport(
        [DiffEntry(place=Place(LONG, 1), object=Unstructured(POD), diff=difference(20))] * 50
    ),
}


@pytest.mark.parametrize("make", THINGS.values(), ids=THINGS.keys())
def test_large_things_fit_on_a_page_and_say_what_is_left_out(make: Callable[[], Any]) -> None:
    thing = make()

    page = thing._repr_html_()

    assert len(page.encode()) < MOST_PAGE
    assert len("\n".join(lines(card_of(thing, NOW)))) < MOST_TEXT
    assert "…" in page or " shown" in page


def test_cards_of_usual_size_are_not_changed() -> None:
    card = object_card(POD, now=NOW)

    assert bounded(card) == card


def test_notes_about_omitted_parts_are_never_omitted() -> None:
    rows = tuple((line("x" * 3000),) for _ in range(200))
    card = Card(line("all"), (Grid(("A",), rows), Note(line("see there")), Facts((("a", line("b")),))))

    shown = lines(card)

    assert shown[-3].endswith(" more rows")
    assert shown[-2:] == ["see there", "… 1 more part"]


def test_one_long_section_leaves_room_for_the_others() -> None:
    long = Facts(tuple(("a", line("x" * 4000)) for _ in range(100)))
    card = bounded(Card((), (Section("long", (long,)), Section("short", (Facts((("name", line("value")),)),)))))

    assert isinstance(card.blocks[1], Section)
    assert card.blocks[1].blocks == (Facts((("name", line("value")),)),)


def test_of_very_many_columns_the_first_are_displayed() -> None:
    columns = [ListColumn(f"C{number}", lambda item: item) for number in range(2000)]

    page = Page(list_card((), ["x"], columns))

    assert (len(page.rows()[0]), page.text(".dk-note")) == (60, "60 of 2,000 columns shown")


def test_a_wide_cell_does_not_widen_other_rows() -> None:
    shown = lines(Card((), (Grid(("A", "B"), ((line("x" * 1000), line("1")), (line("y"), line("2")))),)))

    assert [len(each) for each in shown] == [123, 1003, 123]


@given(st.lists(st.text(max_size=3), max_size=40))
def test_ends_returns_the_first_and_last_items_of_the_sorted_list(names: list[str]) -> None:
    found, order = ends(names, str), sorted(names)

    assert found == (order if len(order) <= 11 else order[:5] + order[-5:])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=10), inner, max_size=8),
    max_leaves=20,
)


@example([None, {"": "0" * 15, "0": None}], 20)
@given(JSON, st.integers(4, 80))
def test_a_cell_equals_the_shortened_json(value: Any, width: int) -> None:
    assert json_cell(value, width) == shortened(json.dumps(value, ensure_ascii=False), width)


def test_a_large_value_is_not_encoded_beyond_the_width_of_a_cell() -> None:
    deep: Any = LONG
    for _ in range(60):
        deep = {LONG: [deep] * 60}  # too large to be encoded completely

    assert json_cell(deep).endswith("...")
