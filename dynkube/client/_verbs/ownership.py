"""The verbs of :class:`ResourceClient` that change field ownership."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from dynkube.client._apply import ownership
from dynkube.client._apply.ownership import Named
from dynkube.client._apply.result import Applied
from dynkube.client._options import check_field_manager
from dynkube.client._target import Verbs
from dynkube.fields import Operation, PathLike
from dynkube.fields._handover import migrated, read_paths, released, several_names, transferred
from dynkube.fields._owners import check_operation, check_subresource


class OwnershipVerbs(Verbs):
    """``release_fields``, ``transfer_fields`` and ``upgrade_managed_fields``.

    They read the object, compute its new ``managedFields`` and write these with a JSON patch that is conditional on
    the object as it was read. If the object was modified concurrently, this is repeated with the new state, up to five
    times in all. No value of the object changes. Requires permission to get and patch.
    """

    __slots__ = ()

    async def release_fields(
        self,
        obj: Named,
        paths: PathLike | Iterable[PathLike],
        manager: str | None = None,
        *,
        operation: Operation | None = None,
        subresource: str | None = None,
        namespace: str | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> Applied:
        """Release ownership of fields but keep their values.

        An apply that omits a field also releases it, but removes it if it has no other owner; this method keeps it. A
        field without owners can be applied by any manager without a conflict. An object none of whose fields has an
        owner is treated as never applied to: at the next apply the server assigns all its fields to the manager
        ``before-first-apply``.

        Args:
            obj: the object: its name, or anything that has its name.
            paths: fields to release, with all their subfields.
            manager: the manager that releases them; ``None`` means the client's field manager.
            operation: release only fields that the manager owns by this operation, ``"Apply"`` or ``"Update"``;
                ``None`` for both.
            subresource: release only fields that the manager owns through this subresource (``""`` for the object
                itself); ``None`` for all.
            namespace: ``None`` means the object's own namespace, else the context's.
            dry_run: have the server validate and answer without persisting anything.
            timeout: seconds for the whole call, all attempts included; ``None`` means the client's default.

        Returns:
            The object as stored, with its new ``managedFields`` (absent if no field has an owner any more). Its
            ``change`` is ``changed`` only if its resourceVersion changed.

        Raises:
            InvalidInput: the manager owns none of the fields; the message lists the owners.
            InvalidObject: the object has no managedFields, or they cannot be parsed.
            NotFound: there is no object of that name.
            Conflict: concurrent writes in each of five attempts.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        name, given = self._named(manager), read_paths(paths)
        check_operation(operation)
        check_subresource(subresource)
        rewriting = partial(released, paths=given, manager=name, operation=operation, subresource=subresource)
        return await self._rewrite(obj, namespace, dry_run, timeout, rewriting)

    async def transfer_fields(
        self,
        obj: Named,
        from_: str,
        to: str,
        paths: PathLike | Iterable[PathLike] | None = None,
        *,
        subresource: str | None = None,
        namespace: str | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> Applied:
        """Transfer ownership of fields to another manager.

        The fields are then owned as if that manager had applied them.

        The new manager's next apply must contain these fields, or it releases them. Until then neither manager gets a
        conflict.

        Args:
            obj: the object: its name, or anything that has its name.
            from_: the current owner.
            to: the new owner.
            paths: fields to transfer, with all their subfields; ``None`` for all fields that ``from_`` owns.
            subresource: transfer the fields that ``from_`` owns through this subresource instead of the object itself.
            namespace: ``None`` means the object's own namespace, else the context's.
            dry_run: have the server validate and answer without persisting anything.
            timeout: seconds for the whole call, all attempts included; ``None`` means the client's default.

        Returns:
            The object as stored, with its new ``managedFields``.

        Raises:
            InvalidInput: ``from_`` owns none of the fields, or the two managers wrote them in different API versions.
            InvalidObject: the object has no managedFields, or they cannot be parsed.
            NotFound: there is no object of that name.
            Conflict: concurrent writes in each of five attempts.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        check_field_manager(from_, "from_")
        check_field_manager(to, "to")
        check_subresource(subresource)
        wanted = None if paths is None else read_paths(paths)
        rewriting = partial(transferred, from_=from_, to=to, paths=wanted, subresource=subresource)
        return await self._rewrite(obj, namespace, dry_run, timeout, rewriting)

    async def upgrade_managed_fields(
        self,
        obj: Named,
        manager: str | None = None,
        client_side: str | Iterable[str] | None = None,
        *,
        subresource: str | None = None,
        namespace: str | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> Applied:
        """Migrate ownership from client-side to server-side apply.

        Client-side apply is ``kubectl apply`` without ``--server-side``.

        Before the migration, the fields belong to a manager with operation Update, so omitting one from an apply does
        not remove it. Works like client-go's csaupgrade; in addition, this checks whether there is anything to migrate
        and retries after concurrent writes.

        Args:
            obj: the object: its name, or anything that has its name.
            manager: the manager that applies from now on; ``None`` means the client's field manager.
            client_side: the managers that used client-side apply; ``None`` for those that wrote the annotation
                ``last-applied-configuration``, as kubectl selects them.
            subresource: migrate the fields written through this subresource instead of the object itself.
            namespace: ``None`` means the object's own namespace, else the context's.
            dry_run: have the server validate and answer without persisting anything.
            timeout: seconds for the whole call, all attempts included; ``None`` means the client's default.

        Returns:
            The object as stored; its ``change`` is unchanged if there was nothing to migrate. ``manager`` now owns the
            annotation too, so its next apply removes the annotation unless the applied object contains it.

        Raises:
            InvalidInput: ``client_side`` is neither a name nor an iterable of names.
            InvalidObject: the object has no managedFields, or they cannot be parsed.
            NotFound: there is no object of that name.
            Conflict: concurrent writes in each of five attempts.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        name = self._named(manager)
        check_subresource(subresource)
        names = None if client_side is None else several_names(client_side)
        rewriting = partial(migrated, manager=name, client_side=names, subresource=subresource)
        return await self._rewrite(obj, namespace, dry_run, timeout, rewriting)

    def _named(self, manager: str | None) -> str:
        if manager is None:
            return self._target.session.field_manager
        check_field_manager(manager, "manager")
        return manager

    async def _rewrite(
        self,
        obj: Named,
        namespace: str | None,
        dry_run: bool,
        timeout: float | None,
        rewriting: ownership.Rewriting,
    ) -> Applied:
        options = self._target.write_options(dry_run=dry_run, timeout=timeout)
        return await ownership.rewrite(self._target, obj, namespace, options, rewriting)
