"""Writes of the ``scale`` subresource, with field ownership of the replicas."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from dynkube.errors import APIError
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import Call, JSONObject, Result
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._patching import transforms
from dynkube_testing._patching.apply import Application
from dynkube_testing._patching.comparing import differ
from dynkube_testing._patching.elements import Path
from dynkube_testing._patching.entries import Operation, Writer, read_entries, write_entries
from dynkube_testing._patching.scales import ScaledOwners, scale_kind
from dynkube_testing._patching.versions import BuiltinVersions
from dynkube_testing._store.documents import PlainDocument
from dynkube_testing._store.versions import Version
from dynkube_testing._verbs.reading import Reading
from dynkube_testing._verbs.scaling import scale_of, scale_to_patch, scaled
from dynkube_testing._verbs.writing import Writes


@dataclass(frozen=True, slots=True)
class Scales:
    """Handles updates, patches and applies of the ``scale`` subresource.

    Attributes:
        writes: Writes the scaled objects.
        versions: Function that returns all served versions of a kind.
    """

    writes: Writes
    versions: Callable[[Kind], Iterable[Kind]]

    def update(self, call: Call) -> Result:
        """Handle an update with the Scale in the body.

        Raises:
            NotFound: The object does not exist.
            BadRequest: The body is not a Scale.
            Conflict: The resourceVersion of the Scale is outdated.
            Invalid: The number of replicas is invalid.
        """
        scale = self.writes.reader.read_scale(call)
        return self._updated(call, self.writes.existing(call), scale)

    def patch(self, call: Call, old: Version) -> Result:
        """Handle a patch, except for an apply, of the Scale of ``old``."""
        patched = transforms.patched(scale_to_patch(call, old.decode(call.kind)), call)
        self.writes.reader.check_patched_scale(patched)
        return self._updated(call, old, patched)

    def apply(self, call: Call, old: Version) -> Result:
        """Handle an apply to the Scale of ``old``.

        Raises:
            BadRequest: The body is not a Scale.
            ApplyConflict: Other managers own the replicas.
            ServerError: The apply would change the Scale of a custom resource; a real server fails to do this, too.
        """
        kind = scale_kind(namespaced=call.kind.namespaced)
        applied = self.writes.reader.read_applied(replace(call, kind=kind)).obj
        if "managedFields" in applied["metadata"]:
            raise refuse.bad_request("metadata.managedFields must be nil")
        owners, live = self._owners(call, old), scale_of(call, old.decode(call.kind))
        live["metadata"] = dict(live["metadata"])
        write_entries(live, owners.of_scale())
        application = Application(kind, self._writer(call, "Apply"), call.options.force, BuiltinVersions(kind))
        result = application.merge(live, applied)
        if call.kind.crd_uid is not None and differ(_without_owners(live), _without_owners(result), application.shape):
            raise _inconvertible(call, applied)
        return self._rescaled(call, old, result, owners)

    def _updated(self, call: Call, old: Version, scale: object) -> Result:
        owners = self._owners(call, old) if self.writes.ownership.enabled else None
        if owners is None or not isinstance(scale, dict) or not isinstance(scale.get("metadata") or {}, dict):
            return self._rescaled(call, old, scale, None)
        kind, live = scale_kind(namespaced=call.kind.namespaced), scale_to_patch(call, old.decode(call.kind))
        live["metadata"] = dict(live["metadata"])
        write_entries(live, owners.of_scale())
        scale = {**_without_zero(scale), "metadata": dict(scale.get("metadata") or {})}
        self.writes.ownership.record(kind, scale, live, self._writer(call, "Update"))
        return self._rescaled(call, old, scale, owners)

    def _rescaled(self, call: Call, old: Version, scale: object, owners: ScaledOwners | None) -> Result:
        obj = scaled(call, old, scale)
        if owners is not None and isinstance(scale, dict):
            write_entries(obj, owners.of_object(read_entries(scale)))
        # Written as an update of the object and not of a subresource, so that its generation is incremented.
        whole = replace(call, subresource="")
        written = self.writes.update_object(whole, Reading(obj), old, owned=True, requested=call)
        return Result(document=PlainDocument(scale_of(call, written.document.data)))

    def _owners(self, call: Call, old: Version) -> ScaledOwners:
        paths = {kind.api_version: _path(kind) for kind in self.versions(call.kind)}
        return ScaledOwners(call.kind.api_version, paths, read_entries(old.decode(call.kind)))

    def _writer(self, call: Call, operation: Operation) -> Writer:
        time = self.writes.identity.timestamp()
        return Writer(manager=call.options.field_manager, operation=operation, subresource="scale", time=time)


def _path(kind: Kind) -> Path | None:
    return None if kind.scale is None else tuple(f"f:{name}" for name in kind.scale.spec_replicas.strip(".").split("."))


def _without_zero(scale: JSONObject) -> JSONObject:
    """Return ``scale`` without ``spec.replicas`` if it is zero.

    As in a real server, an encoded Scale omits a zero, so a manager that sets zero replicas does not own the field.
    """
    spec = scale.get("spec")
    if not isinstance(spec, dict) or spec.get("replicas") != 0 or isinstance(spec["replicas"], bool):
        return scale
    return {**scale, "spec": {name: value for name, value in spec.items() if name != "replicas"}}


def _without_owners(scale: JSONObject) -> JSONObject:
    return {**scale, "metadata": {**scale["metadata"], "managedFields": None}}


def _inconvertible(call: Call, applied: JSONObject) -> APIError:
    """Return the error for an apply that would change a custom resource's Scale.

    A real server fails to convert the Scale to the custom resource.
    """
    metadata = applied["metadata"]
    place, version = f"{metadata.get('namespace', '')}/{metadata.get('name', call.name)}", "autoscaling/v1"
    why = f"request to convert CR to an invalid group/version: {version}"
    return refuse.failed(f"failed to convert new object ({place}; {version}, Kind=Scale) to proper version: {why}")
