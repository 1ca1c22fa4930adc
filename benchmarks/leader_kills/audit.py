"""What each process has written, from the API server's audit log. Each process is a user of its own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from benchmarks.leader_kills.lease import NAME

POLICY: Final = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: None, verbs: [get, list, watch]}
  - {level: Metadata}
"""
_CREATED: Final = 201
_FAILED: Final = 300  # and above


@dataclass(frozen=True, slots=True)
class Write:
    """One request that may change something.

    Attributes:
        user: who has sent it.
        verb: what it asked for.
        path: resource, subresource, namespace and name.
        code: the status of the response.
        received: when the server received it.
        answered: when the server had responded.
    """

    user: str
    verb: str
    path: str
    code: int
    received: datetime
    answered: datetime

    @property
    def succeeded(self) -> datetime | None:
        """When the server had responded, if it did what it was asked for."""
        return self.answered if self.code < _FAILED else None

    @property
    def of_the_lease(self) -> bool:
        """Whether it was a request for the Lease."""
        return self.path.startswith("leases/") and (self.path.endswith(f"/{NAME}") or self.verb == "create")


@dataclass(frozen=True, slots=True)
class Term:
    """The time for which one process was the leader; it began when the server received or answered its first write."""

    user: str
    received: datetime
    answered: datetime


def read(log: Path) -> list[Write]:
    """Return all writes, in the order of their responses."""
    with log.open(encoding="utf-8") as lines:
        return sorted(map(_write, map(json.loads, lines)), key=lambda write: write.answered)


def _write(event: dict[str, Any]) -> Write:
    ref = event.get("objectRef", {})
    resource = "/".join(filter(None, (ref.get("resource"), ref.get("subresource"))))
    return Write(
        event["user"]["username"],
        event["verb"],
        f"{resource}/{ref.get('namespace', '')}/{ref.get('name', '')}",
        event.get("responseStatus", {}).get("code", 0),
        datetime.fromisoformat(event["requestReceivedTimestamp"]),
        datetime.fromisoformat(event["stageTimestamp"]),
    )


def terms(writes: Iterable[Write]) -> list[Term]:
    """Return the terms of all leaders: each begins with the first write of the Lease by another user."""
    found: list[Term] = []
    for write in writes:
        if write.of_the_lease and write.code < _FAILED and (not found or found[-1].user != write.user):
            found.append(Term(write.user, write.received, write.answered))
    return found


def late(writes: Iterable[Write], of: Sequence[Term]) -> Iterator[Write]:
    """Iterate over the writes of processes that were not the leader any more, or not yet.

    A write is early if the server received it before it had responded to the process's own acquisition of the Lease. It
    is late if the server received it after the next leader's, or responded with success after that. A process may be
    stopped when it has sent half of a request: the server waits for the rest, and responds with an error if that does
    not come. Writes of the Lease do not count: by these a process finds out that it is not the leader.
    """
    first = {term.user: term.answered for term in of}
    ended = {term.user: following.received for term, following in pairwise(of)}
    for write in writes:
        if write.of_the_lease:
            continue
        began, end = first.get(write.user), ended.get(write.user)
        early = began is None or write.received < began
        if early or (end is not None and (write.succeeded or write.received) > end):
            yield write


def created(writes: Iterable[Write]) -> Counter[str]:
    """Return how often each object was created."""
    return Counter(write.path for write in writes if write.code == _CREATED and not write.of_the_lease)
