"""Carrying out a patch, of whichever kind, on an object, its status or its scale."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dynkube.testing._calls import refuse
from dynkube.testing._calls.api import APPLY_PATCH, Call, JSONObject, Result
from dynkube.testing._calls.options import WriteOptions
from dynkube.testing._patching import transforms
from dynkube.testing._patching.apply import Application
from dynkube.testing._patching.ownership import Writer
from dynkube.testing._store.documents import PlainDocument
from dynkube.testing._store.storage import Version
from dynkube.testing._verbs import objectmeta, strategies
from dynkube.testing._verbs.reading import Reading
from dynkube.testing._verbs.scaling import scale_of, scale_to_patch, scaled
from dynkube.testing._verbs.writing import Writes


@dataclass(frozen=True, slots=True)
class Patches:
    """Patches through one :class:`~dynkube.testing._verbs.writing.Writes`.

    Attributes:
        writes: Writes what results.
    """

    writes: Writes

    def patch(self, call: Call) -> Result:
        """Carry out a patch; an apply may create the object.

        Raises:
            NotFound: There is no such object.
            Forbidden: An apply would create the object, and the caller may only patch.
            UnsupportedMediaType: The resource does not take this kind of patch.
            BadRequest: The patch, or what results from it, does not make sense.
            Conflict: The patch names another resourceVersion, or an apply meets other owners.
            Invalid: The patch cannot be carried out, or its result is not valid.
        """
        if call.content_type == APPLY_PATCH:
            return self._apply(call, WriteOptions.read(call))
        if call.content_type not in transforms.accepted_patches(call.kind):
            raise refuse.unsupported_patch(transforms.accepted_patches(call.kind))
        options, old = WriteOptions.read(call), self.writes.existing(call)
        if call.subresource == "scale":
            return self._patch_scale(call, old, options)
        patched = transforms.patched(old.decode(call.kind), call)
        return self.writes.update_object(call, self.writes.reader.read_patched(call, patched, options), old, options)

    def update_scale(self, call: Call) -> Result:
        """Write the Scale in the body.

        Raises:
            NotFound: There is no such object.
            BadRequest: The body is no Scale.
            Conflict: It is that of an older state.
            Invalid: The number of replicas is not valid.
        """
        options = WriteOptions.read(call)
        scale = self.writes.reader.read_scale(call, options)
        return self._rescale(call, self.writes.existing(call), scale, options)

    def _patch_scale(self, call: Call, old: Version, options: WriteOptions) -> Result:
        scale = scale_to_patch(call, old.decode(call.kind))
        patched = transforms.patched(scale, call)
        self.writes.reader.check_patched_scale(patched)
        return self._rescale(call, old, patched, options)

    def _rescale(self, call: Call, old: Version, scale: object, options: WriteOptions) -> Result:
        obj = scaled(call, old, scale)
        # Written as part of the object: the spec is what changes, and its generation counts it.
        # As in a real server, nobody notes when somebody first scaled it.
        writer = Writer(manager=options.field_manager, operation="Update", subresource="scale", time="")
        whole = replace(call, subresource="")
        written = self.writes.update_object(whole, Reading(obj), old, options, writer=writer)
        return Result(document=PlainDocument(scale_of(call, written.document.data)))

    def _apply(self, call: Call, options: WriteOptions) -> Result:
        old = self.writes.storage.get(call.kind, call.namespace, call.name)
        creates = call.subresource in {"", "status"} and strategies.creates_on_update(call.kind)
        if old is None and call.subresource and not creates:
            raise refuse.not_found(call.kind, call.name)
        if call.subresource == "scale":
            raise refuse.unsupported_patch(transforms.accepted_patches(call.kind)[:-1])
        reading = self.writes.reader.read_applied(call, options)
        sent = {**reading.obj}
        applied = self._applied(call, reading.obj)
        beside = {name: value for name, value in sent.items() if name not in applied}
        writer = Writer(
            manager=options.field_manager,
            operation="Apply",
            subresource=call.subresource,
            time=self.writes.identity.timestamp(),
        )
        application = Application(call.kind, writer, options.force)
        objectmeta.read_version(applied)
        if old is None:
            objectmeta.check_namespace(applied, call)
            objectmeta.check_name_in_path(applied, call)
            if uid := applied["metadata"].get("uid"):
                why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                raise refuse.conflict(call.kind, call.name, why)
            self.writes.permit_create(call)
            # What is not theirs through this subresource is written all the same.
            whole = {**(beside if call.subresource else {}), **application.merge(None, applied, beside)}
            created = self._completed(call, whole, applied)
            return self.writes.create_object(call, created, options, owned=True)
        merged = self._completed(call, application.merge(old.decode(call.kind), applied, beside), applied)
        objectmeta.check_namespace(merged.obj, call)
        return self.writes.update_object(call, merged, old, options, owned=True)

    def _completed(self, call: Call, merged: JSONObject, given: JSONObject) -> Reading:
        metadata = {name: value for name, value in merged["metadata"].items() if value is not None}
        return Reading(self.writes.reader.completed(call, {**merged, "metadata": metadata}, given))

    @staticmethod
    def _applied(call: Call, applied: JSONObject) -> JSONObject:
        """What the manager wants, without what it has no say in through this subresource."""
        metadata = applied["metadata"]
        if "managedFields" in metadata:
            raise refuse.bad_request("metadata.managedFields must be nil")
        for field in objectmeta.SYSTEM_FIELDS:
            if field not in {"uid", "deletionGracePeriodSeconds", "deletionTimestamp"}:
                metadata.pop(field, None)
        if call.subresource == "status" and call.kind.crd_uid is not None:
            # Of everything else nothing is written there, so nothing of it is theirs.
            names = ("name", "namespace", "resourceVersion")
            applied = {**applied, "metadata": {name: metadata[name] for name in names if name in metadata}}
        if call.subresource == "status":
            identity = ("apiVersion", "kind", "metadata", "status")
            return {field: applied[field] for field in identity if field in applied}
        if "status" in call.kind.subresources:
            applied.pop("status", None)
        return applied
