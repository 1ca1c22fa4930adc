"""The reading verbs of :class:`ResourceClient`."""

from __future__ import annotations

from dynkube.client._options import (
    FieldSelectorLike,
    GetOptions,
    LabelSelectorLike,
    ListOptions,
    ResourceVersionMatch,
    Selection,
)
from dynkube.client._pages import ObjectIterator
from dynkube.client._requests import read
from dynkube.client._target import Verbs
from dynkube.meta import Unstructured, UnstructuredList, UnstructuredTable


class ReadVerbs(Verbs):
    """``get``, ``list``, ``table`` and ``iterate``."""

    __slots__ = ()

    async def get(
        self,
        name: str,
        *,
        namespace: str | None = None,
        resource_version: str | None = None,
        timeout: float | None = None,
    ) -> Unstructured:
        """Read one object.

        Args:
            name: name of the object.
            namespace: ``None`` means the context's namespace.
            resource_version: minimum resourceVersion; ``"0"`` returns any cached state, which is cheaper and may be
                stale; ``None`` reads the most recent state (API concepts, "resourceVersion").
            timeout: seconds for the whole call, discovery and retries included; ``None`` means the client's default.

        Returns:
            The object.

        Raises:
            NotFound: there is no object of that name.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        options = GetOptions(resource_version=resource_version, timeout=timeout)
        return await read.get(self._target, name, namespace, options)

    async def list(
        self,
        *,
        namespace: str | None = None,
        label_selector: LabelSelectorLike = None,
        field_selector: FieldSelectorLike = None,
        resource_version: str | None = None,
        resource_version_match: ResourceVersionMatch | None = None,
        page_size: int | None = 500,
        limit: int | None = None,
        continue_token: str | None = None,
        timeout: float | None = None,
    ) -> UnstructuredList:
        """Read a collection as a consistent snapshot.

        Args:
            namespace: ``None`` means all namespaces.
            label_selector: restrict by labels: ``"app=web,tier in (fe,be)"`` or ``{"app": "web"}``.
            field_selector: restrict by fields: ``"status.phase=Running"``.
            resource_version: minimum resourceVersion, or the exact one with ``resource_version_match="Exact"``; ``"0"``
                returns any cached state, which may be stale; ``None`` reads the most recent state.
            resource_version_match: ``"Exact"`` or ``"NotOlderThan"``.
            page_size: objects per request, as with kubectl's ``--chunk-size``; ``None`` for a single request.
                If the continue token expires between pages, everything is read again in one response.
            limit: return one page of at most this many objects; pass the result's ``continue_token`` to get the next.
            continue_token: from the previous page; all other arguments must be the same.
            timeout: seconds for the whole call, discovery and retries included; ``None`` means 75 s for each page.

        Returns:
            The objects in the server's order, with the collection's ``resource_version``.

        Raises:
            Gone: ``resource_version`` or ``continue_token`` has expired.
            InvalidSelector: a selector is malformed.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        options = ListOptions(
            resource_version=resource_version,
            resource_version_match=resource_version_match,
            page_size=page_size,
            limit=limit,
            continue_token=continue_token,
            timeout=timeout,
        )
        return await read.list_objects(
            self._target, namespace, Selection.parse(label_selector, field_selector), options
        )

    async def table(
        self,
        *,
        namespace: str | None = None,
        label_selector: LabelSelectorLike = None,
        field_selector: FieldSelectorLike = None,
        page_size: int | None = 500,
        limit: int | None = None,
        continue_token: str | None = None,
        timeout: float | None = None,
    ) -> UnstructuredTable:
        """Read a collection with the columns printed by ``kubectl get``.

        Objects and cells come in one response, so both show the same state.

        Args:
            namespace: ``None`` means all namespaces.
            label_selector: restrict by labels: ``"app=web,tier in (fe,be)"`` or ``{"app": "web"}``.
            field_selector: restrict by fields: ``"status.phase=Running"``.
            page_size: objects per request; ``None`` for a single request. If the continue token expires between pages,
                everything is read again in one response.
            limit: return one page of at most this many objects; pass the result's ``continue_token`` to get the next.
                ``remaining_item_count`` is the number of objects left.
            continue_token: from such a result; all other arguments must be the same.
            timeout: seconds for the whole call, discovery and retries included; ``None`` means 75 s for each page.

        Returns:
            The objects in the server's order, with ``columns`` and ``cells``. Some aggregated APIs do not support
            tables: then ``server_columns`` is false, and the columns are name and age.

        Raises:
            Gone: ``continue_token`` has expired.
            InvalidSelector: a selector is malformed.
            DynkubeError: any other failure; see :class:`~dynkube.errors.DynkubeError` for the subclasses.
        """
        options = ListOptions(page_size=page_size, limit=limit, continue_token=continue_token, timeout=timeout)
        return await read.table(self._target, namespace, Selection.parse(label_selector, field_selector), options)

    def iterate(
        self,
        *,
        namespace: str | None = None,
        label_selector: LabelSelectorLike = None,
        field_selector: FieldSelectorLike = None,
        page_size: int = 500,
        allow_inconsistent: bool = False,
        timeout: float | None = None,
    ) -> ObjectIterator:
        """Read a collection page by page: ``async for obj in resource.iterate(): ...``.

        For collections that are too large to hold in memory. Calling it sends nothing; the loop sends the requests.

        Args:
            namespace: ``None`` means all namespaces.
            label_selector: restrict by labels.
            field_selector: restrict by fields.
            page_size: objects per request.
            allow_inconsistent: if the continue token expires, continue with the next page as it is now
                (the API's inconsistent continuation): newer objects may be included, and objects that moved
                may be missed.
            timeout: seconds for each page; ``None`` means 75.

        Returns:
            An iterator over the objects.

        Raises:
            InvalidSelector: a selector is malformed.
            Gone: in the loop, after the first page, if the continue token has expired and ``allow_inconsistent`` is
                false, or the server does not offer an inconsistent continuation.
            DynkubeError: in the loop, for any other failure; see :class:`~dynkube.errors.DynkubeError`.
        """
        options = ListOptions(page_size=page_size, timeout=timeout)
        selection = Selection.parse(label_selector, field_selector)
        return read.iterate(self._target, namespace, selection, options, allow_inconsistent=allow_inconsistent)
