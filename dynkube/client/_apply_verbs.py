"""The verbs of server-side apply, as :class:`ResourceClient` shows them."""

from __future__ import annotations

from collections.abc import Iterable

from dynkube.client._apply import applying, previews
from dynkube.client._apply.applied import Applied
from dynkube.client._apply.diff import Diff
from dynkube.client._apply.take_over import read_force
from dynkube.client._objects import ObjectLike
from dynkube.client._options import FieldValidation
from dynkube.client._target import Verbs
from dynkube.fields import PathLike
from dynkube.meta import Missing, Unstructured


class ApplyVerbs(Verbs):
    """``apply``, ``diff`` and ``drift``."""

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
        """Server-side apply: say which fields you want to own, and with what values (KEP-555).

        Creates the object where there is none. Fields that this manager applied before and that ``obj`` no
        longer has are given up, and removed if nobody else owns them.

        Two requests: to tell whether anything changed, the live object is read before, unless ``live`` is given.
        What somebody else writes in between counts as a change.

        Args:
            obj: apiVersion, kind, metadata.name and the fields to own; nothing that was read along with them.
                With a ``metadata.resourceVersion`` it is applied only if the live object has that one.
            namespace: ``None`` means the object's own, or else the context's.
            field_manager: whose fields they are; ``None`` means the client's.
            force: take the fields that others own with other values; or a list of paths, to take only what lies
                within these: ``force=[".spec.replicas"]``. Never more: whatever changes meanwhile is looked at anew.
                Where there is something to take, paths cost three requests more, and the right to read.
            dry_run: see the class, as for the others.
            subresource: apply to ``"status"``, or to another one, in place of the object itself.
            field_validation: see the class.
            timeout: see the class.
            live: the object as you last saw it, for example in an informer, or :data:`~dynkube.MISSING` where there was
                none. Saves reading it; ``change`` then says what is different from that. A conflict is explained by
                the object as it is then, which is read.

        Returns:
            The whole object as stored. Its ``change`` says what was done: created, changed or unchanged; unknown
            where the user may not read it, which ``changed`` counts as true. Its ``terminating`` says whether the
            object is being deleted, and what was applied with it.

        Raises:
            ApplyConflict: others own fields with other values; ``conflicts`` says which and who.
            Conflict: the object has another resourceVersion than ``obj``.
            InvalidObject: it says nothing of what it is, or something else; it has no name (a generateName is
                none), is a list, or contradicts ``namespace``; or it has managedFields, so it was read and not written.
            InvalidInput: an argument cannot be right.
            Invalid: it does not validate.
            NotFound: there is no such namespace, or nothing to have that subresource.
            DynkubeError: as the class says.
        """
        everything, take = read_force(force)
        options = self._target.write_options(
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation,
            timeout=timeout,
            force=everything,
        )
        return await applying.apply(
            self._target, obj, namespace, options, subresource=subresource, live=live, take=take
        )

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
        """What :meth:`apply` would change, without changing anything.

        Asks the server to try it (a dry run with ``force``), and compares the answer with the live object. So
        defaults, webhooks and validation count; and the user needs the right to apply.

        Ownership is no value: where an apply changes nothing but who owns what, there is no difference.

        Args:
            obj: as for :meth:`apply`.
            namespace: as for :meth:`apply`.
            field_manager: as for :meth:`apply`: what this manager applied before and ``obj`` lacks would go.
            subresource: as for :meth:`apply`.
            field_validation: as for :meth:`apply`.
            timeout: as for :meth:`apply`.
            live: the object as you last saw it, with its managedFields, or :data:`~dynkube.MISSING` where there was
                none. Saves reading it, unless it has changed since.

        Returns:
            The differences, false where there are none; ``conflicts`` in it are the fields that need ``force``.

        Raises:
            Invalid: it does not validate.
            Forbidden: the user may not read, or not apply.
            InvalidObject: as for :meth:`apply`.
            DynkubeError: as the class says.
        """
        options = self._target.write_options(
            field_manager=field_manager, field_validation=field_validation, timeout=timeout
        )
        return await previews.diff(self._target, obj, namespace, options, subresource=subresource, live=live)

    async def drift(
        self,
        obj: ObjectLike,
        manager: str | None = None,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        timeout: float | None = None,
        live: Unstructured | None = None,
    ) -> Diff:
        """Where the live object left what was applied: fields that others have changed or removed since.

        Reads the object, and writes nothing, not even to try. A field that the manager still owns by applying counts
        as unchanged, since whoever changes it takes it over; what it has lost is compared with ``obj``. Servers
        remember what a manager owns and not what it once applied, which is why ``obj`` is needed.

        Args:
            obj: what was applied.
            manager: who has applied it; ``None`` means the client's field manager.
            namespace: as for :meth:`apply`.
            subresource: as for :meth:`apply`.
            timeout: as for :meth:`apply`.
            live: the object as you last saw it, which saves reading it. Without managedFields (informers drop them)
                every field of ``obj`` is compared, and values that the server writes otherwise (``1000m`` as ``1``)
                count as changed.

        Returns:
            The differences, false where there are none. ``managers`` of each change are who owns the field now.

        Raises:
            InvalidObject: as for :meth:`apply`, or the managedFields of the live object cannot be read.
            Forbidden: the user may not read it.
            DynkubeError: as the class says.
        """
        options = self._target.write_options(field_manager=manager, timeout=timeout)
        return await previews.drift(self._target, obj, namespace, options, subresource=subresource, live=live)
