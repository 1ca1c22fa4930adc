"""A filter in use by one view, called by the owner's task and by readers.

A filter may be a user's class. Exceptions of its functions are reported. If ``matches`` raises, the object is hidden;
if ``ready`` or ``at_once`` raises, the filter is not ready; exceptions of ``pending`` and ``close`` have no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

from dynkube._guard import attempt, count_passing, passing, repr_of, text_of
from dynkube.informers._cache.cache import Changes
from dynkube.informers._cache.store import Snapshot
from dynkube.informers._filters.filters import BoundFilter, Filter, FilterContext, Predicate
from dynkube.informers._views.filter_results import FilterResults
from dynkube.meta import Unstructured


class ErrorReport(Protocol):
    """Callback for an exception of a user's function, such as a filter.

    Called with a description of the function, the exception, and the object if the function was called with one.
    """

    def __call__(self, what: str, exc: Exception, obj: Unstructured | None = None) -> None: ...


_SHOW_ALL: Final = BoundFilter(lambda obj: True)
_TRIES: Final = 8  # to store results of a read while the cache changes
_UNSPECIFIED: Final = "an unspecified condition"


class AppliedFilter:
    """One filter in one view, until it is replaced or the informer is closed."""

    __slots__ = ("_bound", "_failure", "_report", "_results", "_round", "_was_read", "filter")

    def __init__(self, filter: Filter | None, bound: BoundFilter, report: ErrorReport) -> None:  # noqa: A002
        self.filter = filter
        self._bound = bound
        self._report = report
        self._failure = ""  # why the filter is not ready, if one of its functions raised
        self._results: FilterResults | None = None  # kept results for the current version of the cache
        self._round = object()  # another one after forget()
        self._was_read = False

    @classmethod
    def bind(cls, new: Filter | None, context: FilterContext, report: ErrorReport) -> AppliedFilter:
        """Bind a filter; exceptions of its ``bind`` propagate to the caller."""
        return NO_FILTER if new is None else cls(new, new._bind(context), report)

    @property
    def shows_all(self) -> bool:
        """Whether there is no filter, so that nothing needs to be called."""
        return self._bound is _SHOW_ALL

    @property
    def ready(self) -> bool:
        """Whether the filter is ready."""
        return self.shows_all or attempt(self._is_ready, False, self._ready_failed)

    @property
    def pending(self) -> str:
        """The reason why the filter is not ready, for messages; ``""`` if it is ready."""
        if self.shows_all or (self.ready and not self._failure):
            return ""
        # Never empty, as a text means that the informer is SYNCING; the filter's own description may be empty.
        return attempt(lambda: str(self._bound.pending()), "", self._pending_failed) or self._failure or _UNSPECIFIED

    def shown(self, objects: Sequence[Unstructured]) -> list[Unstructured] | None:
        """Return the ``objects`` that the filter shows; ``None`` if it is not ready."""
        if self.shows_all:
            return list(objects)
        matches = self._reading()
        if matches is None:
            return None
        return passing(matches, objects, self._matches_failed)

    def known(self, snapshot: Snapshot, latest: Callable[[], Snapshot]) -> Snapshot | None:
        """Return the objects of a version that the filter shows, from kept results.

        Results are kept from the second read on, as storing them costs as much as calling a simple filter twice.

        Args:
            snapshot: the version of the cache.
            latest: returns the version that is published now.

        Returns:
            The objects; ``None`` if results may not be kept, so that the filter has to be called at each read.
        """
        if not self._bound.object_only:
            return None
        current_round, kept = self._round, self._results
        results = kept.at(snapshot) if kept is not None and kept.round is current_round else None
        if results is None:
            was_read, self._was_read = self._was_read, True
            if not was_read:
                return None
            results = FilterResults.none(current_round, snapshot)
        if len(results.pending):
            shown = self.shown(list(results.pending))
            if shown is None:
                return None
            results = results.evaluated(shown)
        elif results.carried:
            results = results.evaluated(())
        if results is not kept:
            self._keep(results, latest)
        return results.shown

    def _keep(self, results: FilterResults, latest: Callable[[], Snapshot]) -> None:
        """Store results on any thread.

        The cache may have changed since the read began, as evaluating the filter on many objects takes time. The owner
        may have called :meth:`carry` before the results are stored, so they are brought up to date first.
        """
        current: FilterResults | None = results
        for _ in range(_TRIES):
            version = latest()
            current = None if current is None else current.at(version)
            self._results = current
            if current is None or latest() is version:
                return
        self._results = None

    def carry(self, before: Snapshot, changes: Changes, after: Snapshot) -> None:
        """Carry kept results over to a new version; called by the owner's task."""
        results = self._results
        if results is not None:
            is_current = results.round is self._round
            if is_current and results.base is after:  # a reader has already brought them up to date
                return
            now = results.carry(changes, after) if is_current and results.base is before else None
            self._results = now
            self._was_read = now is not None

    def forget(self) -> None:
        """Drop kept results, also those that a read in progress on another thread will store."""
        self._round = object()
        self._results = None

    def count(self, objects: Iterable[Unstructured]) -> int:
        """Return how many of ``objects`` the filter shows."""
        matches = self._reading()
        return 0 if matches is None else count_passing(matches, objects, self._matches_failed)

    def close(self) -> None:
        """Close the bound filter."""
        attempt(self._bound.close, None, self._close_failed)

    def _is_ready(self) -> bool:
        return bool(self._bound.ready())

    def _reading(self) -> Predicate | None:
        """Return the predicate for one read; ``None`` if the filter is not ready."""
        if not self.ready:
            return None
        matches = attempt(self._bound.reading, None, self._at_once_failed)
        if matches is not None:
            self._failure = ""
        return matches

    # ── exceptions of its functions ──────────────────────────────────────────────────────────

    def _ready_failed(self, exc: Exception) -> None:
        self._failure = f"its ready(), which raised {text_of(exc)}"
        self._report(f"ready() of filter {repr_of(self.filter)}", exc)

    def _at_once_failed(self, exc: Exception) -> None:
        self._failure = f"its at_once(), which raised {text_of(exc)}"
        self._report(f"at_once() of filter {repr_of(self.filter)}", exc)

    def _pending_failed(self, exc: Exception) -> None:
        self._report(f"pending() of filter {repr_of(self.filter)}", exc)

    def _close_failed(self, exc: Exception) -> None:
        self._report(f"close() of filter {repr_of(self.filter)}", exc)

    def _matches_failed(self, obj: Unstructured, exc: Exception) -> None:
        self._report(f"filter {repr_of(self.filter)}", exc, obj)

    def __repr__(self) -> str:
        return f"<AppliedFilter {repr_of(self.filter)}>"


def _nothing_fails(what: str, exc: Exception, obj: Unstructured | None = None) -> None:
    """Do nothing; the error report of filters that never fail."""


NO_FILTER: Final = AppliedFilter(None, _SHOW_ALL, _nothing_fails)
"""Shows all objects. Shared by all views without a filter, as it has no state."""

CLOSED: Final = AppliedFilter(None, BoundFilter(lambda obj: False), _nothing_fails)
"""Shows no objects: for reads in progress on other threads when the informer is closed; later ones get none either."""
