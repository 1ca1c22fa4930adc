"""Handlers that record every event and every state, and report those that contradict the server's content."""

from __future__ import annotations

import enum
from collections import Counter, deque
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field

import trio

from benchmarks.restarts.ledger import Ledger
from benchmarks.restarts.resources import Resource
from dynkube import ABSENT, Informer, State, Unstructured
from dynkube.informers import Phase
from dynkube.meta._object import Key
from dynkube.telemetry import Observer, RequestInfo, RequestOutcome

_RESPONSES = 20_000
_BEFORE, _AFTER = 12.0, 2.0  # seconds around a false event for which responses are shown


class Kind(enum.StrEnum):
    """The kinds of errors."""

    DELETED = "false Deleted"
    """Deleted for an object that was never deleted."""
    ABSENT = "false ABSENT"
    """ABSENT although the resource is served."""
    ADDED = "Added twice"
    """Added for an object that was not deleted since the previous Added."""
    UPDATED = "Updated from another state"
    """The old state is not the last one that the handler got; or Deleted for an object that the handler did not get."""
    DIFFERENT = "content differs"
    """The objects of an informer or of its handler differ from the server's."""
    INCOMPLETE = "synced without objects"
    """``wait_synced()`` returned, and objects are missing that the user could read all the time."""
    LATE = "late"
    """An informer did not recover in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One error of an informer: its time on trio's clock, and a description."""

    kind: Kind
    time: float
    informer: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind} at {self.time:.3f}: {self.informer}: {self.text}"


@dataclass(slots=True, eq=False)
class Findings:
    """The errors that were found, and the counts of events and states."""

    found: list[Finding] = field(default_factory=list)
    events: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)

    def note(self, kind: Kind, informer: str, text: str) -> None:
        """Add an error that was found now."""
        self.found.append(Finding(kind=kind, time=trio.current_time(), informer=informer, text=text))

    def count(self, kind: Kind) -> int:
        """Return the number of errors of a kind."""
        return sum(finding.kind is kind for finding in self.found)


