"""The verbs that write, as :class:`ResourceClient` shows them."""

from __future__ import annotations

from dynkube.client import _writes
from dynkube.client._objects import ObjectLike
from dynkube.client._options import (
    DeleteOptions,
    FieldSelectorLike,
    FieldValidation,
    LabelSelectorLike,
    PropagationPolicy,
    Selection,
)
from dynkube.client._target import Verbs
from dynkube.client._writes import PatchLike, PatchTypeLike
from dynkube.meta import PatchType, Unstructured, UnstructuredList


class WriteVerbs(Verbs):
    """``create``, ``update``, ``update_status``, ``patch``, ``delete`` and ``delete_collection``."""

    __slots__ = ()

    async def create(
        self,
        obj: ObjectLike,
        *,
        namespace: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> Unstructured:
        """Create an object.

        Args:
            obj: with apiVersion, kind and metadata.name, or metadata.generateName for a name that the
                server completes.
            namespace: ``None`` means the object's own, or else the context's.
            dry_run: see the class, as for the others.
            field_manager: see the class.
            field_validation: see the class.
            timeout: see the class.

        Returns:
            The object as stored.

        Raises:
            AlreadyExists: there is one of that name.
            Invalid: it does not validate; ``causes`` names the fields.
            NotFound: there is no such namespace.
            InvalidObject: it lacks what every object has, says it is something else, or contradicts ``namespace``.
            DynkubeError: as the class says.
        """
        options = self._target.write_options(
            dry_run=dry_run, field_manager=field_manager, field_validation=field_validation, timeout=timeout
        )
        return await _writes.create(self._target, obj, namespace, options)

    async def update(
        self,
        obj: ObjectLike,
        *,
        namespace: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> Unstructured:
        """Replace an object by ``obj``, except for its status where that is a subresource.

        With the ``metadata.resourceVersion`` that was read, the write fails if somebody else wrote in between.

        Args: as for :meth:`create`.

        Returns:
            The object as stored.

        Raises:
            Conflict: it changed since it was read: read it again, change it again.
            NotFound: there is none of that name.
            Invalid: it does not validate.
            InvalidObject: as for :meth:`create`.
            DynkubeError: as the class says.
        """
        options = self._target.write_options(
            dry_run=dry_run, field_manager=field_manager, field_validation=field_validation, timeout=timeout
        )
        return await _writes.update(self._target, obj, namespace, options)

    async def update_status(
        self,
        obj: ObjectLike,
        *,
        namespace: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> Unstructured:
        """Replace an object's status by that of ``obj``; nothing else of it is written.

        Args: as for :meth:`create`.

        Returns:
            The whole object as stored.

        Raises:
            NotFound: there is none of that name, or the resource has no status.
            Conflict: as for :meth:`update`, and likewise whatever else that raises.
        """
        options = self._target.write_options(
            dry_run=dry_run, field_manager=field_manager, field_validation=field_validation, timeout=timeout
        )
        return await _writes.update(self._target, obj, namespace, options, subresource="status")

    async def patch(
        self,
        name: str,
        patch: PatchLike,
        *,
        patch_type: PatchTypeLike = PatchType.MERGE,
        namespace: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        force: bool | None = None,
        timeout: float | None = None,
    ) -> Unstructured:
        """Change parts of an object: ``patch("web", {"spec": {"replicas": 3}})``.

        Args:
            name: of the object.
            patch: a dict; for ``"json"`` a list of operations; text and bytes are sent as they are.
            patch_type: ``"merge"`` (RFC 7386: lists are replaced, ``None`` removes), ``"json"`` (RFC 6902),
                ``"strategic"`` (lists merge by key; built-in kinds only) or ``"apply"`` (see :meth:`apply`).
            namespace: ``None`` means the context's.
            dry_run: see the class, as for the others.
            field_manager: see the class.
            field_validation: see the class.
            force: with ``"apply"`` only.
            timeout: see the class.

        Returns:
            The object as stored.

        Raises:
            NotFound: there is none of that name.
            Conflict: the patch holds a resourceVersion and the object has another.
            Invalid: the result does not validate, or a JSON patch does not fit the object.
            UnsupportedMediaType: the resource does not take this type of patch.
            InvalidObject: the patch cannot be written as JSON.
            DynkubeError: as the class says.
        """
        options = self._target.write_options(
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation,
            timeout=timeout,
            force=force,
        )
        return await _writes.patch(self._target, name, patch, patch_type, namespace, options)

    async def delete(
        self,
        name: str,
        *,
        namespace: str | None = None,
        propagation_policy: PropagationPolicy | None = None,
        grace_period_seconds: int | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> Unstructured | None:
        """Delete one object, or have its deletion begin.

        Args:
            name: of the object.
            namespace: ``None`` means the context's.
            propagation_policy: what becomes of what it owns: ``"Background"`` deletes that afterwards,
                ``"Foreground"`` before it, ``"Orphan"`` not at all. ``None`` is the resource's default.
            grace_period_seconds: how long it may take to stop; 0 for at once; ``None`` for its own default.
            uid: delete it only if it is this one and not another of the same name.
            resource_version: delete it only as it was read.
            dry_run: see the class.
            timeout: see the class.

        Returns:
            The object, where the server answers with it, as it does while finalizers or a grace period hold
            it (``deletion_timestamp`` is set then; ``wait_for(name, "delete", uid=...)`` waits for the end);
            ``None`` where it answered that it is done.

        Raises:
            NotFound: there is none of that name.
            Conflict: ``uid`` or ``resource_version`` is another.
            DynkubeError: as the class says.
        """
        options = DeleteOptions(
            propagation_policy=propagation_policy,
            grace_period_seconds=grace_period_seconds,
            uid=uid,
            resource_version=resource_version,
            dry_run=dry_run,
            timeout=timeout,
        )
        return await _writes.delete(self._target, name, namespace, options)

    async def delete_collection(
        self,
        *,
        namespace: str | None = None,
        label_selector: LabelSelectorLike = None,
        field_selector: FieldSelectorLike = None,
        propagation_policy: PropagationPolicy | None = None,
        grace_period_seconds: int | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> UnstructuredList:
        """Delete every selected object of one namespace; without selectors, all of them.

        Args:
            namespace: has to be given for namespaced resources: the API deletes in one namespace at a time.
            label_selector: which objects, by labels.
            field_selector: which objects, by fields.
            propagation_policy: as for :meth:`delete`.
            grace_period_seconds: as for :meth:`delete`.
            dry_run: see the class.
            timeout: see the class; the server works through the objects before it answers.

        Returns:
            The objects whose deletion was begun or done, where the server tells; else an empty list.

        Raises:
            WrongScope: no namespace for a namespaced resource, or one for a cluster-scoped one.
            InvalidSelector: a selector does not parse.
            DynkubeError: as the class says.
        """
        options = DeleteOptions(
            propagation_policy=propagation_policy,
            grace_period_seconds=grace_period_seconds,
            dry_run=dry_run,
            timeout=timeout,
        )
        selection = Selection.parse(label_selector, field_selector)
        return await _writes.delete_collection(self._target, namespace, selection, options)
