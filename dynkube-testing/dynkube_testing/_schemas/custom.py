"""Validation of custom resources by the schema and the CEL rules of their CRD."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dynkube.errors import StatusCause
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.causes import bad_value
from dynkube_testing._calls.gotext import go_text
from dynkube_testing._kinds.kinds import Kind, ScalePaths
from dynkube_testing._schemas.correlation import Link
from dynkube_testing._schemas.embedded import embedded_causes
from dynkube_testing._schemas.findings import (
    INVALID,
    NO_FIELD,
    NOT_SUPPORTED,
    REQUIRED,
    TOO_LONG,
    TOO_MANY,
    TYPE_INVALID,
)
from dynkube_testing._schemas.listtypes import list_causes
from dynkube_testing._schemas.rules import Outcome, RuleBook
from dynkube_testing._schemas.structural import Node, Structural
from dynkube_testing._schemas.validation import schema_causes

_MAX_INT32 = 2**31 - 1
# Reasons of causes; if there is one of them, CEL rules are not evaluated.
_BLOCKING = {NOT_SUPPORTED, REQUIRED, TOO_LONG, TOO_MANY, TYPE_INVALID}
_BLOCKED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation"
)


@dataclass(frozen=True, slots=True)
class Written:
    """A create or update to be validated.

    Attributes:
        kind: The kind of the object.
        schema: The schema of the version in the request.
        obj: The object to be stored.
        old: The object that ``obj`` replaces; ``None`` for a create.
        subresource: ``"status"`` if only the status is written.
        found: Causes that the validation of the metadata has found already.
    """

    kind: Kind
    schema: Structural
    obj: JSONObject
    old: JSONObject | None = None
    subresource: str = ""
    found: tuple[StatusCause, ...] = ()


def judged(written: Written, rules: RuleBook) -> Outcome:
    """Validate a custom resource: its schema, scale subresource, embedded objects, list types and CEL rules.

    CEL rules are evaluated last, and skipped after a structural error, such as a wrong type or a missing field.
    """
    node = written.schema.root
    link = None if written.old is None else Link(written.obj, written.old, node)
    if written.subresource == "status":
        causes = _status_causes(written, node, link)
        causes += _scale_status_causes(written)
    else:
        causes = schema_causes(written.obj, node, link)
        causes += [*_scale_spec_causes(written), *_scale_status_causes(written)]
        causes += embedded_causes(written.obj, node)
    # If the old object has duplicates, new ones are allowed too.
    if written.old is None or not any(True for _ in list_causes(written.old, node)):
        causes += list_causes(written.obj, node)
    if not node.with_rules:
        return Outcome(causes)
    if any(cause.reason in _BLOCKING for cause in (*written.found, *causes)):
        return Outcome([*causes, StatusCause(NO_FIELD, INVALID, f"Invalid value: null: {_BLOCKED}")])
    outcome = rules.check(written.schema, written.obj, written.old, link)
    return Outcome(causes + outcome.causes, outcome.warnings)


def _status_causes(written: Written, node: Node, link: Link | None) -> list[StatusCause]:
    """Return the causes for an invalid ``status``; the other fields are not checked."""
    status = node.properties.get("status")
    if status is None or "status" not in written.obj:
        return []
    below = link.key("status") if link is not None else None
    return schema_causes(written.obj["status"], status, below, prefix="status")


# ── scale ─────────────────────────────────────────────────────────────────────────────────────


def _scale_spec_causes(written: Written) -> Iterator[StatusCause]:
    if (scale := written.kind.scale) is not None:
        yield from _replicas_causes(written.obj, scale.spec_replicas)


def _scale_status_causes(written: Written) -> Iterator[StatusCause]:
    scale: ScalePaths | None = written.kind.scale
    if scale is None:
        return
    yield from _replicas_causes(written.obj, scale.status_replicas)
    selector = _at(written.obj, scale.label_selector) if scale.label_selector else None
    if selector is not None and not isinstance(selector, str):
        yield bad_value(scale.label_selector, "", _accessor(scale.label_selector, selector, "string"))


def _replicas_causes(obj: JSONObject, path: str) -> Iterator[StatusCause]:
    container: Any = obj
    for name in path.removeprefix(".").split(".")[:-1]:
        container = container.get(name) if isinstance(container, dict) else container
        if container is not None and not isinstance(container, dict):
            yield bad_value(path, 0, _accessor(path, container, "map[string]interface{}"))
            return
    replicas = _at(obj, path)
    if replicas is None:
        return
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        yield bad_value(path, 0, _accessor(path, replicas, "int64"))
    elif replicas < 0:
        yield bad_value(path, replicas, "should be a non-negative integer")
    elif replicas > _MAX_INT32:
        yield bad_value(path, replicas, f"should be less than or equal to {_MAX_INT32}")


def _accessor(path: str, value: object, wanted: str) -> str:
    names = {str: "string", float: "float64", bool: "bool", dict: "map[string]interface {}", list: "[]interface {}"}
    found = names.get(type(value), "int64")
    return f"{path} accessor error: {go_text(value)} is of the type {found}, expected {wanted}"


def _at(obj: Any, path: str) -> Any:
    for name in path.removeprefix(".").split("."):
        obj = obj.get(name) if isinstance(obj, dict) else None
    return obj
