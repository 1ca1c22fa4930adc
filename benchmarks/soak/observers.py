"""The informers of a soak test, with handlers of all kinds, which accumulate and check their events."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import trio

from benchmarks.soak.resources import GROUP, MARK, NAMESPACES, TEAMS, Resource
from dynkube import (
    Client,
    Filter,
    Informer,
    JSONPathFilter,
    LabelFilter,
    NamespaceFilter,
    PredicateFilter,
    Registration,
    Unstructured,
)
from dynkube.informers import EventStream
from dynkube.meta import GVR, Added, InformerEvent, Updated
from dynkube.meta._object import Key

_SAMPLING = 64  # one event in this number is compared with the informer's reads
_KEPT = 50


@dataclass(slots=True)
class Violations:
    """Descriptions of the first invalid events, and the number of all."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def note(self, what: str) -> None:
        """Add a violation."""
        self.count += 1
        if len(self.first) < _KEPT:
            self.first.append(what)


class Fold:
    """Accumulates the events of one subscriber, and checks each (P2, P3, P4, P5)."""

    def __init__(self, name: str, informer: Informer, violations: Violations) -> None:
        self.name = name
        self.shown: dict[Key, Unstructured] = {}
        self.events = 0
        self.removed = False
        self.subscriber: Registration | EventStream | None = None
        self._informer = informer
        self._violations = violations
        self._newest: dict[Key, tuple[str, int]] = {}
        self._busy = False
        self._progress = trio.Event()

    def added(self, obj: Unstructured) -> None:
        """Handle Added."""
        if obj.key in self.shown:
            self._violation(f"got Added for {obj!r}, which it has already")
        self._show(obj)

    def updated(self, old: Unstructured, new: Unstructured) -> None:
        """Handle Updated."""
        if not _same(self.shown.get(new.key), old):
            self._violation(f"got Updated from {old!r}, and has {self.shown.get(new.key)!r}")
        if old.uid != new.uid:
            self._violation(f"got Updated from {old!r} to another object, {new!r}")
        self._show(new)

    def deleted(self, obj: Unstructured) -> None:
        """Handle Deleted."""
        if not _same(self.shown.pop(obj.key, None), obj):
            self._violation(f"got Deleted for {obj!r}, which is not the state that it has")
        self._step()

    def event(self, event: InformerEvent) -> None:
        """Handle an event of a stream."""
        if isinstance(event, Added):
            self.added(event.object)
        elif isinstance(event, Updated):
            self.updated(event.old, event.new)
        else:
            self.deleted(event.object)

    async def wait_until(self, holds: Callable[[], bool]) -> None:
        """Wait until ``holds`` returns true; it is called after every event."""
        while not holds():
            self._progress = trio.Event()
            await self._progress.wait()

    def forget_all_but(self, keys: Container[Key]) -> None:
        """Drop the versions of objects that are not in ``keys``."""
        self._newest = {key: newest for key, newest in self._newest.items() if key in keys}

    def enter(self) -> None:
        """Record that a function of the handler was called."""
        if self._busy:
            self._violation("was called concurrently with itself")
        self._busy = True

    def leave(self) -> None:
        """Record that the function returned."""
        self._busy = False
        self._progress.set()

    @property
    def idle(self) -> bool:
        """Whether no event is pending or being processed."""
        return not self._busy and (self.subscriber is None or not self.subscriber.backlog)

    def _show(self, obj: Unstructured) -> None:
        key, version = obj.key, int(obj.resource_version)
        uid, newest = self._newest.get(key, ("", 0))
        if uid == obj.uid and version < newest:
            self._violation(f"went back to {obj!r}, after version {newest}")
        self._newest[key] = (obj.uid, version)
        self.shown[key] = obj
        self._step()
        if not self.events % _SAMPLING:
            self._check_reads(obj)

    def _check_reads(self, obj: Unstructured) -> None:
        """Check that the informer has the object in this or a later state, and that its index agrees."""
        now = self._informer.get(obj.name, namespace=obj.namespace)
        if now is None:
            return
        if now.uid == obj.uid and int(now.resource_version) < int(obj.resource_version):
            self._violation(f"got {obj!r} before the informer had it: {now!r}")
        if now not in self._informer.by_index("team", now.labels.get("team", "")):
            self._violation(f"got {obj!r} while index 'team' lacks {now!r}")

    def _step(self) -> None:
        self.events += 1
        if self.removed:
            self._violation("got an event after it was removed")
        self._progress.set()

    def _violation(self, what: str) -> None:
        self._violations.note(f"{self.name} {what} (event {self.events}, informer {self._informer!r})")


def _same(shown: Unstructured | None, obj: Unstructured) -> bool:
    """Return whether two objects are the same state. They may be different Python objects with equal content."""
    return shown is not None and (shown.uid, shown.resource_version) == (obj.uid, obj.resource_version)


@dataclass(frozen=True, slots=True)
class Choice:
    """A filter, and an independent implementation of it for checks."""

    filter: Filter | None
    shows: Callable[[Mapping[str, Any]], bool]


