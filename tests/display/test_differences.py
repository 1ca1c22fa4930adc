"""How differences show themselves: field by field, the status folded away, and as YAML where that is quick."""

from __future__ import annotations

from typing import Any

from dynkube import Diff, Unstructured, compare
from dynkube.errors import FieldConflict
from dynkube.manifests import DiffEntry, DiffReport, Place
from tests.display.kit import POD, Page


def after(**fields: Any) -> dict[str, Any]:
    return {**POD, **fields}


def shown(diff: Diff) -> Page:
    return Page(diff._repr_html_())


def test_each_field_has_both_values() -> None:
    page = shown(compare(POD, after(spec={"containers": [{"name": "web", "image": "web:2"}]})))

    assert page.text(".dk-head") == "Pod shop/web-1 · before → after · 1 field differs"
    assert page.rows() == [
        ["FIELD", "BEFORE", "AFTER"],
        ['.spec.containers[name="web"].image', '"web:1"', '"web:2"'],
    ]
    assert page.all(".dk-removed")[0] == '"web:1"'
    assert page.all(".dk-added")[0] == '"web:2"'
    assert "-  - image: web:1" in page.sections()["as YAML"]


def test_what_is_status_is_folded_away_unless_there_is_nothing_else() -> None:
    status = {**POD["status"], "phase": "Failed"}
    both = shown(compare(POD, after(status=status, spec={})))
    alone = shown(compare(POD, after(status=status)))

    assert "status" in both.sections()
    assert not both.all("details[open]")
    assert len(alone.all("details[open]")) == 1


def test_what_kubectl_remembers_is_folded_away_too() -> None:
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}

    page = shown(compare(POD, after(spec={}, metadata={**POD["metadata"], "annotations": annotations})))

    assert list(page.sections()) == ["annotation", "as YAML"]


def test_where_nothing_differs_there_is_one_sentence() -> None:
    assert shown(compare(POD, POD)).text() == "Pod shop/web-1 · before → after Nothing differs."


def test_a_large_difference_is_cut_and_not_compared_as_yaml() -> None:
    one, other = ({"data": {f"k{n}": f"{word}{n}" * 5 for n in range(20_000)}} for word in ("a", "b"))
    page = shown(compare(after(**one), after(**other)))

    assert len(page.source) < 100_000
    assert "100 of 20,000 shown" in page.text()
    assert "as YAML" not in page.sections()


def test_who_owns_the_fields_stands_beside_them_and_below() -> None:
    conflict = FieldConflict(path=".spec", manager="ci")
    diff = compare(POD, after(spec={}))
    page = shown(Diff(subject="x", names=diff.names, before={}, after={}, changes=diff.changes, conflicts=(conflict,)))

    assert page.text(".dk-note") == "1 field is owned by another manager: an apply without force fails with a conflict."


def test_what_only_a_folded_section_would_show_is_not_reckoned_for_a_large_object() -> None:
    text = "x\n" * 20_000
    page = shown(compare(after(spec={"text": text, "a": 1}), after(spec={"text": text, "a": 2})))

    assert page.rows()[1:] == [[".spec.a", "1", "2"]]
    assert page.text(".dk-note") == "As YAML it is long: print() it."


def test_many_differences_share_the_rows_and_the_yaml() -> None:
    one, other = ({"data": {f"k{n}": f"{word}{n}" for n in range(900)}} for word in ("a", "b"))
    entry = DiffEntry(place=Place("a.yaml", 1), object=Unstructured(POD), diff=compare(after(**one), after(**other)))

    page = Page(DiffReport([entry] * 15)._repr_html_())

    assert len(page.rows()) == 15 * 21
    assert len(page.all(".dk-card details")) == 1
