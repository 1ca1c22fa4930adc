"""The printer columns of a watched resource: what ``kubectl get`` prints of its objects."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

import trio

from dynkube._text.ages import duration_text
from dynkube.errors import DynkubeError
from dynkube.informers import ClusterObject, Informer, Phase
from dynkube.meta import JSON, Unstructured, UnstructuredTable

if TYPE_CHECKING:
    from dynkube.informers._availability.crd_summary import PrinterColumn
    from dynkube.notebook._columns import LiveColumn

_PAUSE: Final = 2.0  # seconds between two tables, at least
_SHARE: Final = 20  # a table that took a second is followed by twenty without one
_MOST_OBJECTS: Final = 2_000  # a table has all objects of the collection, not only the visible rows


class Printed(NamedTuple):
    """One column: its heading, and a cell for each object."""

    heading: str
    cells: Sequence[str]


class PrinterColumns:
    """Reads the printer columns of an informer's objects.

    The columns of a CRD are computed from the objects. Those of all other kinds are computed by servers only, in
    tables of a whole collection; :meth:`run` requests one when rows on the screen have changed, but not for each event.

    Args:
        informer: the informer of the objects.
        request: requests a table of the same objects; ``None`` to show the columns of CRDs only.
        now: the current time, for ages.
    """

    def __init__(
        self,
        informer: Informer,
        request: Callable[[], Awaitable[UnstructuredTable]] | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._informer = informer
        self._request = request
        self._now = now
        self._declared: tuple[PrinterColumn, ...] = ()
        self._columns: tuple[LiveColumn, ...] = ()
        self._headings: tuple[str, ...] | None = None  # None before the first table
        self._rows: dict[tuple[str, str], tuple[str, tuple[str, ...]]] = {}  # resourceVersion and cells
        self._outdated = trio.Event()

    def of(self, objects: Sequence[Unstructured]) -> list[Printed]:
        """Return the columns of objects, without name and age; empty if they are not known.

        Cells from a server's table may be older than the objects; then :meth:`run` requests another table.
        """
        if declared := self._informer.printer_columns:
            return self._of_definition(objects, declared)
        rows = [self._rows.get(obj.key, ("", ())) for obj in objects]
        if any(version != obj.resource_version for obj, (version, _) in zip(objects, rows, strict=True)):
            self._outdated.set()
        return [
            Printed(heading, [cells[place] if cells else "" for _, cells in rows])
            for place, heading in enumerate(self._headings or ())
        ]

    async def run(self) -> None:
        """Request tables while there are outdated cells, until cancelled."""
        while self._request is not None and self._headings != ():  # a table without columns of its own has no news
            await self._outdated.wait()
            self._outdated = trio.Event()
            began = trio.current_time()
            if self._has_table():
                with suppress(DynkubeError):  # columns are an extra, and the state shown says what is wrong
                    self._keep(await self._request())
            await trio.sleep(max(_PAUSE, _SHARE * (trio.current_time() - began)))

    def _has_table(self) -> bool:
        informer = self._informer
        return informer.state.phase is Phase.LIVE and informer.statistics().objects <= _MOST_OBJECTS

    def _keep(self, table: UnstructuredTable) -> None:
        own = [
            place
            for place, column in enumerate(table.columns)
            if not (column.wide or column.format == "name" or column.shows_age or column.shows_creation)
        ]
        self._headings = tuple(table.columns[place].name for place in own)
        self._rows = {
            obj.key: (obj.resource_version, tuple(_text(cells[place]) for place in own))
            for obj, cells in zip(table, table.cells, strict=True)
        }

    def _of_definition(self, objects: Iterable[Unstructured], declared: tuple[PrinterColumn, ...]) -> list[Printed]:
        # Imported here: it takes 70 ms, which no other command needs.
        from dynkube.notebook._columns import columns_for

        if declared != self._declared:
            _namespace, _name, *own, _age = columns_for((), {"": declared})
            self._declared, self._columns = declared, tuple(own)
        now = self._now().timestamp()
        return [Printed(column.name, [_cell(column, obj, now) for obj in objects]) for column in self._columns]


def _cell(column: LiveColumn, obj: Unstructured, now: float) -> str:
    cell = column.of(ClusterObject("", obj))
    return cell.text if cell.moment is None else duration_text(now - cell.moment)


def _text(value: JSON) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
