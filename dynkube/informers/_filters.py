"""Filters as values: which objects an informer shows, decided on this side of the wire.

A filter costs what the objects it hides cost: they are watched and cached all the same, which is what
makes changing it instant. Where the selection never changes, a ``label_selector`` or ``field_selector``
lets the server do it instead.

Filters combine with ``&``, ``|`` and ``~``. They are immutable and may be used by many informers;
what one needs to follow (namespaces, say) is *bound* when an informer takes it and let go when it
takes another one.
"""

from __future__ import annotations

import abc
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeAlias

from dynkube._display import Shown, printable
from dynkube._guard import name_of, repr_of
from dynkube.errors import InvalidInput
from dynkube.informers._index import printed
from dynkube.informers._store import Snapshot
from dynkube.meta import JSONPath, LabelSelector, Unstructured, a_type

if TYPE_CHECKING:
    from dynkube._display import Card

Predicate: TypeAlias = Callable[[Unstructured], bool]
"""Whether an object is shown; plain, as reads call it too, on any thread."""


class NamespaceFollower(Protocol):
    """A live view of the cluster's namespaces, for filters that depend on them."""

    @property
    def snapshot(self) -> Snapshot:
        """The namespaces as they are now."""
        ...

    @property
    def synced(self) -> bool:
        """Whether the snapshot is the truth yet."""
        ...

    @property
    def pending(self) -> str:
        """What is being waited for until then, in words."""
        ...

    def close(self) -> None:
        """Stop following."""
        ...


class FilterContext(Protocol):
    """What an informer offers to the filter it takes."""

    def changed(self) -> None:
        """To be called when the filter may give other answers than before."""
        ...

    def follow_namespaces(self) -> NamespaceFollower:
        """Follow the namespaces of the informer's cluster; ``changed`` is called when one changes."""
        ...


def _always() -> bool:
    return True


def _silence() -> str:
    return ""


def _nothing() -> None:
    return None


@dataclass(frozen=True, slots=True)
class BoundFilter:
    """A filter at work in one informer. Plain functions; what it is asked, it may be asked on any thread."""

    matches: Predicate
    """Whether an object is shown. One that raises hides the object, and the informer reports it."""
    ready: Callable[[], bool] = _always
    """Whether ``matches`` can answer yet. Until it can, the informer shows nothing and says nothing."""
    pending: Callable[[], str] = _silence
    """What is being waited for while it is not ready, in words."""
    close: Callable[[], None] = _nothing
    """Let go of what the filter follows; called once, in the event loop, when another is taken or the informer ends."""
    at_once: Callable[[], Predicate] | None = None
    """Gives a predicate for one read, which answers by one version of what the filter follows; ``None`` where it
    follows nothing. Reads happen on any thread, and what is followed may change in the middle of one."""

    object_only: bool = False
    """Whether ``matches`` looks at the object alone, so that it gives the same answer each time. Objects never change:
    where this is true it is asked once about each, and not at every read."""

    def reading(self) -> Predicate:
        """The predicate for one read."""
        return self.matches if self.at_once is None else self.at_once()


class Filter(Shown, abc.ABC):
    """Decides which objects an informer shows. Combine with ``&``, ``|``, ``~``."""

    __slots__ = ()

    def __bool__(self) -> bool:
        # ``a and b`` would be b alone, silently; numpy and polars refuse for the same reason.
        raise InvalidInput(
            "a filter is neither true nor false: combine filters with &, | and ~, not with and, or, not; "
            "whether there is one is asked by 'is None'"
        )

    @abc.abstractmethod
    def bind(self, context: FilterContext) -> BoundFilter:
        """Start working for one informer. Plain: what needs I/O is followed by the context's tasks.

        Args:
            context: what the informer offers; it lives as long as the informer.

        Returns:
            What the informer asks from now on, until it calls its ``close``.
        """

    def __and__(self, other: Filter) -> Filter:
        return _Combined("&", (self, as_filter(other)))

    def __or__(self, other: Filter) -> Filter:
        return _Combined("|", (self, as_filter(other)))

    def __invert__(self) -> Filter:
        return _Inverted(self)

    def _card(self, now: datetime) -> Card:
        from dynkube._display import Card, Span, Tone, line, short

        return Card(line("filter", Span(short(repr_of(self), 1000), Tone.STRONG)))


