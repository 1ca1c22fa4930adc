"""Delete: at once, or in two steps if there are finalizers or a grace period.

The propagation policy is determined by the delete options, the object's finalizers, or its kind. It is written into the
object as the finalizer ``foregroundDeletion`` or ``orphan``, for the garbage collector.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace

from dynkube.errors import APIError
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import Call, Document, JSONObject
from dynkube_testing._calls.delete_options import DeleteOptions
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._store.documents import PlainDocument, StoredDocument, deleted_status
from dynkube_testing._store.storage import Storage
from dynkube_testing._store.versions import Version, stored_kind
from dynkube_testing._verbs.admission import Admission, AdmitAll, Attributes
from dynkube_testing._verbs.grace import Grace, begin_grace, is_graceful
from dynkube_testing._verbs.listing import select_objects
from dynkube_testing._verbs.rules import Rules
from dynkube_testing._verbs.sources import Identity
from dynkube_testing._verbs.stored_versions import check_convertible, convert_all

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"

# Resources whose deletes return the deleted object; deletes of other resources return a Status.
_ANSWER_WITH_OBJECT = {
    "csidrivers.storage.k8s.io",
    "csinodes.storage.k8s.io",
    "namespaces",
    "persistentvolumeclaims",
    "persistentvolumes",
    "pods",
    "podtemplates",
    "resourcequotas",
    "serviceaccounts",
    "services",
    "storageclasses.storage.k8s.io",
    "volumeattachments.storage.k8s.io",
    "volumeattributesclasses.storage.k8s.io",
}
# Resources whose dependents are orphaned by default, and resources that never have dependents.
_ORPHAN_BY_DEFAULT = {"jobs.batch", "replicationcontrollers"}
_WITHOUT_DEPENDENTS = {"events", "events.events.k8s.io"}


@dataclass(frozen=True, slots=True)
class Deletes:
    """Deletes objects of one storage.

    Attributes:
        storage: The storage.
        identity: Generates timestamps.
        rules: Rules specific to kinds.
        admission: The admission plugins, for deletes by clients.
    """

    storage: Storage
    identity: Identity
    rules: Rules
    admission: Admission = field(default_factory=AdmitAll)

    def delete(self, call: Call) -> Document:
        """Handle a delete.

        Returns:
            The object if it is terminating and not yet removed. Otherwise a Status, or for some resources the removed
            object.

        Raises:
            NotFound: The object does not exist.
            Conflict: A precondition is not met.
            Forbidden: The object may not be deleted.
            Invalid: The options are invalid.
        """
        options = DeleteOptions.read(call)
        version = self.storage.get(call.kind, call.namespace, call.name)
        if version is None:
            raise refuse.not_found(call.kind, call.name)
        check_convertible(call.kind, version)
        convert_all(call.kind, [version], again=True)  # deletes do not read from the watch cache
        return self.delete_version(call.kind, version, options, call)

    def delete_collection(self, call: Call) -> Document:
        """Delete the objects that a list would return, and return that list.

        The list has the parameters of the call.

        Raises:
            BadRequest: A selector is malformed.
            Conflict: A precondition is not met for one object; the objects before it in the list are deleted.
            Invalid: The options are invalid.
        """
        stored = self.storage.collection(call.kind.storage_group).current.values()
        convert_all(call.kind, stored, again=True)
        selected = select_objects(self.storage, call)
        check_convertible(call.kind, *stored)
        options = DeleteOptions.read(call)
        if call.webhooks is not None:
            # All answers are needed before the first delete, as the call is handled again until they are there.
            for version in selected.versions:
                with suppress(APIError):
                    self._admit(replace(call, warnings=[]), version, options)
        for version in selected.versions:
            if (present := self.storage.get(call.kind, version.namespace, version.name)) is not None:
                # Webhooks would be called to store finalizers, after other objects were deleted.
                self.delete_version(stored_kind(call.kind, present), present, options, call)
        return selected

    def delete_version(
        self, kind: Kind, version: Version, options: DeleteOptions, call: Call | None = None
    ) -> Document:
        """Delete the object stored as ``version``.

        Returns the response, like :meth:`delete`. Without a ``call``, the server itself deletes the object, and
        admission plugins do not see it.

        Raises:
            Conflict: A precondition is not met.
            Forbidden: The object may not be deleted.
        """
        in_two_steps = self.rules.of(kind).in_two_steps(kind)
        _check_preconditions(kind, version, options, early=in_two_steps)
        if call is not None:
            self._admit(call, version, options)
        finalizers = _finalizers(kind, version, options)
        if not (finalizers or version.finalizers or in_two_steps or is_graceful(kind)):
            return self._remove(kind, version, options)
        obj = version.decode(kind)
        if in_two_steps:
            return self._delete_in_two_steps(kind, obj, finalizers, version, options)
        grace = begin_grace(kind, obj, options.grace_period, self.identity.now())
        if grace is Grace.PENDING:
            return StoredDocument(kind, version)
        _set_finalizers(obj, finalizers)
        if finalizers:
            if grace is Grace.NONE:
                self._mark(obj)
            return self._write(kind, obj, version, options)
        if grace is Grace.BEGUN:
            answer = self._write(kind, obj, version, options)
            if options.dry_run or obj["metadata"]["deletionGracePeriodSeconds"] > 0:
                return answer
            version = self.storage.collection(kind.storage_group).current[version.key]
        return self._remove(kind, version, options)

    def _admit(self, call: Call, version: Version, options: DeleteOptions) -> None:
        attributes = Attributes(
            call=call,
            operation="DELETE",
            storage=self.storage,
            obj=None,
            old=version.decode(call.kind),
            dry_run=options.dry_run,
        )
        self.admission.mutate(attributes)
        self.admission.validate(attributes)

    def _delete_in_two_steps(
        self, kind: Kind, obj: JSONObject, finalizers: list[str], version: Version, options: DeleteOptions
    ) -> Document:
        """Delete an object that may have to stay although it has no finalizers.

        ``KindRules.in_two_steps`` is true for its kind.

        The first delete marks the object as terminating. A later delete removes it if it has no finalizers and the
        rules of its kind do not keep it.
        """
        if not version.deleting:
            _set_finalizers(obj, finalizers)
            obj["metadata"]["deletionTimestamp"] = self.identity.timestamp()
            self.rules.of(kind).before_delete(kind, obj)
            return self._write(kind, obj, version, options)
        if self.rules.of(kind).holds(kind, obj):
            return StoredDocument(kind, version)
        _set_finalizers(obj, finalizers)
        if finalizers:
            self._mark(obj)
            return self._write(kind, obj, version, options)
        return self._remove(kind, version, options)

    def _mark(self, obj: JSONObject) -> None:
        metadata = obj["metadata"]
        now = self.identity.timestamp()
        if "deletionTimestamp" not in metadata and "generation" in metadata:
            metadata["generation"] += 1
        # min() works because timestamps in this format sort as strings.
        metadata["deletionTimestamp"] = min(metadata.get("deletionTimestamp", now), now)
        metadata["deletionGracePeriodSeconds"] = 0

    def _write(self, kind: Kind, obj: JSONObject, version: Version, options: DeleteOptions) -> Document:
        if options.dry_run:
            return PlainDocument(obj)
        if obj == version.decode(kind):
            return StoredDocument(kind, version)  # not written, since nothing changes; the same as for an update
        return StoredDocument(kind, self.storage.put(kind, obj))

    def _remove(self, kind: Kind, version: Version, options: DeleteOptions) -> Document:
        gone = version if options.dry_run else self.storage.remove(kind.storage_group, version.key)
        return StoredDocument(kind, gone) if kind.group_resource in _ANSWER_WITH_OBJECT else deleted_status(kind, gone)


def _finalizers(kind: Kind, version: Version, options: DeleteOptions) -> list[str]:
    """Return the finalizers after a delete.

    One of them may be that of the propagation policy.
    """
    own = [name for name in version.finalizers if name not in {FOREGROUND, ORPHAN}]
    match _policy(kind, version, options):
        case "Foreground":
            return [*own, FOREGROUND]
        case "Orphan":
            return [*own, ORPHAN]
    return own


def _policy(kind: Kind, version: Version, options: DeleteOptions) -> str:
    """Return the propagation policy.

    It is that of the options, of the finalizers, or the default of the kind.
    """
    if kind.group_resource in _WITHOUT_DEPENDENTS:
        return "Background"
    if options.orphan is not None:
        return "Orphan" if options.orphan else "Background"
    if options.propagation:
        return options.propagation
    if ORPHAN in version.finalizers:
        return "Orphan"
    if FOREGROUND in version.finalizers:
        return "Foreground"
    return "Orphan" if kind.group_resource in _ORPHAN_BY_DEFAULT else "Background"


def _set_finalizers(obj: JSONObject, finalizers: list[str]) -> None:
    present = obj["metadata"].get("finalizers") or []
    if set(present) == set(finalizers):
        return
    if finalizers:
        obj["metadata"]["finalizers"] = finalizers
    else:
        del obj["metadata"]["finalizers"]


def _check_preconditions(kind: Kind, version: Version, options: DeleteOptions, *, early: bool) -> None:
    """Check the preconditions of a delete.

    With ``early=True`` the error has the message of kinds for which a real server checks them before the storage does.

    Raises:
        Conflict: A precondition is not met.
    """
    for name, wanted, present, what in (
        ("UID", options.uid, version.uid, "deleted and then recreated"),
        ("ResourceVersion", options.resource_version, str(version.revision), "modified"),
    ):
        if wanted is not None and wanted != present:
            if early:
                why = f"Precondition failed: {name} in precondition: {wanted}, {name} in object meta: {present}"
                raise refuse.conflict(kind, version.name, why)
            raise refuse.precondition_failed(kind, version.name, name, wanted, present, what)
