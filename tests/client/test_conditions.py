"""The conditions of wait_for, and when they hold. Pure."""

from __future__ import annotations

import re
from typing import Any

import pytest

from dynkube.client._conditions import parse_condition
from dynkube.errors import InvalidInput, InvalidJSONPath
from dynkube.meta import Unstructured


def obj(status: object = None, *, generation: int = 1, **metadata: object) -> Unstructured:
    base = {"name": "web", "uid": "u", "generation": generation, **metadata}
    return Unstructured({"apiVersion": "v1", "kind": "Pod", "metadata": base, "status": status or {}})


def ready(status: str, **entry: object) -> dict[str, Any]:
    return {"conditions": [{"type": "Other", "status": "True"}, {"type": "Ready", "status": status, **entry}]}


@pytest.mark.parametrize(
    ("condition", "seen", "holds"),
    [
        ("condition=Ready", obj(ready("True")), True),
        ("condition=ready=true", obj(ready("True")), True),
        ("condition=Ready", obj(ready("False")), False),
        ("condition=Ready=False", obj(ready("False")), True),
        ("condition=Ready=Unknown", obj(ready("Unknown")), True),
        ("condition=Missing", obj(ready("True")), False),
        ("condition=Ready", obj(), False),
        ("condition=Ready", None, False),
        ("condition=Ready", obj(ready("True", observedGeneration=1), generation=2), False),
        ("condition=Ready", obj({**ready("True"), "observedGeneration": 1}, generation=2), False),
        ("condition=Ready", obj(ready("True", observedGeneration=2), generation=2), True),
        ("condition=Ready", obj({**ready("True", observedGeneration=2), "observedGeneration": 1}, generation=2), True),
        ("jsonpath={.status.phase}=Running", obj({"phase": "Running"}), True),
        ("jsonpath={.status.phase}='Running'", obj({"phase": "Running"}), True),
        ("jsonpath=.status.phase=Running", obj({"phase": "Running"}), True),
        ("jsonpath={.status.phase}=Running", obj({"phase": "Pending"}), False),
        ("jsonpath={.status.phase}=Running", obj(), False),
        ("jsonpath={.status.replicas}=3", obj({"replicas": 3}), True),
        ("jsonpath={.status.ok}=true", obj({"ok": True}), True),
        ("jsonpath={.status.all[*].ready}=true", obj({"all": [{"ready": True}, {"ready": False}]}), False),
        ('jsonpath={.status.list[?(@.a=="x=y")].b}=1', obj({"list": [{"a": "x=y", "b": 1}]}), True),
        ("jsonpath={.metadata.labels['TIER1']}=web", obj(labels={"TIER1": "web"}), True),
        ("jsonpath={.status.ingress}", obj({"ingress": [{"ip": "1"}]}), True),
        ("jsonpath={.status.ingress}", obj({"ingress": []}), False),
        ("jsonpath={.status.replicas}", obj({"replicas": 0}), True),
        ("create", obj(), True),
        ("create", None, False),
        ("delete", None, True),
        ("delete", obj(), False),
        (lambda o: o.labels.get("a") == "b", obj(labels={"a": "b"}), True),
        (lambda o: True, None, False),
    ],
)
def test_a_condition_holds_for_the_expected_objects(condition: Any, seen: Unstructured | None, holds: bool) -> None:
    assert parse_condition(condition).holds(seen) is holds


def test_a_deletion_is_noticed_if_another_object_has_the_name() -> None:
    assert parse_condition("delete", uid="before").holds(obj())
    assert not parse_condition("delete", uid="u").holds(obj())


@pytest.mark.parametrize(
    ("condition", "seen", "message"),
    [
        ("condition=Ready", None, "the object did not exist"),
        ("condition=Ready", obj(), "had no conditions"),
        ("condition=Missing", obj(ready("True")), "had no condition Missing, only Other, Ready"),
        (
            "condition=Ready",
            obj(ready("False", reason="NotYet", message="pulling")),
            r"condition Ready=False \(NotYet: pulling\)",
        ),
        ("condition=Ready", obj(ready("True", observedGeneration=1), generation=2), "for an older generation"),
        ("jsonpath={.status.phase}=Running", obj({"phase": "Pending"}), r"had \{.status.phase\} = Pending"),
        ("jsonpath={.status.phase}=Running", obj(), "had no value at"),
        ("jsonpath={.status.phase}=Running", None, "the object did not exist"),
        ("delete", obj(), "existed and was not being deleted"),
        (
            "delete",
            obj(deletionTimestamp="2026-11-21T00:00:00Z", finalizers=["a/b"]),
            "being deleted since 2026-11-21T00:00:00Z, held by the finalizers a/b",
        ),
        ("create", None, "the object did not exist"),
        (lambda o: False, obj(), "<Pod v1 web>"),
    ],
)
def test_the_last_seen_object_is_described(condition: Any, seen: Unstructured | None, message: str) -> None:
    description = parse_condition(condition).seen(seen)

    assert re.search(message, description), description


@pytest.mark.parametrize(
    ("condition", "error", "message"),
    [
        ("ready", InvalidInput, "condition 'ready' is not one of 'condition=Ready'"),
        ("condition=", InvalidInput, "is not one of"),
        ("jsonpath=", InvalidInput, "is not one of"),
        ("jsonpath={.a}=", InvalidInput, "no value after '='"),
        ("jsonpath={.a[}=x", InvalidJSONPath, "a"),
        (None, InvalidInput, "condition is None"),
    ],
)
def test_an_invalid_condition_is_rejected_with_the_valid_forms(
    condition: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        parse_condition(condition)


def test_a_uid_is_allowed_for_deletions_only() -> None:
    with pytest.raises(InvalidInput, match="only with condition='delete'"):
        parse_condition("create", uid="u")