def as_filter(value: Filter | Predicate) -> Filter:
    """A filter from what a user passes: a filter, or a function of the object.

    Raises:
        InvalidInput: it is neither.
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

    def bind(self, context: FilterContext) -> BoundFilter:
        first = self.parts[0].bind(context)
        try:
            second = self.parts[1].bind(context)
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
            return lambda obj: left(obj) and right(obj)  # called per object: one frame, not two
        return lambda obj: left(obj) or right(obj)

    def __repr__(self) -> str:
        return f"({f' {self.operator} '.join(map(repr, self.parts))})"


@dataclass(frozen=True, slots=True)
class _Inverted(Filter):
    part: Filter

    def bind(self, context: FilterContext) -> BoundFilter:
        bound = self.part.bind(context)
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
        InvalidSelector: it does not parse.
    """

    __slots__ = ("selector",)

    def __init__(self, selector: str | Mapping[str, str] | LabelSelector) -> None:
        self.selector: LabelSelector = LabelSelector.parse(selector)

    def bind(self, context: FilterContext) -> BoundFilter:
        """Needs nothing but the object."""
        matches = self.selector.compiled()
        return BoundFilter(lambda obj: matches(obj.labels), object_only=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LabelFilter) and self.selector == other.selector

    def __hash__(self) -> int:
        return hash(self.selector)

    def __repr__(self) -> str:
        return f"LabelFilter({str(self.selector)!r})"


class JSONPathFilter(Filter):
    """Shows objects in which a JSONPath finds something that counts.

    Args:
        path: kubectl's JSONPath, braces optional: ``"{.spec.suspend}"``.
        equals: show objects in which a match has this value (compared as kubectl prints it). Without
            it, a match counts unless it is ``null``, ``false``, ``0``, or empty.

    Raises:
        InvalidJSONPath: it does not parse.
        InvalidInput: ``equals`` is no text.

    A path of plain fields (``.spec.nodeName``) is read without decoding the object.
    """

    __slots__ = ("equals", "path")

    def __init__(self, path: str | JSONPath, *, equals: str | None = None) -> None:
        self.path: JSONPath = path if isinstance(path, JSONPath) else JSONPath.compile(path)
        if equals is not None and not isinstance(equals, str):
            raise InvalidInput(f"equals is {equals!r}: write it as text, as kubectl prints the value ('true', '3')")
        self.equals: str | None = equals

    def bind(self, context: FilterContext) -> BoundFilter:
        """Needs nothing but the object."""
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
    """Shows objects for which a function returns something true.

    The function may look at things outside the object, such as a variable, another informer or the time. It is then
    called for each object at each read, so reads follow those things at once; handlers get adds and deletes for the
    difference when :meth:`notify_changed` is called. Where it looks at the object alone, say so (``object_only=True``):
    objects never change, so it is called once for each, and reads of many objects cost next to nothing.

    A function that raises hides the object, and the informer reports the exception.

    Args:
        predicate: a plain function of the object.
        object_only: whether it looks at nothing but the object. Where ``True`` is passed for a function that looks at
            other things as well, reads follow those only after :meth:`notify_changed`.

    Raises:
        InvalidInput: the predicate is not a function, or an async one.
    """

    __slots__ = ("_changed", "object_only", "predicate")

    def __init__(self, predicate: Predicate, *, object_only: bool = False) -> None:
        given: object = predicate  # callers are not always type-checked
        if not callable(given) or inspect.iscoroutinefunction(given):
            shown = repr_of(predicate)
            raise InvalidInput(f"predicate {shown} must be a plain function of the object: reads call it too")
        self.predicate: Predicate = predicate
        self.object_only: bool = object_only
        self._changed: list[Callable[[], None]] = []

    def notify_changed(self) -> None:
        """Tell every informer that uses this filter that it may answer differently now. Does not block."""
        for changed in tuple(self._changed):
            changed()

    def bind(self, context: FilterContext) -> BoundFilter:
        """Remembers whom to notify, until the informer lets go."""
        changed = context.changed
        self._changed.append(changed)
        return BoundFilter(self.predicate, close=lambda: self._changed.remove(changed), object_only=self.object_only)

    def __repr__(self) -> str:
        return printable(f"PredicateFilter({name_of(self.predicate) or repr_of(self.predicate)})")
