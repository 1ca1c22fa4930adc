"""Differences that are known and accepted, each with its reason, and a script that shows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.contract.cluster import MERGE, STRATEGIC
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


_CHANGED_POD = "pod updates may not change fields other than"


def _pod_diff(asked: Request | None, ours: Any, theirs: Any) -> bool:
    """Two refusals of a change of a pod, of which the real one goes on with a comparison of Go's types."""
    return bool(_CHANGED_POD in str(ours["body"]) and _causes(ours) == _causes(theirs))


def _causes(answer: Any) -> list[Any]:
    causes = (answer["body"].get("details") or {}).get("causes") or []
    return [{**cause, "message": cause["message"].partition("\n")[0]} for cause in causes]


_CONVERTER = ("cannot convert ", "cannot restore ", "unrecognized type: ")


def _converted(asked: Request | None, ours: Any, theirs: Any) -> bool:
    """Two refusals of a strategic patch with a value of another type, found by other parts of Go."""
    strategic = asked is not None and asked.content_type == STRATEGIC and ours["code"] == theirs["code"] == 422
    told = str(theirs["body"])
    return strategic and "cannot unmarshal" in str(ours["body"]) and any(words in told for words in _CONVERTER)


def _nameless(asked: Request | None, ours: Any, theirs: Any) -> bool:
    """Two refusals of a service without a name, one of which speaks of the address that it would have got."""
    told = str(theirs["body"])
    return "metadata.name: Required value" in str(ours["body"]) and "spec.parentRef.name: Required value" in told


_POD = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "a", "image": "i"}]}}

KNOWN: tuple[Known, ...] = (
    Known(
        name="types in strategic patches",
        reason="a real server converts there without JSON, and speaks of Go's types; code and field are the same",
        area="services",
        script=(
            request("POST", "services", {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}),
            request("PATCH", "services/a", {"metadata": {"annotations": {"n": 1}}}, content_type=STRATEGIC),
        ),
        covers=_converted,
    ),
    Known(
        name="a service without a name",
        reason="a real server fails to note whose its address is before it looks at the name",
        area="services",
        script=(request("POST", "services", {"metadata": {}, "spec": {"ports": [{"port": 80}]}}),),
        covers=_nameless,
    ),
    Known(
        name="the comparison in refused changes of pods",
        reason="it shows Go's internal types field by field",
        area="pods",
        script=(
            request("POST", "pods", _POD),
            request("PATCH", "pods/a", {"spec": {"hostname": "h"}}, content_type=MERGE),
        ),
        covers=_pod_diff,
    ),
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
