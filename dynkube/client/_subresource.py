"""``SubresourceClient``: the verbs of a subresource, such as ``status``."""

from __future__ import annotations

from collections.abc import Iterable

from dynkube._bound import Bound
from dynkube.client._apply import apply
from dynkube.client._apply.result import Applied
from dynkube.client._apply.take_over import read_force
from dynkube.client._objects import ObjectLike, as_object, check_complete
from dynkube.client._options import FieldValidation, GetOptions
from dynkube.client._requests import read, write
from dynkube.client._requests.write import PatchLike, PatchTypeLike
from dynkube.client._subresource_names import check_subresource, shows_whole_object
from dynkube.client._target import Target
from dynkube.errors import InvalidObject
from dynkube.fields import PathLike
from dynkube.meta import Missing, PatchType, Unstructured


class SubresourceClient(Bound):
    """One subresource of a resource; from :meth:`ResourceClient.subresource`.

    Each method sends one request, except ``apply``, which reads the object first. ``namespace=None`` means the
    context's namespace. If a subresource does not support a verb, the server answers 404 or 405. Use
    :meth:`APIClient.raw` for responses that are not objects (``pods/log``).

    All methods raise the errors listed at :class:`ResourceClient`, besides those that they list themselves.
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
        """Read the subresource of the object ``name``.

        Args:
            name: name of the object it belongs to.
            namespace: namespace of that object; ``None`` means the context's.
            resource_version: minimum resourceVersion; ``"0"`` returns any cached state; ``None`` the most recent.
            timeout: seconds for the whole call; ``None`` means the client's default.

        Returns:
            The response: the whole object for ``status``, a ``Scale`` for ``scale``.

        Raises:
            NotFound: no such object, or no such subresource.
            APIError: any other error response.
            TransportError: no usable response.
        """
        options = GetOptions(resource_version=resource_version, timeout=timeout)
        return await read.get(self._target, name, namespace, options, subresource=self.name)

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
        """POST an object to the subresource.

        For example an ``Eviction`` to ``eviction``, a ``TokenRequest`` to ``token``, a ``Binding`` to ``binding``.

        Args:
            name: name of the object it belongs to.
            obj: the body; needs apiVersion and kind, its name may be omitted.
            namespace: namespace of the object it belongs to; ``None`` means the context's.
            dry_run: have the server validate and answer without persisting anything.
            field_manager: recorded as owner of the written fields; ``None`` means the client's field manager.
            field_validation: for unknown and duplicate fields: ``"Ignore"``, ``"Warn"`` (server default), ``"Strict"``.
            timeout: seconds for the whole call; ``None`` means the client's default.

        Returns:
            The response; often a ``Status``.

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
        return await write.send_body(
            self._target,
            "POST",
            body.json,
            options,
            lambda found: self._target.path(found, name, where, subresource=self.name),
        )

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
        """Replace the subresource.

        For ``status`` pass the object with a new status, for ``scale`` a ``Scale``.

        Args:
            obj: the body. If it has a resourceVersion, the write fails when the object was modified since.
            name: name of the object it belongs to; by default taken from ``obj``.
            namespace: namespace of that object, by default that of ``obj``, else the context's.
            dry_run: have the server validate and answer without persisting anything.
            field_manager: recorded as owner of the written fields; ``None`` means the client's field manager.
            field_validation: for unknown and duplicate fields: ``"Ignore"``, ``"Warn"`` (server default), ``"Strict"``.
            timeout: seconds for the whole call; ``None`` means the client's default.

        Returns:
            The response: the whole object for ``status``, a ``Scale`` for ``scale``.

        Raises:
            NotFound: no such object, or no such subresource.
            InvalidObject: apiVersion, kind or name is missing or wrong, or ``obj`` contradicts ``name`` or
                ``namespace``.
            Conflict: it was modified since it was read.
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
            return await write.update(self._target, body, namespace, options, subresource=self.name)
        body = _complete(obj, self.name)
        called, where = _same(name, body.name, "name") or "", _same(namespace, body.namespace, "namespace")
        return await write.send_body(
            self._target,
            "PUT",
            body.json,
            options,
            lambda found: self._target.path(found, called, where, subresource=self.name),
        )

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
        """Patch the subresource: ``scale.patch("web", {"spec": {"replicas": 3}})``.

        Args:
            name: name of the object it belongs to.
            patch: a dict; for ``"json"`` a list of operations; str and bytes are sent unchanged.
            patch_type: ``"merge"`` (RFC 7386: lists are replaced, ``None`` removes), ``"json"`` (RFC 6902),
                ``"strategic"`` (lists merge by key; built-in kinds only) or ``"apply"`` (see :meth:`apply`).
            namespace: namespace of that object; ``None`` means the context's.
            dry_run: have the server validate and answer without persisting anything.
            field_manager: recorded as owner of the written fields; ``None`` means the client's field manager.
            field_validation: for unknown and duplicate fields: ``"Ignore"``, ``"Warn"`` (server default), ``"Strict"``.
            force: take over conflicting fields; with ``"apply"`` only.
            timeout: seconds for the whole call; ``None`` means the client's default.

        Returns:
            The response: the whole object for ``status``, a ``Scale`` for ``scale``.

        Raises:
            NotFound: no such object, or no such subresource.
            Conflict: the patch has a resourceVersion that is not the object's.
            Invalid: the result fails validation, or a JSON patch cannot be applied to the object.
            APIError: any other error response.
            TransportError: no usable response.
        """
        options = self._target.write_options(
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation,
            timeout=timeout,
            force=force,
        )
        return await write.patch(self._target, name, patch, patch_type, namespace, options, subresource=self.name)

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
        """Server-side apply to the subresource.

        On ``status`` only fields of the status are owned.

        Args:
            obj: an object of the resource's own kind, or for ``scale`` a ``Scale``: apiVersion, kind, metadata.name and
                the fields to own.
            namespace: ``None`` means the object's own namespace, else the context's.
            field_manager: owner of the fields; ``None`` means the client's field manager.
            force: ``True`` takes over all conflicting fields; a list of paths takes over only fields within these.
            dry_run: have the server validate and answer without persisting anything.
            field_validation: for unknown and duplicate fields: ``"Ignore"``, ``"Warn"`` (server default), ``"Strict"``.
            timeout: seconds for the whole call; ``None`` means the client's default.
            live: the object as last seen, or :data:`~dynkube.MISSING` if there was none; saves the read.

        Returns:
            The response; its ``change`` is created, changed, unchanged or unknown.

        Raises:
            ApplyConflict: other managers own fields with other values; ``conflicts`` has the fields and managers.
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
        return await apply.apply(self._target, obj, namespace, options, subresource=self.name, live=live, take=take)

    def __repr__(self) -> str:
        return f"<SubresourceClient {self._target.spec}/{self.name}>"


def _complete(obj: ObjectLike, subresource: str) -> Unstructured:
    body = as_object(obj)
    check_complete(body, subresource)
    return body


def _same(given: str | None, own: str, field: str) -> str | None:
    if given is not None and own and given != own:
        raise InvalidObject(
            f"the object has metadata.{field} {own!r}, but the call has {field}={given!r}: leave one of them out"
        )
    return own or given
