"""The writing verbs of :class:`ResourceClient`."""

from __future__ import annotations

from dynkube.client._objects import ObjectLike
from dynkube.client._options import (
    DeleteOptions,
    FieldSelectorLike,
    FieldValidation,
    LabelSelectorLike,
    PropagationPolicy,
    Selection,
)
from dynkube.client._requests import write
from dynkube.client._requests.write import PatchLike, PatchTypeLike
from dynkube.client._target import Verbs
from dynkube.meta import PatchType, Unstructured, UnstructuredList


class WriteVerbs(Verbs):
    """The writing verbs.

    ``create``, ``update``, ``update_status``, ``patch``, ``delete`` and ``delete_collection``.
    """

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
            namespace: ``None`` means the object's own namespace, else the context's.
            dry_run: have the server validate and answer without persisting anything.
            field_manager: recorded as owner of the written fields; ``None`` means the client's field manager.
            field_validation: for unknown and duplicate fields: ``"Ignore"``, ``"Warn"`` (server default), ``"Strict"``.
            timeout: seconds for the whole call, discovery and retries included; ``None`` means the client's default.

        Returns:
            The object as stored.

        Raises:
            AlreadyExists: there is an object of that name.
            Invalid: validation failed; ``causes`` has the fields.
            NotFound: the namespace does not exist.
            InvalidObject: apiVersion, kind or name is missing; apiVersion or kind differs from the resource's; or
                ``obj`` has another namespace than ``namespace``.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        options = self._target.write_options(
            dry_run=dry_run, field_manager=field_manager, field_validation=field_validation, timeout=timeout
        )
        return await write.create(self._target, obj, namespace, options)

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
        """Replace an object by ``obj``, except its status if that is a subresource.

        If ``obj`` has a ``metadata.resourceVersion``, the write fails when the object was modified since (optimistic
        concurrency).

        Args:
            obj: the new object, with apiVersion, kind and metadata.name.
            namespace: ``None`` means the object's own namespace, else the context's.
            dry_run: have the server validate and answer without persisting anything.
            field_manager: recorded as owner of the written fields; ``None`` means the client's field manager.
            field_validation: for unknown and duplicate fields: ``"Ignore"``, ``"Warn"`` (server default), ``"Strict"``.
            timeout: seconds for the whole call, discovery and retries included; ``None`` means the client's default.

        Returns:
            The object as stored.

        Raises:
            Conflict: it was modified since it was read: read it and make the change again.
            NotFound: there is no object of that name.
            Invalid: validation failed; ``causes`` has the fields.
            InvalidObject: apiVersion, kind or name is missing; apiVersion or kind differs from the resource's; or
                ``obj`` has another namespace than ``namespace``.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        options = self._target.write_options(
            dry_run=dry_run, field_manager=field_manager, field_validation=field_validation, timeout=timeout
        )
        return await write.update(self._target, obj, namespace, options)

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
        """Replace an object's status by the status of ``obj``; no other part is written.

        Args:
            obj: the object with its new status; apiVersion, kind and metadata.name are required.
            namespace: ``None`` means the object's own namespace, else the context's.
            dry_run: have the server validate and answer without persisting anything.
            field_manager: recorded as owner of the written fields; ``None`` means the client's field manager.
            field_validation: for unknown and duplicate fields: ``"Ignore"``, ``"Warn"`` (server default), ``"Strict"``.
            timeout: seconds for the whole call, discovery and retries included; ``None`` means the client's default.

        Returns:
            The whole object as stored.

        Raises:
            NotFound: there is no object of that name, or the resource has no status subresource.
            Conflict: it was modified since it was read: read it and make the change again.
            Invalid: validation failed; ``causes`` has the fields.
            InvalidObject: apiVersion, kind or name is missing; apiVersion or kind differs from the resource's; or
                ``obj`` has another namespace than ``namespace``.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        options = self._target.write_options(
            dry_run=dry_run, field_manager=field_manager, field_validation=field_validation, timeout=timeout
        )
        return await write.update(self._target, obj, namespace, options, subresource="status")

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
        """Patch an object: ``patch("web", {"spec": {"replicas": 3}})``.

        Args:
            name: name of the object.
            patch: a dict; for ``"json"`` a list of operations; str and bytes are sent unchanged.
            patch_type: ``"merge"`` (RFC 7386: lists are replaced, ``None`` removes), ``"json"`` (RFC 6902),
                ``"strategic"`` (lists merge by key; built-in kinds only) or ``"apply"`` (see :meth:`apply`).
            namespace: ``None`` means the context's namespace.
            dry_run: have the server validate and answer without persisting anything.
            field_manager: recorded as owner of the written fields; ``None`` means the client's field manager.
            field_validation: for unknown and duplicate fields: ``"Ignore"``, ``"Warn"`` (server default), ``"Strict"``.
            force: take over conflicting fields; with ``"apply"`` only.
            timeout: seconds for the whole call, discovery and retries included; ``None`` means the client's default.

        Returns:
            The object as stored.

        Raises:
            NotFound: there is no object of that name.
            Conflict: the patch has a resourceVersion that is not the object's.
            Invalid: the result fails validation, or a JSON patch cannot be applied to the object.
            UnsupportedMediaType: the resource does not support this patch type.
            InvalidObject: the patch cannot be encoded as JSON.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        options = self._target.write_options(
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation,
            timeout=timeout,
            force=force,
        )
        return await write.patch(self._target, name, patch, patch_type, namespace, options)

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
        """Delete one object. The deletion may still be in progress when this returns.

        Args:
            name: name of the object.
            namespace: ``None`` means the context's namespace.
            propagation_policy: what happens to dependents: ``"Background"`` deletes them afterwards,
                ``"Foreground"`` before, ``"Orphan"`` keeps them. ``None`` is the resource's default.
            grace_period_seconds: time to shut down; 0 deletes at once; ``None`` is the object's default.
            uid: precondition: delete only the object with this uid, not another of the same name.
            resource_version: precondition: delete only if the object still has this resourceVersion.
            dry_run: have the server validate and answer without persisting anything.
            timeout: seconds for the whole call, discovery and retries included; ``None`` means the client's default.

        Returns:
            The object if the server returned it, as it does while finalizers or a grace period delay the deletion
            (``deletion_timestamp`` is set; ``wait_for(name, "delete", uid=...)`` waits for the end);
            ``None`` if the server reported that the object is deleted.

        Raises:
            NotFound: there is no object of that name.
            Conflict: ``uid`` or ``resource_version`` does not match.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        options = DeleteOptions(
            propagation_policy=propagation_policy,
            grace_period_seconds=grace_period_seconds,
            uid=uid,
            resource_version=resource_version,
            dry_run=dry_run,
            timeout=timeout,
        )
        return await write.delete(self._target, name, namespace, options)

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
        """Delete all matching objects of one namespace; without selectors, all objects.

        Args:
            namespace: required for namespaced resources, as the API deletes in one namespace at a time.
            label_selector: restrict by labels.
            field_selector: restrict by fields.
            propagation_policy: what happens to dependents: ``"Background"`` deletes them afterwards,
                ``"Foreground"`` before, ``"Orphan"`` keeps them. ``None`` is the resource's default.
            grace_period_seconds: time to shut down; 0 deletes at once; ``None`` is the object's default.
            dry_run: have the server validate and answer without persisting anything.
            timeout: seconds for the whole call; the server responds after it has processed all objects. ``None``
                means the client's default.

        Returns:
            The objects whose deletion was started or completed if the server returns them; else an empty list.

        Raises:
            WrongScope: no namespace for a namespaced resource, or one for a cluster-scoped one.
            InvalidSelector: a selector is malformed.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        options = DeleteOptions(
            propagation_policy=propagation_policy,
            grace_period_seconds=grace_period_seconds,
            dry_run=dry_run,
            timeout=timeout,
        )
        selection = Selection.parse(label_selector, field_selector)
        return await write.delete_collection(self._target, namespace, selection, options)
