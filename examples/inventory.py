"""An inventory of all custom resources of a cluster, which follows its CRDs.

    python -m examples.inventory

Each established CRD has an informer on its objects while it exists; only their metadata is kept. The summary is printed
when something has changed, at most once a second. The test is in test_inventory.py.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import trio

import dynkube

CRDS = "customresourcedefinitions.v1.apiextensions.k8s.io"
KEPT = ("namespace", "name", "uid", "resourceVersion", "generation", "labels", "creationTimestamp", "deletionTimestamp")


@dataclass(frozen=True)
class Summary:
    """The objects of one CRD: how many in each namespace (``""`` if they have none), and the name of the newest."""

    kind: str
    versions: tuple[str, ...]
    state: dynkube.State
    namespaces: dict[str, int]
    newest: str | None


class Inventory:
    """The custom resources of a cluster, kept up to date while :meth:`run` runs."""

    def __init__(self) -> None:
        self._followed: dict[str, tuple[dynkube.Unstructured, dynkube.Informer]] = {}  # by the name of the CRD
        self._changed = trio.Event()

    async def run(self, client: dynkube.Client) -> None:
        """Follow the CRDs until cancelled."""
        scopes: dict[str, trio.CancelScope] = {}
        crds = client.informer(CRDS, transform=without_schemas)
        async with trio.open_nursery() as nursery, crds, crds.events() as events:
            async for event in events:
                crd = event.new if isinstance(event, dynkube.Updated) else event.object
                if isinstance(event, dynkube.Deleted) or not is_established(crd):
                    if crd.name in scopes:
                        scopes.pop(crd.name).cancel()
                        del self._followed[crd.name]
                elif crd.name in scopes:  # its versions may have changed
                    self._followed[crd.name] = crd, self._followed[crd.name][1]
                else:
                    informer, scopes[crd.name] = client.informer(crd.name, transform=only_metadata), trio.CancelScope()
                    self._followed[crd.name] = crd, informer
                    nursery.start_soon(self._follow, informer, scopes[crd.name])
                self._changed.set()

    async def _follow(self, informer: dynkube.Informer, scope: trio.CancelScope) -> None:
        with scope:
            async with informer, informer.events() as events:
                async for _ in events:
                    self._changed.set()

    async def wait_changed(self) -> None:
        """Wait until something has changed since the last call."""
        await self._changed.wait()
        self._changed = trio.Event()

    def summary(self) -> dict[str, Summary]:
        """Return the current summaries, by the names of CRDs. May be called from any thread, as it may take long."""
        return {name: summarized(crd, informer) for name, (crd, informer) in sorted(self._followed.copy().items())}

    def __str__(self) -> str:
        lines = [f"{'RESOURCE':<50} {'KIND':<25} {'VERSIONS':<20} {'OBJECTS':>7}  {'NEWEST':<30} NAMESPACES"]
        for name, each in self.summary().items():
            where = ", ".join(f"{namespace or '-'} {count}" for namespace, count in sorted(each.namespaces.items()))
            versions, objects = ",".join(each.versions), sum(each.namespaces.values())
            lines.append(f"{name:<50} {each.kind:<25} {versions:<20} {objects:>7}  {each.newest or '-':<30} {where}")
        return "\n".join(lines)


def summarized(crd: dynkube.Unstructured, informer: dynkube.Informer) -> Summary:
    """Return the summary of one CRD."""
    objects = informer.list()
    newest = max(objects, key=lambda obj: str(obj["metadata"]["creationTimestamp"]), default=None)
    versions = tuple(version["name"] for version in crd["spec"]["versions"] if version["served"])
    namespaces = Counter(obj.namespace for obj in objects)
    return Summary(
        crd["spec"]["names"]["kind"], versions, informer.state, namespaces, None if newest is None else newest.name
    )


def is_established(crd: dynkube.Unstructured) -> bool:
    """Return whether the API server serves the resource."""
    conditions = crd.get("status", {}).get("conditions", ())
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def without_schemas(crd: dynkube.Unstructured) -> dynkube.Unstructured:
    """Return a CRD without the schemas of its versions, which may be megabytes."""
    versions = [{name: each[name] for name in ("name", "served")} for each in crd["spec"]["versions"]]
    return crd.transform(["spec", "versions"], versions)


def only_metadata(obj: dynkube.Unstructured) -> dynkube.Unstructured:
    """Return an object without spec, status, annotations and managed fields."""
    metadata = {name: value for name, value in obj["metadata"].items() if name in KEPT}
    return dynkube.Unstructured({"apiVersion": obj.api_version, "kind": obj.kind, "metadata": metadata})


async def main() -> None:
    inventory = Inventory()
    async with dynkube.connect() as client, trio.open_nursery() as nursery:
        nursery.start_soon(inventory.run, client)
        while True:
            await inventory.wait_changed()
            print(await trio.to_thread.run_sync(str, inventory), end="\n\n")
            await trio.sleep(1)


if __name__ == "__main__":
    trio.run(main)
