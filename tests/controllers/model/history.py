"""What was really stored when, and by whom: the oracle's knowledge, which owes nothing to the client's caches.

The server runs in the same event loop, and starts the task of a request in the context of the client's task. So a
context variable tells which call of which process has made a write.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import msgspec
import trio

from dynkube.controllers import ObjectKey
from dynkube_testing import APIServer
from dynkube_testing._store.history import Change
from dynkube_testing._store.versions import Version

Key: TypeAlias = tuple[str, str]


@dataclass(eq=False)
class Run:
    """One run of a process, from its start until ``run`` has returned or the process was killed."""

    process: str
    number: int
    started: float
    ended: float | None = None
    killed: bool = False
    renewed: float = -1e9  # when the last request that has stored it as the holder of the lease was sent

    def __str__(self) -> str:
        return f"{self.process}.{self.number}"


@dataclass(eq=False)
class Call:
    """One call of a reconcile function or a clean-up."""

    run: Run
    key: ObjectKey
    number: int
    began: float
    cleaning: bool = False
    ended: float | None = None
    result: str = "running"
    version: str = ""  # of the reconciled object, as the call has read it; "" if it was not there
    uid: str = ""
    revision: int = 0  # of the server when the call began
    lost_child: bool = False  # whether the object owns less than the call before has read

    def __str__(self) -> str:
        return f"call {self.number} of {self.run} {self.key}"


Author: TypeAlias = Run | Call | None  # None: a user, or the server itself

AUTHOR: Final[ContextVar[Author]] = ContextVar("author", default=None)
SENT: Final[ContextVar[float]] = ContextVar("sent", default=-1.0)
TARGET: Final[ContextVar[tuple[str, str, str]]] = ContextVar("target", default=("", "", ""))
"""The resource, namespace and name in the path of the request that is carried out; no name in that of a create."""


def run_of(author: Author) -> Run | None:
    """Return the run of the process that has made a write."""
    return author.run if isinstance(author, Call) else author


def content(version: Version) -> dict[str, Any]:
    """Return an object as it is stored."""
    found: dict[str, Any] = msgspec.json.decode(
        b'{"metadata":{"resourceVersion":"%d"%b' % (version.revision, version.rest)
    )
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Write:
    """One change of one object."""

    revision: int
    time: float
    resource: str
    before: Version | None
    after: Version | None
    author: Author

    @property
    def about(self) -> Version:
        """The object after the change, or before its deletion."""
        found = self.after or self.before
        assert found is not None
        return found

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return self.about.namespace, self.about.name

    def __str__(self) -> str:
        what = "deletes" if self.after is None else "creates" if self.before is None else "updates"
        author = "the server or a user" if self.author is None else self.author
        marks = " (terminating)" if self.after is not None and self.after.deleting else ""
        return f"{author} {what} {self.resource} {'/'.join(self.key)} at {self.revision}{marks}"


def _is_requested(write: Write) -> bool:
    """Return whether a write is what its request is about, and not what the garbage collector does in its wake."""
    resource, where, name = TARGET.get()
    return (write.resource, write.about.namespace) == (resource, where) and name in ("", write.about.name)


@dataclass(eq=False)
class History:
    """All writes of a server since its start.

    Args:
        server: the server.
        observe: called with each write, in the task that makes it.
    """

    server: APIServer
    observe: Callable[[Write], None]
    writes: list[Write] = field(default_factory=list)
    of_uid: dict[str, list[Write]] = field(default_factory=lambda: defaultdict(list))
    live: dict[str, dict[Key, Version]] = field(default_factory=lambda: defaultdict(dict))

    def __post_init__(self) -> None:
        self.server._engine.storage.listen(self._changed)

    def _changed(self, group: str, change: Change) -> None:
        resource = group.partition(".")[0]
        write = Write(change.revision, trio.current_time(), resource, change.before, change.after, None)
        if _is_requested(write):
            write = replace(write, author=AUTHOR.get())
        if write.after is None:
            self.live[resource].pop(write.key, None)
        else:
            self.live[resource][write.key] = write.after
        self.writes.append(write)
        self.of_uid[write.about.uid].append(write)
        self.observe(write)

    def current(self, resource: str, uid: str) -> Version | None:
        """Return an object as it is stored now."""
        writes = self.of_uid.get(uid)
        return None if not writes or writes[-1].resource != resource else writes[-1].after

    def owned_by(self, resource: str, uid: str) -> list[Version]:
        """Return the objects with this owner that are not being deleted."""
        return [each for each in self.live[resource].values() if uid in each.owners and not each.deleting]

    def versions_since(self, uid: str, version: str) -> Iterator[Version]:
        """Iterate over the states of an object from a resourceVersion on."""
        for write in self.of_uid.get(uid, ()):
            if write.after is not None and write.revision >= int(version):
                yield write.after
