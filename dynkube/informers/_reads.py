"""The reads of an informer: synchronous, and safe to call from any thread."""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from dynkube.errors import InvalidInput
from dynkube.informers._cache.store import EMPTY, Snapshot
from dynkube.informers._factory import InformerFactory
from dynkube.informers._reflector.counters import ReflectorStatistics
from dynkube.informers._shared_informer import SharedInformer
from dynkube.informers._states import Phase, State
from dynkube.informers._statistics import InformerStatistics
from dynkube.informers._views.filtered_view import View
from dynkube.informers._views.handlers import HandlerTask
from dynkube.meta import Fields, LabelSelector, Unstructured, to_pandas, to_polars
from dynkube.meta._arguments import a_type

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Selector = str | Mapping[str, str] | None


class Reads:
    """The reads of an :class:`Informer`: the shared cache, filtered by its view."""

    __slots__ = ("_factory", "_namespace", "_shared", "_state", "_view")

    def __init__(self, namespace: str | None) -> None:
        self._namespace = namespace
        self._factory: InformerFactory | None = None  # set on entering
        self._shared: SharedInformer | None = None  # while it is entered
        self._state = State(Phase.STOPPED, "NotEntered")  # while it is not
        self._view = View(self._report, self._request_round)

    @property
    def state(self) -> State:
        """The current phase, its reason, and when it began."""
        shared = self._shared
        if shared is None:
            return self._state
        if shared.state.phase is Phase.LIVE and (pending := self._view.waiting_for):
            return State(Phase.SYNCING, "FilterPending", f"the filter waits for {pending}", shared.state.since)
        return shared.state

    def list(self, *, namespace: str | None = None, label_selector: Selector = None) -> builtins.list[Unstructured]:
        """Return the cached objects that match the filter, in no particular order.

        The result is ``[]`` while the resource is absent.

        Args:
            namespace: only the objects of this namespace; ``None`` for all that the informer watches.
            label_selector: only objects that match, with the server's semantics.

        Raises:
            InvalidInput: the namespace is not a string, or the selector does not parse.
        """
        _check_namespace(namespace, "all watched namespaces")
        snapshot = self._snapshot
        known = self._view.known(snapshot, self._latest) if namespace is None and label_selector is None else None
        source = snapshot if known is None else known
        objects = iter(source) if namespace is None else source.in_namespace(namespace)
        if label_selector is not None:
            matches = LabelSelector.parse(label_selector).compiled()
            objects = (obj for obj in objects if matches(obj.labels))
        return self._view.visible(objects) if known is None else list(objects)

    def get(self, name: str, *, namespace: str | None = None) -> Unstructured | None:
        """Return one object by name; ``None`` if not cached or hidden by the filter.

        Args:
            name: the object's ``metadata.name``.
            namespace: ``None`` means the namespace of the informer, or the context's namespace if the informer watches
                all namespaces or a set. Leave it out for cluster-scoped objects.

        Raises:
            InvalidInput: the name is not a string or contains a slash, or the namespace is not a string.
        """
        given: object = name  # callers are not always type-checked
        if not isinstance(given, str) or "/" in given:
            raise InvalidInput(_no_name(given))
        _check_namespace(namespace, "that of the informer or the context")
        snapshot = self._snapshot
        obj = snapshot.get((namespace or self._namespace or "", name))
        if obj is None and namespace is None and self._namespace is None and self._factory is not None:
            obj = snapshot.get((self._factory.namespace, name))
        return obj if obj is not None and self._view.accepts(obj) else None

    def by_index(self, index: str, value: str) -> builtins.list[Unstructured]:
        """Return the objects that have ``value`` in ``index`` and match the filter.

        They come in no particular order. While an index is being built, the cache is scanned instead, so the result is
        always complete.

        Args:
            index: the name of the index.
            value: the value as a string, even if the index function or JSONPath returns a number or boolean:
                ``"shop"``, ``"80"``, ``"true"``.

        Raises:
            InvalidInput: there is no such index, or the value is not a string.
        """
        given: object = value  # callers are not always type-checked
        if not isinstance(given, str):
            raise InvalidInput(f"value is {a_type(given)}: pass a string, like '80' or 'true'")
        found = self._view.indexes.get(index)
        if found is None:
            # Controllers add an index of their own; "dynkube." begins no name that a user would look up.
            known = ", ".join(sorted(name for name in self._view.indexes if not name.startswith("dynkube."))) or "none"
            raise InvalidInput(f"no index {index!r} (known: {known}); pass indexes={{...}} or call add_index first")
        if not found.built:
            return self._view.visible(found.scan(self._snapshot, value))
        return self._view.visible(found.lookup(value))

    def to_pandas(self, *, fields: Fields | None = None, with_object: bool = False) -> pd.DataFrame:
        """Return the objects of :meth:`list` as a pandas ``DataFrame``.

        Args:
            fields: the columns, as in :func:`dynkube.to_pandas`.
            with_object: whether to add a column ``object`` with the object as a JSON string.
        """
        return to_pandas(self, fields=fields, with_object=with_object)

    def to_polars(self, *, fields: Fields | None = None, with_object: bool = False) -> pl.DataFrame:
        """Return the objects of :meth:`list` as a polars ``DataFrame``.

        Args:
            fields: the columns, as in :func:`dynkube.to_polars`.
            with_object: whether to add a column ``object`` with the object as a JSON string.
        """
        return to_polars(self, fields=fields, with_object=with_object)

    def __len__(self) -> int:
        """The number of cached objects that match the filter."""
        snapshot = self._snapshot
        known = self._view.known(snapshot, self._latest)
        return self._view.count(snapshot) if known is None else len(known)

    def __iter__(self) -> Iterator[Unstructured]:
        return iter(self.list())

    @property
    def _snapshot(self) -> Snapshot:
        shared = self._shared
        return EMPTY if shared is None else shared.snapshot

    def _latest(self) -> Snapshot:
        return self._snapshot

    def statistics(self) -> InformerStatistics:
        """Return counters and state as of now. May be called from any thread."""
        shared, factory = self._shared, self._factory
        subscribers = tuple(self._view.subscribers)
        handlers = tuple(s.statistics() for s in subscribers if isinstance(s, HandlerTask) and not s.closed)
        reflected = shared.reflected if shared is not None else ReflectorStatistics()
        now = factory.now() if factory is not None else -math.inf
        changed = now - reflected.last_event
        return InformerStatistics(
            state=self.state,
            objects=len(self._snapshot),
            listed=reflected.listed,
            resource_version=shared.resource_version if shared is not None else "",
            lists=reflected.lists,
            watches=reflected.watches,
            restarts=reflected.restarts,
            events=reflected.events,
            bookmarks=reflected.bookmarks,
            failures=reflected.failures,
            reasons=dict(reflected.reasons),
            lag=reflected.lag(now),
            last_event=datetime.now(UTC) - timedelta(seconds=changed) if math.isfinite(changed) else None,
            last_error=shared.failures.last if shared is not None else "",
            handlers=handlers,
            users=factory.users(shared) if shared is not None and factory is not None else 0,
        )

    def _request_round(self) -> None:
        """Ask the cache's task to evaluate the filter again, unless that is pending."""
        self._view.forget()
        shared = self._shared
        if shared is not None and not self._view.refiltering:
            self._view.refiltering = True
            shared.inbox.post(partial(shared.refilter, self._view))

    def _report(self, what: str, exc: Exception, obj: Unstructured | None = None) -> None:
        shared = self._shared
        if shared is not None:
            shared.failures.function_failed(what, exc, obj)


def _check_namespace(given: object, otherwise: str) -> None:
    if given is not None and not isinstance(given, str):
        raise InvalidInput(f"namespace={given!r} is not the name of a namespace: leave it out (None) for {otherwise}")


def _no_name(given: object) -> str:
    if not isinstance(given, str):
        return f"name is {a_type(given)}: pass metadata.name of the object"
    namespace, _, name = given.partition("/")  # client-go's key
    return f"name {given!r} contains a slash: use get({name!r}, namespace={namespace!r})"