class Recorder:
    """An informer and its handler, with a record of events and states.

    Attributes:
        shown: the objects that the handler got and that were not deleted since.
        states: the states that the informer had, with times on trio's clock.
        expected: the resourceVersions that the handler has to get before the informer counts as recovered.
    """

    def __init__(
        self,
        informer: Informer,
        resource: Resource,
        namespace: str | None,
        ledger: Ledger,
        findings: Findings,
        *,
        name: str = "",
    ) -> None:
        self.informer = informer
        self.resource = resource
        self.namespace = namespace
        self.shown: dict[Key, Unstructured] = {}
        self.states: list[tuple[float, State]] = []
        self.expected: dict[Key, str] = {}
        self._name = name
        self._ledger = ledger
        self._findings = findings
        self._progress = trio.Event()
        informer.add_handler(on_add=self._added, on_update=self._updated, on_delete=self._deleted)

    def __str__(self) -> str:
        return f"{self.resource.gvr}" + (f" in {self.namespace}" if self.namespace else "") + self._name

    @property
    def served(self) -> bool:
        """Whether the resource is served."""
        return self._ledger.serves(self.resource.gvr)

    def add_finding(self, kind: Kind, text: str) -> None:
        """Add an error, with the states before it."""
        states = "; ".join(f"{time:.3f} {state}" for time, state in self.states[-4:])
        self._findings.note(kind, str(self), f"{text} [{states}]")

    async def wait_until(self, holds: Callable[[], bool]) -> None:
        """Wait until ``holds`` returns true; it is called after each event and each state."""
        while not holds():
            self._progress = trio.Event()
            await self._progress.wait()

    async def follow_states(self) -> None:
        """Record states until the informer is closed."""
        async with aclosing(self.informer.states()) as states:
            async for state in states:
                before: Phase | None = self.states[-1][1].phase if self.states else None
                self.states.append((trio.current_time(), state))
                self._findings.states[state.phase] += 1
                if state.phase is ABSENT and before is not ABSENT and self.served:
                    self.add_finding(Kind.ABSENT, "the resource is served")
                self._progress.set()

    def check_synced(self, stable: str) -> None:
        """Add an error for each object of that name that is missing; called when the informer has just synced."""
        listed = {obj.key for obj in self.informer.list()}
        expected = {key for key in self._ledger.objects.get(self.resource.gvr, {}) if key[1] == stable}
        for key in sorted(key for key in expected - listed if self.follows(key)):
            self.add_finding(Kind.INCOMPLETE, f"without {key}")

    def follows(self, key: Key) -> bool:
        """Return whether an object of the resource is in the informer's namespace."""
        return self.namespace in (None, key[0])

    def differences(self, contents: Mapping[Key, tuple[str, str]]) -> list[str]:
        """Return the differences of the informer and its handler from the server, by UID and resourceVersion."""
        server = {key: known for key, known in contents.items() if self.follows(key)}
        listed = {obj.key: (obj.uid, obj.resource_version) for obj in self.informer.list()}
        shown = {key: (obj.uid, obj.resource_version) for key, obj in self.shown.items()}
        return [
            f"{what} {key}: {has.get(key)}, the server's is {server.get(key)}"
            for what, has in (("list()", listed), ("handler", shown))
            for key in sorted(has.keys() | server.keys())
            if has.get(key) != server.get(key)
        ]

    # ── the handler ──────────────────────────────────────────────────────────────────────────

    def _added(self, obj: Unstructured) -> None:
        if obj.key in self.shown:
            self.add_finding(Kind.ADDED, f"{obj!r} {obj.uid}")
        self._show("Added", obj)

    def _updated(self, old: Unstructured, new: Unstructured) -> None:
        if not _same(self.shown.get(new.key), old):
            self.add_finding(Kind.UPDATED, f"{new!r} {new.uid} from {old!r} {old.uid}")
        self._show("Updated", new)

    def _deleted(self, obj: Unstructured) -> None:
        if not _same(self.shown.pop(obj.key, None), obj):
            self.add_finding(Kind.UPDATED, f"Deleted {obj!r} {obj.uid}")
        if obj.uid not in self._ledger.deleted:
            self.add_finding(Kind.DELETED, f"{obj!r} {obj.uid}")
        self._findings.events["Deleted"] += 1
        self._progress.set()

    def _show(self, event: str, obj: Unstructured) -> None:
        self.shown[obj.key] = obj
        self._findings.events[event] += 1
        self._progress.set()


def _same(shown: Unstructured | None, obj: Unstructured) -> bool:
    """Return whether two objects are the same state. They may be different Python objects with equal content."""
    return shown is not None and (shown.uid, shown.resource_version) == (obj.uid, obj.resource_version)


class Responses(Observer):
    """Keeps the API server's responses to the informers' requests, to print them with findings."""

    def __init__(self) -> None:
        self._responses: deque[tuple[float, str]] = deque(maxlen=_RESPONSES)

    def request_finished(self, request: RequestInfo, outcome: RequestOutcome) -> None:
        """Keep the outcome of a request."""
        path = request.url.partition(request.host)[2].partition("?")[0]
        result = outcome.code if outcome.error is None else f"{outcome.code or ''} {outcome.error!r:.160}"
        took = f"{outcome.seconds:.3f} s, {outcome.received} bytes"
        self._responses.append((trio.current_time(), f"{request.verb} {path}: {result} ({took})"))

    def around(self, finding: Finding) -> list[str]:
        """Return the responses in the seconds before and after a finding, except those for other resources."""
        named = finding.informer.partition(".")[0]
        return [
            f"{time:.3f} {text}"
            for time, text in self._responses
            if finding.time - _BEFORE <= time <= finding.time + _AFTER
            and (named in text or "customresourcedefinitions" in text or not text.startswith(("list", "watch")))
        ]
