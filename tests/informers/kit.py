"""Helpers of the informer tests: a resource that may be absent, its objects, and a recorder of events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import trio.testing

from dynkube import Informer, Registration, Unstructured
from dynkube_testing import APIServer

WIDGETS = "widgets.v1.example.com"
CRDS = "customresourcedefinitions"


def crd(
    plural: str = "widgets",
    *,
    group: str = "example.com",
    served: Iterable[str] = ("v1",),
    scope: str = "Namespaced",
    annotations: dict[str, str] | None = None,
) -> dict[str, Any]:
    """A CRD for one kind with arbitrary content; its first version is the storage version."""
    kind = plural.removesuffix("s").capitalize()
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{"name": name, "served": True, "storage": not i, "schema": schema} for i, name in enumerate(served)]
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "annotations": annotations or {}},
        "spec": {"group": group, "scope": scope, "names": names, "versions": versions},
    }


def widget(
    name: str, namespace: str = "default", labels: dict[str, str] | None = None, kind: str = "Widget", **spec: object
) -> dict[str, Any]:
    """An object of the kind that ``crd()`` defines."""
    metadata = {"name": name, "namespace": namespace, "labels": labels or {}}
    return {"apiVersion": "example.com/v1", "kind": kind, "metadata": metadata, "spec": spec}


def pod(name: str, namespace: str = "default", **spec: object) -> dict[str, Any]:
    """A pod; unknown fields of its spec are dropped."""
    spec.setdefault("containers", [{"name": "c", "image": "i"}])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def namespace(name: str, labels: dict[str, str] | None = None) -> dict[str, Any]:
    """A namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels or {}}}


def replace(server: APIServer, obj: dict[str, Any]) -> None:
    """Update an object, based on its current resourceVersion."""
    metadata = obj["metadata"]
    stored = server.get(f"{obj['kind'].lower()}s", metadata["name"], metadata.get("namespace"))
    server.update({**obj, "metadata": {**metadata, "resourceVersion": stored["metadata"]["resourceVersion"]}})


class Recorder:
    """Records the events of a handler: ``add/a``, ``update/a``, ``delete/a``."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def attach(self, informer: Informer) -> Registration:
        """Add a handler to an informer."""
        return informer.add_handler(
            on_add=lambda obj: self.events.append(f"add/{obj.name}"),
            on_update=lambda old, new: self.events.append(f"update/{new.name}"),
            on_delete=lambda obj: self.events.append(f"delete/{obj.name}"),
        )

    async def drain(self) -> list[str]:
        """Wait until all tasks wait, and return the events recorded since the last call."""
        await quiet()
        events, self.events = self.events, []
        return events


async def quiet() -> None:
    """Wait until every task waits, without letting time pass."""
    await trio.testing.wait_all_tasks_blocked()


def names(objects: Iterable[Unstructured]) -> list[str]:
    """Return the names of objects, sorted."""
    return sorted(obj.name for obj in objects)
