"""Creates and changes Websites, and compares the cluster with their specification."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import AsyncExitStack, suppress
from random import Random
from typing import Any, Self

import trio
import yaml

import dynkube
from benchmarks.leader_kills.lease import NAMESPACE
from benchmarks.measure import ROOT
from dynkube import Informer, Unstructured
from dynkube.errors import Conflict
from examples.website_operator import FINALIZER, THEMES

WEBSITES = dynkube.GVR("example.com", "v1", "websites")
_WRITERS = 4
_SETTLE = 0.5  # seconds between two comparisons, as each reads all objects


class Sites:
    """The Websites of a run: creates and changes them, and compares the operator's objects with them.

    Args:
        client: a client with all permissions.
        random: selects the changes.
    """

    def __init__(self, client: dynkube.Client, random: Random) -> None:
        self._client = client
        self._random = random
        self._numbers = itertools.count()
        self._names: list[str] = []
        self._stack = AsyncExitStack()
        self._informers: dict[str, Informer] = {}
        self._changed = trio.Event()

    async def __aenter__(self) -> Self:
        await self._client.resource("customresourcedefinitions").create(_crd())
        for name, resource in (
            ("websites", WEBSITES),
            ("deployments", dynkube.GVR("apps", "v1", "deployments")),
            ("services", dynkube.GVR("", "v1", "services")),
        ):
            informer = self._client.informer(resource, namespace=NAMESPACE)
            informer.add_handler(on_add=self._set_changed, on_update=self._set_changed)
            self._informers[name] = await self._stack.enter_async_context(informer)
            await informer.wait_state(dynkube.LIVE)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()

    async def write(self, count: int) -> None:
        """Create ``count`` Websites, and change about half as many."""
        remaining = iter(range(count))

        async def write_some() -> None:
            for _ in remaining:
                await self._create()
                if self._random.random() < 0.5:
                    await self._change()

        async with trio.open_nursery() as nursery:
            for _ in range(_WRITERS):
                nursery.start_soon(write_some)

    async def _create(self) -> None:
        name = f"site-{next(self._numbers):05}"
        site = {"apiVersion": "example.com/v1", "kind": "Website", "metadata": {"name": name}, "spec": self._spec()}
        await self._client.resource(WEBSITES).create(site, namespace=NAMESPACE)
        self._names.append(name)

    async def _change(self) -> None:
        with suppress(Conflict):
            name = self._random.choice(self._names)
            await self._client.resource(WEBSITES).patch(name, {"spec": self._spec()}, namespace=NAMESPACE)

    def _spec(self) -> dict[str, object]:
        return {"replicas": self._random.randrange(5), "theme": self._random.choice([*THEMES])}

    async def wait_converged(self) -> None:
        """Wait until the cluster is as the Websites specify."""
        while self.differences():
            self._changed = trio.Event()
            await self._changed.wait()
            await trio.sleep(_SETTLE)

    def _set_changed(self, *_: Unstructured) -> None:
        self._changed.set()

    def differences(self) -> list[str]:
        """Return the differences between the cluster and the Websites, also objects that belong to no Website."""
        found = list(self._differences())
        deployments = {obj.name for obj in self._informers["deployments"]}
        services = {obj.name for obj in self._informers["services"]} - {"kubernetes"}
        found += [f"deployment {name} of no Website" for name in deployments.difference(self._names)]
        found += [f"service {name} of no Website" for name in services.difference(self._names)]
        return found

    def _differences(self) -> Iterator[str]:
        for name in self._names:
            site, deployment, service = (each.get(name, namespace=NAMESPACE) for each in self._informers.values())
            if site is None or deployment is None or service is None:
                yield f"{name}: an object is missing"
            elif any(_owner(obj) != site.uid for obj in (deployment, service)):
                yield f"{name}: it does not own its objects"
            elif not _as_specified(site, deployment):
                yield f"{name}: its deployment or its status differs"


def _crd() -> dict[str, Any]:
    crd: dict[str, Any] = yaml.safe_load((ROOT / "examples" / "websites.yaml").read_text(encoding="utf-8"))
    return crd


def _owner(obj: Unstructured) -> str:
    """Return the UID of the controller of an object."""
    references = obj.get("metadata", {}).get("ownerReferences", ())
    return next((each["uid"] for each in references if each.get("controller")), "")


def _as_specified(site: Unstructured, deployment: Unstructured) -> bool:
    spec, status = site["spec"], site.get("status", {})
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    ready = [each for each in status.get("conditions", ()) if each["type"] == "Ready"]
    return (
        deployment["spec"]["replicas"] == spec["replicas"]
        and container["image"] == THEMES[spec["theme"]]
        and FINALIZER in site["metadata"].get("finalizers", ())
        and [each["status"] for each in ready] == ["True" if spec["replicas"] == 0 else "False"]
        and ready[0]["observedGeneration"] == site.generation
    )
