"""What a report shows to people and to programs, and what it never shows."""

from __future__ import annotations

import base64
import json

import pytest

import dynkube
from dynkube.errors import InvalidInput, InvalidObject
from dynkube.manifests import Entry, Outcome, Place, Report
from dynkube.meta import Unstructured
from tests.manifests.kit import config

A = Unstructured(config("a", namespace="shop"))
PIN = "hunter2-hunter2"


def entry(outcome: Outcome, *, error: Exception | None = None, obj: Unstructured | None = A, reason: str = "") -> Entry:
    return Entry(outcome=outcome, place=Place("web.yaml", 12), object=obj, error=error, reason=reason)


def secret(**data: str) -> Unstructured:
    return Unstructured({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": data})


def test_a_report_prints_as_a_table_then_what_went_wrong_then_numbers() -> None:
    report = Report([entry(Outcome.CREATED), entry(Outcome.FAILED, error=InvalidObject("too\x1b[31m red"))])

    assert str(report).splitlines() == [
        "OUTCOME  OBJECT       NAMESPACE  SOURCE       REASON",
        "created  configmap/a  shop       web.yaml:12",
        "failed   configmap/a  shop       web.yaml:12",
        "",
        "failed      configmap/a -n shop  (web.yaml:12)",
        "    too\N{REPLACEMENT CHARACTER}[31m red",
        "",
        "1 created, 1 failed",
    ]


def test_in_html_nothing_of_an_object_or_a_message_is_markup() -> None:
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
def test_whether_all_was_done_and_anything_was_changed(outcomes: list[Outcome], ok: bool, changed: bool) -> None:
    report = Report([entry(outcome) for outcome in outcomes])

    assert (report.ok, report.changed) == (ok, changed)


def test_entries_are_found_by_outcome_by_position_and_counted() -> None:
    report = Report([entry(Outcome.FAILED), entry(Outcome.CREATED), entry(Outcome.FAILED)])

    assert report.of("failed") == (report[0], report[2]) == report[::2]
    assert report.counts == {Outcome.CREATED: 1, Outcome.FAILED: 2}
    with pytest.raises(ValueError, match="lost"):
        report.of("lost")


@pytest.mark.parametrize("shown", [PIN, base64.b64encode(PIN.encode()).decode()], ids=["plain", "encoded"])
def test_values_of_secrets_are_in_no_text_of_a_report(shown: str) -> None:
    error = InvalidObject(f"expected string, got &value.valueUnstructured{{Value:{shown}}}")
    held = secret(pin=PIN) if shown == PIN else Unstructured(secret().to_dict() | {"data": {"pin": shown}})

    report = Report([entry(Outcome.FAILED, obj=held, error=error)])

    for text in (str(report), report._repr_html_(), report[0].message, repr(report)):
        assert PIN not in text
        assert shown not in text
    assert "Value:***" in report[0].message


@pytest.mark.parametrize("field", ["data", "stringData"])
def test_values_of_several_lines_are_not_shown_in_quotes_either(field: str) -> None:
    key = 'begin "é"\nend\n'
    value = base64.b64encode(key.encode()).decode() if field == "data" else key
    secret = Unstructured({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, field: {"key": value}})
    error = InvalidInput(f"refused: {json.dumps(key)}, {json.dumps(key, ensure_ascii=False)}, {key}")

    failed = Entry(outcome=Outcome.FAILED, object=secret, error=error)

    assert failed.message == 'refused: "***", "***", ***'


async def test_what_a_server_says_of_a_secret_shows_no_value(client: dynkube.Client) -> None:
    wrong = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"pin": 734562}}

    report = await client.apply_all(wrong)

    assert report[0].outcome is Outcome.FAILED
    assert "734562" not in str(report)
