"""The verbs that read, as :class:`ResourceClient` shows them."""

from __future__ import annotations

from dynkube.client import _reads
from dynkube.client._options import (
    FieldSelectorLike,
    GetOptions,
    LabelSelectorLike,
    ListOptions,
    ResourceVersionMatch,
    Selection,
)
from dynkube.client._pager import ObjectIterator
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
            name: of the object.
            namespace: ``None`` means the context's.
            resource_version: not older than this; ``"0"`` for whatever the server has at hand, which is
                cheaper and may be old; ``None`` for the most recent (API concepts, "resourceVersion").
            timeout: see the class.

        Returns:
            The object.

        Raises:
            NotFound: there is none of that name.
            DynkubeError: as the class says.
        """
        options = GetOptions(resource_version=resource_version, timeout=timeout)
        return await _reads.get(self._target, name, namespace, options)

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
        """Read a collection, as it was at one moment.

        Args:
            namespace: ``None`` means all namespaces.
            label_selector: which objects: ``"app=web,tier in (fe,be)"`` or ``{"app": "web"}``.
            field_selector: likewise by fields: ``"status.phase=Running"``.
            resource_version: as for :meth:`get`.
            resource_version_match: ``"Exact"`` for just this version, ``"NotOlderThan"`` for at least it.
            page_size: how many objects are asked for at a time, as kubectl does it; ``None`` for all at once.
                If the pages take longer than the server keeps their moment, everything is read once more in
                one answer.
            limit: read one page of at most so many objects and stop; ``continue_token`` of the result
                goes on from there.
            continue_token: from such a result; the other arguments must be the same.
            timeout: see the class; ``None`` means 75 s for each page.

        Returns:
            The objects in the server's order, with the collection's ``resource_version``.

        Raises:
            Gone: ``resource_version`` or ``continue_token`` is too old.
            InvalidSelector: a selector does not parse.
            DynkubeError: as the class says.
        """
        options = ListOptions(
            resource_version=resource_version,
            resource_version_match=resource_version_match,
            page_size=page_size,
            limit=limit,
            continue_token=continue_token,
            timeout=timeout,
        )
        return await _reads.list_objects(
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
        """Read a collection with the columns in which ``kubectl get`` shows it.

        The objects and their cells come in one answer, so a table is a list of the same objects.

        Args:
            namespace: ``None`` means all namespaces.
            label_selector: as for :meth:`list`.
            field_selector: as for :meth:`list`.
            page_size: as for :meth:`list`.
            limit: read one page of at most so many objects and stop; ``continue_token`` of the result goes on from
                there, and ``remaining_item_count`` says how many there are.
            continue_token: from such a result; the other arguments must be the same.
            timeout: see the class; ``None`` means 75 s for each page.

        Returns:
            The objects in the server's order, ``columns`` and ``cells``. Some aggregated APIs know no tables:
            then ``server_columns`` is false, and the columns are names and ages.

        Raises:
            Gone: ``continue_token`` is too old.
            InvalidSelector: a selector does not parse.
            DynkubeError: as the class says.
        """
        options = ListOptions(page_size=page_size, limit=limit, continue_token=continue_token, timeout=timeout)
        return await _reads.table(self._target, namespace, Selection.parse(label_selector, field_selector), options)

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
        """Read a collection a page at a time: ``async for obj in resource.iterate(): ...``.

        For collections that should not be in memory at once. A plain call; the loop does the requests.

        Args:
            namespace: ``None`` means all namespaces.
            label_selector: which objects, by labels.
            field_selector: which objects, by fields.
            page_size: how many objects a request asks for.
            allow_inconsistent: if the server no longer has the moment that the pages show, go on with the
                next page as it is now: objects may then be seen that were not there at the beginning, and
                objects missed that moved.
            timeout: seconds for each page; ``None`` means 75.

        Returns:
            What to loop over.

        Raises:
            InvalidSelector: a selector does not parse.
            Gone: in the loop, on a page after the first, where ``allow_inconsistent`` does not help.
            DynkubeError: as the class says, in the loop.
        """
        options = ListOptions(page_size=page_size, timeout=timeout)
        selection = Selection.parse(label_selector, field_selector)
        return _reads.iterate(self._target, namespace, selection, options, allow_inconsistent=allow_inconsistent)
