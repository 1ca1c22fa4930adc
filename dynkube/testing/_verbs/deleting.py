"""Delete: at once, or by a deletionTimestamp where finalizers have their say first.

Known limits: there are no kubelets and no garbage collector behind this server, so grace periods are over at once
and dependents stay, whatever the propagation policy says.
"""

from __future__ import annotations

from dataclasses import dataclass

from dynkube.testing._calls import refuse
from dynkube.testing._calls.api import Call, Document, JSONObject
from dynkube.testing._calls.options import DeleteOptions
from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._store.documents import ListDocument, PlainDocument, StoredDocument, deleted_status
from dynkube.testing._store.storage import Storage, Version
from dynkube.testing._verbs.listing import selection
from dynkube.testing._verbs.objectmeta import Identity
from dynkube.testing._verbs.rules import Rules


@dataclass(frozen=True, slots=True)
class Deletes:
    """Deletes from one storage."""

    storage: Storage
    identity: Identity
    rules: Rules

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
            raise refuse.not_found(call.kind, call.name)
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
        rules = self.rules.of(kind)
        if not rules.in_two_steps(kind) and b'"finalizers"' not in version.rest:
            if not dry_run:
                self.storage.remove(kind.storage_group, version.key)
            return None
        obj = version.decode(kind)
        if "deletionTimestamp" in obj["metadata"]:
            return StoredDocument(kind, version)
        rules.before_delete(kind, obj)
        if not obj["metadata"].get("finalizers") and not rules.holds(kind, obj):
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
        raise refuse.conflict(kind, version.name, why)
    if options.resource_version is not None and options.resource_version != str(version.revision):
        why = (
            f"Precondition failed: ResourceVersion in precondition: {options.resource_version}, "
            f"ResourceVersion in object meta: {version.revision}"
        )
        raise refuse.conflict(kind, version.name, why)
