"""Any JSON object is displayed safely and in few bytes."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dynkube._display.html import page
from dynkube._display.objects import object_card
from tests.display.kit import NOW, Page, lines

NAMES = ["metadata", "spec", "status", "kind", "apiVersion", "name", "namespace", "labels", "annotations", "conditions"]
NAMES += [
    "type",
    "reason",
    "message",
    "replicas",
    "readyReplicas",
    "containerStatuses",
    "state",
    "waiting",
    "data",
    "versions",
]
NAMES += [
    "ownerReferences",
    "managedFields",
    "creationTimestamp",
    "deletionTimestamp",
    "finalizers",
    "items",
    "versions",
]
KINDS = ["Secret", "SecretList", "List", "CustomResourceDefinition", "apiextensions.k8s.io/v1", "True", "False"]
TEXTS = st.text(max_size=8) | st.sampled_from([*KINDS, "<evil>", "\x1b[31m", "[bold]", "2026-01-01T00:00:00Z"])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
KEYS = st.sampled_from(NAMES) | TEXTS
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(KEYS, inner, max_size=5))


@given(st.dictionaries(KEYS, VALUES, max_size=8))
def test_any_object_is_displayed_safely(obj: dict[str, Any]) -> None:
    card = object_card(obj, now=NOW)
    shown = Page(card)

    assert not {str(node.tag) for node in shown.elements} & {"evil", "script", "-comment"}
    assert {c for c in page(card) if not c.isprintable()} <= {"\n", "\t"}
    assert all(text.isprintable() for text in (line.replace("\t", "") for line in lines(card)))
    assert len(shown.source) < 60_000
