"""Display of differences: changed fields, collapsed status, and a YAML diff if the objects are small."""

from __future__ import annotations

from typing import Any

from dynkube import Comparison, Diff, Unstructured, compare, compare_all
from dynkube.errors import FieldConflict
from dynkube.manifests import DiffEntry, DiffReport, Place
from tests.display.kit import POD, Page


def after(**fields: Any) -> dict[str, Any]:
    return {**POD, **fields}


def shown(diff: Diff | Comparison) -> Page:
    return Page(diff._repr_html_())


def test_parts_of_objects_are_compared_without_a_subject() -> None:
    diff = compare({"spec": {"replicas": 1}}, {"spec": {"replicas": 2}}, names=("revision 1", "revision 2"))

    assert shown(diff).text(".dk-head") == "revision 1 → revision 2 · 1 field differs"
    assert str(diff).splitlines()[:2] == ["--- revision 1", "+++ revision 2"]
    assert compare(diff.before, diff.before).table() == "nothing differs"


def test_changed_fields_are_displayed_with_both_values() -> None:
    page = shown(compare(POD, after(spec={"containers": [{"name": "web", "image": "web:2"}]})))

    assert page.text(".dk-head") == "Pod shop/web-1 · before → after · 1 field differs"
    assert page.rows() == [
        ["FIELD", "BEFORE", "AFTER"],
        ['.spec.containers[name="web"].image', '"web:1"', '"web:2"'],
    ]
    assert page.all(".dk-removed")[0] == '"web:1"'
    assert page.all(".dk-added")[0] == '"web:2"'
    assert "-  - image: web:1" in page.sections()["as YAML"]


def test_the_status_is_collapsed_unless_nothing_else_differs() -> None:
    status = {**POD["status"], "phase": "Failed"}
    both = shown(compare(POD, after(status=status, spec={})))
    alone = shown(compare(POD, after(status=status)))

    assert "status" in both.sections()
    assert not both.all("details[open]")
    assert len(alone.all("details[open]")) == 1


def test_the_last_applied_annotation_is_collapsed() -> None:
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}

    page = shown(compare(POD, after(spec={}, metadata={**POD["metadata"], "annotations": annotations})))

    assert list(page.sections()) == ["annotation", "as YAML"]


def test_without_a_difference_there_is_one_sentence() -> None:
    assert shown(compare(POD, POD)).text() == "Pod shop/web-1 · before → after Nothing differs."


def test_a_large_difference_is_cut_and_has_no_yaml() -> None:
    one, other = ({"data": {f"k{n}": f"{word}{n}" * 5 for n in range(20_000)}} for word in ("a", "b"))
    page = shown(compare(after(**one), after(**other)))

    assert len(page.source) < 100_000
    assert "100 of 20,000 shown" in page.text()
    assert "as YAML" not in page.sections()


def test_owners_that_cause_a_conflict_are_noted() -> None:
    conflict = FieldConflict(path=".spec", manager="ci")
    diff = compare(POD, after(spec={}))
    page = shown(Diff(subject="x", names=diff.names, before={}, after={}, changes=diff.changes, conflicts=(conflict,)))

    assert page.text(".dk-note") == "1 field is owned by another manager: an apply without force fails with a conflict."


def test_the_yaml_diff_of_a_large_object_is_not_computed() -> None:
    text = "x\n" * 20_000
    page = shown(compare(after(spec={"text": text, "a": 1}), after(spec={"text": text, "a": 2})))

    assert page.rows()[1:] == [[".spec.a", "1", "2"]]
    assert page.text(".dk-note") == "As YAML it is long: print() it."


def test_many_differences_share_the_limits_of_rows_and_yaml() -> None:
    one, other = ({"data": {f"k{n}": f"{word}{n}" for n in range(900)}} for word in ("a", "b"))
    entry = DiffEntry(place=Place("a.yaml", 1), object=Unstructured(POD), diff=compare(after(**one), after(**other)))

    page = Page(DiffReport([entry] * 15)._repr_html_())

    assert len(page.rows()) == 15 * 21
    assert len(page.all(".dk-card details")) == 1


def test_two_collections_are_displayed_with_a_row_for_each_object_that_differs() -> None:
    others = [{**POD, "metadata": {**POD["metadata"], "name": f"only-{number:03}"}} for number in range(150)]
    changed = after(spec={"containers": [{"name": "web", "image": "web:2"}]})
    page = shown(compare_all([POD], [changed, *others], names=("east", "west")))

    assert page.text(".dk-head") == "east → west · 1 differ, 0 do not, 150 only in west"
    rows = page.rows()
    assert rows[:2] == [["OBJECT", "DIFFERENCE"], ["Pod shop/only-000", "only in west"]]
    assert "100 of 151 objects shown: print() has all" in page.text("body")
    assert "Pod shop/web-1" in page.sections()
