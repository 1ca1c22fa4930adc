"""Helpers for scenarios of informers: names of resources, writes, and a recorder of events."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import aclosing, suppress

import trio

from dynkube import LIVE, Informer, Registration, State, Unstructured
from dynkube.errors import Conflict, NotFound
from tests.contract.cluster import Cluster
from tests.contract.events import GIVE_UP
from tests.contract.objects import JSONObject

NAMESPACE_SUFFIXES = ("a", "b", "c", "other", "selected")  # of further namespaces that scenarios create
CONFIGS = "configmaps.v1"  # for scenarios that need no CRD: real servers take a second to serve a new one


def resource(cluster: Cluster, plural: str = "widgets", version: str = "v1") -> str:
    """Return the name of a resource of the test's group; it need not exist."""
    return f"{plural}.{version}.{cluster.group}"


def names(objects: Iterable[Unstructured]) -> list[str]:
    """Return the names of objects, sorted."""
    return sorted(obj.name for obj in objects)


async def put(
    cluster: Cluster, name: str, *, namespace: str | None = None, labels: dict[str, str] | None = None, **data: str
) -> Unstructured:
    """Create a ConfigMap."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels or {}}, "data": data}
    return Unstructured(await cluster.create("configmaps", body, namespace=namespace))


async def change(cluster: Cluster, name: str, *, namespace: str | None = None, **data: str) -> Unstructured:
    """Change the data of a ConfigMap."""
    return Unstructured(await cluster.patch("configmaps", name, {"data": data}, namespace=namespace))


async def put_widget(cluster: Cluster, name: str, **spec: object) -> Unstructured:
    """Create a widget."""
    return Unstructured(await cluster.create("widgets", cluster.widget(name, spec=spec)))


async def add_namespace(cluster: Cluster, suffix: str, **labels: str) -> str:
    """Create another namespace for the test, and return its name."""
    name = f"{cluster.namespace}-{suffix}"
    await cluster.create("namespaces", {"metadata": {"name": name, "labels": labels}})
    return name


async def label_namespace(cluster: Cluster, name: str, **labels: str | None) -> JSONObject:
    """Set labels of a namespace, or remove them (``None``)."""
    return await cluster.patch("namespaces", name, {"metadata": {"labels": labels}})


async def drop_namespace(cluster: Cluster, name: str) -> None:
    """Delete a namespace and its ConfigMaps; without controllers the server does not delete them."""
    gone = await cluster.delete("namespaces", name)
    await cluster.delete_all("configmaps", namespace=name)
    body = {**gone, "apiVersion": "v1", "kind": "Namespace", "spec": {"finalizers": []}}
    with suppress(NotFound, Conflict):
        await cluster.request("PUT", f"/api/v1/namespaces/{name}/finalize", body=body)


async def wait_live(*informers: Informer) -> None:
    """Wait until informers are LIVE."""
    with trio.fail_after(GIVE_UP):
        for informer in informers:
            await informer.wait_state(LIVE)


async def wait_reason(informer: Informer, reason: str) -> State:
    """Wait for a state with this reason."""
    with trio.fail_after(GIVE_UP):
        async with aclosing(informer.states()) as states:
            async for state in states:
                if state.reason == reason:
                    return state
    raise AssertionError(f"{informer} was closed")


class Recorder:
    """Records the calls of handlers as ``add/a``, ``update/a``, ``delete/a``, and waits for them.

    Args:
        also: called before an event is recorded, with the event and its object.
    """

    def __init__(self, also: Callable[[str, Unstructured], object] | None = None) -> None:
        self._also = also
        self._events: list[str] = []
        self._news = trio.Event()

    def attach(self, informer: Informer) -> Registration:
        """Add a handler to an informer."""
        return informer.add_handler(
            on_add=lambda obj: self._note("add", obj),
            on_update=lambda old, new: self._note("update", new),
            on_delete=lambda obj: self._note("delete", obj),
        )

    def _note(self, what: str, obj: Unstructured) -> None:
        note = f"{what}/{obj.name}"
        if self._also is not None:
            self._also(note, obj)
        self._events.append(note)
        self._news.set()

    async def take(self, count: int) -> list[str]:
        """Wait for the next ``count`` events, and return them.

        Raises:
            trio.TooSlowError: they did not come in time.
        """
        with trio.fail_after(GIVE_UP):
            while len(self._events) < count:
                self._news = trio.Event()
                await self._news.wait()
        taken, self._events = self._events[:count], self._events[count:]
        return taken

    async def until(self, event: str) -> list[str]:
        """Return the events up to and including this one; that of a marker object shows that nothing else came."""
        taken = await self.take(1)
        while taken[-1] != event:
            taken += await self.take(1)
        return taken

    @property
    def untaken(self) -> list[str]:
        """The recorded events that were not returned yet."""
        return list(self._events)
