"""Patches of all types, of an object or a subresource."""

from __future__ import annotations

from dataclasses import dataclass

from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import APPLY_PATCH, Call, JSONObject, Result
from dynkube_testing._patching import transforms
from dynkube_testing._patching.apply import Application
from dynkube_testing._patching.entries import Writer
from dynkube_testing._verbs import bodies, objectmeta, strategies
from dynkube_testing._verbs.reading import Reading
from dynkube_testing._verbs.rescaling import Scales
from dynkube_testing._verbs.stored_versions import check_convertible
from dynkube_testing._verbs.writing import Writes


@dataclass(frozen=True, slots=True)
class Patches:
    """Handles patches.

    Attributes:
        writes: Writes the patched objects.
        scales: Handles patches of the scale subresource.
    """

    writes: Writes
    scales: Scales

    def patch(self, call: Call) -> Result:
        """Handle a patch; an apply may create the object.

        Raises:
            NotFound: The object does not exist, and the patch is not an apply that can create it.
            Forbidden: An apply would create the object, and the user has no permission to create it.
            UnsupportedMediaType: The resource does not support this type of patch.
            BadRequest: The patch or its result is malformed.
            Conflict: The patch has an outdated resourceVersion, or an apply conflicts with other managers.
            Invalid: The patch cannot be applied, or its result is invalid.
        """
        if call.content_type == APPLY_PATCH:
            return self._apply(call)
        if call.content_type not in transforms.accepted_patches(call.kind):
            raise refuse.unsupported_media_type(transforms.accepted_patches(call.kind))
        old = self.writes.existing(call)
        if call.subresource == "scale":
            return self.scales.patch(call, old)
        patched = transforms.patched(old.decode(call.kind), call)
        return self.writes.update_object(call, self.writes.reader.read_patched(call, patched), old)

    def _apply(self, call: Call) -> Result:
        old = self.writes.storage.get(call.kind, call.namespace, call.name)
        check_convertible(call.kind, *([old] if old is not None else []))
        creates = call.subresource in {"", "status"} and strategies.creates_on_update(call.kind)
        if old is None and call.subresource and not creates:
            raise refuse.not_found(call.kind, call.name)
        if call.subresource == "scale" and old is not None:
            return self.scales.apply(call, old)
        applied = self._applied(self.writes.reader.read_applied(call).obj)
        writer = Writer(
            manager=call.options.field_manager,
            operation="Apply",
            subresource=call.subresource,
            time=self.writes.identity.timestamp(),
        )
        application = Application(call.kind, writer, call.options.force, self.writes.ownership.versions(call.kind))
        objectmeta.read_version(applied)
        if old is None:
            return self._create(call, application, applied)
        merged = self._completed(call, application.merge(old.decode(call.kind), applied), applied)
        bodies.check_namespace(merged.obj, call)
        bodies.check_name_in_path(merged.obj, call)
        return self.writes.update_object(call, merged, old, owned=True)

    def _create(self, call: Call, application: Application, applied: JSONObject) -> Result:
        """Create the applied object; its resourceVersion is ignored.

        Raises:
            Conflict: It has a UID, so the client expects an existing object.
        """
        if uid := applied["metadata"].get("uid"):
            why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            raise refuse.conflict(call.kind, call.name, why)
        given = {**applied, "metadata": dict(applied["metadata"])}  # errors name the namespace only if it was sent
        bodies.check_namespace(applied, call)
        bodies.check_name_in_path(applied, call)
        self.writes.permit_create(call)
        created = self._completed(call, application.merge(None, applied), given)
        if not call.options.dry_run:
            created.obj["metadata"].pop("resourceVersion", None)
        return self.writes.create_object(call, created, owned=True)

    def _completed(self, call: Call, merged: JSONObject, given: JSONObject) -> Reading:
        metadata = {name: value for name, value in merged["metadata"].items() if value is not None}
        return Reading(self.writes.reader.completed(call, {**merged, "metadata": metadata}, given))

    @staticmethod
    def _applied(applied: JSONObject) -> JSONObject:
        """Return an applied configuration without the metadata that the server sets.

        It is modified in place.

        Raises:
            BadRequest: It has ``managedFields``.
        """
        metadata = applied["metadata"]
        if "managedFields" in metadata:
            raise refuse.bad_request("metadata.managedFields must be nil")
        for field in objectmeta.SYSTEM_FIELDS:
            if field not in {"uid", "generation", "deletionGracePeriodSeconds", "deletionTimestamp"}:
                metadata.pop(field, None)
        return applied
