"""The verbs that change who owns which field, as :class:`ResourceClient` shows them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from dynkube.client._apply import ownership
from dynkube.client._apply.applied import Applied
from dynkube.client._apply.ownership import Named
from dynkube.client._options import check_field_manager
from dynkube.client._target import Verbs
from dynkube.fields import (
    Operation,
    PathLike,
    check_operation,
    check_subresource,
    migrated,
    read_paths,
    released,
    several_names,
    transferred,
)


class OwnershipVerbs(Verbs):
    """``release``, ``transfer`` and ``migrate_from_client_side``.

    They read the object, work out its new ``managedFields``, and write these with a JSON patch that holds only for
    the object as it was read; if somebody wrote meanwhile, that is done again with what is there then, up to five
    times. No value of the object changes. The user needs the rights to get and to patch.
    """

    __slots__ = ()

    async def release(
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
        """Give up fields and leave their values as they are.

        An apply without a field gives it up as well, and removes it where nobody else owns it; this keeps it. What
        nobody owns any more, anybody may apply without a conflict. An object of which nobody owns anything at all
        counts as one that was never applied to: the server then gives all of it to ``before-first-apply``.

        Args:
            obj: which object: its name, or anything with its name.
            paths: what to give up, with all that is below.
            manager: who gives it up; ``None`` means the client's field manager.
            operation: ``"Apply"`` or ``"Update"``: only what it owns by this kind of write; ``None`` for both.
            subresource: only what it owns through this subresource, where ``""`` is the object itself; ``None`` for
                all of it.
            namespace: ``None`` means the object's own, or else the context's.
            dry_run: see the class of the resource, as for the next.
            timeout: seconds for everything.

        Returns:
            The object as stored, with its new ``managedFields``: without any where no field has an owner any more. Its
            ``change`` is ``changed`` only if its resourceVersion moved.

        Raises:
            InvalidInput: the manager owns nothing there; the message says who does.
            InvalidObject: the object's managedFields cannot be read, or it has none.
            NotFound: there is none of that name.
            Conflict: somebody else wrote it each time.
            DynkubeError: as the class of the resource says.
        """
        name, given = self._named(manager), read_paths(paths)
        check_operation(operation)
        check_subresource(subresource)
        rewriting = partial(released, paths=given, manager=name, operation=operation, subresource=subresource)
        return await self._rewrite(obj, namespace, dry_run, timeout, rewriting)

    async def transfer(
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
        """Hand fields over from one manager to another, which owns them as if it had applied them.

        Its next apply has to contain them, or gives them up. Until then neither of the two sees a conflict.

        Args:
            obj: which object: its name, or anything with its name.
            from_: who owns them now.
            to: who is to own them.
            paths: what to hand over, with all that is below; ``None`` for all that ``from_`` owns.
            subresource: what ``from_`` owns through this subresource, and not of the object itself.
            namespace: ``None`` means the object's own, or else the context's.
            dry_run: see the class of the resource, as for the next.
            timeout: seconds for everything.

        Returns:
            The object as stored, with its new ``managedFields``.

        Raises:
            InvalidInput: ``from_`` owns nothing there, or the two wrote it in different versions of its API.
            InvalidObject: the object's managedFields cannot be read, or it has none.
            NotFound: there is none of that name.
            Conflict: somebody else wrote it each time.
            DynkubeError: as the class of the resource says.
        """
        check_field_manager(from_, "from_")
        check_field_manager(to, "to")
        check_subresource(subresource)
        wanted = None if paths is None else read_paths(paths)
        rewriting = partial(transferred, from_=from_, to=to, paths=wanted, subresource=subresource)
        return await self._rewrite(obj, namespace, dry_run, timeout, rewriting)

    async def migrate_from_client_side(
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
        """Make what was applied by a client (``kubectl apply`` without ``--server-side``) applied by ``manager``.

        Before that, such fields belong to a manager that updates, so that leaving one out of an apply does not remove
        it. Semantics are those of client-go's csaupgrade; what it does not do is to look whether there is anything to
        migrate, and to begin anew where somebody wrote in between.

        Args:
            obj: which object: its name, or anything with its name.
            manager: who applies from now on; ``None`` means the client's field manager.
            client_side: the managers that applied from the client; ``None`` for those that wrote the annotation
                ``last-applied-configuration``, as kubectl chooses.
            subresource: what was written through this subresource, and not of the object itself.
            namespace: ``None`` means the object's own, or else the context's.
            dry_run: see the class of the resource, as for the next.
            timeout: seconds for everything.

        Returns:
            The object as stored; its ``change`` is unchanged where there was nothing to migrate. The annotation
            belongs to ``manager`` now, and goes with its next apply, unless that has it.

        Raises:
            InvalidInput: ``client_side`` is neither a name nor several.
            InvalidObject: the object's managedFields cannot be read, or it has none.
            NotFound: there is none of that name.
            Conflict: somebody else wrote it each time.
            DynkubeError: as the class of the resource says.
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
