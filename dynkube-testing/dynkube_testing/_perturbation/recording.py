"""What has happened in a run: the requests of the program, the events that it got, and their times."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import trio

from dynkube.meta import GVR
from dynkube_testing._faults.facts import RequestFacts

_MAX_ENTRIES = 2_000
_MAX_LOG_LINE = 300
_WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
#: Records of what a program does, not its work.
_ASIDE = frozenset({"events", "leases.coordination.k8s.io", "events.events.k8s.io"})


@dataclass(frozen=True, slots=True)
class Write:
    """A write of the program.

    Attributes:
        verb: ``"create"``, ``"update"``, ``"patch"``, ``"delete"`` or ``"deletecollection"``.
        resource: ``PLURAL.GROUP``.
        key: ``NAMESPACE/NAME``; without a name if the server generates it.
    """

    verb: str
    resource: str
    key: str

    @property
    def changes(self) -> bool:
        """Whether it changes an object that exists."""
        return self.verb in {"update", "patch"}


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a timeline.

    Attributes:
        time: Virtual seconds since the start of the run.
        who: ``"program"``, ``"world"`` (the scenario), or ``"fault"``.
        text: What happened.
    """

    time: float
    who: str
    text: str

    def __str__(self) -> str:
        return f"{self.time:10.3f}  {self.who:8} {self.text}"


@dataclass(slots=True)
class Recording:
    """The record of one run. Only the last 2,000 lines are kept.

    Attributes:
        entries: The timeline.
        writes: All writes of the program, except those of Events and Leases.
        revisions: The resourceVersion of the server before each of these writes.
        leases: The number of writes of Leases.
        requests: The number of all requests.
        events: The number of events that the program has received, by resource.
        made: How often the program has created an object, by resource and key.
        removed: How often it has deleted one.
        last_write: Virtual time of the last write.
        exits: Virtual times at which the program has ended by itself.
    """

    entries: deque[Entry] = field(default_factory=lambda: deque(maxlen=_MAX_ENTRIES))
    writes: list[Write] = field(default_factory=list)
    revisions: list[int] = field(default_factory=list)
    leases: int = 0
    requests: int = 0
    events: Counter[str] = field(default_factory=Counter)
    made: Counter[tuple[str, str]] = field(default_factory=Counter)
    removed: Counter[tuple[str, str]] = field(default_factory=Counter)
    last_write: float = 0.0
    exits: list[float] = field(default_factory=list)
    _start: float = field(default_factory=trio.current_time)

    @property
    def now(self) -> float:
        """Virtual seconds since the start."""
        return trio.current_time() - self._start

    def note(self, who: str, text: str) -> None:
        """Add a line to the timeline."""
        self.entries.append(Entry(self.now, who, text))

    def answered(self, facts: RequestFacts, status: int, generated: str = "") -> None:
        """Record the response to a request of the program."""
        what = f"{facts.method} {facts.path}"
        if facts.verb == "watch":
            what = f"watch {facts.path} from {facts.params.get('resourceVersion') or 'now'}"
        self.note("program", f"{what}: {status}{f' ({generated})' if generated else ''}")
        if is_write(facts) and status < 300 and not facts.subresource:
            done = {"create": self.made, "delete": self.removed}.get(facts.verb)
            if done is not None:
                done[name_of(facts.resource), key_of(facts, generated)] += 1


class _Notes(logging.Handler):
    """Adds warnings and errors to a timeline."""

    def __init__(self, recording: Recording) -> None:
        super().__init__(logging.WARNING)
        self._recording = recording

    def emit(self, record: logging.LogRecord) -> None:
        """Add the first line of a record; of other threads nothing."""
        if (
            not trio.lowlevel.in_trio_run()
        ):  # the thread that watches for a blocked event loop: its times are not virtual
            return
        error = record.exc_info[1] if record.exc_info else None
        why = f": {type(error).__name__}: {error}" if error is not None else ""
        self._recording.note("program", f"logs {record.getMessage()}{why}".partition("\n")[0][:_MAX_LOG_LINE])


@contextmanager
def logs_in(recording: Recording) -> Iterator[None]:
    """Add what is logged inside the block to the timeline, from warnings on, instead of printing it.

    Programs log the errors that perturbations cause, and formatting their tracebacks took longer than the runs.
    """
    root = logging.getLogger()
    handlers, root.handlers = root.handlers, [_Notes(recording)]
    try:
        yield
    finally:
        root.handlers = handlers


def is_write(facts: RequestFacts) -> bool:
    """Return whether a request is one of the writes that are counted."""
    return facts.verb in _WRITES and name_of(facts.resource) not in _ASIDE and "dryRun" not in facts.params


def is_lease_write(facts: RequestFacts) -> bool:
    """Return whether a request writes a Lease."""
    return facts.verb in _WRITES and name_of(facts.resource) == "leases.coordination.k8s.io"


def write_of(facts: RequestFacts) -> Write:
    """Return the write that a request is."""
    resource = name_of(facts.resource) + (f"/{facts.subresource}" if facts.subresource else "")
    return Write(facts.verb, resource, key_of(facts))


def name_of(resource: GVR | None) -> str:
    """Return ``PLURAL.GROUP``, or ``PLURAL`` for the core group."""
    if resource is None:
        return ""
    return f"{resource.resource}.{resource.group}" if resource.group else resource.resource


def key_of(facts: RequestFacts, generated: str = "") -> str:
    """Return ``NAMESPACE/NAME`` of the object that a request is about."""
    return f"{facts.namespace}/{facts.name or generated}"
