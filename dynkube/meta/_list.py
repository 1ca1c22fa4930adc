"""``UnstructuredList``: the objects of one list response."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Self, overload

from dynkube._displayable import Displayable
from dynkube._text.ages import age_of
from dynkube._text.tables import printable
from dynkube.errors import InvalidObject
from dynkube.meta._object import Unstructured
from dynkube.meta._partial import partial_reader
from dynkube.meta._plain_table import PRINTED_ROWS, PROMPT_ROWS, PlainColumn, plain_table

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from dynkube.meta._frames.fields import Fields
    from dynkube.meta._frames.values import FrameColumn

_CREATED: Final = ("metadata", "creationTimestamp")


class UnstructuredList(Displayable, Sequence[Unstructured]):
    """The objects of one list response, and its metadata. An immutable sequence; slices are lists as well.

    Attributes:
        resource_version: the resourceVersion of the list, from which a watch can start.
        continue_token: requests the next page; ``""`` on the last page.
        remaining_item_count: the number of objects on further pages; ``None`` if the server does not count them, as is
            the case with selectors.
        api_version: ``apiVersion`` of the list, e.g. ``"apps/v1"``.
        kind: ``kind`` of the list, e.g. ``"DeploymentList"``.
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
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Unstructured | Self:
        if isinstance(index, slice):
            return self._part(range(len(self))[index])
        given: object = index
        if isinstance(given, str):
            raise TypeError(f"{given!r} is not a number: lists have objects by number, client.get() has one by name")
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Unstructured]:
        return iter(self._items)

    def sort_by(self, path: str, *, reverse: bool = False) -> Self:
        """Return the same list, sorted by a field as by ``kubectl get --sort-by``; a table with its columns.

        ::

            pods = await client.get("pods", namespace="shop")
            print(pods.sort_by(".status.containerStatuses[0].restartCount", reverse=True))

        Numbers and quantities (``"900m"`` before ``"1"``) are compared by value, times as such, and strings so that
        ``web-9`` is before ``web-10``. Values of different types are in this order: booleans, numbers, times, strings,
        others. Objects without the field are last, also with ``reverse``. Objects with equal values keep their order.
        Only the objects of this list are sorted: servers do not sort, so with ``limit`` others may come first.

        Blocks, for 20,000 objects a fraction of a second.

        Args:
            path: a kubectl JSONPath, with or without braces; the first value that it selects is used.
            reverse: the largest first.

        Raises:
            InvalidJSONPath: the path does not parse; the message shows the position.
            InvalidObject: the body of an object cannot be read.
        """
        from dynkube.meta._jsonpath.compiled import JSONPath
        from dynkube.meta._sorting import order_by

        return self._in_order(order_by(self._items, JSONPath.compile(path), reverse=reverse))

    def _part(self, places: Sequence[int]) -> Self:
        found = self._in_order(places)
        found.continue_token, found.remaining_item_count = "", None  # of the page, which this is not
        return found

    def _in_order(self, places: Sequence[int]) -> Self:
        found = copy(self)
        found._items = tuple(self._items[place] for place in places)
        return found

    def to_yaml(self, *, managed_fields: bool = False) -> str:
        """Return the objects as YAML, as ``kubectl get -o yaml`` prints several objects.

        The result is one document of kind ``List``.

        Args:
            managed_fields: include ``metadata.managedFields``.

        Raises:
            InvalidObject: the body of an object cannot be read.
        """
        from dynkube.meta._kubectl_yaml import kubectl_yaml, printed

        items = [printed(obj.to_dict(), managed_fields=managed_fields) for obj in self]
        return kubectl_yaml({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items})

    def to_pandas(self, *, fields: Fields | None = None, with_object: bool = False) -> pd.DataFrame:
        """Return a pandas ``DataFrame`` with a row for each object, and typed columns.

        The columns of a table are the server's, with ages as creation times; of any other list ``Namespace``, ``Name``
        and ``Created``. Types are pandas' nullable ones (``Int64``, ``Float64``, ``boolean``, ``datetime64[us, UTC]``,
        ``string``). Blocks, for 20,000 objects about 0.1 s, or 0.5 s if a path has a filter: in async code call it with
        ``trio.to_thread.run_sync``.

        Args:
            fields: additional columns by name: kubectl JSONPaths, or functions of the object. A field replaces another
                column of the same name.
            with_object: add a column ``object`` with the object as a JSON string.

        Raises:
            ImportError: pandas is not installed.
            InvalidInput: ``fields`` is not a mapping of names to JSONPaths or functions.
        """
        from dynkube.meta._frames.libraries import pandas_frame

        return pandas_frame(self._frame(fields, with_object))

    def to_polars(self, *, fields: Fields | None = None, with_object: bool = False) -> pl.DataFrame:
        """Return a polars ``DataFrame`` with a row for each object, and typed columns.

        The columns of a table are the server's, with ages as creation times; of any other list ``Namespace``, ``Name``
        and ``Created``. Types are ``Int64``, ``Float64``, ``Boolean``, ``Datetime`` (microseconds, UTC) and ``String``.
        Blocks, for 20,000 objects about 0.1 s, or 0.5 s if a path has a filter: in async code call it with
        ``trio.to_thread.run_sync``.

        Args:
            fields: additional columns by name: kubectl JSONPaths, or functions of the object. A field replaces another
                column of the same name.
            with_object: add a column ``object`` with the object as a JSON string.

        Raises:
            ImportError: polars is not installed.
            InvalidInput: ``fields`` is not a mapping of names to JSONPaths or functions.
        """
        from dynkube.meta._frames.libraries import polars_frame

        return polars_frame(self._frame(fields, with_object))

    def _frame(self, fields: Fields | None, with_object: bool) -> list[FrameColumn]:
        from dynkube.meta._frames.columns import object_frame

        return object_frame(list(self), fields, with_object=with_object)

    def __str__(self) -> str:
        """Return the objects as a plain-text table, as kubectl prints them.

        At most 500 rows; the last line says how many objects are left out.
        """
        return self._plain(PRINTED_ROWS)

    def __repr__(self) -> str:
        # The prompt shows a value by repr(), and what it shows of a list must be of use. As with pandas, a container of
        # lists is therefore printed with all of their rows; messages of this library use _one_line instead.
        return self._plain(PROMPT_ROWS)

    def _plain(self, rows: int) -> str:
        remaining, more = self.remaining_item_count, bool(self.continue_token)
        return plain_table(self._plain_columns(), len(self), rows, remaining=remaining, more=more)

    def _one_line(self) -> str:
        more = f", {self.remaining_item_count} more" if self.remaining_item_count else ""
        return printable(f"<{self.kind or 'List'} {self.api_version} of {len(self)}{more} rv={self.resource_version}>")

    def _plain_columns(self) -> list[PlainColumn]:
        items, now = self._items, datetime.now(UTC)
        return [
            *self._differing("namespace"),
            *self._differing("kind"),
            PlainColumn("NAME", lambda row: items[row].name),
            PlainColumn("AGE", lambda row: _age(items[row], now)),
        ]

    def _differing(self, name: str, wanted: bool | None = None) -> Iterator[PlainColumn]:
        """Yield the column of ``namespace`` or ``kind``, by default if it differs between the objects."""
        if wanted or (wanted is None and len({getattr(obj, name) for obj in self._items}) > 1):
            yield PlainColumn(name.upper(), lambda row: getattr(self._items[row], name))


def _age(obj: Unstructured, now: datetime) -> str:
    try:
        return age_of(partial_reader(_CREATED)(obj.json), now)
    except InvalidObject:  # repr() must not raise because of the data
        return "(unreadable)"
