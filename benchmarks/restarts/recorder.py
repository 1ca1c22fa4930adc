"""Handlers that record every event and every state, and note those that the server's history does not explain."""

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

_ANSWERS = 20_000
_BEFORE, _AFTER = 12.0, 2.0  # seconds of answers that are shown around a false event


class Kind(enum.StrEnum):
    """What can be wrong."""

    DELETED = "false Deleted"
    """Of an object that was never deleted."""
    ABSENT = "false ABSENT"
    """Of a resource that is served."""
    ADDED = "Added twice"
    """Without a Deleted in between."""
    UPDATED = "Updated from another state"
    """Than the one that was shown last; or a Deleted of an object that was not shown."""
    DIFFERENT = "content differs"
    """What an informer or its handler has is not what the server has."""
    LATE = "late"
    """An informer did not follow again in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong: when, on trio's clock, of which informer, and in words."""

    kind: Kind
    time: float
    informer: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind} at {self.time:.3f}: {self.informer}: {self.text}"


@dataclass(slots=True, eq=False)
class Findings:
    """All that was found wrong, and how many events and states there were."""

    found: list[Finding] = field(default_factory=list)
    events: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)

    def note(self, kind: Kind, informer: str, text: str) -> None:
        """Something is wrong now."""
        self.found.append(Finding(kind=kind, time=trio.current_time(), informer=informer, text=text))

    def count(self, kind: Kind) -> int:
        """How often."""
        return sum(finding.kind is kind for finding in self.found)


class Recorder:
    """An informer, its handler, and what both have shown.

    Attributes:
        shown: the objects that the handler was shown and that were not deleted since.
        states: the states that the informer had, with times on trio's clock.
        expected: the resourceVersions that the handler is to be shown before the informer counts as following.
    """

    def __init__(
        self, informer: Informer, resource: Resource, namespace: str | None, ledger: Ledger, findings: Findings
    ) -> None:
        self.informer = informer
        self.resource = resource
        self.namespace = namespace
        self.shown: dict[Key, Unstructured] = {}
        self.states: list[tuple[float, State]] = []
        self.expected: dict[Key, str] = {}
        self._ledger = ledger
        self._findings = findings
        self._progress = trio.Event()
        informer.add_handler(on_add=self._added, on_update=self._updated, on_delete=self._deleted)

    def __str__(self) -> str:
        return f"{self.resource.gvr}" + (f" in {self.namespace}" if self.namespace else "")

    @property
    def served(self) -> bool:
        """Whether there is something to follow."""
        return self._ledger.serves(self.resource.gvr)

    def wrong(self, kind: Kind, text: str) -> None:
        """Note something, with the states before it."""
        states = "; ".join(f"{time:.3f} {state}" for time, state in self.states[-4:])
        self._findings.note(kind, str(self), f"{text} [{states}]")

    async def wait_until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds; it is checked after each event and each state."""
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
                    self.wrong(Kind.ABSENT, "the resource is served")
                self._progress.set()

    def follows(self, key: Key) -> bool:
        """Whether the informer follows an object of the resource."""
        return self.namespace in (None, key[0])

    def differences(self, contents: Mapping[Key, tuple[str, str]]) -> list[str]:
        """How what the informer and its handler have differs from the server's UIDs and resourceVersions."""
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
            self.wrong(Kind.ADDED, f"{obj!r} {obj.uid}")
        self._show("Added", obj)

    def _updated(self, old: Unstructured, new: Unstructured) -> None:
        if not _same(self.shown.get(new.key), old):
            self.wrong(Kind.UPDATED, f"{new!r} {new.uid} from {old!r} {old.uid}")
        self._show("Updated", new)

    def _deleted(self, obj: Unstructured) -> None:
        if not _same(self.shown.pop(obj.key, None), obj):
            self.wrong(Kind.UPDATED, f"Deleted {obj!r} {obj.uid}")
        if obj.uid not in self._ledger.deleted:
            self.wrong(Kind.DELETED, f"{obj!r} {obj.uid}")
        self._findings.events["Deleted"] += 1
        self._progress.set()

    def _show(self, event: str, obj: Unstructured) -> None:
        self.shown[obj.key] = obj
        self._findings.events[event] += 1
        self._progress.set()


def _same(shown: Unstructured | None, obj: Unstructured) -> bool:
    """Whether these are one state. An object may have gone and come back as it was: another one with equal content."""
    return shown is not None and (shown.uid, shown.resource_version) == (obj.uid, obj.resource_version)


class Answers(Observer):
    """Remembers what the API server answered to the informers' requests, to explain what is found."""

    def __init__(self) -> None:
        self._answers: deque[tuple[float, str]] = deque(maxlen=_ANSWERS)

    def request_finished(self, request: RequestInfo, outcome: RequestOutcome) -> None:
        """Remember it."""
        path = request.url.partition(request.host)[2].partition("?")[0]
        answer = outcome.code if outcome.error is None else f"{outcome.code or ''} {outcome.error!r:.160}"
        took = f"{outcome.seconds:.3f} s, {outcome.received} bytes"
        self._answers.append((trio.current_time(), f"{request.verb} {path}: {answer} ({took})"))

    def around(self, finding: Finding) -> list[str]:
        """The answers in the seconds before and after a finding, except those to requests for other objects."""
        named = finding.informer.partition(".")[0]
        return [
            f"{time:.3f} {text}"
            for time, text in self._answers
            if finding.time - _BEFORE <= time <= finding.time + _AFTER
            and (named in text or "customresourcedefinitions" in text or not text.startswith(("list", "watch")))
        ]
