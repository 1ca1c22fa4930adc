"""Differences that are known and accepted, each with its reason, and a script that shows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.contract.differential.asking import TABLE, Request, request


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """One accepted difference.

    Attributes:
        name: What it is called.
        reason: Why the embedded server answers otherwise.
        area: Where ``script`` is played.
        script: Requests of which the last shows it.
        covers: Whether two normalised answers (embedded, reference) to a request differ for this reason; the request
            is ``None`` for events.
    """

    name: str
    reason: str
    area: str
    script: Sequence[Request]
    covers: Callable[[Request | None, Any, Any], bool]


def _without_descriptions(answer: Any) -> Any:
    body = answer["body"]
    columns = [{**column, "description": ""} for column in body.get("columnDefinitions") or []]
    return {**answer, "body": {**body, "columnDefinitions": columns}}


def _descriptions(asked: Request | None, ours: Any, theirs: Any) -> bool:
    """Two tables that differ in what they say about their columns."""
    tables = all(isinstance(each["body"], dict) and each["body"].get("kind") == "Table" for each in (ours, theirs))
    return tables and bool(_without_descriptions(ours) == _without_descriptions(theirs))


KNOWN: tuple[Known, ...] = (
    Known(
        name="descriptions of columns",
        reason="the texts of built-in fields are not in the package",
        area="data",
        script=(request("GET", "configmaps", accept=TABLE),),
        covers=_descriptions,
    ),
)


def known_difference(accepted: Sequence[Known], asked: Request | None, ours: Any, theirs: Any) -> Known | None:
    """The entry that covers a difference, if any."""
    return next((known for known in accepted if known.covers(asked, ours, theirs)), None)
