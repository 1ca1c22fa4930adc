"""The writes of each process, from the API server's audit log. Each process authenticates as its own user."""

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
    """A request with a verb that may change an object.

    Attributes:
        user: the user of the process that sent it.
        verb: the verb of the request.
        path: resource, subresource, namespace and name.
        code: the status code of the response.
        received: when the server received it.
        responded: when the server completed the response.
    """

    user: str
    verb: str
    path: str
    code: int
    received: datetime
    responded: datetime

    @property
    def succeeded(self) -> datetime | None:
        """When the server completed the response, if it is not an error."""
        return self.responded if self.code < _FAILED else None

    @property
    def of_the_lease(self) -> bool:
        """Whether it is a write of the Lease."""
        return self.path.startswith("leases/") and (self.path.endswith(f"/{NAME}") or self.verb == "create")


@dataclass(frozen=True, slots=True)
class Term:
    """The time for which one process was the leader, from the request and response of its first write of the Lease."""

    user: str
    received: datetime
    responded: datetime


def read(log: Path) -> list[Write]:
    """Return all writes, in the order of their responses."""
    with log.open(encoding="utf-8") as lines:
        return sorted(map(_write, map(json.loads, lines)), key=lambda write: write.responded)


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
            found.append(Term(write.user, write.received, write.responded))
    return found


def late(writes: Iterable[Write], of: Sequence[Term]) -> Iterator[Write]:
    """Yield the writes of processes that were no longer the leader, or not yet.

    A write is early if the server received it before it had responded to the process's own acquisition of the Lease. It
    is late if the server received it after the next leader's acquisition, or responded with success after that. A
    process may be stopped when it has sent half of a request: the server waits for the rest, and responds with an error
    if it does not arrive. Writes of the Lease are ignored: they are how a process learns that it is not the leader.
    """
    first = {term.user: term.responded for term in of}
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
