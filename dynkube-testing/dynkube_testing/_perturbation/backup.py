"""The objects of a resource that is removed and comes back: a backup that misses no change of the scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import trio

from dynkube_testing._calls.api import Call
from dynkube_testing._perturbation.recording import Recording, name_of
from dynkube_testing._server import APIServer
from dynkube_testing._store.history import Change
from dynkube_testing._store.versions import Version

#: What the server sets, and what removing a CRD has set.
_SERVER_SET: Final = (
    *("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"),
    *("deletionTimestamp", "deletionGracePeriodSeconds"),
)


class Backup:
    """The objects of a resource as they are when they are removed.

    Removing a CRD takes time if its objects have finalizers, and users still change and delete objects meanwhile.
    What they delete is not in the backup. Finalizers are those from before the removal, which ends with none.

    Args:
        server: The server.
        recording: Has the writes of the program, whose deletes do not count.
        resource: The resource, which must be served.
    """

    def __init__(self, server: APIServer, recording: Recording, resource: str) -> None:
        self._server = server
        self._recording = recording
        self._resource = resource
        self._kind = server.kind(resource)
        self._before = {_key(obj): obj for obj in server.list(resource) if "deletionTimestamp" not in obj["metadata"]}
        self._removed: dict[tuple[str, str], Version] = {}
        self._deleted: set[tuple[str, str]] = set()
        self._begun = trio.current_time()
        self._writes = max(0, len(recording.writes) - 1)  # the write at which it begins is one of them
        self._collecting = False

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Follow what happens to the objects in the block, in which they are removed."""
        self._server._engine.storage.listen(self._note_change)
        self._collecting = True
        try:
            with self._server._observed(self._note_call):
                yield
        finally:
            self._collecting = False

    def objects(self) -> list[dict[str, Any]]:
        """Return the objects as a backup tool creates them again: without status and what the server sets."""
        deleted = self._deleted | self._deleted_over_http()
        return [self._as_new(key, obj) for key, obj in self._before.items() if key not in deleted]

    def _as_new(self, key: tuple[str, str], before: Mapping[str, Any]) -> dict[str, Any]:
        obj = self._removed[key].decode(self._kind) if key in self._removed else before
        metadata = {name: value for name, value in obj["metadata"].items() if name not in (*_SERVER_SET, "finalizers")}
        if finalizers := before["metadata"].get("finalizers"):
            metadata["finalizers"] = finalizers
        return {**{name: value for name, value in obj.items() if name != "status"}, "metadata": metadata}

    def _note_change(self, group: str, change: Change) -> None:
        if self._collecting and group == self._resource and change.after is None and change.before is not None:
            version = change.before
            self._removed.setdefault((version.namespace, version.name), version)

    def _note_call(self, call: Call) -> None:
        if call.verb == "delete" and call.kind.storage_group == self._resource:
            self._deleted.add((call.namespace, call.name))

    def _deleted_over_http(self) -> set[tuple[str, str]]:
        """Return the keys that others than the program have deleted."""
        by_program = {
            write.key
            for write in self._recording.writes[self._writes :]
            if (write.verb, write.resource) == ("delete", self._resource)
        }
        return {
            (request.namespace, request.name)
            for request in self._server.audit
            if request.time >= self._begun
            and (request.verb, name_of(request.resource)) == ("delete", self._resource)
            and request.status == 200
            and f"{request.namespace}/{request.name}" not in by_program
        }


def _key(obj: Mapping[str, Any]) -> tuple[str, str]:
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]
