"""Create and update: from a checked body to a stored version, with optimistic locking."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dynkube.errors import AlreadyExists
from dynkube.testing._calls import refuse
from dynkube.testing._calls.api import Call, JSONObject
from dynkube.testing._calls.options import WriteOptions
from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._patching.ownership import Ownership, Writer
from dynkube.testing._store.documents import PlainDocument, StoredDocument
from dynkube.testing._store.storage import Storage, Version
from dynkube.testing._verbs import objectmeta, strategies
from dynkube.testing._verbs.namespaces import Namespaces
from dynkube.testing._verbs.objectmeta import Identity
from dynkube.testing._verbs.rules import Rules

_GENERATE_ATTEMPTS = 8


@dataclass(frozen=True, slots=True)
class Writes:
    """Writes to one storage.

    Attributes:
        storage: Where objects go.
        identity: Times, UIDs, generated names.
        namespaces: Which namespaces take new objects.
        ownership: Who wrote which field.
        rules: What single kinds do about their objects.
    """

    storage: Storage
    identity: Identity
    namespaces: Namespaces
    ownership: Ownership
    rules: Rules

    def create(self, call: Call) -> StoredDocument | PlainDocument:
        """Carry out a create.

        Raises:
            BadRequest: The body is no object of this kind.
            Invalid: Its content is not valid.
            AlreadyExists: The name is taken.
            NotFound: The namespace does not exist.
            Forbidden: The namespace is being deleted.
            MethodNotAllowed: The kind's definition is being deleted.
        """
        options = WriteOptions.read(call)
        return self.create_object(call, objectmeta.own_copy(call), options)

    def create_object(
        self, call: Call, obj: JSONObject, options: WriteOptions, *, owned: bool = False
    ) -> StoredDocument | PlainDocument:
        """Create ``obj``, which is the caller's own copy and consistent with the path.

        ``owned`` says that its ``managedFields`` are accounted for already.
        """
        kind, metadata = call.kind, obj["metadata"]
        if kind.terminating:
            raise refuse.method_not_allowed("create not allowed while custom resource definition is terminating")
        if metadata.pop("resourceVersion", ""):
            raise refuse.version_set_on_create()
        self.namespaces.check_open(kind, call.namespace, metadata.get("name", ""))
        generated = not metadata.get("name") and bool(metadata.get("generateName"))
        for _ in range(_GENERATE_ATTEMPTS if generated else 1):
            if generated:
                metadata["name"] = self.identity.generated(metadata["generateName"])
            if self.storage.get(kind, call.namespace, metadata.get("name", "")) is None:
                return self._create(call, obj, options, owned=owned)
        raise self._taken(kind, metadata["name"], generated)

    def _create(
        self, call: Call, obj: JSONObject, options: WriteOptions, *, owned: bool
    ) -> StoredDocument | PlainDocument:
        kind = call.kind
        strategies.reset_for_create(obj, kind)
        objectmeta.stamp_new(obj, kind, self.identity)
        rules = self.rules.of(kind)
        rules.prepare(kind, obj, None)
        causes = objectmeta.metadata_causes(obj, kind) + rules.causes(kind, obj, None)
        if causes:
            raise refuse.invalid(kind, obj["metadata"].get("name", ""), causes)
        if not owned:
            self.ownership.record(kind, obj, None, self._writer(call, options))
        return self._store(kind, obj, options)

    def update(self, call: Call) -> StoredDocument | PlainDocument:
        """Carry out an update of an object or of its status.

        Raises:
            BadRequest: The body is no object of this kind, or another one than the path names.
            NotFound: The object does not exist.
            Conflict: It has changed since the body was read, or is another one of the same name.
            Invalid: The content is not valid.
        """
        options = WriteOptions.read(call)
        obj = objectmeta.own_copy(call)
        objectmeta.check_name_in_path(obj, call)
        old = self.existing(call)
        unlocked = not obj["metadata"].get("resourceVersion")
        if unlocked and not strategies.allows_unconditional_update(call.kind):
            cause = refuse.bad_value("metadata.resourceVersion", 0, "must be specified for an update")
            raise refuse.invalid(call.kind, call.name, [cause])
        return self.update_object(call, obj, old, options)

    def update_object(
        self, call: Call, obj: JSONObject, old: Version, options: WriteOptions, *, owned: bool = False
    ) -> StoredDocument | PlainDocument:
        """Write ``obj``, which is the caller's own copy, over ``old``.

        ``owned`` says that its ``managedFields`` are accounted for already.
        """
        kind = call.kind
        self._check_same(kind, obj, old)
        before = old.decode(kind)
        obj = strategies.reset_for_update(obj, before, kind, call.subresource)
        objectmeta.carry_over(obj, before)
        rules = self.rules.of(kind)
        rules.prepare(kind, obj, before)
        strategies.bump_generation(obj, before, kind)
        causes = objectmeta.metadata_causes(obj, kind) + objectmeta.finalizer_causes(obj, before)
        causes += rules.causes(kind, obj, before)
        if causes:
            raise refuse.invalid(kind, call.name, causes)
        if not owned:
            self.ownership.record(kind, obj, before, self._writer(call, options))
        obj["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"]
        if obj == before:
            return StoredDocument(kind, old)  # nothing to write: the revision stays, and nobody is told
        return self._finish_update(kind, obj, old, options)

    def existing(self, call: Call) -> Version:
        """The present state of the object the path names.

        Raises:
            NotFound: It does not exist.
        """
        version = self.storage.get(call.kind, call.namespace, call.name)
        if version is None:
            raise refuse.not_found(call.kind, call.name)
        return version

    def _finish_update(
        self, kind: Kind, obj: JSONObject, old: Version, options: WriteOptions
    ) -> StoredDocument | PlainDocument:
        metadata = obj["metadata"]
        gone = "deletionTimestamp" in metadata and not metadata.get("finalizers")
        if gone and not self.rules.of(kind).holds(kind, obj) and not options.dry_run:
            # As in the real server the deletion's event shows what was stored last, finalizer included.
            self.storage.remove(kind.storage_group, old.key)
            return PlainDocument(obj)
        return self._store(kind, obj, options)

    def _store(self, kind: Kind, obj: JSONObject, options: WriteOptions) -> StoredDocument | PlainDocument:
        if options.dry_run:
            return PlainDocument({"apiVersion": kind.api_version, "kind": kind.kind, **obj})
        return StoredDocument(kind, self.storage.put(kind, obj))

    def _check_same(self, kind: Kind, obj: JSONObject, old: Version) -> None:
        metadata = obj["metadata"]
        uid, revision = metadata.get("uid"), metadata.get("resourceVersion")
        if uid and uid != old.uid:
            why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old.uid}"
            raise refuse.conflict(kind, old.name, why)
        if revision and revision != str(old.revision):
            raise refuse.conflict(kind, old.name)

    def _writer(self, call: Call, options: WriteOptions) -> Writer:
        return Writer(
            manager=options.field_manager,
            operation="Update",
            subresource=call.subresource,
            time=self.identity.timestamp(),
        )

    @staticmethod
    def _taken(kind: Kind, name: str, generated: bool) -> Exception:
        error = refuse.already_exists(kind, name)
        assert isinstance(error, AlreadyExists)
        if not generated:
            return error
        message = f"{error.status.message}, the server was not able to generate a unique name for the object"
        return AlreadyExists(replace(error.status, message=message))
