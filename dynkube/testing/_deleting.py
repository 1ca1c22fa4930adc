"""Delete: at once, or by a deletionTimestamp where finalizers have their say first.

Known limits: there are no kubelets and no garbage collector behind this server, so grace periods are over at once
and dependents stay, whatever the propagation policy says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dynkube.testing import _crds, _namespaces, _status
from dynkube.testing._api import Call, Document, JSONObject
from dynkube.testing._documents import ListDocument, PlainDocument, StoredDocument, deleted_status
from dynkube.testing._kinds import Kind
from dynkube.testing._listing import selection
from dynkube.testing._metadata import Identity
from dynkube.testing._options import DeleteOptions
from dynkube.testing._storage import Storage, Version

# What deleting means for kinds that go in two steps, by storage group.
_BEFORE_DELETE: Mapping[str, Callable[[Kind, JSONObject], None]] = {
    _namespaces.NAMESPACES: _namespaces.before_delete,
    _crds.DEFINITIONS: _crds.before_delete,
}


@dataclass(frozen=True, slots=True)
class Deletes:
    """Deletes from one storage."""

    storage: Storage
    identity: Identity

    def delete(self, call: Call) -> Document:
        """Carry out a delete: a Status where the object is gone, the object where it is on its way.

        Raises:
            NotFound: There is no such object.
            Conflict: A precondition does not hold.
            Forbidden: It may not be deleted.
            Invalid: The options are not valid.
        """
        options = DeleteOptions.read(call)
        version = self.storage.get(call.kind, call.namespace, call.name)
        if version is None:
            raise _status.not_found(call.kind, call.name)
        _check_preconditions(call.kind, version, options)
        left = self.remove_or_mark(call.kind, version, dry_run=options.dry_run)
        return left if left is not None else deleted_status(call.kind, version)

    def delete_collection(self, call: Call) -> Document:
        """Delete what the selectors select, and answer with the list of it.

        Raises:
            BadRequest: A selector does not parse.
            Invalid: The options are not valid.
        """
        options, wanted = DeleteOptions.read(call), selection(call)
        prefix = f"{wanted.namespace}/" if wanted.namespace else ""
        candidates = self.storage.collection(call.kind.storage_group).at(self.storage.revision, prefix)
        versions = [version for version in candidates if wanted.matches(version)]
        for version in versions:
            self.remove_or_mark(call.kind, version, dry_run=options.dry_run)
        return ListDocument(call.kind, self.storage.revision, versions)

    def remove_or_mark(self, kind: Kind, version: Version, *, dry_run: bool = False) -> Document | None:
        """Delete one object; ``None`` where it is gone, and else what is left of it: itself, marked."""
        before_delete = _BEFORE_DELETE.get(kind.storage_group)
        if before_delete is None and b'"finalizers"' not in version.rest:
            if not dry_run:
                self.storage.remove(kind.storage_group, version.key)
            return None
        obj = version.decode(kind)
        if "deletionTimestamp" in obj["metadata"]:
            return StoredDocument(kind, version)
        if before_delete is not None:
            before_delete(kind, obj)
        if not obj["metadata"].get("finalizers") and not _namespaces.Namespaces.holds(kind, obj):
            if not dry_run:
                self.storage.remove(kind.storage_group, version.key)
            return None
        self._mark(obj)
        return PlainDocument(obj) if dry_run else StoredDocument(kind, self.storage.put(kind, obj))

    def _mark(self, obj: JSONObject) -> None:
        metadata = obj["metadata"]
        metadata["deletionTimestamp"] = self.identity.timestamp()
        metadata["deletionGracePeriodSeconds"] = 0
        if "generation" in metadata:
            metadata["generation"] += 1


def _check_preconditions(kind: Kind, version: Version, options: DeleteOptions) -> None:
    if options.uid is not None and options.uid != version.uid:
        why = f"Precondition failed: UID in precondition: {options.uid}, UID in object meta: {version.uid}"
        raise _status.conflict(kind, version.name, why)
    if options.resource_version is not None and options.resource_version != str(version.revision):
        why = (
            f"Precondition failed: ResourceVersion in precondition: {options.resource_version}, "
            f"ResourceVersion in object meta: {version.revision}"
        )
        raise _status.conflict(kind, version.name, why)
