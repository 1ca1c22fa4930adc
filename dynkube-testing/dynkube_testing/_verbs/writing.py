"""Create and update: validate and store objects, with optimistic locking."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from dynkube.errors import AlreadyExists, StatusCause
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import Call, JSONObject, Result
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._patching.contents import all_fields_v1
from dynkube_testing._patching.entries import Writer, new_entry, with_former_times, write_entries
from dynkube_testing._patching.ownership import Ownership
from dynkube_testing._patching.shapes import shape_of
from dynkube_testing._schemas.correlation import same_json
from dynkube_testing._schemas.custom import Written, judged
from dynkube_testing._schemas.rules import Outcome, RuleBook
from dynkube_testing._store.documents import PlainDocument, StoredDocument
from dynkube_testing._store.storage import WriteStorage
from dynkube_testing._store.versions import Version
from dynkube_testing._verbs import bodies, objectmeta, strategies
from dynkube_testing._verbs.admission import Admission, AdmitAll, Attributes
from dynkube_testing._verbs.namespaces import Namespaces
from dynkube_testing._verbs.reading import Reader, Reading
from dynkube_testing._verbs.rules import Rules
from dynkube_testing._verbs.scaling import scale_to_patch, set_replicas
from dynkube_testing._verbs.sources import Identity
from dynkube_testing._verbs.stored_versions import check_convertible

_GENERATE_ATTEMPTS = 8


def _anybody(_: Call) -> None:
    """Allow every apply and update to create an object."""


@dataclass(frozen=True, slots=True)
class Writes:
    """Writes to one storage.

    Attributes:
        storage: Stores the objects.
        identity: Generates timestamps, UIDs and names.
        namespaces: Checks the namespaces of new objects.
        ownership: Tracks field ownership.
        rules: Rules specific to kinds.
        reader: Reads objects from requests.
        rulebook: Evaluates the validation rules of CRDs.
        permit_create: Function that is called before an apply or update creates an object. It raises Forbidden if the
            user has no permission to create it.
        admission: The admission plugins.
    """

    storage: WriteStorage
    identity: Identity
    namespaces: Namespaces
    ownership: Ownership
    rules: Rules
    reader: Reader
    rulebook: RuleBook
    permit_create: Callable[[Call], None] = _anybody
    admission: Admission = field(default_factory=AdmitAll)

    def create(self, call: Call) -> Result:
        """Handle a create.

        Raises:
            BadRequest: The body is not an object of this kind.
            Invalid: The content of the object is invalid.
            ServerError: The object is too large.
            AlreadyExists: An object with this name exists.
            NotFound: The namespace does not exist.
            Forbidden: The namespace or the kind's CRD is being deleted.
        """
        return self.create_object(call, self.reader.read(call))

    def create_object(self, call: Call, reading: Reading, *, owned: bool = False) -> Result:
        """Create the object in ``reading``, which has been checked against the path.

        With ``owned=True`` its ``managedFields`` are complete already; otherwise the manager of the request is recorded
        in them.
        """
        kind, obj = call.kind, reading.obj
        metadata = obj["metadata"]
        if kind.terminating:
            why = "create not allowed while custom resource definition is terminating"
            raise refuse.forbidden(kind, metadata.get("name", ""), why)
        version = metadata.pop("resourceVersion", "")
        if version.isdecimal() and int(version) and not call.options.dry_run:  # non-numeric values are ignored
            raise refuse.failed("resourceVersion should not be set on objects to be created")
        self.namespaces.check_open(kind, call.namespace, metadata.get("name", ""))
        generated = not metadata.get("name") and bool(metadata.get("generateName"))
        misfits = self.ownership.enabled and not owned and self.reader.misfits(kind, obj)
        if misfits:
            metadata.pop("managedFields", None)
        for _ in range(_GENERATE_ATTEMPTS if generated else 1):
            if generated:
                metadata["name"] = self.identity.generated(metadata["generateName"])
            # Names are checked after the validation, since an invalid object gets 422 even if the name exists.
            writer = None if owned or misfits else self._writer(call)
            self._prepare_new(self._attributes(call, obj, None, unnamed=generated), writer, applied=owned)
            if self.storage.get(kind, call.namespace, metadata["name"]) is None:
                # As in a real server, a default status is in the response, but is stored only by the next write.
                shown = self.reader.fill_status(kind, obj)
                kept = _read_again(kind, obj) if owned else obj
                if call.options.dry_run and version:
                    # A resourceVersion is checked and replaced only by the storage, so a dry run returns it unchanged.
                    kept = {**kept, "metadata": {**kept["metadata"], "resourceVersion": version}}
                return Result(document=self._store(call, kept, provisional=shown, applied=owned), status=201)
        raise self._taken(call, metadata["name"], bool(metadata.get("generateName")))

    def _attributes(self, call: Call, obj: JSONObject, old: JSONObject | None, *, unnamed: bool = False) -> Attributes:
        return Attributes(
            call=call,
            operation="CREATE" if old is None else "UPDATE",
            storage=self.storage,
            obj=obj,
            old=old,
            dry_run=call.options.dry_run,
            subresource=call.subresource,
            read_again=partial(self._read_changed, call.kind),
            unnamed=unnamed,
        )

    def _read_changed(self, kind: Kind, obj: JSONObject) -> JSONObject:
        result = self.reader.read_changed(kind, obj)
        self.rules.of(kind).complete(kind, result)
        return result

    def _prepare_new(self, attributes: Attributes, writer: Writer | None, *, applied: bool) -> None:
        """Set the server's fields in a new object, admit and validate it.

        Field ownership is recorded, too.

        ``writer`` is recorded as the owner of the fields in the request; with ``None`` nothing is recorded.
        """
        call, obj = attributes.call, attributes.new
        kind = call.kind
        strategies.reset_for_create(obj, kind)
        objectmeta.stamp_new(obj, kind, self.identity, applied=applied)
        rules = self.rules.of(kind)
        rules.complete(kind, obj)
        if writer is not None:
            # Recorded before the server sets its fields, because these have no owner.
            self.ownership.record(kind, obj, None, writer)
        rules.admit(kind, obj, None)
        if (changed := self.admission.mutate(attributes)) is not None:
            obj.clear()
            obj.update(changed)
            call.warnings.extend(objectmeta.without_repeated_owners(obj, patched=True))
            strategies.reset_for_create(obj, kind)
            rules.admit(kind, obj, None)
        rules.authorize(call, obj, None)
        rules.ascribe(call, obj)
        if not call.subresource:
            rules.allocate(kind, obj, None)
        rules.prepare(kind, obj, None)
        causes = objectmeta.metadata_causes(obj, kind) + rules.causes(kind, obj, None)
        outcome = self._judged(call, obj, None, causes)
        if causes := causes + outcome.causes:
            raise refuse.invalid(kind, obj["metadata"].get("name", ""), causes)
        call.warnings.extend(outcome.warnings + objectmeta.finalizer_warnings(obj, None, kind))
        call.warnings.extend(rules.warnings(kind, obj, None))
        self.admission.validate(replace(attributes, unnamed=False) if attributes.unnamed else attributes)

    def on_record(self, call: Call, answer: Mapping[str, object]) -> JSONObject:
        """Return the result of a review with ``managedFields`` for its client.

        Reviews are not stored, but a real server records the client in them nevertheless.
        """
        noted: JSONObject = {**answer, "metadata": answer.get("metadata") or {}}
        if not self.ownership.enabled or not isinstance(call.body, dict):
            return noted
        given = {name: value for name, value in call.body.items() if name != "status"}
        fields = all_fields_v1({**given, "metadata": given.get("metadata") or {}}, shape_of(call.kind))
        if fields:
            noted["metadata"] = dict(noted["metadata"])
            write_entries(noted, [new_entry(call.kind, self._writer(call), fields)])
        return noted

    def seed(self, kind: Kind, obj: JSONObject, manager: str, fields: JSONObject) -> None:
        """Create an initial object of the server, which must be complete and valid.

        Its ``fields`` (FieldsV1) are owned by ``manager``. A server with RBAC has 140 such objects: to compute their
        fields and validate them took 30 ms of each start.
        """
        objectmeta.stamp_new(obj, kind, self.identity, applied=True)
        if self.ownership.enabled:
            writer = Writer(manager=manager, operation="Update", subresource="", time=self.identity.timestamp())
            write_entries(obj, [new_entry(kind, writer, fields)])
        self.storage.put(kind, obj)

    def update(self, call: Call) -> Result:
        """Handle an update of an object or of its status.

        Raises:
            BadRequest: The body is not an object of this kind, or has another name than the path.
            NotFound: The object does not exist, and updates of this kind do not create it.
            Conflict: The resourceVersion in the body is outdated, or the UID differs from the stored object's.
            Forbidden: The update would create the object, and the user has no permission to create it.
            Invalid: The content of the object is invalid.
        """
        reading = self.reader.read(call)
        bodies.check_name_in_path(reading.obj, call)
        if strategies.creates_on_update(call.kind) and self.storage.get(call.kind, call.namespace, call.name) is None:
            return self._create_by_update(call, reading)
        old = self.existing(call)
        unlocked = not objectmeta.read_version(reading.obj)
        if unlocked and not strategies.allows_unconditional_update(call.kind):
            raise refuse.must_be_locked(call.kind, call.name)
        return self.update_object(call, reading, old)

    def _create_by_update(self, call: Call, reading: Reading) -> Result:
        """Handle an update by creating the missing object; its resourceVersion is ignored.

        Raises:
            Conflict: The body has a UID, so the client expects an existing object.
            Forbidden: The user has permission to update the object, but not to create it.
        """
        metadata = reading.obj["metadata"]
        if uid := metadata.get("uid"):
            raise refuse.other_object(call.kind, call.namespace, call.name, uid, "")
        objectmeta.read_version(reading.obj)
        self.permit_create(call)
        if not call.options.dry_run:
            metadata.pop("resourceVersion", None)
        if call.subresource and self.ownership.enabled:
            # Created by an update of its status, the object gets the same field owners as if it had existed.
            self.ownership.record_part(call.kind, reading.obj, self._writer(call))
        return self.create_object(call, reading, owned=bool(call.subresource))

    def update_object(
        self,
        call: Call,
        reading: Reading,
        old: Version,
        *,
        owned: bool = False,
        requested: Call | None = None,
    ) -> Result:
        """Replace the stored object ``old`` by the object in ``reading``.

        Args:
            call: The request.
            reading: The new object.
            old: The stored object.
            owned: Whether the new object's ``managedFields`` are complete already; otherwise the manager of the request
                is recorded in them.
            requested: The request to a subresource that is carried out by this update of the object: ``scale``.
        """
        kind, obj = call.kind, reading.obj
        self._check_same(call, obj, old)
        before = old.decode(kind)
        custom = kind.crd_uid is not None
        if custom and not owned:
            # Before the reset: in the CRD's other versions, the manager owns even fields that this path cannot change.
            self._record_custom(call, obj, before)
        obj = strategies.reset_for_update(obj, before, kind, call.subresource)
        sent = {name for name in objectmeta.DELETION_FIELDS if obj["metadata"].get(name) is not None}
        objectmeta.carry_over(obj, before)
        rules = self.rules.of(kind)
        rules.complete(kind, obj)
        if not custom and not owned:
            self._record_builtin(call, obj, before, sent)
        attributes = self._mutated(self._attributes(call, obj, before), before, requested)
        obj = attributes.new
        rules.authorize(call, obj, before)
        if not call.subresource:
            rules.allocate(kind, obj, before)
        rules.prepare(kind, obj, before)
        strategies.bump_generation(obj, before, kind, call.subresource)
        causes, outcome = self._change_causes(call, obj, before)
        if causes:
            raise refuse.invalid(kind, call.name, causes)
        obj["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"]
        call.warnings.extend(outcome.warnings + objectmeta.finalizer_warnings(obj, before, kind))
        if not call.subresource:
            call.warnings.extend(rules.warnings(kind, obj, before))
        self.admission.validate(attributes if requested is None else _scaling(attributes, requested))
        if same_json(unchanged := with_former_times(obj, before), before):
            obj = unchanged
            if old.stays(kind, obj):
                # An update without a change is not written: the resourceVersion stays, and watches get no event.
                return Result(document=StoredDocument(kind, old))
        kept = _read_again(kind, obj) if owned else obj
        return Result(document=self._finish_update(call, kept, old, applied=owned))

    def _mutated(self, attributes: Attributes, before: JSONObject, requested: Call | None) -> Attributes:
        """Let the mutating admission plugins change the object of an update; ``requested`` as for update_object."""
        call, obj, kind = attributes.call, attributes.new, attributes.kind
        rules = self.rules.of(kind)
        rules.admit(kind, obj, before)
        changed = self.admission.mutate(attributes if requested is None else _scaling(attributes, requested))
        if changed is None:
            return attributes
        if requested is None:
            obj = strategies.reset_for_update(changed, before, kind, call.subresource)
            objectmeta.carry_over(obj, before)
        else:
            set_replicas(requested, obj, changed)
        rules.admit(kind, obj, before)
        return replace(attributes, obj=obj)

    def _record_builtin(self, call: Call, obj: JSONObject, before: JSONObject, sent: set[str]) -> None:
        """Record the manager of an update of a built-in kind in ``managedFields``.

        If the body omits ``deletionTimestamp`` or ``deletionGracePeriodSeconds``, the manager is treated as having
        removed them. ``sent`` has the names of those that the body contains.
        """
        metadata = obj["metadata"]
        kept = {name: metadata.pop(name) for name in objectmeta.DELETION_FIELDS - sent if name in metadata}
        self.ownership.record(call.kind, obj, before, self._writer(call))
        metadata.update(kept)

    def _record_custom(self, call: Call, obj: JSONObject, before: JSONObject) -> None:
        """Record the manager of an update of a custom resource in ``managedFields``.

        If the old or the new object has values of wrong types, ``managedFields`` is removed instead.
        """
        kind, reader = call.kind, self.reader
        if self.ownership.enabled and (reader.misfits(kind, obj) or reader.misfits(kind, before)):
            obj["metadata"].pop("managedFields", None)
        else:
            self.ownership.record(kind, obj, before, self._writer(call))

    def _change_causes(self, call: Call, obj: JSONObject, before: JSONObject) -> tuple[list[StatusCause], Outcome]:
        """Validate the change from ``before`` to ``obj``.

        Returns:
            The causes of a 422 in the order of a real server, and the outcome of the CRD's validation.
        """
        kind, rules = call.kind, self.rules.of(call.kind)
        again = kind.storage_group in strategies.VALIDATED_AGAIN and not call.subresource
        causes = objectmeta.change_causes(obj, before, kind, again=again)
        changes = [] if call.subresource else rules.change_causes(kind, obj, before)
        contents = rules.causes(kind, obj, before)
        if call.subresource == "resize":
            changes = rules.resize_causes(kind, obj, before)
        causes += changes + contents if kind.storage_group in strategies.CHANGES_FIRST else contents + changes
        outcome = self._judged(call, obj, before, causes)
        return causes + outcome.causes, outcome

    def existing(self, call: Call) -> Version:
        """Return the stored version of the object in the path.

        Raises:
            NotFound: The object does not exist.
            ServerError: It is stored in a version that its CRD has no more.
        """
        version = self.storage.get(call.kind, call.namespace, call.name)
        if version is None:
            raise refuse.not_found(call.kind, call.name)
        check_convertible(call.kind, version)
        return version

    def _judged(self, call: Call, obj: JSONObject, old: JSONObject | None, found: Sequence[StatusCause]) -> Outcome:
        """Validate a custom resource against its CRD.

        For other objects the outcome is empty.

        ``found`` has the causes that were found before.
        """
        schema = self.reader.schemas.of(call.kind) if call.kind.crd_uid is not None else None
        if schema is None:
            return Outcome()
        return judged(Written(call.kind, schema, obj, old, call.subresource, tuple(found)), self.rulebook)

    def _finish_update(
        self, call: Call, obj: JSONObject, old: Version, *, applied: bool
    ) -> StoredDocument | PlainDocument:
        kind, metadata = call.kind, obj["metadata"]
        gone = "deletionTimestamp" in metadata and not metadata.get("finalizers")
        if gone and not self.rules.of(kind).holds(kind, obj) and not call.options.dry_run:
            # As in a real server, the DELETED event has the last stored object, with its finalizers.
            self.storage.remove(kind.storage_group, old.key)
            return PlainDocument(obj)
        return self._store(call, obj, applied=applied)

    def _store(
        self, call: Call, obj: JSONObject, *, applied: bool, provisional: bool = False
    ) -> StoredDocument | PlainDocument:
        kind = call.kind
        if call.options.dry_run:
            shown = _read_again(kind, obj)
            return PlainDocument({"apiVersion": kind.api_version, "kind": kind.kind, **shown})
        version = self.storage.encoded(kind, obj)
        if version.size > refuse.MAX_OBJECT and not applied:
            # As in a real server, managedFields are dropped if the object is too large with them, except for an apply.
            metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
            version = self.storage.encoded(kind, {**obj, "metadata": metadata})
        if version.size > refuse.MAX_OBJECT:
            raise refuse.too_large()
        if provisional:
            version = version.copied(kind, replace(version, provisional=True))
        return StoredDocument(kind, self.storage.put_version(kind, version))

    def _check_same(self, call: Call, obj: JSONObject, old: Version) -> None:
        metadata = obj["metadata"]
        uid, revision = metadata.get("uid"), objectmeta.read_version(obj)
        unlocked = bool(metadata.get("resourceVersion")) and not revision
        if unlocked and not strategies.allows_unconditional_update(call.kind):
            raise refuse.must_be_locked(call.kind, old.name)
        # Another UID in a patch is not an error here: the validation reports it as a change of an immutable field.
        if call.verb == "update" and uid and uid != old.uid:
            raise refuse.other_object(call.kind, old.namespace, old.name, uid, old.uid)
        if revision and revision != str(old.revision):
            raise refuse.conflict(call.kind, old.name)

    def _writer(self, call: Call) -> Writer:
        return Writer(
            manager=call.options.field_manager,
            operation="Update",
            subresource=call.subresource,
            time=self.identity.timestamp(),
        )

    def _taken(self, call: Call, name: str, generated: bool) -> Exception:
        error = refuse.already_exists(call.kind, name)
        assert isinstance(error, AlreadyExists)
        message = error.status.message
        present = self.storage.get(call.kind, call.namespace, name)
        if present is not None and present.deleting:
            message = f"object is being deleted: {message}"
        if not generated:
            return AlreadyExists(replace(error.status, message=message))
        message = f"{message}, the server was not able to generate a unique name for the object"
        return AlreadyExists(replace(error.status, message=message, retry_after=1))


def _scaling(attributes: Attributes, requested: Call) -> Attributes:
    """Return the attributes of a request to the ``scale`` subresource, with Scales as the objects."""
    assert attributes.old is not None, "an update"
    new, old = (scale_to_patch(requested, obj) for obj in (attributes.new, attributes.old))
    return replace(attributes, call=requested, subresource="scale", obj=new, old=old, read_again=_as_read)


def _as_read(scale: JSONObject) -> JSONObject:
    return scale


def _read_again(kind: Kind, obj: JSONObject) -> JSONObject:
    """Return ``obj``, the result of an apply, as clients read it when it is stored.

    This removes nulls that the schema does not allow. They must be present in the validation before.
    """
    content = kind.content
    return obj if content is None else content.shown(content.to_keep(obj))
