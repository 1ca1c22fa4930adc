"""What the scenarios of informers share: names of resources, a recorder of events, and small changes."""

from __future__ import annotations

from collections.abc import Iterable

import trio

from dynkube import LIVE, Informer, Registration, Unstructured
from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject

# Real servers answer in milliseconds, and virtual time is free; what does not come by then does not come.
GIVE_UP = 20.0


def resource(cluster: Cluster, plural: str = "widgets", version: str = "v1") -> str:
    """A resource of the test's own group, whether or not anybody has defined it."""
    return f"{plural}.{version}.{cluster.group}"


def names(objects: Iterable[Unstructured]) -> list[str]:
    """The names of objects, sorted."""
    return sorted(obj.name for obj in objects)


async def put(
    cluster: Cluster, name: str, *, namespace: str | None = None, labels: dict[str, str] | None = None, **spec: object
) -> JSONObject:
    """Create a widget, and give it as it was answered."""
    body = cluster.widget(spec=spec)
    body["metadata"] = {"name": name, "labels": labels or {}}
    return await cluster.create("widgets", body, namespace=namespace)


async def change(cluster: Cluster, name: str, *, namespace: str | None = None, **spec: object) -> JSONObject:
    """Change the spec of a widget."""
    return await cluster.patch("widgets", name, {"spec": spec}, namespace=namespace)


class Recorder:
    """Notes what handlers are told, as ``add/a``, ``update/a``, ``delete/a``, and waits for it."""

    def __init__(self) -> None:
        self._events: list[str] = []
        self._news = trio.Event()

    def attach(self, informer: Informer) -> Registration:
        """Listen to an informer."""
        return informer.add_handler(
            on_add=lambda obj: self._note("add", obj),
            on_update=lambda old, new: self._note("update", new),
            on_delete=lambda obj: self._note("delete", obj),
        )

    def _note(self, what: str, obj: Unstructured) -> None:
        self._events.append(f"{what}/{obj.name}")
        self._news.set()

    async def take(self, count: int) -> list[str]:
        """The next so many events; everything that came in between must be asked for before.

        Raises:
            trio.TooSlowError: They did not come.
        """
        with trio.fail_after(GIVE_UP):
            while len(self._events) < count:
                self._news = trio.Event()
                await self._news.wait()
        taken, self._events = self._events[:count], self._events[count:]
        return taken

    async def until(self, event: str) -> list[str]:
        """Every event up to this one, and it: with something made for the purpose, a mark for "nothing else came"."""
        taken = await self.take(1)
        while taken[-1] != event:
            taken += await self.take(1)
        return taken

    @property
    def untaken(self) -> list[str]:
        """What came, and was not taken yet."""
        return list(self._events)


async def live(*informers: Informer) -> None:
    """Wait until informers follow the server."""
    with trio.fail_after(GIVE_UP):
        for informer in informers:
            await informer.wait_state(LIVE)
