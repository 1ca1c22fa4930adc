"""Pods whose containers a test plays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._containers.logs import Log
from dynkube_testing._containers.sessions import PortFunction, SessionFunction
from dynkube_testing._store.history import Change
from dynkube_testing._store.storage import Storage

PODS = "pods"


@dataclass(slots=True)
class Runs:
    """The logs of a container: of the current run, or the last one that ended, and of the run before it."""

    current: Log = field(default_factory=Log)
    previous: Log | None = None
    _written: datetime | None = None

    def next_time(self, now: datetime) -> datetime:
        """Return the time of what is written now: later than what was written before, as no two lines have one time."""
        if self._written is not None and now <= self._written:
            now = self._written + timedelta(microseconds=1)
        self._written = now
        return now


Function = TypeVar("Function")


@dataclass(frozen=True, slots=True, kw_only=True)
class Playing(Generic[Function]):
    """A request for a container that a test plays.

    Attributes:
        function: The function that plays it.
        pod: The pod, decoded.
        container: The container's name; ``""`` for ports, which belong to no container.
    """

    function: Function
    pod: JSONObject
    container: str = ""


@dataclass(slots=True)
class Functions:
    """The functions that play requests to containers, of all pods; ``None`` if the test plays none."""

    exec: SessionFunction | None = None
    attach: SessionFunction | None = None
    portforward: PortFunction | None = None


class PlayedPods:
    """The state of the containers that a test plays, until their pods are gone.

    Args:
        storage: The pods.
    """

    def __init__(self, storage: Storage) -> None:
        self.functions: Functions = Functions()
        self._pods: dict[str, dict[str, Runs]] = {}  # by UID of the pod, and name of the container
        storage.listen(self._changed)

    def runs_of(self, uid: str) -> Mapping[str, Runs] | None:
        """Return the runs of the containers of the pod with this UID; ``None`` if the pod is not played."""
        return self._pods.get(uid)

    def play(self, uid: str, container: str) -> Runs:
        """Return the runs of a container, which is played from now on."""
        return self._pods.setdefault(uid, {}).setdefault(container, Runs())

    def _changed(self, group: str, change: Change) -> None:
        before, after = change.before, change.after
        if group != PODS or before is None or (after is not None and after.uid == before.uid):
            return
        for runs in self._pods.pop(before.uid, {}).values():
            runs.current.end()
