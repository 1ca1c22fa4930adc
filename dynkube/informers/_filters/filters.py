"""Client-side filters: which objects of its cache an informer shows.

Objects that a filter hides are watched and cached all the same, so changing a filter needs no request. If the
selection never changes, use a ``label_selector`` or ``field_selector``, which the server evaluates.

Filters combine with ``&``, ``|`` and ``~``. They are immutable and may be shared by informers. When an informer starts
to use a filter, it *binds* it: resources that the filter needs (for example a watch on namespaces) are opened then, and
closed when the informer gets another filter or is closed.
"""

from __future__ import annotations

import abc
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from dynkube._displayable import Displayable
from dynkube._guard import name_of, repr_of
from dynkube._text.tables import printable
from dynkube.errors import InvalidInput
from dynkube.informers._cache.index import check_in_metadata, printed
from dynkube.informers._cache.store import Snapshot
from dynkube.meta import JSONPath, LabelSelector, Unstructured
from dynkube.meta._arguments import a_type

Predicate: TypeAlias = Callable[[Unstructured], bool]
"""Returns whether an object is shown. Not async: reads call it too, on any thread."""


class NamespaceFollower(Protocol):
    """A live view of the cluster's namespaces, for filters that depend on them."""

    @property
    def snapshot(self) -> Snapshot:
        """The current namespaces."""
        ...

    @property
    def synced(self) -> bool:
        """Whether the snapshot has synced."""
        ...

    @property
    def pending(self) -> str:
        """The reason why the namespaces have not synced yet, for messages."""
        ...

    def close(self) -> None:
        """Stop following."""
        ...


class FilterContext(Protocol):
    """The functions of an informer that its filter may call."""

    @property
    def metadata_only(self) -> bool:
        """Whether the informer's objects have only metadata."""
        ...

    def changed(self) -> None:
        """Evaluate the filter again; to be called when its results may have changed."""
        ...

    def follow_namespaces(self) -> NamespaceFollower:
        """Watch the cluster's namespaces; calls ``changed`` when one changes."""
        ...


def _always() -> bool:
    return True


def _silence() -> str:
    return ""


def _nothing() -> None:
    return None


@dataclass(frozen=True, slots=True)
class BoundFilter:
    """A filter in use by one informer: functions, not async, called on any thread."""

    matches: Predicate
    """Returns whether an object is shown. If it raises, the object is hidden and the informer reports the exception."""
    ready: Callable[[], bool] = _always
    """Returns whether ``matches`` can be called yet. Until then the informer shows no objects and sends no events."""
    pending: Callable[[], str] = _silence
    """Returns the reason why the filter is not ready yet, for messages."""
    close: Callable[[], None] = _nothing
    """Releases the resources that ``bind`` acquired. Called once, in the event loop, when the filter is replaced or the
    informer closed."""
    at_once: Callable[[], Predicate] | None = None
    """Returns a predicate for one read, with a fixed version of the outside state (such as namespaces) that the filter
    uses. Reads happen on any thread, and that state may change during a read. ``None`` if the filter uses none."""

    object_only: bool = False
    """Whether ``matches`` depends on the object alone. If so, ``matches`` is called once per object instead of at every
    read, as objects are immutable."""

    def reading(self) -> Predicate:
        """Return the predicate for one read."""
        return self.matches if self.at_once is None else self.at_once()


class Filter(Displayable, abc.ABC):
    """Decides which objects an informer shows. Combine with ``&``, ``|``, ``~``.

    The base class of the filters of this package. For rules of your own use :class:`PredicateFilter`, or pass a
    function of the object.
    """

    __slots__ = ()

    def __bool__(self) -> bool:
        # ``a and b`` would silently be b alone; numpy and polars raise for the same reason.
        raise InvalidInput(
            "a filter has no truth value: combine filters with &, | and ~, not with and, or, not; "
            "use 'is None' to test whether one is set"
        )

    @abc.abstractmethod
    def _bind(self, context: FilterContext) -> BoundFilter:
        """Start to be used by one informer.

        Does not block; I/O is left to tasks of the context.

        Args:
            context: functions of the informer; valid as long as the informer.

        Returns:
            The functions that the informer calls until it calls ``close``.
        """

    def __and__(self, other: Filter) -> Filter:
        return _Combined("&", (self, as_filter(other)))

    def __or__(self, other: Filter) -> Filter:
        return _Combined("|", (self, as_filter(other)))

    def __invert__(self) -> Filter:
        return _Inverted(self)


def as_filter(value: Filter | Predicate) -> Filter:
    """Return a filter as it is, and a function of the object as a filter.

    Raises:
        InvalidInput: ``value`` is neither.
    """
    if isinstance(value, Filter):
        return value
    given: object = value  # callers are not always type-checked
    if callable(given) and not isinstance(given, type):
        return PredicateFilter(value)
    raise InvalidInput(
        f"filter is {a_type(value)}: pass a Filter (like LabelFilter('app=web')), "
        "a function of the object, or None for no filter"
    )


@dataclass(frozen=True, slots=True)
class _Combined(Filter):
    operator: str
    parts: tuple[Filter, Filter]

    def _bind(self, context: FilterContext) -> BoundFilter:
        first = self.parts[0]._bind(context)
        try:
            second = self.parts[1]._bind(context)
        except BaseException:
            first.close()
            raise
        matches = self._joined(first.matches, second.matches)
        at_once = None
        if first.at_once is not None or second.at_once is not None:
            at_once = lambda: self._joined(first.reading(), second.reading())  # noqa: E731  # as its neighbours below

        def close() -> None:
            try:
                first.close()
            finally:
                second.close()

        return BoundFilter(
            matches,
            lambda: first.ready() and second.ready(),
            lambda: first.pending() or second.pending(),
            close,
            at_once,
            first.object_only and second.object_only,
        )

    def _joined(self, left: Predicate, right: Predicate) -> Predicate:
        if self.operator == "&":
            return lambda obj: left(obj) and right(obj)  # called per object: saves a frame
        return lambda obj: left(obj) or right(obj)

    def __repr__(self) -> str:
        return f"({f' {self.operator} '.join(map(repr, self.parts))})"


