"""What may be read from an informer at any time and on any thread: plain calls on a cache that is published whole."""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from dynkube.errors import InvalidInput
from dynkube.informers._attempts import ReflectorStatistics
from dynkube.informers._factory import InformerFactory
from dynkube.informers._handlers import Registration
from dynkube.informers._shared import SharedInformer
from dynkube.informers._states import Phase, State
from dynkube.informers._statistics import InformerStatistics
from dynkube.informers._store import EMPTY, Snapshot
from dynkube.informers._view import View
from dynkube.meta import Fields, LabelSelector, Unstructured, a_type, to_pandas, to_polars

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Selector = str | Mapping[str, str] | None


class Reads:
    """The reads of an :class:`Informer`, which sets what they read: a shared cache, and a view of its own."""

    def __init__(self, namespace: str | None) -> None:
        self._namespace = namespace
        self._factory: InformerFactory | None = None  # once it was entered
        self._shared: SharedInformer | None = None  # while it is entered
        self._state = State(Phase.STOPPED, "NotEntered")  # while it is not
        self._view = View(self._report, self._ask_round)

    @property
    def state(self) -> State:
        """The phase now, why, and since when. ``print(informer.state)`` tells it in words."""
        shared = self._shared
        if shared is None:
            return self._state
        if shared.state.phase is Phase.LIVE and (pending := self._view.waiting_for):
            return State(Phase.SYNCING, "FilterPending", f"the filter waits for {pending}", shared.state.since)
        return shared.state

    def list(self, *, namespace: str | None = None, label_selector: Selector = None) -> builtins.list[Unstructured]:
        """The objects that the filter shows now, in no particular order; ``[]`` while the resource is absent.

        Args:
            namespace: ``None`` means all that the informer follows.
            label_selector: narrows further, with the server's semantics.

        Raises:
            InvalidInput: the namespace is none, or the selector does not parse.
        """
        _check_namespace(namespace, "all that are followed")
        snapshot = self._snapshot
        known = self._view.known(snapshot, self._latest) if namespace is None and label_selector is None else None
        source = snapshot if known is None else known
        objects = iter(source) if namespace is None else source.in_namespace(namespace)
        if label_selector is not None:
            matches = LabelSelector.parse(label_selector).matches
            objects = (obj for obj in objects if matches(obj.labels))
        return self._view.visible(objects) if known is None else list(objects)

    def get(self, name: str, *, namespace: str | None = None) -> Unstructured | None:
        """One object by name, or ``None`` if there is none or the filter hides it.

        Args:
            name: the object's ``metadata.name``.
            namespace: ``None`` means the one the informer was limited to, else the context's namespace; for
                cluster-scoped objects leave it out.

        Raises:
            InvalidInput: the name can be none, as it is no text or has a slash in it, or the namespace is none.
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
        """The objects that ``index`` files under ``value`` and the filter shows, in no particular order.

        An index that was added a moment ago and is still being built is complete all the same: objects are looked
        through one by one until then.

        Args:
            index: its name.
            value: as text, whatever the index function gave or its JSONPath finds: ``"shop"``, ``"80"``, ``"true"``.

        Raises:
            InvalidInput: there is no such index, or the value is no text.
        """
        given: object = value  # callers are not always type-checked
        if not isinstance(given, str):
            raise InvalidInput(f"value is {a_type(given)}: an index files under text, like '80' or 'true'")
        found = self._view.indexes.get(index)
        if found is None:
            known = ", ".join(sorted(self._view.indexes)) or "none"
            raise InvalidInput(f"no index {index!r} (there are: {known}); pass indexes={{...}} or call add_index first")
        if not found.built:
            return self._view.visible(found.scan(self._snapshot, value))
        return self._view.visible(found.lookup(value))

    def to_pandas(self, *, fields: Fields | None = None, with_object: bool = False) -> pd.DataFrame:
        """What :meth:`list` gives, as a pandas ``DataFrame``; see :func:`dynkube.to_pandas`."""
        return to_pandas(self, fields=fields, with_object=with_object)

    def to_polars(self, *, fields: Fields | None = None, with_object: bool = False) -> pl.DataFrame:
        """What :meth:`list` gives, as a polars ``DataFrame``; see :func:`dynkube.to_polars`."""
        return to_polars(self, fields=fields, with_object=with_object)

    def __len__(self) -> int:
        """How many objects the filter shows now."""
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
        """The informer in numbers, as of now. May be called from any thread."""
        shared, factory = self._shared, self._factory
        subscribers = tuple(self._view.subscribers)
        handlers = tuple(s.statistics() for s in subscribers if isinstance(s, Registration) and not s.closed)
        reflected = shared.reflected if shared is not None else ReflectorStatistics()
        now = factory.now() if factory is not None else -math.inf
        changed = now - reflected.last_event
        return InformerStatistics(
            state=self.state,
            objects=len(self._snapshot),
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

    def _ask_round(self) -> None:
        """Have the owner of the cache show what the filter answers differently now, unless it was asked already."""
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
        raise InvalidInput(f"namespace={given!r} names no namespace: leave it out (None) for {otherwise}")


def _no_name(given: object) -> str:
    if not isinstance(given, str):
        return f"name is {a_type(given)}: pass metadata.name of the object"
    namespace, _, name = given.partition("/")  # what client-go calls the key
    return f"name {given!r} has a slash in it: write get({name!r}, namespace={namespace!r})"
