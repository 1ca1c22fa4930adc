"""Reports: text, HTML and attributes; no values of Secrets."""

from __future__ import annotations

import pytest

import dynkube
from dynkube.errors import InvalidInput, InvalidObject
from dynkube.manifests import Entry, Outcome, Place, Report
from dynkube.meta import Unstructured
from tests.manifests.kit import config

A = Unstructured(config("a", namespace="shop"))


def entry(outcome: Outcome, *, error: Exception | None = None, obj: Unstructured | None = A, reason: str = "") -> Entry:
    return Entry(outcome=outcome, place=Place("web.yaml", 12), object=obj, error=error, reason=reason)


def test_a_report_is_printed_as_a_table_errors_and_counts() -> None:
    report = Report([entry(Outcome.CREATED), entry(Outcome.FAILED, error=InvalidObject("too\x1b[31m red"))])

    assert str(report).splitlines() == [
        "OUTCOME  OBJECT       NAMESPACE  SOURCE       REASON",
        "created  configmap/a  shop       web.yaml:12",
        "failed   configmap/a  shop       web.yaml:12",
        "",
        "failed      configmap/a -n shop  (web.yaml:12)",
        "    too\\x1b[31m red",
        "",
        "1 created, 1 failed",
    ]


def test_in_html_objects_and_messages_are_escaped() -> None:
    odd = Unstructured({"apiVersion": "v1", "kind": "<b>", "metadata": {"name": "<i>"}})

    html = Report([entry(Outcome.FAILED, obj=odd, error=InvalidObject("<script>"))])._repr_html_()

    assert not any(tag in html for tag in ("<script>", "<b>", "<i>"))
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize(
    ("outcomes", "ok", "changed"),
    [
        ([Outcome.CREATED, Outcome.UNCHANGED], True, True),
        ([Outcome.UNCHANGED, Outcome.SKIPPED], True, False),
        ([Outcome.APPLIED], True, True),
        ([Outcome.PRUNED], True, True),
        ([Outcome.CONFLICTED], False, False),
        ([Outcome.FAILED], False, False),
        ([Outcome.INTERRUPTED], False, True),
        ([], True, False),
    ],
)
def test_ok_and_changed_depend_on_the_outcomes(outcomes: list[Outcome], ok: bool, changed: bool) -> None:
    report = Report([entry(outcome) for outcome in outcomes])

    assert (report.ok, report.changed) == (ok, changed)


def test_entries_can_be_selected_by_outcome_and_index_and_counted() -> None:
    report = Report([entry(Outcome.FAILED), entry(Outcome.CREATED), entry(Outcome.FAILED)])

    assert report.of("failed") == (report[0], report[2]) == report[::2]
    assert report.counts == {Outcome.CREATED: 1, Outcome.FAILED: 2}
    with pytest.raises(ValueError, match="lost"):
        report.of("lost")


async def test_an_error_response_for_a_secret_shows_no_value(client: dynkube.Client) -> None:
    wrong = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"pin": 734562}}

    report = await client.apply_all(wrong)

    assert report[0].outcome is Outcome.FAILED
    for text in (str(report), report._repr_html_(), report[0].message, str(report[0].error), repr(report)):
        assert "734562" not in text


def test_an_entry_without_an_object_is_printed_with_its_reason() -> None:
    of_the_set = Entry(outcome=Outcome.FAILED, reason="the ApplySet cannot be used", error=InvalidInput("no\nway"))

    assert str(of_the_set) == "failed      the ApplySet cannot be used: no\n    way"
