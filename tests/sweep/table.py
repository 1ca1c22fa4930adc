"""The results of a sweep: as a page for users, and as a list of what is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.sweep.answers import ANSWERS

PAGE: Final = Path(__file__).parents[2] / "docs" / "transient-answers.md"

_HEAD: Final = """\
# Transient answers

A load balancer, an API server that starts, or roles that are being replaced can answer a request with an error, or
discovery with a document, that is wrong a moment later. `make sweep` gives each of these answers once to each request
of each verb and feature, on the embedded API server, and compares the outcome with the server's objects:

| answer | |
|---|---|
| 404 without a name | a Status with reason NotFound that names no object: the resource is not served at this moment |
| 404 page of Go | `404 page not found`: no handler is installed for the path yet |
| 404 HTML, 403 HTML | pages of a proxy |
| 403 Status | the authorizer's Status, as while roles are not loaded |
| 503 | a Status |
| 200 with a Status | an error response with the code of success |
| empty discovery | a discovery document without groups or resources |
| discovery without the group | a list of groups in which that of the resource is missing |

A verb either returns what is so, or raises an exception; then the same call succeeds a minute later. What is open (a
watch, an informer, a wait, followed logs, a controller) goes on. A cell lists the outcomes at different requests;
"right result" includes that a request was sent again. This page is generated; a test compares it with the library.
"""


@dataclass(frozen=True, slots=True)
class Result:
    """What one run did.

    Attributes:
        feature: the scenario.
        line: the request that got the answer.
        answer: the title of the answer.
        outcome: what happened.
        wrong: whether the server's state does not justify it.
    """

    feature: str
    line: str
    answer: str
    outcome: str
    wrong: bool

    def __str__(self) -> str:
        return f"{self.feature}: {self.answer} for {self.line}: {self.outcome}"


def page(results: Iterable[Result]) -> str:
    """Return the page."""
    rows: dict[str, dict[str, list[Result]]] = {}
    for each in results:
        rows.setdefault(each.feature, {}).setdefault(each.answer, []).append(each)
    lines = [_HEAD]
    for feature, by_answer in rows.items():
        lines += ["", f"## {feature}", "", "| answer | outcome |", "|---|---|"]
        lines += [f"| {titles} | {text} |" for text, titles in _grouped(by_answer).items()]
    return "\n".join(lines) + "\n"


def _grouped(by_answer: Mapping[str, list[Result]]) -> dict[str, str]:
    """Return the answers by what they did: most do the same."""
    found: dict[str, list[str]] = {}
    for answer in (each.title for each in ANSWERS):
        if answer in by_answer:
            found.setdefault(cell(by_answer[answer]), []).append(answer)
    return {text: ", ".join(titles) for text, titles in found.items()}


def cell(results: Iterable[Result]) -> str:
    """Return what an answer did, at each request if that differs."""
    found: dict[str, list[str]] = {}
    for each in results:
        text = f"**wrong**: {each.outcome}" if each.wrong else each.outcome
        found.setdefault(text, []).append(f"`{each.line}`")
    if len(found) == 1:
        return next(iter(found))
    return "; ".join(f"{text} ({_shortened(lines)})" for text, lines in found.items())


def _shortened(lines: list[str]) -> str:
    shown = ", ".join(lines[:3])
    return shown if len(lines) <= 3 else f"{shown} and {len(lines) - 3} more"


def cells_of(text: str) -> dict[tuple[str, str], str]:
    """Parse a page: the outcome by feature and answer."""
    found: dict[tuple[str, str], str] = {}
    feature = ""
    for line in text.splitlines():
        if line.startswith("## "):
            feature = line.removeprefix("## ")
        elif feature and line.startswith("| ") and not line.startswith("| answer "):
            titles, _, outcome = line.strip("| ").partition(" | ")
            found |= {(feature, title): outcome for title in titles.split(", ")}
    return found


def violations(results: Iterable[Result]) -> list[str]:
    """Return what is wrong, equal outcomes of one feature and request together."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for each in results:
        if each.wrong:
            found.setdefault((each.feature, each.line, each.outcome), []).append(each.answer)
    return [
        f"{feature}\n    {line}\n    {', '.join(answers)}\n    -> {outcome}"
        for (feature, line, outcome), answers in found.items()
    ]