def choices() -> list[Choice]:
    """Return the filters between which informers change. All of them show the mark."""
    mark = LabelFilter(MARK)
    team = LabelFilter("team in (a, b)")
    namespaces = NamespaceFilter(f"{GROUP}/number in (0, 2)")
    even = JSONPathFilter("{.spec.even}", equals="true")

    def marked(obj: Mapping[str, Any]) -> bool:
        return MARK in obj["metadata"].get("labels", {})

    def in_team(obj: Mapping[str, Any]) -> bool:
        return obj["metadata"].get("labels", {}).get("team") in ("a", "b")

    def in_namespaces(obj: Mapping[str, Any]) -> bool:
        return obj["metadata"].get("namespace") in (None, NAMESPACES[0], NAMESPACES[2])

    def is_even(obj: Mapping[str, Any]) -> bool:
        return obj.get("spec", {}).get("even") is True

    def short(obj: Mapping[str, Any]) -> bool:
        return len(obj["metadata"]["name"]) == 2

    return [
        Choice(None, lambda obj: True),
        Choice(mark | team, lambda obj: marked(obj) or in_team(obj)),
        Choice(mark | namespaces, lambda obj: marked(obj) or in_namespaces(obj)),
        Choice(mark | even, lambda obj: marked(obj) or is_even(obj)),
        Choice(mark | (team & ~even), lambda obj: marked(obj) or (in_team(obj) and not is_even(obj))),
        Choice(mark | PredicateFilter(lambda obj: len(obj.name) == 2), lambda obj: marked(obj) or short(obj)),
    ]


def teams_of(obj: Unstructured) -> list[str]:
    """Index an object by its team, in every informer."""
    return [obj.labels.get("team", "")]


@dataclass(slots=True, kw_only=True, eq=False)
class Observer:
    """An informer, its settings, and its subscribers."""

    resource: Resource
    gvr: GVR
    informer: Informer
    violations: Violations
    choice: Choice
    namespace: str | None = None
    label_selector: str | None = None
    folds: list[Fold] = field(default_factory=list)

    @classmethod
    def on(
        cls,
        client: Client,
        resource: Resource,
        violations: Violations,
        *,
        version: str = "",
        namespace: str | None = None,
        label_selector: str | None = None,
    ) -> Observer:
        """Return an observer of ``resource`` whose informer is not entered yet."""
        gvr = resource.in_version(version) if version else resource.gvr
        informer = client.informer(gvr, namespace=namespace, label_selector=label_selector, indexes={"team": teams_of})
        return cls(
            resource=resource,
            gvr=gvr,
            informer=informer,
            violations=violations,
            choice=choices()[0],
            namespace=namespace,
            label_selector=label_selector,
        )

    @property
    def follows(self) -> tuple[GVR, str, str]:
        """The key of the watch; informers with equal keys share one."""
        return (self.gvr, self.namespace or "", self.label_selector or "")

    @property
    def served(self) -> bool:
        """Whether the resource is served now, with the version and scope of this informer."""
        resource = self.resource
        version_served = not resource.transient or self.gvr.version in resource.versions
        return resource.open and version_served and (resource.namespaced or self.namespace is None)

    def choose(self, choice: Choice) -> None:
        """Change the filter."""
        self.choice = choice
        self.informer.set_filter(choice.filter)

    def fold(self, what: str) -> Fold:
        """Add a fold for a new subscriber."""
        fold = Fold(f"{what} of {self}", self.informer, self.violations)
        self.folds.append(fold)
        return fold

    def attach_plain(self) -> Fold:
        """Add a handler of plain functions."""
        fold = self.fold("the plain handler")
        fold.subscriber = self.informer.add_handler(on_add=fold.added, on_update=fold.updated, on_delete=fold.deleted)
        return fold

    def attach_async(self, random: Random, *, seconds: float) -> Fold:
        """Add a handler of async functions, each of which takes up to ``seconds``."""
        fold = self.fold("the slow handler" if seconds else "the async handler")

        async def work() -> None:
            fold.enter()
            await trio.sleep(random.uniform(0.0, seconds))
            fold.leave()

        async def added(obj: Unstructured) -> None:
            fold.added(obj)
            await work()

        async def updated(old: Unstructured, new: Unstructured) -> None:
            fold.updated(old, new)
            await work()

        async def deleted(obj: Unstructured) -> None:
            fold.deleted(obj)
            await work()

        fold.subscriber = self.informer.add_handler(on_add=added, on_update=updated, on_delete=deleted)
        return fold

    async def stream(self) -> None:
        """Read an event stream until the informer is closed."""
        async with self.informer.events() as events:
            fold = self.fold("the event stream")
            fold.subscriber = events
            async for event in events:
                fold.event(event)

    def __str__(self) -> str:
        where = f" in {self.namespace}" if self.namespace else ""
        which = f" with {self.label_selector}" if self.label_selector else ""
        return f"{self.gvr}{where}{which}"


def observers_of(client: Client, resources: list[Resource], violations: Violations) -> list[Observer]:
    """Return the permanent informers: one for each resource; for some more, with the same or with other settings."""
    observers = []
    for number, resource in enumerate(resources):
        observers.append(Observer.on(client, resource, violations))
        if number % 5 == 0:
            observers.append(Observer.on(client, resource, violations))
        if number % 8 == 0:
            observers.append(Observer.on(client, resource, violations, label_selector=f"team={TEAMS[0]}"))
        if number % 10 == 0 and resource.namespaced:
            observers.append(Observer.on(client, resource, violations, namespace=NAMESPACES[0]))
        if resource.transient and number % 2 == 0:
            observers.append(Observer.on(client, resource, violations, version="v2"))
    return observers


def attach_handlers(observers: list[Observer], random: Random) -> None:
    """Add a handler to each observer before it is entered: mostly plain, some async or slow."""
    for number, observer in enumerate(observers):
        if number % 7 == 3:
            observer.attach_async(random, seconds=0.0)
        elif number % 20 == 5:
            observer.attach_async(random, seconds=1.0)
        else:
            observer.attach_plain()


def start_streams(observers: list[Observer], nursery: trio.Nursery) -> None:
    """Read event streams of some observers."""
    for observer in observers[2::11]:
        nursery.start_soon(observer.stream)