@dataclass(frozen=True, slots=True)
class _Inverted(Filter):
    part: Filter

    def _bind(self, context: FilterContext) -> BoundFilter:
        bound = self.part._bind(context)
        at_once = None if bound.at_once is None else lambda: _negated(bound.reading())
        return BoundFilter(_negated(bound.matches), bound.ready, bound.pending, bound.close, at_once, bound.object_only)

    def __repr__(self) -> str:
        return f"~{self.part!r}"


def _negated(matches: Predicate) -> Predicate:
    return lambda obj: not matches(obj)


class LabelFilter(Filter):
    """Shows objects whose labels match a selector, with the server's semantics.

    Args:
        selector: ``"app=web,tier in (fe,be)"``, or a mapping ``{"app": "web"}``.

    Raises:
        InvalidSelector: the selector does not parse.
    """

    __slots__ = ("selector",)

    def __init__(self, selector: str | Mapping[str, str] | LabelSelector) -> None:
        self.selector: LabelSelector = LabelSelector.parse(selector)

    def _bind(self, context: FilterContext) -> BoundFilter:
        """Return the filter for any informer: it depends on the object only, and needs nothing of ``context``."""
        matches = self.selector.compiled()
        return BoundFilter(lambda obj: matches(obj.labels), object_only=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LabelFilter) and self.selector == other.selector

    def __hash__(self) -> int:
        return hash(self.selector)

    def __repr__(self) -> str:
        return f"LabelFilter({str(self.selector)!r})"


class JSONPathFilter(Filter):
    """Shows objects in which a JSONPath has a matching value.

    A path of plain fields (``.spec.nodeName``) is read without decoding the object.

    Args:
        path: a JSONPath as in kubectl, braces optional: ``"{.spec.suspend}"``.
        equals: show objects in which any value found equals this string, compared as kubectl prints the value. By
            default objects are shown in which any value found is not ``null``, ``false``, ``0`` or empty.

    Raises:
        InvalidJSONPath: the path does not parse.
        InvalidInput: ``equals`` is not a string.
    """

    __slots__ = ("equals", "path")

    def __init__(self, path: str | JSONPath, *, equals: str | None = None) -> None:
        self.path: JSONPath = path if isinstance(path, JSONPath) else JSONPath.compile(path)
        if equals is not None and not isinstance(equals, str):
            raise InvalidInput(f"equals is {equals!r}: pass a string, as kubectl prints the value ('true', '3')")
        self.equals: str | None = equals

    def _bind(self, context: FilterContext) -> BoundFilter:
        """Return the filter, which depends on the object only.

        Raises:
            InvalidInput: the informer has only metadata, and the path selects something else.
        """
        if context.metadata_only:
            check_in_metadata(self.path)
        find, equals = self.path.find_json, self.equals
        if equals is None:
            return BoundFilter(lambda obj: any(find(obj.json)), object_only=True)
        return BoundFilter(lambda obj: any(printed(value) == equals for value in find(obj.json)), object_only=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JSONPathFilter) and (self.path, self.equals) == (other.path, other.equals)

    def __hash__(self) -> int:
        return hash((self.path, self.equals))

    def __repr__(self) -> str:
        tail = f", equals={self.equals!r}" if self.equals is not None else ""
        return f"JSONPathFilter({str(self.path)!r}{tail})"


class PredicateFilter(Filter):
    """Shows objects for which a function returns a true value.

    The function may depend on things outside the object, such as a variable, another informer or the time. It is
    called for each object at each read, so reads reflect changes of those things at once. Handlers are called with adds
    and deletes for the difference after :meth:`refresh_filter`. If the function depends on the object alone, pass
    ``object_only=True``: it is then called once per object, as objects are immutable, and reads of many objects are
    fast.

    If the function raises, the object is hidden and the informer reports the exception.

    Args:
        predicate: a function of the object, not async.
        object_only: whether the function depends on the object alone. If ``True`` is passed for a function that depends
            on other things too, reads reflect changes of those things only after :meth:`refresh_filter`.

    Raises:
        InvalidInput: the predicate is not a function, or is async.
    """

    __slots__ = ("_changed", "object_only", "predicate")

    def __init__(self, predicate: Predicate, *, object_only: bool = False) -> None:
        given: object = predicate  # callers are not always type-checked
        if not callable(given) or inspect.iscoroutinefunction(given):
            shown = repr_of(predicate)
            raise InvalidInput(f"predicate {shown} must be a synchronous function of the object: reads call it, too")
        self.predicate: Predicate = predicate
        self.object_only: bool = object_only
        self._changed: list[Callable[[], None]] = []

    def refresh_filter(self) -> None:
        """Have each informer that uses this filter evaluate it again. Does not block."""
        for changed in tuple(self._changed):
            changed()

    def _bind(self, context: FilterContext) -> BoundFilter:
        """Register the informer for :meth:`refresh_filter`, until it calls ``close``."""
        changed = context.changed
        self._changed.append(changed)
        return BoundFilter(self.predicate, close=lambda: self._changed.remove(changed), object_only=self.object_only)

    def __repr__(self) -> str:
        return printable(f"PredicateFilter({name_of(self.predicate) or repr_of(self.predicate)})")
