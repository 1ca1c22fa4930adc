"""The server-side apply verbs of :class:`ResourceClient`."""

from __future__ import annotations

from collections.abc import Iterable

from dynkube.client._apply import apply, preview
from dynkube.client._apply.result import Applied
from dynkube.client._apply.take_over import read_force
from dynkube.client._objects import ObjectLike
from dynkube.client._options import FieldValidation
from dynkube.client._target import Verbs
from dynkube.fields import PathLike
from dynkube.fields._diff.diff import Diff
from dynkube.meta import Missing, Unstructured


class ApplyVerbs(Verbs):
    """``apply``, ``diff`` and ``diff_applied``."""

    __slots__ = ()

    async def apply(
        self,
        obj: ObjectLike,
        *,
        namespace: str | None = None,
        field_manager: str | None = None,
        force: bool | Iterable[PathLike] = False,
        dry_run: bool = False,
        subresource: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
        live: Unstructured | Missing | None = None,
    ) -> Applied:
        """Server-side apply: set the given fields and own them (KEP-555).

        Creates the object if it does not exist. Fields that this manager applied before and that are missing from
        ``obj`` are released, and removed if they have no other owner.

        Sends two requests: to determine whether anything changed, the live object is read first, unless ``live`` is
        given. Writes of other clients in between count as a change.

        Args:
            obj: apiVersion, kind, metadata.name and the fields to own, without fields that were merely read from the
                server. With a ``metadata.resourceVersion`` the apply succeeds only if that is the live object's.
            namespace: ``None`` means the object's own namespace, else the context's.
            field_manager: owner of the fields; ``None`` means the client's field manager.
            force: ``True`` takes over all conflicting fields; a list of paths takes over only fields within these:
                ``force=[".spec.replicas"]``. Concurrent changes are re-examined, so no other field is ever taken over.
                If there is a field to take over, paths cost three more requests and require permission to get the
                object.
            dry_run: have the server validate and answer without persisting anything.
            subresource: apply to ``"status"`` or another subresource instead of the object itself.
            field_validation: for unknown and duplicate fields: ``"Ignore"``, ``"Warn"`` (server default), ``"Strict"``.
            timeout: seconds for the whole call, discovery and retries included; ``None`` means the client's default.
            live: the object as last seen, for example in an informer's cache, or :data:`~dynkube.MISSING` if there was
                none. Saves the read; ``change`` is then relative to this object. After a conflict the current object is
                read all the same, as the error has its values.

        Returns:
            The whole object as stored. ``change`` is created, changed or unchanged, or unknown if the user may not get
            the object (``changed`` is true then). ``terminating`` is true if the object is being deleted, including the
            fields just applied.

        Raises:
            ApplyConflict: other managers own fields with other values; ``conflicts`` has the fields and managers.
            Conflict: ``obj`` has a resourceVersion that is not the live object's.
            InvalidObject: apiVersion, kind or name is missing (a generateName does not suffice) or not that of the
                resource; ``obj`` is a list, contradicts ``namespace``, or has managedFields, so was read from the
                server.
            InvalidInput: an argument is invalid.
            Invalid: validation failed; ``causes`` has the fields.
            NotFound: the namespace does not exist, or with ``subresource`` the object does not.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        everything, take = read_force(force)
        options = self._target.write_options(
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation,
            timeout=timeout,
            force=everything,
        )
        return await apply.apply(self._target, obj, namespace, options, subresource=subresource, live=live, take=take)

    async def diff(
        self,
        obj: ObjectLike,
        *,
        namespace: str | None = None,
        field_manager: str | None = None,
        subresource: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
        live: Unstructured | Missing | None = None,
    ) -> Diff:
        """Return what :meth:`apply` would change, without changing anything.

        Compares the live object with the result of a dry-run apply with ``force``, so defaulting, admission webhooks
        and validation are included. Requires permission to apply (the verb patch).

        Only values are compared: an apply that changes nothing but field ownership gives an empty diff.

        Args:
            obj: apiVersion, kind, metadata.name and the fields to own.
            namespace: ``None`` means the object's own namespace, else the context's.
            field_manager: owner of the fields; ``None`` means the client's field manager. Fields that this manager
                applied before and that are missing from ``obj`` are shown as removed.
            subresource: compare ``"status"`` or another subresource instead of the object itself.
            field_validation: for unknown and duplicate fields: ``"Ignore"``, ``"Warn"`` (server default), ``"Strict"``.
            timeout: seconds for the whole call, discovery and retries included; ``None`` means the client's default.
            live: the object as last seen, with its managedFields, or :data:`~dynkube.MISSING` if there was none. Saves
                the read, unless the object has changed since.

        Returns:
            The differences; false if there are none. ``conflicts`` has the fields that require ``force``.

        Raises:
            Invalid: validation failed; ``causes`` has the fields.
            Forbidden: RBAC does not allow get or patch.
            InvalidObject: apiVersion, kind or name is missing (a generateName does not suffice) or not that of the
                resource; ``obj`` is a list, contradicts ``namespace``, or has managedFields, so was read from the
                server.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        options = self._target.write_options(
            field_manager=field_manager, field_validation=field_validation, timeout=timeout
        )
        return await preview.diff(self._target, obj, namespace, options, subresource=subresource, live=live)

    async def diff_applied(
        self,
        obj: ObjectLike,
        manager: str | None = None,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        timeout: float | None = None,
        live: Unstructured | None = None,
    ) -> Diff:
        """Return the fields that other managers have changed or removed since the last apply.

        Compares the live object with the result of a dry-run apply of ``obj`` with ``force``: with what was applied, as
        the server stores it. So values that it writes differently (``1000m`` of CPU, ``stringData`` of a Secret),
        fields that it resets (``status``), and its defaults are no drift. A field that the manager still owns by
        applying counts as unchanged, since a change would have moved its ownership: if ``obj`` has another value
        there, ``obj`` was edited, which :meth:`diff` shows. ``obj`` is required because managedFields list the fields
        that a manager owns now, but not the fields and values that it applied.

        No dry run is sent if the object does not exist, or if the manager still owns all fields of ``obj`` with exactly
        these values: then it takes one request and the permission to get the object. Otherwise it takes two, and the
        permission to apply (the verb patch); whatever rejects an apply (validation, a webhook without dry run) is an
        error, as the drift is not known then.

        Args:
            obj: the object that was applied.
            manager: the manager that applied it; ``None`` means the client's field manager.
            namespace: ``None`` means the object's own namespace, else the context's.
            subresource: compare ``"status"`` or another subresource instead of the object itself.
            timeout: seconds for the whole call, discovery and retries included; ``None`` means the client's default.
            live: the object as last seen, with its managedFields (informers drop them). Saves the read, unless the
                object has changed since.

        Returns:
            The differences; false if there are none. ``managers`` of each change are the field's current owners.

        Raises:
            Invalid: validation of the dry run failed; ``causes`` has the fields.
            InvalidObject: apiVersion, kind or name is missing, or apiVersion or kind differs from the resource's;
                ``obj`` is a list, or has another namespace than ``namespace``; or the managedFields of the live object
                cannot be parsed.
            Forbidden: RBAC does not allow get, or the patch of the dry run.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        options = self._target.write_options(field_manager=manager, timeout=timeout)
        return await preview.diff_applied(self._target, obj, namespace, options, subresource=subresource, live=live)
