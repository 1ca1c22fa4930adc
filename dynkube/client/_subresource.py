"""Subresources: ``status``, ``scale`` and any other by name."""

from __future__ import annotations

from collections.abc import Iterable

from dynkube._bound import Bound
from dynkube.client import _reads, _writes
from dynkube.client._apply import applying
from dynkube.client._apply.applied import Applied
from dynkube.client._apply.take_over import read_force
from dynkube.client._objects import ObjectLike, as_object, check_complete
from dynkube.client._options import FieldValidation, GetOptions
from dynkube.client._subresources import check_subresource, shows_whole_object
from dynkube.client._target import Target
from dynkube.client._writes import PatchLike, PatchTypeLike
from dynkube.errors import InvalidObject
from dynkube.fields import PathLike
from dynkube.meta import Missing, PatchType, Unstructured


class SubresourceClient(Bound):
    """One subresource of every object of a resource; made by :meth:`ResourceClient.subresource`.

    Each method is one request. ``namespace=None`` means the context's namespace. Where a subresource does
    not support a verb the server answers 404 or 405. Answers that are no objects (``pods/log``) are read
    with :meth:`APIClient.raw`.

    Besides what each says of itself, all of them raise what :class:`ResourceClient` says of its verbs.
    """

    __slots__ = ("_target", "name")

    def __init__(self, target: Target, name: str) -> None:
        check_subresource(name)
        self._target = target
        self.name: str = name

    async def get(
        self,
        name: str,
        *,
        namespace: str | None = None,
        resource_version: str | None = None,
        timeout: float | None = None,
    ) -> Unstructured:
        """Read it, for the object ``name``.

        Args:
            name: of the object it belongs to.
            namespace: of that object.
            resource_version: not older than this; ``"0"`` for any; ``None`` for the most recent.
            timeout: seconds for everything; ``None`` means the client's default.

        Returns:
            What the server answers: the whole object for ``status``, a ``Scale`` for ``scale``.

        Raises:
            NotFound: no such object, or no such subresource.
            APIError: any other error response.
            TransportError: no usable response.
        """
        options = GetOptions(resource_version=resource_version, timeout=timeout)
        return await _reads.get(self._target, name, namespace, options, subresource=self.name)

    async def create(
        self,
        name: str,
        obj: ObjectLike,
        *,
        namespace: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> Unstructured:
        """POST to it: an ``Eviction`` to ``eviction``, a ``TokenRequest`` to ``token``, a ``Binding`` to ``binding``.

        Args:
            name: of the object it belongs to.
            obj: what to send; needs apiVersion and kind, its name may be left out.
            namespace: of the object it belongs to.
            dry_run: have the server validate and answer without persisting anything.
            field_manager: recorded as owner of the written fields; ``None`` means the client's field manager.
            field_validation: for unknown and duplicate fields: ``"Ignore"``, ``"Warn"`` (server default), ``"Strict"``.
            timeout: seconds for everything; ``None`` means the client's default.

        Returns:
            What the server answers; often a ``Status``.

        Raises:
            InvalidObject: apiVersion or kind is missing.
            TooManyRequests: an eviction that a disruption budget does not allow now.
            APIError: any other error response.
            TransportError: no usable response.
        """
        options = self._target.write_options(
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation,
            timeout=timeout,
        )
        body = _complete(obj, self.name)
        where = _same(namespace, body.namespace, "namespace")
        resource, path, options = await self._target.resolve_within(
            options, lambda found: self._target.path(found, name, where, subresource=self.name)
        )
        return await self._target.send(_writes.write_request("POST", path, body.json, options), resource)

    async def update(
        self,
        obj: ObjectLike,
        *,
        name: str | None = None,
        namespace: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> Unstructured:
        """Replace it by ``obj``: for ``status`` the object with a new status, for ``scale`` a ``Scale``.

        Args:
            obj: what to send. With its resourceVersion the write fails if somebody else wrote in between.
            name: of the object it belongs to; taken from ``obj`` if left out.
            namespace: of that object; ``obj``'s own namespace counts.
            dry_run: have the server validate and answer without persisting anything.
            field_manager: recorded as owner of the written fields; ``None`` means the client's field manager.
            field_validation: for unknown and duplicate fields: ``"Ignore"``, ``"Warn"`` (server default), ``"Strict"``.
            timeout: seconds for everything; ``None`` means the client's default.

        Returns:
            What the server answers: the whole object for ``status``, a ``Scale`` for ``scale``.

        Raises:
            NotFound: no such object, or no such subresource.
            InvalidObject: it says it is something else, lacks what every object has, or contradicts the call.
            Conflict: it changed since it was read.
            APIError: any other error response.
            TransportError: no usable response.
        """
        options = self._target.write_options(
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation,
            timeout=timeout,
        )
        if shows_whole_object(self.name):
            body = as_object(obj)
            _same(name, body.name, "name")
            return await _writes.update(self._target, body, namespace, options, subresource=self.name)
        body = _complete(obj, self.name)
        called, where = _same(name, body.name, "name") or "", _same(namespace, body.namespace, "namespace")
        resource, path, options = await self._target.resolve_within(
            options, lambda found: self._target.path(found, called, where, subresource=self.name)
        )
        return await self._target.send(_writes.write_request("PUT", path, body.json, options), resource)

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
        """Change it by a patch: ``scale.patch("web", {"spec": {"replicas": 3}})``.

        Args: as for :meth:`ResourceClient.patch`.

        Returns:
            What the server answers: the whole object for ``status``, a ``Scale`` for ``scale``.

        Raises:
            NotFound: no such object, or no such subresource.
            APIError: any other no of the server, as for :meth:`ResourceClient.patch`.
            TransportError: no usable response.
        """
        options = self._target.write_options(
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation,
            timeout=timeout,
            force=force,
        )
        return await _writes.patch(self._target, name, patch, patch_type, namespace, options, subresource=self.name)

    async def apply(
        self,
        obj: ObjectLike,
        *,
        namespace: str | None = None,
        field_manager: str | None = None,
        force: bool | Iterable[PathLike] = False,
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
        live: Unstructured | Missing | None = None,
    ) -> Applied:
        """Server-side apply on it, see :meth:`ResourceClient.apply`; on ``status`` it owns fields of the status only.

        Args: as for :meth:`ResourceClient.apply`; ``obj`` is of the resource's own kind, and for ``scale`` a ``Scale``.

        Returns:
            What the server answers, and in ``change`` what was done.

        Raises:
            ApplyConflict: others own fields with other values; ``conflicts`` says which and who.
            NotFound: no such object, or no such subresource.
            APIError: any other error response.
            TransportError: no usable response.
        """
        everything, take = read_force(force)
        options = self._target.write_options(
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation,
            timeout=timeout,
            force=everything,
        )
        return await applying.apply(self._target, obj, namespace, options, subresource=self.name, live=live, take=take)

    def __repr__(self) -> str:
        return f"<SubresourceClient {self._target.spec}/{self.name}>"


def _complete(obj: ObjectLike, subresource: str) -> Unstructured:
    body = as_object(obj)
    check_complete(body, subresource)
    return body


def _same(given: str | None, own: str, field: str) -> str | None:
    if given is not None and own and given != own:
        raise InvalidObject(
            f"the object has metadata.{field} {own!r}, but the call says {field}={given!r}: leave one of them out"
        )
    return own or given
