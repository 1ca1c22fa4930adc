"""The controllers of the scripts: what they own and watch, and what their reconciles do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from random import Random
from typing import Any, Final

from dynkube import Unstructured
from dynkube.controllers import (
    ChangePredicate,
    LeaderElection,
    Watch,
    any_of,
    field_changed,
    generation_changed,
    labels_changed,
    to_label,
    to_owner,
)

PARENTS: Final = "widgets.v1.example.com"
FINALIZER: Final = "example.com/clean"
SELECTED: Final = {"team": "x"}
NAMESPACES: Final = ("default", "blue", "green")
WATCHED_NAMESPACES: Final = ("default", "blue")
ELECTION: Final = LeaderElection(
    "widgets", namespace="default", lease_duration=30.0, renew_deadline=20.0, retry_period=5.0
)

PREDICATES: Final[Mapping[str, ChangePredicate | None]] = {
    "none": None,
    "generation": generation_changed,
    "fields": any_of(labels_changed, field_changed("{.spec}")),
}

_CHOICES: Final[Mapping[str, tuple[Any, ...]]] = {
    "children": ("generated", "generated", "applied", "nested", "none"),
    "child": ("configmaps", "configmaps", "gadgets"),
    "sources": ("owns", "owns", "owns and watch", "halves", "metadata"),
    "finalizer": ("none", "none", "plain", "writes"),
    "mapped": (False, True),
    "selector": (False, False, True),
    "namespaced": (False, False, True),
    "predicate": ("none", "none", "generation", "fields"),
    "concurrency": (1, 2, 4),
    "pause": (0.0, 0.0, 0.05, 3.0),
    "timeout": (None, None, 5.0),
    "requeue": (None, None, 7.0),
    "resync": (None, None, 45.0),
    "processes": (1, 1, 2),
    "streaming": (False, True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One kind of controller.

    Attributes:
        children: what a reconciled object owns: objects with generated names, as many as it says; applied ones, with
            names and content; objects of its own kind; nothing.
        child: the resource of what is owned, with a CRD or built in.
        sources: the watches of this resource: one; one and another one of a part of the objects; two with overlapping
            selectors; one of metadata, and one of the objects.
        finalizer: whether there is one, and whether the clean-up changes the object.
        mapped: whether secrets are mapped to the object in their label, whose status has their values.
        selector: whether only objects with a label are reconciled.
        namespaced: whether only two namespaces are watched.
        predicate: which changes count: all, those of the generation, or those of labels and spec.
        concurrency: how many keys are reconciled at a time.
        pause: seconds that each call takes.
        timeout: of each call.
        requeue: seconds after which each call asks to be called again.
        resync: seconds between resyncs.
        processes: how many processes share a lease; 1 for no election.
        streaming: whether the server has streaming lists.
    """

    children: str = "generated"
    child: str = "configmaps"
    sources: str = "owns"
    finalizer: str = "none"
    mapped: bool = False
    selector: bool = False
    namespaced: bool = False
    predicate: str = "none"
    concurrency: int = 1
    pause: float = 0.0
    timeout: float | None = None
    requeue: float | None = None
    resync: float | None = None
    processes: int = 1
    streaming: bool = False

    @property
    def owned(self) -> str:
        """The plural of what is owned; ``""`` for nothing."""
        return "" if self.children == "none" else "widgets" if self.children == "nested" else self.child

    @property
    def watched(self) -> frozenset[str]:
        """The plurals of all that is watched."""
        return frozenset({"widgets", self.owned, "secrets" if self.mapped else ""} - {""})

    @property
    def interval(self) -> float | None:
        """Seconds between two calls of a key if nothing changes; ``None`` if it is not called then."""
        return min((each for each in (self.requeue, self.resync) if each is not None), default=None)

    def reconciles(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Return whether an object is reconciled."""
        if self.namespaced and namespace not in WATCHED_NAMESPACES:
            return False
        return not self.selector or labels.get("team") == "x"

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the controller, but for its functions."""
        return {
            "name": "model",
            "owns": self._owns(),
            "watches": self._watches(),
            "namespace": WATCHED_NAMESPACES if self.namespaced else None,
            "label_selector": SELECTED if self.selector else None,
            "predicate": PREDICATES[self.predicate],
            "concurrency": self.concurrency,
            "timeout": self.timeout,
            "resync": self.resync,
        }

    def _owns(self) -> list[str]:
        return [self.resource] if self.owned and self.sources in ("owns", "owns and watch") else []

    def _watches(self) -> list[Watch]:
        watches = [Watch("secrets", to=to_label("parent"))] if self.mapped else []
        if self.owned:
            found: Mapping[str, list[dict[str, Any]]] = {
                "owns and watch": [{"label_selector": "half in (0,1)"}],
                "halves": [{"label_selector": "half in (0,1)"}, {"label_selector": "half in (1,2)"}],
                "metadata": [{"metadata_only": True}, {}],
            }
            watches += [Watch(self.resource, to=to_owner(), **each) for each in found.get(self.sources, [])]
        return watches

    @property
    def resource(self) -> str:
        """What is owned, as in ``owns``."""
        return {"configmaps": "configmaps.v1", "gadgets": "gadgets.v1.example.com", "widgets": PARENTS}[self.owned]

    def child_of(self, parent: Unstructured, number: int) -> dict[str, Any]:
        """Return one of the objects that a parent owns."""
        half = {"half": str(number % 3), **(SELECTED if self.children == "nested" else {})}
        name = (
            {"generateName": f"{parent.name}-"} if self.children == "generated" else {"name": f"{parent.name}-{number}"}
        )
        head = {
            "configmaps": {"apiVersion": "v1", "kind": "ConfigMap"},
            "gadgets": {"apiVersion": "example.com/v1", "kind": "Gadget"},
            "widgets": {"apiVersion": "example.com/v1", "kind": "Widget"},
        }[self.owned]
        return {**head, "metadata": {**name, "labels": half}, **self.content_of(parent["spec"], number)}

    def content_of(self, spec: Mapping[str, Any], number: int) -> dict[str, Any]:
        """Return the content of a child."""
        if self.children == "nested":
            return {"spec": {"replicas": spec["replicas"] - 1, "size": spec["size"]}}
        return {"data": {"number": str(number), **({"size": str(spec["size"])} if self.children == "applied" else {})}}

    def wanted(self, spec: Mapping[str, Any]) -> int:
        """Return how many children an object has."""
        replicas: int = spec["replicas"]
        return min(1, replicas) if self.children == "nested" else replicas

    def __str__(self) -> str:
        changed = {each.name: getattr(self, each.name) for each in fields(self)}
        plain = {each.name: each.default for each in fields(self)}
        return f"Shape({', '.join(f'{name}={value!r}' for name, value in changed.items() if value != plain[name])})"


def random_shape(random: Random) -> Shape:
    """Return a shape."""
    return Shape(**{name: random.choice(values) for name, values in _CHOICES.items()})
