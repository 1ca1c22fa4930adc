"""``UnstructuredList``: the objects of one answer, and what can be made of many at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, overload

from dynkube._display import Shown, printable
from dynkube.meta._object import Unstructured

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from dynkube._display import Card, Span
    from dynkube.meta._frame import Fields
    from dynkube.meta._frame_values import FrameColumn


class UnstructuredList(Shown, Sequence[Unstructured]):
    """One answer to a list request: the objects, and where in history it stands.

    ``continue_token`` is ``""`` on the last page; ``remaining_item_count`` is ``None`` where the server
    does not count (it never does with selectors).
    """

    __slots__ = ("_items", "api_version", "continue_token", "kind", "remaining_item_count", "resource_version")

    def __init__(
        self,
        items: Sequence[Unstructured],
        *,
        resource_version: str = "",
        continue_token: str = "",
        remaining_item_count: int | None = None,
        api_version: str = "",
        kind: str = "",
    ) -> None:
        self._items = tuple(items)
        self.resource_version: str = resource_version
        self.continue_token: str = continue_token
        self.remaining_item_count: int | None = remaining_item_count
        self.api_version: str = api_version
        self.kind: str = kind

    @overload
    def __getitem__(self, index: int) -> Unstructured: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Unstructured, ...]: ...
    def __getitem__(self, index: int | slice) -> Unstructured | tuple[Unstructured, ...]:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Unstructured]:
        return iter(self._items)

    def to_yaml(self, *, managed_fields: bool = False) -> str:
        """The objects as ``kubectl get -o yaml`` prints many: one document, a ``List`` of them.

        Args:
            managed_fields: print ``metadata.managedFields`` too.

        Raises:
            InvalidObject: the body of one cannot be read.
        """
        from dynkube.meta._kubectl_yaml import kubectl_yaml, printed

        items = [printed(obj.to_dict(), managed_fields=managed_fields) for obj in self]
        return kubectl_yaml({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items})

    def to_pandas(self, *, fields: Fields | None = None, with_object: bool = False) -> pd.DataFrame:
        """The list as a pandas ``DataFrame``, a row for each object, in columns with types; see :func:`to_pandas`.

        Of a table these are the server's columns, the ages as the times of creation; of any other list
        ``Namespace``, ``Name`` and ``Created``.
        """
        from dynkube.meta._dataframes import pandas_frame

        return pandas_frame(self._frame(fields, with_object))

    def to_polars(self, *, fields: Fields | None = None, with_object: bool = False) -> pl.DataFrame:
        """The same as a polars ``DataFrame``; see :func:`to_polars`."""
        from dynkube.meta._dataframes import polars_frame

        return polars_frame(self._frame(fields, with_object))

    def _frame(self, fields: Fields | None, with_object: bool) -> list[FrameColumn]:
        from dynkube.meta._frame import extended, object_columns

        return extended(object_columns(self), self, fields, with_object=with_object)

    def __repr__(self) -> str:
        more = f", {self.remaining_item_count} more" if self.remaining_item_count else ""
        return printable(f"<{self.kind or 'List'} {self.api_version} of {len(self)}{more} rv={self.resource_version}>")

    def _card(self, now: datetime) -> Card:
        from dynkube._display import counted, line, list_card, object_columns

        return list_card(
            line(f"{self.api_version} {self.kind or 'List'}".strip(), counted(len(self), "object"), *self._place()),
            self._items,
            object_columns(self._items, now),
            remaining=self.remaining_item_count,
            more=bool(self.continue_token),
        )

    def _place(self) -> Iterator[Span]:
        """In which namespace they are, if it is one; and where in history the list stands."""
        from dynkube._display import Span, common, muted

        if namespace := common(self._items, "namespace"):
            yield Span(namespace)
        if self.resource_version:
            yield muted(f"resourceVersion {self.resource_version}")
