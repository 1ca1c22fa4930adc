"""What the pages of one live table show of its rows: order, search, and a window.

Up to ``limit`` rows are all on the page, which sorts and searches them itself, also while the kernel is busy. Of more
rows the page holds a window of this many; it sends where it was scrolled to, what it searches and how it sorts. All
pages of a table show the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

import trio

from dynkube.informers import ClusterObject
from dynkube.informers._slices import Slices
from dynkube.notebook._columns import LiveColumn
from dynkube.notebook._ranking import Ranking, Wish, row_key
from dynkube.notebook._selection import RowSelection
from dynkube.notebook._sorted_keys import SortedKey

_LEAST: Final = 100  # rows of a window: more than a page shows at once
_WORDS: Final = 8
_LONG: Final = 100  # characters of a word or heading


_ALL: Final = Wish()


@dataclass(frozen=True, slots=True)
class Asked:
    """What a page asks for.

    Attributes:
        page: the page.
        number: increases with each message of the page.
        first: the place of the first row of the window.
        top: the place of the first row that can be seen.
        wish: order and search.
    """

    page: str = ""
    number: int = 0
    first: int = 0
    top: int = 0
    wish: Wish = _ALL

    @classmethod
    def parse(cls, message: dict[str, Any]) -> Asked:
        """Read a page's message; whatever is invalid has its default."""
        words = message.get("words")
        texts = [word[:_LONG].lower() for word in words if isinstance(word, str) and word] if _is_list(words) else []
        wish = Wish(str(message.get("column", ""))[:_LONG], message.get("down") is True, tuple(texts[:_WORDS]))
        number, first, top = (_place(message.get(name)) for name in ("number", "first", "top"))
        return cls(str(message.get("page", ""))[:_LONG], number, first, top, wish)


@dataclass(frozen=True, slots=True)
class ViewHead:
    """Where the rows of a snapshot are among all.

    Attributes:
        first: the place of the first row.
        found: the number of rows that the search finds.
        asked: what a page has asked for.
        done: the part of the objects that were searched and sorted so far, from 0 to 1.
    """

    first: int
    found: int
    asked: Asked
    done: float


class TableView:
    """The window of one table; follows what a page asks for.

    Args:
        rows: all rows, to which events are applied.
        limit: the number of rows from which on there is a window.
        asked: what a page asked for already; ``None`` if none can scroll.
    """

    def __init__(self, rows: RowSelection, limit: int, asked: Asked | None = None) -> None:
        self.rows = rows
        self.asked = asked
        self._size = max(limit, _LEAST)
        self._limit = limit
        self._ranking: Ranking | None = None  # None: the order of clusters, namespaces and names
        self._ranked: tuple[Wish, tuple[LiveColumn, ...]] = (_ALL, ())
        self._done = 1.0
        self._first = asked.first if asked is not None else 0
        self._anchor: SortedKey | None = None  # the row at the place _first, wherever it is now
        self._columns: tuple[LiveColumn, ...] = ()
        self._hurry = trio.Event()
        self._stale = trio.Event()

    # ── what pages ask for ───────────────────────────────────────────────────────────────────

    def ask(self, asked: Asked) -> None:
        """Show what a page asks for."""
        self.asked, self._first, self._anchor = asked, asked.first, None
        self._hurry.set()
        self._stale.set()

    async def wait_asked(self) -> None:
        """Wait until a page has asked for something since the last snapshot."""
        await self._hurry.wait()

    @property
    def scrolls(self) -> bool:
        """Whether pages reach all rows, by scrolling."""
        return self.asked is not None

    @property
    def is_window(self) -> bool:
        """Whether the page holds a window of the rows, instead of the first or all."""
        return self.scrolls and len(self.rows) > self._size

    # ── snapshots ────────────────────────────────────────────────────────────────────────────

    def window(self, columns: tuple[LiveColumn, ...]) -> tuple[list[ClusterObject], ViewHead | None]:
        """Return the rows to show, and where they are."""
        self._hurry, self._columns = trio.Event(), columns
        if self._wanted != self._ranked:
            self._stale.set()
        asked = self.asked
        if asked is None or not self.is_window:
            return self.rows.window(0, self._limit if asked is None else self._size), None
        order = self.rows if self._ranking is None else self._ranking
        place = self._first
        if self._anchor is not None:
            place = order.index(self._anchor)
        self._first = first = max(0, min(place, len(order) - self._size))
        keys: Sequence[SortedKey] = order.slice(first, self._size)
        self._anchor = keys[0] if first and keys else None  # at the top new rows are shown
        head = ViewHead(first, len(order), asked, self._done)
        return self.rows.rows(map(row_key, keys)), head

    @property
    def _wish(self) -> Wish:
        return self.asked.wish if self.asked is not None else _ALL

    # ── search and order ─────────────────────────────────────────────────────────────────────

    @property
    def _wanted(self) -> tuple[Wish, tuple[LiveColumn, ...]]:
        """The wish to rank by, and the columns that it depends on."""
        wish = self._wish if self.is_window else _ALL
        return (wish, self._columns) if wish != _ALL else (wish, ())

    async def keep_ranked(self, slices: Slices, changed: Callable[[], object]) -> None:
        """Search and sort as pages ask for, until cancelled; ``changed`` is called when there is something to show."""
        while True:
            self._stale = trio.Event()
            if self._wanted != self._ranked:
                await self._rank(slices, changed)
            else:
                await self._stale.wait()

    async def _rank(self, slices: Slices, changed: Callable[[], object]) -> None:
        """Put all objects into a new order; events are applied to it meanwhile. Ends early if another one is wanted."""
        wanted = self._ranked = self._wanted
        wish, columns = wanted
        old, new = self._ranking, Ranking(wish, columns) if wish != _ALL else None
        # What did not match is not searched again while a word is typed, unless the columns are others.
        narrows = old is not None and old.is_complete and old.columns == columns and wish.narrows(old.wish)
        source = old if old is not None and narrows else self.rows
        self._done = 1.0 if new is None else 0.0
        if new is None or wish.words:
            self._use(new)
        else:  # the old order is shown until the new one is complete
            self.rows.rankings = tuple(each for each in (old, new) if each is not None)
        if new is not None and await self._fill(new, source, slices, changed):
            new.is_complete = True
            self._use(new)
        await slices.rest()
        changed()

    async def _fill(
        self, new: Ranking, source: RowSelection | Ranking, slices: Slices, changed: Callable[[], object]
    ) -> bool:
        put = 0
        for key in (key for keys in source.scan() for key in keys):
            row = self.rows.get(key)  # one by one, as events change and delete objects during a checkpoint
            if row is not None:
                new.put(row)
                put += 1
                if slices.over:
                    self._done = min(put / max(1, len(source)), 0.99)
                    changed()
                    await slices.rest()
                    if self._wanted != self._ranked:
                        return False
        self._done = 1.0
        return True

    def _use(self, ranking: Ranking | None) -> None:
        self._ranking, self._anchor = ranking, None
        self.rows.rankings = () if ranking is None else (ranking,)


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list | tuple)


def _place(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 2**53 else 0
