"""The verbs of :class:`ResourceClient` for small changes of one object."""

from __future__ import annotations

from collections.abc import Mapping

from dynkube.client._requests import change
from dynkube.client._target import Verbs
from dynkube.meta import Unstructured


class ChangeVerbs(Verbs):
    """``scale``, ``label`` and ``annotate``."""

    __slots__ = ()

    async def scale(
        self,
        name: str,
        replicas: int,
        *,
        current: int | None = None,
        namespace: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        timeout: float | None = None,
    ) -> Unstructured:
        """Set the number of replicas, by the scale subresource (``kubectl scale``).

        Works for every resource that has this subresource, also for custom ones.

        Args:
            name: name of the object.
            replicas: the new number.
            current: the number that the object must have now; ``None`` means any. With it the object is read first, and
                the write is conditional on what was read.
            namespace: ``None`` means the context's namespace.
            dry_run: have the server validate and answer without persisting anything.
            field_manager: recorded as owner of the written fields; ``None`` means the client's field manager.
            timeout: seconds for the whole call, all attempts included; ``None`` means the client's default.

        Returns:
            The ``Scale`` as stored; the controller creates or deletes pods afterwards.

        Raises:
            PreconditionFailed: the object does not have ``current`` replicas; nothing was written.
            InvalidInput: a number is invalid, or the resource has no scale subresource.
            NotFound: there is no object of that name.
            Conflict: with ``current``: concurrent writes in each of five attempts.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        options = self._target.write_options(dry_run=dry_run, field_manager=field_manager, timeout=timeout)
        return await change.scale(self._target, name, replicas, current, namespace, options)

    async def label(
        self,
        name: str,
        labels: Mapping[str, str | None],
        *,
        overwrite: bool = False,
        namespace: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        timeout: float | None = None,
    ) -> Unstructured:
        """Add, change and remove labels of an object (``kubectl label``).

        ``await client["pods"].label("web", {"tier": "fe", "old": None})``.

        Args:
            name: name of the object.
            labels: the values by key; ``None`` removes a label. Other labels stay as they are.
            overwrite: change labels that have another value already. Without it the object is read first, and the write
                is conditional on what was read.
            namespace: ``None`` means the context's namespace.
            dry_run: have the server validate and answer without persisting anything.
            field_manager: recorded as owner of the written fields; ``None`` means the client's field manager.
            timeout: seconds for the whole call, all attempts included; ``None`` means the client's default.

        Returns:
            The object as stored. Without ``overwrite``, nothing is written if it has these labels already.

        Raises:
            PreconditionFailed: a label has another value already, and ``overwrite`` is not set; nothing was written.
            InvalidInput: a key or value is invalid.
            NotFound: there is no object of that name.
            Conflict: without ``overwrite``: concurrent writes in each of five attempts.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        options = self._target.write_options(dry_run=dry_run, field_manager=field_manager, timeout=timeout)
        return await change.set_texts(self._target, name, "labels", labels, namespace, options, overwrite=overwrite)

    async def annotate(
        self,
        name: str,
        annotations: Mapping[str, str | None],
        *,
        overwrite: bool = False,
        namespace: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        timeout: float | None = None,
    ) -> Unstructured:
        """Add, change and remove annotations of an object (``kubectl annotate``).

        Args:
            name: name of the object.
            annotations: the values by key; ``None`` removes an annotation. Other annotations stay as they are.
            overwrite: change annotations that have another value already; ``kubernetes.io/change-cause`` may always be
                changed. Without it the object is read first, and the write is conditional on what was read.
            namespace: ``None`` means the context's namespace.
            dry_run: have the server validate and answer without persisting anything.
            field_manager: recorded as owner of the written fields; ``None`` means the client's field manager.
            timeout: seconds for the whole call, all attempts included; ``None`` means the client's default.

        Returns:
            The object as stored. Without ``overwrite``, nothing is written if it has these annotations already.

        Raises:
            PreconditionFailed: an annotation has another value already, and ``overwrite`` is not set; nothing was
                written.
            InvalidInput: a key or value is invalid.
            NotFound: there is no object of that name.
            Conflict: without ``overwrite``: concurrent writes in each of five attempts.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        options = self._target.write_options(dry_run=dry_run, field_manager=field_manager, timeout=timeout)
        return await change.set_texts(
            self._target, name, "annotations", annotations, namespace, options, overwrite=overwrite
        )
